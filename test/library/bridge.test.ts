/** Hooks through an application's own SDK: the bytes on the wire are those that otel-hooks would send. */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { transformSync } from 'esbuild';
import { expect, test } from 'vitest';
import { createBridge, type HookPayload } from '../../src/index.ts';
import { judgeRisk } from '../../src/session/own-rules.ts';
import { incrementsOf } from '../../src/telemetry/increments.ts';
import { addTo, noMetrics } from '../../src/telemetry/metric-state.ts';
import { decodeRequest, type JsonObject } from '../../src/telemetry/otlp-decode.ts';
import { resourceAttributes, resourceOf } from '../../src/telemetry/resource.ts';
import { readableSpanOf, writer } from '../otlp.ts';
import { limits, type PlayedHook, play, START_MS } from '../play.ts';

const session = { session_id: 's-1', transcript_path: '/home/dev/.claude/projects/x/s-1.jsonl', cwd: '/x' };
const hook = (second: number, name: string, fields: object = {}): PlayedHook => ({
  atMs: START_MS + second * 1000,
  payload: { ...session, hook_event_name: name, ...fields },
});
const bash = { prompt_id: 'p1', tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } };
const hooks = [
  hook(0, 'SessionStart', { source: 'startup' }),
  hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'secret words' }),
  hook(2, 'PreToolUse', bash),
  hook(3, 'PostToolUseFailure', { ...bash, error: 'Exit code 2', duration_ms: 400 }),
  hook(4, 'Stop', { prompt_id: 'p1' }),
  hook(5, 'SessionEnd', { reason: 'other' }),
  hook(6, 'SessionStart', { source: 'resume' }),
  hook(7, 'SessionEnd', { reason: 'other' }),
];
const installation = 'a machine';

/** As the bridge does, otel-hooks judges the risk of each action. */
const played = () => play(hooks, false, undefined, undefined, undefined, 'at once', judgeRisk);

/** The spans that otel-hooks would send for them, in one body. */
function ours(): JsonObject[] {
  const agent = 'claude-code';
  const resource = resourceOf(resourceAttributes({ agent, serviceName: undefined, attributes: {}, installation }));
  const facts = { agent, session: 's-1', provider: 'anthropic', denyAsError: false, limits };
  const spans = played().spans.map(span => readableSpanOf(span, facts, resource));
  return whole(decodeRequest('traces', writer.spans(spans) ?? new Uint8Array()) ?? {});
}

type Items = JsonObject[];

/** Each span with its resource and scope, as one text with its parts in order. */
function whole(body: JsonObject): Items {
  return (body.resourceSpans as Items).flatMap(({ resource, scopeSpans }) =>
    (scopeSpans as Items).flatMap(({ scope, spans }) =>
      (spans as Items).map(span => withoutTimes({ resource, scope, span }) as JsonObject),
    ),
  );
}

/** Empty lists, zero counts and flags, which one encoder writes and another omits, have the same meaning. */
function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value)
    .filter(([name]) => name !== 'flags' && !name.startsWith('dropped') && name !== 'traceState')
    .map(([name, part]) => [name, name === 'intValue' ? String(part) : withoutTimes(part)] as const)
    .filter(([, part]) => part !== '' && JSON.stringify(part) !== '{"code":0}' && !isNothing(part))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(kept);
}

const isNothing = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && Object.keys(part).length === 0;

async function receiver(): Promise<{ url: string; spans(): Items; close(): void }> {
  const found: Items = [];
  const server = createServer((request, answer) => {
    const parts: Buffer[] = [];
    request.on('data', part => parts.push(part as Buffer));
    request.on('end', () => {
      const bytes = Buffer.concat(parts);
      const isJson = request.headers['content-type'] === 'application/json';
      found.push(
        ...whole(isJson ? (JSON.parse(bytes.toString()) as JsonObject) : (decodeRequest('traces', bytes) ?? {})),
      );
      answer.writeHead(200, { 'content-type': request.headers['content-type'] }).end(isJson ? '{}' : '');
    });
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  return { url, spans: () => found, close: () => server.close() };
}

const accepted = { status: 'accepted', refused: [] };

const feed = (bridge: ReturnType<typeof createBridge>): void => {
  for (const { payload, atMs } of hooks)
    expect(bridge.ingest(payload as HookPayload, { tool: 'claude-code', timeMs: atMs })).toEqual(accepted);
};

const inOrder = (spans: Items): string[] => spans.map(span => JSON.stringify(span)).sort();

test('spans through processors and exporters of an SDK have the bytes that otel-hooks sends', async () => {
  const ways = {
    'a batch processor, JSON': (url: string) => ({
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
    }),
    'a simple processor, protobuf': (url: string) => ({
      spanProcessors: [new SimpleSpanProcessor(new ProtobufExporter({ url }))],
    }),
    'an exporter alone': (url: string) => ({ spanExporters: [new ProtobufExporter({ url })] }),
  };
  for (const [name, way] of Object.entries(ways)) {
    const { url, spans, close } = await receiver();
    const bridge = createBridge({ ...way(url), installation });
    feed(bridge);
    await bridge.shutdown();
    close();
    expect(inOrder(spans()), name).toEqual(inOrder(ours()));
    expect(bridge.stats()).toMatchObject({
      inputs: { received: 8, accepted: 8 },
      spans: { produced: 4, exported: 4, failed: 0, dropped: 0, waiting: 0 },
    });
  }
});

test('a journal gives the same spans, and shutdown ends an open session as abandoned', async () => {
  const exporter = new InMemorySpanExporter();
  const bridge = createBridge({ spanExporters: [exporter], installation });
  const { events, spans } = play(hooks);
  const journal = await bridge.journal(`${events.map(event => JSON.stringify(event)).join('\n')}\nnot a line\n`);
  expect(
    bridge.ingest(
      { ...session, session_id: 's-2', hook_event_name: 'SessionStart', source: 'startup' },
      { tool: 'claude-code' },
    ),
  ).toEqual(accepted);
  await bridge.shutdown();
  const [last, ...rest] = exporter.getFinishedSpans().toReversed();
  expect(rest.length).toBe(spans.length);
  expect(new Set(rest.map(({ name }) => name))).toEqual(
    new Set(['session claude-code', 'invoke_agent claude-code', 'execute_tool Bash']),
  );
  expect(last?.attributes).toMatchObject({ 'session.id': 's-2', 'error.type': 'abandoned' });
  expect(journal).toEqual({ accepted: events.length, refused: 1 });
});

test('records and measurements go to the present providers', async () => {
  const records = new InMemoryLogRecordExporter();
  const loggerProvider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter: records })] });
  const points = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: points, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const bridge = createBridge({ loggerProvider, meterProvider });
  feed(bridge);
  await bridge.shutdown();
  const own = played();
  const found = records.getFinishedLogRecords();
  expect(found.map(({ eventName }) => eventName)).toEqual(
    own.records.map(({ event }) => `agent_hooks.${event.event_type.toLowerCase()}`),
  );
  expect(found.every(({ spanContext }) => /^[0-9a-f]{32}$/.test(spanContext?.traceId ?? ''))).toBe(true);
  expect(JSON.stringify(found.map(({ body, attributes }) => [body, attributes]))).not.toContain('secret words');

  await reader.forceFlush();
  const sums = points
    .getMetrics()
    .flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap(({ metrics }) => metrics.map(({ descriptor }) => descriptor.name)),
    );
  const state = noMetrics();
  const increments = incrementsOf(own.events, own.spans, 'claude-code', () => true, { provider: 'anthropic' });
  addTo(state, {}, increments, 0);
  expect(new Set(sums).size).toBe(new Set(increments.map(({ metric }) => metric)).size);
  await meterProvider.shutdown();
});

test('more spans than the queue of an SDK holds: the bridge waits, so that the SDK drops none', async () => {
  const exporter = new InMemorySpanExporter();
  const bridge = createBridge({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  for (let i = 0; i < 2_200; i += 1) {
    const one = { ...session, session_id: `s-${i}` };
    bridge.ingest({ ...one, hook_event_name: 'SessionStart', source: 'startup' }, { tool: 'claude-code' });
    bridge.ingest({ ...one, hook_event_name: 'SessionEnd', reason: 'other' }, { tool: 'claude-code' });
  }
  await bridge.forceFlush();
  expect(exporter.getFinishedSpans().length).toBe(2_200);
  await bridge.shutdown();
});

test('an unreadable payload gets an answer, and flush reports a failed exporter', async () => {
  const exporter = {
    export: (_spans: object[], done: (result: { code: number; error?: Error }) => void) =>
      done({ code: 1, error: new Error('no room') }),
  };
  const bridge = createBridge({ spanExporters: [exporter] });
  expect(bridge.ingest('{')).toMatchObject({ status: 'refused', reason: 'not-json' });
  feed(bridge);
  expect(bridge.ingest((hooks[2]?.payload ?? {}) as HookPayload, { tool: 'claude-code' }).status).toBe('duplicate');
  expect(await bridge.forceFlush()).toMatchObject({ ok: false, failed: 4, errors: [{ code: 'export-failed' }] });
  expect(await bridge.forceFlush()).toMatchObject({ ok: true, failed: 0, errors: [] });
  expect(bridge.stats().spans).toMatchObject({ produced: 4, failed: 4, exported: 0, waiting: 0 });
});

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'library.md'), 'utf8');

test.each([
  ['bridge.ts', ['execute_tool Bash', 'invoke_agent claude-code', 'session claude-code']],
  ['hook-runner.ts', ['execute_tool read_file', 'execute_tool deploy', 'session my-runtime']],
])('%s of docs/library.md runs unchanged', async (file, expected) => {
  const example = readFileSync(join(import.meta.dirname, '..', '..', 'examples', file), 'utf8');
  const [, after = ''] = page.split(example);
  const { code: script } = transformSync(example, { loader: 'ts' });
  const { url, spans, close } = await receiver();
  const env = { ...process.env, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url };
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', part => {
    printed += String(part);
  });
  const code = await new Promise(done => child.on('close', done));
  close();
  expect(code).toBe(0);
  expect(after.split('```')[2]).toBe(`\n${printed}`);
  expect(spans().map(({ span }) => (span as JsonObject).name)).toEqual(expected);
});
