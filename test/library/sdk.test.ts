/** `startAgentTelemetry`: the official SDK with its exporters, against a receiver on this machine. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type AgentTelemetry, startAgentTelemetry } from '../../src/sdk.ts';

const tool = { tool: 'claude-code' } as const;
const payload = (session: string, name: string, fields: object = {}) => ({
  ...{ session_id: session, hook_event_name: name, cwd: '/x' },
  ...fields,
});

interface Received {
  path: string | undefined;
  headers: NodeJS.Dict<string | string[]>;
  body: { [list: string]: { resource: { attributes: { key: string; value: object }[] } }[] };
}

let close = (): void => undefined;
afterEach(() => close());

async function receiver(status = 200): Promise<{ url: string; received: Received[]; answer(status: number): void }> {
  const received: Received[] = [];
  let code = status;
  const server = createServer((request, answer) => {
    const parts: Buffer[] = [];
    request.on('data', part => parts.push(part as Buffer));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString()) as Received['body'];
      received.push({ path: request.url, headers: request.headers, body });
      answer.writeHead(code, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  close = () => server.close();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    received,
    answer(next) {
      code = next;
    },
  };
}

function ingest(telemetry: AgentTelemetry, session: string): void {
  telemetry.ingest(payload(session, 'SessionStart', { source: 'startup' }), tool);
  telemetry.ingest(payload(session, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'x' }), tool);
  telemetry.ingest(payload(session, 'SessionEnd', { reason: 'other' }), tool);
}

test('sends spans, records and metrics with one resource, headers and computed ids', async () => {
  const { url, received } = await receiver();
  const telemetry = startAgentTelemetry({
    endpoint: url,
    headers: { 'x-key': 'k' },
    resource: { 'service.name': 'shop' },
  });
  ingest(telemetry, 's1');
  expect(await telemetry.shutdown()).toMatchObject({ ok: true, failed: 0, waiting: 0, errors: [] });
  expect(new Set(received.map(({ path }) => path))).toEqual(new Set(['/v1/traces', '/v1/logs', '/v1/metrics']));
  for (const { headers, body } of received) {
    expect(headers['x-key']).toBe('k');
    const [first] = Object.values(body)[0] ?? [];
    expect(first?.resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'shop' } });
  }
  expect(telemetry.stats().spans).toMatchObject({ produced: 2, exported: 2, dropped: 0, failed: 0, waiting: 0 });
  expect(JSON.stringify(received)).toContain('session claude-code');
});

test('counts exactly the spans that the receiver refuses, and reports them at the shutdown', async () => {
  const { url, answer } = await receiver();
  const telemetry = startAgentTelemetry({ endpoint: url, onError: () => undefined });
  ingest(telemetry, 's1');
  expect((await telemetry.forceFlush()).ok).toBe(true);
  answer(400);
  ingest(telemetry, 's2');
  ingest(telemetry, 's3');
  expect(await telemetry.shutdown()).toMatchObject({ ok: false, failed: 4 });
  expect(telemetry.stats().spans).toMatchObject({ produced: 6, exported: 2, failed: 4, waiting: 0 });
});

test('follows the standard variables: endpoint, service name, sampler and limits', async () => {
  const { url, received } = await receiver();
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_SERVICE_NAME: 'from-variable',
    OTEL_TRACES_SAMPLER: 'always_off',
    OTEL_METRICS_EXPORTER: 'none',
  };
  Object.assign(process.env, variables);
  try {
    const telemetry = startAgentTelemetry();
    ingest(telemetry, 's1');
    await telemetry.shutdown();
    expect(telemetry.stats().spans).toMatchObject({ produced: 2, exported: 0, droppedBy: { sampled: 2 } });
    expect(received.map(({ path }) => path)).toEqual(['/v1/logs']);
    expect(JSON.stringify(received)).toContain('from-variable');
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
});

test('an extra processor gets the spans, and a batch queue of the variables loses none', async () => {
  const { url } = await receiver();
  process.env.OTEL_BSP_MAX_QUEUE_SIZE = '64';
  process.env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE = '64';
  const seen: unknown[] = [];
  const processor = {
    onStart: () => undefined,
    onEnd: (span: object) => seen.push(span),
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
  const telemetry = startAgentTelemetry({ endpoint: url, extraSpanProcessors: [processor as never] });
  delete process.env.OTEL_BSP_MAX_QUEUE_SIZE;
  delete process.env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE;
  for (let i = 0; i < 300; i += 1) ingest(telemetry, `s${i}`);
  expect((await telemetry.shutdown()).ok).toBe(true);
  expect(seen.length).toBe(600);
  expect(telemetry.stats().spans).toMatchObject({ produced: 600, exported: 600, dropped: 0, failed: 0 });
});

test('options that it makes itself, and bad ones, are refused by name', () => {
  expect(() => startAgentTelemetry({ spanProcessors: [] } as object)).toThrow(/makes its own spanProcessors/);
  expect(() => startAgentTelemetry({ endpoint: 'localhost:4318' })).toThrow(/option endpoint/);
  expect(() => startAgentTelemetry({ enpoint: 'http://x' } as object)).toThrow(/no option enpoint/);
});
