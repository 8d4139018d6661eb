/** Each kind of file that the program writes in the form of a standard passes `validate` without a warning. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CloudEvent } from 'cloudevents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/store.ts';
import { eventFormats } from '../../src/view/formats.ts';
import { play, START_MS } from '../play.ts';
import { ranIn } from './ran.ts';

const root = join(import.meta.dirname, '..', '..');
const home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-own-files-'));
afterAll(() => fs.rmSync(home, { recursive: true, force: true }));

const own = { XDG_STATE_HOME: join(home, 'state'), XDG_DATA_HOME: join(home, 'data') };
const run = (...words: string[]) => ranIn(home, words, { env: { PATH: '', ...own }, now: () => START_MS + 60_000 });

function put(name: string, text: string): string {
  const file = join(home, name);
  fs.mkdirSync(dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  return file;
}

async function passes(standard: string, file: string): Promise<void> {
  const { code, out } = await run('validate', '--standard', standard, '--strict', '--json', file);
  const { findings, ...report } = JSON.parse(out);
  expect(findings.filter(({ level }: { level: string }) => level !== 'note')).toEqual([]);
  expect({ code, ...report }).toMatchObject({ code: 0, ok: true, errors: 0, warnings: 0 });
}

/** A session with a subagent, a failed command, a written file, and an action that a hook denied. */
const payloads: object[] = [
  { hook_event_name: 'SessionStart', source: 'startup', model: 'claude-sonnet-4-5' },
  { hook_event_name: 'UserPromptSubmit', prompt: 'Run the tests.' },
  ...called('c1', 'Bash', { command: 'npm test' }, { error: 'Exit code 1' }),
  ...called('c2', 'Write', { file_path: '/shop/a.ts', content: 'a' }, { tool_response: { type: 'create' } }),
  { hook_event_name: 'SubagentStart', agent_id: 'a1', agent_type: 'reader' },
  { hook_event_name: 'SubagentStop', agent_id: 'a1', agent_type: 'reader' },
  { hook_event_name: 'Stop' },
  { hook_event_name: 'SessionEnd', reason: 'prompt_input_exit' },
];

function called(tool_use_id: string, tool_name: string, tool_input: object, after: object): object[] {
  const call = { tool_use_id, tool_name, tool_input };
  const end = 'error' in after ? 'PostToolUseFailure' : 'PostToolUse';
  return [
    { hook_event_name: 'PreToolUse', ...call },
    { hook_event_name: end, ...call, ...after },
  ];
}

describe('exports', () => {
  beforeAll(() => {
    const common = { session_id: '7d0e2f5a-93b1-4c68-8f0a-2b6d4e1c9a53', cwd: '/shop', prompt_id: 'p1' };
    const native = play(
      payloads.map((payload, i) => ({ atMs: START_MS + i * 1_000, payload: { ...common, ...payload } })),
    );
    const response = { action: 'block', reason: 'no' };
    const envelopes = [
      { hook: 'SessionStart' },
      { hook: 'PreToolUse', tool: { name: 'deploy' }, response },
      { hook: 'SessionEnd' },
    ].map((envelope, i) => ({
      sessionId: 'run-1',
      timestamp: new Date(START_MS + i * 1_000).toISOString(),
      ...envelope,
    }));
    const runtime = play(envelopes.map((payload, i) => ({ atMs: START_MS + i * 1_000, payload })));
    fs.mkdirSync(own.XDG_STATE_HOME, { recursive: true });
    const store = openStore({ folder: join(own.XDG_STATE_HOME, 'otel-hooks'), access: 'own' });
    for (const [key, { events }] of Object.entries({ 'key-1': native, 'key-2': runtime }))
      store.commit({ journal: [{ key, lines: events.map(event => `${JSON.stringify(event)}\n`).join('') }] });
    store.close();
  });

  it.each(eventFormats)('in the format %s', async format => {
    const { code, out } = await run('export', '--format', format);
    expect(code).toBe(0);
    const file = put(`${format}.jsonl`, out);
    expect(out.split('\n').length).toBeGreaterThan(10);
    if (format !== 'cloudevents') return passes(format, file);
    // CloudEvents define the outer fields only; the event inside is one of Agent Hooks.
    const lines = out.split('\n').slice(0, -1);
    const inner = lines.map(line => `${JSON.stringify(new CloudEvent(JSON.parse(line)).data)}\n`);
    await passes('agent-hooks', put('inner.jsonl', inner.join('')));
  });
});

it('the OpenHook file of README', async () => {
  const blocks = fs.readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```json\n([\s\S]*?)^```$/gm);
  const text = [...blocks].map(([, block = '']) => block).find(block => block.includes('"openhook"')) ?? '';
  await passes('openhook', put('readme/.openhook.json', text));
});

it('the hooks file that enable writes into a project', async () => {
  const project = join(home, 'shop');
  fs.mkdirSync(join(project, '.git'), { recursive: true });
  const ran = await ranIn(home, ['enable', '--tool', 'copilot', '--project', '--yes', '--no-proof'], {
    ...{ cwd: project, env: { PATH: '', ...own } },
  });
  expect(ran.code).toBe(0);
  await passes('base-coat', join(project, '.github/hooks/otel-hooks.json'));
});

it.each(['json', 'yaml'])('the manifest that convert writes as %s', async format => {
  const hooks = { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: './check.sh' }] }] };
  const settings = put('.claude/settings.json', JSON.stringify({ hooks }));
  const words = ['convert', '--from', 'claude-code', '--to', 'hook-interchange', '--format', format, settings];
  const { code, out } = await run(...words);
  expect(code).toBe(0);
  await passes('hook-interchange', put(`manifest.${format}`, out));
});

it('the hooks file that convert writes for a platform', async () => {
  const manifest = put(
    'from/settings.json',
    JSON.stringify({
      hooks: { PostToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: './check.sh' }] }] },
    }),
  );
  const { out } = await run('convert', '--from', 'claude-code', '--to', 'copilot', manifest);
  await passes('base-coat', put('to/.github/hooks/check.json', out));
});

it('the public part of a signing key is read by verify', async () => {
  const made = await run('signing-key', 'key.pem');
  const keys = put('jwks.json', made.out);
  const { err } = await run('verify', '--signature', 'e30..AA', '--keys', keys, put('body.jsonl', '{}\n'));
  // The key was read; only the signature is wrong.
  expect(err).toContain('the signature does not hold');
});
