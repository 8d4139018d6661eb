/** docs/security.md names a test for each attack: each one must exist, under that name. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'security.md'), 'utf8');

/** The rows of attacks: attack, defence, tests. */
const rows = page
  .split('\n')
  .filter(line => /^\| .*\btest\/[\w./-]+\.test\.ts: /.test(line))
  .map(line => line.slice(2, -2).split(' | '));
const named = rows.flatMap(cells =>
  (cells.at(-1) ?? '')
    .split(/; (?=test\/)/)
    .map(each => /^(\S+\.test\.ts): (.+)$/.exec(each.trim())?.slice(1) ?? [each, '']),
);

type Syntax = { type: string; [field: string]: unknown };

/** The names of the tests and groups of a file, as its source has them. */
function namesIn(file: string): string[] {
  const names: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const node = value as Syntax;
    if (node.type === 'CallExpression' && isTest(node.callee as Syntax)) {
      const [name] = node.arguments as Syntax[];
      if (name !== undefined) names.push(textOf(name));
    }
    for (const part of Object.values(node)) visit(part);
  };
  visit(parseSync(file, readFileSync(join(root, file), 'utf8')).program);
  return names;
}

/** `it`, `test`, `describe`, and the functions that they return: `it.each(table)`, `describe.skipIf(is)`. */
function isTest(callee: Syntax): boolean {
  if (callee.type === 'Identifier') return ['it', 'test', 'describe'].includes(String(callee.name));
  if (callee.type === 'MemberExpression') return isTest(callee.object as Syntax);
  return callee.type === 'CallExpression' && isTest(callee.callee as Syntax);
}

function textOf(name: Syntax): string {
  if (name.type === 'Literal') return String(name.value);
  if (name.type !== 'TemplateLiteral') return '';
  return (name.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join(' ');
}

it('every attack names its defence and a test', () => {
  const all = page.split('\n').filter(line => /^\| (?!---|attack |asset )/.test(line));
  const assets = 4;
  expect(rows.length).toBe(all.length - assets);
  for (const cells of rows) expect(cells.map(cell => cell.trim() !== '')).toEqual([true, true, true]);
});

it.each(['repository', 'payload', 'user of the machine', 'web page', 'environment', 'supply chain'])(
  'there is a section about the attacker: %s',
  attacker => expect(page).toMatch(new RegExp(`^## [1-6]\\. .*${attacker}`, 'm')),
);

describe('the test of each attack exists', () => {
  it.each(named)('%s: %s', (file = '', name = '') => {
    expect(existsSync(join(root, file)), file).toBe(true);
    expect(namesIn(file).filter(each => each.includes(name))).not.toEqual([]);
  });
});

it('SECURITY.md leads to the page', () => {
  expect(readFileSync(join(root, 'SECURITY.md'), 'utf8')).toContain('docs/security.md');
});
