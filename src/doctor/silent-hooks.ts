/**
 * Finds hooks that are registered and never fire. Transcripts prove that the agent has begun sessions since the
 * registration, and no hook of the agent has arrived.
 */
import { statSync } from 'node:fs';
import { isAbsent } from '../agents/contract/contract.ts';
import { sessionIndex } from '../journal/session-index.ts';
import type { Problem } from '../problems/problem.ts';
import type { Setup } from '../setup/setup.ts';
import type { Found } from '../setup/standing.ts';
import type { Store } from '../store/store.ts';
import { diskEyes } from '../transcripts/eyes.ts';

/** Older transcripts prove nothing: journals of that time may have been removed. */
const NEWS_MS = 7 * 86_400_000;
/** The hooks of a younger session may still be on their way. */
const YOUNG_MS = 60_000;

/** `store` is undefined if no hook has ever written to the state folder. */
export function silentHooks(
  found: readonly Found[],
  store: Store | undefined,
  { places, nowMs }: Pick<Setup, 'places'> & { nowMs: number },
): Problem[] {
  // Sessions that a project silences have hooks, and leave nothing.
  const counters = Object.keys(store?.books().counters ?? {});
  if (counters.some(name => name.startsWith('silenced.'))) return [];
  const eyes = diskEyes();
  return found.flatMap(each => {
    const { agent, scope, files } = each;
    const { settings, transcript } = agent;
    // The transcripts of a machine do not say which of them a project's hooks should have recorded.
    if (scope !== 'global' || 'problem' in each || isAbsent(settings) || isAbsent(transcript)) return [];
    const sinceMs = Math.max(nowMs - NEWS_MS, ...files.map(file => timesOf(file)?.writtenMs ?? nowMs));
    const born = transcript
      .installed(places, eyes)
      .filter(({ path }) => isBetween(timesOf(path)?.bornMs, sinceMs, nowMs - YOUNG_MS));
    if (born.length === 0 || hasHooksSince(store, agent.id, sinceMs)) return [];
    const sessions = born.length === 1 ? '1 session' : `${born.length} sessions`;
    const why = `none has arrived, although the agent has begun ${sessions} since`;
    return [{ code: 'hooks-silent', agent: agent.title, file: files[0] ?? '', why, advice: settings.afterwards }];
  });
}

function hasHooksSince(store: Store | undefined, agent: string, sinceMs: number): boolean {
  if (store === undefined) return false;
  if (store.books().fragments.waiting > 0) return true;
  return [...sessionIndex(store).values()].some(each => each.agent === agent && each.lastMs >= sinceMs);
}

const isBetween = (ms: number | undefined, fromMs: number, toMs: number): boolean =>
  ms !== undefined && ms > fromMs && ms < toMs;

/** A file system without birth times returns a later time, so a session from before the registration may count. */
function timesOf(path: string): { bornMs: number; writtenMs: number } | undefined {
  try {
    const { birthtimeMs, mtimeMs } = statSync(path);
    return { bornMs: birthtimeMs, writtenMs: mtimeMs };
  } catch {
    // The file was removed meanwhile.
    return undefined;
  }
}
