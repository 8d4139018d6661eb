/**
 * Figures of a run, for the table and the `--json` of scripts/bench.mjs. The script names a file in a variable; each
 * figure is a line of JSON in it. A benchmark that runs again because of a missed gate states a figure again: the last
 * line counts.
 */
import { appendFileSync } from 'node:fs';

export interface Limit {
  /** `gate`: the run fails beyond it. The others are aims. */
  name: 'gate' | 'goal' | 'bar' | 'stretch';
  most?: number | undefined;
  least?: number | undefined;
}

export interface Figure {
  work: string;
  value: number;
  /** `x` is a ratio. */
  unit: 'x' | 's' | 'ms' | 'MB';
  limits: readonly Limit[];
}

export function noteFigure(figure: Figure): void {
  const file = process.env.OTEL_HOOKS_BENCH_FIGURES;
  if (file) appendFileSync(file, `${JSON.stringify(figure)}\n`);
}
