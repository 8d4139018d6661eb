/** `enable --all-events` and `--include`: the events that are registered, kept and refused. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { ranIn } from '../commands/ran.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-all-events-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const run = (words: string[], platform = 'linux') =>
  ranIn(home, words, {
    env: { PATH: '', XDG_STATE_HOME: join(home, 'state'), XDG_DATA_HOME: join(home, 'data') },
    platform: platform as NodeJS.Platform,
  });
const enable = (...words: string[]) => run(['enable', '--tool', 'claude-code', '--yes', '--no-proof', ...words]);
const settings = () =>
  JSON.parse(fs.readFileSync(join(home, '.claude/settings.json'), 'utf8')) as {
    hooks: { [event: string]: { matcher?: string }[] };
    statusLine?: unknown;
  };
const registered = (): string[] => Object.keys(settings().hooks).sort();

/** Every event of the documentation of Claude Code's hooks. */
const documented = [
  ...['SessionStart', 'SessionEnd', 'Setup', 'UserPromptSubmit', 'UserPromptExpansion', 'PreToolUse', 'PostToolUse'],
  ...['PostToolUseFailure', 'PostToolBatch', 'PermissionRequest', 'PermissionDenied', 'Notification', 'SubagentStart'],
  ...['SubagentStop', 'Stop', 'StopFailure', 'PreCompact', 'PostCompact', 'PreModelSwitch', 'PostModelSwitch'],
  ...['TaskCreated', 'TaskCompleted', 'TeammateIdle', 'ConfigChange', 'InstructionsLoaded', 'CwdChanged'],
  ...['DirectoryAdded', 'FileChanged', 'WorktreeCreate', 'WorktreeRemove', 'Elicitation', 'ElicitationResult'],
  'MessageDisplay',
];
const onRequest = ['FileChanged', 'MessageDisplay', 'PreModelSwitch', 'WorktreeCreate'];

it('registers every event except those that a hook disturbs', async () => {
  expect((await enable('--all-events')).code).toBe(0);
  expect(registered()).toEqual(documented.filter(event => !onRequest.includes(event)).sort());
  expect(settings().statusLine).toBeUndefined();
});

it('registers events by name, watches the files that the user names, and keeps both when hooks are renewed', async () => {
  await enable();
  const usual = registered();
  const more = ['--include', 'MessageDisplay', '--include', 'FileChanged=package.json| .env'];
  expect((await enable(...more)).code).toBe(0);
  expect(registered()).toEqual([...usual, 'FileChanged', 'MessageDisplay'].sort());
  expect(settings().hooks.FileChanged).toMatchObject([{ matcher: 'package.json|.env' }]);
  const written = fs.readFileSync(join(home, '.claude/settings.json'), 'utf8');
  await enable();
  expect(fs.readFileSync(join(home, '.claude/settings.json'), 'utf8')).toBe(written);
  const status = JSON.parse((await run(['status', '--json'])).out) as { agents: { stale: string[] }[] };
  expect(status.agents).toMatchObject([{ stale: [] }]);
  await enable('--include', 'FileChanged=go.mod');
  expect(settings().hooks.FileChanged).toMatchObject([{ matcher: 'go.mod' }]);
  await run(['disable', '--tool', 'claude-code', '--yes']);
  expect(fs.existsSync(join(home, '.claude/settings.json'))).toBe(false);
  await enable();
  expect(registered()).toEqual(usual);
});

it.each([
  [['--include', 'WorktreeCreate'], 'WorktreeCreate is never registered'],
  [
    ['--include', 'FileChanged'],
    "FileChanged needs the names of the files to watch: --include 'FileChanged=package.json|.env'",
  ],
  [['--include', 'FileChanged='], 'takes up to 64 names of files'],
  [['--include', 'Stop=a'], 'Stop watches no files'],
  [['--include', 'MesageDisplay'], 'Claude Code has no event MesageDisplay; did you mean MessageDisplay?'],
  [['--include', 'StatusLine'], 'StatusLine is no hook; use --status-line'],
  [['--status-line', '--project'], '--status-line takes --global or --local'],
])('%j is refused, and nothing is changed', async (words, why) => {
  const ran = await enable(...words);
  expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(why)]);
  expect(fs.existsSync(join(home, '.claude'))).toBe(false);
});

it('refuses a status line on Windows and for agents without one', async () => {
  const windows = await run(['enable', '--tool', 'claude-code', '--status-line', '--yes'], 'win32');
  expect([windows.code, windows.err]).toEqual([2, expect.stringContaining('--status-line needs sh')]);
  const other = await run(['enable', '--tool', 'codex', '--status-line', '--yes']);
  expect([other.code, other.err]).toEqual([2, expect.stringContaining('Codex has no status line')]);
});

it.each(agents.filter(({ settings: own }) => !isAbsent(own)).map(agent => [agent.id, agent] as const))(
  'registers all events of %s that may be registered, and a removal leaves nothing',
  async (id, agent) => {
    const ran = await run(['enable', '--tool', id, '--all-events', '--yes', '--no-proof', '--json']);
    const { plans } = JSON.parse(ran.out) as { plans: { events: string[] }[] };
    const events = plans.flatMap(plan => plan.events);
    const rows = Object.entries(agent.events);
    const all = rows.flatMap(([name, { register }]) => (register === 'all' ? [name] : []));
    const never = rows.flatMap(([name, { register }]) => (register !== undefined && register !== 'all' ? [name] : []));
    expect(events).toEqual(expect.arrayContaining(all));
    expect(events.filter(event => never.includes(event))).toEqual([]);
    await run(['disable', '--tool', id, '--yes']);
    const left = fs.readdirSync(home, { recursive: true, withFileTypes: true }).filter(each => each.isFile());
    expect(
      left.map(({ name }) => name).filter(name => !/^(hook|status-line)\.sh$|^otel-hooks-[a-z-]+\.sh$/.test(name)),
    ).toEqual([]);
  },
);
