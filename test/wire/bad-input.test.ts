/**
 * Payloads that delivery must not accept unchanged, sent through both front ends as an agent would: every hook ends
 * with 0 and prints nothing, each bad event is set aside with its reason or journaled, and a good
 * session between them arrives complete.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Collector, startCollector } from '../collector.ts';
import {
  type Agent,
  commandsIn,
  delivered,
  enable,
  furnish,
  type Hook,
  type House,
  harmless,
  type Mouth,
  otelHooks,
  payloadOf,
  type Ran,
  runHook,
  status,
  vacate,
} from './house.ts';

type Payload = (session: string, mouth: Mouth) => NonNullable<Hook['payload']>;

interface Case {
  name: string;
  /** A single case runs through each front end; several are distributed among them. */
  payload: Payload | Payload[];
  /** The reason why it is set aside; a kept event is journaled. */
  fate: 'kept' | string;
  tool?: string;
  event?: string;
}

const MILLION = 1_000_000;
const fields = (session: string, more: object = {}): Record<string, unknown> => ({
  session_id: session,
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_use_id: `${session}-call`,
  ...more,
});
const text = (session: string, more: object = {}): string => payloadOf(fields(session, more));
/** JSON with a part that cannot be an object. */
const around = (session: string, field: string, json: string): string =>
  `${text(session).slice(0, -1)},"${field}":${json}}`;

const wrong = [7, [1, 'x', null], { a: { b: [] } }, true, null, '', 'constructor', '__proto__'];
const everyField = [
  'transcript_path',
  'cwd',
  'permission_mode',
  'prompt_id',
  'agent_id',
  'agent_type',
  'source',
  'model',
  'reason',
  'prompt',
  'tool_name',
  'tool_input',
  'tool_use_id',
  'tool_response',
  'tool_calls',
  'duration_ms',
  'error',
  'error_details',
  'is_interrupt',
  'mcp_server',
  'message',
  'notification_type',
  'last_assistant_message',
  'trigger',
  'permission_suggestions',
];
const events = [
  'SessionStart',
  'UserPromptSubmit',
  'PreToolUse',
  'PermissionRequest',
  'PostToolUse',
  'PostToolUseFailure',
  'PostToolBatch',
  'Notification',
  'SubagentStart',
  'SubagentStop',
  'Stop',
  'StopFailure',
  'PreCompact',
  'SessionEnd',
];

const cases: Case[] = [
  { name: 'nothing at all', payload: () => '', fate: 'empty' },
  { name: 'white space', payload: () => ' \n\t ', fate: 'empty' },
  { name: 'half an object', payload: session => text(session).slice(0, -20), fate: 'not-json' },
  { name: 'bytes of a picture', payload: () => noise(20_000), fate: 'not-json' },
  { name: 'NUL bytes', payload: () => new Uint8Array(4_096), fate: 'not-json' },
  { name: 'a sentence', payload: () => 'command not found\n', fate: 'not-json' },
  { name: 'an object, and then something', payload: session => `${text(session)} x`, fate: 'not-json' },
  { name: 'an array', payload: session => `[${text(session)}]`, fate: 'not-an-object' },
  { name: 'a number', payload: () => '1e300', fate: 'not-an-object' },
  { name: 'null', payload: () => 'null', fate: 'not-an-object' },
  { name: 'an unknown agent', payload: session => text(session), tool: 'no-such-agent', fate: 'unknown-agent' },
  {
    name: 'no session',
    payload: () => payloadOf({ hook_event_name: 'Stop', permission_mode: 'default' }),
    fate: 'no-session-id',
  },
  {
    name: 'a session that is a number',
    payload: () => payloadOf(fields('', { session_id: 5 })),
    fate: 'no-session-id',
  },
  { name: 'an empty session', payload: () => payloadOf(fields('', { session_id: '' })), fate: 'no-session-id' },
  { name: 'a session with NUL', payload: () => payloadOf(fields('a\0b')), fate: 'bad-session-id' },
  { name: 'a session with a line break', payload: () => payloadOf(fields('a\nb')), fate: 'bad-session-id' },
  { name: 'a session of 10 KB', payload: () => payloadOf(fields('s'.repeat(10_240))), fate: 'bad-session-id' },
  {
    name: '100 MB',
    payload: session => filled(`${text(session).slice(0, -1)},"prompt":"`, 100),
    fate: 'too-large',
  },
  { name: 'a million open brackets', payload: () => '['.repeat(MILLION), fate: 'not-json' },
  { name: 'a million open objects', payload: () => '{"a":'.repeat(MILLION), fate: 'not-json' },
  {
    name: 'a million levels, closed',
    payload: () => `${'['.repeat(MILLION)}${']'.repeat(MILLION)}`,
    fate: 'not-an-object',
  },
  {
    name: 'a million levels of arrays in the input',
    payload: session => around(session, 'tool_input', `{"x":${'['.repeat(MILLION)}${']'.repeat(MILLION)}}`),
    fate: 'too-many-values',
  },
  {
    name: 'a million levels of objects in the input',
    payload: session => around(session, 'tool_input', `${'{"a":'.repeat(MILLION)}1${'}'.repeat(MILLION)}`),
    fate: 'too-many-values',
  },
  {
    name: 'a million levels in a field that is not read',
    payload: session => around(session, 'foreign', `${'[{"a":'.repeat(MILLION / 2)}1${'}]'.repeat(MILLION / 2)}`),
    fate: 'too-many-values',
  },
  {
    name: 'a million fields',
    payload: session =>
      around(session, 'tool_input', `{${Array.from({ length: 200_000 }, (_, i) => `"k${i}":${i}`).join()}}`),
    fate: 'kept',
  },
  { name: 'an unknown event', payload: s => payloadOf({ session_id: s, hook_event_name: 'Nobody' }), fate: 'kept' },
  {
    name: "an event called like every object's own",
    payload: s => payloadOf({ session_id: s, hook_event_name: 'constructor' }),
    fate: 'kept',
  },
  {
    name: 'an event of 10 KB, with a path',
    payload: s => payloadOf({ session_id: s, hook_event_name: `../${'x'.repeat(10_240)}` }),
    fate: 'kept',
  },
  ...[
    '__proto__',
    'constructor',
    'hasOwnProperty',
    '../../../etc/passwd',
    '/etc/passwd',
    'NUL',
    'a b',
    '😀',
    '%2e%2e',
  ].map(
    (id): Case => ({
      name: `${id} for a session, a subagent, a turn and a call`,
      payload: (_, mouth) =>
        payloadOf({
          ...fields(id, { agent_id: id, prompt_id: id, tool_use_id: id, tool_name: id, agent_type: id }),
          hook_event_name: mouth === 'sh' ? 'PreToolUse' : 'PostToolUse',
        }),
      fate: 'kept',
    }),
  ),
  ...['a\0b', 'x'.repeat(10_240)].map(
    (id): Case => ({
      name: `${id.length === 3 ? 'NUL' : '10 KB'} in a subagent, a turn and a call`,
      payload: s =>
        payloadOf(fields(s, { agent_id: id, prompt_id: id, tool_use_id: id, tool_name: id, agent_type: id })),
      fate: 'kept',
    }),
  ),
  {
    name: '__proto__ as a field',
    payload: s => around(s, '__proto__', '{"session_id":"other","polluted":true}'),
    fate: 'kept',
  },
  {
    name: 'lone surrogates',
    payload: s =>
      `{"session_id":"${s}-\\ud800","hook_event_name":"UserPromptSubmit","prompt":"\\udfff x \\ud83d","prompt_id":"\\ud800"}`,
    fate: 'kept',
  },
  {
    name: 'bytes that are no UTF-8',
    payload: s =>
      Buffer.concat([
        Buffer.from(text(s).slice(0, -1)),
        Buffer.from(',"prompt":"'),
        Buffer.from([0xff, 0xc0, 0x80]),
        Buffer.from('"}'),
      ]),
    fate: 'kept',
  },
  {
    name: '1e300 and beyond',
    payload: s =>
      `{"session_id":"${s}","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"c","duration_ms":1e300,"x":1e999}`,
    fate: 'kept',
  },
  {
    name: 'numbers as texts',
    payload: s => payloadOf(fields(s, { hook_event_name: 'PostToolUse', duration_ms: '12', context_tokens: '1e300' })),
    fate: 'kept',
  },
  {
    name: 'a negative length',
    payload: s => payloadOf(fields(s, { hook_event_name: 'PostToolUse', duration_ms: -5 })),
    fate: 'kept',
  },
  // A session for each kind of fault: all fields have the same fault.
  ...events.map(
    (event): Case => ({
      name: `every field of a wrong type, in ${event}`,
      event,
      payload: wrong.map(
        (value, i) => session =>
          payloadOf({
            ...Object.fromEntries(everyField.map(field => [field, value])),
            session_id: `${session}-${i}`,
            hook_event_name: event,
          }),
      ),
      fate: 'kept',
    }),
  ),
];

function noise(bytes: number): Uint8Array {
  // The same text in each run, and not JSON.
  let state = 7;
  return Uint8Array.from({ length: bytes }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state >> 8;
  });
}

function* filled(start: string, megabytes: number): Generator<Uint8Array> {
  yield Buffer.from(start);
  const megabyte = Buffer.alloc(1024 * 1024, 'x');
  for (let i = 0; i < megabytes; i += 1) yield megabyte;
  yield Buffer.from('"}');
}

describe('bad input through the real front ends', () => {
  const good = 'good-session';
  let house: House;
  let collector: Collector;
  const ran: { name: string; result: Ran }[] = [];

  beforeAll(async () => {
    collector = await startCollector();
    house = furnish('built', 'otel-hooks-bad-');
    // The collector runs in this busy process: a late answer would cause a retry.
    house.env.OTEL_EXPORTER_OTLP_TIMEOUT = '60000';
    enable(house, collector.url);
    const agent: Agent = { house, commands: commandsIn(house) };
    const neighbour = async (event: string, more: object): Promise<void> => {
      const payload = payloadOf({ session_id: good, prompt_id: 'turn', hook_event_name: event, ...more });
      ran.push({ name: `neighbour ${event}`, result: await runHook(agent, { event, payload }) });
    };
    await neighbour('UserPromptSubmit', { prompt: 'go on' });
    // Each bad event is between the beginning and the end of an action of the good session.
    const queue = [...cases];
    const work = async (): Promise<void> => {
      for (let each = queue.shift(); each !== undefined; each = queue.shift()) {
        const { name, tool, event = 'PreToolUse' } = each;
        const call = { tool_name: 'Read', tool_use_id: name };
        await neighbour('PreToolUse', call);
        const results = hooksOf(each).map(({ mouth, payload }) => runHook(agent, { event, tool, mouth, payload }));
        for (const result of await Promise.all(results)) ran.push({ name, result });
        await neighbour('PostToolUse', { ...call, duration_ms: 1 });
      }
    };
    await Promise.all([work(), work(), work()]);
    await neighbour('Stop', {});
    await neighbour('SessionEnd', {});
    await delivered(house, 40_000);
  }, 90_000);
  afterAll(async () => {
    await vacate(house);
    await collector.close();
  });

  it('ends with 0 and prints nothing', () => {
    expect(ran).toHaveLength(hooks);
    expect(ran.filter(({ result }) => JSON.stringify(result) !== JSON.stringify(harmless))).toEqual([]);
  });

  it('is set aside with its reason, or journaled', () => {
    expect(quarantined(house)).toEqual(expectedReasons());
  });

  it('is counted, and status names it', () => {
    const found = status(house);
    const aside = Object.values(expectedReasons()).reduce((sum, count) => sum + count, 0);
    expect(found.balanced).toBe(true);
    expect(found.fragments).toMatchObject({
      received: hooks,
      journaled: hooks - aside,
      quarantined: aside,
      waiting: 0,
      dropped: {},
    });
    const shown = otelHooks(house, ['status']).stdout;
    for (const [reason, count] of Object.entries(expectedReasons())) expect(shown).toContain(`${count} ${reason}`);
  });

  it('does not affect its neighbours: every action of the good session arrives once and complete', () => {
    const spans = collector.spans().filter(span => span.plain['session.id'] === good);
    const calls = spans.filter(span => String(span.name).startsWith('execute_tool'));
    expect(new Set(calls.map(span => span.plain['gen_ai.tool.call.id']))).toEqual(
      new Set(cases.map(({ name }) => name)),
    );
    expect(calls).toHaveLength(cases.length);
    for (const call of calls) expect(call.plain['agent_hooks.action.outcome']).toBe('success');
    expect(spans).toHaveLength(cases.length + 2);
  });

  it('never becomes a path, and never changes an object', () => {
    const names = readdirSync(house.state, { recursive: true, encoding: 'utf8' });
    expect(names.filter(name => /proto|passwd|constructor|\.\.|etc/.test(name))).toEqual([]);
    expect(readdirSync(join(house.home, '.local', 'state'))).toEqual(['otel-hooks']);
    for (const item of [...collector.spans(), ...collector.records()])
      expect(item.plain).not.toHaveProperty('polluted');
  });

  it('gives no span an impossible time', () => {
    const yearNs = 365n * 24n * 3_600n * 1_000_000_000n;
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    const odd = collector.spans().flatMap(({ name, startTimeUnixNano, endTimeUnixNano }) => {
      const [start, end] = [BigInt(String(startTimeUnixNano ?? 0)), BigInt(String(endTimeUnixNano ?? 0))];
      return start < nowNs - yearNs || end < start || end > nowNs ? [{ name, start, end }] : [];
    });
    expect(odd).toEqual([]);
  });
});

/** The payloads of a case, and the front end for each. */
function hooksOf(each: Case): { mouth: Mouth; payload: NonNullable<Hook['payload']> }[] {
  const mouths: readonly Mouth[] = ['sh', 'node'];
  const at = cases.indexOf(each);
  if (!Array.isArray(each.payload)) {
    const { payload } = each;
    return mouths.map(mouth => ({ mouth, payload: payload(`bad-${at}-${mouth}`, mouth) }));
  }
  return each.payload.map((payload, i) => {
    const mouth = mouths[(at + i) % 2] ?? 'sh';
    return { mouth, payload: payload(`bad-${at}`, mouth) };
  });
}

const sentOf = ({ payload }: Case): number => (Array.isArray(payload) ? payload.length : 2);
const hooks = cases.reduce((sum, each) => sum + sentOf(each) + 2, 3);

function expectedReasons(): Record<string, number> {
  const reasons: Record<string, number> = {};
  for (const each of cases) {
    if (each.fate !== 'kept') reasons[each.fate] = (reasons[each.fate] ?? 0) + sentOf(each);
  }
  return sorted(reasons);
}

function quarantined(house: House): Record<string, number> {
  const reasons: Record<string, number> = {};
  for (const name of readdirSync(join(house.state, 'quarantine'))) {
    const reason = name.split('.')[0] ?? '';
    reasons[reason] = (reasons[reason] ?? 0) + 1;
  }
  return sorted(reasons);
}

const sorted = (counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
