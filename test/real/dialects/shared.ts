export const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const listOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isFields) : [];

/** The text of a message whose content is a text or a list of parts. */
export const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : listOf(content)
        .map(part => (typeof part.text === 'string' ? part.text : ''))
        .join('\n');

/** One event of a stream. */
export const sse = (data: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
