/** The parts of a file that a patch writes, in the forms in which agents state patches. */
import type { EditFacts, Fields } from '../../event/event.ts';
import { fieldsOf, number, own, text } from '../../lib/read.ts';

type Lines = NonNullable<EditFacts['lines']>;

/** A patch with more parts has no line numbers: the event is about the file as a whole. */
const MOST_PARTS = 32;

/** Returns the written lines of a patch that is a list of hunks: `newStart`, and lines that begin with ` `, `+` or `-`. */
export function linesOfHunks(hunks: unknown): Lines | undefined {
  if (!Array.isArray(hunks) || hunks.length > MOST_PARTS) return undefined;
  return bounded(
    hunks.flatMap(hunk => {
      const { newStart, lines } = fieldsOf(hunk);
      const first = number(newStart);
      return first === undefined || !Array.isArray(lines) ? [] : partsIn(first, lines);
    }),
  );
}

/** Returns the written lines of a unified diff. */
export function linesOfDiff(diff: string | undefined): Lines | undefined {
  if (diff === undefined) return undefined;
  const parts: (readonly [number, number])[] = [];
  for (const hunk of diff.split(/^(?=@@ )/m).slice(0, MOST_PARTS + 1)) {
    const [head = '', ...lines] = hunk.split('\n');
    const first = /^@@ -\d+(?:,\d+)? \+(\d{1,9})/.exec(head)?.[1];
    if (first !== undefined) parts.push(...partsIn(Number(first), lines));
  }
  return bounded(parts);
}

/** Returns all lines of a new file. An empty file has none. */
export function linesOfText(content: string | undefined): Lines | undefined {
  if (content === undefined || content === '') return undefined;
  const ends = content.split('\n').length;
  return [[1, content.endsWith('\n') ? ends - 1 : ends]];
}

/** Returns the added lines of one hunk, one entry per contiguous part. */
function partsIn(start: number, lines: readonly unknown[]): Lines {
  const parts: [number, number][] = [];
  let at = start;
  let isOpen = false;
  for (const line of lines) {
    const mark = (text(line) ?? ' ').charAt(0);
    // A removed line and the remark about a missing line end have no number in the new file.
    if (mark === '-' || mark === '\\') continue;
    const open = parts.at(-1);
    if (mark !== '+') isOpen = false;
    else if (isOpen && open !== undefined) open[1] = at;
    else {
      parts.push([at, at]);
      isOpen = true;
    }
    at += 1;
  }
  return parts;
}

function bounded(parts: Lines): Lines | undefined {
  const valid = parts.every(([first, last]) => Number.isInteger(first) && first >= 1 && last >= first);
  return parts.length === 0 || parts.length > MOST_PARTS || !valid ? undefined : parts;
}

const operations: Readonly<Record<string, EditFacts['operation']>> = {
  add: 'create',
  delete: 'delete',
  update: 'update',
};

/** Returns the operation of a change that is named `add`, `update` or `delete`. */
export const operationNamed = (change: Fields): EditFacts['operation'] => own(operations, text(change.type) ?? '');
