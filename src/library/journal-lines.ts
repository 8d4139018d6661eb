/** Lines and events in the text of a journal. */
import type { Event } from '../event/event.ts';
import { isFields } from '../lib/read.ts';

/**
 * Text of a journal: as a whole, or in parts, such as the chunks of a file stream. Parts may end within a line.
 * @example
 * ```ts
 * const lines: JournalSource = createReadStream('session.jsonl');
 * ```
 */
export type JournalSource = string | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** Yields the lines of a journal. */
export async function* linesIn(source: JournalSource): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  const parts = typeof source === 'string' ? [source] : source;
  for await (const part of parts) {
    rest += typeof part === 'string' ? part : decoder.decode(part, { stream: true });
    let from = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
      yield rest.slice(from, end);
      from = end + 1;
    }
    rest = rest.slice(from);
  }
  if (rest !== '') yield rest;
}

/** Returns the event of a line, or undefined if the line is no event. */
export function eventIn(line: string): Event | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    const isEvent =
      isFields(value) &&
      typeof value.event_type === 'string' &&
      typeof value.session_id === 'string' &&
      isFields(value.source) &&
      typeof value.source.tool === 'string' &&
      isFields(value.data);
    return isEvent ? (value as unknown as Event) : undefined;
  } catch {
    // Not JSON.
    return undefined;
  }
}
