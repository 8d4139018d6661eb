/** The rules for arguments that all commands share. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, test } from 'vitest';
import { commands } from '../../src/commands/registry.ts';
import { ranIn } from './ran.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-words-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));
const run = (...words: string[]) => ranIn(home, words);

it('common flags may be before the command', async () => {
  for (const words of [
    ['--json', '--state-dir', 'kept', 'status'],
    ['--state-dir=kept', 'status', '--json'],
  ]) {
    const { code, out } = await run(...words);
    expect({ code, state: JSON.parse(out).state }).toEqual({ code: 0, state: '~/kept' });
  }
  expect((await run('--help', 'status')).out).toMatch(/^otel-hooks status: /);
  expect((await run('--help')).out).toMatch(/^otel-hooks: /);
  expect(await run('--json')).toMatchObject({ code: 2, out: '' });
  expect(await run('--state-dir', 'status')).toMatchObject({ code: 2, out: '' });
});

const wordless = commands.filter(({ mostWords, name }) => !mostWords && name !== 'hook').map(({ name }) => name);
test.each(wordless)('%s takes no arguments, and does nothing if it gets one', async name => {
  const { code, out, err } = await run(name, 'everything', '--yes');
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(new RegExp(`^otel-hooks ${name}: .*\\n  next: otel-hooks help ${name}\\n$`));
  expect(fs.readdirSync(home)).toEqual([]);
});

const looking = ['status', 'show', 'report', 'export --format openhook', 'preview', 'deliver', 'prune'];
test.each(looking)('%s names the reason why a state folder cannot be used, and the next step', async words => {
  fs.mkdirSync(join(home, 'elsewhere'));
  fs.symlinkSync(join(home, 'elsewhere'), join(home, 'link'));
  const { code, err } = await run(...words.split(' '), '--state-dir', 'link');
  expect(code).toBe(1);
  expect(err).toMatch(/^otel-hooks: ~\/link .*\n {2}next: /);
  expect(fs.readdirSync(join(home, 'elsewhere'))).toEqual([]);
});
