/** A collector that is killed and back ends that are down for a while: all accepted data arrives. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { container, countedEvents, docker, eventually, instanceOf, lines, pause, tempoSpans } from './backends.ts';
import { Machine } from './machine.ts';

const stack = inject('stack');
const machine = new Machine(stack.program, { provider: 'otlp', otlp: { endpoint: stack.collector } });
afterAll(() => machine.remove());

const ready = (base: string, path: string): Promise<unknown> =>
  eventually(
    () => fetch(new URL(path, base), { signal: AbortSignal.timeout(2_000) }),
    ({ ok }) => ok,
  );

const service = (name: string): string => container(stack, name);
const collectorIsBack = (): Promise<unknown> => ready(stack.collectorHealth, '/');

/** The number of all spans, of all records, and of all counted events. */
async function isAllThere(sessions: readonly string[]): Promise<void> {
  for (const session of sessions) {
    for (const [trace, tree] of await machine.trees(session)) {
      const rows = tree.split('\n').length;
      const stored = await eventually(
        () => tempoSpans(stack, trace),
        // Requests that were on their way when the collector was killed are sent again.
        spans => new Set(spans.map(each => each.spanId)).size === rows,
      );
      expect(new Set(stored.map(each => each.attributes['session.id']))).toEqual(new Set([session]));
    }
  }
  const { logs, spans } = (await machine.books()).destinations[0] ?? {};
  expect(spans?.accepted).toBe(spans?.produced);
  expect(logs?.accepted).toBe(logs?.produced);
  const found = await eventually(
    () => lines(stack, `{service_name="claude-code"} | service_instance_id="${instance}"`),
    all => all.length >= (logs?.produced ?? Number.POSITIVE_INFINITY),
  );
  expect(found.length).toBe(logs?.produced);
  await eventually(
    () => countedEvents(stack, instance),
    counts => isDeepStrictEqual(counts, machine.journaled()),
  );
}

let instance = '';
beforeAll(async () => {
  const session = machine.journey('plain-session.journey');
  await machine.deliver();
  instance = await instanceOf(stack, session);
});

test('after stopped back ends and a killed collector, the back ends have all data of ten sessions', async () => {
  const backEnds = ['tempo', 'loki', 'prometheus'].map(service);
  docker('stop', '-t', '2', ...backEnds);
  const sessions = Array.from({ length: 10 }, () => machine.journey('subagents.journey'));
  await machine.deliver();
  docker('kill', service('collector'));
  docker('start', ...backEnds, service('collector'));
  await Promise.all([ready(stack.tempo, '/ready'), ready(stack.loki, '/ready'), ready(stack.prometheus, '/-/ready')]);
  await collectorIsBack();
  await isAllThere(sessions);
});

test('a collector that is killed repeatedly during delivery has all data in the end', async () => {
  const sessions = Array.from({ length: 20 }, () => machine.journey('subagents.journey'));
  const delivered = machine.cli('deliver', '--wait', '60s');
  for (const afterMs of [700, 900, 1_100]) {
    await pause(afterMs);
    docker('kill', service('collector'));
    docker('start', service('collector'));
    await collectorIsBack();
  }
  await delivered;
  await machine.deliver('60s');
  await isAllThere(sessions);
});
