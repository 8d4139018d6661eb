/**
 * The ports of the real collector: one that is wrong for the protocol, and OTLP over gRPC. test/ship/wrong-address.test.ts
 * has what other servers answer.
 */
import { afterAll, expect, inject, test } from 'vitest';
import type { Target } from '../../src/config/destinations.ts';
import { createHttpTransport } from '../../src/ship/transport.ts';
import { destinationAt } from '../ship/memory-store.ts';
import { span, traces } from '../ship/samples.ts';
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
  expect(err).toContain(
    'next: a port of OTLP over gRPC behaves in this way: set otlp.protocol to grpc, or use the HTTP port',
  );
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

test('OTLP over gRPC reaches the back ends with all signals', async () => {
  const sender = new Machine(stack.program, {
    provider: 'otlp',
    otlp: { endpoint: stack.collectorGrpc, protocol: 'grpc' },
  });
  try {
    const session = sender.journey('plain-session.journey');
    await sender.deliver();
    const [account] = (await sender.books()).destinations;
    for (const each of [account?.spans, account?.logs, account?.metrics])
      expect(each).toMatchObject({ accepted: each?.produced, waiting: 0, rejected: {}, dropped: {} });
    const [trace = ''] = (await sender.trees(session)).keys();
    await eventually(
      () => tempoSpans(stack, trace),
      spans => spans.length === account?.spans.produced,
    );
  } finally {
    sender.remove();
  }
});

test('the real receiver refuses a request above its limit as too large, and accepts a part of it', async () => {
  // The receiver of the stack accepts messages of 16 MiB, after decompression.
  const { send, close } = createHttpTransport();
  try {
    const spans = Array.from({ length: 20 }, (_, i) =>
      span(`large-${i}`, { attributes: { filling: 'x'.repeat(2 ** 20) } }),
    );
    const target: Target = {
      ...{ headers: {}, timeoutMs: 20_000, protocol: 'grpc', tls: {} },
      ...{ url: `${stack.collectorGrpc}/opentelemetry.proto.collector.trace.v1.TraceService/Export`, gzip: false },
    };
    const destination = (gzip: boolean) =>
      destinationAt(stack.collectorGrpc, { signals: { traces: { ...target, gzip } } });
    for (const gzip of [false, true])
      expect(await send(destination(gzip), 'traces', traces(spans))).toMatchObject({ code: 8, retryMs: undefined });
    expect(await send(destination(true), 'traces', traces(spans.slice(0, 3)))).toMatchObject({ code: 0 });
    expect(await send(destination(true), 'traces', Buffer.from('no protobuf'))).toMatchObject({ code: 13 });
  } finally {
    close();
  }
});
