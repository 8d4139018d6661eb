/**
 * The plugin in a host that follows OpenCode's documentation: its events reach the inbox, in order, and it breaks
 * nothing.
 */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCode } from '../../../src/agents/opencode/opencode.ts';
import { isPlugin } from '../../../src/agents/opencode/plugin.ts';
import { applySetup, planSetup, programAt } from '../../../src/setup/setup.ts';
import { play } from '../../play.ts';

interface Plugin {
  id: string;
  server(context: object): Promise<Record<string, (...args: unknown[]) => Promise<void>>>;
  setup(context: object): Promise<() => Promise<void>>;
}

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-plugin-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const file = () => join(home, '.config/opencode/plugins/otel-hooks.js');

async function installed(): Promise<Plugin> {
  // A hook records nothing when its program is missing. This program ends at once.
  const program = join(home, 'program');
  fs.mkdirSync(program);
  fs.writeFileSync(join(program, 'deliver.js'), '');
  const planned = planSetup({
    agent: openCode,
    scope: 'global',
    action: 'enable',
    places: { home, project: home, env: {} },
    platform: 'linux',
    program: programAt(program, process.execPath, []),
    folders: { state: join(home, 'state'), data: join(home, 'data') },
  });
  if (!planned.ok) throw new Error(JSON.stringify(planned.problem));
  expect(applySetup(planned.plan)).toEqual({ ok: true });
  // Node decides the type of a file by its extension; the agent's runtime decides by its content.
  const module = join(home, 'plugin.mjs');
  fs.copyFileSync(file(), module);
  const loaded: { default: Plugin } = await import(/* @vite-ignore */ pathToFileURL(module).href);
  expect(Object.keys(loaded)).toEqual(['default']);
  return loaded.default;
}

/** The content of the inbox, in the order of writing. */
function received(): { event: string; payload: Record<string, unknown> }[] {
  const inbox = join(home, 'state/inbox');
  return fs
    .readdirSync(inbox)
    .map(name => ({
      text: fs.readFileSync(join(inbox, name), 'utf8'),
      at: fs.statSync(join(inbox, name), { bigint: true }).mtimeNs,
    }))
    .sort((a, b) => Number(a.at - b.at))
    .map(({ text }) => ({
      event: / event=\d+:([\w.]+)/.exec(text)?.[1] ?? '',
      payload: JSON.parse(text.split('\n')[1] ?? ''),
    }));
}

const types = () => received().map(({ payload }) => payload.type);

describe('V1', () => {
  const session = 'ses_root';
  const eventOf = (type: string, properties: object) => ({ event: { id: 'evt_1', type, properties } });
  const part = (status: string, extra: object = {}) =>
    eventOf('message.part.updated', {
      part: {
        id: 'prt_1',
        sessionID: 'ses_child',
        type: 'tool',
        callID: 'call_1',
        tool: 'bash',
        state: { status, input: { command: 'ls' }, time: { start: 1 }, ...extra },
      },
    });

  it('forwards each event of the journal once, and ends started calls', async () => {
    const plugin = await installed();
    const hooks = await plugin.server({ directory: home });
    const hear = (event: object) => hooks.event?.(event);
    await hear(
      eventOf('session.created', { sessionID: session, info: { id: session, version: '1.18.18', directory: home } }),
    );
    await hear(eventOf('session.updated', { sessionID: 'ses_child', info: { id: 'ses_child', parentID: session } }));
    const output = { message: { id: 'msg_1' }, parts: [{ type: 'text', text: 'hi' }] };
    const before = structuredClone(output);
    await hooks['chat.message']?.({ sessionID: session, agent: 'build' }, output);
    expect(output).toEqual(before);
    await hooks['chat.params']?.(
      { sessionID: session, model: { id: 'm', providerID: 'p', secret: 'x' } },
      { temperature: 1 },
    );
    for (const status of ['pending', 'running', 'running', 'completed'])
      await hear(part(status, { time: { start: 1, end: 2 } }));
    await hear(eventOf('message.part.delta', { sessionID: session, delta: 'x' }));
    const message = {
      id: 'msg_2',
      role: 'assistant',
      sessionID: session,
      parentID: 'msg_1',
      modelID: 'm',
      tokens: { input: 5, output: 2 },
    };
    await hear(eventOf('message.updated', { info: { ...message, time: { created: 1 } } }));
    await hear(eventOf('message.updated', { info: { ...message, time: { created: 1, completed: 2 } } }));
    await hear(eventOf('message.updated', { info: { ...message, time: { created: 1, completed: 2 } } }));
    await hear(eventOf('session.idle', { sessionID: session }));
    await hooks.dispose?.();

    expect(types()).toEqual([
      'session.created',
      'chat.message',
      'chat.params',
      'message.part.updated',
      'message.part.updated',
      'message.updated',
      'session.idle',
      'dispose',
    ]);
    for (const { event, payload } of received()) {
      expect([event, payload.session_id, payload.opencode_version, payload.directory]).toEqual([
        payload.type,
        session,
        '1.18.18',
        home,
      ]);
    }
    const { events } = play(
      received().map(({ payload }, at) => ({ atMs: 1_790_000_000_000 + at, payload, header: { tool: 'opencode' } })),
    );
    expect(events.map(event => event.event_type)).toEqual([
      'Session.Start',
      'Prompt.Submitted',
      'Model.Requested',
      'Action.Before',
      'Action.After',
      'Model.Responded',
      'Agent.Response',
      'Session.End',
    ]);
  });

  it('throws nothing for any input', async () => {
    const plugin = await installed();
    const hooks = await plugin.server({ directory: home });
    const odd = [
      undefined,
      {},
      { event: null },
      { event: { type: 7 } },
      eventOf('session.created', {}),
      eventOf('session.idle', { sessionID: {} }),
    ];
    for (const hook of Object.values(hooks)) for (const value of odd) await hook(value, value);
    await (await plugin.server({ directory: '/nowhere/at/all' })).event?.(
      eventOf('session.idle', { sessionID: session }),
    );
    const cyclic: Record<string, unknown> = { sessionID: session };
    cyclic.self = cyclic;
    await hooks.event?.(eventOf('session.idle', cyclic));
    await hooks.dispose?.();
  });
});

describe('V2', () => {
  it('forwards only events of its folder', async () => {
    const plugin = await installed();
    const here = { location: { directory: home } };
    const there = { location: { directory: '/other' } };
    const event = (type: string, data: object, more: object = {}) => ({
      id: 'evt_1',
      created: 1_790_000_000_000,
      type,
      data,
      ...more,
    });
    const stream = [
      event('session.created', { sessionID: 'ses_a' }, here),
      event('session.created', { sessionID: 'ses_b', parentID: 'ses_a' }, here),
      event('session.created', { sessionID: 'ses_c' }, there),
      event(
        'session.inbox.enqueued',
        { sessionID: 'ses_a', inboxID: 'msg_1', item: { type: 'user', payload: { text: 'hi' } } },
        here,
      ),
      event('session.input.admitted', { sessionID: 'ses_a', inputID: 'msg_2', input: { data: { text: 'and' } } }, here),
      event('session.execution.started', { sessionID: 'ses_a' }),
      event('session.execution.started', { sessionID: 'ses_c' }),
      event('session.text.delta', { sessionID: 'ses_a', text: 'x' }, here),
      event('session.tool.input.started', { sessionID: 'ses_b', id: 'call_1', name: 'shell' }, here),
      event('session.tool.called', { sessionID: 'ses_b', id: 'call_1', input: { command: 'ls' } }, here),
      event('session.execution.succeeded', { sessionID: 'ses_a' }),
      { type: 'server.connected' },
    ];
    const heard = { all: () => {} };
    const all = new Promise<void>(settled => {
      heard.all = settled;
    });
    const aborted = { signal: undefined as AbortSignal | undefined };
    const cleanup = await plugin.setup({
      app: { version: '2.0.32' },
      location: { directory: home },
      event: {
        async *subscribe({ signal }: { signal: AbortSignal }) {
          aborted.signal = signal;
          yield* stream;
          heard.all();
          throw new Error('the server went away');
        },
      },
    });
    await all;
    await cleanup();
    expect(aborted.signal?.aborted).toBe(true);
    expect(types()).toEqual([
      'session.created',
      'session.created',
      'session.inbox.enqueued',
      'session.input.admitted',
      'session.execution.started',
      'session.tool.input.started',
      'session.tool.called',
      'session.execution.succeeded',
    ]);
    expect(new Set(received().map(({ payload }) => payload.session_id))).toEqual(new Set(['ses_a']));
    const { events } = play(
      received().map(({ payload }, at) => ({ atMs: 1_790_000_000_000 + at, payload, header: { tool: 'opencode' } })),
    );
    expect(events.map(each => each.event_type)).toEqual([
      'Session.Start',
      'Session.Start',
      'Prompt.Submitted',
      'Prompt.Submitted',
      'Action.Before',
      'Agent.Response',
    ]);
  });
});

it('recognizes our plugin and that of the Python package, and no other', () => {
  expect(isPlugin('// otel-hooks-opencode-plugin-v1\nexport const x = 1;\n')).toBe(true);
  expect(isPlugin('/*\n * otel-hooks-opencode-plugin-v1\n */\n')).toBe(true);
  expect(isPlugin("const MARKER = 'otel-hooks-opencode-plugin-v1';\n")).toBe(true);
  expect(isPlugin('export const mine = async () => ({ event() { log("otel-hooks-opencode-plugin-v1") } });\n')).toBe(
    false,
  );
  expect(isPlugin('// The otel-hooks plugin, my own\n')).toBe(false);
});
