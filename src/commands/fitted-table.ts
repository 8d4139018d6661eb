/** Tables that fit the terminal: columns are dropped by importance, then names are cut. The cost always stays. */
import { asShown } from '../lib/shown.ts';
import { cutTo } from '../view/tree.ts';
import type { Io } from './command.ts';
import { table } from './text.ts';

export interface Column<Row> {
  head: string;
  /** A narrow terminal drops the columns with the highest number first. A column of rank 0 always stays. */
  rank: number;
  text(row: Row): string;
  /** A narrow terminal may cut its texts. */
  isName?: boolean;
  /** Its texts end at the same column. */
  isNumber?: boolean;
  /** It is left out if all of its texts are empty. */
  isOptional?: boolean;
}

/** No name is cut to less than this. */
const LEAST_NAME = 4;

export function fittedTable<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  io: Pick<Io, 'columns' | 'unicode'>,
) {
  const made = all
    .map(column => ({ column, cells: rows.map(row => asShown(column.text(row))) }))
    .filter(({ column, cells }) => column.isOptional !== true || cells.some(cell => cell !== ''))
    .map(each => ({ ...each, width: Math.max(each.column.head.length, ...each.cells.map(({ length }) => length)) }));
  const kept = withoutLeast(made, io.columns);
  const excess = (): number => widthOf(kept) - io.columns;
  while (excess() > 0) {
    const widest = kept
      .filter(({ column, width }) => column.isName === true && width > LEAST_NAME)
      .reduce<(typeof kept)[number] | undefined>((a, b) => (a === undefined || b.width > a.width ? b : a), undefined);
    if (widest === undefined) break;
    widest.width -= 1;
  }
  const cellText = (text: string, { column, width }: (typeof kept)[number]): string => {
    const cut = column.isName === true ? cutTo(text, { columns: width, unicode: io.unicode }) : text;
    return column.isNumber === true ? cut.padStart(width) : cut;
  };
  const heads = kept.map(each => cellText(each.column.head, each));
  return table([heads, ...rows.map((_, i) => kept.map(each => cellText(each.cells[i] ?? '', each)))], io);
}

interface Made {
  column: { rank: number };
  width: number;
}

const widthOf = (columns: readonly Made[]): number => columns.reduce((sum, { width }) => sum + width + 2, -2);

function withoutLeast<T extends Made>(all: readonly T[], most: number): T[] {
  let kept = [...all];
  const ranks = [...new Set(all.map(({ column }) => column.rank))].sort((a, b) => b - a);
  for (const rank of ranks.filter(each => each > 0)) {
    if (widthOf(kept) <= most) break;
    kept = kept.filter(({ column }) => column.rank < rank);
  }
  return kept;
}
