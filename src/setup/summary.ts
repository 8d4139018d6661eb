/** Describes a planned change in words, one line for each file. The diff has the details. */
import { dirname, join } from 'node:path';
import { type Change, isLinked, type Plan } from './setup.ts';

export interface SummaryLine {
  file: string;
  says: string;
}

/** If one folder has more new or removed files than this, they become one line. */
const MOST_LINES = 3;

export function summaryOf({ changes }: Pick<Plan, 'changes'>): SummaryLine[] {
  const lines = changes.map(change => ({ change, says: saysOf(change), folder: dirname(change.file) }));
  const alike = (a: (typeof lines)[number], b: (typeof lines)[number]): boolean =>
    a.folder === b.folder &&
    kindOf(a.change) !== 'changed' &&
    kindOf(a.change) === kindOf(b.change) &&
    !isLinked(a.change) &&
    !isLinked(b.change);
  return lines.flatMap((line, at) => {
    const group = lines.filter(each => alike(line, each));
    if (group.length <= MOST_LINES || isLinked(line.change))
      return [{ file: line.change.file, says: line.says + linkText(line.change) }];
    if (lines.findIndex(each => alike(line, each)) !== at) return [];
    const says = kindOf(line.change) === 'new' ? 'new files, one for each hook' : 'files are removed';
    return [{ file: join(line.folder, '*'), says: `${group.length} ${says}` }];
  });
}

const linkText = (change: Change): string => (isLinked(change) ? ` (it is a link to ${change.target})` : '');

const kindOf = ({ before, after }: Change): 'new' | 'removed' | 'changed' =>
  before === undefined ? 'new' : after === undefined ? 'removed' : 'changed';

function saysOf(change: Change): string {
  const { before, after, others } = change.hooks ?? { before: 0, after: 0, others: 0 };
  const keeps = others === 0 ? '' : `, keeps your ${others}`;
  switch (kindOf(change)) {
    case 'new':
      return `new file with ${hooks(after)}`;
    case 'removed':
      return `the file is removed: it holds nothing but ${hooks(before)} of otel-hooks`;
    case 'changed':
      return `${listed(parts(before, after))}${keeps}`;
  }
}

function parts(before: number, after: number): string[] {
  const renewed = Math.min(before, after);
  return [
    ...(renewed > 0 ? [`renews ${hooks(renewed)}`] : []),
    ...(after > before ? [`adds ${hooks(after - before)}`] : []),
    ...(after < before ? [`removes ${hooks(before - after)}`] : []),
    // Counts entries that only an older version or the Python package of this name wrote.
    ...(after === 0 && before === 0 ? ['removes former entries of otel-hooks'] : []),
  ];
}

const hooks = (count: number): string => `${count} ${count === 1 ? 'hook' : 'hooks'}`;
const listed = (words: readonly string[]): string => words.join(', ');
