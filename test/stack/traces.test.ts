/** The traces in Tempo and Jaeger, compared with the output of `show`, which needs no back end. */
import { randomUUID } from 'node:crypto';
import { cpSync } from 'node:fs';
import { afterAll, expect, inject, test } from 'vitest';
import { nodeOf } from '../../src/view/span-node.ts';
import { drawTree } from '../../src/view/tree.ts';
import { eventually, json, type StoredSpan, search, tempoSpans } from './backends.ts';
import { Machine } from './machine.ts';

const stack = inject('stack');
const machines: Machine[] = [];
const newMachine = (config: object = { provider: 'otlp', otlp: { endpoint: stack.collector } }): Machine => {
  const machine = new Machine(stack.program, config);
  machines.push(machine);
  return machine;
};
afterAll(() => {
  for (const machine of machines) machine.remove();
});

const drawn = (spans: readonly StoredSpan[]): string =>
  drawTree(spans.map(nodeOf), { color: false, columns: 100, unicode: false }).trimEnd();

const once = (spans: readonly StoredSpan[]): boolean => new Set(spans.map(each => each.spanId)).size === spans.length;

const journeys = [
  'plain-session.journey',
  'subagents.journey',
  'parallel-actions.journey',
  'failures.journey',
  'denied-by-classifier.journey',
  'permission-granted.journey',
  'mcp-and-skills.journey',
  'compaction.journey',
];

test.each(journeys)('Tempo holds the tree that `show` prints: %s', async file => {
  const machine = newMachine();
  const session = machine.journey(file);
  await machine.deliver();
  const traces = await machine.trees(session);
  expect(traces.size).toBeGreaterThan(0);
  for (const [trace, tree] of traces) {
    const rows = tree.split('\n').length;
    const stored = await eventually(
      () => tempoSpans(stack, trace),
      spans => spans.length === rows,
    );
    expect(once(stored)).toBe(true);
    expect(drawn(stored)).toBe(tree);
    expect(new Set(stored.map(each => each.attributes['session.id']))).toEqual(new Set([session]));
  }
  const { spans } = (await machine.books()).destinations[0] ?? {};
  expect(spans?.rejected).toEqual({});
  expect(spans?.dropped).toEqual({});
});

test('the searches of the documentation find a session', async () => {
  const machine = newMachine();
  const failed = machine.journey('failures.journey');
  const denied = machine.journey('denied-by-classifier.journey');
  await machine.deliver();
  const finds = async (query: string, session: string): Promise<void> => {
    const [trace = ''] = [...(await machine.trees(session)).keys()];
    await eventually(
      () => search(stack, query),
      traces => traces.includes(trace),
    );
  };
  await finds(`{ span.session.id = "${failed}" }`, failed);
  await finds('{ span.gen_ai.operation.name = "execute_tool" && status = error }', failed);
  await finds('{ resource.service.name = "claude-code" } >> { status = error }', failed);
  await finds('{ span.agent_hooks.decision.outcome = "deny" }', denied);
});

test('a session of many hours is several traces, found by their links and by `session.id`', async () => {
  const machine = newMachine();
  const session = randomUUID();
  const nowMs = Date.now();
  const HOUR_MS = 3_600_000;
  const hook = (event: string, agoMs: number, fields: object = {}): void =>
    machine.hook({ session_id: session, hook_event_name: event, cwd: machine.home, ...fields }, nowMs - agoMs);
  hook('SessionStart', 5 * HOUR_MS, { source: 'startup' });
  for (const [i, agoMs] of [5 * HOUR_MS - 1_000, 3_000].entries()) {
    const prompt = { prompt_id: `p0000000-0000-4000-8000-00000000000${i}` };
    hook('UserPromptSubmit', agoMs, { ...prompt, prompt: 'go on' });
    hook('Stop', agoMs - 1_000, { ...prompt, stop_hook_active: false });
  }
  hook('SessionEnd', 1_000, { reason: 'other' });
  await machine.deliver();
  const ids = [...(await machine.trees(session)).keys()];
  expect(ids).toHaveLength(2);
  const parts = await Promise.all(
    ids.map(trace =>
      eventually(
        () => tempoSpans(stack, trace),
        spans => spans.length === 2,
      ),
    ),
  );
  const roots = parts.flatMap(spans => spans.filter(({ parentSpanId }) => parentSpanId === undefined));
  const [first, second] = roots.sort((a, b) => a.startMs - b.startMs);
  const firstTrace = ids[parts.findIndex(spans => spans.some(({ spanId }) => spanId === first?.spanId))];
  expect(second?.links).toEqual([{ trace: firstTrace, span: first?.spanId, type: 'previous_segment' }]);
  // Tempo finds old spans only after they are in a block.
  const bySession = await eventually(
    () => search(stack, `{ span.session.id = "${session}" }`),
    traces => traces.length === 2,
    110_000,
  );
  expect(new Set(bySession)).toEqual(new Set(ids));
}, 200_000);

test('a session that is sent twice, from a restored backup, stays one', async () => {
  const only = { exporters: { logs: 'none', metrics: 'none' } };
  for (const endpoint of [stack.collector, stack.jaegerOtlp]) {
    const machine = newMachine({ provider: 'otlp', otlp: { endpoint }, ...only });
    // The first delivery makes the installation's key and name.
    machine.journey('plain-session.journey');
    await machine.deliver();
    const session = machine.journey('subagents.journey');
    const backup = newMachine({ provider: 'otlp', otlp: { endpoint }, ...only });
    cpSync(machine.state, backup.state, { recursive: true });
    await machine.deliver();
    await backup.deliver();
    for (const [trace, tree] of await machine.trees(session)) {
      const rows = tree.split('\n').length;
      if (endpoint === stack.jaegerOtlp) {
        const { data } = await jaegerTrace(trace, rows);
        expect(data[0]?.spans.length).toBe(rows);
        continue;
      }
      // Tempo merges copies when it compacts; until then it stores equal ones beside each other.
      const stored = await eventually(
        () => tempoSpans(stack, trace),
        spans => new Set(spans.map(each => each.spanId)).size === rows,
      );
      const distinct = new Map(stored.map(each => [JSON.stringify(each), each]));
      expect(drawn([...distinct.values()])).toBe(tree);
      expect(distinct.size).toBe(rows);
    }
  }
});

interface JaegerSpan {
  spanID: string;
  operationName: string;
  startTime: number;
  duration: number;
  warnings: string[] | null;
  references: { refType: string; spanID: string }[];
}

const jaegerTrace = (trace: string, spans: number): Promise<{ data: { spans: JaegerSpan[] }[] }> =>
  eventually(
    () => json<{ data: { spans: JaegerSpan[] }[] }>(stack.jaeger, `/api/traces/${trace}`),
    answer => (answer.data[0]?.spans.length ?? 0) >= spans,
  );

test.each([
  { by: 'its own receiver', endpoint: stack.jaegerOtlp, only: { exporters: { logs: 'none', metrics: 'none' } } },
  { by: 'the collector', endpoint: stack.collector, only: {} },
])('Jaeger holds the same trace by $by, without warnings', async ({ endpoint, only }) => {
  const machine = newMachine({ provider: 'otlp', otlp: { endpoint }, ...only });
  const session = machine.journey('subagents.journey');
  await machine.deliver();
  for (const [trace, tree] of await machine.trees(session)) {
    const rows = tree.split('\n').length;
    const { data } = await jaegerTrace(trace, rows);
    const spans = data[0]?.spans ?? [];
    expect(spans.flatMap(({ warnings }) => warnings ?? [])).toEqual([]);
    const roots = spans.filter(span => !span.references.some(({ refType }) => refType === 'CHILD_OF'));
    expect(roots.map(span => span.operationName)).toEqual(['session claude-code']);
  }
  // The search of docs/grafana.md.
  const found = await json<{ data: unknown[] }>(stack.jaeger, '/api/traces', {
    service: 'claude-code',
    tags: JSON.stringify({ 'session.id': session }),
  });
  expect(found.data).toHaveLength(1);
});

test('spans are within the limit of Tempo for names and values of any length', async () => {
  const machine = newMachine();
  const session = randomUUID();
  const nowMs = Date.now();
  const hook = (event: string, agoMs: number, fields: object): void =>
    machine.hook({ session_id: session, hook_event_name: event, cwd: machine.home, ...fields }, nowMs - agoMs);
  const tool = {
    tool_name: `mcp__${'s'.repeat(5_000)}__${'t'.repeat(5_000)}`,
    tool_use_id: 'long',
    tool_input: { text: 'x'.repeat(200_000) },
  };
  hook('SessionStart', 5_000, { source: 'startup' });
  hook('PreToolUse', 4_000, tool);
  hook('PostToolUse', 3_000, { ...tool, tool_response: {} });
  hook('SessionEnd', 2_000, { reason: 'other' });
  await machine.deliver();
  const [trace = ''] = (await machine.trees(session)).keys();
  await eventually(
    () => tempoSpans(stack, trace),
    spans => spans.some(({ attributes }) => attributes['gen_ai.tool.call.id'] === 'long'),
  );
  const metric = await fetch(new URL('/metrics', stack.tempo)).then(response => response.text());
  const cut = [...metric.matchAll(/^tempo_distributor_attributes_truncated_total\{.*\} (\d+)/gm)].map(each =>
    Number(each[1]),
  );
  expect(cut.filter(count => count > 0)).toEqual([]);
  // Data that Tempo answers with 200 and drops nevertheless.
  const dropped = [...metric.matchAll(/^tempo_discarded_spans_total\{.*\} (\d+)/gm)].map(each => Number(each[1]));
  expect(dropped.filter(count => count > 0)).toEqual([]);
});
