/** Settings in a person's own files that keep registered hooks from running, as far as the agent documents them. */
import { expect, it } from 'vitest';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { isOurCommand } from '../../src/agents/files/our-command.ts';
import { agentNamed } from '../../src/agents/index.ts';

const places = { home: '/home/me', project: '/shop', env: {}, platform: 'linux' };
const command =
  "trap 'exit 0' 0; otel_hooks='codex Stop edge'; [ ! -r '/d/otel-hooks/hook.sh' ] || . '/d/otel-hooks/hook.sh' 2>/dev/null";
const codexHooks = JSON.stringify({
  hooks: Object.fromEntries(
    ['SessionStart', 'Stop'].map(event => [event, [{ hooks: [{ type: 'command', command, timeout: 5 }] }]]),
  ),
});
const approval = (event: string, more = '') =>
  `[hooks.state."/home/me/.codex/hooks.json:${event}:0:0"]\ntrusted_hash = "sha256:x"\n${more}`;

const cases: [agent: string, what: string, files: Record<string, string>, why: RegExp | undefined][] = [
  ['codex', 'nothing of ours', {}, undefined],
  [
    'codex',
    'no person has reviewed the hooks',
    { '/home/me/.codex/hooks.json': codexHooks },
    /they are not approved yet/,
  ],
  [
    'codex',
    'one is new',
    { '/home/me/.codex/hooks.json': codexHooks, '/home/me/.codex/config.toml': approval('session_start') },
    /^Stop wait for approval/,
  ],
  [
    'codex',
    'one is switched off',
    {
      '/home/me/.codex/hooks.json': codexHooks,
      '/home/me/.codex/config.toml': approval('session_start') + approval('stop', 'enabled = false\n'),
    },
    /^Stop are switched off/,
  ],
  ['codex', 'all hooks are off', { '/home/me/.codex/config.toml': '[features]\nhooks = false\n' }, /hooks = false/],
  [
    'codex',
    'all are off by the former name',
    { '/home/me/.codex/config.toml': 'features.codex_hooks = false\n' },
    /codex_hooks/,
  ],
  ['cursor', 'events that are known', { '/home/me/.cursor/hooks.json': '{"hooks":{"stop":[]}}' }, undefined],
  [
    'cursor',
    'an unknown event',
    { '/shop/.cursor/hooks.json': '{"hooks":{"stop":[],"onStop":[]}}' },
    /passes over the whole file .* onStop$/,
  ],
  ['copilot', 'a switch', { '/home/me/.copilot/settings.json': '{"disableAllHooks":true}' }, /disableAllHooks/],
  [
    'copilot',
    'a project’s switch',
    { '/shop/.github/copilot/settings.json': '{"disableAllHooks":true}' },
    /disableAllHooks/,
  ],
  ['copilot', 'a switch that is open', { '/home/me/.copilot/settings.json': '{"disableAllHooks":false}' }, undefined],
  ['gemini-cli', 'a switch', { '/home/me/.gemini/settings.json': '{"hooksConfig":{"enabled":false}}' }, /hooksConfig/],
  ['claude-code', 'a switch', { '/home/me/.claude/settings.json': '{"disableAllHooks":true}' }, /disableAllHooks/],
  ['claude-code', 'an invalid file', { '/home/me/.claude/settings.json': '{"disableAll' }, undefined],
];

it.each(cases)('%s: %s', (id, _, files, why) => {
  expect(isOurCommand(command)).toBe(true);
  const settings = agentNamed(id)?.settings;
  if (settings === undefined || isAbsent(settings)) throw new Error('absent');
  const found = settings.obstacles?.(places, path => files[path]) ?? [];
  expect(found.map(each => each.why)).toEqual(why === undefined ? [] : [expect.stringMatching(why)]);
  for (const { file, next } of found) expect([files[file] !== undefined, next.length > 0]).toEqual([true, true]);
});
