import type { Budget, WatchSettings } from '../../src/enrich/watch.ts';
import { usualLoops } from '../../src/event/loop-limits.ts';
import { type PlayedHook, START_MS } from '../play.ts';

/**
 * A case: `base` (fields that all payloads share), lines of `+seconds payload`, then `---- trace` and the expected
 * trace. `shape turn`: each turn is a trace. `budget`: the budget that is set.
 */
export function readJourney(text: string): {
  hooks: PlayedHook[];
  shape: 'turn' | undefined;
  watch: WatchSettings | undefined;
  head: string;
  expected: string;
} {
  const [head = '', expected = ''] = text.split(/^---- trace\n/m);
  let base: object = {};
  const hooks: PlayedHook[] = [];
  for (const line of head.split('\n')) {
    if (line.startsWith('base ')) base = JSON.parse(line.slice(5)) as object;
    const match = /^\+([\d.]+) (\{.*\})$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined) continue;
    hooks.push({ atMs: START_MS + Number(match[1]) * 1000, payload: { ...base, ...(JSON.parse(match[2]) as object) } });
  }
  const budget = /^budget (\{.*\})$/m.exec(head)?.[1];
  const watch = budget === undefined ? undefined : { loops: usualLoops, budget: JSON.parse(budget) as Budget };
  return { hooks, shape: /^shape turn$/m.test(head) ? 'turn' : undefined, watch, head, expected };
}
