/** Tries destinations for `enable`: one empty request to each, which stores nothing there. */
import type { Destination } from '../config/destinations.ts';
import type { Proxies } from '../config/proxies.ts';
import { tryEndpoint } from '../doctor/endpoints.ts';
import { asShown } from '../lib/shown.ts';
import { explain, type Problem } from '../problems/problem.ts';

export type Trial = { endpoint: string; ok: true } | { endpoint: string; ok: false; problem: Problem };

const PATIENCE_MS = 3_000;

/** Only destinations that are reached over the network. */
export async function tryDestinations(
  destinations: readonly Destination[],
  { nowMs, proxies }: { nowMs: number; proxies: () => Proxies },
): Promise<Trial[]> {
  const tried = await Promise.all(
    destinations.map(async (destination): Promise<Trial[]> => {
      const { endpoint } = destination;
      const found = await tryEndpoint(destination, { patienceMs: PATIENCE_MS, nowMs, proxies });
      if (found === 'not asked') return [];
      return [found === undefined ? { endpoint, ok: true } : { endpoint, ok: false, problem: found }];
    }),
  );
  return tried.flat();
}

/** A destination that does not answer does not fail the set-up, because no data is lost. */
export function trialText(trial: Trial): string {
  if (trial.ok) return `Tried ${trial.endpoint}: it accepts data.\n`;
  const { what, next } = explain(trial.problem);
  return `otel-hooks: ${asShown(what)} Data waits on this machine until the destination accepts it.\n  next: ${asShown(next)}\n`;
}
