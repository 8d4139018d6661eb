/** Hooks that files declare, in every form of file, with real commands. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type HookFileOptions, registerHookFile } from '../../src/library/hook-files.ts';
import { createHookRunner, type HookRunner } from '../../src/library/hook-runner.ts';
import { needs } from '../needs.ts';

let folder: string;
let hooks: HookRunner;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-files-'));
  hooks = createHookRunner({ timeoutMs: 20_000 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function load(name: string, content: object | string, options: HookFileOptions = { mayRun: () => true }) {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return registerHookFile(hooks, file, options);
}
const command = (bash: string, more: object = {}): object => ({ type: 'command', bash, ...more });
const before = { hook: 'PreToolUse', sessionId: 's', tool: { name: 'deploy' }, input: { to: 'prod' } } as const;

it('runs commands of .github/hooks in the project, with the event on standard input', async context => {
  needs(context, 'grep');
  const loaded = load('.github/hooks/policy.json', {
    version: 1,
    hooks: { preToolUse: [command('true')], Stop: [command('true', { timeoutSec: 5 })] },
  });
  expect(loaded.registered.map(({ hook }) => hook)).toEqual(['PreToolUse', 'SessionEnd']);
  expect(loaded.skipped).toEqual([]);
  loaded.remove();
  const again = load('.github/hooks/policy.json', {
    version: 1,
    hooks: { preToolUse: [command('grep -q \'"to":"prod"\' && [ -d .github ] && echo by hand >&2 && exit 2')] },
  });
  expect(await hooks.run(before)).toMatchObject({ action: 'block', reason: 'by hand' });
  again.remove();
  expect(await hooks.run(before)).toMatchObject({ action: 'passThrough', warnings: [] });
});

it.each([
  ['{"action":"modify","modifiedInput":{"to":"test"}}', { action: 'modify', modifiedInput: { to: 'test' } }],
  [
    '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}',
    { action: 'block', reason: 'no' },
  ],
  ['{"decision":"block","reason":"no"}', { action: 'block', reason: 'no' }],
  [
    '{"additionalContext":"the tests need a port"}',
    { action: 'injectContext', additionalContext: ['the tests need a port'] },
  ],
  ['All is well.', { action: 'passThrough', warnings: [] }],
])('reads the output %s', async (output, expected) => {
  writeFileSync(join(folder, 'out'), output);
  load('hooks.json', { version: 1, hooks: { PreToolUse: [command('cat out')] } });
  expect(await hooks.run(before)).toMatchObject(expected);
});

it('a command that fails or takes too long is skipped with a warning', async () => {
  load('hooks.json', { hooks: { PreToolUse: [command('exit 7'), command('exec sleep 60', { timeoutSec: 0.2 })] } });
  const { action, metadata, warnings } = await hooks.run(before);
  expect(action).toBe('passThrough');
  expect(metadata.failures.map(({ why }) => why)).toEqual(['threw', 'overran']);
  expect(warnings[0]).toContain('the command ended with 7');
});

it('calls the tools of mcp.json in the order of their priorities', async () => {
  const called: string[] = [];
  const entry = (tool: string, priority: number) => ({ tool, priority });
  const content = { hooks: { PreToolUse: [entry('telemetry.trace', 90), entry('policy.check', 10)] } };
  const callTool = async (tool: string) => {
    called.push(tool);
    return tool === 'policy.check' ? { action: 'injectContext', additionalContext: ['ok'] } : undefined;
  };
  expect(load('mcp.json', content, { callTool }).registered.map(({ id }) => id)).toEqual([
    'telemetry.trace',
    'policy.check',
  ]);
  expect(await hooks.run(before)).toMatchObject({ additionalContext: ['ok'] });
  expect(called).toEqual(['policy.check', 'telemetry.trace']);
});

it('reads the front matter of an agent page, and the groups of a settings file with their matchers', async () => {
  const page = '---\nname: guard\nhooks:\n  PostToolUse:\n    - type: command\n      command: "exit 2"\n---\n# Guard\n';
  expect(load('guard.agent.md', page).registered).toMatchObject([{ hook: 'PostToolUse' }]);
  expect(await hooks.run({ hook: 'PostToolUse', sessionId: 's' })).toMatchObject({ action: 'block' });
  const group = { matcher: 'build|deploy', hooks: [{ type: 'command', command: 'exit 2' }] };
  load('.claude/settings.json', { hooks: { PreToolUse: [group] } });
  expect((await hooks.run(before)).action).toBe('block');
  expect((await hooks.run({ ...before, tool: { name: 'read' } })).action).toBe('passThrough');
});

it('registers nothing that the application did not allow, and says where and why', () => {
  const content = {
    hooks: {
      PreToolUse: [command('true'), { tool: 'a.b' }, 7, { type: 'prompt' }, { type: 'command', powershell: 'x' }],
      Never: [command('true')],
    },
  };
  const seen: string[] = [];
  const { registered, skipped } = load('hooks.json', content, {});
  expect(registered).toEqual([]);
  expect(skipped).toEqual([
    { where: 'hooks.json: PreToolUse[0]', why: 'mayRun did not allow the command' },
    { where: 'hooks.json: PreToolUse[1]', why: 'a tool of an MCP server needs callTool' },
    { where: 'hooks.json: PreToolUse[2]', why: 'it is not an object' },
    { where: 'hooks.json: PreToolUse[3]', why: 'it has neither a tool nor the type "command"' },
    { where: 'hooks.json: PreToolUse[4]', why: 'it has no command for a POSIX shell' },
    { where: 'hooks.json: Never[0]', why: 'it is no hook point' },
  ]);
  load('.github/hooks/a.json', content, { mayRun: entry => seen.push(`${entry.hook} ${entry.folder}`) === 0 });
  expect(seen).toEqual([`PreToolUse ${folder}`]);
});

it.each([
  ['hooks.json', '{"hooks":', /JSON/],
  ['hooks.json', '{}', /has no object "hooks"/],
  ['a.md', '# no front matter', /begins with no front matter/],
  ['a.md', '---\nhooks: &a\n  Stop: *a\n---\n', /alias/i],
])('refuses %s with %s', (name, content, why) => {
  expect(() => load(name, content)).toThrow(why);
});
