import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { unifiedDiff } from '../../src/lib/diff.ts';
import { needs } from '../needs.ts';

const diff = (before: string, after: string) => unifiedDiff(before, after, { from: 'a', to: 'b' });

it.each([
  ['nothing', 'a\n', 'a\n', ''],
  ['a new file', '', 'a\nb\n', '--- a\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+b\n'],
  ['a file that goes', 'a\n', '', '--- a\n+++ b\n@@ -1 +0,0 @@\n-a\n'],
  [
    'a missing last line end',
    'a\nb',
    'a\nb\n',
    '--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n',
  ],
  [
    'a line in the middle',
    '1\n2\n3\n4\n5\n6\n7\n8\n9\n',
    '1\n2\n3\n4\nx\n6\n7\n8\n9\n',
    '--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n',
  ],
])('shows %s', (_, before, after, expected) => {
  expect(diff(before, after)).toBe(expected);
});

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', 'd\r'), { maxLength: 25 })
  .chain(lines => fc.constantFrom('\n', '').map(end => lines.join('\n') + end));

it('is empty only for equal texts', () => {
  fc.assert(fc.property(text, text, (before, after) => (diff(before, after) === '') === (before === after)));
});

it('lets patch turn one text into the other', context => {
  needs(context, 'patch');
  const folder = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-diff-'));
  const file = join(folder, 'file');
  fc.assert(
    fc.property(text, text, (before, after) => {
      if (before === after) return;
      fs.writeFileSync(file, before);
      const run = spawnSync('patch', ['--binary', '--quiet', file], { input: diff(before, after) });
      expect(run.status, run.stdout.toString() + run.stderr.toString()).toBe(0);
      expect(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '').toBe(after);
    }),
    { numRuns: 40 },
  );
  fs.rmSync(folder, { recursive: true });
});

it('takes a large rewrite as one block', () => {
  const many = (word: string) => Array.from({ length: 5000 }, (_, n) => `${word}${n}\n`).join('');
  const changes = diff(`same\n${many('a')}`, `same\n${many('b')}`);
  expect(changes.split('\n')).toHaveLength(3 + 1 + 10_000 + 1);
});
