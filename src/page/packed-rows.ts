/**
 * Rows of the list of sessions by columns, with each repeated text once. As objects, 20,000 rows would be three times
 * as long, and the server would need memory for all of them.
 */
import { add, noCounts, type SpanCounts } from '../journal/span-counts.ts';
import type { SessionRow } from './data.ts';

/** A column has a value for each row. Columns of texts hold the place of the text in `texts`. */
export interface PackedRows {
  texts: string[];
  key: string[];
  session: string[];
  firstMs: number[];
  lastMs: number[];
  lengthMs: number[];
  agent: number[];
  state: number[];
  repository: (number | null)[];
  branch: (number | null)[];
  cwd: (number | null)[];
  risk: (number | null)[];
  models: number[][];
  /** By the number of the row. Few rows are trials, or resumed. */
  trials: number[];
  resumedAs: { [row: number]: string[] };
  /** A count without a column is 0 or absent in all rows. */
  counts: { [name in keyof SpanCounts]?: (number | null)[] };
}

export function unpackedRows(packed: PackedRows): SessionRow[] {
  const { texts, counts } = packed;
  const trials = new Set(packed.trials);
  const textAt = (index: number | null | undefined): string | undefined =>
    index === null || index === undefined ? undefined : texts[index];
  const countColumns = Object.entries(counts) as [keyof SpanCounts, (number | null)[]][];
  return packed.key.map((key, i) => {
    const row: SessionRow = {
      ...noCounts(),
      key,
      session: packed.session[i] ?? '',
      agent: textAt(packed.agent[i]) ?? '',
      firstMs: packed.firstMs[i] ?? 0,
      lastMs: packed.lastMs[i] ?? 0,
      lengthMs: packed.lengthMs[i] ?? 0,
      state: textAt(packed.state[i]) as SessionRow['state'],
      resumedAs: packed.resumedAs[i],
      isTrial: trials.has(i),
      repository: textAt(packed.repository[i]),
      branch: textAt(packed.branch[i]),
      cwd: textAt(packed.cwd[i]),
      models: (packed.models[i] ?? []).flatMap(index => texts[index] ?? []),
      risk: textAt(packed.risk[i]),
    };
    for (const [name, column] of countColumns) add(row, name, column[i] ?? undefined);
    return row;
  });
}
