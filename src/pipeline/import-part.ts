/**
 * Parts of an import that are computed before their turn, most of them by other processes.
 *
 * A process reads sessions of which the state folder knows nothing, and returns the effect of each part of them: journal
 * lines, states, bodies and counts, as bytes. The process of the import adds the parts to rounds, in the order of the
 * sessions, and commits the rounds. So the result is the same as that of one process.
 *
 * Few sessions depend on others: forks, whose transcripts begin with rows of another session. A part does not see the
 * other sessions. So it stops at a session that asks for another one, and the import reads this session itself, in its
 * turn. The import does the same if the first row of a session belongs to an earlier session.
 */
import type { Destination } from '../config/destinations.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import type { IndexedSession } from '../journal/session-index.ts';
import type { Problem } from '../problems/problem.ts';
import { sessionKey } from '../session/session-state.ts';
import { accountsOf, emptyLedger, increase, type Ledger, signals } from '../store/ledger.ts';
import { WrittenState, writtenState } from '../store/state-files.ts';
import type { Round } from '../store/store.ts';
import { addOwner, type Owners, ownerOf } from '../transcripts/origins.ts';
import type { FoundTranscript } from './find-transcripts.ts';
import {
  ImportedSessions,
  type ImportStore,
  type ImportWorld,
  type SessionStore,
  type SessionSummary,
  summaryOf,
} from './import-round.ts';
import { entryWith, writeEntry } from './index-round.ts';
import { outgoingOf, type Selection } from './outgoing.ts';
import { countRound } from './round.ts';
import { failureProblems } from './round-problems.ts';
import type { RoundCounts } from './session-in-round.ts';
import { noteSpent, type Spent, spentIn } from './short-round.ts';
import { stored } from './stored-session.ts';

/** The effect of some sessions of a task, or of a part of one session. */
export interface Part {
  /** The first session of the part, and the session after those that are done. */
  from: number;
  to: number;
  /** True if more of the session at `to` follows. */
  isMore: boolean;
  bytes: number;
  counts: RoundCounts;
  problems: Problem[];
  summaries: SessionSummary[];
  sessions: SessionPart[];
  /** The journal lines of all sessions: one piece of memory, because thousands of small ones leave holes. */
  lines: Uint8Array;
  spent: Spent[];
  /** The first rows of the transcripts, by agent. */
  owners: [agent: string, owners: Owners][];
  destinations: Destination[];
  bodies: NonNullable<Round['bodies']>;
  accounts: Ledger['destinations'];
}

interface SessionPart {
  key: string;
  /** The bytes of its state. */
  state: Uint8Array;
  outline: object | undefined;
  lineBytes: number;
  entry: IndexedSession | undefined;
}

/** One of these sessions depends on another one. */
export type Entangled = Pick<Part, 'from' | 'to' | 'isMore'> & { isEntangled: true };

/** Reads the sessions of tasks without the state folder. */
export class PartReader {
  private readonly world: ImportWorld;
  private readonly selection: Selection;
  private readonly bytes: number;
  private readonly destinations = new Map<string, Destination>();
  /** The session whose first part was read. */
  private begun: { key: string; state: string; entry: IndexedSession | undefined } | undefined;

  constructor(world: ImportWorld, bytes: number, selection: Selection) {
    this.world = world;
    this.bytes = bytes;
    this.selection = selection;
  }

  /** Yields undefined after each session, so that the caller can do other work. */
  *partsOf(found: readonly FoundTranscript[], nowMs: number): Generator<Part | Entangled | undefined, undefined> {
    this.begun = undefined;
    for (let from = 0; from < found.length; ) {
      // The rest of a begun session is a part of its own, so that the import can leave it out.
      const part = yield* this.part(found.slice(from, this.begun === undefined ? found.length : from + 1), from, nowMs);
      from = part.to;
      yield part;
    }
  }

  private *part(
    found: readonly FoundTranscript[],
    from: number,
    nowMs: number,
  ): Generator<undefined, Part | Entangled> {
    const own = new Set(found.map(each => sessionKey(each.agent.id, each.session)));
    const { begun } = this;
    this.begun = undefined;
    let isEntangled = false;
    const store: SessionStore = {
      session: key => (key === begun?.key ? { state: JSON.parse(begun.state), journalBytes: 0 } : undefined),
      journal(key) {
        if (!own.has(key) || key === begun?.key) {
          isEntangled = true;
          // Ends the part.
          reading.budget.bytes = Number.NEGATIVE_INFINITY;
        }
        return undefined;
      },
      read: () => undefined,
    };
    const world = { ...this.world, nowMs };
    const reading = new ImportedSessions(store, found, world, this.bytes, this.selection);
    const done = yield* reading.steps(found);
    if (isEntangled) return { from, to: from + Math.min(done + 1, found.length), isMore: false, isEntangled };
    return this.partFrom(reading, begun, { from, to: from + done, isMore: done < found.length, nowMs });
  }

  private partFrom(
    reading: ImportedSessions,
    begun: PartReader['begun'],
    { from, to, isMore, nowMs }: { from: number; to: number; isMore: boolean; nowMs: number },
  ): Part {
    const { sessions, counts, budget, problems } = reading;
    for (const id of new Set(sessions.flatMap(({ state }) => state.pinned.destinations))) {
      const pinned = reading.documents.read(documents.destinations.of(id));
      if (pinned !== undefined) this.destinations.set(id, pinned);
    }
    const { bodies, tallies } = outgoingOf(sessions, this.withDestinations(), nowMs, this.selection);
    const ledger = emptyLedger();
    for (const tally of tallies) tally(ledger);
    const parts = sessions.map(session => {
      const { key } = session.state;
      const known = key === begun?.key ? begun.entry : undefined;
      const entry = session.lines === '' ? known : entryWith(known, session, () => undefined);
      const kept = stored(session.state);
      const { outline } = kept;
      const { bytes: state } = writtenState(kept.state, outline);
      return { key, state, outline, lineBytes: Buffer.byteLength(session.lines), entry };
    });
    const last = sessions.at(-1);
    if (isMore && last?.isMore === true)
      this.begun = { key: last.state.key, state: JSON.stringify(last.state), entry: parts.at(-1)?.entry };
    const agents = new Set(sessions.map(({ state }) => state.agent));
    return {
      ...{
        from,
        to,
        isMore: this.begun !== undefined,
        bytes: this.bytes - budget.bytes,
        counts,
        sessions: parts,
        bodies,
      },
      problems: [...problems, ...failureProblems(counts.oddities, counts.failing)],
      lines: encoder.encode(sessions.map(({ lines }) => lines).join('')),
      summaries: sessions.map(summaryOf),
      spent: spentIn(sessions, nowMs),
      owners: [...agents].map(agent => [agent, reading.documents.read(documents.origins.of(agent)) ?? {}]),
      destinations: [...this.destinations.values()],
      accounts: ledger.destinations,
    };
  }

  private withDestinations(): ChangedDocuments {
    const { installation, hashKey } = this.world;
    const changed = new ChangedDocuments({ read: () => undefined });
    for (const [id, destination] of this.destinations) changed.write(documents.destinations.of(id), destination);
    changed.write(documents.installation, { id: installation, key: hashKey });
    return changed;
  }
}

const encoder = new TextEncoder();

/** A round of such parts. */
export class PartsRound {
  bytes = 0;
  readonly parts: Part[] = [];
  private readonly store: ImportStore;
  private readonly documents: ChangedDocuments;
  private readonly nowMs: number;

  constructor(store: ImportStore, nowMs: number) {
    this.store = store;
    this.nowMs = nowMs;
    this.documents = new ChangedDocuments(store);
  }

  /** Returns false if one of the sessions is a fork of an earlier session. Then the part is not added. */
  add(part: Part): boolean {
    for (const [agent, owners] of part.owners) {
      const known = this.documents.read(documents.origins.of(agent)) ?? {};
      for (const [origin, [key]] of Object.entries(owners)) {
        const owner = ownerOf(known, origin);
        if (owner !== undefined && owner.key !== key) return false;
      }
    }
    for (const [agent, owners] of part.owners) this.addOwners(agent, owners);
    for (const each of part.destinations) this.documents.write(documents.destinations.of(each.id), each);
    for (const { key, entry } of part.sessions) if (entry !== undefined) writeEntry(this.documents, key, entry);
    this.bytes += part.bytes;
    this.parts.push(part);
    return true;
  }

  round(): Round {
    const { parts, store, nowMs } = this;
    const sessions = parts.flatMap(part => part.sessions);
    noteSpent(
      parts.flatMap(part => part.spent),
      this.documents,
      { store, nowMs },
    );
    return {
      epoch: store.epoch,
      journal: parts.flatMap(journalOf),
      sessions: sessions.map(({ key, state, outline }) => ({ key, state: new WrittenState(state), outline })),
      documents: this.documents.changes(),
      bodies: parts.flatMap(part => part.bodies),
      tally(ledger) {
        for (const { counts, accounts } of parts) {
          countRound(ledger, counts);
          addAccounts(ledger, accounts);
        }
      },
    };
  }

  private addOwners(agent: string, owners: Owners): void {
    const all = Object.entries(owners);
    if (all.length === 0) return;
    const document = documents.origins.of(agent);
    const known: { [origin: string]: Owners[string] } = this.documents.own(document) ?? {};
    for (const [origin, [key, session]] of all)
      if (ownerOf(known, origin) === undefined) addOwner(known, origin, { key, session });
    this.documents.write(document, known);
  }
}

function journalOf({ sessions, lines }: Part): NonNullable<Round['journal']> {
  let at = 0;
  return sessions.flatMap(({ key, lineBytes }) => {
    const own = lines.subarray(at, at + lineBytes);
    at += lineBytes;
    return lineBytes === 0 ? [] : [{ key, lines: own }];
  });
}

/** Adds the items that the parts produced. */
function addAccounts(ledger: Ledger, accounts: Ledger['destinations']): void {
  for (const [id, produced] of Object.entries(accounts)) {
    const known = accountsOf(ledger, id, produced);
    for (const signal of signals) {
      known[signal].produced += produced[signal].produced;
      for (const [why, count] of Object.entries(produced[signal].dropped)) increase(known[signal].dropped, why, count);
    }
  }
}
