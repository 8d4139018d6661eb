/**
 * The HTTP server with more work than it may have: it asks senders to wait, its memory stays limited, and a kill in the
 * middle loses no event that it has answered with 200.
 */
import { readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agentHooks } from '../serve/standing.ts';
import { status } from '../wire/house.ts';
import { row } from './report.ts';
import { type Serving, serving, watchServer } from './served.ts';
import { bySize, seed } from './size.ts';
import { byHand, makeOld, receivedBy, stage } from './stage.ts';

const load = bySize({
  quick: { small: 40, large: 3, seconds: 1 },
  ci: { small: 500, large: 20, seconds: 10 },
  full: { small: 900, large: 60, seconds: 60 },
});
/** The largest body that the server reads, and the text of an event that fits into it. */
const MOST_BYTES = 4 * 1024 * 1024;
const LARGE_BYTES = MOST_BYTES - 1_000;
/** Above what was measured with senders of large bodies; a server without limits needs a multiple of this. */
const MOST_MB = 400;

it(`R3 serve killed under overload by ${load.small + load.large} senders (seed ${seed})`, {
  timeout: 300_000,
}, async () => {
  const at = await stage();
  const { house, collector } = at;
  const server = await serving(house);
  const memory = watchServer(server, house);
  const unfinished: Socket[] = [];
  try {
    const owed = new Set<string>();
    const refused = { count: 0, withoutTime: 0 };
    let next = 0;
    let isOver = false;
    const sender = async (padding: string): Promise<void> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (!isOver) {
        next += 1;
        const event = agentHooks(next, {
          session_id: `overload-${next % 50}`,
          event_type: 'Agent.Notification',
          data: { message: padding },
        });
        const answer = await send(`${server.url}/v1/events`, {
          headers: server.welcome,
          body: JSON.stringify(event),
          agent,
        });
        if (answer.status === 200) owed.add(String(event.event_id));
        if (answer.status !== 429) continue;
        refused.count += 1;
        if (!(Number(answer.retryAfter) >= 1)) refused.withoutTime += 1;
        await new Promise(resolve => setTimeout(resolve, 20));
      }
      agent.destroy();
    };
    const large = 'x'.repeat(LARGE_BYTES);
    const senders = Array.from({ length: load.small + load.large }, (_, n) => sender(n < load.small ? 'x' : large));
    await new Promise(resolve => setTimeout(resolve, load.seconds * 500));
    // The server waits six seconds for the rest of a body.
    for (let n = 0; n < 10 && refused.count === 0; n += 1) {
      unfinished.push(...unfinishedBodies(server));
      for (let looked = 0; looked < 50 && refused.count === 0; looked += 1)
        await new Promise(resolve => setTimeout(resolve, 100));
    }
    await new Promise(resolve => setTimeout(resolve, load.seconds * 500));
    const rssMb = memory() ?? Number.POSITIVE_INFINITY;
    await server.kill();
    isOver = true;
    await Promise.all(senders);
    for (const name of readdirSync(join(house.state, 'inbox'))) makeOld(join(house.state, 'inbox'), name);
    expect((await byHand(house, '120s')).status).toBe(0);
    const received = receivedBy(collector);
    const lost = [...owed].filter(id => !received.records.has(id));
    row('R3', 'serve killed under overload', {
      faults: 1,
      obligations: owed.size,
      delivered: owed.size - lost.length,
      lost: lost.length,
      duplicated: received.repeatedItems,
      rssMb,
      note: `${refused.count} requests were answered with 429`,
    });
    expect(owed.size).toBeGreaterThan(0);
    expect(lost).toEqual([]);
    expect(refused.count).toBeGreaterThan(0);
    expect(refused.withoutTime).toBe(0);
    expect(rssMb).toBeLessThan(MOST_MB);
    expect(status(house).balanced).toBe(true);
  } finally {
    memory();
    for (const socket of unfinished) socket.destroy();
    if (server.child.exitCode === null && server.child.signalCode === null) await server.kill();
    await at.leave();
  }
});

/** Bodies that lack their last byte, and together take all the memory that bodies may have. */
function unfinishedBodies({ url, welcome }: Serving): Socket[] {
  const { hostname, port } = new URL(url);
  const fields = Object.entries({ host: hostname, ...welcome, 'content-length': MOST_BYTES });
  const head = `POST /v1/events HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return Array.from({ length: 12 }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined).resume();
    socket.write(head);
    socket.write(Buffer.alloc(MOST_BYTES - 1, ' '));
    return socket;
  });
}

interface Asked {
  headers: Record<string, string>;
  body: string;
  agent: Agent;
}

/** The status 0: the connection was cut before the answer. */
function send(
  url: string,
  { headers, body, agent }: Asked,
): Promise<{ status: number; retryAfter?: string | undefined }> {
  return new Promise(resolve => {
    const length = { 'content-length': Buffer.byteLength(body) };
    const asked = request(url, { method: 'POST', headers: { ...headers, ...length }, agent }, answer => {
      const result = { status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] };
      answer.resume().on('end', () => resolve(result));
      answer.on('error', () => resolve(result));
    });
    asked.on('error', () => resolve({ status: 0 }));
    asked.end(body);
  });
}
