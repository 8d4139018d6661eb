/** `query`: every query of docs/query.md with its output, errors with their position, and limits. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Io } from '../../src/commands/command.ts';
import { Engine } from '../../src/query/engine.ts';
import { tables } from '../../src/query/tables.ts';
import { ranIn } from '../commands/ran.ts';
import { NOW, recordAll } from '../recorded-sessions.ts';

const page = join(import.meta.dirname, '../../docs/query.md');
const examples = /```sql\n([\s\S]*?)\n```\n\n```\n([\s\S]*?)```/g;

let home: string;
beforeAll(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-query-'));
  recordAll(join(home, '.local/state/otel-hooks'));
});
afterAll(() => fs.rmSync(home, { recursive: true, force: true }));

const run = (words: string[], change: Partial<Io> = {}) =>
  ranIn(home, ['query', ...words], { now: () => NOW, columns: 110, ...change });
const rowsOf = async (sql: string, ...words: string[]): Promise<object[]> => {
  const { out, err } = await run([sql, '--json', ...words]);
  expect(err).toBe('');
  return (JSON.parse(out) as { rows: object[] }).rows;
};

describe('the queries of the page', () => {
  const text = fs.readFileSync(page, 'utf8');
  const found = [...text.matchAll(examples)];

  it('are ten', () => expect(found).toHaveLength(10));

  it.each(found.map(([, sql = '', output = '']) => [sql, output]))('%s', async (sql, output) => {
    const { code, out, err } = await run([sql]);
    expect([code, err]).toEqual([0, '']);
    if (process.env.UPDATE === '1')
      fs.writeFileSync(
        page,
        fs
          .readFileSync(page, 'utf8')
          .replace(`${sql}\n\`\`\`\n\n\`\`\`\n${output}\`\`\``, () => `${sql}\n\`\`\`\n\n\`\`\`\n${out}\`\`\``),
      );
    else expect(out).toBe(output);
    expect(out.split('\n').length).toBeGreaterThan(2);
  });
});

it('the tables agree with the report', async () => {
  const { out } = await ranIn(home, ['report', '--json', '--since', '9d', '--by', 'agent'], { now: () => NOW });
  const { total } = JSON.parse(out) as { total: { [name: string]: number } };
  const [sums] = await rowsOf(
    'SELECT sum(actions) a, sum(failed) f, sum(denied) d, sum(input_tokens) i, sum(cost_usd) c FROM sessions',
  );
  expect(sums).toEqual({
    a: total.actions,
    f: total.failed,
    d: total.denied,
    i: total.input_tokens,
    c: total.cost_usd,
  });
  const [parts] = await rowsOf("SELECT count(*) a, sum(failed) f, sum(decision = 'deny') d FROM actions");
  expect(parts).toEqual({ a: total.actions, f: total.failed, d: total.denied });
  const [used] = await rowsOf('SELECT sum(input_tokens) i, round(sum(cost_usd), 6) c FROM responses');
  expect(used).toEqual({ i: total.input_tokens, c: total.cost_usd });
  expect(await rowsOf('SELECT count(*) n FROM turns')).toEqual([{ n: total.turns }]);
  expect(await rowsOf('SELECT count(DISTINCT session) n, sum(json IS NULL) missing FROM events')).toEqual([
    { n: 3, missing: 0 },
  ]);
  expect(await rowsOf('SELECT count(*) n FROM sessions', '--since', '2026-09-22')).toEqual([{ n: 2 }]);
});

it('prints CSV, and no more rows than asked', async () => {
  expect((await run(['SELECT agent, "=1" AS x FROM sessions ORDER BY agent', '--csv'])).out).toMatch(
    /^agent,x\r\nclaude-code,'=1\r\n/,
  );
  const { out, err } = await run(['SELECT * FROM events', '--csv', '--limit', '2']);
  expect(out.split('\r\n')).toHaveLength(4);
  expect(err).toContain('only the first 2 rows are shown');
});

it.each<[string, string, string]>([
  ['SELEC 1', 'near "SELEC": syntax error, at line 1, column 1', '\n  SELEC 1\n  ^\n'],
  [
    'SELECT agent\nFROM sessions\nWHERE GROUP BY 1',
    'near "GROUP": syntax error, at line 3, column 7',
    '\n  WHERE GROUP BY 1\n        ^\n',
  ],
  ['SELECT a, b FROM FROM sessions', 'near "FROM": syntax error, at line 1, column 18', '                   ^\n'],
  ['SELECT agnet FROM sessions', 'no such column: agnet, at line 1, column 8', 'did you mean agent?'],
  ['SELECT 1 FROM session', 'no such table: session, at line 1, column 15', 'did you mean sessions?'],
  ['SELECT count( FROM sessions', 'near "FROM": syntax error, at line 1, column 15', '--schema'],
  ['SELECT (1', 'incomplete input, at line 1, column 10', '--schema'],
  ['SELECT 1; SELECT 2', 'only one statement can be run, at line 1, column 11', '--schema'],
  ['/* nothing */', 'there is no statement', '--schema'],
  ['DELETE FROM sessions', 'a query can only read', '--schema'],
  ['SELECT \u001b[2J', 'unrecognized token', '\\u{1b}'],
])('%j is refused with its place and a next step', async (sql, message, more) => {
  const { code, out, err } = await run([sql]);
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain(message);
  expect(err).toContain(more);
});

it('a query that needs too much memory is refused', async () => {
  const engine = await Engine.start(16 * 1024 * 1024);
  const sql =
    'WITH RECURSIVE n(i, t) AS (SELECT 1, hex(zeroblob(1000)) UNION ALL SELECT i + 1, t || i FROM n WHERE i < 100000) SELECT t FROM n ORDER BY t';
  expect(() => engine.run(sql, 10)).toThrow('more memory than it may use');
  engine.close();
});

it('prints its tables and wrong usage', async () => {
  const { out } = await run(['--schema']);
  for (const { name, columns } of tables) {
    expect(out).toContain(`${name}: `);
    for (const column of columns) expect(out).toMatch(new RegExp(`^  ${column.name} `, 'm'));
  }
  expect(JSON.parse((await run(['--schema', '--json'])).out).tables).toHaveLength(6);
  expect((await run([])).code).toBe(2);
  expect((await run(['SELECT 1', '--limit', 'x'])).code).toBe(2);
});

it('works before the first hook', async () => {
  const { code, out } = await run(['SELECT count(*) AS n FROM sessions', '--state-dir', join(home, 'none')]);
  expect([code, out.replaceAll(/\s+/g, ' ')]).toEqual([0, 'n 0 ']);
});
