/** The status line of the user stays the same while its input is recorded, and a removal restores the settings. */
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claudeCode } from '../../src/agents/claude-code/claude-code.ts';
import { applySetup, entriesOf, planSetup, programAt, type Setup } from '../../src/setup/setup.ts';
import { standingOf } from '../../src/setup/standing.ts';
import { isInstalled } from '../needs.ts';

let home: string;
let inbox: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-line-'));
  inbox = join(home, 'state/otel-hooks/inbox');
  // Hooks record only if there is a program that delivers. This one ends at once.
  fs.mkdirSync(join(home, 'dist'));
  fs.writeFileSync(join(home, 'dist/deliver.js'), '');
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const asked = { all: false, include: new Map<string, string | undefined>(), statusLine: true };
const setupOf = (action: Setup['action'], change: Partial<Setup> = {}): Setup => ({
  agent: claudeCode,
  scope: 'global',
  action,
  places: { home, project: join(home, 'project'), env: {} },
  platform: 'linux',
  program: programAt(join(home, 'dist'), process.execPath, []),
  folders: { state: join(home, 'state/otel-hooks'), data: join(home, "data of 'me'/otel-hooks") },
  ...change,
});
function apply(setup: Setup): boolean {
  const planned = planSetup(setup);
  if (!planned.ok) throw new Error(JSON.stringify(planned.problem));
  expect(applySetup(planned.plan)).toEqual({ ok: true });
  return planned.plan.changed;
}
const enable = (change: Partial<Setup> = {}): boolean => apply(setupOf('enable', { asked, ...change }));
const disable = (change: Partial<Setup> = {}): boolean => apply(setupOf('disable', change));
const fileOf = (local?: 'local'): string =>
  local ? join(home, 'project/.claude/settings.local.json') : join(home, '.claude/settings.json');
function write(text: string, file = fileOf()): void {
  fs.mkdirSync(join(file, '..'), { recursive: true });
  fs.writeFileSync(file, text);
}
const lineIn = (file = fileOf()): { command: string } & object =>
  parse(fs.readFileSync(file, 'utf8')).statusLine as { command: string };

const theirs = `cat | tr a-z A-Z; printf 'it'\\''s done'; echo oh >&2; exit 3`;
const files: [name: string, text: string][] = [
  ['a command', `{\n  "statusLine": { "type": "command", "command": ${JSON.stringify(theirs)}, "padding": 0 }\n}\n`],
  ['no status line', '{ "model": "x" }'],
  ['an empty file', ''],
  ['an empty object', '{}\n'],
  [
    'a byte order mark, tabs, comments',
    '\ufeff{\n\t// mine\n\t"statusLine": {"command":"a\\tb","type":"command"}, // b\n}\r\n',
  ],
  ['unusual escapes', '{"statusLine":{"type":"command","command":"say \\u0027hi\\u0027 \\/ \\u00e4"}}'],
  ['an empty command', '{"statusLine":{"type":"command","command":""},"hooks":{}}'],
];

describe('the settings', () => {
  it.each(files)('are restored byte for byte: %s', (_, text) => {
    write(text);
    expect(enable()).toBe(true);
    const once = fs.readFileSync(fileOf(), 'utf8');
    expect(enable()).toBe(false);
    expect(fs.readFileSync(fileOf(), 'utf8')).toBe(once);
    expect(standingOf(setupOf('enable'))).toMatchObject({ stale: [] });
    expect(disable()).toBe(true);
    expect(fs.readFileSync(fileOf(), 'utf8')).toBe(text);
  });

  it('without a file are removed again', () => {
    enable();
    expect(lineIn()).toMatchObject({ type: 'command' });
    disable();
    expect(fs.existsSync(fileOf())).toBe(false);
  });

  it('keep the status line when the hooks are renewed, with the new paths', () => {
    write(files[0]?.[1] ?? '');
    enable();
    const change = { folders: { state: join(home, 'state/otel-hooks'), data: join(home, 'other/otel-hooks') } };
    expect(standingOf(setupOf('enable', change))).toMatchObject({ stale: ['entries', 'script'] });
    apply(setupOf('enable', change));
    expect(lineIn().command).toContain('other/otel-hooks/status-line.sh');
    disable(change);
    expect(fs.readFileSync(fileOf(), 'utf8')).toBe(files[0]?.[1]);
  });

  it.each([
    ['{"statusLine": "x"}', 15],
    ['{"statusLine": {"type": "static"}}', 15],
    ['{"statusLine": {"type":"command","command":"a"}, "statusLine": {"type":"command","command":"b"}}', 63],
  ])('that the edit would make ambiguous are refused: %s', (text, column) => {
    write(text);
    const planned = planSetup(setupOf('enable', { asked }));
    expect(planned).toMatchObject({ ok: false, problem: { code: 'settings-refused', line: 1, column: column + 1 } });
    expect(fs.readFileSync(fileOf(), 'utf8')).toBe(text);
  });

  it('of a user in a folder run the wider command, and a removal leaves the wider file alone', () => {
    write(files[0]?.[1] ?? '');
    write('{}\n', fileOf('local'));
    enable({ scope: 'local' });
    expect(lineIn(fileOf('local'))).toMatchObject({ type: 'command', padding: 0 });
    expect(lineIn(fileOf('local')).command).toContain('tr a-z A-Z');
    disable({ scope: 'local' });
    expect(fs.readFileSync(fileOf('local'), 'utf8')).toBe('{}\n');
    expect(fs.readFileSync(fileOf(), 'utf8')).toBe(files[0]?.[1]);
  });

  it('of a project, and settings for Windows, get no status line', () => {
    enable({ scope: 'project' });
    enable({ platform: 'win32' });
    expect(fs.readFileSync(join(home, 'project/.claude/settings.json'), 'utf8')).not.toContain('statusLine');
    expect(fs.readFileSync(fileOf(), 'utf8')).not.toContain('statusLine');
  });

  it('a command that only looks like ours is the command of the user', () => {
    const near = `otel_hooks_line='x'; otel_hooks='claude-code StatusLine'; if [ -r '/a/status-line.sh' ]; then . '/b/status-line.sh'; else eval "$otel_hooks_line"; fi`;
    const text = JSON.stringify({ statusLine: { type: 'command', command: near } });
    write(text);
    expect(entriesOf(setupOf('enable')).filter(({ event }) => event === 'StatusLine')).toEqual([]);
    enable();
    disable();
    expect(fs.readFileSync(fileOf(), 'utf8')).toBe(text);
  });
});

const shells = [['/bin/sh'], ['dash'], ['bash'], ['bash', '--posix'], ['busybox', 'ash'], ['zsh']].filter(
  ([program = '']) => isInstalled(program),
);
const state = JSON.stringify({
  session_id: 's1',
  model: { id: 'claude-sonnet-5', display_name: 'Sonnet 5' },
  cost: { total_cost_usd: 0.4287 },
  context_window: { context_window_size: 200_000, current_usage: { input_tokens: 9 }, used_percentage: 8 },
  rate_limits: { five_hour: { used_percentage: 12.5, resets_at: 1 }, seven_day: { used_percentage: 3 } },
});

describe.each(shells.map(words => [words.join(' '), words] as const))('in %s', (_, [program = '', ...flags]) => {
  const runs = (command: string, input: string) => {
    const env = { PATH: process.env.PATH ?? '', HOME: home, OTEL_HOOKS_ENABLED: 'false' };
    const ran = spawnSync(program, [...flags, '-c', command], { input: Buffer.from(input), env });
    return { status: ran.status, out: ran.stdout.toString('latin1'), err: ran.stderr.toString('latin1') };
  };
  const recorded = (): string[] => fs.readdirSync(inbox).map(name => fs.readFileSync(join(inbox, name), 'latin1'));

  it.each([
    ['one line', state],
    ['line ends at its end', `${state}\n\n`],
    ['no JSON', '%s \\ `x` $(y) \u00e4'],
    ['200 KB', `{"x":"${'y'.repeat(200_000)}"}`],
  ])('the command of the user gets the same input, and its output and exit code stay: %s', (__, input) => {
    write(files[0]?.[1] ?? '');
    enable();
    const { command } = lineIn();
    expect(runs(command, input)).toEqual(runs(theirs, input));
    const [fragment, ...others] = recorded();
    expect(others).toEqual([]);
    expect(fragment).toContain('tool=11:claude-code event=10:StatusLine');
    expect(fragment).toContain(`\n${Buffer.from(input).toString('latin1')}\n`);
  });

  it('without a command of the user, a short line is printed', () => {
    enable();
    const { command } = lineIn();
    expect(runs(command, state)).toEqual({
      status: 0,
      out: 'Sonnet 5 | context 8 % | 5 h 12 % | 7 d 3 % | $0.42\n',
      err: '',
    });
    const little =
      '{"model":{"display_name":"x"},"cost":{"total_cost_usd":12},"context_window":{"used_percentage":null}}';
    expect(runs(command, little).out).toBe('x | $12\n');
    expect(runs(command, '{"model":{"display_name":"a\\u001b[31m"}}').out).toBe('a\n');
    expect(runs(command, 'no JSON').out).toBe('\n');
  });

  it('the command of the user also runs if the scripts or the state folder cannot be used', () => {
    write(files[0]?.[1] ?? '');
    enable();
    const { command } = lineIn();
    const expected = runs(theirs, state);
    fs.rmSync(join(home, 'state'), { recursive: true });
    fs.writeFileSync(join(home, 'state'), '');
    expect(runs(command, state)).toEqual(expected);
    fs.rmSync(join(home, "data of 'me'/otel-hooks/hook.sh"));
    expect(runs(command, state)).toEqual(expected);
    fs.rmSync(join(home, "data of 'me'"), { recursive: true });
    expect(runs(command, state)).toEqual(expected);
  });
});

it('a command that the agent ends at once leaves complete fragments', async () => {
  const slow = 'sleep 5';
  write(JSON.stringify({ statusLine: { type: 'command', command: slow } }));
  enable();
  const { command } = lineIn();
  for (let round = 0; round < 8; round++) {
    const env = { PATH: process.env.PATH ?? '', HOME: home, OTEL_HOOKS_ENABLED: 'false' };
    const child = spawn('/bin/sh', ['-c', command], { env, detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    const ended = new Promise(settled => child.on('exit', settled));
    child.stdin.on('error', () => undefined);
    child.stdin.end(`${state}${' '.repeat(round)}`);
    await new Promise(settled => setTimeout(settled, round * 4));
    process.kill(-(child.pid ?? 0), 'SIGTERM');
    await ended;
  }
  // The part that records ignores the signal and may still write.
  await new Promise(settled => setTimeout(settled, 300));
  const fragments = fs.readdirSync(inbox).map(name => fs.readFileSync(join(inbox, name), 'utf8'));
  for (const fragment of fragments) expect(fragment).toMatch(/\} *\n[0-9a-f-]{36}\n$/);
});
