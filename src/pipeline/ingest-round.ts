/**
 * A round of `ingest`: events from files pass through the same stages as events from hooks. They are never in the
 * inbox, so the books count each of them as an event that was read.
 */
import { agents } from '../agents/index.ts';
import { documents } from '../documents/documents.ts';
import type { Pinning } from '../problems/noted-problems.ts';
import type { Problem } from '../problems/problem.ts';
import { type FileMark, noMarks, withMark } from '../receive/ingested.ts';
import { increase } from '../store/ledger.ts';
import type { Round, Store } from '../store/store.ts';
import { indexSessions } from './index-round.ts';
import { outgoingOf } from './outgoing.ts';
import { countRound, journalLines, setAside, settleWaiting } from './round.ts';
import { failureProblems } from './round-problems.ts';
import { type RoundWorld, SessionsOfRound } from './sessions-of-round.ts';
import { noteSpent, spentIn } from './short-round.ts';
import { stored } from './stored-session.ts';
import { takeFragment } from './take-fragment.ts';

export interface GivenEvent {
  /** Undefined: the event was too long to be kept. */
  bytes: Buffer | undefined;
  header: Readonly<Record<string, string>>;
  /** Set for an event that was refused before. It is put into quarantine. */
  refused?: string | undefined;
}

/** The fate of an event: `recorded`, `duplicate`, `erased`, or the reason why it was refused. */
export type Fate = 'recorded' | 'duplicate' | 'erased' | { refused: string };

export interface IngestRound {
  round: Round;
  /** One fate for each event, in order. */
  fates: Fate[];
  problems: Problem[];
  pinnings: readonly Pinning[];
}

export function ingestRound(
  store: Store,
  events: readonly GivenEvent[],
  marks: ReadonlyMap<string, FileMark>,
  world: RoundWorld,
): IngestRound {
  const sessions = new SessionsOfRound(store, world);
  const fates = events.map(event => takeEvent(event, sessions, world.nowMs));
  settleWaiting(sessions.all(), []);
  const all = sessions.all();
  const { bodies, tallies } = outgoingOf(all, sessions.documents, world.nowMs);
  indexSessions(all, sessions.documents, key => store.journal(key));
  noteSpent(spentIn(all, world.nowMs), sessions.documents, { store, nowMs: world.nowMs });
  for (const [id, mark] of marks) {
    const known = sessions.documents.read(documents.ingested) ?? noMarks;
    sessions.documents.write(documents.ingested, withMark(known, id, mark));
  }
  const { counts, earlier } = sessions;
  return {
    fates,
    problems: [...sessions.problems, ...failureProblems(counts.oddities, counts.failing)],
    pinnings: sessions.pinnings,
    round: {
      epoch: store.epoch,
      journal: journalLines(all),
      sessions: all.map(({ state }) => stored(state)),
      documents: sessions.documents.changes(),
      bodies: [...earlier.bodies, ...bodies],
      quarantine: setAside(
        events.flatMap(({ bytes }, i) => {
          const fate = fates[i];
          const isKept = typeof fate === 'object' && bytes !== undefined;
          return isKept ? [{ reason: nameOf(fate.refused), text: bytes.toString() }] : [];
        }),
      ),
      tally(ledger) {
        countRound(ledger, counts);
        for (const fate of fates) {
          if (typeof fate === 'object') increase(ledger.counters, `bad-events.${nameOf(fate.refused)}`);
          else if (fate === 'erased') increase(ledger.counters, 'ingest.erased');
          else {
            ledger.transcripts.read += 1;
            ledger.transcripts[fate === 'recorded' ? 'journaled' : 'duplicate'] += 1;
          }
        }
        for (const tally of [...earlier.tallies, ...tallies]) tally(ledger);
      },
    },
  };
}

/** Returns a rule such as `json/syntax` as a part of a file name. */
const nameOf = (reason: string): string => reason.replaceAll(/[^a-z0-9]+/g, '-');

function takeEvent({ bytes, header, refused }: GivenEvent, sessions: SessionsOfRound, nowMs: number): Fate {
  if (refused !== undefined || bytes === undefined) return { refused: refused ?? 'too-large' };
  const fragment = { name: '', header: { ...header }, payload: bytes, atMs: nowMs, sizeBytes: bytes.length };
  const taken = takeFragment(fragment, agents, (opening, from) => sessions.open(opening, from));
  if (taken.fate === 'rejected') return taken.reason === 'erased' ? 'erased' : { refused: taken.reason };
  if (taken.fate === 'duplicate') return 'duplicate';
  for (const kind of taken.oddities) increase(sessions.counts.oddities, kind);
  return 'recorded';
}
