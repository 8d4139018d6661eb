/**
 * Decides which closed spans of a session settle now, and with which verdict. `read`: the transcript was read past
 * their end. `timeout`: the wait is over, and the sums are marked as incomplete. `absent`: there is no transcript. The
 * round journals the verdict, so that a replay of the journal settles the spans at the same event.
 */
import { dirname } from 'node:path';
import type { Transcript } from '../agents/contract/contract.ts';
import { awaited } from '../assemble/assemble.ts';
import type { FinishedSpan } from '../assemble/finished.ts';
import { sameKey } from '../assemble/keys.ts';
import type { Held } from '../assemble/state.ts';
import { noTranscripts, type SessionState, type TranscriptState } from '../session/session-state.ts';
import type { Eyes } from './eyes.ts';
import type { Kin } from './origins.ts';
import type { ReadOn } from './read-on.ts';

export interface TranscriptAccess {
  eyes: Eyes;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  nowMs: number;
  /** The times that closed spans wait for their transcript. */
  waits: Waits;
  /** The number of bytes that this round may still read. Changed in place. */
  budget: { bytes: number };
  /** State folders of the Python package, which may record what it sent. */
  formerStates?: readonly string[] | undefined;
  /** Returns the committed journal of a session, for the ids of a file that is read again. */
  journal(key: string): string | undefined;
  /** Returns the session that owns an origin. This session becomes the owner of an unknown origin. */
  owner(agent: string, origin: string, of: Kin): Kin;
  /** Returns true if events of this session exist or will be read in this round. */
  knows(key: string): boolean;
}

export interface Waits {
  turnMs: number;
  subagentMs: number;
}

/** The times that delivery waits for the end of a transcript. */
export const patient: Waits = { turnMs: 10_000, subagentMs: 60_000 };
/** Commands that a person waits for use only the present content. */
export const impatient: Waits = { turnMs: 0, subagentMs: 0 };

/** A hook may arrive this much later than a hook that began after it. */
const OVERTAKEN_MS = 2_000;

const MOST_OVER = 128;

export function noteOver(
  transcripts: TranscriptState,
  over: string,
  id: string | undefined,
  atMs: number | undefined,
): void {
  const what = `${over}:${id ?? ''}`;
  const at = transcripts.over.findIndex(([known]) => known === what);
  if (at >= 0) transcripts.over.splice(at, 1);
  transcripts.over.push([what, atMs ?? Number.MAX_SAFE_INTEGER]);
  if (transcripts.over.length > MOST_OVER) transcripts.over.shift();
}

export type Reason = 'read' | 'timeout' | 'absent';
export interface Verdict {
  of: string;
  kind: FinishedSpan['kind'];
  reason: Reason;
}

/** Returns the verdicts at this time, in the order in which the spans were closed. */
export function verdictsOn(
  state: SessionState,
  transcript: Transcript,
  result: ReadOn,
  access: TranscriptAccess,
  isOver: boolean,
): Verdict[] {
  const transcripts = state.transcripts ?? noTranscripts();
  const held = awaited(state.fold);
  // Nothing waits any more in a session that is over and was read to its end.
  if (!isOver || result.isMore) noteWaits(transcripts, held, access.nowMs);
  else forgetWaits(transcripts, held);
  if (result.isMore) return [];
  const waits: Waiting = { transcript, transcripts, held, result, access, isOver };
  const isNowhere = !result.isThere && isHopeless(state, transcript, access);
  if (!isNowhere) return [...turnVerdicts(waits), ...sessionVerdicts(waits)];
  // Without a transcript, only a hook that has not arrived yet could add facts.
  if (hasFreshWordless(waits) && !isOver) return [];
  return held.map(({ of, span }) => ({ of, kind: span.kind, reason: 'absent' }));
}

interface Waiting {
  transcript: Transcript;
  transcripts: TranscriptState;
  held: readonly Held[];
  result: ReadOn;
  access: TranscriptAccess;
  isOver: boolean;
}

/** Stores the time at which each closed span began to wait, and removes the spans that were emitted. */
function noteWaits(transcripts: TranscriptState, held: readonly Held[], nowMs: number): void {
  forgetWaits(transcripts, held);
  for (const { of } of held) transcripts.waits[of] ??= nowMs;
}

function forgetWaits({ waits }: TranscriptState, held: readonly Held[]): void {
  const names = new Set(held.map(({ of }) => of));
  for (const of of Object.keys(waits)) if (!names.has(of)) delete waits[of];
}

function hasFreshWordless({ transcripts, held, access }: Waiting): boolean {
  const leastMs = Math.min(OVERTAKEN_MS, access.waits.turnMs);
  return held.some(({ of, span }) => isWordless(span) && waited(transcripts, of, access.nowMs) < leastMs);
}

/**
 * Turns and subagents settle when the transcript was read past their end, or when their wait is over. An action settles
 * with its subagent or its turn. These were closed after the action, so the spans are visited from the last to the
 * first.
 */
function turnVerdicts(waiting: Waiting): Verdict[] {
  const { transcripts, held } = waiting;
  const verdicts: Verdict[] = [];
  const after = new Map<string | undefined, Reason | undefined>();
  for (const { of, span } of held.toReversed()) {
    if (span.kind === 'session') continue;
    const holder = span.kind === 'action' && after.has(span.subagent) ? span.subagent : undefined;
    const ending = span.kind === 'action' && !after.has(holder) ? holderBefore(held, span) : span;
    const isEnded = ending !== undefined && ending.kind !== 'action' && isEndStated(transcripts, ending);
    const observed = after.has(holder) && span.kind === 'action' ? after.get(holder) : isEnded ? 'read' : undefined;
    const reason = observed ?? reasonAfterWait(of, span, waiting);
    if (reason !== undefined) verdicts.unshift({ of, kind: span.kind, reason });
    if (span.kind === 'turn') after.set(undefined, reason);
    if (span.kind === 'subagent') after.set(span.id, reason);
  }
  return verdicts;
}

/** Rows that were written late may close an action after its turn. */
const holderBefore = (held: readonly Held[], { parent }: FinishedSpan): FinishedSpan | undefined =>
  held.find(({ span }) => (span.kind === 'turn' || span.kind === 'subagent') && parent && sameKey(span.key, parent))
    ?.span;

function reasonAfterWait(of: string, { kind }: FinishedSpan, waiting: Waiting): Reason | undefined {
  const { transcripts, result, access, isOver } = waiting;
  const waitMs = kind === 'subagent' ? access.waits.subagentMs : access.waits.turnMs;
  if (!isOver && waited(transcripts, of, access.nowMs) < waitMs) return undefined;
  if (!result.isThere) return 'absent';
  return isOver ? 'read' : 'timeout';
}

/** A session settles after all of its spans, and after the row of its totals. Its sums are incomplete if one of them was not read to its end. */
function sessionVerdicts(waiting: Waiting): Verdict[] {
  const { transcript, transcripts, held, result, access, isOver } = waiting;
  const inner = turnVerdicts(waiting);
  const sessions = held.filter(({ span }) => span.kind === 'session');
  if (inner.length < held.length - sessions.length) return [];
  const hasWaited = sessions.every(({ of }) => waited(transcripts, of, access.nowMs) >= access.waits.turnMs);
  const versionRead = Object.values(transcripts.files).findLast(({ agentVersion }) => agentVersion)?.agentVersion;
  const isExpected = ({ span }: Held): boolean => {
    const version = span.version ?? versionRead;
    return version !== undefined && transcript.hasTotals?.(version) === true && !isEndStated(transcripts, span);
  };
  if ((!result.isThere || sessions.some(isExpected)) && !hasWaited && !isOver) return [];
  const isLate = transcripts.tooLate === true || inner.some(({ reason }) => reason === 'timeout');
  const reason = result.isThere ? (isLate ? 'timeout' : 'read') : 'absent';
  return sessions.map(({ of }) => ({ of, kind: 'session', reason }));
}

/** Returns true if a later event closed the span without an outcome. */
const isWordless = (span: FinishedSpan): boolean =>
  (span.kind === 'turn' && (span.outcome ?? 'unfinished') === 'unfinished') ||
  (span.kind === 'action' &&
    (span.outcome === 'abandoned' || (span.outcome === 'denied' && span.decision?.basis === 'inferred')));

/** Returns true if the folder of the transcript does not exist, so that no transcript will be written. */
const isHopeless = (state: SessionState, transcript: Transcript, access: TranscriptAccess): boolean =>
  transcript.files(placeOf(state, access), access.eyes).every(({ path }) => !access.eyes.isFolder(dirname(path)));

/** Returns the absolute length of the wait, so that a clock that was set back does not prolong it. */
const waited = ({ waits }: TranscriptState, of: string, nowMs: number): number =>
  Math.abs(nowMs - (waits[of] ?? nowMs));

const placeOf = (state: SessionState, { home, env }: TranscriptAccess) => ({
  session: state.session,
  cwd: state.transcripts?.cwd,
  home,
  env,
  main: state.transcripts?.main,
  subagents: state.transcripts?.subagents ?? [],
});

/** Returns true if the transcript has an end within the span. Earlier parts of the same turn end before the span. */
function isEndStated(transcripts: TranscriptState, span: FinishedSpan): boolean {
  const id = span.kind === 'turn' ? span.turn : span.kind === 'subagent' ? span.id : '';
  const what = `${span.kind}:${id}`;
  return transcripts.over.some(
    ([known, atMs]) => atMs >= span.startMs && (known === what || (span.kind === 'turn' && known === 'turn:')),
  );
}
