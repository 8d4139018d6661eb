/**
 * Bodies follow the official protobuf definitions: decoded by them they have no unknown field, and the same values as
 * our decoder finds.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ProtobufLogsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { expect, test } from 'vitest';
import type { FinishedRecord, FinishedSpan } from '../../src/assemble/finished.ts';
import type { Event } from '../../src/event/event.ts';
import { encodeBatches } from '../../src/telemetry/batch.ts';
import { incrementsOf } from '../../src/telemetry/increments.ts';
import { mapRecord } from '../../src/telemetry/logs.ts';
import { encodeMetrics } from '../../src/telemetry/metric-points.ts';
import { addTo, noMetrics } from '../../src/telemetry/metric-state.ts';
import { decodeRequest, type JsonObject } from '../../src/telemetry/otlp-decode.ts';
import { resourceOf } from '../../src/telemetry/resource.ts';
import { mapSpan, type SpanContextFacts } from '../../src/telemetry/spans.ts';
import { readJourney } from '../journeys/read.ts';
import { readableRecordOf, readableSpanOf, writer } from '../otlp.ts';
import { limits, play, START_MS } from '../play.ts';

/** The types that protobufjs made from the definitions, with its conversion to plain objects. */
interface Definition {
  decode(bytes: Uint8Array): object;
  encode(message: object): { finish(): Uint8Array };
  toObject(message: object, options: object): JsonObject;
}
// The last version of the official package that was made from the definitions themselves.
const { opentelemetry } = createRequire(import.meta.url)('otlp-definitions/build/src/generated/root.js') as {
  opentelemetry: {
    proto: {
      collector: {
        trace: { v1: { ExportTraceServiceRequest: Definition } };
        logs: { v1: { ExportLogsServiceRequest: Definition } };
        metrics: { v1: { ExportMetricsServiceRequest: Definition } };
      };
    };
  };
};
const { trace, logs, metrics } = opentelemetry.proto.collector;
const definitions = {
  traces: trace.v1.ExportTraceServiceRequest,
  logs: logs.v1.ExportLogsServiceRequest,
  metrics: metrics.v1.ExportMetricsServiceRequest,
};

const folder = join(import.meta.dirname, '..', 'journeys', 'cases');
const journeys = readdirSync(folder).map(file => {
  const { hooks, shape } = readJourney(readFileSync(join(folder, file), 'utf8'));
  return play(hooks, false, shape);
});

test('every body of every journey decodes with the official definitions, and has no unknown field', () => {
  for (const { events, spans, records } of journeys) {
    for (const [signal, bytes] of bodiesOf(events, spans, records)) {
      const definition = definitions[signal];
      const message = definition.decode(bytes);
      // Unknown fields would be lost.
      expect(definition.encode(message).finish()).toHaveLength(bytes.length);
      const theirs = definition.toObject(message, { longs: String, bytes: String, enums: Number, defaults: false });
      expect(withHexIds(theirs)).toEqual(decodeRequest(signal, bytes));
    }
  }
});

test('an item that is written in parts has the bytes of the official serializer', () => {
  const narrow = { attributes: 9, valueLength: 3 };
  const ways: Partial<SpanContextFacts>[] = [
    {},
    { semconv: 'both', denyAsError: true, user: 'someone' },
    { semconv: 'v1.36', turns: 'off' },
    { formerName: 'claude' },
    { limits: { ...limits, span: { ...limits.span, ...narrow }, log: { ...limits.log, ...narrow } } },
  ];
  for (const { spans, records } of journeys) {
    for (const way of ways) {
      for (const span of spans) {
        const facts = { ...factsOf(span), ...way };
        const theirs = ProtobufTraceSerializer.serializeRequest([readableSpanOf(span, facts, resource)]);
        expect(Buffer.compare(writer.spans([mapSpan(span, facts, resource)]), theirs ?? new Uint8Array())).toBe(0);
      }
      for (const record of records) {
        const facts = { ...factsOf(record), ...way };
        const theirs = ProtobufLogsSerializer.serializeRequest([readableRecordOf(record, facts, resource)]);
        expect(Buffer.compare(writer.records([mapRecord(record, facts, resource)]), theirs ?? new Uint8Array())).toBe(
          0,
        );
      }
    }
  }
});

const resource = resourceOf({ 'service.name': 'x' });
const factsOf = ({ trace: { agent, session } }: FinishedSpan | FinishedRecord): SpanContextFacts => ({
  ...{ agent, session, provider: 'anthropic', denyAsError: false, limits },
});

function bodiesOf(
  events: readonly Event[],
  spans: FinishedSpan[],
  records: FinishedRecord[],
): [signal: keyof typeof definitions, bytes: Uint8Array][] {
  const [first] = records;
  if (first === undefined) return [];
  const { agent, session } = first.trace;
  const facts = { agent, session, provider: 'anthropic', denyAsError: false, limits };
  const batches = encodeBatches([{ spans, records, facts, resource: { 'service.name': agent } }]);
  const state = noMetrics();
  const locate = () => ({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' });
  const increments = incrementsOf(events, spans, agent, () => true, { records });
  addTo(state, { 'service.name': agent }, increments, START_MS, { locate });
  const measured = (['cumulative', 'delta'] as const).flatMap(
    temporality => encodeMetrics(state, START_MS + 1, temporality)?.bodies ?? [],
  );
  return [
    ...batches.map(({ signal, bytes }) => [signal, bytes] as [typeof signal, Uint8Array]),
    ...measured.map(({ bytes }) => ['metrics', bytes] as ['metrics', Uint8Array]),
  ];
}

/** Bytes come as base64; ids are written in hex in OTLP's JSON. */
function withHexIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withHexIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      /^(?:traceId|spanId|parentSpanId)$/.test(name)
        ? Buffer.from(String(each), 'base64').toString('hex')
        : withHexIds(each),
    ]),
  );
}
