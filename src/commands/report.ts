import { existsSync } from 'node:fs';
import { type Replay, replay } from '../journal/replay.ts';
import { sessionIndex } from '../journal/session-index.ts';
import { openStore } from '../store/store.ts';
import { localDay } from '../view/local-time.ts';
import { isTrial } from '../view/trial-sessions.ts';
import { type Grouping, groupings, type Report, type Row, report } from '../view/usage-report.ts';
import { flagText, type Io, sinceOf, UsageError, type Words } from './command.ts';
import { foldersOf } from './place.ts';
import { table } from './text.ts';

const formats = ['table', 'json', 'csv', 'markdown'] as const;
type Format = (typeof formats)[number];

export function run(words: Words, io: Io): number {
  const by = groupingsOf(flagText(words, '--by') ?? 'day');
  const format = formatOf(words);
  const sinceMs = sinceOf(flagText(words, '--since') ?? '7d', io.now());
  const { state } = foldersOf(words, io);
  const made = report(sessionsIn(state, sinceMs), by, sinceMs, localDay);
  io.out(written(made, by, format, io));
  if (made.rows.length === 0 && format === 'table') io.out('  next: otel-hooks report --since 90d\n');
  return 0;
}

/**
 * Reads one journal after the other, to save memory. The index says which journals are older, and which are trials of
 * the hooks; these journals are not read.
 */
function* sessionsIn(state: string, sinceMs: number): Generator<Replay> {
  if (!existsSync(state)) return;
  const store = openStore({ folder: state, access: 'read' });
  try {
    for (const [key, { session: id, lastMs }] of sessionIndex(store)) {
      if (lastMs < sinceMs || isTrial(id)) continue;
      const session = replay(store.journal(key) ?? '');
      if (session !== undefined) yield session;
    }
  } finally {
    store.close();
  }
}

function groupingsOf(text: string): Grouping[] {
  const by = text.split(',').map(word => word.trim());
  const wrong = by.find(word => !(groupings as readonly string[]).includes(word));
  if (wrong !== undefined) throw new UsageError(`--by takes ${groupings.join(', ')} or several of them, not ${wrong}`);
  return [...new Set(by)] as Grouping[];
}

function formatOf(words: Words): Format {
  const format = words.flags['--json'] ? 'json' : (flagText(words, '--format') ?? 'table');
  if (!(formats as readonly string[]).includes(format)) {
    throw new UsageError(`--format takes ${formats.join(', ')}, not ${format}`);
  }
  return format as Format;
}

interface Column {
  head: string;
  name: string;
  text(row: Row): string;
  plain(row: Row): string | number | undefined;
}

const number = (head: string, name: Exclude<keyof Row, 'by'>, shown: (value: number) => string = grouped): Column => ({
  head,
  name,
  text: row => (row[name] === undefined ? '' : shown(row[name])),
  plain: row => row[name],
});

const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',');
const dollars = (value: number): string => `$${value.toFixed(value < 1 ? 4 : 2)}`;

const columns = (by: readonly Grouping[]): Column[] => [
  ...by.map(
    (grouping): Column => ({
      head: grouping,
      name: grouping,
      text: row => row.by[grouping] ?? 'all',
      plain: row => row.by[grouping] ?? 'all',
    }),
  ),
  number('sessions', 'sessions'),
  number('turns', 'turns'),
  number('actions', 'actions'),
  number('failed', 'failed'),
  number('denied', 'denied'),
  number('asked', 'asked'),
  number('risky', 'risky'),
  number('loops', 'loops'),
  number('responses', 'responses'),
  number('in', 'input_tokens'),
  number('out', 'output_tokens'),
  number('cache read', 'cache_read_tokens'),
  number('cache write', 'cache_write_tokens'),
  number('reasoning', 'reasoning_tokens'),
  number('cost', 'cost_usd', dollars),
  number('unpriced', 'unpriced_tokens'),
  number('stated cost', 'stated_cost_usd', dollars),
];

function written({ rows, total }: Report, by: readonly Grouping[], format: Format, io: Io): string {
  const all = columns(by);
  if (format === 'json') return `${JSON.stringify({ v: 1, by, rows, total }, null, 2)}\n`;
  if (format === 'csv') {
    const lines = [all.map(({ name }) => name), ...rows.map(row => all.map(({ plain }) => plain(row) ?? ''))];
    return lines.map(cells => `${cells.map(quoted).join(',')}\r\n`).join('');
  }
  if (rows.length === 0) return 'Nothing happened in that time.\n';
  // Empty columns are left out, except those that name the row.
  const filled = all.filter(({ plain }, i) => i < by.length || rows.some(row => (plain(row) ?? 0) !== 0));
  const lines = [...rows, ...(rows.length > 1 ? [total] : [])].map(row => filled.map(({ text }) => text(row)));
  const heads = filled.map(({ head }) => head);
  if (format === 'markdown') {
    const rule = filled.map((_, i) => (i < by.length ? '---' : '--:'));
    return [heads, rule, ...lines.map(cells => cells.map((cell, i) => (i < by.length ? plainMarkdown(cell) : cell)))]
      .map(cells => `| ${cells.join(' | ')} |\n`)
      .join('');
  }
  const widths = heads.map((head, i) => Math.max(head.length, ...lines.map(cells => (cells[i] ?? '').length)));
  const right = (cells: readonly string[]): string[] =>
    cells.map((cell, i) => (i < by.length ? cell : cell.padStart(widths[i] ?? 0)));
  return table([heads, ...lines].map(right), io);
}

/** Prevents that a spreadsheet takes the text for a formula. */
const quoted = (cell: string | number): string => {
  const text = typeof cell === 'string' && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/**
 * Names come from unknown authors, and the page is often pasted where Markdown and HTML are rendered. Signs that begin
 * an image, a link, HTML, a mention or emphasis become character references, which no renderer takes for markup;
 * addresses lose their link.
 */
const plainMarkdown = (cell: string): string =>
  cell
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, ' ')
    .replace(/[&<>|[\]()!*_`~\\#@{}^$]/g, sign => `&#${sign.charCodeAt(0)};`)
    .replace(/:\/\//g, '&#58;//')
    .replace(/\bwww\./gi, match => `${match.slice(0, -1)}&#46;`);
