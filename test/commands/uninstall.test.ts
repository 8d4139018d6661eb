/** `uninstall` removes everything that `enable` wrote, in every place, and nothing else. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Interrupted } from '../../src/commands/command.ts';
import { type Ran, ranIn } from './ran.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-uninstall-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

interface World {
  answer?: string;
  cwd?: string;
  env?: Record<string, string>;
}

async function run(words: string[], { answer, cwd, env }: World = {}): Promise<Ran & { asked: string[] }> {
  const asked: string[] = [];
  const ran = await ranIn(home, words, {
    cwd: join(home, cwd ?? ''),
    env: { PATH: '', ...env },
    isTerminal: answer !== undefined,
    ask: async question => {
      asked.push(question);
      if (answer === '^C') throw new Interrupted();
      return answer ?? '';
    },
  });
  return { ...ran, asked };
}

function write(path: string, text: string): void {
  fs.mkdirSync(dirname(join(home, path)), { recursive: true });
  fs.writeFileSync(join(home, path), text);
}

/** Every file below the home with its bytes. */
function files(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of fs.readdirSync(home, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) found[path.slice(home.length + 1)] = fs.readFileSync(path, 'latin1');
  }
  return found;
}

const enable = (tool: string, world: World = {}, ...more: string[]) =>
  run(['enable', '--tool', tool, '--yes', '--no-proof', ...more], world);

const shop = {
  '.claude/settings.json': '{\r\n  // mine\r\n  "model": "x",\r\n}\r\n',
  'own-codex/config.toml': 'model = "y" # mine\n\n[[hooks.Stop]]\nhooks = [{ type = "command", command = "./n.sh" }]\n',
  'work/shop/.cursor/hooks.json': '{"version":1,"hooks":{"stop":[{"command":"./notify.sh"}]}}',
  'work/shop/.claude/settings.local.json': '{}',
};

async function setUpEverywhere(): Promise<Record<string, string>> {
  for (const [path, text] of Object.entries(shop)) write(path, text);
  fs.mkdirSync(join(home, 'elsewhere'));
  const before = files();
  const inShop = { cwd: 'work/shop' };
  await enable('claude-code,cline,opencode');
  await enable('codex', { env: { CODEX_HOME: join(home, 'own-codex') } });
  await enable('cursor,gemini-cli,kiro', inShop, '--project');
  await enable('claude-code', inShop, '--local');
  expect(Object.keys(files()).length).toBeGreaterThan(20);
  return before;
}

it('settings of all scopes, of projects elsewhere and of places that a variable named are as before, byte for byte', async () => {
  const before = await setUpEverywhere();
  const ran = await run(['uninstall', '--yes'], { cwd: 'elsewhere' });
  expect([ran.code, ran.err, ran.asked]).toEqual([0, '', []]);
  expect(ran.out).toContain('~/own-codex/config.toml');
  expect(ran.out).toContain('removes 12 hooks, keeps your 1');
  expect(ran.out).toContain('next: npm uninstall -g otel-hooks');
  const { '.local/state/otel-hooks/version': _, ...after } = files();
  expect(after).toEqual(before);
});

it('--purge also removes configuration and data, after showing them', async () => {
  const before = await setUpEverywhere();
  await enable('cursor', {}, '--endpoint', 'http://127.0.0.1:9');
  write('.local/state/otel-hooks/inbox/a', 'otel-hooks/1 not whole');
  write('.config/otel-hooks/token', 'x'.repeat(40));
  const ran = await run(['uninstall', '--purge'], { answer: 'y' });
  expect([ran.code, ran.err, ran.asked]).toEqual([0, '', ['Remove this? [y/N, d: show the lines] ']]);
  expect(ran.out).toContain('1 hook and 0 items of telemetry wait to be delivered, and are lost.');
  expect(ran.out).toMatch(/~\/\.config\/otel-hooks +the config folder: 2 files, \d+ bytes/);
  expect(ran.out).toMatch(/~\/\.local\/state\/otel-hooks +the state folder: 1 file/);
  expect(files()).toEqual(before);
  for (const folder of ['.config/otel-hooks', '.local/state/otel-hooks', '.local/share/otel-hooks'])
    expect(fs.existsSync(join(home, folder)), folder).toBe(false);
});

describe('shows, and changes nothing,', () => {
  it.each<[string, string[], World, number]>([
    ['with --dry-run', ['--dry-run'], {}, 0],
    ['with --dry-run --json', ['--dry-run', '--json'], {}, 0],
    ['without a terminal', [], {}, 2],
    ['with --json alone', ['--json'], {}, 2],
    ['when the answer is no', [], { answer: 'n' }, 0],
    ['on Ctrl-C', [], { answer: '^C' }, 130],
  ])('%s', async (_, words, world, code) => {
    await enable('cursor,claude-code');
    const before = files();
    const ran = await run(['uninstall', '--purge', ...words], world);
    expect([ran.code, files()]).toEqual([code, before]);
    expect(ran.out).toContain('~/.cursor/hooks.json');
    expect(ran.out).toContain('.local/share/otel-hooks/hook.sh');
  });
});

it('reports that no agent is set up, and keeps data without --purge', async () => {
  expect(await run(['uninstall'])).toMatchObject({ code: 0, out: 'Nothing is set up on this machine.\n', err: '' });
  expect(await run(['uninstall', '--purge', '--yes'])).toMatchObject({ code: 0, err: '' });
  write('.config/otel-hooks/config.json', '{}');
  expect((await run(['uninstall'])).out).toContain('Kept: ~/.config/otel-hooks.');
  expect(fs.existsSync(join(home, '.config/otel-hooks/config.json'))).toBe(true);
});

it('a file that cannot be restored is named, the rest is restored, and a second run after the repair ends it', async () => {
  fs.mkdirSync(join(home, '.codeium/windsurf'), { recursive: true });
  await enable('windsurf,cursor');
  const file = join(home, '.codeium/windsurf/hooks.json');
  const whole = fs.readFileSync(file, 'utf8');
  fs.writeFileSync(file, whole.slice(0, -3));
  const ran = await run(['uninstall', '--yes']);
  expect(ran.code).toBe(1);
  expect(ran.err).toContain('~/.codeium/windsurf/hooks.json is left');
  expect(ran.err).toContain('next: repair it, then run `otel-hooks uninstall` again.');
  expect(fs.existsSync(join(home, '.cursor/hooks.json'))).toBe(false);
  expect(fs.existsSync(join(home, '.local/share/otel-hooks/hook.sh'))).toBe(false);
  fs.writeFileSync(file, whole);
  expect(await run(['uninstall', '--yes'])).toMatchObject({ code: 0, err: '' });
  expect([fs.existsSync(file), fs.existsSync(join(home, '.local/share/otel-hooks'))]).toEqual([false, false]);
});

it('a program that hooks of a remaining file still start stays, and does nothing', async () => {
  fs.mkdirSync(join(home, '.gemini/config'), { recursive: true });
  await enable('antigravity');
  const program = join(home, '.local/share/otel-hooks/otel-hooks-antigravity.sh');
  const file = join(home, '.gemini/config/hooks.json');
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').slice(0, -3));
  expect((await run(['uninstall', '--purge', '--yes'])).code).toBe(1);
  expect(fs.readdirSync(dirname(program)).sort()).toEqual([
    ...(fs.existsSync(join(dirname(program), 'folders.json')) ? ['folders.json'] : []),
    'otel-hooks-antigravity.sh',
    'places.json',
  ]);
  expect(fs.existsSync(join(home, '.local/state/otel-hooks'))).toBe(false);
});

it('ignores broken files of other programs', async () => {
  write('.cursor/hooks.json', '{ "hooks": ');
  fs.mkdirSync(join(home, '.factory/hooks.json'), { recursive: true });
  await enable('claude-code');
  expect(await run(['uninstall', '--yes'])).toMatchObject({ code: 0, err: '' });
});

it('in a state folder with other files it removes its own files, and lists the others', async () => {
  const env = { OTEL_HOOKS_STATE_DIR: join(home, 'mine') };
  write('mine/letter.txt', 'dear');
  await enable('cursor', { env });
  const ran = await run(['uninstall', '--purge', '--yes'], { env });
  expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('letter.txt is left (otel-hooks did not make it)')]);
  expect(fs.readdirSync(join(home, 'mine'))).toEqual(['letter.txt']);
});

it('of a linked configuration folder it removes the link alone', async () => {
  write('dotfiles/otel-hooks/config.json', '{}');
  fs.mkdirSync(join(home, '.config'));
  fs.symlinkSync(join(home, 'dotfiles/otel-hooks'), join(home, '.config/otel-hooks'));
  await enable('cursor');
  expect(await run(['uninstall', '--purge', '--yes'])).toMatchObject({ code: 0, err: '' });
  expect(fs.readdirSync(join(home, '.config'))).toEqual([]);
  expect(fs.readFileSync(join(home, 'dotfiles/otel-hooks/config.json'), 'utf8')).toBe('{}');
});

it('a state folder that is a link stays, with the reason', async () => {
  await enable('cursor');
  const state = join(home, '.local/state/otel-hooks');
  fs.renameSync(state, join(home, 'moved'));
  fs.symlinkSync(join(home, 'moved'), state);
  const ran = await run(['uninstall', '--purge', '--yes']);
  expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('symbolic link')]);
  expect(fs.existsSync(join(home, 'moved/inbox'))).toBe(true);
  expect(fs.existsSync(join(home, '.cursor/hooks.json'))).toBe(false);
});

it('removes the copy of a killed change, and restores a file that was missing', async () => {
  await enable('cursor,gemini-cli');
  const [stale, last] = ['.cursor/.hooks.json.otel-hooks-1', '.gemini/.settings.json.otel-hooks-2'];
  write(stale, 'former');
  const hooks = fs.readFileSync(join(home, '.gemini/settings.json'));
  fs.renameSync(join(home, '.gemini/settings.json'), join(home, last));
  const notes = join(home, '.local/share/otel-hooks/folders.json');
  const copies = { [stale]: '.cursor/hooks.json', [last]: '.gemini/settings.json' };
  const absolute = Object.fromEntries(Object.entries(copies).map(pair => pair.map(path => join(home, path))));
  const known = fs.existsSync(notes) ? (JSON.parse(fs.readFileSync(notes, 'utf8')) as object) : {};
  fs.writeFileSync(notes, JSON.stringify({ ...known, v: 1, copies: absolute }));
  expect(hooks.length).toBeGreaterThan(100);
  expect(await run(['uninstall', '--purge', '--yes'])).toMatchObject({ code: 0, err: '' });
  expect(files()).toEqual({});
});

it('--json lists the changes', async () => {
  await enable('cursor');
  const ran = await run(['uninstall', '--purge', '--yes', '--json']);
  const found = JSON.parse(ran.out) as Record<string, unknown>;
  expect([ran.code, found]).toEqual([
    0,
    expect.objectContaining({ v: 1, action: 'uninstall', purge: true, dryRun: false, left: [], refused: [] }),
  ]);
});

it('disable takes a place off the list, so that uninstall has nothing to do there', async () => {
  await enable('cursor', { cwd: '.' });
  await run(['disable', '--tool', 'cursor', '--yes']);
  expect(fs.existsSync(join(home, '.local/share/otel-hooks/places.json'))).toBe(false);
});
