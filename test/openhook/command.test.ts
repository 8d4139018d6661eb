/** The question to the user before commands run, and the effect of the answer. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { unansweredIn } from '../../src/openhook/project.ts';
import { explain } from '../../src/problems/problem.ts';
import { type Ran, ranIn } from '../commands/ran.ts';

let home = '';
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'openhook-command-')));
  mkdirSync(join(home, 'shop'));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const file = (text: string): void => writeFileSync(join(home, 'shop', '.openhook.json'), text);
const hooks = (...list: object[]): void => file(JSON.stringify({ openhook: '0.1', hooks: list }));
const run = (words: string, answer?: string, env: Record<string, string> = {}): Promise<Ran> =>
  ranIn(home, words.split(' '), {
    cwd: join(home, 'shop'),
    env: { PATH: '', ...env },
    isTerminal: answer !== undefined,
    ask: async () => answer ?? '',
  });
const answers = (): object =>
  (JSON.parse(readFileSync(join(home, '.config/otel-hooks/trusted.json'), 'utf8')) as { openhook: object }).openhook;

test('the commands are shown before the question, and the consent is for this text alone', async () => {
  mkdirSync(join(home, 'shop', 'bin'));
  writeFileSync(join(home, 'shop', 'bin', 'notify.sh'), '');
  hooks(
    { command: './bin/notify.sh --end', events: ['session.end'], async: true },
    { command: 'cat', events: ['tool.start', 'tool.end'] },
  );
  expect((await run('openhook')).out).toMatchInlineSnapshot(`
    "~/shop/.openhook.json would run, as you and in this folder:

    1. ./bin/notify.sh --end
       for session.end, not waited for, at most 10 min
    2. cat
       for tool.start, tool.end, one after the other, at most 30 s

    You did not agree to them yet: they are not run.
      next: otel-hooks openhook trust
    OpenHook is off.
      next: otel-hooks enable --openhook
    "
  `);
  const agreed = await run('openhook trust', 'y');
  expect(agreed.code).toBe(0);
  expect(agreed.out).toMatchInlineSnapshot(`
    "~/shop/.openhook.json would run, as you and in this folder:

    1. ./bin/notify.sh --end
       for session.end, not waited for, at most 10 min
    2. cat
       for tool.start, tool.end, one after the other, at most 30 s

    Each gets names of tools, numbers, this folder and the path of the transcript on standard input, and may do with them what
    you may do.
    ./bin/notify.sh lies in this project: a pull can change it without asking you again.
    Agreed. A change of the file asks again; otel-hooks openhook revoke takes it back.
    OpenHook is off.
      next: otel-hooks enable --openhook
    "
  `);
  expect((await run('openhook trust', 'y')).out).toContain('You agreed to them before');
  expect((await run('openhook list')).out).toMatch(/yes +no +~\/shop\/\.openhook\.json/);
  hooks({ command: 'cat' });
  expect((await run('openhook')).out).toContain('The file has changed since you agreed to it: they are not run.');
});

test('a file that subscribes to file.write gets a note about the hashes in place of paths', async () => {
  hooks({ command: 'cat', events: ['file.write'] });
  expect((await run('openhook')).out).toContain('a keyed hash in place of each path');
  mkdirSync(join(home, '.config', 'otel-hooks'), { recursive: true });
  writeFileSync(join(home, '.config', 'otel-hooks', 'config.json'), '{"content":{"paths":"full"}}');
  expect((await run('openhook')).out).not.toContain('a keyed hash in place of each path');
});

test('no answer means no, and a refusal is kept until the file changes', async () => {
  hooks({ command: 'cat' });
  expect((await run('openhook trust', '')).out).toContain('They are not run');
  expect((await run('openhook')).out).toContain('You refused them');
  hooks({ command: 'cat -n' });
  expect((await run('openhook')).out).toContain('You did not agree to them yet');
});

test('without a terminal only --yes agrees, and in CI only with --ci', async () => {
  hooks({ command: 'cat' });
  expect(await run('openhook trust')).toMatchObject({ code: 2 });
  expect(await run('openhook trust --yes', undefined, { CI: 'true' })).toMatchObject({ code: 1 });
  expect(existsSync(join(home, '.config/otel-hooks/trusted.json'))).toBe(false);
  expect(await run('openhook trust --yes --ci', undefined, { CI: 'true' })).toMatchObject({ code: 0 });
  expect(Object.values(answers())).toMatchObject([{ answer: 'yes', ci: true }]);
  expect((await run('openhook trust --yes')).out).toContain('Agreed.');
  expect(Object.values(answers())).toEqual([{ answer: 'yes', hash: expect.any(String) }]);
});

test('a consent is withdrawn, and the consent to a configuration stays', async () => {
  hooks({ command: 'cat' });
  writeFileSync(join(home, 'shop', '.otel-hooks.json'), '{"service_name":"shop"}');
  await run('config --trust');
  await run('openhook trust --yes');
  expect((await run('openhook revoke')).out).toBe('No command of ~/shop/.openhook.json is run any more.\n');
  expect((await run('openhook --json')).out).toContain('"answer": "no"');
  expect(JSON.parse((await run('config --json')).out)).toMatchObject({ files: { projectTrusted: true } });
});

test('no part of a command is hidden from its reader', async () => {
  hooks({ command: 'cat\u001b[2K\r# \u202eok\u200b\nrm -rf ~' });
  const { out } = await run('openhook');
  expect(out).toContain('cat\\u{1b}[2K\\u{d}# \\u{202e}ok\\u{200b}\\u{a}rm -rf ~');
});

test('a folder whose name is a command is pasted as a name', () => {
  const folder = join(home, "x'; touch y\u001b");
  mkdirSync(folder);
  writeFileSync(join(folder, '.openhook.json'), '{"openhook":"0.1","hooks":[]}');
  const [problem] = unansweredIn([folder], { env: {}, home, platform: 'linux', cwd: home });
  expect(problem && explain(problem).next).toContain(`openhook trust '${home}/x'\\''; touch y\\u{1b}'`);
});

test.each([
  ['{', 'it is not JSON'],
  ['[]', 'it is not an object'],
  ['{"hooks":[]}', 'openhook is no version such as 0.1'],
  ['{"openhook":"0.1"}', 'hooks is not an array'],
  ['{"openhook":"0.1","hooks":[1]}', 'hook 1 is not an object'],
  ['{"openhook":"0.1","hooks":[{"command":"a","events":"*"}]}', 'hook 1 has events that are not a list of types'],
  ['{"openhook":"0.1","hooks":[{"command":"a","async":1}]}', 'hook 1 has an async that is neither true nor false'],
  [JSON.stringify({ openhook: '0.1', hooks: Array(65).fill({ command: 'a' }) }), 'it has more than 64 hooks'],
])('the file %s cannot be agreed to', async (text, why) => {
  file(text);
  const { code, err } = await run('openhook trust --yes');
  expect([code, err]).toEqual([1, expect.stringContaining(why)]);
});

test('--openhook switches it on and off, and touches no agent', async () => {
  hooks({ command: 'cat' });
  const on = await run('enable --openhook --yes');
  expect(on).toMatchObject({ code: 0, err: '' });
  expect(on.out).toMatchInlineSnapshot(`
    "Configuration  ~/.config/otel-hooks/config.json  openhook.enabled = true
    OpenHook is on for sessions that begin from now on.
      next: see the commands of ~/shop/.openhook.json: otel-hooks openhook trust
    "
  `);
  expect((await run('config --json')).out).toMatch(/"openhook.enabled": \{\s+"value": true/);
  expect((await run('disable --openhook', 'y')).out).toContain('OpenHook is off');
  expect((await run('config --json')).out).toMatch(/"openhook.enabled": \{\s+"value": false/);
});
