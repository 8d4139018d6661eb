/** The records in Loki: every event once, found by trace and by session, in few streams. */
import { randomUUID } from 'node:crypto';
import { cpSync } from 'node:fs';
import { afterAll, expect, inject, test } from 'vitest';
import { eventually, json, type Line, lines } from './backends.ts';
import { Machine } from './machine.ts';

const stack = inject('stack');
const machines: Machine[] = [];
const newMachine = (attributes?: Record<string, string>): Machine => {
  const config = { provider: 'otlp', otlp: { endpoint: stack.collector }, ...(attributes && { attributes }) };
  const machine = new Machine(stack.program, config);
  machines.push(machine);
  return machine;
};
afterAll(() => {
  for (const machine of machines) machine.remove();
});

test('every record is there once, under its trace and its session', async () => {
  const machine = newMachine();
  const session = machine.journey('subagents.journey');
  await machine.deliver();
  const { logs } = (await machine.books()).destinations[0] ?? {};
  expect(logs?.rejected).toEqual({});
  const found = await eventually(
    () => lines(stack, `{service_name="claude-code"} | session_id="${session}"`),
    all => all.length >= (logs?.produced ?? Number.POSITIVE_INFINITY),
  );
  expect(found.length).toBe(logs?.produced);
  const ids = found.map(({ labels }) => labels.agent_hooks_event_id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(found.filter(({ labels }) => !labels.event_name || !labels.severity_text)).toEqual([]);
  expect(found.filter(({ line }) => line === '')).toEqual([]);

  const trace = found.find(({ labels }) => labels.trace_id)?.labels.trace_id;
  const ofTrace = await lines(stack, `{service_name="claude-code"} | trace_id="${trace}"`);
  expect(ofTrace.length).toBe(found.filter(({ labels }) => labels.trace_id === trace).length);
});

test('a session that is sent twice, from a restored backup, is there once', async () => {
  const machine = newMachine();
  // The first delivery makes the installation's key and name.
  machine.journey('plain-session.journey');
  await machine.deliver();
  const produced = async (): Promise<number> => (await machine.books()).destinations[0]?.logs.produced ?? 0;
  const before = await produced();
  const session = machine.journey('subagents.journey');
  const backup = newMachine();
  cpSync(machine.state, backup.state, { recursive: true });
  await machine.deliver();
  await backup.deliver();
  const records = (await produced()) - before;
  const ofSession = (): Promise<Line[]> => lines(stack, `{service_name="claude-code"} | session_id="${session}"`);
  await eventually(ofSession, all => all.length >= records);
  // The additions of the copy begin behind this point.
  const last = backup.journey('plain-session.journey');
  await backup.deliver();
  await eventually(
    () => lines(stack, `{service_name="claude-code"} | session_id="${last}"`),
    all => all.length > 0,
  );
  expect((await ofSession()).length).toBe(records);
});

test('two equal notifications in one millisecond are two lines', async () => {
  const machine = newMachine();
  const session = machine.journey('plain-session.journey');
  const atMs = Date.now() - 500;
  const notification = { session_id: session, hook_event_name: 'Notification', notification_type: 'idle_prompt' };
  // The same payload twice would mean that the agent calls the hook twice; this difference is not sent.
  for (const message of ['one', 'two']) machine.hook({ ...notification, message }, atMs);
  await machine.deliver();
  const found = await eventually(
    () =>
      lines(
        stack,
        `{service_name="claude-code"} | session_id="${session}" | event_name="agent_hooks.agent.notification"`,
      ),
    all => all.length === 2,
  );
  expect(new Set(found.map(({ atNs }) => atNs)).size).toBe(2);
  expect(new Set(found.map(({ atNs }) => atNs.slice(0, -6))).size).toBe(1);
  // The two records differ only in the id of the event.
  expect(new Set(found.map(({ line }) => line.replace(/ \w+$/, ''))).size).toBe(1);
});

test('streams are as many as agents, not as sessions or machines', async () => {
  const sessions = ['plain-session.journey', 'failures.journey', 'compaction.journey'];
  // Loki's list of streams knows no sessions: a namespace keeps the streams of other tests out.
  const namespace = `streams-${randomUUID()}`;
  for (const file of sessions) {
    const machine = newMachine({ 'service.namespace': namespace });
    machine.journey(file);
    await machine.deliver();
  }
  const now = Date.now();
  const { data } = await eventually(
    () =>
      json<{ data: { [label: string]: string }[] }>(stack.loki, '/loki/api/v1/series', {
        'match[]': `{service_namespace="${namespace}"}`,
        start: `${now - 3_600_000}000000`,
        end: `${now + 60_000}000000`,
      }),
    answer => answer.data.length > 0,
  );
  expect(data).toEqual([{ service_name: 'claude-code', service_namespace: namespace }]);
});

test('Loki has discarded nothing', async () => {
  const metrics = await fetch(new URL('/metrics', stack.loki)).then(response => response.text());
  const discarded = [...metrics.matchAll(/^loki_discarded_samples_total\{.*\} (\d+)/gm)].filter(
    each => Number(each[1]) > 0,
  );
  expect(discarded.map(each => each[0])).toEqual([]);
});
