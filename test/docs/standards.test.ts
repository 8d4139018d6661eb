/** The tables of docs/standards.md: each row names a test that exists. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const [, tables = ''] = readFileSync(join(root, 'docs', 'standards.md'), 'utf8').split('## Clause by clause');
const rows = tables
  .split('\n')
  .filter(line => /^\| /.test(line) && !/^\| (?:---|clause|event of the table)/.test(line));

/** Returns what is wrong with the test that a row names; undefined if the test exists. */
function faultOf(row: string): string | undefined {
  const [, file = '', name = ''] = /\| `(test\/[\w/.-]+\.test\.ts)`: (.+) \|$/.exec(row) ?? [];
  if (file === '') return `no test: ${row}`;
  if (!existsSync(join(root, file))) return `no file ${file}`;
  const text = readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'");
  return text.includes(name) ? undefined : `no test in ${file}: ${name}`;
}

test('each row of the standards names a test that exists', () => {
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.flatMap(row => faultOf(row) ?? [])).toEqual([]);
});

test('each standard has its table, and no clause is done only in part', () => {
  const titles = [...tables.matchAll(/^### (.+)$/gm)].map(([, title]) => title);
  expect(titles).toEqual([
    'Agent Hooks 0.1',
    'Hook Interchange',
    'Claude Code and Codex payloads',
    'OpenHook 0.1',
    'Base Coat',
  ]);
  expect(tables).not.toMatch(/\bpartly\b/i);
});

test('a row whose test does not exist is found', () => {
  expect(faultOf('| a | b | `test/docs/standards.test.ts`: no such' + ' name |')).toContain('no test in');
  expect(faultOf('| a | b | `test/docs/none.test.ts`: x |')).toBe('no file test/docs/none.test.ts');
  expect(faultOf('| a | b | c |')).toContain('no test:');
});
