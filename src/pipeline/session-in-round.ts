/**
 * One session in one round: its state, its transcript, and its new output.
 *
 * Events of all sources take the same path: `record` gives a reading its id (after redaction, so that no id is made of
 * content), enriches it, checks it for loops and budgets, journals it and folds it. Before the event of an edge hook
 * (the end of a turn, a subagent, a session), `upTo` reads the session's transcript up to the time of the hook.
 */
import {
  type Agent,
  isAbsent,
  type Transcript,
  type TranscriptEntry,
  type TranscriptReading,
} from '../agents/contract/contract.ts';
import { agentNamed } from '../agents/index.ts';
import { AMENDED, awaited, firstUnread, isAmendable, isOpen, REPOSITORY, step } from '../assemble/assemble.ts';
import type { FinishedRecord, FinishedSpan } from '../assemble/finished.ts';
import type { Hash } from '../enrich/redact.ts';
import { withoutSecrets } from '../enrich/secrets.ts';
import { type Body, type Event, SETTLED } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { type Enrichers, judged } from '../identify/enrichers.ts';
import { boundId, eventId, idElsewhere, idsIn, seenBy, shortOf } from '../identify/event-ids.ts';
import { amend, type Circumstances, conclude, hashOf, identify } from '../identify/identify.ts';
import { watched } from '../identify/watch-notes.ts';
import { own } from '../lib/read.ts';
import { msOf } from '../lib/timestamp.ts';
import { sentBefore } from '../python/sent-before.ts';
import { HOOKS, isReportedByAnother, isReportedByStandard, nameTurn } from '../receive/foreign.ts';
import type { EventSource } from '../receive/receive.ts';
import { noteFiles, settleClock } from '../session/arrival.ts';
import { inPlaceOf, isReportedInPlace, MOST_IN_PLACE } from '../session/in-place.ts';
import type { Pin } from '../session/pin.ts';
import { movedSince, repositoryAt } from '../session/repository.ts';
import { noTranscripts, SEEN_IDS, type SessionState, sessionKey } from '../session/session-state.ts';
import { UUID } from '../standards/agent-hooks/schema.ts';
import type { ForeignReading } from '../standards/foreign-event.ts';
import { increase } from '../store/ledger.ts';
import type { Eyes } from '../transcripts/eyes.ts';
import {
  type Origin,
  type ReadingOn,
  type ReadOn,
  readOn,
  reportRest,
  type TranscriptListener,
} from '../transcripts/read-on.ts';
import { noteOver, patient, type TranscriptAccess, verdictsOn } from '../transcripts/settlement.ts';
import type { PreviousSessions } from './previous-sessions.ts';
import type { Choice } from './sampling.ts';

/** After this time without an event, a session is over, although its end was not observed. */
export const SILENCE_MS = 3_600_000;
/** The time in which an interrupted import may continue. After that, its session ends. */
export const UNFINISHED_IMPORT_MS = 24 * 3_600_000;
/** A row may be older than the hook of the same event: it is written first, and some rows have only whole seconds. */
const HOOK_LAG_MS = 2_000;

/** The new output of a session: journal lines, events, and the spans and records of the fold. */
export interface SessionOutput {
  readonly state: SessionState;
  lines: string;
  count: number;
  events: Event[];
  spans: FinishedSpan[];
  records: FinishedRecord[];
  /** The spans that are sent although the session is not sampled. Absent: no spans are kept so. */
  choice?: Choice | undefined;
}

export const noOutput = (): Omit<SessionOutput, 'state'> => ({
  lines: '',
  count: 0,
  events: [],
  spans: [],
  records: [],
});

/** Counted while the sessions of a round record their events. */
export interface RoundCounts {
  oddities: { [kind: string]: number };
  transcripts: { read: number; journaled: number; duplicate: number };
  /** Titles of agents whose transcripts had rows that failed. */
  failing: Set<string>;
  /** The number of new sessions whose spans are not sent because of a project's file, by its setting. */
  silenced: { [setting: string]: number };
}

export const noCounts = (): RoundCounts => ({
  oddities: {},
  transcripts: { read: 0, journaled: 0, duplicate: 0 },
  failing: new Set(),
  silenced: {},
});

/** Counts an undecided session only when its configuration can be read, so that it is counted once. */
export function countSilenced({ silenced }: RoundCounts, { silencedBy, pinned }: Pin): void {
  if (silencedBy !== undefined && !pinned.undecided) increase(silenced, silencedBy);
}

/** The values that all sessions of a round share. */
export interface RoundContext extends Enrichers {
  hash: Hash;
  nowMs: number;
  counts: RoundCounts;
  /** Absent: no transcript is read in this round. */
  transcripts?: TranscriptAccess | undefined;
  /** `never`: no transcript is read in any round, so closed spans settle at once. */
  settles?: 'never waiting' | undefined;
  /** Absent: no repository is read. */
  eyes?: Eyes | undefined;
  previous?: PreviousSessions | undefined;
  /** Earlier events do not become log records. */
  recordsSinceMs?: number | undefined;
  /** False: the output omits events, since no metric is counted. In an import, events would use most of the memory. */
  keepsEvents?: boolean | undefined;
}

export class SessionInRound implements SessionOutput, TranscriptListener {
  readonly state: SessionState;
  choice: Choice | undefined;
  lines = '';
  count = 0;
  events: Event[] = [];
  spans: FinishedSpan[] = [];
  records: FinishedRecord[] = [];
  /** The number of new events from hooks and standards. */
  taken = 0;
  /** True if the transcript has more rows than this round may read. */
  isMore = false;
  private readonly context: RoundContext;
  private readonly agent: Agent | undefined;
  private readonly transcript: Transcript | undefined;
  /** The folder of a session that began in this round, until its repository is searched. */
  private newFolder: string | undefined;
  /** The repository that the present event of a standard states. */
  private stated: EventSource['repository'];
  /** Ids of the committed journal, and of the session that this one's transcript begins with. */
  private journaledIds: Set<string> | undefined;
  private kinIds: Set<string> | undefined;
  private readonly knownSessions = new Map<string, boolean>();
  /** The files of the transcript, as this round has listed them. */
  private files: ReadOn['files'] | undefined;

  constructor(state: SessionState, context: RoundContext, newFolder?: string) {
    this.state = state;
    this.context = context;
    this.newFolder = newFolder;
    this.agent = agentNamed(state.agent);
    this.transcript = this.agent && !isAbsent(this.agent.transcript) ? this.agent.transcript : undefined;
  }

  // ------------------------------------------------------------ hooks

  /** Records the readings of a hook or an event of a standard. Returns the number of duplicates. */
  take(source: EventSource, fragment: Fragment): number {
    const { state } = this;
    const atMs = settleClock(state, fragment);
    const read = (): ForeignReading[] => source.read(state, hashOf(state, this.context.hash));
    // The first hook shows whether older rows are copies, so it is read before them.
    const first = state.hookedMs === undefined ? read() : undefined;
    if (first?.some(each => each.event_type === 'Session.Start' && each.facts?.previous !== undefined))
      state.bornMs = atMs;
    this.noteSource(source, atMs);
    this.stated = source.repository;
    let duplicates = 0;
    for (const reading of first ?? read()) {
      if (!this.takeReading(reading, source, fragment, atMs)) duplicates += 1;
    }
    state.arrivedMs = Math.max(state.arrivedMs, fragment.atMs);
    this.findRepository();
    return duplicates;
  }

  private noteSource({ agent: { adapter }, files, cwd, reporter, isEdge }: EventSource, atMs: number): void {
    const { state } = this;
    if (adapter === undefined || isAbsent(adapter.transcript)) return;
    noteFiles(state, files, cwd);
    if (reporter === HOOKS && (state.hookedMs === undefined || atMs < state.hookedMs)) state.hookedMs = atMs;
    if (isEdge) this.upTo(atMs);
  }

  /** Returns false if the session already has the event, from this source or from another one. */
  private takeReading(reading: ForeignReading, source: EventSource, fragment: Fragment, atMs: number): boolean {
    const { state } = this;
    const { reporter } = source;
    if (!reading.ours && isReportedByAnother(state, reading, reporter)) {
      if (reading.event_type === 'Prompt.Submitted' && reporter === HOOKS)
        nameTurn(state, { name: reading.facts?.turn });
      return false;
    }
    if (reporter === HOOKS && isReportedInPlace(state, reading, seenBy(state))) return false;
    const id = reading.id ?? source.id;
    const at = {
      native: source.native,
      source: 'native' as const,
      atMs,
      traceparent: fragment.header.TRACEPARENT,
      id: reporter === 'agent-hooks' && UUID.test(id ?? '') ? id?.toLowerCase() : undefined,
      ours: reading.ours,
      cwd: source.cwd,
      address: source.address,
      version: source.version,
    };
    const event = this.record(withEnvelope(reading, source, id), at, fragment);
    if (event === undefined) return false;
    this.taken += 1;
    const isUnnamed = event.event_type === 'Prompt.Submitted' && reading.facts?.turn === undefined;
    if (isUnnamed && reporter !== HOOKS) nameTurn(state, { announced: event.event_id });
    return true;
  }

  // ------------------------------------------------------------ the path of every event

  /** Returns undefined if the session already has the event. `fragment`: the hook that reported it. */
  private record(
    reading: ForeignReading | TranscriptReading,
    at: Circumstances,
    fragment?: Fragment,
  ): Event | undefined {
    const { state, context } = this;
    const hash = hashOf(state, context.hash);
    const odd = (kind: string): void => this.countOddity(kind);
    const risk = ('risk' in reading ? reading.risk : undefined) ?? judged(state, reading, context.risk, at.cwd, odd);
    const { price } = context;
    const means = { seen: seenBy(state), hash, risk, odd, price, keep: context.keep?.(state.pinned) };
    const event = identify(state, reading, at, means);
    if (event === undefined) return undefined;
    if (fragment !== undefined) this.beforeHook(event, fragment);
    const notes = watched(state, event, reading, hash, odd);
    this.append(event);
    if (fragment !== undefined) this.findRepository();
    for (const note of notes) this.append(note);
    return event;
  }

  /** Journals and folds an event that otel-hooks derives: silence, settlement, the repository. */
  conclude(body: Body, key: string, atMs: number): void {
    this.append(conclude(this.state, body, key, atMs));
  }

  private append(event: Event): void {
    const { context } = this;
    const isRecorded = context.recordsSinceMs === undefined || msOf(event.timestamp) >= context.recordsSinceMs;
    // The fold comes first: if it cannot process an event, the event must not get into the journal, where every later
    // fold would fail on it.
    this.fold(event, isRecorded);
    this.lines += `${JSON.stringify(event)}\n`;
    this.count += 1;
    if (context.settles === 'never waiting' || (this.agent !== undefined && this.transcript === undefined))
      this.settleUnread(msOf(event.timestamp));
  }

  /** Folds an event of a journal. No event is derived here, because the journal has the derived events too. */
  replay(event: Event): void {
    this.fold(event, true);
  }

  private fold(event: Event, isRecorded: boolean): void {
    const { spans, records, oddities } = step(this.state.fold, event, isRecorded);
    if (this.context.keepsEvents !== false) this.events.push(event);
    for (const kind in oddities) this.countOddity(kind, oddities[kind]);
    for (const span of spans) this.spans.push(span);
    for (const each of records) this.records.push(each);
  }

  private countOddity(kind: string, count = 1): void {
    const { oddities } = this.context.counts;
    oddities[kind] = (oddities[kind] ?? 0) + count;
  }

  /** Settles the spans that wait for a transcript, because there is none. */
  settleUnread(atMs: number): void {
    for (let of = firstUnread(this.state.fold); of !== undefined; of = firstUnread(this.state.fold))
      this.conclude({ event_type: SETTLED, data: { of, reason: 'absent' } }, of, atMs);
  }

  // ------------------------------------------------------------ repository and previous session

  private beforeHook(event: Event, fragment: Fragment): void {
    if (event.event_type === 'Session.Start') this.context.previous?.note(event, fragment, this.state.agent);
    if (isMilestone(event)) this.lookAtRepository();
  }

  private findRepository(): void {
    this.findFolder();
    this.noteStated();
  }

  /** Journals the repository that a sender states, when it changes. */
  private noteStated(): void {
    const { state, stated } = this;
    this.stated = undefined;
    if (stated === undefined || state.pinned.repository === false) return;
    const named = Object.entries(stated).flatMap(([part, value]) =>
      value === undefined ? [] : [[part, withoutSecrets(value)] as const],
    );
    const known = state.fold.repository;
    if (named.every(([part, value]) => known?.[part as 'name'] === value)) return;
    const data = { ...Object.fromEntries(named), stated: true };
    this.conclude({ event_type: REPOSITORY, data }, `stated:${state.seq}`, state.fold.lastMs);
  }

  private findFolder(): void {
    const { state, newFolder: cwd } = this;
    this.newFolder = undefined;
    const found = cwd === undefined ? undefined : this.context.eyes && repositoryAt(cwd, this.context.eyes);
    if (cwd === undefined || found === undefined) return;
    state.repository = { cwd, revision: found.revision };
    const key = state.former === undefined ? 'repository' : `repository:${state.seq}`;
    this.conclude({ event_type: REPOSITORY, data: { ...found } }, key, state.fold.lastMs);
  }

  /** Journals the agent's commits and a change of branch. */
  private lookAtRepository(): void {
    const { state, context } = this;
    const { repository } = state;
    const moved = repository && context.eyes && movedSince(repository.cwd, repository.revision, context.eyes);
    if (repository === undefined || !moved) return;
    repository.revision = moved.revision;
    this.conclude({ event_type: REPOSITORY, data: { ...moved } }, `repository:${state.seq}`, state.fold.lastMs);
  }

  // ------------------------------------------------------------ transcript

  /**
   * Continues to read the transcript up to a time. Returns undefined if there is none, or none is read in this round.
   */
  upTo(untilMs: number): ReadOn | undefined {
    const place = this.transcriptPlace(untilMs);
    if (place === undefined) return undefined;
    const result = readOn(place);
    this.isMore = result.isMore;
    this.files = result.files;
    return result;
  }

  /**
   * Reads the transcript and settles the spans that waited for it. `isOver`: no more rows will follow. A delivery that
   * waits for transcripts reads only up to the time of the round: the hook of a later row may not be in the inbox yet.
   */
  settle(isOver = false): void {
    const { nowMs, transcripts } = this.context;
    const isPatient = transcripts !== undefined && transcripts.waits.turnMs > 0;
    const result = this.upTo(isPatient ? nowMs : Number.POSITIVE_INFINITY);
    if (result !== undefined) this.settleBy(result, isOver);
  }

  /** Settles closed spans if the transcript was read past their end, or if they have waited for the longest time. */
  settleBy(result: ReadOn, isOver: boolean): void {
    const { state, transcript } = this;
    const { transcripts: access } = this.context;
    if (transcript === undefined || access === undefined) return;
    const verdicts = verdictsOn(state, transcript, result, access, isOver);
    if (verdicts.length === 0) return;
    const isQuiet = isOver || access.nowMs - result.writtenMs > patient.turnMs;
    const ends = new Set(verdicts.filter(each => each.reason !== 'absent').map(each => each.kind));
    if (ends.has('session') || (isQuiet && verdicts.some(each => each.reason === 'timeout'))) this.finish();
    const transcripts = this.transcriptState();
    for (const { of, reason, kind } of verdicts) {
      delete transcripts.waits[of];
      if (reason === 'timeout') transcripts.tooLate = true;
      if (kind === 'session') transcripts.tooLate = undefined;
      this.conclude({ event_type: SETTLED, data: { of, reason } }, of, state.fold.lastMs || access.nowMs);
    }
  }

  /** Records the readings that wait in the readers' memories for further rows, since no more rows will follow. */
  finish(): void {
    const place = this.transcriptPlace(this.context.nowMs);
    if (place !== undefined) reportRest({ ...place, files: this.files });
  }

  private transcriptState(): NonNullable<SessionState['transcripts']> {
    this.state.transcripts ??= noTranscripts();
    return this.state.transcripts;
  }

  private transcriptPlace(untilMs: number): ReadingOn | undefined {
    const { state, transcript, context } = this;
    const { transcripts: access } = context;
    if (transcript === undefined || access === undefined) return undefined;
    return {
      transcript,
      state: this.transcriptState(),
      session: state.session,
      home: access.home,
      env: access.env,
      eyes: access.eyes,
      hash: context.hash,
      untilMs,
      keepsResults: (state.pinned.content?.modes.results ?? 'off') !== 'off',
      budget: access.budget,
      begin: path => sentBefore(access.eyes, access.formerStates ?? [], state.session, path),
      listener: this,
    };
  }

  origin(id: string): void {
    const { state } = this;
    const kin = this.context.transcripts?.owner(state.agent, id, { key: state.key, session: state.session });
    if (kin !== undefined && kin.key !== state.key) this.transcriptState().kin = kin;
  }

  odd(kind: string): void {
    this.countOddity(`transcript_${kind}`);
    const isFailure = kind === 'row_failed' || kind === 'reader_failed';
    if (isFailure && this.agent !== undefined) this.context.counts.failing.add(this.agent.title);
  }

  /** Records a row, then counts it: a row that fails must not be counted here. */
  report(entry: TranscriptEntry, from: Origin): void {
    if ('over' in entry) {
      const id = entry.id ?? (entry.over === 'subagent' ? from.subagent : undefined);
      noteOver(this.transcriptState(), entry.over, id, entry.atMs ?? from.atMs);
      return;
    }
    const { transcripts: counts } = this.context.counts;
    const { subagent = from.subagent, atMs = from.atMs } = entry;
    const reading = subagent === entry.subagent && atMs === entry.atMs ? entry : { ...entry, subagent, atMs };
    const isNew = !this.isCopy(entry, reading) && this.recordRow(reading, from);
    counts.read += 1;
    counts[isNew ? 'journaled' : 'duplicate'] += 1;
  }

  /** Returns true if another session recorded this row: the file of a fork begins with rows of another session. */
  private isCopy({ copyOf }: TranscriptReading, reading: TranscriptReading): boolean {
    if (copyOf !== undefined && this.isKnownSession(copyOf)) return true;
    const { bornMs } = this.state;
    if (bornMs !== undefined && reading.atMs !== undefined && reading.atMs < bornMs) return true;
    const { kin } = this.transcriptState();
    if (kin === undefined) return false;
    this.kinIds ??= idsIn(this.context.transcripts?.journal(kin.key) ?? '');
    return this.kinIds.has(idElsewhere(this.state.agent, kin.session, reading));
  }

  private isKnownSession(session: string): boolean {
    const known = this.knownSessions.get(session);
    if (known !== undefined) return known;
    const answer = this.context.transcripts?.knows(sessionKey(this.state.agent, session)) ?? false;
    this.knownSessions.set(session, answer);
    return answer;
  }

  /** Returns true if the row is a new event. A row of a known event may correct the end of its action. */
  private recordRow(reading: TranscriptReading, from: Origin): boolean {
    const { state, context } = this;
    const id = eventId(state, boundId(reading.subagent) ?? state.session, reading.event_type, reading.key);
    const atMs = context.nowMs;
    if (!this.isKnownRow(reading, id, from)) {
      const { version } = from;
      const event = this.record(reading, {
        native: undefined,
        source: 'transcript',
        atMs,
        traceparent: undefined,
        id,
        ours: true,
        version,
      });
      if (event !== undefined) {
        if (reading.unless === 'hooked')
          state.inPlace = [...(state.inPlace ?? []), inPlaceOf(reading)].slice(-MOST_IN_PLACE);
        return true;
      }
    }
    const call = reading.facts?.call;
    const isAction = reading.event_type === 'Action.Before' || reading.event_type === 'Action.After';
    if (!isAction || call === undefined || reading.unless !== undefined || !isAmendable(state.fold, call)) return false;
    if (reading.corrects === 'open actions' && own(state.fold.actions, call) === undefined) return false;
    const amended = amend(state, reading, id, AMENDED);
    if (amended) this.append(amended);
    return false;
  }

  private isKnownRow(reading: TranscriptReading, id: string, { isAgain }: Origin): boolean {
    const { state, context } = this;
    const { hookedMs } = state;
    const atMs = reading.atMs ?? context.nowMs;
    if (reading.unless === 'hooked' && hookedMs !== undefined && atMs >= hookedMs - HOOK_LAG_MS) return true;
    if (isReportedByStandard(state, reading)) {
      if (reading.event_type === 'Prompt.Submitted') nameTurn(state, { name: reading.facts?.turn });
      return true;
    }
    // Checked before the hash is computed: most rows of calls repeat an event of a hook.
    const short = shortOf(id);
    if (seenBy(state).has(short)) return true;
    if (!isAgain || state.seq <= SEEN_IDS) return false;
    this.journaledIds ??= idsIn(context.transcripts?.journal(state.key) ?? '');
    return this.journaledIds.has(short);
  }

  // ------------------------------------------------------------ the end of a session without an end event

  /** An hour without an event ends a session, unless its transcript shows that it is still at work. */
  fallSilent(): void {
    const { state, context } = this;
    const { nowMs } = context;
    if (isUnfinishedImport(state)) {
      if (nowMs - state.arrivedMs > UNFINISHED_IMPORT_MS) this.endUnfinishedImport();
      return;
    }
    if (!isOpen(state.fold) || nowMs - state.arrivedMs <= SILENCE_MS) return;
    const result = this.upTo(Number.POSITIVE_INFINITY);
    if (result?.isMore) return;
    if (result?.isThere && nowMs - Math.max(state.fold.lastMs, result.writtenMs) <= SILENCE_MS) return;
    this.lookAtRepository();
    this.abort(state.arrivedMs + SILENCE_MS);
    if (result) this.settleBy(result, true);
  }

  /** Ends an open session whose end was not observed. */
  abort(atMs: number): void {
    const { state } = this;
    const segment = state.fold.segment?.number ?? 0;
    const body = { event_type: 'Session.Abort', data: { end_reason: 'idle_timeout' } } as const;
    this.conclude(body, `silence:${segment}:${state.seq}`, atMs);
  }

  /** Ends a session at its last row, because transcripts do not state an end. `why`: part of the event's key. */
  endAtLastRow(why: 'imported' | 'left'): void {
    const { lastMs, segment, endedMs } = this.state.fold;
    if (!isOpen(this.state.fold) || endedMs !== undefined) return;
    const body = { event_type: 'Session.End', data: { end_reason: 'idle_timeout' } } as const;
    this.conclude(body, `${why}:${segment?.number ?? 0}:${lastMs}`, lastMs);
  }

  /**
   * Ends the session and settles all of its spans, so that its state can be removed and its journal has all events that
   * were sent. Returns false as long as the transcript has more rows than this round may read.
   */
  endForRemoval(): boolean {
    const { state } = this;
    if (isUnfinishedImport(state)) this.endUnfinishedImport();
    else if (isOpen(state.fold) || awaited(state.fold).length > 0) {
      const result = this.upTo(Number.POSITIVE_INFINITY);
      if (result?.isMore) return false;
      if (isOpen(state.fold)) this.abort(Math.max(state.arrivedMs, state.fold.lastMs));
      if (result) this.settleBy(result, true);
      this.settleRest();
    }
    return true;
  }

  private settleRest(): void {
    const { fold } = this.state;
    for (const { of } of awaited(fold))
      this.conclude({ event_type: SETTLED, data: { of, reason: 'timeout' } }, of, fold.lastMs);
  }

  /**
   * Ends the session at the last row that was read. The rest of the transcript stays firstUnread, so sums are incomplete.
   */
  private endUnfinishedImport(): void {
    const { state } = this;
    delete state.transcripts?.isPart;
    this.endAtLastRow('left');
    this.settleRest();
    // As in an import, old events must not change the counters of today.
    this.events.length = 0;
    this.records.length = 0;
  }
}

export const isUnfinishedImport = ({ transcripts, hookedMs }: SessionState): boolean =>
  transcripts?.isPart === true && hookedMs === undefined;

/** Commits are searched when the agent has finished a turn or the session. */
const isMilestone = ({ event_type: type, parent_session_id: parent }: Event): boolean =>
  parent === undefined && (type === 'Agent.Response' || type === 'Session.End' || type === 'Session.Abort');

/** Adds the time and the id of the envelope. A hook without an envelope is returned as it is, to avoid a copy. */
function withEnvelope(
  reading: ForeignReading,
  { reporter, atMs }: EventSource,
  id: string | undefined,
): ForeignReading {
  if (id === undefined && atMs === undefined) return reading;
  const key = reading.key ?? (id === undefined ? undefined : `${reporter}:${id}`);
  return { ...reading, atMs: reading.atMs ?? atMs, key };
}
