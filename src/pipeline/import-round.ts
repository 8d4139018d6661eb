/**
 * A round of an import. Imported events pass through the same stages as all others: the reader of the agent, the
 * journal, the fold, in rounds that are committed. Their ids show whether an earlier import or a hook has reported
 * them.
 */
import { agentNamed } from '../agents/index.ts';
import { awaited } from '../assemble/assemble.ts';
import type { ChatSpan } from '../assemble/finished.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import type { IndexReader } from '../journal/session-index.ts';
import { isDiskError } from '../lib/disk-error.ts';
import type { Problem } from '../problems/problem.ts';
import { isErased, noneErased } from '../receive/erased.ts';
import { type Pin, pin } from '../session/pin.ts';
import { newSession, noTranscripts, type SessionState, sessionKey } from '../session/session-state.ts';
import type { Round, Store } from '../store/store.ts';
import type { Eyes } from '../transcripts/eyes.ts';
import { impatient } from '../transcripts/settlement.ts';
import type { FoundTranscript } from './find-transcripts.ts';
import { indexSessions } from './index-round.ts';
import { outgoingOf, type Selection } from './outgoing.ts';
import { rebuild, recalled } from './rebuild.ts';
import { countRound, journalLines } from './round.ts';
import { failureProblems } from './round-problems.ts';
import {
  countSilenced,
  noCounts,
  type RoundContext,
  type RoundCounts,
  SessionInRound,
  type SessionOutput,
  SILENCE_MS,
} from './session-in-round.ts';
import { enrichersOf, ownerIn, type RoundWorld } from './sessions-of-round.ts';
import { noteSpent, spentIn } from './short-round.ts';
import { stored } from './stored-session.ts';

/** The part of a store from which sessions are read. */
export type SessionStore = Pick<Store, 'session' | 'journal' | 'read'>;

export type ImportStore = IndexReader & Pick<Store, 'epoch' | 'session' | 'journal'>;

/** Stands in for a state folder that does not exist yet, for a preview of an import. */
export const emptyStore: ImportStore = {
  epoch: 0,
  session: () => undefined,
  journal: () => undefined,
  journalSize: () => undefined,
  journals: () => [],
  journalFrom: () => undefined,
  read: () => undefined,
  stamp: () => undefined,
};

/** The effect of one round of an import. */
export interface ImportRound {
  round: Round;
  problems: Problem[];
  outputs: readonly SessionOutput[];
  summaries: SessionSummary[];
  counts: RoundCounts['transcripts'];
  /** The number of sessions that are done. The next round begins with the session after them. */
  done: number;
  bytes: number;
  /** Sessions that were left out because a person erased them. */
  erased: number;
}

/** The result of one session, for the user. */
export interface SessionSummary {
  key: string;
  agent: string;
  session: string;
  path: string;
  events: number;
  spans: number;
  responses: number;
  input: number | undefined;
  output: number | undefined;
  cacheRead: number | undefined;
  cacheWrite: number | undefined;
}

export function summaryOf({ state, count, spans }: SessionOutput): SessionSummary {
  const { key, agent, session, transcripts } = state;
  const chats = spans.filter((span): span is ChatSpan => span.kind === 'chat' && span.errorType === undefined);
  const sum = (of: 'input' | 'output' | 'cacheRead' | 'cacheWrite'): number | undefined =>
    chats.reduce((total: number | undefined, span) => plus(total, span[of]), undefined);
  return {
    ...{ key, agent, session, path: transcripts?.main ?? '', events: count, spans: spans.length },
    responses: chats.length,
    input: sum('input'),
    output: sum('output'),
    cacheRead: sum('cacheRead'),
    cacheWrite: sum('cacheWrite'),
  };
}

/** A number that no response reports stays unknown. */
export const plus = (sum: number | undefined, more: number | undefined): number | undefined =>
  more === undefined ? sum : (sum ?? 0) + more;

/** The inputs of all rounds of one import. */
export interface ImportWorld extends RoundWorld {
  eyes: Eyes;
  /** The configuration by agent and folder, read once per import: most sessions share the folder of a project. */
  pins: Map<string, Pin>;
}

/** Continues to read these sessions in order, until the limit of bytes is reached. */
export function importRound(
  store: ImportStore,
  found: readonly FoundTranscript[],
  world: ImportWorld,
  bytes: number,
  selection: Selection,
): ImportRound {
  const round = new ImportedSessions(store, found, world, bytes, selection);
  const done = round.readAll(found);
  const { counts, sessions } = round;
  const { bodies, tallies } = outgoingOf(sessions, round.documents, world.nowMs, selection);
  indexSessions(sessions, round.documents, key => store.journal(key));
  noteSpent(spentIn(sessions, world.nowMs), round.documents, { store, nowMs: world.nowMs });
  return {
    problems: [...round.problems, ...failureProblems(counts.oddities, counts.failing)],
    outputs: sessions,
    summaries: sessions.map(summaryOf),
    counts: counts.transcripts,
    done,
    bytes: bytes - round.budget.bytes,
    erased: round.erased,
    round: {
      epoch: store.epoch,
      journal: journalLines(sessions),
      sessions: sessions.map(({ state }) => stored(state)),
      documents: round.documents.changes(),
      bodies,
      tally(ledger) {
        countRound(ledger, counts);
        for (const tally of tallies) tally(ledger);
      },
    },
  };
}

export class ImportedSessions {
  readonly sessions: SessionInRound[] = [];
  readonly problems: Problem[] = [];
  readonly documents: ChangedDocuments;
  readonly counts = noCounts();
  /** Sessions that were left out because a person erased them. */
  erased = 0;
  readonly budget: { bytes: number };
  private readonly store: SessionStore;
  private readonly world: ImportWorld;
  private readonly context: RoundContext;

  constructor(
    store: SessionStore,
    found: readonly FoundTranscript[],
    world: ImportWorld,
    bytes: number,
    selection: Selection,
  ) {
    this.store = store;
    this.world = world;
    this.budget = { bytes };
    this.documents = new ChangedDocuments(store);
    let wanted: ReadonlySet<string> | undefined;
    const isWanted = (key: string): boolean => {
      wanted ??= new Set(found.map(each => sessionKey(each.agent.id, each.session)));
      return wanted.has(key);
    };
    const { eyes, home, env, nowMs } = world;
    this.context = {
      ...enrichersOf(world),
      nowMs,
      counts: this.counts,
      recordsSinceMs: selection.logsSinceMs,
      keepsEvents: selection.metrics,
      transcripts: {
        ...{ eyes, home, env, nowMs },
        waits: impatient,
        budget: this.budget,
        journal: key => this.journal(key),
        owner: (agent, origin, session) => ownerIn(this.documents, agent, origin, session),
        knows: key => isWanted(key) || this.journal(key) !== undefined,
      },
    };
  }

  /** Continues to read these sessions until the limit of bytes is reached. Returns the number of sessions that are done. */
  readAll(found: readonly FoundTranscript[]): number {
    const steps = this.steps(found);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  }

  /** The same, a session with each step. */
  *steps(found: readonly FoundTranscript[]): Generator<undefined, number> {
    for (const [done, each] of found.entries()) {
      if (this.budget.bytes <= 0 || !this.read(each)) return done;
      yield;
    }
    return found.length;
  }

  /**
   * Continues to read one session. Returns false if more is left than this round may read. A failure keeps its state.
   */
  private read(found: FoundTranscript): boolean {
    if (isErased(this.documents.read(documents.erased) ?? noneErased, sessionKey(found.agent.id, found.session))) {
      this.erased += 1;
      return true;
    }
    const before = { ...this.counts.transcripts };
    const silenced = { ...this.counts.silenced };
    const many = this.sessions.length;
    try {
      return this.readOn(found);
    } catch (error) {
      if (isDiskError(error)) throw error;
      Object.assign(this.counts.transcripts, before);
      this.counts.silenced = silenced;
      this.sessions.length = many;
      this.problems.push({ code: 'transcript-failed', agent: found.agent.title, why: 'file' });
      return true;
    }
  }

  private readOn(found: FoundTranscript): boolean {
    const { nowMs } = this.world;
    const session = this.open(found);
    this.sessions.push(session);
    if (agentNamed(session.state.agent) === undefined) return true;
    const { state } = session;
    const result = session.upTo(Number.POSITIVE_INFINITY);
    if (result === undefined) return true;
    state.arrivedMs = Math.max(state.arrivedMs, nowMs);
    if (state.transcripts !== undefined) state.transcripts.isPart = result.isMore || undefined;
    if (!result.isMore) {
      const isPast = nowMs - state.fold.lastMs > SILENCE_MS;
      if (isPast) {
        session.finish();
        if (state.hookedMs === undefined) session.endAtLastRow('imported');
        if (awaited(state.fold).length > 0) session.settleBy(result, true);
      } else if (state.hookedMs !== undefined) session.settleBy(result, false);
    }
    return !result.isMore;
  }

  /**
   * Returns a journal with the lines of this round, for the sessions whose transcripts begin with copies of its rows.
   */
  private journal(key: string): string | undefined {
    const gained = this.sessions.find(session => session.state.key === key)?.lines ?? '';
    const kept = this.store.journal(key);
    return kept === undefined && gained === '' ? undefined : (kept ?? '') + gained;
  }

  private open({ agent, session, file, cwd }: FoundTranscript): SessionInRound {
    const key = sessionKey(agent.id, session);
    const state = recalled(this.store, key) ?? this.begin({ agent, session, key }, cwd);
    state.transcripts ??= noTranscripts();
    state.transcripts.main = file.path;
    state.transcripts.cwd ??= cwd;
    return new SessionInRound(state, this.context);
  }

  private begin(opening: Parameters<typeof newSession>[0], cwd: string | undefined): SessionState {
    const { pins } = this.world;
    const name = `${opening.agent.id} ${cwd ?? ''}`;
    const made = pins.get(name) ?? pin({ agent: opening.agent, cwd }, { header: {} }, this.world);
    pins.set(name, made);
    const { destinations, problems } = made;
    const pinned = structuredClone(made.pinned);
    this.problems.push(...problems);
    for (const destination of destinations)
      this.documents.write(documents.destinations.of(destination.id), { ...destination, pinnedMs: this.world.nowMs });
    // Otherwise, a later correction of the configuration would send the past with the date of the correction.
    delete pinned.undecided;
    countSilenced(this.counts, made);
    const state = newSession(opening, pinned);
    rebuild(state, this.store.journal(opening.key));
    return state;
  }
}
