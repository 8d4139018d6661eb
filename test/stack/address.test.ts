/** A wrong port of the real collector: test/ship/wrong-address.test.ts has what other servers answer. */
import { afterAll, expect, inject, test } from 'vitest';
import { eventually, tempoSpans } from './backends.ts';
import { Machine } from './machine.ts';

const stack = inject('stack');
const machine = new Machine(stack.program, { provider: 'otlp', otlp: { endpoint: stack.collectorGrpc } });
afterAll(() => machine.remove());

test('the port of gRPC is reported, and all data arrives after the correction', async () => {
  const session = machine.journey('plain-session.journey');
  const { code, err } = await machine.cli('deliver', '--wait', '5s');
  expect(code).toBe(1);
  expect(err).toMatch(/HPE_INVALID_CONSTANT.*kept/);
  expect(err).toContain('next: a port of OTLP over gRPC behaves in this way: use the HTTP port, usually 4318.');
  const [wrong] = (await machine.books()).destinations;
  expect(wrong?.spans.waiting).toBe(wrong?.spans.produced);

  machine.configure({ provider: 'otlp', otlp: { endpoint: stack.collector } });
  await machine.deliver();
  const [trace = ''] = (await machine.trees(session)).keys();
  await eventually(
    () => tempoSpans(stack, trace),
    spans => spans.length === wrong?.spans.produced,
  );
});
