/** Short texts that several commands print. */
import { asShown } from '../lib/shown.ts';
import { explain, type Problem } from '../problems/problem.ts';
import { cutTo, type Drawing } from '../view/tree.ts';
import { withPaths } from './docs.ts';

export const problemText = (problem: Problem): string => {
  const { what, next } = explain(problem);
  return `otel-hooks: ${asShown(withPaths(what))}\n  next: ${asShown(withPaths(next))}\n`;
};

/** Returns a number with its noun in the singular or plural. */
export const countOf = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

/** Returns a path with `~` for the home folder. */
export const shownPath = (path: string, home: string): string =>
  home !== '/' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;

/** Returns rows with aligned columns. Only the width of the terminal limits the last column. */
export function table(cells: readonly (readonly string[])[], drawing?: Pick<Drawing, 'columns' | 'unicode'>): string {
  const rows = cells.map(row => row.map(asShown));
  const widths: number[] = [];
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  const cut = (line: string): string => (drawing === undefined ? line : cutTo(line, drawing));
  return rows
    .map(row =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .map(line => `${cut(line)}\n`)
    .join('');
}

/** One line, because a name of a file may contain line ends. */
export const cannotRead = (file: string, error: unknown): string =>
  `${asShown(file)} cannot be read: ${asShown(error instanceof Error ? error.message : String(error))}`;
