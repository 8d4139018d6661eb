/** Pages of an answer: limited in rows and in bytes, with a cursor for the next page. */

/** The most characters of the JSON of a page. A client adds it to the context of its model. */
const MOST_CHARACTERS = 100_000;

export interface Page<T> {
  rows: T[];
  /** Undefined on the last page. */
  nextCursor: string | undefined;
}

/** A cursor that this server did not make. */
export class BadCursor extends Error {}

/** Reads as few rows as it can. */
export function pageOf<T>(
  rows: Iterable<T>,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Page<T> {
  const from = cursor === undefined ? 0 : offsetIn(cursor);
  const page: T[] = [];
  let characters = 0;
  let at = 0;
  for (const row of rows) {
    at += 1;
    if (at <= from) continue;
    characters += JSON.stringify(row).length;
    if (page.length === limit || (characters > MOST_CHARACTERS && page.length > 0))
      return { rows: page, nextCursor: cursorAt(from + page.length) };
    page.push(row);
  }
  return { rows: page, nextCursor: undefined };
}

const cursorAt = (offset: number): string => Buffer.from(`rows ${offset}`).toString('base64url');

function offsetIn(cursor: string): number {
  const [, offset] = /^rows (\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (offset === undefined)
    throw new BadCursor('the cursor is not one of this server; leave it out for the first page');
  return Number(offset);
}
