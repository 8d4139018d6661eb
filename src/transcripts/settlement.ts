/**
 * Which closed spans of a session settle now, and how: as `read` when the transcript was read past their end; as `timeout`
 * when the wait is over, and then the sums say that they are incomplete; as `absent` when there is no transcript. The round
 * journals the verdict, so that a journal that is read again settles at the same place.
 */
import { dirname } from 'node:path';
import type { Transcript } from '../agents/contract/contract.ts';
import { awaited } from '../assemble/assemble.ts';
import type { FinishedSpan } from '../assemble/finished.ts';
import { noTranscripts, type SessionState, type TranscriptState } from '../session/session-state.ts';
import type { Eyes } from './eyes.ts';
import type { Kin } from './origins.ts';
import type { ReadOn } from './read-on.ts';

export interface TranscriptAccess {
  eyes: Eyes;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  nowMs: number;
  /** How long a closed span waits for its transcript. */
  waits: Waits;
  /** What one round may read; changed in place. */
  budget: { bytes: number };
  /** Where the Python package of this name may have noted what it sent. */
  formerStates?: readonly string[] | undefined;
  /** The committed journal of the session: its ids are asked for where a file is read once more. */
  journal(key: string): string | undefined;
  /** Whose file begins with this row; it is this session's from now on if it was nobody's. */
  owner(agent: string, origin: string, of: Kin): Kin;
  /** Was anything told of this session, or is it about to be? */
  knows(key: string): boolean;
}

export interface Waits {
  turnMs: number;
  subagentMs: number;
}

/** A stale tail is waited for so long. */
export const patient: Waits = { turnMs: 10_000, subagentMs: 60_000 };
/** A person waits: what is there now is all. */
export const impatient: Waits = { turnMs: 0, subagentMs: 0 };

/** A hook may be told that much later than one that began after it. */
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

/** What settles now, in the order in which it was closed. */
export function verdictsOn(
  state: SessionState,
  transcript: Transcript,
  result: ReadOn,
  world: TranscriptAccess,
  isOver: boolean,
): Verdict[] {
  const transcripts = state.transcripts ?? noTranscripts();
  const held = awaited(state.fold);
  for (const of of Object.keys(transcripts.waits)) {
    if (!held.some(each => each.of === of)) delete transcripts.waits[of];
  }
  if (result.isMore) return [];
  const isNowhere = !result.isThere && isHopeless(state, transcript, world);
  for (const { of } of held) transcripts.waits[of] ??= world.nowMs;
  const waitedMs = (of: string): number => waited(transcripts, of, world.nowMs);
  // Only hooks could say more, and not for long.
  const isFresh = held.some(
    ({ of, span }) => isWordless(span) && waitedMs(of) < Math.min(OVERTAKEN_MS, world.waits.turnMs),
  );
  if (isNowhere && isFresh && !isOver) return [];
  const verdicts: Verdict[] = [];
  // From the last to be closed: an action is told, or never will be, when what held it is: its subagent, else its turn.
  const after = new Map<string | undefined, Reason | undefined>();
  let isHeldBack = false;
  for (const { of, span } of held.toReversed()) {
    const waitMs = span.kind === 'subagent' ? world.waits.subagentMs : world.waits.turnMs;
    const isDue = isOver || waitedMs(of) >= waitMs;
    let reason: Reason | undefined;
    if (isNowhere) reason = 'absent';
    else if (span.kind === 'session') continue;
    else if (span.kind === 'action') reason = after.get(after.has(span.subagent) ? span.subagent : undefined);
    else if (isTold(transcripts, span)) reason = 'read';
    if (reason === undefined && isDue) reason = result.isThere ? (isOver ? 'read' : 'timeout') : 'absent';
    if (reason === undefined) isHeldBack = true;
    else verdicts.unshift({ of, kind: span.kind, reason });
    if (span.kind === 'turn') after.set(undefined, reason);
    if (span.kind === 'subagent') after.set(span.id, reason);
  }
  if (isNowhere || isHeldBack) return verdicts;
  const isLate = transcripts.tooLate === true || verdicts.some(each => each.reason === 'timeout');
  const sessions = held.filter(({ span }) => span.kind === 'session');
  const reason = result.isThere
    ? isLate
      ? 'timeout'
      : 'read'
    : isPast(sessions, transcripts, world) || isOver
      ? 'absent'
      : undefined;
  if (reason !== undefined) for (const { of } of sessions) verdicts.push({ of, kind: 'session', reason });
  return verdicts;
}

/** Closed by what came after it, without word of how it ended. */
const isWordless = (span: FinishedSpan): boolean =>
  (span.kind === 'turn' && span.outcome === 'unfinished') ||
  (span.kind === 'action' &&
    (span.outcome === 'abandoned' || (span.outcome === 'denied' && span.decision?.basis === 'inferred')));

/** Where not even the folder is, nobody is about to write a file. */
const isHopeless = (state: SessionState, transcript: Transcript, world: TranscriptAccess): boolean =>
  transcript.files(placeOf(state, world), world.eyes).every(({ path }) => !world.eyes.isFolder(dirname(path)));

function isPast(sessions: readonly { of: string }[], transcripts: TranscriptState, world: TranscriptAccess): boolean {
  for (const { of } of sessions) transcripts.waits[of] ??= world.nowMs;
  return sessions.every(({ of }) => waited(transcripts, of, world.nowMs) >= world.waits.turnMs);
}

/** A clock that was set back keeps nothing waiting until it is there again. */
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

/** Was an end of it told that lies within it? Ends of former parts of the same turn lie before. */
function isTold(transcripts: TranscriptState, span: FinishedSpan): boolean {
  const what =
    span.kind === 'turn' ? `turn:${span.turn}` : span.kind === 'subagent' ? `subagent:${span.id}` : undefined;
  return transcripts.over.some(
    ([known, atMs]) => atMs >= span.startMs && (known === what || (span.kind === 'turn' && known === 'turn:')),
  );
}
