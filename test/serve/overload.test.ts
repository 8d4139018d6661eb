/** The answers of a server that has as much work as it may have. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { byHand, fill } from '../obligations/stage.ts';
import { furnish, status, vacate } from '../wire/house.ts';
import { agentHooks, raw, type Standing, stand } from './standing.ts';

let standing: Standing | undefined;
const sockets: Socket[] = [];
/** All requests of a test take the same connection, as long as the server keeps it. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  agent.destroy();
  await standing?.leave();
  standing = undefined;
});

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  rule: string | undefined;
  /** The port of the sender, which shows whether the connection is the same. */
  port: number | undefined;
}

function post(at: Standing, event: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify(event);
    const headers = { ...at.welcome, 'content-length': Buffer.byteLength(body) };
    const asked = request(`${at.server.url}/v1/events`, { method: 'POST', agent, headers }, answer => {
      const port = answer.socket.localPort;
      let text = '';
      answer.setEncoding('utf8').on('data', part => {
        text += part;
      });
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, rule: JSON.parse(text).rule, port }),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

const limits = [
  ['hooks', { fragments: 5 }, '5 hooks wait for delivery'],
  ['bytes', { bytes: 1_000_000 }, '1 MB wait for delivery'],
] as const;

it.each(limits)(
  'senders must wait while too many %s wait for delivery, on the connections that they have',
  async (_, room) => {
    const at = await stand({ room });
    standing = at;
    const long = { data: { action: { name: 'shell', input: { command: 'x'.repeat(40_000) } } } };
    let sent = 0;
    let last = await post(at, agentHooks(sent, long));
    const { port } = last;
    let kept = 0;
    await eventually(async () => {
      for (let n = 0; n < 10 && last.status === 200; n += 1) {
        kept += 1;
        sent += 1;
        last = await post(at, agentHooks(sent, long));
      }
      return last.status !== 200;
    });
    expect([last.status, last.rule, last.port]).toEqual([429, 'limit/room', port]);
    expect(Number(last.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(readdirSync(join(at.state, 'inbox'))).toHaveLength(kept);
    // The connection is usable, although the server read no body of the refused requests.
    expect([(await post(at, agentHooks(sent, long))).status, (await post(at, agentHooks(sent))).port]).toEqual([
      429,
      port,
    ]);
    rmSync(join(at.state, 'inbox'), { recursive: true });
    await eventually(async () => (await post(at, agentHooks(sent, long))).status === 200);
    expect(at.fragments().length).toBeGreaterThan(0);
  },
);

it('senders must wait while unfinished bodies take all memory that they may have', async () => {
  const at = await stand();
  standing = at;
  const { hostname, port } = new URL(at.server.url);
  const sizeBytes = 4 * 1024 * 1024;
  const head = `POST /v1/events HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${at.welcome.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${sizeBytes}\r\n\r\n`;
  let refused = '';
  for (let n = 0; n < 12; n += 1) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket
      .on('error', () => undefined)
      .on('data', part => {
        refused ||= part.toString('latin1');
      });
    socket.write(head);
    socket.write(Buffer.alloc(sizeBytes - 1, ' '));
  }
  await eventually(async () => refused !== '');
  expect(refused).toMatch(/^HTTP\/1\.1 429 .*\r\nretry-after: 1\r\n/is);
  expect(await heldBytes(at)).toBeLessThanOrEqual(32 * 1024 * 1024 + 64 * 1024);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await heldBytes(at)) === 0);
  expect((await post(at, agentHooks(1))).status).toBe(200);
  expect(at.fragments()).toHaveLength(1);
});

it('a sender that does not wait for answers must wait when too many are missing', async () => {
  const at = await stand({ mostRequests: 50 });
  standing = at;
  const body = JSON.stringify(agentHooks(1));
  const one = `POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${at.welcome.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const last = one.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
  const answers = await raw(at.server.url, one.repeat(300) + last, 30_000);
  const kept = answers.split('HTTP/1.1 200').length - 1;
  const waiting = answers.match(
    /HTTP\/1\.1 429 Too Many Requests\r\nContent-Type: application\/json\r\nretry-after: 1/gi,
  );
  expect(waiting?.length).toBeGreaterThan(0);
  expect(kept + (waiting?.length ?? 0)).toBe(301);
  expect(at.fragments().flatMap(({ payload }) => payload.toString().split('\n'))).toHaveLength(kept);
});

it('a delivery of ours waits as long as the server says, and then sends everything', { timeout: 60_000 }, async () => {
  const at = await stand({ room: { fragments: 1 } });
  standing = at;
  const house = furnish('built', 'otel-hooks-overload-');
  try {
    const hooks = {
      event: '*',
      endpoint: `${at.server.url}/v1/events`,
      headers: `authorization=${at.welcome.authorization}`,
    };
    mkdirSync(join(house.home, '.config', 'otel-hooks'), { recursive: true });
    writeFileSync(join(house.home, '.config', 'otel-hooks', 'config.json'), JSON.stringify({ hooks }));
    const payload = { session_id: 's', hook_event_name: 'UserPromptSubmit', prompt: 'x', cwd: house.project };
    mkdirSync(join(house.state, 'inbox'), { recursive: true, mode: 0o700 });
    fill(house.state, [{ event: 'UserPromptSubmit', payload }], { env: {}, random: () => 1 });
    expect((await post(at, agentHooks(1))).status).toBe(200);
    await eventually(async () => (await post(at, agentHooks(2))).status === 429);
    const before = await refusals(at);
    const delivery = byHand(house, '60s');
    await eventually(async () => (await refusals(at)) > before);
    rmSync(join(at.state, 'inbox'), { recursive: true });
    const ran = await delivery;
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    const [kept] = at.fragments();
    expect(kept?.payload.toString()).toContain('"Prompt.Submitted"');
    const [lane] = status(house).destinations;
    expect([lane?.logs.waiting, lane?.logs.accepted]).toEqual([0, lane?.logs.produced]);
  } finally {
    await vacate(house);
  }
});

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + 20_000; !(await holds()); ) {
    if (performance.now() > endMs) throw new Error(`not so after 20 s: ${holds}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

const metricsOf = async ({ server, welcome }: Standing): Promise<string> =>
  (await fetch(`${server.url}/metrics`, { headers: welcome })).text();

const heldBytes = async (at: Standing): Promise<number> =>
  Number(/^otel_hooks_serve_held_bytes (\d+)$/m.exec(await metricsOf(at))?.[1]);

const refusals = async (at: Standing): Promise<number> =>
  Number(/^otel_hooks_serve_requests_total\{route="events",code="429"\} (\d+)$/m.exec(await metricsOf(at))?.[1]);
