/**
 * Our spans on the wire equal those that OpenTelemetry's own SDK would send: its tracer and its exporter, the same ids,
 * times and attributes.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { NodeTracerProvider, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { expect, test } from 'vitest';
import { VERSION } from '../../src/lib/version.ts';
import { SCOPE } from '../../src/telemetry/names.ts';
import { decodeRequest, type JsonObject } from '../../src/telemetry/otlp-decode.ts';
import { mapped, play, START_MS } from '../play.ts';

const session = { session_id: 's-1', transcript_path: '/home/dev/.claude/projects/x/s-1.jsonl', cwd: '/x' };
const hook = (second: number, name: string, fields: object = {}) => ({
  atMs: START_MS + second * 1000,
  payload: { ...session, hook_event_name: name, ...fields },
});

test('spans on the wire equal those of the SDK and its exporter', async () => {
  const spans = mapped(
    play([
      hook(0, 'SessionStart', { source: 'startup' }),
      hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'x' }),
      hook(2, 'PreToolUse', { prompt_id: 'p1', tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } }),
      hook(3, 'PostToolUseFailure', {
        prompt_id: 'p1',
        tool_name: 'Bash',
        tool_use_id: 'c1',
        error: 'Exit code 2',
        duration_ms: 400,
      }),
      hook(4, 'Stop', { prompt_id: 'p1' }),
      hook(5, 'SessionEnd', { reason: 'other' }),
      hook(6, 'SessionStart', { source: 'resume' }),
      hook(7, 'SessionEnd', { reason: 'other' }),
    ]).spans,
  );
  const bodies: JsonObject[] = [];
  const server = createServer((request, answer) => {
    const parts: Buffer[] = [];
    request.on('data', part => parts.push(part as Buffer));
    request.on('end', () => {
      bodies.push(JSON.parse(Buffer.concat(parts).toString('utf8')) as JsonObject);
      answer.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  const exporter = new OTLPTraceExporter({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
  });
  for (const span of spans) await again(span, exporter);
  await exporter.shutdown();
  server.close();

  const theirs = bodies.flatMap(spansIn).map(comparable);
  const ours = spans.flatMap(span =>
    spansIn(decodeRequest('traces', ProtobufTraceSerializer.serializeRequest([span]) ?? new Uint8Array()) ?? {}),
  );
  expect(ours.map(comparable)).toEqual(theirs);
});

/** The same span from a tracer: ids from its generator, a remote parent, and the given times. */
async function again(span: ReadableSpan, exporter: OTLPTraceExporter): Promise<void> {
  const { traceId, spanId } = span.spanContext();
  const provider = new NodeTracerProvider({
    idGenerator: { generateTraceId: () => traceId, generateSpanId: () => spanId },
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const parent = span.parentSpanContext && { ...span.parentSpanContext, traceFlags: TraceFlags.SAMPLED };
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  const made = provider
    .getTracer(SCOPE, VERSION)
    .startSpan(
      span.name,
      { kind: SpanKind.INTERNAL, startTime: span.startTime, attributes: span.attributes, links: [...span.links] },
      context,
    );
  made.setStatus(span.status);
  made.end(span.endTime);
  await provider.forceFlush();
}

type Items = JsonObject[];
const spansIn = (body: JsonObject): Items =>
  (body.resourceSpans as Items).flatMap(resource =>
    (resource.scopeSpans as Items).flatMap(scope => scope.spans as Items),
  );

/** Empty lists, zero counts and flags, which one side writes and the other omits, have the same meaning. */
function comparable(span: JsonObject): JsonObject {
  const stated = Object.entries(span).filter(([name, value]) => {
    if (name === 'flags' || name.startsWith('dropped')) return false;
    return (
      !(Array.isArray(value) && value.length === 0) &&
      value !== '' &&
      JSON.stringify(value) !== '{"code":0}' &&
      JSON.stringify(value) !== '{}'
    );
  });
  return JSON.parse(
    JSON.stringify(Object.fromEntries(stated.sort(([a], [b]) => (a < b ? -1 : 1)))),
    (key, value: unknown) =>
      key === 'intValue'
        ? String(value)
        : key === 'flags' || key === 'droppedAttributesCount' || key === 'traceState'
          ? undefined
          : value,
  ) as JsonObject;
}
