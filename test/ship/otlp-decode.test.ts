import { SpanKind, SpanStatusCode, TraceFlags, ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeAnswer, decodeRequest } from '../../src/telemetry/otlp-decode.ts';
import {
  logs,
  logsJson,
  metrics,
  metricsJson,
  record,
  resourceA,
  resourceB,
  scope,
  span,
  traces,
  tracesJson,
} from './samples.ts';

/**
 * The serializers' own JSON is the expectation. Two differences without meaning are removed: JSON may omit or write
 * defaults, and may write 64-bit numbers as numbers or texts.
 */
function canonical(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map(each => canonical(each, key));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
      .map(([name, each]): [string, unknown] => [name, canonical(each, name)])
      .filter(([name, each]) => !isDefault(name, each));
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  // JSON has only one zero.
  if (value === 0 && !isLong.has(key)) return 0;
  if (typeof value === 'number' && isLong.has(key)) return BigInt(value).toString();
  if (value === null && (key === 'doubleValue' || key === 'asDouble' || key === 'sum')) return 'not finite';
  if ((value === 'NaN' || value === 'Infinity' || value === '-Infinity') && key === 'doubleValue') return 'not finite';
  return value;
}
const isLong = new Set(['intValue', 'count', 'bucketCounts', 'asInt', 'zeroCount']);
const isDefault = (name: string, value: unknown): boolean =>
  // A value of a oneof counts even if it is 0, false or empty.
  !/Value$|^as/.test(name) &&
  (value === 0 ||
    value === '' ||
    value === false ||
    value === '0' ||
    value === undefined ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof value === 'object' && value !== null && Object.keys(value).length === 0));

const hex = (length: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map(bytes => Buffer.from(bytes).toString('hex'));
const time = fc.tuple(fc.integer({ min: 0, max: 4_000_000_000 }), fc.integer({ min: 0, max: 999_999_999 }));
const text = fc.string({ unit: 'binary', maxLength: 12 });
const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
  .filter(each => each !== '__proto__' && !/[\ud800-\udfff](?![\udc00-\udfff])/.test(each));
const whole = fc.integer({ min: -(2 ** 50), max: 2 ** 50 });
// Whole numbers beyond 64 bits are doubles in protobuf and `intValue` in the serializer's JSON: its JSON is wrong there.
const fraction = fc.double().filter(each => !Number.isInteger(each) || Math.abs(each) < 2 ** 63);
const value = fc.oneof(text, whole, fraction, fc.boolean(), fc.array(text, { maxLength: 3 }));
const attributes = fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true });
const context = fc.record({
  traceId: hex(16),
  spanId: hex(8),
  traceFlags: fc.constantFrom(TraceFlags.NONE, TraceFlags.SAMPLED),
  isRemote: fc.boolean(),
});
const resource = fc.constantFrom(resourceA, resourceB);

const spans = fc.array(
  fc
    .record({
      context,
      parent: fc.option(context, { nil: undefined }),
      kind: fc.constantFrom(SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.CONSUMER),
      startTime: time,
      endTime: time,
      attributes,
      events: fc.array(fc.record({ name: text, time, attributes, droppedAttributesCount: fc.nat(9) }), {
        maxLength: 2,
      }),
      links: fc.array(fc.record({ context, attributes, droppedAttributesCount: fc.nat(9) }), { maxLength: 2 }),
      status: fc.record({
        code: fc.constantFrom(SpanStatusCode.UNSET, SpanStatusCode.OK, SpanStatusCode.ERROR),
        message: text,
      }),
      droppedAttributesCount: fc.nat(300),
      resource,
    })
    .map(({ context: own, parent, ...rest }) =>
      span('s', { ...rest, spanContext: () => own, ...(parent ? { parentSpanContext: parent } : {}) }),
    ),
  { minLength: 1, maxLength: 4 },
);

const body = fc.oneof(
  text,
  whole,
  fc.dictionary(name, fc.oneof(value, fc.dictionary(name, value, { maxKeys: 2, noNullPrototype: true })), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
);
const records = fc.array(
  fc
    .record({
      hrTime: time,
      hrTimeObserved: time,
      severityNumber: fc.integer({ min: 0, max: 24 }),
      severityText: text,
      body,
      attributes,
      resource,
      spanContext: fc.option(context, { nil: undefined }),
    })
    .map(more => record('agent_hooks.x', more)),
  { minLength: 1, maxLength: 4 },
);

const counts = fc.array(fc.nat(2 ** 31), { minLength: 4, maxLength: 4 });
const numbers = fc.double({ noNaN: true, noDefaultInfinity: true });
const descriptor = { description: 'd', unit: 's' };
const points = fc
  .record({
    sum: whole,
    gauge: numbers,
    counts,
    offset: fc.integer({ min: -2000, max: 2000 }),
    scale: fc.integer({ min: -10, max: 20 }),
    attributes,
    startTime: time,
    endTime: time,
    min: numbers,
  })
  .map(({ sum, gauge, counts: all, offset, scale, min, ...at }): ResourceMetrics => {
    const temporal = { aggregationTemporality: AggregationTemporality.DELTA };
    const buckets = { offset, bucketCounts: all };
    return {
      resource: resourceB,
      scopeMetrics: [
        {
          scope,
          metrics: [
            {
              ...temporal,
              descriptor: { name: 'sum', valueType: ValueType.INT, ...descriptor },
              dataPointType: DataPointType.SUM,
              isMonotonic: true,
              dataPoints: [{ ...at, value: sum }],
            },
            {
              ...temporal,
              descriptor: { name: 'gauge', valueType: ValueType.DOUBLE, ...descriptor },
              dataPointType: DataPointType.GAUGE,
              dataPoints: [{ ...at, value: gauge }],
            },
            {
              ...temporal,
              descriptor: { name: 'histogram', valueType: ValueType.DOUBLE, ...descriptor },
              dataPointType: DataPointType.HISTOGRAM,
              dataPoints: [
                { ...at, value: { buckets: { boundaries: [0.5, 1, 2], counts: all }, sum: gauge, count: 7, min } },
              ],
            },
            {
              ...temporal,
              descriptor: { name: 'exponential', valueType: ValueType.DOUBLE, ...descriptor },
              dataPointType: DataPointType.EXPONENTIAL_HISTOGRAM,
              dataPoints: [
                {
                  ...at,
                  value: {
                    count: 9,
                    sum: gauge,
                    scale,
                    zeroCount: 2,
                    positive: buckets,
                    negative: buckets,
                    min,
                    max: min,
                  },
                },
              ],
            },
          ],
        },
      ],
    };
  });

describe('decoding requests', () => {
  it("reads spans as the official serializer's JSON has them", () => {
    fc.assert(
      fc.property(spans, all => {
        expect(canonical(decodeRequest('traces', traces(all)))).toEqual(canonical(tracesJson(all)));
      }),
    );
  });

  it("reads records as the official serializer's JSON has them", () => {
    fc.assert(
      fc.property(records, all => {
        expect(canonical(decodeRequest('logs', logs(all)))).toEqual(canonical(logsJson(all)));
      }),
    );
  });

  it("reads metrics as the official serializer's JSON has them", () => {
    fc.assert(
      fc.property(points, all => {
        expect(canonical(decodeRequest('metrics', metrics(all)))).toEqual(canonical(metricsJson(all)));
      }),
    );
  });

  it('writes ids in hex, 64-bit numbers as text, numbers that JSON lacks as words, bytes in base64', () => {
    const decoded = JSON.stringify(
      decodeRequest(
        'traces',
        traces([
          span('s', { attributes: { i: -5, big: 2 ** 60, f: 0.5, no: Number.NaN, up: Number.POSITIVE_INFINITY } }),
        ]),
      ),
    );
    expect(decoded).toContain('"traceId":"0af7651916cd43dd8448eb211c80319c"');
    expect(decoded).toContain('"startTimeUnixNano":"1760000000000000001"');
    expect(decoded).toContain('{"intValue":"-5"}');
    expect(decoded).toContain('{"intValue":"1152921504606846976"}');
    expect(decoded).toContain('{"doubleValue":0.5}');
    expect(decoded).toContain('{"doubleValue":"NaN"}');
    expect(decoded).toContain('{"doubleValue":"Infinity"}');
    expect(JSON.stringify(decodeRequest('logs', logs([record('x', { body: Uint8Array.from([1, 2, 3]) })])))).toContain(
      '{"bytesValue":"AQID"}',
    );
  });

  it('refuses values nested deeper than any serializer writes them', () => {
    let inner = Buffer.from([0x0a, 0x01, 0x78]);
    for (let i = 0; i < 5_000; i += 1) inner = Buffer.concat([Buffer.from([0x0a]), varint(inner.length), inner]);
    expect(() => decodeRequest('logs', inner)).not.toThrow();
    let value = Buffer.from([0x08, 0x01]);
    for (let i = 0; i < 2_000; i += 1) {
      const list = Buffer.concat([Buffer.from([0x0a]), varint(value.length), value]);
      value = Buffer.concat([Buffer.from([0x2a]), varint(list.length), list]);
    }
    const wrap = (tag: number, bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from([tag]), varint(bytes.length), bytes]);
    expect(decodeRequest('logs', wrap(0x0a, wrap(0x12, wrap(0x12, wrap(0x2a, value)))))).toBeUndefined();
  });
});

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

describe('decoding answers', () => {
  const partial = Buffer.from([0x0a, 0x06, 0x08, 0x64, 0x12, 0x02, 0x6e, 0x6f]);
  it.each([
    ['nothing', Buffer.alloc(0), false, { rejected: 0, message: '' }],
    ['partial success in protobuf', partial, false, { rejected: 100, message: 'no' }],
    [
      'partial success in JSON',
      Buffer.from('{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"late"}}'),
      true,
      { rejected: 3, message: 'late' },
    ],
    ['an empty object', Buffer.from('{}'), true, { rejected: 0, message: '' }],
    ['a page', Buffer.from('<html>'), false, undefined],
    ['a sentence that says JSON', Buffer.from('all good'), true, undefined],
    ['a list', Buffer.from('[]'), true, undefined],
    ['null inside', Buffer.from('{"partialSuccess":null}'), true, { rejected: 0, message: '' }],
    ['a negative count', Buffer.from('{"partialSuccess":{"rejectedSpans":-4}}'), true, { rejected: 0, message: '' }],
  ])('%s', (_, bytes, isJson, expected) => {
    expect(decodeAnswer(bytes, isJson)).toEqual(expected);
  });
});
