import { existsSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { nearest } from '../lib/nearest.ts';
import { asShown } from '../lib/shown.ts';
import { Engine, QueryError, type Result } from '../query/engine.ts';
import { readRows, type Table, tables } from '../query/tables.ts';
import { openStore } from '../store/store.ts';
import { flagText, type Io, sinceOf, UsageError, type Words } from './command.ts';
import { csvLine } from './csv.ts';
import { fittedTable } from './fitted-table.ts';
import { foldersOf } from './place.ts';
import { table } from './text.ts';

/** The memory of the engine; the program itself needs about 100 MB. */
const MOST_BYTES = 512 * 1024 * 1024;
const MOST_ROWS = 10_000;
const LONGEST_QUERY = 1_000_000;

export async function run(words: Words, io: Io): Promise<number> {
  if (words.flags['--schema'] !== undefined) {
    io.out(words.flags['--json'] ? schemaJson() : schemaText());
    return 0;
  }
  const [word] = words.rest;
  if (word === undefined) throw new UsageError('takes a query; --schema lists the tables');
  const sql = word === '-' ? await textOf(process.stdin) : word;
  if (sql.length > LONGEST_QUERY) throw new UsageError(`the query is longer than ${LONGEST_QUERY} characters`);
  const most = limitOf(words);
  const sinceMs = sinceOf(flagText(words, '--since'), io.now());
  const { state } = foldersOf(words, io);
  const engine = await Engine.start(MOST_BYTES);
  try {
    engine.define(tables);
    // A misspelt query fails before journals are read.
    engine.check(sql);
    engine.fill(tables, take => {
      if (!existsSync(state)) return;
      const store = openStore({ folder: state, access: 'read' });
      try {
        readRows(store, { wanted: mentioned(sql), sinceMs, withJson: /\bjson\b|\*/i.test(sql) }, take);
      } finally {
        store.close();
      }
    });
    const result = engine.run(sql, most);
    io.out(written(result, words, io));
    if (result.isCut) io.err(`otel-hooks: only the first ${most} rows are shown.\n  next: --limit 0 shows all\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    io.err(refusal(error, sql));
    return 1;
  } finally {
    engine.close();
  }
}

/** A table whose name is not in the query stays empty. */
const mentioned = (sql: string): Set<string> =>
  new Set(tables.map(({ name }) => name).filter(name => new RegExp(`\\b${name}\\b`, 'i').test(sql)));

function limitOf(words: Words): number {
  const limit = flagText(words, '--limit') ?? String(MOST_ROWS);
  if (!/^\d{1,9}$/.test(limit)) throw new UsageError(`--limit takes a number (0 for all), not ${limit}`);
  return Number(limit) || Number.POSITIVE_INFINITY;
}

function written({ columns, rows }: Result, words: Words, io: Io): string {
  if (words.flags['--json']) {
    const objects = rows.map(row => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
    return `${JSON.stringify({ v: 1, columns, rows: objects }, null, 2)}\n`;
  }
  if (words.flags['--csv']) return [columns, ...rows].map(row => csvLine(row.map(cell => cell ?? ''))).join('');
  if (columns.length === 0) return '';
  const isNumber = columns.map((_, i) => rows.some(row => typeof row[i] === 'number'));
  return fittedTable(
    columns.map((head, i) => ({
      head,
      rank: 0,
      isName: isNumber[i] === false,
      isNumber: isNumber[i] === true,
      text: (row: Result['rows'][number]) => String(row[i] ?? ''),
    })),
    rows,
    io,
  );
}

/** The message, the line of the query with a mark below the place, and a next step. */
function refusal({ message, at }: QueryError, sql: string): string {
  const lines = [`otel-hooks: the query cannot be run: ${asShown(message)}`];
  if (at !== undefined) {
    const before = sql.slice(0, at).split('\n');
    const column = (before.at(-1) ?? '').length;
    lines[0] += `, at line ${before.length}, column ${column + 1}`;
    const line = sql.split('\n')[before.length - 1] ?? '';
    const from = Math.max(0, column - 60);
    lines.push(`  ${asShown(line.slice(from, from + 100).replaceAll('\t', ' '))}`, `  ${' '.repeat(column - from)}^`);
  }
  return `${lines.join('\n')}\n  next: ${nextStep(message)}\n`;
}

function nextStep(message: string): string {
  const missing = /^no such (column|table): (?:.*\.)?([^.]+)$/.exec(message);
  if (missing === null) return 'otel-hooks query --schema';
  const names = missing[1] === 'table' ? tables.map(({ name }) => name) : columnNames();
  const meant = nearest(missing[2] ?? '', names);
  return `${meant === undefined ? '' : `did you mean ${meant}? `}otel-hooks query --schema`;
}

const columnNames = (): string[] => [...new Set(tables.flatMap(({ columns }) => columns.map(({ name }) => name)))];

const schemaText = (): string =>
  tables
    .map(({ name, about, columns }: Table) => {
      const rows = columns.map(column => [`  ${column.name}`, column.type.toLowerCase(), column.about]);
      return `${name}: ${about}\n${table(rows)}`;
    })
    .join('\n');

const schemaJson = (): string =>
  `${JSON.stringify(
    {
      v: 1,
      tables: tables.map(({ name, about, columns }) => ({
        name,
        about,
        columns: columns.map(each => ({ name: each.name, type: each.type, about: each.about })),
      })),
    },
    null,
    2,
  )}\n`;
