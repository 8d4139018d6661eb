/**
 * The HTTP server under attack and under kills: a request without access has no effect, slow or numerous clients do not
 * block other clients, and every event that was answered with 200 arrives.
 */

import { spawn } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { rotateToken } from '../../src/serve/token.ts';
import { agentHooks, baseCoat, cloudEvent, drained, openHook, raw, type Standing, stand } from '../serve/standing.ts';
import { status, until } from '../wire/house.ts';
import { startDeliver } from './drive.ts';
import { type Random, randomOf } from './load.ts';
import { notRun, row } from './report.ts';
import { type Serving, serving, watchServer } from './served.ts';
import { bySize, seed } from './size.ts';
import { byHand, makeOld, receivedBy, stage } from './stage.ts';

const TIMEOUT_MS = bySize({ quick: 60_000, ci: 300_000, full: 1_200_000 });

interface Asked {
  method?: string;
  path?: string;
  headers: OutgoingHttpHeaders;
  body?: string | Uint8Array;
  agent?: Agent;
}

/** The status of the answer; 0 if the connection was cut. */
function ask(url: string, { method = 'POST', path = '/v1/events', headers, body = '', agent }: Asked): Promise<number> {
  return new Promise(resolve => {
    const asked = request(`${url}${path}`, { method, headers, agent, setHost: headers.host === undefined }, answer => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      answer.on('error', () => resolve(answer.statusCode ?? 0));
    });
    asked.on('error', () => resolve(0));
    asked.end(body);
  });
}

it(`S4 hosts, origins, methods, types and tokens (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  const at = await stand();
  try {
    const { server, welcome } = at;
    const token = String(welcome.authorization).slice('Bearer '.length);
    const { port } = new URL(server.url);
    const tokens: [shown: string | undefined, isRight: boolean][] = [
      [`Bearer ${token}`, true],
      [`bearer ${token}`, true],
      [undefined, false],
      ['', false],
      ['Bearer', false],
      [`Bearer  ${token}`, false],
      [`Bearer ${token.slice(0, -1)}`, false],
      [`Bearer ${token}x`, false],
      [`Bearer ${token.startsWith('x') ? 'y' : 'x'}${token.slice(1)}`, false],
      [`Bearer ${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`, false],
      [`Bearer ${token.toUpperCase()}`, token === token.toUpperCase()],
      [`Bearer ${'é'.repeat(token.length)}`, false],
      [`Bearer ${'x'.repeat(8_000)}`, false],
      [`Basic ${Buffer.from(`x:${token}`).toString('base64')}`, false],
      [token, false],
    ];
    const hosts: [host: string, isRight: boolean][] = [
      [`127.0.0.1:${port}`, true],
      ['localhost', true],
      [`[::1]:${port}`, true],
      [`evil.example:${port}`, false],
      ['127.0.0.1.evil.example', false],
      ['localhost.evil.example', false],
      ['10.0.0.1', false],
      ['0.0.0.0', false],
      ['', false],
      ['127.0.0.1:x', false],
      ['evil.example@127.0.0.1', false],
    ];
    const browsers: [headers: OutgoingHttpHeaders, isRight: boolean][] = [
      [{}, true],
      [{ 'sec-fetch-site': 'none' }, true],
      [{ origin: 'https://evil.example' }, false],
      [{ origin: 'null' }, false],
      [{ origin: server.url }, false],
      [{ 'sec-fetch-site': 'cross-site' }, false],
      [{ 'sec-fetch-site': 'same-site' }, false],
      [{ 'sec-fetch-site': 'same-origin' }, false],
    ];
    const methods: [method: string, isRight: boolean][] = [
      ['POST', true],
      ...['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'].map((method): [string, boolean] => [
        method,
        false,
      ]),
    ];
    const types: [type: string | undefined, isRight: boolean][] = [
      ['application/json', true],
      ['Application/JSON; charset=UTF-8', true],
      [undefined, false],
      ['text/plain', false],
      ['application/x-www-form-urlencoded', false],
      ['multipart/form-data; boundary=x', false],
      ['application/json; charset=utf-16', false],
      ['application/jsonx', false],
      ['text/plain, application/json', false],
    ];
    // A good request with one fault, or with two faults.
    const lists = [tokens, hosts, browsers, methods, types] as readonly (readonly [unknown, boolean][])[];
    const choices = new Set<string>();
    for (const [i, list] of lists.entries())
      for (const [n] of list.entries())
        for (const [j, other] of lists.entries())
          for (const m of j === i ? [0] : other.keys())
            choices.add(lists.map((_, k) => (k === i ? n : k === j ? m : 0)).join());
    let letIn = 0;
    let sent = 0;
    const wrong: string[] = [];
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    await Promise.all(
      [...choices].map(async choice => {
        const [t = 0, h = 0, b = 0, m = 0, c = 0] = choice.split(',').map(Number);
        const [shown, host, browser, method, type] = [tokens[t], hosts[h], browsers[b], methods[m], types[c]];
        const isRight = [shown, host, browser, method, type].every(each => each?.[1]);
        const answer = await ask(server.url, {
          method: method?.[0] ?? '',
          headers: {
            host: host?.[0],
            ...(shown?.[0] === undefined ? {} : { authorization: Buffer.from(shown[0]).toString('latin1') }),
            ...(type?.[0] === undefined ? {} : { 'content-type': type[0] }),
            ...browser?.[0],
          },
          body: ['GET', 'HEAD', 'TRACE'].includes(method?.[0] ?? '') ? '' : JSON.stringify(agentHooks(++sent)),
          agent,
        });
        if (isRight) letIn += 1;
        if ((answer === 200) !== isRight) wrong.push(`${choice}: ${answer}`);
      }),
    );
    agent.destroy();
    // A page learns nothing from the endpoints that need no token. Probes reach them under any host.
    for (const path of ['/healthz', '/readyz']) {
      expect(await ask(server.url, { method: 'GET', path, headers: {} })).toBe(200);
      expect(await ask(server.url, { method: 'GET', path, headers: { origin: 'https://evil.example' } })).toBe(403);
      expect(await ask(server.url, { method: 'GET', path, headers: { host: 'pod.internal' } })).toBe(200);
    }
    expect(await ask(server.url, { method: 'GET', path: '/metrics', headers: {} })).toBe(401);
    const kept = drained(at);
    row('S4', 'every wrong host, origin, method, type and token, and each pair of them', {
      faults: choices.size - letIn,
      obligations: letIn,
      delivered: kept.types.length,
      note: `${wrong.length} were judged wrongly`,
    });
    expect(wrong).toEqual([]);
    expect([kept.types.length, kept.bad]).toEqual([letIn, []]);

    // A token that was replaced, removed or made readable to others is not accepted.
    const good: Asked = { headers: welcome, body: JSON.stringify(agentHooks(1)) };
    expect(await ask(server.url, good)).toBe(200);
    rotateToken(at.tokenFile);
    at.token.refresh();
    expect(await ask(server.url, good)).toBe(401);
    const fresh = readFileSync(at.tokenFile, 'utf8').trim();
    expect(fresh).not.toBe(token);
    const now: Asked = { ...good, headers: { ...welcome, authorization: `Bearer ${fresh}` } };
    expect(await ask(server.url, now)).toBe(200);
    chmodSync(at.tokenFile, 0o644);
    at.token.refresh();
    expect([await ask(server.url, now), at.token.problem()?.code]).toEqual([401, 'token-unsafe']);
    rmSync(at.tokenFile);
    writeFileSync(join(at.folder, 'elsewhere'), `${fresh}\n`, { mode: 0o600 });
    symlinkSync(join(at.folder, 'elsewhere'), at.tokenFile);
    at.token.refresh();
    expect([await ask(server.url, now), at.token.problem()?.code]).toEqual([401, 'token-unsafe']);
  } finally {
    await at.leave();
  }
});

it(`S4 another user of the machine (seed ${seed})`, { timeout: TIMEOUT_MS }, async context => {
  const fault = 'another user of the machine';
  if (process.geteuid?.() !== 0) notRun(context, 'S4', fault, 'only root can act as another user');
  const at = await stand();
  try {
    // Other users can reach the folder: only the modes of our own files keep them out.
    for (const open of [at.folder, join(at.folder, 'config')]) chmodSync(open, 0o755);
    expect(await ask(at.server.url, { headers: at.welcome, body: JSON.stringify(agentHooks(1)) })).toBe(200);
    const files = [at.tokenFile, join(at.state, 'inbox')];
    const tried = await asNobody(stranger, [at.server.url, ...files]);
    expect(tried).toEqual({ token: 'EACCES', inbox: 'EACCES', planted: 'EACCES', posted: [401, 401, 401] });
    expect(at.fragments()).toHaveLength(1);
    row('S4', fault, {
      faults: 6,
      note: 'it can read neither token nor inbox, cannot write there, and gets no access without the token',
    });
  } finally {
    await at.leave();
  }
});

/** Attacks of a user with a shell on the same machine. */
const stranger = `
  const { readFileSync, readdirSync, writeFileSync } = require('node:fs');
  const [url, token, inbox] = process.argv.slice(1);
  const tried = act => { try { return act(), 'done'; } catch (error) { return error.code; } };
  const post = headers => fetch(url + '/v1/events', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json', ...headers } });
  (async () => {
    const shown = [{}, { authorization: 'Bearer ' }, { authorization: 'Bearer ' + 'x'.repeat(43) }];
    console.log(JSON.stringify({
      token: tried(() => readFileSync(token)),
      inbox: tried(() => readdirSync(inbox)),
      planted: tried(() => writeFileSync(inbox + '/planted', '{}')),
      posted: (await Promise.all(shown.map(post))).map(answer => answer.status),
    }));
  })();`;

function asNobody(program: string, words: readonly string[]): Promise<unknown> {
  const child = spawn(process.execPath, ['-e', program, ...words], { uid: 65_534, gid: 65_534, cwd: '/', env: {} });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', part => {
      output += String(part);
    });
  return new Promise(resolve => child.on('close', () => resolve(output.startsWith('{') ? JSON.parse(output) : output)));
}

const crowd = bySize({
  quick: { slow: 40, idle: 300, other: 5, slowestMs: 1_000 },
  ci: { slow: 200, idle: 600, other: 20, slowestMs: undefined },
  full: { slow: 500, idle: 1_000, other: 50, slowestMs: undefined },
});

it(`S5 ${crowd.slow} slow and ${crowd.idle} idle connections, and worse (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const at = await stand(crowd.slowestMs === undefined ? {} : { slowestMs: crowd.slowestMs });
  const sockets: Socket[] = [];
  const ends: Promise<number>[] = [];
  try {
    const { server, welcome } = at;
    const { hostname, port } = new URL(server.url);
    const good: Asked = { headers: welcome, body: JSON.stringify(agentHooks(1)) };
    const latencies = async (count: number): Promise<number[]> => {
      const found: number[] = [];
      for (let n = 0; n < count; n += 1) {
        const beginMs = performance.now();
        // A new connection each time, which needs a place among all the others.
        expect(await ask(server.url, good)).toBe(200);
        found.push(performance.now() - beginMs);
      }
      return found.sort((a, b) => a - b);
    };
    const p99 = (values: readonly number[]): number => values[Math.floor(values.length * 0.99)] ?? 0;
    const quietMs = p99(await latencies(50));
    const rssMb = process.memoryUsage.rss() / 2 ** 20;

    /**
     * Opens a connection and notes how long it stayed open. A connection for which the system has no place in its queue
     * gets no answer.
     */
    const attack = async (begin: (socket: Socket) => void): Promise<void> => {
      const startMs = performance.now();
      const socket = connect(Number(port), hostname, () => begin(socket));
      sockets.push(socket);
      socket.on('error', () => undefined).resume();
      const end = new Promise<number>(resolve => socket.once('close', () => resolve(performance.now() - startMs)));
      ends.push(end);
      if (sockets.length % 100 === 0)
        await Promise.race([new Promise(resolve => socket.once('connect', resolve)), end]);
    };
    const again = (socket: Socket, everyMs: number, bytes: () => string | Uint8Array): void => {
      const timer = setInterval(() => socket.writable && socket.write(bytes()), everyMs);
      socket.once('close', () => clearInterval(timer));
    };
    const head = `POST /v1/events HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${welcome.authorization}\r\nContent-Type: application/json\r\n`;
    for (let n = 0; n < crowd.slow; n += 1)
      await attack(socket => {
        socket.write('POST /v1/events HTTP/1.1\r\n');
        again(socket, 300, () => `X-${n}: y\r\n`);
      });
    for (let n = 0; n < crowd.idle; n += 1) await attack(() => undefined);
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 0x20), Buffer.from('\r\n')]);
    for (let n = 0; n < crowd.other; n += 1) {
      // A head without end, a head with two different lengths, a body without end, a body of 100 MB, and a body that
      // arrives slowly.
      await attack(socket => again(socket, 1, () => `X-${'y'.repeat(4_000)}: z\r\n`));
      await attack(socket => socket.write(`${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`));
      await attack(socket => {
        socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
        again(socket, 5, () => chunk);
      });
      await attack(socket => socket.write(`${head}Content-Length: 104857600\r\n\r\n${' '.repeat(1_000)}`));
      await attack(socket => {
        socket.write(`${head}Content-Length: 1000\r\n\r\n`);
        again(socket, 200, () => ' ');
      });
    }
    const busyMs = p99(await latencies(100));
    const stayedMs = await Promise.all(ends);
    const grownMb = process.memoryUsage.rss() / 2 ** 20 - rssMb;
    row('S5', 'slow, idle and endless connections, floods of headers, two lengths, 100 MB', {
      faults: stayedMs.length,
      obligations: 150,
      delivered: at.fragments().length,
      rssMb: grownMb,
      note: `others' p99 ${busyMs.toFixed(1)} ms, ${quietMs.toFixed(1)} ms before; the last was sent away after ${(Math.max(...stayedMs) / 1000).toFixed(1)} s; RSS is what it grew by, both sides`,
    });
    expect(at.fragments()).toHaveLength(150);
    expect(stayedMs).toHaveLength(sockets.length);
    expect(grownMb).toBeLessThan(400);
  } finally {
    for (const socket of sockets) socket.destroy();
    await at.leave();
  }
});

const fuzzed = bySize({ quick: 200, ci: 10_000, full: 30_000 });

it(`S4 ${fuzzed} requests at random, by HTTP and by bare connections (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const random = randomOf(seed);
  const at = await stand({ slowestMs: 2_000 });
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  try {
    const statuses = new Map<number, number>();
    const count = (answered: number): void => void statuses.set(answered, (statuses.get(answered) ?? 0) + 1);
    let left = fuzzed;
    const lane = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const made = madeUp(at, random);
        if (random() < 0.7) count(await ask(at.server.url, { ...made, agent }));
        else
          for (const [, code] of (await raw(at.server.url, asBytes(made, random))).matchAll(/HTTP\/1\.1 (\d{3})/g))
            count(Number(code));
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
    const kept = drained(at);
    const names = readdirSync(at.state).concat(readdirSync(at.folder)).sort();
    row('S4', 'requests at random, by HTTP and by bare connections', {
      faults: fuzzed,
      obligations: at.fragments().length,
      delivered: kept.types.length,
      note: [...statuses]
        .sort(([a], [b]) => a - b)
        .map(([code, times]) => `${times}x ${code || 'cut off'}`)
        .join(', '),
    });
    expect(await ask(at.server.url, { headers: at.welcome, body: JSON.stringify(agentHooks(1)) })).toBe(200);
    expect(kept.bad).toEqual([]);
    expect(kept.types.length).toBeGreaterThan(0);
    const known = [0, 100, 200, 207, 400, 401, 403, 404, 405, 408, 413, 415, 417, 421, 431];
    expect([...statuses.keys()].filter(code => !known.includes(code))).toEqual([]);
    // All files are in the inbox.
    expect(names).toEqual(['config', 'inbox', 'state']);
  } finally {
    agent.destroy();
    await at.leave();
  }
});

function pick<T>(random: Random, values: readonly T[]): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error('nothing to pick from');
  return value;
}

const oddities = [
  '',
  '../../x',
  '/etc/passwd',
  'a\0b',
  '\u202e',
  '__proto__',
  'x'.repeat(5_000),
  '%00',
  '\r\nX-Y: z',
  '1e999',
  '😀',
  '\ud800',
];

/** A valid request with a few faults. */
function madeUp({ welcome }: Standing, random: Random): Asked {
  const event = pick(random, [
    agentHooks(Math.floor(random() * 1e6)),
    openHook(1),
    baseCoat(),
    cloudEvent(openHook(2)),
  ]);
  const spoilt = structuredClone(event) as Record<string, unknown>;
  while (random() < 0.3)
    spoilt[pick(random, [...Object.keys(event), ...oddities])] = pick(random, [...oddities, 7, null, [], {}, true]);
  let body: string | Uint8Array = JSON.stringify(pick(random, [event, spoilt, [event, spoilt], spoilt, [[event]], 7]));
  if (random() < 0.1) body = `${body}\n${JSON.stringify(event)}\n`;
  if (random() < 0.1) body = body.slice(0, Math.floor(random() * body.length));
  if (random() < 0.1) body = `${pick(random, ['[', '{"a":', '"\\'])}`.repeat(Math.floor(random() * 2_000)) + body;
  if (random() < 0.15) {
    const bytes = Buffer.from(body);
    for (let n = 0; n < 3; n += 1)
      if (bytes.length > 0) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    body = bytes;
  }
  const headers: OutgoingHttpHeaders = { ...welcome };
  if (random() < 0.2)
    headers['content-type'] = pick(random, [
      'application/x-ndjson',
      'application/cloudevents+json',
      'application/cloudevents-batch+json',
      'text/plain',
      'application/vnd.agent-hooks.event+json',
      ';;;',
    ]);
  if (random() < 0.15)
    Object.assign(headers, {
      'ce-specversion': '1.0',
      'ce-id': pick(random, ['1', '%zz', '%0a', '../x']),
      'ce-source': '/x',
      'ce-type': 't',
      'ce-dataref': 'x',
    });
  if (random() < 0.05) headers.authorization = pick(random, ['', 'Bearer x', 'x'.repeat(9_000)]);
  if (random() < 0.05) headers.host = pick(random, ['evil.example', 'localhost', '[::', '127.0.0.1:99999999']);
  if (random() < 0.05) headers.origin = 'null';
  if (random() < 0.05) headers.expect = pick(random, ['100-continue', 'x']);
  if (random() < 0.05) headers['content-encoding'] = pick(random, ['gzip', 'identity', 'br']);
  const path = pick(random, [
    '/v1/events',
    '/v1/events',
    '/v1/events?x=%',
    '/hooks/claude-code',
    '/hooks/cursor?event=stop',
    '/hooks/%2e%2e',
    '/hooks/../v1/events',
    '//v1/events',
    '/metrics',
    '/healthz',
    `/${'x'.repeat(3_000)}`,
  ]);
  const isHook = path.startsWith('/hooks/c') && random() < 0.7;
  if (isHook)
    body = JSON.stringify({
      session_id: pick(random, ['s', ...oddities]),
      conversation_id: 's',
      hook_event_name: pick(random, ['Stop', 'stop', ...oddities]),
    });
  const method = random() < 0.9 ? 'POST' : pick(random, ['GET', 'HEAD', 'PUT', 'OPTIONS', 'DELETE']);
  return { method, path, headers, body: method === 'POST' || method === 'PUT' ? body : '' };
}

/** Bytes that no HTTP client would send. Each request ends, or the server closes its connection. */
function asBytes({ method, path, headers, body = '' }: Asked, random: Random): Uint8Array {
  const length = Buffer.byteLength(body);
  const host = headers.host ?? '127.0.0.1';
  const lines = Object.entries({ ...headers, host }).map(([name, value]) => `${name}: ${value}`);
  const framing = pick(random, [
    [`Content-Length: ${length}`],
    [`Content-Length: ${length}`],
    [`Content-Length: ${length + 5}`],
    [`Content-Length: ${length}`, `Content-Length: ${length + 1}`],
    ['Content-Length: -1'],
    ['Content-Length: 1e3'],
    ['Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked', `Content-Length: ${length}`],
    ['Transfer-Encoding: xchunked'],
  ]);
  const start = `${method} ${path} HTTP/${pick(random, ['1.1', '1.1', '1.1', '1.0', '2.0', '9'])}`;
  const end = pick(random, ['\r\n', '\r\n', '\r\n', '\n', '\r']);
  const head = [start, ...lines, ...framing, 'Connection: close', '', ''].join(end);
  const isChunked = framing.some(line => line.endsWith('chunked'));
  const size = length.toString(16);
  const sent = isChunked
    ? Buffer.concat([Buffer.from(`${size}\r\n`), Buffer.from(body), Buffer.from('\r\n0\r\n\r\n')])
    : Buffer.from(body);
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), sent]);
  for (let n = 0; random() < 0.2 && n < 4; n += 1)
    bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
  // Two requests at once: the answer to the second one must not come in the place of the first one.
  return random() < 0.1 ? Buffer.concat([bytes, bytes]) : bytes;
}

const kills = bySize({ quick: 1, ci: 25, full: 200 });
const perKill = bySize({ quick: 40, ci: 60, full: 50 });

it(`R3 serve is killed ${kills} times (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  const random = randomOf(seed);
  const at = await stage();
  const { house, collector } = at;
  let server: Serving | undefined;
  try {
    const owed = new Set<string>();
    let killed = 0;
    let next = 0;
    for (; killed < kills; killed += 1) {
      const now = await serving(house);
      server = now;
      const until = next + perKill;
      // The kill comes in the middle of these requests, or during their delivery.
      const deadline = next + Math.floor(random() * perKill);
      let isKilled = false;
      const lane = async (): Promise<void> => {
        while (next < until && !isKilled) {
          const n = next;
          next += 1;
          const event = agentHooks(n, {
            session_id: `killed-${n % 5}`,
            event_type: 'Agent.Notification',
            data: { message: 'x' },
          });
          const answer = await ask(now.url, { headers: now.welcome, body: JSON.stringify(event) });
          if (answer === 200) owed.add(String(event.event_id));
          if (n === deadline) {
            await new Promise(resolve => setTimeout(resolve, random() * 100));
            isKilled = true;
            await now.kill();
          }
        }
      };
      await Promise.all(Array.from({ length: 8 }, lane));
    }
    server = await serving(house);
    const fresh = agentHooks(next, { session_id: 'fresh', event_type: 'Agent.Notification', data: {} });
    expect(await ask(server.url, { headers: server.welcome, body: JSON.stringify(fresh) })).toBe(200);
    owed.add(String(fresh.event_id));
    expect(await server.stop()).toBe(0);
    // A fragment that a kill tore was never confirmed, and it is old enough to count as torn.
    for (const name of readdirSync(join(house.state, 'inbox'))) makeOld(join(house.state, 'inbox'), name);
    expect((await byHand(house, '60s')).status).toBe(0);
    const received = receivedBy(collector);
    const lost = [...owed].filter(id => !received.records.has(id));
    row('R3', 'serve killed, with its delivery', {
      faults: killed,
      obligations: owed.size,
      delivered: owed.size - lost.length,
      duplicated: received.repeatedItems,
      lost: lost.length,
    });
    expect(lost).toEqual([]);
    expect(received.changed).toEqual([]);
    expect(received.repeatedRequests).toBeLessThanOrEqual(killed * 3);
    expect(status(house).balanced).toBe(true);
  } finally {
    if (server?.child.exitCode === null && server.child.signalCode === null) await server.kill();
    await byHand(house, '60s');
    await at.leave();
  }
});

it(`R12 serve, deliveries of hooks and deliveries by hand on one folder (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const at = await stage();
  const { house, collector } = at;
  const rounds = bySize({ quick: 1, ci: 10, full: 30 });
  const server = await serving(house);
  const memory = watchServer(server, house);
  try {
    await until(() => existsSync(join(house.state, 'lock')), 20_000);
    // Front ends find a delivery at work: the one of the server.
    expect(serverOf(house.state)).toBe(server.child.pid);
    const ids: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const posted = Array.from({ length: 20 }, async (_, n) => {
        const event = agentHooks(round * 100 + n, {
          session_id: `r12-${n % 3}`,
          event_type: 'Agent.Notification',
          data: {},
        });
        ids.push(String(event.event_id));
        expect(await ask(server.url, { headers: server.welcome, body: JSON.stringify(event) })).toBe(200);
      });
      startDeliver(house, { OTEL_HOOKS_LINGER: '100ms' });
      const [ran] = await Promise.all([byHand(house, '30s'), ...posted]);
      expect(ran.status).toBeLessThanOrEqual(1);
    }
    await until(() => ids.every(id => receivedBy(collector).records.has(id)), 60_000);
    // The server delivers again when the other processes have ended.
    await until(() => serverOf(house.state) === server.child.pid, 60_000);
    const rssMb = memory() ?? 0;
    expect(await server.stop()).toBe(0);
    expect(existsSync(join(house.state, 'lock'))).toBe(false);
    const received = receivedBy(collector);
    row('R12', 'serve, deliveries of hooks and deliveries by hand', {
      faults: rounds * 2,
      obligations: ids.length,
      delivered: ids.filter(id => received.records.has(id)).length,
      duplicated: received.repeatedItems,
      lost: ids.filter(id => !received.records.has(id)).length,
      rssMb,
    });
    expect(received.repeatedItems).toBe(0);
    expect(status(house).balanced).toBe(true);
  } finally {
    memory();
    if (server.child.exitCode === null) await server.kill();
    await byHand(house, '60s');
    await at.leave();
  }
});

/** The server that the owner of the lock names. */
function serverOf(state: string): number | undefined {
  try {
    const text = readFileSync(join(state, 'lock'), 'utf8');
    return (JSON.parse(text.slice(text.indexOf(' '))) as { server?: { pid: number } }).server?.pid;
  } catch {
    // The moment between two owners.
    return undefined;
  }
}
