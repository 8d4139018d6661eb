/** The answer to each request, and the files in the inbox afterwards. */
import { createPublicKey } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { newSigningKey, SIGNATURE, signDetached, signingKey } from '../../src/lib/jws.ts';
import { agentHooks, baseCoat, cloudEvent, drained, openHook, raw, type Standing, stand } from './standing.ts';

let standing: Standing | undefined;
afterEach(async () => {
  await standing?.leave();
  standing = undefined;
});

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: { accepted: number; rejected?: number; rule?: string; items?: { [field: string]: unknown }[] };
}

async function post(at: Standing, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await fetch(`${at.server.url}${path}`, {
    method: 'POST',
    headers: { ...at.welcome, ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: text.startsWith('{') ? JSON.parse(text) : { accepted: 0 },
  };
}

const jsonl = (...events: unknown[]): string => events.map(event => JSON.stringify(event)).join('\n');

interface Sent {
  name: string;
  type?: string;
  headers?: Record<string, string>;
  body: unknown;
  becomes: string[];
}

const sent: Sent[] = [
  { name: 'one event of Agent Hooks', body: agentHooks(1), becomes: ['Action.Before'] },
  {
    name: 'by its own type',
    type: 'application/vnd.agent-hooks.event+json; charset=UTF-8',
    body: agentHooks(1),
    becomes: ['Action.Before'],
  },
  { name: 'a list', body: [agentHooks(1), openHook(2)], becomes: ['Action.Before', 'Session.Start'] },
  {
    name: 'a stream by its own type',
    type: 'application/vnd.agent-hooks.stream+jsonl',
    body: jsonl(agentHooks(1), agentHooks(2)),
    becomes: ['Action.Before', 'Action.Before'],
  },
  {
    name: 'a stream of one, with a byte order mark',
    type: 'application/jsonl',
    body: `\uFEFF${jsonl(agentHooks(1))}\n`,
    becomes: ['Action.Before'],
  },
  {
    name: 'lines as plain JSON',
    body: `${jsonl(agentHooks(1), baseCoat())}\n`,
    becomes: ['Action.Before', 'Action.Before'],
  },
  { name: 'an OpenHook envelope', body: openHook(1), becomes: ['Session.Start'] },
  { name: 'a Base Coat envelope', body: baseCoat(), becomes: ['Action.Before'] },
  {
    name: 'a CloudEvent in structured mode',
    type: 'application/cloudevents+json',
    body: cloudEvent(agentHooks(1)),
    becomes: ['Action.Before'],
  },
  {
    name: 'a batch of CloudEvents',
    type: 'application/cloudevents-batch+json',
    body: [cloudEvent(agentHooks(1)), cloudEvent(openHook(2), { id: 'cloud-2' })],
    becomes: ['Action.Before', 'Session.Start'],
  },
  {
    name: 'a CloudEvent in binary mode',
    headers: { 'ce-specversion': '1.0', 'ce-id': 'a%20b', 'ce-source': '/x', 'ce-type': 't', 'ce-traceparent': '00-x' },
    body: openHook(1),
    becomes: ['Session.Start'],
  },
  {
    name: 'a CloudEvent in binary mode that names the schema of its data',
    headers: {
      'ce-specversion': '1.0',
      'ce-id': 'a',
      'ce-source': '/x',
      'ce-type': 't',
      'ce-dataschema': 'https://x.example/s',
    },
    body: agentHooks(1),
    becomes: ['Action.Before'],
  },
  {
    name: 'a CloudEvent in binary mode around a stream',
    type: 'application/vnd.agent-hooks.stream+jsonl',
    headers: { 'ce-specversion': '1.0', 'ce-id': 'c', 'ce-source': '/x', 'ce-type': 't' },
    body: jsonl(agentHooks(1), agentHooks(2)),
    becomes: ['Action.Before', 'Action.Before'],
  },
  {
    name: "a CloudEvent around an agent's own hook",
    body: cloudEvent({
      session_id: 's',
      hook_event_name: 'UserPromptSubmit',
      prompt: 'x',
      transcript_path: '/t',
      cwd: '/',
    }),
    becomes: ['Prompt.Submitted'],
  },
  {
    name: 'OpenHook of another version, with unknown fields',
    body: openHook(1, { openhook: '0.9', type: 'doc.write', novelty: true, extensions: { acme: 1 } }),
    becomes: ['vendor.openhook.doc.write'],
  },
  {
    name: 'OpenHook whose time has no zone',
    body: openHook(1, { time: '2026-03-02T09:00:00' }),
    becomes: ['Session.Start'],
  },
  { name: "Base Coat with a platform's name", body: baseCoat({ hook: 'preToolUse' }), becomes: ['Action.Before'] },
  {
    name: 'a type of a later version',
    body: agentHooks(1, { event_type: 'Future.Thing', data: {} }),
    becomes: ['vendor.agent-hooks.Future.Thing'],
  },
];

it.each(sent.map(each => [each.name, each] as const))('takes %s', async (_, { type, headers, body, becomes }) => {
  standing = await stand();
  const answer = await post(standing, '/v1/events', body, { ...headers, ...(type ? { 'content-type': type } : {}) });
  expect([answer.status, answer.json.rejected]).toEqual([200, 0]);
  expect(standing.fragments()).toHaveLength(1);
  expect(drained(standing)).toEqual({ types: becomes, bad: [] });
});

it('a request that names two servers is answered for neither', async () => {
  standing = await stand();
  const { welcome, server } = standing;
  const body = JSON.stringify(agentHooks(1));
  const head = {
    host: '127.0.0.1',
    HOST: 'evil.example',
    ...welcome,
    'content-length': body.length,
    connection: 'close',
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  const answer = await raw(server.url, `POST /v1/events HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 421 Misdirected Request');
  expect(standing.fragments()).toEqual([]);
});

describe('with the keys of senders', () => {
  const key = signingKey(newSigningKey());
  const body = JSON.stringify(agentHooks(1));
  const signed = (text: string, by = key) => ({ [SIGNATURE]: signDetached(Buffer.from(text), by) });

  it('takes a body that one of them signed, also when it is packed', async () => {
    standing = await stand({ signers: [createPublicKey(key)] });
    expect((await post(standing, '/v1/events', body, signed(body))).status).toBe(200);
    const packed = { ...signed(body), 'content-encoding': 'gzip' };
    expect((await post(standing, '/v1/events', gzipSync(body), packed)).status).toBe(200);
    expect(standing.fragments()).toHaveLength(2);
  });

  it.each<[string, Record<string, string>]>([
    ['without a signature', {}],
    ['with a signature of other bytes', signed(`${body} `)],
    ['with a signature by another key', signed(body, signingKey(newSigningKey()))],
    ['with a signature in another form', { [SIGNATURE]: 'a..b' }],
  ])('refuses a body %s, and records nothing of it', async (_, headers) => {
    standing = await stand({ signers: [createPublicKey(key)] });
    for (const path of ['/v1/events', '/hooks/claude-code'])
      expect(await post(standing, path, body, headers)).toMatchObject({ status: 401, json: { rule: 'signature' } });
    expect(standing.fragments()).toEqual([]);
  });
});

it('an empty batch of CloudEvents is valid, and records no event', async () => {
  standing = await stand();
  const answer = await post(standing, '/v1/events', [], { 'content-type': 'application/cloudevents-batch+json' });
  expect([answer.status, answer.text]).toEqual([200, '{"accepted":0,"rejected":0}']);
  expect(standing.fragments()).toEqual([]);
});

it('keeps the bytes of a valid body as they came', async () => {
  standing = await stand();
  const body = ` ${JSON.stringify(agentHooks(1, { metadata: { 'dev.example': { n: '1e400' } } }), null, 2)}\n\n`;
  expect((await post(standing, '/v1/events', body)).status).toBe(200);
  expect(standing.fragments()[0]?.payload.toString()).toBe(body);
});

it('passes the headers of a CloudEvent in binary mode to the drain', async () => {
  standing = await stand();
  const headers = {
    'ce-specversion': '1.0',
    'ce-id': 'a%20b',
    'ce-source': '/x',
    'ce-type': 't',
    'ce-time': '2026-03-02T09:00:00Z',
  };
  const hook = { session_id: 's', hook_event_name: 'Stop', transcript_path: '/t', cwd: '/', stop_hook_active: false };
  expect((await post(standing, '/v1/events', hook, headers)).status).toBe(200);
  expect(JSON.parse(standing.fragments()[0]?.payload.toString() ?? '')).toEqual({
    specversion: '1.0',
    id: 'a b',
    source: '/x',
    type: 't',
    time: '2026-03-02T09:00:00Z',
    data: hook,
  });
});

describe('answers with rule and place', () => {
  const broken: [name: string, body: unknown, expected: object, type?: string][] = [
    ['nothing', '', { rule: 'body/empty' }],
    ['an empty list', [], { rule: 'body/empty' }],
    ['no JSON', '{\n "a": 1,,', { rule: 'json/syntax', line: 2, column: 9 }],
    ['half of it', JSON.stringify(agentHooks(1)).slice(0, -3), { rule: 'json/syntax', line: 1 }],
    ['bytes that are no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), { rule: 'json/utf-8' }],
    ['a number', '7', { rule: 'event/object', line: 1, column: 1 }],
    ['an object that is no event', '{"a": 1}', { rule: 'event/unknown' }],
    ["an agent's own hook", { session_id: 's', hook_event_name: 'Stop', cwd: '/' }, { rule: 'event/unknown' }],
    ['two events in a place for one', [agentHooks(1)], { rule: 'body/one' }, 'application/vnd.agent-hooks.event+json'],
    [
      'one in a place for a list',
      cloudEvent(agentHooks(1)),
      { rule: 'body/list' },
      'application/cloudevents-batch+json',
    ],
    [
      'an event with a word too much',
      agentHooks(1, { agent_mode: 'turbo' }),
      { rule: 'envelope/enum', field: '/agent_mode' },
    ],
    ['an empty session', openHook(1, { session_id: '' }), { rule: 'envelope/empty', field: '/session_id' }],
    ['a session with a line break', openHook(1, { session_id: 'a\nb' }), { rule: 'event/session' }],
    ['a session of 10 KB', openHook(1, { session_id: 'x'.repeat(10_240) }), { rule: 'event/session' }],
    ['OpenHook without a type', openHook(1, { type: undefined }), { rule: 'envelope/required', field: '/type' }],
    [
      'OpenHook of an invalid version',
      JSON.stringify(openHook(1, { openhook: 'first' }), null, 1),
      { rule: 'envelope/version', line: 2, column: 14, field: '/openhook' },
    ],
    [
      'a written file without its path',
      openHook(1, { type: 'file.write' }),
      { rule: 'data/required', field: '/data/path' },
    ],
    ['Base Coat without a hook that says something', baseCoat({ hook: '' }), { rule: 'event/type', field: '/hook' }],
    ['Base Coat without a session', baseCoat({ sessionId: '' }), { rule: 'event/type', field: '/sessionId' }],
    [
      'Agent Hooks without a session',
      agentHooks(1, { session_id: undefined }),
      { rule: 'envelope/required', field: '/session_id' },
    ],
    [
      'Agent Hooks of half a version',
      agentHooks(1, { spec_version: '0.1' }),
      { rule: 'envelope/spec-version', field: '/spec_version' },
    ],
    [
      'Agent Hooks without a type',
      agentHooks(1, { event_type: undefined }),
      { rule: 'envelope/required', field: '/event_type' },
    ],
    [
      'what its type says is Agent Hooks',
      { a: 1 },
      { rule: 'envelope/required', field: '/spec_version' },
      'application/vnd.agent-hooks.event+json',
    ],
    [
      'a CloudEvent without an id',
      cloudEvent(agentHooks(1), { id: undefined }),
      { rule: 'cloudevents/required', field: '/id' },
    ],
    [
      'a CloudEvent of an older version',
      cloudEvent(agentHooks(1), { specversion: '0.3' }),
      { rule: 'cloudevents/required', field: '/specversion' },
    ],
    ['OpenHook without an id', openHook(1, { id: undefined }), { rule: 'envelope/required', field: '/id' }],
    [
      'OpenHook of an invalid source',
      openHook(1, { source: 'My Agent' }),
      { rule: 'envelope/source', field: '/source' },
    ],
    [
      'OpenHook of an invalid type',
      openHook(1, { type: 'session.over' }),
      { rule: 'envelope/event-type', field: '/type' },
    ],
    ['OpenHook of no time', openHook(1, { time: 'noon' }), { rule: 'envelope/time', field: '/time' }],
    [
      'OpenHook with data of another kind',
      openHook(1, { type: 'session.end', data: { duration_ms: -1 } }),
      { rule: 'data/range', field: '/data/duration_ms' },
    ],
    ['Base Coat of no hook point', baseCoat({ hook: 'Whenever' }), { rule: 'event/hook', field: '/hook' }],
    ['Base Coat of a tool without a name', baseCoat({ tool: {} }), { rule: 'event/required', field: '/tool/name' }],
    [
      'a CloudEvent around Agent Hooks without a session',
      cloudEvent(agentHooks(1, { session_id: undefined })),
      { rule: 'envelope/required', line: 1, column: 1, field: '/session_id' },
    ],
    ['a CloudEvent around a CloudEvent', cloudEvent(cloudEvent(agentHooks(1))), { rule: 'event/unknown' }],
    ['a thousand and one', Array.from({ length: 1_001 }, (_, i) => agentHooks(i)), { rule: 'limit/events' }],
    [
      'nested too deeply',
      `{"openhook":"0.1","type":"session.start","session_id":"s","data":${'['.repeat(600)}${']'.repeat(600)}}`,
      { rule: 'limit/depth' },
    ],
    ['a million levels', `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`, { rule: 'limit/depth' }],
    ['a million levels in an envelope', cloudEvent('['.repeat(1_000_000)), { rule: 'limit/depth' }],
  ];

  it.each(broken)('%s', async (_, body, expected, type) => {
    standing = await stand();
    const answer = await post(standing, '/v1/events', body, type === undefined ? {} : { 'content-type': type });
    expect(answer.status).toBe(400);
    expect(answer.json.accepted).toBe(0);
    expect(answer.json.items).toMatchObject([{ status: 'rejected', ...expected }]);
    expect(readdirSync(join(standing.state, 'inbox'))).toEqual([]);
  });

  it('an invalid attribute of a CloudEvent', async () => {
    standing = await stand();
    const answer = await post(standing, '/v1/events', agentHooks(1), { 'ce-specversion': '1.0', 'ce-id': '%zz' });
    expect([answer.status, answer.json.items?.[0]?.rule]).toEqual([400, 'cloudevents/attribute']);
  });
});

it('keeps the valid events of a batch, and names the faults of the others with their place', async () => {
  standing = await stand();
  const body = `[\n ${JSON.stringify(agentHooks(1))},\n {"spec_version": 7},\n ${JSON.stringify(openHook(2))}\n]`;
  const answer = await post(standing, '/v1/events', body);
  expect(answer.status).toBe(207);
  expect(answer.json).toMatchObject({
    accepted: 2,
    rejected: 1,
    items: [
      { status: 'accepted' },
      { status: 'rejected', rule: 'envelope/required', line: 3, column: 2, field: '/event_id' },
      { status: 'accepted' },
    ],
  });
  expect(drained(standing)).toEqual({ types: ['Action.Before', 'Session.Start'], bad: [] });
});

it('keeps the valid events of a stream, and names the lines of the others', async () => {
  standing = await stand();
  const body = `${jsonl(agentHooks(1))}\n\n{"half\n${jsonl(agentHooks(2, { risk: { score: 101 } }))}\n`;
  const answer = await post(standing, '/v1/events', body, { 'content-type': 'application/x-ndjson' });
  expect(answer.status).toBe(207);
  expect(answer.json.items).toMatchObject([
    { status: 'accepted' },
    { rule: 'json/syntax', line: 3 },
    { rule: 'envelope/range', line: 4, field: '/risk/score' },
  ]);
  expect(drained(standing)).toEqual({ types: ['Action.Before'], bad: [] });
});

describe("an agent's own hooks", () => {
  it.each(agents.map(agent => [agent.id, agent] as const))('%s gets its neutral answer', async (id, agent) => {
    standing = await stand();
    const session = [
      'session_id',
      'sessionId',
      'conversation_id',
      'taskId',
      'trajectory_id',
      'thread-id',
      'conversationId',
    ];
    const payload = { ...Object.fromEntries(session.map(key => [key, 's'])), hook_event_name: 'X' };
    const answer = await post(standing, `/hooks/${id}?event=X`, payload);
    expect([answer.status, answer.text]).toEqual([200, agent.reply.stdout]);
    expect(standing.fragments().map(({ header }) => [header.tool, header.event])).toEqual([[id, 'X']]);
    expect(drained(standing).bad).toEqual([]);
  });

  it('are refused if no reader could read them', async () => {
    standing = await stand();
    const [agent] = agents;
    const answers = [
      await post(standing, `/hooks/${agent?.id}`, '{"hook_event_name": "Stop"}'),
      await post(standing, `/hooks/${agent?.id}`, '{'),
      await post(standing, `/hooks/${agent?.id}`, [agentHooks(1)]),
      await post(standing, `/hooks/${agent?.id}?event=../../x%00`, { session_id: 's' }),
      await post(standing, `/hooks/${agent?.id}`, { session_id: 's' }),
      await post(standing, '/hooks/nobody', { session_id: 's' }),
      await post(standing, '/hooks/', { session_id: 's' }),
      await post(standing, '/hooks/__proto__', { session_id: 's' }),
    ];
    expect(answers.map(({ status, json }) => [status, json.items?.[0]?.rule ?? json.rule])).toEqual([
      [400, 'event/session'],
      [400, 'json/syntax'],
      [400, 'body/one'],
      [400, 'event/name'],
      [400, 'event/name'],
      [404, 'path'],
      [404, 'path'],
      [404, 'path'],
    ]);
    expect(standing.fragments()).toEqual([]);
  });
});

it('its fragments carry the variables of its own environment, and no others', async () => {
  standing = await stand({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', SECRET: 'x' } });
  await post(standing, '/v1/events', agentHooks(1), { 'otel-exporter-otlp-endpoint': 'http://evil.example' });
  expect(standing.fragments()[0]?.header).toMatchObject({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  expect(Object.keys(standing.fragments()[0]?.header ?? {}).sort()).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT', 'at']);
});

it('fragments keep the order of arrival at any speed', async () => {
  standing = await stand();
  for (let n = 0; n < 50; n += 1) await post(standing, '/v1/events', agentHooks(n));
  const ids = standing.fragments().map(({ payload }) => JSON.parse(payload.toString()).event_id);
  expect(ids).toEqual(Array.from({ length: 50 }, (_, n) => agentHooks(n).event_id));
});

it('makes the inbox again after the state folder was emptied', async () => {
  standing = await stand();
  rmSync(standing.state, { recursive: true });
  expect((await post(standing, '/v1/events', agentHooks(1))).status).toBe(200);
  expect(standing.fragments()).toHaveLength(1);
});

it('with fsync on nothing else changes', async () => {
  const at = await stand({ fsync: true });
  standing = at;
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => post(at, '/v1/events', agentHooks(n))));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(drained(at)).toMatchObject({ bad: [] });
  expect(drained(at).types).toHaveLength(20);
});

it('asks a client that sends too much to wait, and accepts it again afterwards', async () => {
  standing = await stand({ requestsPerSecond: 5 });
  const answers: Answer[] = [];
  for (let n = 0; n < 12; n += 1) answers.push(await post(standing, '/v1/events', agentHooks(n)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.every(({ headers }) => Number(headers.get('retry-after')) >= 1)).toBe(true);
  expect(standing.fragments()).toHaveLength(answers.length - refused.length);
});

it('while it stops it refuses new senders, and answers requests in progress', async () => {
  const at = await stand();
  standing = at;
  const body = JSON.stringify(agentHooks(1));
  const slow = request(`${at.server.url}/v1/events`, {
    method: 'POST',
    headers: { ...at.welcome, 'content-length': String(body.length), expect: '100-continue' },
  });
  slow.flushHeaders();
  await new Promise(resolve => slow.once('continue', resolve));
  slow.write(body.slice(0, 10));
  const gone = at.server.drain(10_000);
  const other = await post(at, '/v1/events', agentHooks(2));
  expect([other.status, other.headers.get('retry-after'), other.headers.get('connection')]).toEqual([
    503,
    '2',
    'close',
  ]);
  expect((await fetch(`${at.server.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${at.server.url}/healthz`)).status).toBe(200);
  const answered = new Promise<number>(resolve =>
    slow.once('response', response => resolve(response.resume().statusCode ?? 0)),
  );
  slow.end(body.slice(10));
  expect(await answered).toBe(200);
  await gone;
  expect(at.fragments()).toHaveLength(1);
});

it('reports that it cannot write, and leaves no partial file', async () => {
  standing = await stand();
  const { state } = standing;
  rmSync(join(state, 'inbox'), { recursive: true });
  // A place in which no user can make a folder.
  const answer = await withFileInPlace(join(state, 'inbox'), () =>
    post(standing as Standing, '/v1/events', agentHooks(1)),
  );
  expect([answer.status, answer.json.rule]).toEqual([503, 'disk']);
  expect(answer.headers.get('retry-after')).toBe('5');
  expect(existsSync(join(state, 'inbox'))).toBe(false);
});

async function withFileInPlace<T>(path: string, run: () => Promise<T>): Promise<T> {
  const { writeFileSync } = await import('node:fs');
  writeFileSync(path, '');
  try {
    return await run();
  } finally {
    rmSync(path);
  }
}

it('has metrics in the format of Prometheus, without texts of senders', async () => {
  standing = await stand();
  await post(standing, '/v1/events', [agentHooks(1), { secret: 'canary' }]);
  await post(standing, '/hooks/canary?event=canary', {});
  const { welcome, server } = standing;
  const text = await (await fetch(`${server.url}/metrics`, { headers: welcome })).text();
  expect(text).toContain('otel_hooks_serve_requests_total{route="events",code="207"} 1\n');
  expect(text).toContain('otel_hooks_serve_events_total{outcome="rejected"} 1\n');
  expect(text).not.toContain('canary');
  for (const line of text.trimEnd().split('\n'))
    expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+)$/);
});
