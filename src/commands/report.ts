import { existsSync } from 'node:fs';
import type { RateLimit } from '../event/event.ts';
import { localDay } from '../lib/local-day.ts';
import { openStore } from '../store/store.ts';
import { dollars } from '../view/amounts.ts';
import { localMinute } from '../view/local-time.ts';
import { usageIn } from '../view/recorded-usage.ts';
import { conditionsIn, type SessionCondition } from '../view/session-conditions.ts';
import { type Grouping, groupings, type Question, type Report, type Row, UsageReport } from '../view/usage-report.ts';
import { flagText, type Io, sinceOf, UsageError, untilOf, type Words } from './command.ts';
import { csvLine } from './csv.ts';
import { fittedTable } from './fitted-table.ts';
import { foldersOf } from './place.ts';
import { table } from './text.ts';

const formats = ['table', 'json', 'csv', 'markdown'] as const;
type Format = (typeof formats)[number];

/** The time before its end that a report covers without `--since`. */
const USUAL_MS = 7 * 86_400_000;

export function run(words: Words, io: Io): number {
  const by = groupingsOf(flagText(words, '--by') ?? 'day');
  const format = formatOf(words);
  const untilMs = untilOf(flagText(words, '--until'), io.now());
  const since = flagText(words, '--since');
  const sinceMs = since === undefined ? Math.min(untilMs, io.now()) - USUAL_MS : sinceOf(since, io.now());
  if (sinceMs >= untilMs) throw new UsageError('--since must be earlier than --until');
  const { state } = foldersOf(words, io);
  const { made, running } = reportOf(state, { by, sinceMs, untilMs, dayOf: localDay });
  io.out(written(made, running, { by, format, io }));
  if (made.rows.length === 0 && format === 'table') io.out('  next: otel-hooks report --since 90d\n');
  return 0;
}

function reportOf(state: string, question: Question): { made: Report; running: SessionCondition[] } {
  if (!existsSync(state)) return { made: new UsageReport(question).report(), running: [] };
  const store = openStore({ folder: state, access: 'read' });
  try {
    return { made: usageIn(store, question), running: conditionsIn(store) };
  } finally {
    store.close();
  }
}

function groupingsOf(text: string): Grouping[] {
  const by = text.split(',').map(word => word.trim());
  const wrong = by.find(word => !(groupings as readonly string[]).includes(word));
  if (wrong !== undefined) throw new UsageError(`--by takes ${groupings.join(', ')} or several of them, not ${wrong}`);
  if (by.includes('model') && by.includes('action'))
    throw new UsageError('--by takes model or action, not both: an action belongs to no model');
  return [...new Set(by)] as Grouping[];
}

function formatOf(words: Words): Format {
  const usual = words.flags['--csv'] === undefined ? 'table' : 'csv';
  const format = words.flags['--json'] ? 'json' : (flagText(words, '--format') ?? usual);
  if (!(formats as readonly string[]).includes(format)) {
    throw new UsageError(`--format takes ${formats.join(', ')}, not ${format}`);
  }
  return format as Format;
}

interface Column {
  head: string;
  name: string;
  rank: number;
  text(row: Row): string;
  plain(row: Row): string | number | undefined;
}

type Counted = Exclude<keyof Row, 'by'>;

/** A narrow terminal drops the columns with the highest rank first. */
const number = (
  rank: number,
  name: Counted,
  { head = name, shown = grouped }: { head?: string; shown?: (value: number) => string } = {},
): Column => ({
  head,
  name,
  rank,
  text: row => (row[name] === undefined ? '' : shown(row[name])),
  plain: row => row[name],
});

const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',');

const columns = (by: readonly Grouping[]): Column[] => [
  ...by.map(
    (grouping): Column => ({
      head: grouping,
      name: grouping,
      rank: 0,
      text: row => row.by[grouping] ?? 'all',
      plain: row => row.by[grouping] ?? 'all',
    }),
  ),
  number(3, 'sessions'),
  number(6, 'turns'),
  number(4, 'actions'),
  number(5, 'failed'),
  number(5, 'denied'),
  number(7, 'asked'),
  number(6, 'risky'),
  number(7, 'loops'),
  number(7, 'responses'),
  number(6, 'failed_responses', { head: 'failed responses' }),
  number(7, 'failed_turns', { head: 'failed turns' }),
  number(2, 'input_tokens', { head: 'in' }),
  number(2, 'output_tokens', { head: 'out' }),
  number(3, 'cache_read_tokens', { head: 'cache read' }),
  number(4, 'cache_write_tokens', { head: 'cache write' }),
  number(8, 'reasoning_tokens', { head: 'reasoning' }),
  number(0, 'cost_usd', { head: 'cost', shown: dollars }),
  number(5, 'unpriced_tokens', { head: 'unpriced' }),
  number(0, 'stated_cost_usd', { head: 'stated cost', shown: dollars }),
];

function written(
  { rows, total }: Report,
  running: readonly SessionCondition[],
  { by, format, io }: { by: readonly Grouping[]; format: Format; io: Io },
): string {
  const all = columns(by);
  if (format === 'json') return `${JSON.stringify({ v: 1, by, rows, total, running }, null, 2)}\n`;
  if (format === 'csv') {
    const lines = [all.map(({ name }) => name), ...rows.map(row => all.map(({ plain }) => plain(row) ?? ''))];
    return lines.map(csvLine).join('');
  }
  if (rows.length === 0) return 'Nothing happened in that time.\n';
  // Empty columns are left out, except those that name the row.
  const filled = all.filter(({ plain }, i) => i < by.length || rows.some(row => (plain(row) ?? 0) !== 0));
  const shown = [...rows, ...(rows.length > 1 ? [total] : [])];
  if (format === 'markdown') {
    const heads = filled.map(({ head }) => head);
    const lines = shown.map(row => filled.map(({ text }) => text(row)));
    const rule = filled.map((_, i) => (i < by.length ? '---' : '--:'));
    return [heads, rule, ...lines.map(cells => cells.map((cell, i) => (i < by.length ? plainMarkdown(cell) : cell)))]
      .map(cells => `| ${cells.join(' | ')} |\n`)
      .join('');
  }
  const inTable = filled.map((column, i) => ({ ...column, isName: i < by.length, isNumber: i >= by.length }));
  return fittedTable(inTable, shown, io) + runningText(running, io);
}

function runningText(running: readonly SessionCondition[], io: Io): string {
  if (running.length === 0) return '';
  const rows = running.map(({ session, agent, version, model, context, cost_usd, rate_limits }) => [
    session.slice(0, 8),
    version === undefined ? agent : `${agent} ${version}`,
    model ?? '',
    context === undefined ? '' : percent(context),
    cost_usd === undefined ? '' : dollars(cost_usd),
    (rate_limits ?? []).map(limit => limitText(limit, io.now())).join(', '),
  ]);
  const heads = ['session', 'agent', 'model', 'context', 'cost so far', 'limits of the plan'];
  return `\nRunning sessions\n${table([heads, ...rows], io)}`;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

const limitText = ({ window, used, resets_at: reset }: RateLimit, nowMs: number): string => {
  const name = window.replaceAll('_', ' ');
  if (reset === undefined) return `${name} ${percent(used)}`;
  const at = localMinute(reset * 1_000);
  return reset * 1_000 <= nowMs ? `${name}: began anew ${at}` : `${name} ${percent(used)} until ${at}`;
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
