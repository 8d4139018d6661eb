/**
 * The second way of registration that README shows: an OpenHook file in the project. The host here does what OpenHook 0.1
 * asks of a host: it reads `.openhook.json`, runs each subscribed command in a shell with one envelope on standard input,
 * and does not wait for a command that is `async`.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Collector, startCollector } from '../collector.ts';
import { delivered, furnish, type House, harmless, otelHooks, type Ran, vacate } from './house.ts';

const root = join(import.meta.dirname, '..', '..');

interface OpenHookFile {
  openhook: string;
  hooks: { command: string; events?: string[]; async?: boolean }[];
}

/** The block of README that defines an OpenHook file, word for word. */
const fileText =
  [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```json\n([\s\S]*?)^```$/gm)]
    .map(([, text = '']) => text)
    .find(text => text.includes('"openhook"')) ?? '';

const SESSION = '7d0e2f5a-93b1-4c68-8f0a-2b6d4e1c9a53';

/** A transcript as Claude Code writes it: a prompt, a command that fails, an answer. */
const transcript = [
  {
    type: 'user',
    uuid: 'u1',
    timestamp: '2026-11-18T09:00:01.000Z',
    promptId: 'p1',
    message: message('Run the tests.'),
  },
  {
    type: 'assistant',
    uuid: 'u2',
    timestamp: '2026-11-18T09:00:03.000Z',
    requestId: 'req_1',
    message: {
      ...{ id: 'msg_1', role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: 'tool_use' },
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'npm test' } }],
      usage: { input_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 100, output_tokens: 8 },
    },
  },
  {
    type: 'user',
    uuid: 'u3',
    timestamp: '2026-11-18T09:00:05.000Z',
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content: 'Exit code 1\nfailed' }],
    },
  },
  {
    type: 'assistant',
    uuid: 'u4',
    timestamp: '2026-11-18T09:00:07.000Z',
    requestId: 'req_2',
    message: {
      ...{ id: 'msg_2', role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'One test fails.' }],
      usage: { input_tokens: 30, cache_creation_input_tokens: 0, cache_read_input_tokens: 120, output_tokens: 12 },
    },
  },
];

function message(content: string): object {
  return { role: 'user', content };
}

describe('a host that runs the OpenHook file of README', () => {
  let house: House;
  let collector: Collector;

  beforeAll(async () => {
    collector = await startCollector();
    house = furnish('built', 'otel-hooks-openhook-');
    writeFileSync(join(house.project, '.openhook.json'), fileText);
    const bin = join(house.folder, 'bin');
    mkdirSync(bin);
    symlinkSync(house.bin, join(bin, 'otel-hooks'));
    house.env.PATH = `${bin}${delimiter}${dirname(process.execPath)}${delimiter}${house.env.PATH}`;
    const config = join(house.home, '.config', 'otel-hooks');
    mkdirSync(config, { recursive: true });
    const otherFile = join(house.folder, 'other.jsonl');
    const settings = { provider: ['otlp', 'file'], otlp: { endpoint: collector.url }, file: { path: otherFile } };
    writeFileSync(join(config, 'config.json'), JSON.stringify(settings));
  });
  afterAll(async () => {
    await vacate(house);
    await collector.close();
  });

  it('is a valid OpenHook file, with one asynchronous hook for session.end', () => {
    const result = otelHooks(house, ['validate', '--standard', 'openhook', '.openhook.json']);
    expect(result).toMatchObject({ status: 0, stderr: '' });
    const { openhook, hooks } = JSON.parse(fileText) as OpenHookFile;
    expect(openhook).toBe('0.1');
    expect(hooks).toEqual([{ command: 'otel-hooks hook --provider otlp', events: ['session.end'], async: true }]);
  });

  it('gets the trace of the whole session from session.end and the transcript that it names', async () => {
    const folder = join(house.home, '.claude', 'projects', '-w-shop');
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `${SESSION}.jsonl`);
    const common = { sessionId: SESSION, cwd: house.project, version: '2.1.160', isSidechain: false, parentUuid: null };
    writeFileSync(path, transcript.map(row => `${JSON.stringify({ ...common, ...row })}\n`).join(''));
    const data = { transcript_path: path, reason: 'completed', duration_ms: 8_000 };

    const ran = await dispatch(house, envelope('session.end', data));

    expect(ran).toEqual([harmless]);
    const { destinations } = await delivered(house, 40_000);
    expect(Object.keys(destinations)).toHaveLength(1);
    const spans = collector.spans();
    expect(spans.map(span => span.name).sort()).toEqual([
      'chat claude-sonnet-4-5',
      'chat claude-sonnet-4-5',
      'execute_tool Bash',
      'invoke_agent claude-code',
      'session claude-code',
    ]);
    expect(new Set(spans.map(span => span.traceId)).size).toBe(1);
    expect(spans.map(span => span.plain['session.id'])).toEqual(spans.map(() => SESSION));
    expect(spans.find(span => span.name === 'execute_tool Bash')?.plain).toMatchObject({ 'error.type': 'exit_code' });
    expect(JSON.stringify([spans, collector.records()])).not.toContain('Run the tests.');
  }, 60_000);

  it('runs no command for a type that the file does not name', async () => {
    expect(await dispatch(house, envelope('session.start', {}))).toEqual([]);
  });
});

function envelope(type: string, data: object): object {
  return {
    ...{ openhook: '0.1', id: `3b9c1d7e-64f0-4a2b-9e8d-${type.length}0c5f7a1e2d3`, source: 'claude-code', type },
    ...{ time: '2026-11-18T09:00:08.000Z', session_id: SESSION, data },
  };
}

/** Starts the commands for an event, all of them before it waits for one. Returns how each one ended. */
function dispatch(house: House, event: object): Promise<Ran[]> {
  const { hooks } = JSON.parse(readFileSync(join(house.project, '.openhook.json'), 'utf8')) as OpenHookFile;
  const { type } = event as { type: string };
  const due = hooks.filter(({ events = ['*'] }) => events.includes(type) || events.includes('*'));
  return Promise.all(due.map(({ command }) => run(house, command, `${JSON.stringify(event)}\n`)));
}

function run(house: House, command: string, input: string): Promise<Ran> {
  return new Promise((settled, failed) => {
    const env = { ...house.env, OTEL_HOOKS_LINGER: '1s' };
    const child = spawn('/bin/sh', ['-c', command], { cwd: house.project, env });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', part => {
      stdout += part;
    });
    child.stderr.on('data', part => {
      stderr += part;
    });
    child.on('error', failed);
    child.on('close', status => settled({ status, stdout, stderr }));
    child.stdin.end(input);
  });
}
