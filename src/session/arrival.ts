import type { ToldFiles } from '../agents/contract/contract.ts';
import type { Fragment } from '../hook/fragment.ts';
import { isId } from '../identify/event-ids.ts';
import { noTranscripts, RECENT_PAYLOADS, type SessionState } from './session-state.ts';

/** The last word on a session's files counts: a resumed session may go on in another one. */
export function noteFiles(state: SessionState, told: ToldFiles | undefined, cwd: string | undefined): void {
  state.transcripts ??= noTranscripts();
  const { transcripts } = state;
  const { main, subagent } = told ?? {};
  if (main !== undefined && main !== '' && main.length <= LONGEST_PATH) transcripts.main = main;
  transcripts.cwd ??= cwd;
  if (subagent === undefined || subagent.path.length > LONGEST_PATH || !isId(subagent.id)) return;
  if (transcripts.subagents.some(known => known.path === subagent.path)) return;
  transcripts.subagents.push(subagent);
  if (transcripts.subagents.length > MOST_SUBAGENT_FILES) transcripts.subagents.shift();
}

const LONGEST_PATH = 4_096;

const MOST_SUBAGENT_FILES = 256;

/** Two registrations of the same hook: same bytes, same parent process, same moment. */
export function isRepetition(state: SessionState, hash: string, fragment: Fragment): boolean {
  const parent = fragment.header.ppid ?? '';
  // Whole hashes: a part of a string is compared the slow way, and each event is compared with all that are remembered.
  const twice = state.recent.some(
    each => each[0] === hash && each[1] === parent && parent !== '' && Math.abs(fragment.atMs - each[2]) <= 1_000,
  );
  if (!twice) {
    state.recent.push([hash, parent, fragment.atMs]);
    if (state.recent.length > RECENT_PAYLOADS) state.recent.shift();
  }
  return twice;
}

/**
 * The time of arrival on a clock that does not jump within the session: the wall clock, as long as it goes with the boot
 * clock of the same boot; else the boot clock, carried on from where both agreed.
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
