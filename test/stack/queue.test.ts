/** collector-config/queue.yaml between `serve` and a back end that is down: the queue survives a kill of the collector. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, inject, test } from 'vitest';
import { startCollector } from '../collector.ts';
import { serving } from '../obligations/served.ts';
import { receivedBy } from '../obligations/stage.ts';
import { agentHooks } from '../serve/standing.ts';
import { books, enable, furnish, vacate } from '../wire/house.ts';
import { docker, eventually } from './backends.ts';
import { besideLabel } from './compose.ts';

const stack = inject('stack');
const image = 'otel/opentelemetry-collector-contrib:0.158.0';
const config = new URL('../../collector-config/queue.yaml', import.meta.url).pathname;
const left: (() => unknown)[] = [];
afterAll(async () => {
  for (const leave of left.reverse()) await leave();
});

const EVENTS = 2_000;
const PER_REQUEST = 100;

test('the queue of the collector takes what the back end does not, and keeps it over a kill', async () => {
  let isUp = false;
  const backEnd = await startCollector({ answer: () => ({ status: isUp ? 200 : 503 }) });
  left.push(() => backEnd.close());
  const port = await freePort();
  const queue = docker(
    ...['run', '-d', '-u', '0:0', '--network', 'host', '--label', besideLabel(stack.project)],
    ...['-e', `OTEL_HOOKS_QUEUE_LISTEN=127.0.0.1:${port}`, '-e', `OTEL_HOOKS_QUEUE_ENDPOINT=${backEnd.url}`],
    ...['-v', `${config}:/config.yaml:ro`, '-v', '/var/lib/otelcol', image, '--config=/config.yaml'],
  );
  left.push(() => docker('rm', '-f', '-v', queue));
  const house = furnish('built', 'otel-hooks-queue-');
  left.push(() => vacate(house));
  expect(enable(house, `http://127.0.0.1:${port}`).status).toBe(0);
  const server = await serving(house);
  left.push(() => server.child.exitCode === null && server.kill());

  const ids: string[] = [];
  for (let n = 0; n < EVENTS; n += PER_REQUEST) {
    const events = Array.from({ length: PER_REQUEST }, (_, i) =>
      agentHooks(n + i, { session_id: `queued-${i % 20}`, event_type: 'Agent.Notification', data: { message: 'x' } }),
    );
    ids.push(...events.map(({ event_id: id }) => String(id)));
    const answer = await fetch(`${server.url}/v1/events`, {
      method: 'POST',
      headers: server.welcome,
      body: JSON.stringify(events),
    });
    expect(answer.status).toBe(200);
  }
  // The collector has acknowledged everything, and the back end nothing.
  await eventually(
    async () => books(house)?.destinations[0]?.logs,
    logs => logs !== undefined && logs.produced >= EVENTS && logs.accepted === logs.produced,
  );
  expect(receivedBy(backEnd).records.size).toBe(0);
  docker('kill', '--signal', 'KILL', queue);
  isUp = true;
  docker('start', queue);
  await eventually(
    async () => receivedBy(backEnd).records,
    records => ids.every(id => records.has(id)),
  );
}, 240_000);

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise(resolve => server.close(resolve));
  return port;
}
