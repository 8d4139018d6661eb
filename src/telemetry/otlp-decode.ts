/**
 * Converts OTLP's protobuf to OTLP/JSON: ids in hex, 64-bit numbers as text, enumerations as numbers, bytes in base64.
 * It serves the providers `console` and `file`, receivers that accept only JSON, and the receiver of the demo.
 *
 * There is one table for each message. Fields of a newer OTLP are left out, as its rules for unknown fields require.
 */
import { fieldsOf, isFields, text } from '../lib/read.ts';
import { bigVarintAt, fieldsIn, NotProtobuf, varintAt } from './wire.ts';

export type Json = string | number | boolean | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

/** Returns undefined if the bytes are not a valid request. */
export function decodeRequest(signal: 'traces' | 'metrics' | 'logs', bytes: Uint8Array): JsonObject | undefined {
  return decode(bytes, { 1: ['message', roots[signal], () => resources[signal], 'repeated'] });
}

export interface PartialSuccess {
  rejected: number;
  message: string;
}

/**
 * Decodes the answer of a receiver. An empty body is full success. Returns undefined if the bytes are not an answer.
 */
export function decodeAnswer(bytes: Uint8Array, isJson: boolean): PartialSuccess | undefined {
  const answer = isJson ? parsed(bytes) : decode(bytes, { 1: ['message', 'partialSuccess', () => partialSuccess] });
  if (!isFields(answer)) return undefined;
  const partial = fieldsOf(answer.partialSuccess);
  const rejected = Number(
    partial.rejectedSpans ?? partial.rejectedLogRecords ?? partial.rejectedDataPoints ?? partial.rejected ?? 0,
  );
  return {
    rejected: Number.isFinite(rejected) && rejected > 0 ? Math.floor(rejected) : 0,
    message: text(partial.errorMessage) ?? '',
  };
}

function parsed(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    // Proxies may answer with a web page. The caller reports that the body was not an OTLP answer.
    return undefined;
  }
}

type Scalar =
  | 'hex'
  | 'text'
  | 'bytes'
  | 'enum'
  | 'uint32'
  | 'sint32'
  | 'int64'
  | 'uint64'
  | 'fixed32'
  | 'fixed64'
  | 'sfixed64'
  | 'double'
  | 'bool';
type Rule =
  | [kind: Scalar, name: string, repeated?: 'repeated']
  | [kind: 'message', name: string, of: () => Message, repeated?: 'repeated'];
interface Message {
  readonly [field: number]: Rule;
}

const keyValue: Message = { 1: ['text', 'key'], 2: ['message', 'value', () => anyValue] };
const anyValue: Message = {
  1: ['text', 'stringValue'],
  2: ['bool', 'boolValue'],
  3: ['int64', 'intValue'],
  4: ['double', 'doubleValue'],
  5: ['message', 'arrayValue', () => ({ 1: ['message', 'values', () => anyValue, 'repeated'] })],
  6: ['message', 'kvlistValue', () => ({ 1: ['message', 'values', () => keyValue, 'repeated'] })],
  7: ['bytes', 'bytesValue'],
};
const attributes: Rule = ['message', 'attributes', () => keyValue, 'repeated'];
const dropped: Rule = ['uint32', 'droppedAttributesCount'];
const resource: Message = { 1: attributes, 2: dropped };
const scope: Message = { 1: ['text', 'name'], 2: ['text', 'version'], 3: attributes, 4: dropped };

const framed = (scopes: string, items: string, item: () => Message): Message => ({
  1: ['message', 'resource', () => resource],
  2: [
    'message',
    scopes,
    () => ({ 1: ['message', 'scope', () => scope], 2: ['message', items, item, 'repeated'], 3: ['text', 'schemaUrl'] }),
    'repeated',
  ],
  3: ['text', 'schemaUrl'],
});

const span: Message = {
  1: ['hex', 'traceId'],
  2: ['hex', 'spanId'],
  3: ['text', 'traceState'],
  4: ['hex', 'parentSpanId'],
  5: ['text', 'name'],
  6: ['enum', 'kind'],
  7: ['fixed64', 'startTimeUnixNano'],
  8: ['fixed64', 'endTimeUnixNano'],
  9: attributes,
  10: dropped,
  11: [
    'message',
    'events',
    () => ({ 1: ['fixed64', 'timeUnixNano'], 2: ['text', 'name'], 3: attributes, 4: dropped }),
    'repeated',
  ],
  12: ['uint32', 'droppedEventsCount'],
  13: [
    'message',
    'links',
    () => ({
      1: ['hex', 'traceId'],
      2: ['hex', 'spanId'],
      3: ['text', 'traceState'],
      4: attributes,
      5: dropped,
      6: ['fixed32', 'flags'],
    }),
    'repeated',
  ],
  14: ['uint32', 'droppedLinksCount'],
  15: ['message', 'status', () => ({ 2: ['text', 'message'], 3: ['enum', 'code'] })],
  16: ['fixed32', 'flags'],
};

const record: Message = {
  1: ['fixed64', 'timeUnixNano'],
  2: ['enum', 'severityNumber'],
  3: ['text', 'severityText'],
  5: ['message', 'body', () => anyValue],
  6: attributes,
  7: dropped,
  8: ['fixed32', 'flags'],
  9: ['hex', 'traceId'],
  10: ['hex', 'spanId'],
  11: ['fixed64', 'observedTimeUnixNano'],
  12: ['text', 'eventName'],
};

const exemplars: Rule = [
  'message',
  'exemplars',
  () => ({
    2: ['fixed64', 'timeUnixNano'],
    3: ['double', 'asDouble'],
    4: ['hex', 'spanId'],
    5: ['hex', 'traceId'],
    6: ['sfixed64', 'asInt'],
    7: ['message', 'filteredAttributes', () => keyValue, 'repeated'],
  }),
  'repeated',
];
const start: Rule = ['fixed64', 'startTimeUnixNano'];
const time: Rule = ['fixed64', 'timeUnixNano'];
const number: Message = {
  2: start,
  3: time,
  4: ['double', 'asDouble'],
  5: exemplars,
  6: ['sfixed64', 'asInt'],
  7: attributes,
  8: ['uint32', 'flags'],
};
const histogram: Message = {
  2: start,
  3: time,
  4: ['fixed64', 'count'],
  5: ['double', 'sum'],
  6: ['fixed64', 'bucketCounts', 'repeated'],
  7: ['double', 'explicitBounds', 'repeated'],
  8: exemplars,
  9: attributes,
  10: ['uint32', 'flags'],
  11: ['double', 'min'],
  12: ['double', 'max'],
};
const buckets: Message = { 1: ['sint32', 'offset'], 2: ['uint64', 'bucketCounts', 'repeated'] };
const exponential: Message = {
  1: attributes,
  2: start,
  3: time,
  4: ['fixed64', 'count'],
  5: ['double', 'sum'],
  6: ['sint32', 'scale'],
  7: ['fixed64', 'zeroCount'],
  8: ['message', 'positive', () => buckets],
  9: ['message', 'negative', () => buckets],
  10: ['uint32', 'flags'],
  11: exemplars,
  12: ['double', 'min'],
  13: ['double', 'max'],
  14: ['double', 'zeroThreshold'],
};
const summary: Message = {
  2: start,
  3: time,
  4: ['fixed64', 'count'],
  5: ['double', 'sum'],
  6: ['message', 'quantileValues', () => ({ 1: ['double', 'quantile'], 2: ['double', 'value'] }), 'repeated'],
  7: attributes,
  8: ['uint32', 'flags'],
};
const points = (of: () => Message): Message => ({
  1: ['message', 'dataPoints', of, 'repeated'],
  2: ['enum', 'aggregationTemporality'],
  3: ['bool', 'isMonotonic'],
});
const metric: Message = {
  1: ['text', 'name'],
  2: ['text', 'description'],
  3: ['text', 'unit'],
  5: ['message', 'gauge', () => points(() => number)],
  7: ['message', 'sum', () => points(() => number)],
  9: ['message', 'histogram', () => points(() => histogram)],
  10: ['message', 'exponentialHistogram', () => points(() => exponential)],
  11: ['message', 'summary', () => points(() => summary)],
  12: ['message', 'metadata', () => keyValue, 'repeated'],
};

const roots = { traces: 'resourceSpans', metrics: 'resourceMetrics', logs: 'resourceLogs' };
const resources: { [signal in keyof typeof roots]: Message } = {
  traces: framed('scopeSpans', 'spans', () => span),
  metrics: framed('scopeMetrics', 'metrics', () => metric),
  logs: framed('scopeLogs', 'logRecords', () => record),
};
const partialSuccess: Message = { 1: ['int64', 'rejected'], 2: ['text', 'errorMessage'] };

/** No known serializer writes deeper values. */
const DEEPEST = 200;

function decode(bytes: Uint8Array, message: Message): JsonObject | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return read(bytes, view, 0, bytes.length, message, 0);
  } catch (error) {
    if (error instanceof NotProtobuf) return undefined;
    throw error;
  }
}

function read(
  bytes: Uint8Array,
  view: DataView,
  from: number,
  end: number,
  message: Message,
  depth: number,
): JsonObject {
  if (depth > DEEPEST) throw new NotProtobuf('nested too deeply');
  const object: JsonObject = {};
  for (const field of fieldsIn(bytes, from, end)) {
    const rule = message[field.number];
    if (rule === undefined) continue;
    const name = rule[1];
    if (rule[0] === 'message') {
      if (field.wire !== 2) throw new NotProtobuf(`${name} is no message`);
      const value = read(bytes, view, field.from, field.end, rule[2](), depth + 1);
      if (rule[3] === 'repeated') append(object, name, value);
      else object[name] = value;
      continue;
    }
    const [kind, , repeated] = rule;
    if (repeated !== 'repeated') {
      object[name] = scalar(bytes, view, field.from, field.end, kind, field.wire).value;
      continue;
    }
    // Repeated numbers are packed or separate fields; readers must accept both.
    const wire = field.wire === 2 ? wireOf(kind) : field.wire;
    object[name] ??= [];
    for (let at = field.from; at < field.end; ) {
      const each = scalar(bytes, view, at, field.end, kind, wire);
      append(object, name, each.value);
      at = each.end;
    }
  }
  return object;
}

function append(object: JsonObject, name: string, value: Json): void {
  const list = object[name];
  if (Array.isArray(list)) list.push(value);
  else object[name] = [value];
}

const wireOf = (kind: Scalar): number => {
  if (kind === 'hex' || kind === 'text' || kind === 'bytes') return 2;
  if (kind === 'fixed64' || kind === 'sfixed64' || kind === 'double') return 1;
  return kind === 'fixed32' ? 5 : 0;
};

function scalar(
  bytes: Uint8Array,
  view: DataView,
  from: number,
  end: number,
  kind: Scalar,
  wire: number,
): { value: Json; end: number } {
  if (wire !== wireOf(kind)) throw new NotProtobuf(`wire type ${wire} for ${kind}`);
  if (wire === 1 && from + 8 > end) throw new NotProtobuf('eight bytes were cut');
  if (wire === 5 && from + 4 > end) throw new NotProtobuf('four bytes were cut');
  const after = wire === 1 ? from + 8 : wire === 5 ? from + 4 : end;
  const part = (encoding: BufferEncoding): string =>
    Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString(encoding);
  switch (kind) {
    case 'hex':
      return { value: part('hex'), end: after };
    case 'text':
      return { value: part('utf8'), end: after };
    case 'bytes':
      return { value: part('base64'), end: after };
    case 'fixed64':
      return { value: view.getBigUint64(from, true).toString(), end: after };
    case 'sfixed64':
      return { value: view.getBigInt64(from, true).toString(), end: after };
    case 'double':
      return { value: double(view.getFloat64(from, true)), end: after };
    case 'fixed32':
      return { value: view.getUint32(from, true), end: after };
    case 'int64': {
      const big = bigVarintAt(bytes, from, end);
      return { value: BigInt.asIntN(64, big.value).toString(), end: big.end };
    }
    case 'uint64': {
      const big = bigVarintAt(bytes, from, end);
      return { value: big.value.toString(), end: big.end };
    }
    case 'bool': {
      const plain = varintAt(bytes, from, end);
      return { value: plain.value !== 0, end: plain.end };
    }
    case 'sint32': {
      const plain = varintAt(bytes, from, end);
      return { value: (plain.value >>> 1) ^ -(plain.value & 1), end: plain.end };
    }
    default:
      return varintAt(bytes, from, end);
  }
}

/** Protobuf's JSON mapping uses words for values that JSON numbers cannot express. */
const double = (value: number): number | string => (Number.isFinite(value) ? value : String(value));
