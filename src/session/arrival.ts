import type { NamedFiles } from '../agents/contract/contract.ts';
import type { Fragment } from '../hook/fragment.ts';
import { isId } from '../identify/event-ids.ts';
import { noTranscripts, RECENT_PAYLOADS, type SessionState } from './session-state.ts';

/**
 * Stores the transcript files that a hook names. The last name counts, because a resumed session may continue in
 * another file.
 */
export function noteFiles(state: SessionState, named: NamedFiles | undefined, cwd: string | undefined): void {
  state.transcripts ??= noTranscripts();
  const { transcripts } = state;
  const { main, subagent } = named ?? {};
  if (main !== undefined && main !== '' && main.length <= LONGEST_PATH) transcripts.main = main;
  transcripts.cwd ??= cwd;
  if (subagent === undefined || subagent.path.length > LONGEST_PATH || !isId(subagent.id)) return;
  if (transcripts.subagents.some(known => known.path === subagent.path)) return;
  transcripts.subagents.push(subagent);
  if (transcripts.subagents.length > MOST_SUBAGENT_FILES) transcripts.subagents.shift();
}

const LONGEST_PATH = 4_096;

const MOST_SUBAGENT_FILES = 256;

type Arrived = SessionState['recent'][number];

const REPEATED_WITHIN_MS = 1_000;

/** Fragments arrive almost in the order of their times. */
const REMEMBERED_MS = 10_000;

const isForgotten = (oldest: Arrived | undefined, nowMs: number): boolean =>
  oldest !== undefined && nowMs - oldest[2] > REMEMBERED_MS;

/** Whether the same hook was registered twice: same bytes, same parent process, same second. */
export function isRepetition(state: SessionState, hash: string, fragment: Fragment): boolean {
  const parent = fragment.header.ppid ?? '';
  // Whole hashes, because comparing parts of strings is slower.
  const twice = state.recent.some(
    each =>
      each[0] === hash &&
      each[1] === parent &&
      parent !== '' &&
      Math.abs(fragment.atMs - each[2]) <= REPEATED_WITHIN_MS,
  );
  if (!twice) {
    state.recent.push([hash, parent, fragment.atMs]);
    while (state.recent.length > RECENT_PAYLOADS || isForgotten(state.recent[0], fragment.atMs)) state.recent.shift();
  }
  return twice;
}

/**
 * The arrival time on a clock that does not jump within the session: the wall clock while it agrees with the boot clock of
 * the same boot, otherwise the boot clock, continued from the last agreement.
 */
export function settleClock(state: SessionState, fragment: Fragment): number {
  const atMs = Math.floor(fragment.atMs);
  if (fragment.boot === undefined || fragment.upMs === undefined) return atMs;
  const offsetMs = atMs - fragment.upMs;
  const { clock } = state;
  if (clock !== undefined && clock.boot === fragment.boot && Math.abs(offsetMs - clock.offsetMs) > 2_000) {
    return Math.floor(clock.offsetMs + fragment.upMs);
  }
  state.clock = { boot: fragment.boot, offsetMs };
  return atMs;
}
