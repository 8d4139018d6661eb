/**
 * Computes one round as a value, from fragments to journal lines, session states, bodies and counts. The store commits
 * a round atomically, so this code never has to undo a change.
 */
import { agents } from '../agents/index.ts';
import { UNKNOWN_EVENT } from '../agents/shared/unknown-event.ts';
import { awaited, isOpen } from '../assemble/assemble.ts';
import { documents } from '../documents/documents.ts';
import type { Fragment } from '../hook/fragment.ts';
import type { Pinning } from '../problems/noted-problems.ts';
import { exceedsHook, type Problem } from '../problems/problem.ts';
import type { Bad } from '../receive/items.ts';
import { ERASED, increase, type Ledger } from '../store/ledger.ts';
import type { Round, Store } from '../store/store.ts';
import { type Due, isForgotten } from './due-sessions.ts';
import { indexSessions } from './index-round.ts';
import { outgoingOf } from './outgoing.ts';
import { failureProblems, unreadProblems } from './round-problems.ts';
import type { RoundCounts, SessionInRound } from './session-in-round.ts';
import { type RoundWorld, SessionsOfRound } from './sessions-of-round.ts';
import { noteSpent, spentIn } from './short-round.ts';
import { stored } from './stored-session.ts';
import { takeFragment } from './take-fragment.ts';

export interface TakenFromInbox {
  fragments: readonly Fragment[];
  rejects: readonly { name: string; reason: string }[];
}

export interface RoundResult {
  round: Round;
  problems: Problem[];
  /** The problems of each session that was pinned in this round. */
  pinnings: readonly Pinning[];
  journaled: number;
  /** Sessions of this round that wait for their transcripts. */
  waiting: string[];
  /** Sessions that the round visited. */
  looked: string[];
  /** True if a transcript has more rows than one round reads. */
  isMore: boolean;
  /** True if an undecided session got its destinations in this round. */
  isDecided: boolean;
}

export function computeRound(store: Store, taken: TakenFromInbox, due: Due, world: RoundWorld): RoundResult {
  const { epoch } = store;
  const sessions = new SessionsOfRound(store, world);
  const fates = takeAll(taken, sessions);
  const active = new Set(sessions.all().map(({ state }) => state.key));
  const gone = removeExcess(
    sessions,
    (due.excess ?? []).filter(key => !active.has(key)),
  );
  for (const key of due.silent ?? []) sessions.known(key)?.fallSilent();
  for (const key of [...(due.waiting ?? []), ...(due.undecided ?? [])]) sessions.known(key);
  settleWaiting(sessions.all(), due.waiting ?? []);

  const all = sessions.all();
  const { bodies, tallies } = outgoingOf(all, sessions.documents, world.nowMs);
  indexSessions(all, sessions.documents, key => store.journal(key));
  noteSpent(spentIn(all, world.nowMs), sessions.documents, { store, nowMs: world.nowMs });
  const { counts, earlier } = sessions;
  return {
    problems: [
      ...sessions.problems,
      ...((gone.counts.open ?? gone.counts.undecided) !== undefined ? [{ code: 'sessions-full' } as const] : []),
      ...failureProblems(counts.oddities, counts.failing),
      ...(world.eyes ? unreadProblems(world.eyes) : []),
      ...fates.rejects
        .filter(({ reason }) => exceedsHook(reason))
        .map(({ reason }): Problem => ({ code: 'input-not-taken', folder: store.folder, why: reason })),
    ],
    pinnings: sessions.pinnings,
    journaled: fates.journaled,
    waiting: all.flatMap(({ state, isMore }) => (awaited(state.fold).length > 0 || isMore ? [state.key] : [])),
    looked: all.map(({ state }) => state.key),
    isMore: all.some(({ isMore }) => isMore),
    isDecided: sessions.isDecided,
    round: {
      epoch,
      journal: journalLines(all),
      ...keptStates(store, sessions, gone, world.nowMs),
      bodies: [...earlier.bodies, ...bodies],
      eaten: fates.eaten,
      quarantine: [...fates.rejects, ...fates.cut],
      tally(ledger) {
        countFates(ledger, fates);
        countRound(ledger, counts);
        for (const [why, count] of Object.entries(gone.counts))
          increase(ledger.counters, `forgotten.sessions.${why}`, count);
        for (const tally of [...earlier.tallies, ...tallies]) tally(ledger);
      },
    },
  };
}

/** The results of the fragments. */
interface Fates {
  journaled: number;
  duplicates: number;
  erased: number;
  eaten: string[];
  rejects: { name: string; reason: string }[];
  /** Unreadable items of lists whose other items could be read. */
  cut: { bytes: Uint8Array; reason: string; label: string }[];
  badEvents: { [reason: string]: number };
}

function takeAll({ fragments, rejects }: TakenFromInbox, sessions: SessionsOfRound): Fates {
  const fates: Fates = {
    journaled: 0,
    duplicates: 0,
    erased: 0,
    eaten: [],
    rejects: rejects.map(({ name, reason }) => ({ name, reason })),
    cut: [],
    badEvents: {},
  };
  for (const fragment of fragments) {
    const taken = takeFragment(fragment, agents, (opening, from) => sessions.open(opening, from));
    if (taken.fate === 'rejected' && taken.reason === 'erased') {
      fates.eaten.push(fragment.name);
      fates.erased += 1;
      continue;
    }
    if (taken.fate === 'rejected') {
      fates.rejects.push({ name: fragment.name, reason: taken.reason });
      continue;
    }
    fates.eaten.push(fragment.name);
    if (taken.fate === 'duplicate') {
      fates.duplicates += 1;
      const { opening } = taken;
      if (opening) for (const session of taken.sessions) sessions.addProvider(session, opening, fragment);
      continue;
    }
    fates.journaled += 1;
    for (const kind of taken.oddities) increase(sessions.counts.oddities, kind);
    for (const { reason } of taken.bad) increase(fates.badEvents, reason);
    fates.cut.push(...setAside(taken.bad));
  }
  return fates;
}

/** Returns one quarantine file for each reason, with one item per line. */
export function setAside(bad: readonly Bad<string>[]): Fates['cut'] {
  const lines = new Map<string, string[]>();
  for (const { reason, text } of bad) lines.set(reason, [...(lines.get(reason) ?? []), text]);
  return [...lines].map(([reason, texts]) => ({ bytes: Buffer.from(`${texts.join('\n')}\n`), reason, label: 'event' }));
}

/** Continues to read the transcripts of sessions whose closed spans wait, or whose transcript has more rows. */
export function settleWaiting(all: readonly SessionInRound[], waiting: readonly string[]): void {
  for (const session of all) {
    const { state, isMore } = session;
    if (awaited(state.fold).length > 0 || isMore || waiting.includes(state.key)) session.settle();
  }
}

export const journalLines = (all: readonly SessionInRound[]): { key: string; lines: string }[] =>
  all.flatMap(({ state, lines }) => (lines === '' ? [] : [{ key: state.key, lines }]));

/** The sessions whose states this round removes because there are too many, and the number of each kind. */
interface Gone {
  keys: ReadonlySet<string>;
  counts: { [Of in 'ended' | 'open' | 'undecided' | 'unreadable']?: number };
}

function removeExcess(sessions: SessionsOfRound, excess: readonly string[]): Gone {
  const keys = new Set<string>();
  const counts: Gone['counts'] = {};
  for (const key of excess) {
    const session = sessions.known(key);
    const wasOpen = session !== undefined && isOpen(session.state.fold);
    if (session?.endForRemoval() === false) continue;
    keys.add(key);
    const isUndecided = session?.state.pinned.undecided !== undefined;
    increase(counts, session === undefined ? 'unreadable' : isUndecided ? 'undecided' : wasOpen ? 'open' : 'ended');
  }
  return { keys, counts };
}

/** Returns the states to store. For a removed session, it deletes the state and the mark of dispatched events. */
function keptStates(
  store: Store,
  sessions: SessionsOfRound,
  { keys: gone }: Gone,
  nowMs: number,
): Pick<Round, 'sessions' | 'documents'> {
  const all = sessions.all().map(({ state }) => state);
  const forgotten = new Set(gone);
  for (const state of all) if (isForgotten(state, nowMs)) forgotten.add(state.key);
  for (const key of forgotten) {
    const mark = documents.openhook.of(key);
    if (store.read(mark) !== undefined) sessions.documents.write(mark, undefined);
  }
  const kept = all.filter(({ key }) => !forgotten.has(key)).map(stored);
  return {
    sessions: [...kept, ...[...forgotten].map(key => ({ key, state: undefined }))],
    documents: sessions.documents.changes(),
  };
}

function countFates(ledger: Ledger, { journaled, duplicates, erased, rejects, badEvents }: Fates): void {
  ledger.fragments.journaled += journaled;
  if (duplicates > 0) increase(ledger.fragments.dropped, 'duplicate', duplicates);
  if (erased > 0) increase(ledger.fragments.dropped, ERASED, erased);
  for (const { reason } of rejects) increase(ledger.counters, `quarantined.${reason}`);
  for (const [reason, count] of Object.entries(badEvents)) increase(ledger.counters, `bad-events.${reason}`, count);
}

export function countRound(ledger: Ledger, { transcripts, oddities, silenced }: RoundCounts): void {
  ledger.transcripts.read += transcripts.read;
  ledger.transcripts.journaled += transcripts.journaled;
  ledger.transcripts.duplicate += transcripts.duplicate;
  for (const [kind, count] of Object.entries(oddities)) increase(ledger.counters, counterOf(kind, ledger), count);
  for (const [setting, count] of Object.entries(silenced)) increase(ledger.counters, `silenced.${setting}`, count);
}

/** An agent can send any names of hooks, so the ledger has a limited number of them. */
const MOST_NAMES = 50;

function counterOf(kind: string, { counters }: Ledger): string {
  const name = `odd.${kind}`;
  if (!kind.startsWith(UNKNOWN_EVENT) || Object.hasOwn(counters, name)) return name;
  const names = Object.keys(counters).filter(each => each.startsWith(`odd.${UNKNOWN_EVENT}`));
  return names.length < MOST_NAMES ? name : 'odd.unknown_event';
}
