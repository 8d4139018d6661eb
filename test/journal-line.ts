/** Lines of a journal, as the program writes them. */

export interface JournalOf {
  session: string;
  /** The time of event 0. Event n is n seconds later. */
  atMs: number;
}

export const journalLine = (
  { session, atMs }: JournalOf,
  n: number,
  event_type: string,
  data: object,
  facts: object = {},
): string =>
  `${JSON.stringify({
    spec_version: '0.1.0',
    event_id: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`,
    event_type,
    timestamp: new Date(atMs + n * 1_000).toISOString(),
    source: { tool: 'some-agent' },
    session_id: session,
    data,
    metadata: { 'dev.otel-hooks': { v: 1, seq: n, time: 'native', ...facts } },
  })}\n`;
