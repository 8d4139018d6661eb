/** Prometheus shows the true numbers of our counters after kills and outages. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, expect, inject, test } from 'vitest';
import { countedEvents, eventually, instanceOf, json, samples } from './backends.ts';
import { Machine } from './machine.ts';

const stack = inject('stack');
const machines: Machine[] = [];
const newMachine = (endpoint = stack.collector): Machine => {
  const machine = new Machine(stack.program, { provider: 'otlp', otlp: { endpoint } });
  machines.push(machine);
  return machine;
};
afterAll(() => {
  for (const machine of machines) machine.remove();
});

const toolCalls = (instance: string): string =>
  `sum(gen_ai_execute_tool_duration_seconds_count{instance="${instance}"})`;
const prompts = (instance: string): string => `sum(agent_hooks_prompt_submitted_total{instance="${instance}"})`;
const becomes = (query: string, value: number): Promise<unknown> =>
  eventually(
    () => samples(stack, query),
    found => found.length === 1 && found[0]?.value === value,
  );

const countsAreTrue = (machine: Machine, instance: string): Promise<unknown> =>
  eventually(
    () => countedEvents(stack, instance),
    counts => isDeepStrictEqual(counts, machine.journaled()),
  );

/** Prompts and finished actions of the journey, counted by hand in its file. */
const plain = { prompts: 1 };

test('counters are exact after several deliveries, and on two machines at once', async () => {
  const one = newMachine();
  const two = newMachine();
  const first = one.journey('parallel-actions.journey');
  const other = two.journey('parallel-actions.journey');
  await Promise.all([one.deliver(), two.deliver()]);
  one.journey('parallel-actions.journey');
  await one.deliver();
  one.journey('parallel-actions.journey');
  await one.deliver();
  const [a, b] = [await instanceOf(stack, first), await instanceOf(stack, other)];
  expect(a).not.toBe(b);
  await becomes(prompts(a), 3 * plain.prompts);
  await becomes(prompts(b), plain.prompts);
  const calls = (await samples(stack, toolCalls(b)))[0]?.value ?? 0;
  expect(calls).toBeGreaterThan(1);
  await becomes(toolCalls(a), 3 * calls);
  for (const [machine, instance] of [
    [one, a],
    [two, b],
  ] as const)
    await countsAreTrue(machine, instance);
  const books = [await one.books(), await two.books()].map(each => each.destinations[0]?.metrics.rejected);
  expect(books).toEqual([{}, {}]);
});

test('an outage loses no count: the newest state arrives', async () => {
  const machine = newMachine('http://127.0.0.1:9');
  let session = '';
  for (let i = 0; i < 3; i += 1) {
    session = machine.journey('plain-session.journey');
    await machine.cli('deliver', '--wait', '1s');
  }
  expect((await machine.books()).destinations[0]?.metrics.accepted).toBe(0);
  // The address was wrong from the beginning; the waiting data goes to the corrected one.
  machine.configure({ provider: 'otlp', otlp: { endpoint: stack.collector } });
  await machine.deliver();
  const instance = await instanceOf(stack, session);
  await becomes(prompts(instance), 3 * plain.prompts);
  await countsAreTrue(machine, instance);
});

test('increase() of a short session is its exact number', async () => {
  const machine = newMachine();
  const session = machine.journey('plain-session.journey');
  await machine.deliver();
  const instance = await instanceOf(stack, session);
  await becomes(prompts(instance), plain.prompts);
  const query = `sum(increase(agent_hooks_prompt_submitted_total{instance="${instance}"}[5m] anchored))`;
  await becomes(query, plain.prompts);
});

test('a machine has few series', async () => {
  const machine = newMachine();
  let session = '';
  for (const file of ['plain-session.journey', 'subagents.journey', 'failures.journey', 'mcp-and-skills.journey'])
    session = machine.journey(file);
  await machine.deliver();
  const instance = await instanceOf(stack, session);
  await eventually(
    () => samples(stack, `count({instance="${instance}"})`),
    found => (found[0]?.value ?? 0) > 0,
  );
  const [count] = await samples(stack, `count({instance="${instance}"})`);
  // Some hundred, most of them buckets; the bound of `metrics.series` is far above.
  expect(count?.value).toBeLessThan(600);
});

test('an exemplar leads from a measurement to its trace', async () => {
  const machine = newMachine();
  const session = machine.journey('parallel-actions.journey');
  await machine.deliver();
  const instance = await instanceOf(stack, session);
  const now = Date.now() / 1000;
  const answer = await eventually(
    () =>
      json<{ data: { exemplars: { labels: { trace_id?: string } }[] }[] }>(
        stack.prometheus,
        '/api/v1/query_exemplars',
        {
          query: `gen_ai_execute_tool_duration_seconds_bucket{instance="${instance}"}`,
          start: String(now - 3_600),
          end: String(now + 600),
        },
      ),
    ({ data }) => data.some(({ exemplars }) => exemplars.length > 0),
  );
  const trace = answer.data[0]?.exemplars[0]?.labels.trace_id ?? '';
  expect(trace).toMatch(/^[0-9a-f]{32}$/);
  const found = await eventually(
    () => json<{ trace?: { resourceSpans?: unknown[] } }>(stack.tempo, `/api/v2/traces/${trace}`),
    ({ trace: whole }) => (whole?.resourceSpans?.length ?? 0) > 0,
  );
  expect(JSON.stringify(found)).toContain(session);
});

test('nothing was refused on the way', async () => {
  const failed = await samples(stack, 'sum(otelcol_exporter_send_failed_metric_points_total) or vector(0)');
  expect(failed[0]?.value).toBe(0);
  const metrics = await fetch(new URL('/metrics', stack.prometheus)).then(response => response.text());
  const refused = [
    ...metrics.matchAll(/^prometheus_tsdb_(?:out_of_order|out_of_bound|too_old)_samples_total\S* (\d+)/gm),
  ];
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.filter(each => Number(each[1]) > 0).map(each => each[0])).toEqual([]);
});
