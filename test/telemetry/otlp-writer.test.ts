/** Our bytes of spans and records equal the bytes of OpenTelemetry's own serializers. */

import { createTraceState, type Link, type SpanContext, ValueType } from '@opentelemetry/api';
import type { AnyValue } from '@opentelemetry/api-logs';
import {
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import { AggregationTemporality, DataPointType, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clean } from '../../src/telemetry/clean.ts';
import { writer } from '../otlp.ts';

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  // Lengths around which a length takes another byte, in characters of one byte and of several.
  fc
    .tuple(fc.constantFrom('a', 'é', '漢', '🙂', '\ud800'), fc.constantFrom(42, 63, 126, 127, 128, 129, 5_461, 16_384))
    .map(([character, count]) => character.repeat(count)),
);
const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, 2 ** 31, 2 ** 32 - 1, 2 ** 32, -(2 ** 32), 2 ** 53, 2 ** 62, 2 ** 63, -(2 ** 63), -(2 ** 64)),
);
const plain = fc.oneof(text, number, fc.boolean());
const attributes = fc.dictionary(
  text,
  fc.oneof(plain, fc.array(text, { maxLength: 4 }), fc.array(number, { maxLength: 4 }), fc.constant(undefined)),
  { maxKeys: 8 },
);
const { any } = fc.letrec<{ any: AnyValue }>(again => ({
  any: fc.oneof(
    { maxDepth: 3 },
    plain,
    fc.constantFrom(null, undefined),
    fc.uint8Array({ maxLength: 200 }),
    fc.array(again('any'), { maxLength: 4 }),
    fc.dictionary(text, again('any'), { maxKeys: 4 }),
  ),
}));
const count = fc.oneof(fc.constant(0), fc.nat(), fc.constantFrom(127, 128, 2 ** 32 - 1));
const time = fc.tuple(fc.integer({ min: 0, max: 2 ** 34 - 1 }), fc.integer({ min: 0, max: 999_999_999 }));
const hex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map(bytes => Buffer.from(bytes).toString('hex'));
const context: fc.Arbitrary<SpanContext> = fc.record(
  {
    traceId: hex(16),
    spanId: hex(8),
    traceFlags: fc.constantFrom(0, 1, 255),
    isRemote: fc.boolean(),
    traceState: fc.constantFrom('', 'a=1', 'a=1,b=2').map(createTraceState),
  },
  { requiredKeys: ['traceId', 'spanId', 'traceFlags'] },
);
/** Few values, so that items share them, and equal ones are not always neighbours. */
const resources = fc
  .array(attributes, { minLength: 1, maxLength: 3 })
  .map(all => all.map(each => resourceFromAttributes(each)));
const scopes = fc.array(fc.record({ name: text, version: text, schemaUrl: text }, { requiredKeys: ['name'] }), {
  minLength: 1,
  maxLength: 3,
});

const link: fc.Arbitrary<Link> = fc.record(
  { context, attributes, droppedAttributesCount: count },
  { requiredKeys: ['context'] },
);
const event = fc.record(
  { time, name: text, attributes, droppedAttributesCount: count },
  { requiredKeys: ['time', 'name'] },
);
const span = fc.record(
  {
    name: text,
    kind: fc.nat({ max: 4 }),
    own: context,
    parentSpanContext: context,
    startTime: time,
    endTime: time,
    duration: time,
    status: fc.record({ code: fc.nat({ max: 2 }), message: text }, { requiredKeys: ['code'] }),
    attributes,
    links: fc.array(link, { maxLength: 3 }),
    events: fc.array(event, { maxLength: 3 }),
    ended: fc.constant(true),
    droppedAttributesCount: count,
    droppedEventsCount: count,
    droppedLinksCount: count,
    of: fc.nat(),
  },
  {
    noNullPrototype: true,
    requiredKeys: [
      'name',
      'kind',
      'own',
      'startTime',
      'endTime',
      'duration',
      'status',
      'attributes',
      'links',
      'events',
      'ended',
      'droppedAttributesCount',
      'droppedEventsCount',
      'droppedLinksCount',
      'of',
    ],
  },
);
const record = fc.record(
  {
    hrTime: time,
    hrTimeObserved: time,
    spanContext: context,
    severityNumber: fc.nat({ max: 24 }),
    severityText: text,
    body: any,
    eventName: text,
    attributes: fc.dictionary(text, any, { maxKeys: 6 }),
    droppedAttributesCount: count,
    of: fc.nat(),
  },
  { requiredKeys: ['hrTime', 'hrTimeObserved', 'attributes', 'droppedAttributesCount', 'of'] },
);

test('spans are written as the official serializer writes them', () => {
  fc.assert(
    fc.property(fc.array(span, { maxLength: 6 }), resources, scopes, (values, of, within) => {
      const spans = values.map(({ own, ...rest }) => ({
        ...rest,
        ...placed(rest.of, of, within),
        spanContext: () => own,
      }));
      const theirs = ProtobufTraceSerializer.serializeRequest(spans as unknown as ReadableSpan[]);
      expect(hexOf(writer.spans(spans as unknown as ReadableSpan[]))).toBe(hexOf(theirs));
    }),
  );
});

test('records are written as the official serializer writes them', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 6 }), resources, scopes, (values, of, within) => {
      const records = values.map(each => ({ ...each, ...placed(each.of, of, within) }));
      const theirs = ProtobufLogsSerializer.serializeRequest(records as unknown as ReadableLogRecord[]);
      expect(hexOf(writer.records(records as unknown as ReadableLogRecord[]))).toBe(hexOf(theirs));
    }),
  );
});

test('attributes in parts are written as the official serializer writes the object that is made of them', () => {
  const limit = fc.record(
    { attributes: fc.integer({ min: 0, max: 8 }), valueLength: fc.constantFrom(0, 1, 3, 130) },
    { requiredKeys: ['attributes'] },
  );
  const poison = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, 'x\ud83d', '\udc00x', '漢'.repeat(900));
  const own = fc.dictionary(text, fc.oneof(plain, poison, fc.array(text, { maxLength: 70 }), fc.constant(undefined)));
  fc.assert(
    fc.property(fc.array(own, { maxLength: 4 }), limit, count, (all, limits, number) => {
      // No name occurs in two parts.
      const parts = all.map((part, i) =>
        Object.fromEntries(Object.entries(part).map(([name, v]) => [`n${i}${name}`, v])),
      );
      const { attributes: _, droppedAttributesCount: __, ...rest } = recordOf('x'.repeat(number % 300));
      const { kept, dropped } = clean(parts, limits);
      const one = { ...rest, attributes: kept as ReadableLogRecord['attributes'], droppedAttributesCount: dropped };
      const theirs = ProtobufLogsSerializer.serializeRequest([one, one]);
      const inParts = { ...rest, parts, limits, long: {} };
      expect(hexOf(writer.records([inParts, inParts]))).toBe(hexOf(theirs));
    }),
  );
});

const whole = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1));
const labels = fc.dictionary(text, text, { maxKeys: 4 });
const metric = fc
  .tuple(
    fc.record({ name: text, unit: text, description: text }),
    fc.constantFrom(AggregationTemporality.DELTA, AggregationTemporality.CUMULATIVE),
    fc.constantFrom('whole', 'fractional', 'histogram'),
    fc.array(fc.tuple(time, time, labels, whole, fc.double(), fc.array(whole, { maxLength: 20 })), { maxLength: 4 }),
  )
  .map(([descriptor, aggregationTemporality, kind, points]) =>
    kind === 'histogram'
      ? {
          descriptor: { ...descriptor, valueType: ValueType.DOUBLE },
          aggregationTemporality,
          dataPointType: DataPointType.HISTOGRAM as const,
          dataPoints: points.map(([startTime, endTime, labelled, count, sum, counts]) => {
            const value = { count, sum, buckets: { boundaries: counts.slice(1).map((_, i) => i / 3), counts } };
            return { startTime, endTime, attributes: labelled, value };
          }),
        }
      : {
          descriptor: { ...descriptor, valueType: kind === 'whole' ? ValueType.INT : ValueType.DOUBLE },
          aggregationTemporality,
          dataPointType: DataPointType.SUM as const,
          isMonotonic: true,
          dataPoints: points.map(([startTime, endTime, labelled, count, sum]) => {
            return { startTime, endTime, attributes: labelled, value: kind === 'whole' ? count : sum };
          }),
        },
  );

test('metrics are written as the official serializer writes them', () => {
  fc.assert(
    fc.property(fc.array(metric, { maxLength: 4 }), resources, text, (metrics, of, version) => {
      const all: ResourceMetrics[] = of.map(resource => ({
        resource,
        scopeMetrics: [{ scope: { name: 'x', version }, metrics }],
      }));
      const theirs = Buffer.concat(
        all.map(each => ProtobufMetricsSerializer.serializeRequest(each) ?? new Uint8Array()),
      );
      expect(hexOf(writer.metrics(all))).toBe(hexOf(theirs));
    }),
  );
});

test('a request larger than any before is whole, and the next one is not changed by it', () => {
  const large = { ...recordOf('x'.repeat(1_000_000)), attributes: { text: 'é'.repeat(700_000) } };
  const first = writer.records([recordOf('first')]);
  const before = hexOf(first);
  expect(hexOf(writer.records([large]))).toBe(hexOf(ProtobufLogsSerializer.serializeRequest([large])));
  expect(hexOf(first)).toBe(before);
});

function placed<R, S>(of: number, resources: readonly R[], scopes: readonly S[]) {
  return { resource: resources[of % resources.length], instrumentationScope: scopes[of % scopes.length] };
}

const recordOf = (body: string): ReadableLogRecord => ({
  hrTime: [1_772_442_000, 5],
  hrTimeObserved: [1_772_442_001, 0],
  resource: resourceFromAttributes({ 'service.name': 'x' }),
  instrumentationScope: { name: 'x' },
  attributes: {},
  droppedAttributesCount: 0,
  body,
});

const hexOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex');
