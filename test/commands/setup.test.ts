/** `enable` and `disable` for a person at a terminal and for a script. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Interrupted } from '../../src/commands/command.ts';
import { type Ran, ranIn } from './ran.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-enable-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

/**
 * `answers`: the answers of the person at a terminal, one per question. `^C` is Ctrl-C; the last answer is repeated.
 */
async function run(words: string[], answers?: string | string[]): Promise<Ran & { asked: string[] }> {
  const asked: string[] = [];
  const left = [answers ?? []].flat();
  const ran = await ranIn(home, words, {
    env: { PATH: '', XDG_STATE_HOME: join(home, 'state'), XDG_DATA_HOME: join(home, 'data') },
    isTerminal: answers !== undefined,
    ask: async question => {
      asked.push(question);
      const answer = (left.length > 1 ? left.shift() : left[0]) ?? '';
      if (answer === '^C') throw new Interrupted();
      return answer;
    },
  });
  return { ...ran, asked };
}
const WHICH = 'Set up which? [Enter: all; numbers such as 1,2; n: none] ';
const ADDRESS = 'Address [local only]: ';
const CHANGE = 'Change this? [y/N, d: show the lines] ';
const exists = (path: string): boolean => fs.existsSync(join(home, path));

describe('without a terminal', () => {
  it.each([
    [['enable', '--tool', 'cursor'], '--yes'],
    [['enable', '--tool', 'cursor', '--json'], '--yes'],
  ])('%j names the flag that is missing, and changes nothing', async (words, flag) => {
    const ran = await run(words);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain(`No TTY detected. Use ${flag} to run non-interactively.`);
    expect(fs.readdirSync(home)).toEqual([]);
  });

  it('shows and changes nothing with --dry-run', async () => {
    const ran = await run(['enable', '--tool', 'all', '--dry-run', '--json']);
    expect([ran.code, ran.err, fs.readdirSync(home)]).toEqual([0, '', []]);
    const { plans } = JSON.parse(ran.out) as { plans: { agent: string; changed: boolean; diff: string }[] };
    expect(plans.length).toBe(11);
    for (const { agent, changed, diff } of plans)
      expect([agent, changed, diff.startsWith('---')]).toEqual([agent, true, true]);
  });

  it('sets up all agents of a scope, and names the agents without the scope', async () => {
    const ran = await run(['enable', '--tool', 'all', '--local', '--yes', '--no-proof']);
    expect(ran.code).toBe(0);
    expect(ran.out).toContain('Cursor: it has no settings of the scope local.');
    expect(exists('.claude/settings.local.json')).toBe(true);
    const named = await run(['enable', '--tool', 'cursor', '--local', '--yes', '--no-proof']);
    expect([named.code, named.err]).toEqual([1, expect.stringContaining('nothing was changed')]);
  });

  it('a refused file does not prevent the set-up of other agents', async () => {
    fs.mkdirSync(join(home, '.cursor'));
    fs.writeFileSync(join(home, '.cursor/hooks.json'), '{\n  "hooks": []\n}\n');
    const ran = await run(['enable', '--tool', 'cursor,claude', '--yes', '--no-proof']);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain(
      '~/.cursor/hooks.json: "hooks" is an array, not an object (line 2, column 12); nothing was changed.',
    );
    expect(ran.out).toContain('Enabled. Hook: ~/.claude/settings.json');
  });
});

it('a shared file is written also if otel-hooks is not in PATH, because other users run its commands', async () => {
  const ran = await run(['enable', '--tool', 'cursor', '--project', '--yes']);
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('otel-hooks is not in PATH')]);
  expect(exists('.cursor/hooks.json')).toBe(true);
});

describe('without a terminal, agents that are installed', () => {
  beforeEach(() => {
    for (const folder of ['.claude', '.cursor']) fs.mkdirSync(join(home, folder));
  });

  it('without --yes lists agents and changes, and changes nothing', async () => {
    const ran = await run(['enable']);
    expect([ran.code, ran.asked, exists('.cursor/hooks.json'), exists('data')]).toEqual([2, [], false, false]);
    expect(ran.out).toContain('Cursor       ~/.cursor/hooks.json     new file with 12 hooks');
    expect(ran.err).toContain('No TTY detected. Use --yes to run non-interactively.');
  });

  it('with --yes are all set up, in one line each, and removed again', async () => {
    const ran = await run(['enable', '--yes', '--no-proof']);
    expect([ran.code, ran.err, ran.asked]).toEqual([0, '', []]);
    expect(ran.out).toContain('Claude Code  ~/.claude/settings.json  new file with 16 hooks');
    expect(ran.out).not.toContain('+++');
    expect([exists('.claude/settings.json'), exists('.cursor/hooks.json')]).toEqual([true, true]);
    expect((await run(['disable'])).err).toContain('Use --yes');
    expect((await run(['disable', '--yes'])).code).toBe(0);
    expect([exists('.claude/settings.json'), exists('.cursor/hooks.json')]).toEqual([false, false]);
  });

  it('--json without --yes prints the plan, and changes nothing', async () => {
    const ran = await run(['enable', '--json']);
    expect(ran.code).toBe(2);
    const { dryRun, plans } = JSON.parse(ran.out) as { dryRun: boolean; plans: { changed: boolean }[] };
    expect([dryRun, plans.map(({ changed }) => changed), exists('.cursor/hooks.json')]).toEqual([
      true,
      [true, true],
      false,
    ]);
  });
});

it('the summary counts hooks of other programs that a file keeps, and --diff shows the lines', async () => {
  fs.mkdirSync(join(home, '.claude'));
  const mine = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./a"},{"type":"command","command":"./b"}]}]}}';
  fs.writeFileSync(join(home, '.claude/settings.json'), mine);
  fs.mkdirSync(join(home, '.codex'));
  fs.writeFileSync(
    join(home, '.codex/config.toml'),
    '[[hooks.Stop]]\nhooks = [{ type = "command", command = "./notify.sh" }]\n',
  );
  const dry = await run(['enable', '--dry-run', '--diff']);
  expect(dry.out).toContain('Claude Code  ~/.claude/settings.json  adds 16 hooks, keeps your 2');
  expect(dry.out).toContain('Codex        ~/.codex/config.toml     adds 12 hooks, keeps your 1');
  expect(dry.out).toContain('+++ ~/.claude/settings.json');
  await run(['enable', '--yes', '--no-proof']);
  expect((await run(['disable', '--dry-run'])).out).toContain('removes 16 hooks, keeps your 2');
  expect((await run(['enable', '--dry-run'])).out).toContain('nothing to change');
});

describe('at a terminal', () => {
  const both = () => {
    for (const folder of ['.claude', '.cursor']) fs.mkdirSync(join(home, folder));
  };

  it('lists the agents that are installed, asks for the destination, shows the change and makes it', async () => {
    both();
    const ran = await run(['enable', '--no-proof'], ['', '', 'y']);
    expect([ran.code, ran.err, ran.asked]).toEqual([0, '', [WHICH, ADDRESS, CHANGE]]);
    expect(ran.out).toContain('Found on this machine:\n  1  Claude Code\n  2  Cursor\n');
    expect(ran.out).toContain('Cursor       ~/.cursor/hooks.json     new file with 12 hooks');
    expect(ran.out).not.toContain('+++ ~/.cursor/hooks.json');
    expect(ran.out).toContain('Enabled. Hook: ~/.claude/settings.json, Config: ~/.config/otel-hooks/config.json');
    expect(ran.out).toContain('Cursor: Cursor reloads the file automatically.');
    expect(ran.out).toContain('1. Start a new session of Claude Code or Cursor');
    expect(ran.out).toContain('3. Everything stays on this machine.');
    expect(exists('.config/otel-hooks/config.json')).toBe(false);
    const again = await run(['enable', '--no-proof'], '');
    expect([again.code, again.asked]).toEqual([0, [WHICH]]);
    expect(again.out).toMatch(/Cursor +~\/.cursor\/hooks.json +nothing to change/);

    const gone = await run(['disable'], 'yes');
    expect([gone.code, gone.asked]).toEqual([0, [CHANGE]]);
    expect(gone.out).toContain('Enabled: Claude Code, Cursor.');
    expect(gone.out).toContain('Disabled. ~/.cursor/hooks.json');
    expect([exists('.claude/settings.json'), exists('.cursor/hooks.json')]).toEqual([false, false]);
  });

  it('sets up only the chosen agents, and writes the address', async () => {
    both();
    const ran = await run(['enable', '--no-proof'], ['3', '2', 'nonsense', '127.0.0.1:4318', 'd', 'y']);
    expect([ran.code, ran.asked]).toEqual([0, [WHICH, WHICH, ADDRESS, ADDRESS, CHANGE, CHANGE]]);
    expect(ran.out).toContain('3 is none of 1 to 2.');
    expect(ran.out).toContain('nonsense is no address such as http://127.0.0.1:4318.');
    expect(ran.out).toContain('+++ ~/.cursor/hooks.json');
    expect([exists('.claude/settings.json'), exists('.cursor/hooks.json')]).toEqual([false, true]);
    expect(JSON.parse(fs.readFileSync(join(home, '.config/otel-hooks/config.json'), 'utf8'))).toEqual({
      provider: 'otlp',
      otlp: { endpoint: 'http://127.0.0.1:4318' },
    });
    expect(ran.out).toContain('3. It arrives at http://127.0.0.1:4318 after each turn');
    // The destination is known from now on.
    expect((await run(['enable', '--no-proof'], ['claude', 'n'])).asked).toEqual([WHICH, CHANGE]);
  });

  it('does not ask for a destination if the hooks exist already', async () => {
    fs.mkdirSync(join(home, '.cursor'));
    await run(['enable', '--no-proof', '--yes']);
    expect(await run(['enable', '--no-proof'], 'y')).toMatchObject({ code: 0, asked: [] });
  });

  it.each(['', 'n', 'no', 'what?'])('%j means no', async answer => {
    fs.mkdirSync(join(home, '.claude'));
    const ran = await run(['enable', '--no-proof'], ['', answer]);
    expect([ran.code, ran.out.endsWith('Nothing was changed.\n'), exists('.claude/settings.json')]).toEqual([
      0,
      true,
      false,
    ]);
  });

  it('n chooses none', async () => {
    both();
    const ran = await run(['enable'], 'n');
    expect([ran.code, ran.asked, ran.out.endsWith('Nothing was changed.\n')]).toEqual([0, [WHICH], true]);
  });

  it.each([[['^C']], [['', '^C']], [['', 'http://c:4318', '^C']]])('Ctrl-C after %j changes nothing', async answers => {
    both();
    const before = fs.readdirSync(home, { recursive: true });
    const ran = await run(['enable'], answers);
    expect([ran.code, ran.out.endsWith('Nothing was changed.\n')]).toEqual([130, true]);
    expect(fs.readdirSync(home, { recursive: true })).toEqual(before);
  });

  it('reports that no agent is installed', async () => {
    expect(await run(['enable'], 'y')).toMatchObject({
      code: 2,
      err: expect.stringContaining('no agent was found here'),
    });
  });

  it('succeeds if no agent calls otel-hooks', async () => {
    expect(await run(['disable'], 'y')).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('Nothing to disable: no agent calls otel-hooks in the scope global.'),
    });
    const { code, out } = await run(['disable', '--project', '--json'], 'y');
    expect([code, JSON.parse(out).plans]).toEqual([0, []]);
    expect(fs.readdirSync(home)).toEqual([]);
  });

  it('reports that entries of an older version are replaced', async () => {
    fs.mkdirSync(join(home, '.cursor'));
    const old = { version: 1, hooks: { stop: [{ command: 'otel-hooks hook --tool cursor' }] } };
    fs.writeFileSync(join(home, '.cursor/hooks.json'), JSON.stringify(old));
    expect((await run(['enable', '--dry-run'], '')).out).toContain(
      'its entries are not those that this version writes',
    );
  });
});

it('a provider is written into a configuration without one, and several as a list', async () => {
  const ran = await run([
    'enable',
    '--tool',
    'cursor',
    '--provider',
    'langfuse',
    '--provider',
    'otlp',
    '--yes',
    '--no-proof',
  ]);
  expect(ran.code).toBe(0);
  const config = () => JSON.parse(fs.readFileSync(join(home, '.config/otel-hooks/config.json'), 'utf8'));
  expect(config()).toEqual({ provider: ['langfuse', 'otlp'] });
  expect(fs.readFileSync(join(home, '.cursor/hooks.json'), 'utf8')).toContain('langfuse,otlp');
  await run(['enable', '--tool', 'cursor', '--provider', 'datadog', '--yes', '--no-proof']);
  expect(config()).toEqual({ provider: ['langfuse', 'otlp'] });
});

describe('our own configuration', () => {
  const file = () => join(home, '.config/otel-hooks/config.json');
  const enable = ['enable', '--tool', 'cursor', '--endpoint', 'http://c:4318', '--yes', '--no-proof'];
  const written = (text: string) => {
    fs.mkdirSync(join(file(), '..'), { recursive: true });
    fs.writeFileSync(file(), text);
  };

  it('keeps its comments, line ends, mark, mode and link', async () => {
    const real = join(home, 'dotfiles.json');
    fs.mkdirSync(join(file(), '..'), { recursive: true });
    fs.writeFileSync(real, '\ufeff{\r\n\t// mine\r\n\t"debug": true,\r\n}\r\n', { mode: 0o640 });
    fs.symlinkSync(real, file());
    const ran = await run(enable);
    expect([ran.code, ran.err]).toEqual([0, '']);
    const text = fs.readFileSync(real, 'utf8');
    expect(text.startsWith('\ufeff{\r\n\t// mine\r\n\t"debug": true,\r\n\t"provider": "otlp",')).toBe(true);
    expect(text.replaceAll('\r\n', '')).not.toContain('\n');
    expect([fs.readlinkSync(file()), fs.statSync(real).mode & 0o777]).toEqual([real, 0o640]);
    expect(ran.out).not.toContain('say where data goes');
    expect((await run(['config', '--json'])).out).toContain('http://c:4318');
  });

  it.each([
    ['{ "debug": true', /config\.json: not valid JSON.*line 1/],
    ['[]', /holds an array/],
    ['{ "otlp": "x" }', /"otlp" is a string, not an object \(line 1, column 11\)/],
    ['{ "otlp": {}, "otlp": {} }', /"otlp" occurs twice/],
    ['{ "provider": "file", "provider": "otlp" }', /"provider" occurs twice/],
  ])('that is broken is not changed: %s', async (text, why) => {
    written(text);
    const ran = await run(enable);
    expect([ran.code, ran.err]).toEqual([1, expect.stringMatching(why)]);
    expect(fs.readFileSync(file(), 'utf8')).toBe(text);
  });

  it('that is not a file is not changed', async () => {
    fs.mkdirSync(file(), { recursive: true });
    expect(await run(enable)).toMatchObject({ code: 1, err: expect.stringContaining('not a regular file') });
  });

  it('is made for this user alone', async () => {
    await run(enable);
    expect(JSON.parse(fs.readFileSync(file(), 'utf8'))).toEqual({
      provider: 'otlp',
      otlp: { endpoint: 'http://c:4318' },
    });
    expect([fs.statSync(file()).mode & 0o777, fs.statSync(join(file(), '..')).mode & 0o777]).toEqual([0o600, 0o700]);
  });
});

it('existing folders stay, also empty ones; folders that were made for a file are removed with it', async () => {
  fs.mkdirSync(join(home, '.cursor'));
  fs.mkdirSync(join(home, '.kiro'));
  const tools = ['--tool', 'cursor,kiro,copilot,cline', '--yes'];
  expect((await run(['enable', ...tools, '--no-proof'])).code).toBe(0);
  expect((await run(['disable', ...tools])).code).toBe(0);
  expect(fs.readdirSync(home).sort()).toEqual(['.cursor', '.kiro', 'data', 'state']);
  expect(fs.readdirSync(join(home, '.kiro'))).toEqual([]);
});

it('hooks that are renewed keep the provider that they name', async () => {
  const words = ['enable', '--tool', 'cursor', '--yes', '--no-proof'];
  await run([...words, '--provider', 'langfuse']);
  const before = fs.readFileSync(join(home, '.cursor/hooks.json'), 'utf8');
  expect(before).toContain('langfuse');
  await run(words);
  expect(fs.readFileSync(join(home, '.cursor/hooks.json'), 'utf8')).toBe(before);
});
