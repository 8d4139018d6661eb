/**
 * The time axis of a session. Long stretches without work are shortened, so that a session that waited for a night, or
 * was resumed on another day, still shows its work. Positions on the axis are milliseconds of the time that is shown.
 */
import type { PageSpan } from './data.ts';

export interface Axis {
  /** The whole length. */
  length: number;
  /** The time that the axis leaves out. */
  hiddenMs: number;
  /** The position of a moment. */
  at(ms: number): number;
}

/** A stretch without work is shortened if it is longer than this, and than this share of all work. */
const LEAST_MS = 60_000;
const LEAST_SHARE = 0.2;
/** The length of a shortened stretch, as a share of all work. */
const SHOWN_SHARE = 0.02;

type Stretch = [fromMs: number, toMs: number];

export function axisOf(spans: readonly PageSpan[]): Axis {
  const busy = merged(spans);
  const [first] = busy;
  if (first === undefined) return { length: 1, hiddenMs: 0, at: () => 0 };
  const workMs = busy.reduce((sum, [fromMs, toMs]) => sum + toMs - fromMs, 0);
  const mostMs = Math.max(LEAST_MS, workMs * LEAST_SHARE);
  // Times and positions at which the scale changes.
  const knots: [ms: number, x: number][] = [[first[0], 0]];
  let hiddenMs = 0;
  for (const [i, [fromMs, toMs]] of busy.entries()) {
    const before = busy[i - 1];
    if (before !== undefined && fromMs - before[1] > mostMs) {
      const shownMs = Math.max(1, workMs * SHOWN_SHARE);
      knots.push([before[1], before[1] - first[0] - hiddenMs]);
      hiddenMs += fromMs - before[1] - shownMs;
      knots.push([fromMs, fromMs - first[0] - hiddenMs]);
    }
    knots.push([toMs, toMs - first[0] - hiddenMs]);
  }
  return { length: Math.max(1, knots.at(-1)?.[1] ?? 1), hiddenMs, at: ms => position(knots, ms) };
}

/** The stretches in which there is work. The ends of a session belong to it, its middle does not. */
function merged(spans: readonly PageSpan[]): Stretch[] {
  const all = spans.flatMap(({ kind, startMs, endMs }): Stretch[] =>
    kind === 'session'
      ? [
          [startMs, startMs],
          [endMs, endMs],
        ]
      : [[startMs, endMs]],
  );
  all.sort(([a], [b]) => a - b);
  const found: Stretch[] = [];
  for (const [fromMs, toMs] of all) {
    const last = found.at(-1);
    if (last !== undefined && fromMs <= last[1]) last[1] = Math.max(last[1], toMs);
    else found.push([fromMs, toMs]);
  }
  return found;
}

function position(knots: readonly [ms: number, x: number][], ms: number): number {
  let [low, high] = [0, knots.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((knots[middle]?.[0] ?? 0) <= ms) low = middle;
    else high = middle - 1;
  }
  const [from = [0, 0], to] = [knots[low], knots[low + 1]];
  if (to === undefined || to[0] === from[0]) return from[1];
  return from[1] + ((ms - from[0]) / (to[0] - from[0])) * (to[1] - from[1]);
}
