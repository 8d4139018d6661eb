/**
 * OTLP requests of spans, records and metrics as protobuf, the same bytes that the official serializers make of the same
 * values (a test compares them), in one pass over the values and without an object for each field.
 */
import { type AttributeValue, ValueType } from '@opentelemetry/api';
import type { AnyValue } from '@opentelemetry/api-logs';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { cleanValue, type InParts } from './clean.ts';
import type { RecordInParts } from './logs.ts';
import type { SpanInParts } from './spans.ts';

type Scope = ReadableSpan['instrumentationScope'];
type Value = AttributeValue | AnyValue | undefined;

export function writeSpans(spans: readonly (ReadableSpan | SpanInParts)[]): Uint8Array {
  return writeRequest(spans, writeSpan);
}

export function writeRecords(records: readonly (ReadableLogRecord | RecordInParts)[]): Uint8Array {
  return writeRequest(records, writeRecord);
}

/** An exemplar is a measurement that tells where it was taken. */
export interface Exemplar {
  time: readonly [number, number];
  value: number;
  traceId: string;
  spanId: string;
}

type Exemplified = { exemplars?: readonly Exemplar[] };

export function writeMetrics(resources: readonly ResourceMetrics[]): Uint8Array {
  at = 0;
  edition += 1;
  for (const { resource, scopeMetrics } of resources) {
    const whole = open(0x0a, 3);
    const about = open(0x0a, 1);
    attributes(0x0a, resource.attributes);
    varintField(0x10, 0);
    close(about, 1);
    for (const { scope, metrics } of scopeMetrics) {
      const inScope = open(0x12, 3);
      const named = open(0x0a, 1);
      textField(0x0a, scope.name);
      if (scope.version) textField(0x12, scope.version);
      close(named, 1);
      for (const metric of metrics) writeMetric(metric);
      close(inScope, 3);
    }
    close(whole, 3);
  }
  return Uint8Array.prototype.slice.call(bytes, 0, at);
}

/** What is being written; one request at a time. It grows to the largest request and stays. */
let bytes = Buffer.allocUnsafe(256 * 1024);
let at = 0;

function writeRequest<Item extends { resource: Resource; instrumentationScope: Scope }>(
  items: readonly Item[],
  write: (item: Item) => void,
): Uint8Array {
  at = 0;
  edition += 1;
  for (const [resource, scopes] of grouped(items)) {
    const whole = open(0x0a, 3);
    const about = open(0x0a, 1);
    attributes(0x0a, resource.attributes);
    varintField(0x10, 0);
    close(about, 1);
    for (const [scope, each] of scopes) {
      const inScope = open(0x12, 3);
      const named = open(0x0a, 1);
      textField(0x0a, scope.name);
      if (scope.version) textField(0x12, scope.version);
      close(named, 1);
      for (const item of each) {
        const start = open(0x12, 2);
        write(item);
        close(start, 2);
      }
      if (scope.schemaUrl) textField(0x1a, scope.schemaUrl);
      close(inScope, 3);
    }
    if (resource.schemaUrl) textField(0x1a, resource.schemaUrl);
    close(whole, 3);
  }
  return Uint8Array.prototype.slice.call(bytes, 0, at);
}

function grouped<Item extends { resource: Resource; instrumentationScope: Scope }>(
  items: readonly Item[],
): Map<Resource, Map<Scope, Item[]>> {
  const groups = new Map<Resource, Map<Scope, Item[]>>();
  for (const item of items) {
    const scopes = groups.get(item.resource) ?? new Map<Scope, Item[]>();
    groups.set(item.resource, scopes);
    const known = scopes.get(item.instrumentationScope);
    if (known) known.push(item);
    else scopes.set(item.instrumentationScope, [item]);
  }
  return groups;
}

function writeSpan(span: ReadableSpan | SpanInParts): void {
  const context = span.spanContext();
  hexField(0x0a, context.traceId);
  hexField(0x12, context.spanId);
  const state = context.traceState?.serialize();
  if (state) textField(0x1a, state);
  if (span.parentSpanContext?.spanId) hexField(0x22, span.parentSpanContext.spanId);
  textField(0x2a, span.name);
  varintField(0x30, span.kind + 1);
  timeField(0x39, span.startTime);
  timeField(0x41, span.endTime);
  if ('parts' in span) varintField(0x50, attributesInParts(0x4a, span));
  else {
    attributes(0x4a, span.attributes);
    varintField(0x50, span.droppedAttributesCount);
  }
  for (const event of span.events) {
    const start = open(0x5a, 1);
    timeField(0x09, event.time);
    textField(0x12, event.name);
    if (event.attributes) attributes(0x1a, event.attributes);
    varintField(0x20, event.droppedAttributesCount ?? 0);
    close(start, 1);
  }
  varintField(0x60, span.droppedEventsCount);
  for (const link of span.links) {
    const start = open(0x6a, 1);
    hexField(0x0a, link.context.traceId);
    hexField(0x12, link.context.spanId);
    const linkState = link.context.traceState?.serialize();
    if (linkState) textField(0x1a, linkState);
    if (link.attributes) attributes(0x22, link.attributes);
    varintField(0x28, link.droppedAttributesCount ?? 0);
    fixed32Field(0x35, flagsOf(link.context.traceFlags, link.context.isRemote));
    close(start, 1);
  }
  varintField(0x70, span.droppedLinksCount);
  const status = open(0x7a, 1);
  if (span.status.message) textField(0x12, span.status.message);
  varintField(0x18, span.status.code);
  close(status, 1);
  need(2);
  bytes[at++] = 0x85;
  fixed32Field(0x01, flagsOf(context.traceFlags, span.parentSpanContext?.isRemote));
}

const flagsOf = (flags: number, isRemote: boolean | undefined): number => (flags & 0xff) | (isRemote ? 0x300 : 0x100);

function writeRecord(record: ReadableLogRecord | RecordInParts): void {
  timeField(0x09, record.hrTime);
  if (record.severityNumber) varintField(0x10, record.severityNumber);
  if (record.severityText) textField(0x1a, record.severityText);
  if (record.body !== undefined) {
    const start = open(0x2a, 1);
    value(record.body);
    close(start, 1);
  }
  if ('parts' in record) {
    const dropped = attributesInParts(0x32, record);
    attributes(0x32, record.long);
    varintField(0x38, dropped);
  } else {
    attributes(0x32, record.attributes);
    varintField(0x38, record.droppedAttributesCount);
  }
  const { spanContext } = record;
  if (spanContext?.traceFlags) fixed32Field(0x45, spanContext.traceFlags);
  if (spanContext?.traceId) hexField(0x4a, spanContext.traceId);
  if (spanContext?.spanId) hexField(0x52, spanContext.spanId);
  timeField(0x59, record.hrTimeObserved);
  if (record.eventName) textField(0x62, record.eventName);
}

/** Sums and histograms with bounds; there are no others here. */
function writeMetric(metric: MetricData): void {
  const { name, description, unit, valueType } = metric.descriptor;
  const start = open(0x12, 3);
  textField(0x0a, name);
  if (description) textField(0x12, description);
  if (unit) textField(0x1a, unit);
  const isHistogram = metric.dataPointType === DataPointType.HISTOGRAM;
  const data = open(isHistogram ? 0x4a : 0x3a, 3);
  if (metric.dataPointType === DataPointType.HISTOGRAM) for (const each of metric.dataPoints) writeHistogram(each);
  else if (metric.dataPointType === DataPointType.SUM) {
    for (const each of metric.dataPoints) writeNumber(each, valueType === ValueType.INT);
  }
  varintField(0x10, metric.aggregationTemporality === AggregationTemporality.DELTA ? 1 : 2);
  if (metric.dataPointType === DataPointType.SUM && metric.isMonotonic) varintField(0x18, 1);
  close(data, 3);
  close(start, 3);
}

function writeNumber(point: DataPoint<number> & Exemplified, isWhole: boolean): void {
  const start = open(0x0a, 2);
  timeField(0x11, point.startTime);
  timeField(0x19, point.endTime);
  if (isWhole) fixed64Field(0x31, point.value);
  else doubleField(0x21, point.value);
  for (const exemplar of point.exemplars ?? []) writeExemplar(0x2a, exemplar, isWhole);
  attributes(0x3a, point.attributes);
  close(start, 2);
}

function writeHistogram(point: DataPoint<Histogram> & Exemplified): void {
  const { count, sum, buckets } = point.value;
  const start = open(0x0a, 2);
  timeField(0x11, point.startTime);
  timeField(0x19, point.endTime);
  fixed64Field(0x21, count);
  if (sum !== undefined) doubleField(0x29, sum);
  if (buckets.counts.length > 0) {
    const counts = open(0x32, 1);
    for (const each of buckets.counts) fixed64(each);
    close(counts, 1);
  }
  if (buckets.boundaries.length > 0) {
    const bounds = open(0x3a, 1);
    for (const bound of buckets.boundaries) double(bound);
    close(bounds, 1);
  }
  for (const exemplar of point.exemplars ?? []) writeExemplar(0x42, exemplar, false);
  attributes(0x4a, point.attributes);
  close(start, 2);
}

function writeExemplar(tag: number, { time, value: measured, traceId, spanId }: Exemplar, isWhole: boolean): void {
  const start = open(tag, 1);
  timeField(0x11, time);
  if (isWhole) fixed64Field(0x31, measured);
  else doubleField(0x19, measured);
  hexField(0x22, spanId);
  hexField(0x2a, traceId);
  close(start, 1);
}

function attributes(tag: number, of: { readonly [name: string]: Value }): void {
  for (const name in of) attribute(tag, name, of[name]);
}

/** As `clean` makes one object of them; answers how many were dropped. */
function attributesInParts(tag: number, { parts, limits }: InParts): number {
  const longest = limits.valueLength;
  let count = 0;
  let dropped = 0;
  for (const part of parts) {
    for (const name in part) {
      const raw = part[name];
      if (raw === undefined) continue;
      // A short text is within all limits, and writing makes whole characters of halves by itself.
      const isShort = longest === undefined && typeof raw === 'string' && raw.length < SHORT;
      const cleaned = isShort ? raw : cleanValue(raw, longest);
      if (cleaned === undefined) continue;
      if (count >= limits.attributes) dropped += 1;
      else {
        attribute(tag, name, cleaned);
        count += 1;
      }
    }
  }
  return dropped;
}

const SHORT = 128;

/** Most texts are those of the item before: the session, its agent, its turn. */
function attribute(tag: number, name: string, of: Value): void {
  const known = knownName(name);
  if (typeof of === 'string' && known.value === of && known.edition === edition && known.tag === tag) {
    repeat(known.from, known.to);
    return;
  }
  const start = open(tag, 1);
  blit(known.field);
  const inner = open(0x12, 1);
  value(of);
  close(inner, 1);
  close(start, 1);
  if (typeof of !== 'string') return;
  known.value = of;
  known.edition = edition;
  known.tag = tag;
  known.from = start - 2;
  known.to = at;
}

/** A name as a field, and where the attribute of that name was written last. */
interface KnownName {
  field: Uint8Array;
  tag: number;
  value: string | undefined;
  edition: number;
  from: number;
  to: number;
}

/** Names come from a small set, so their bytes are kept; of names that people choose only as many. */
const MOST_NAMES = 1_024;
const names = new Map<string, KnownName>();

function knownName(name: string): KnownName {
  const known = names.get(name);
  if (known !== undefined) return known;
  const start = at;
  textField(0x0a, name);
  const field = Uint8Array.prototype.slice.call(bytes, start, at);
  at = start;
  const made = { field, tag: 0, value: undefined, edition: 0, from: 0, to: 0 };
  if (names.size < MOST_NAMES) names.set(name, made);
  return made;
}

/** Of what was written; another one when it begins anew, or when some of it was moved. */
let edition = 0;

function repeat(from: number, to: number): void {
  need(to - from);
  const here = bytes;
  let end = at;
  for (let i = from; i < to; i += 1) here[end++] = here[i] as number;
  at = end;
}

function blit(field: Uint8Array): void {
  const { length } = field;
  need(length);
  const here = bytes;
  const start = at;
  for (let i = 0; i < length; i += 1) here[start + i] = field[i] as number;
  at = start + length;
}

function value(of: Value): void {
  if (typeof of === 'string') textField(0x0a, of);
  else if (typeof of === 'boolean') varintField(0x10, of ? 1 : 0);
  else if (typeof of === 'number') {
    if (Number.isInteger(of) && of >= -(2 ** 63) && of < 2 ** 63) varintField(0x18, of);
    else {
      need(9);
      bytes[at++] = 0x21;
      at = bytes.writeDoubleLE(of, at);
    }
  } else if (of instanceof Uint8Array) {
    need(6 + of.length);
    bytes[at++] = 0x3a;
    varint(of.length);
    bytes.set(of, at);
    at += of.length;
  } else if (Array.isArray(of)) {
    const start = open(0x2a, 1);
    for (const item of of) {
      const each = open(0x0a, 1);
      value(item as Value);
      close(each, 1);
    }
    close(start, 1);
  } else if (typeof of === 'object' && of !== null) {
    const start = open(0x32, 1);
    attributes(0x0a, of as { readonly [name: string]: Value });
    close(start, 1);
  }
}

function need(more: number): void {
  if (at + more <= bytes.length) return;
  const grown = Buffer.allocUnsafe(Math.max(bytes.length * 2, at + more));
  bytes.copy(grown, 0, 0, at);
  bytes = grown;
}

/** Begins a message, with room for a length of so many bytes; `close` writes it there, and moves the rest if it has others. */
function open(tag: number, room: number): number {
  need(1 + room);
  bytes[at++] = tag;
  at += room;
  return at;
}

function close(start: number, room: number): void {
  const length = at - start;
  const size = length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x200000 ? 3 : length < 0x10000000 ? 4 : 5;
  if (size !== room) {
    edition += 1;
    need(4);
    bytes.copyWithin(start - room + size, start, at);
    at += size - room;
  }
  let rest = length;
  let to = start - room;
  for (; rest > 0x7f; rest >>>= 7) bytes[to++] = (rest & 0x7f) | 0x80;
  bytes[to] = rest;
}

function varint(number: number): void {
  need(10);
  if (number >= 0 && number <= 0xffffffff) {
    let rest = number >>> 0;
    for (; rest > 0x7f; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
    bytes[at++] = rest;
    return;
  }
  let rest = BigInt.asUintN(64, BigInt(number));
  for (; rest > 0x7fn; rest >>= 7n) bytes[at++] = Number(rest & 0x7fn) | 0x80;
  bytes[at++] = Number(rest);
}

function varintField(tag: number, number: number): void {
  need(1);
  bytes[at++] = tag;
  varint(number);
}

function fixed64Field(tag: number, number: number): void {
  need(1);
  bytes[at++] = tag;
  fixed64(number);
}

/** Of a count: whole, and not below 0. */
function fixed64(number: number): void {
  need(8);
  at = bytes.writeUInt32LE(number % 0x100000000, at);
  at = bytes.writeUInt32LE(Math.floor(number / 0x100000000), at);
}

function doubleField(tag: number, number: number): void {
  need(1);
  bytes[at++] = tag;
  double(number);
}

function double(number: number): void {
  need(8);
  at = bytes.writeDoubleLE(number, at);
}

function fixed32Field(tag: number, number: number): void {
  need(5);
  bytes[at++] = tag;
  at = bytes.writeUInt32LE(number >>> 0, at);
}

/** Seconds and nanoseconds as one 64-bit number of nanoseconds, in two halves that are exact each. */
function timeField(tag: number, [seconds, nanos]: readonly [number, number]): void {
  need(9);
  bytes[at++] = tag;
  // seconds * 1e9 + nanos = (high * 2^16 + low) * 1e9 + nanos
  const high = Math.floor(seconds / 0x10000) * 1e9;
  const low = (seconds % 0x10000) * 1e9 + nanos;
  const sum = (high % 0x10000) * 0x10000 + (low % 0x100000000);
  at = bytes.writeUInt32LE(sum % 0x100000000, at);
  const rest = Math.floor(high / 0x10000) + Math.floor(low / 0x100000000) + Math.floor(sum / 0x100000000);
  at = bytes.writeUInt32LE(rest % 0x100000000, at);
}

function hexField(tag: number, hex: string): void {
  const length = hex.length >> 1;
  need(2 + length);
  const here = bytes;
  let end = at;
  here[end++] = tag;
  here[end++] = length;
  for (let i = 0; i < hex.length; i += 2) here[end++] = (digit(hex.charCodeAt(i)) << 4) | digit(hex.charCodeAt(i + 1));
  at = end;
}

const digit = (code: number): number => (code & 0xf) + (code >> 6) * 9;

function textField(tag: number, text: string): void {
  const { length } = text;
  // Three bytes a character at most, five for the length.
  need(6 + length * 3);
  const here = bytes;
  here[at++] = tag;
  if (length < 0x80) {
    const start = at + 1;
    for (let i = 0; i < length; i += 1) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) {
        longText(text);
        return;
      }
      here[start + i] = code;
    }
    here[at] = length;
    at = start + length;
  } else longText(text);
}

function longText(text: string): void {
  varint(Buffer.byteLength(text));
  at += bytes.write(text, at);
}
