/**
 * Returns a unified diff of two texts, as `diff -u` and git print it. Lines keep their line ends, so that a changed or
 * missing line end shows. If the texts differ over thousands of lines, the changed part is one block.
 */
export interface DiffNames {
  from: string;
  to: string;
}

const CONTEXT = 3;
/** The limit of compared pairs of lines. Beyond it, all lines between the equal ends are replaced. */
const MAX_CELLS = 4_000_000;

/** Returns an empty text if the texts are equal. */
export function unifiedDiff(before: string, after: string, names: DiffNames): string {
  if (before === after) return '';
  const steps = stepsBetween(linesOf(before), linesOf(after));
  const hunks = hunksOf(steps).map(hunk => printedHunk(steps, hunk));
  return [`--- ${names.from}\n`, `+++ ${names.to}\n`, ...hunks].join('');
}

interface Step {
  sign: ' ' | '-' | '+';
  line: string;
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function stepsBetween(before: string[], after: string[]): Step[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end++;

  const same = (line: string): Step => ({ sign: ' ', line });
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

/** Keeps the longest common subsequence of lines, and removes or adds the other lines. */
function middle(before: string[], after: string[]): Step[] {
  const goes = (line: string): Step => ({ sign: '-', line });
  const comes = (line: string): Step => ({ sign: '+', line });
  const [rows, columns] = [before.length, after.length];
  if (rows === 0 || columns === 0 || rows * columns > MAX_CELLS) return [...before.map(goes), ...after.map(comes)];

  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  const length = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      lengths[row * width + column] =
        before[row] === after[column]
          ? length(row + 1, column + 1) + 1
          : Math.max(length(row + 1, column), length(row, column + 1));
    }
  }

  const steps: Step[] = [];
  let row = 0;
  let column = 0;
  while (row < rows || column < columns) {
    const [old = '', young = ''] = [before[row], after[column]];
    if (row < rows && column < columns && old === young) {
      steps.push({ sign: ' ', line: old });
      row++;
      column++;
    } else if (row < rows && (column === columns || length(row + 1, column) >= length(row, column + 1))) {
      steps.push(goes(old));
      row++;
    } else {
      steps.push(comes(young));
      column++;
    }
  }
  return steps;
}

/** Returns ranges of steps: each change with its context, joined if they touch. */
function hunksOf(steps: Step[]): [start: number, end: number][] {
  const hunks: [number, number][] = [];
  steps.forEach(({ sign }, at) => {
    if (sign === ' ') return;
    const last = hunks.at(-1);
    const end = Math.min(steps.length, at + 1 + CONTEXT);
    if (last && at - CONTEXT <= last[1]) last[1] = end;
    else hunks.push([Math.max(0, at - CONTEXT), end]);
  });
  return hunks;
}

function printedHunk(steps: Step[], [start, end]: [number, number]): string {
  const count = (from: number, to: number, sign: '-' | '+') =>
    steps.slice(from, to).filter(step => step.sign === ' ' || step.sign === sign).length;
  const range = (sign: '-' | '+') => {
    const lines = count(start, end, sign);
    const first = count(0, start, sign) + (lines === 0 ? 0 : 1);
    return lines === 1 ? `${sign}${first}` : `${sign}${first},${lines}`;
  };
  const body = steps
    .slice(start, end)
    .map(({ sign, line }) => sign + (line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`));
  return `@@ ${range('-')} ${range('+')} @@\n${body.join('')}`;
}
