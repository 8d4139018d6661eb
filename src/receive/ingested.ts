/**
 * How far `otel-hooks ingest` has read each file. The mark of a file moves in the round that records its events, so a kill
 * neither loses nor repeats an event. No path is stored: a file is known by a hash of its path.
 */
import type { Place } from '../lib/json-pieces.ts';
import { fieldsOf, number, text } from '../lib/read.ts';

export interface FileMark extends Place {
  /** A hash of the first bytes. Another file at this path is read from its beginning. */
  head: string;
  headBytes: number;
}

export type Ingested = Readonly<Record<string, FileMark>>;

export const noMarks: Ingested = {};

/** Above this number, the marks of the files that were read first are removed. */
const MOST_MARKS = 1_000;

export const withMark = (known: Ingested, id: string, mark: FileMark): Ingested => {
  const { [id]: _former, ...others } = known;
  return Object.fromEntries([...Object.entries(others), [id, mark] as const].slice(-MOST_MARKS));
};

export function parseIngested(value: unknown): Ingested {
  const marks = Object.entries(fieldsOf(value)).flatMap(([id, mark]): [string, FileMark][] => {
    const fields = fieldsOf(mark);
    const [offset, line, headBytes] = [number(fields.offset), number(fields.line), number(fields.headBytes)];
    const head = text(fields.head);
    if (offset === undefined || line === undefined || headBytes === undefined || head === undefined) return [];
    return [[id, { offset, line, headBytes, head, isInList: fields.isInList === true || undefined }]];
  });
  return Object.fromEntries(marks);
}
