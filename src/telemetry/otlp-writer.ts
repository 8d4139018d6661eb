/**
 * Writes OTLP requests of spans, records and metrics as protobuf, in one pass over the values. The bytes are equal to
 * those of the official serializers (a test compares them).
 */
import { ValueType } from '@opentelemetry/api';
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
import type { MappedRecord } from './logs.ts';
import { ProtobufBuffer } from './protobuf-buffer.ts';
import type { MappedSpan } from './spans.ts';

type Scope = ReadableSpan['instrumentationScope'];

/** An exemplar is a measurement with the ids of its span. */
export interface Exemplar {
  time: readonly [number, number];
  value: number;
  traceId: string;
  spanId: string;
}

type Exemplified = { exemplars?: readonly Exemplar[] };

/** Keeps its buffer from request to request, so one writer serves a whole process. */
export class OtlpWriter {
  private readonly out = new ProtobufBuffer();

  spans(spans: readonly (ReadableSpan | MappedSpan)[]): Uint8Array {
    return this.request(spans, writeSpan);
  }

  records(records: readonly (ReadableLogRecord | MappedRecord)[]): Uint8Array {
    return this.request(records, writeRecord);
  }

  metrics(resources: readonly ResourceMetrics[]): Uint8Array {
    const { out } = this;
    out.begin();
    for (const { resource, scopeMetrics } of resources) {
      const whole = out.open(0x0a, 3);
      writeResource(out, resource);
      for (const { scope, metrics } of scopeMetrics) {
        const inScope = out.open(0x12, 3);
        writeScope(out, scope);
        for (const metric of metrics) writeMetric(out, metric);
        out.close(inScope, 3);
      }
      out.close(whole, 3);
    }
    return out.written();
  }

  private request<Item extends { resource: Resource; instrumentationScope: Scope }>(
    items: readonly Item[],
    write: (out: ProtobufBuffer, item: Item) => void,
  ): Uint8Array {
    const { out } = this;
    out.begin();
    for (const [resource, scopes] of grouped(items)) {
      const whole = out.open(0x0a, 3);
      writeResource(out, resource);
      for (const [scope, each] of scopes) {
        const inScope = out.open(0x12, 3);
        writeScope(out, scope);
        for (const item of each) {
          const start = out.open(0x12, 2);
          write(out, item);
          out.close(start, 2);
        }
        if (scope.schemaUrl) out.textField(0x1a, scope.schemaUrl);
        out.close(inScope, 3);
      }
      if (resource.schemaUrl) out.textField(0x1a, resource.schemaUrl);
      out.close(whole, 3);
    }
    return out.written();
  }
}

function writeResource(out: ProtobufBuffer, resource: Resource): void {
  const start = out.open(0x0a, 1);
  out.attributes(0x0a, resource.attributes);
  out.varintField(0x10, 0);
  out.close(start, 1);
}

function writeScope(out: ProtobufBuffer, scope: Scope): void {
  const start = out.open(0x0a, 1);
  out.textField(0x0a, scope.name);
  if (scope.version) out.textField(0x12, scope.version);
  out.close(start, 1);
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

function writeSpan(out: ProtobufBuffer, span: ReadableSpan | MappedSpan): void {
  const context = span.spanContext();
  out.hexField(0x0a, context.traceId);
  out.hexField(0x12, context.spanId);
  const state = context.traceState?.serialize();
  if (state) out.textField(0x1a, state);
  if (span.parentSpanContext?.spanId) out.hexField(0x22, span.parentSpanContext.spanId);
  out.textField(0x2a, span.name);
  out.varintField(0x30, span.kind + 1);
  out.timeField(0x39, span.startTime);
  out.timeField(0x41, span.endTime);
  if ('parts' in span) out.varintField(0x50, attributesInParts(out, 0x4a, span));
  else {
    out.attributes(0x4a, span.attributes);
    out.varintField(0x50, span.droppedAttributesCount);
  }
  for (const event of span.events) {
    const start = out.open(0x5a, 1);
    out.timeField(0x09, event.time);
    out.textField(0x12, event.name);
    if (event.attributes) out.attributes(0x1a, event.attributes);
    out.varintField(0x20, event.droppedAttributesCount ?? 0);
    out.close(start, 1);
  }
  out.varintField(0x60, span.droppedEventsCount);
  for (const link of span.links) {
    const start = out.open(0x6a, 1);
    out.hexField(0x0a, link.context.traceId);
    out.hexField(0x12, link.context.spanId);
    const linkState = link.context.traceState?.serialize();
    if (linkState) out.textField(0x1a, linkState);
    if (link.attributes) out.attributes(0x22, link.attributes);
    out.varintField(0x28, link.droppedAttributesCount ?? 0);
    out.fixed32Field(0x35, flagsOf(link.context.traceFlags, link.context.isRemote));
    out.close(start, 1);
  }
  out.varintField(0x70, span.droppedLinksCount);
  const status = out.open(0x7a, 1);
  if (span.status.message) out.textField(0x12, span.status.message);
  out.varintField(0x18, span.status.code);
  out.close(status, 1);
  out.longTagFixed32Field(0x85, 0x01, flagsOf(context.traceFlags, span.parentSpanContext?.isRemote));
}

const flagsOf = (flags: number, isRemote: boolean | undefined): number => (flags & 0xff) | (isRemote ? 0x300 : 0x100);

function writeRecord(out: ProtobufBuffer, record: ReadableLogRecord | MappedRecord): void {
  out.timeField(0x09, record.hrTime);
  if (record.severityNumber) out.varintField(0x10, record.severityNumber);
  if (record.severityText) out.textField(0x1a, record.severityText);
  if (record.body !== undefined) {
    const start = out.open(0x2a, 1);
    out.value(record.body);
    out.close(start, 1);
  }
  if ('parts' in record) {
    const dropped = attributesInParts(out, 0x32, record);
    out.attributes(0x32, record.long);
    out.varintField(0x38, dropped);
  } else {
    out.attributes(0x32, record.attributes);
    out.varintField(0x38, record.droppedAttributesCount);
  }
  const { spanContext } = record;
  if (spanContext?.traceFlags) out.fixed32Field(0x45, spanContext.traceFlags);
  if (spanContext?.traceId) out.hexField(0x4a, spanContext.traceId);
  if (spanContext?.spanId) out.hexField(0x52, spanContext.spanId);
  out.timeField(0x59, record.hrTimeObserved);
  if (record.eventName) out.textField(0x62, record.eventName);
}

/** Writes a gauge, a sum or a histogram with bounds. Other kinds of metrics are not used. */
function writeMetric(out: ProtobufBuffer, metric: MetricData): void {
  const { name, description, unit, valueType } = metric.descriptor;
  const start = out.open(0x12, 3);
  out.textField(0x0a, name);
  if (description) out.textField(0x12, description);
  if (unit) out.textField(0x1a, unit);
  const { dataPointType: type } = metric;
  const isGauge = type === DataPointType.GAUGE;
  const data = out.open(type === DataPointType.HISTOGRAM ? 0x4a : isGauge ? 0x2a : 0x3a, 3);
  if (type === DataPointType.HISTOGRAM) for (const each of metric.dataPoints) writeHistogram(out, each);
  else if (type === DataPointType.SUM || type === DataPointType.GAUGE) {
    for (const each of metric.dataPoints) writeNumber(out, each, valueType === ValueType.INT);
  }
  if (!isGauge) out.varintField(0x10, metric.aggregationTemporality === AggregationTemporality.DELTA ? 1 : 2);
  if (metric.dataPointType === DataPointType.SUM && metric.isMonotonic) out.varintField(0x18, 1);
  out.close(data, 3);
  out.close(start, 3);
}

function writeNumber(out: ProtobufBuffer, point: DataPoint<number> & Exemplified, isWhole: boolean): void {
  const start = out.open(0x0a, 2);
  out.timeField(0x11, point.startTime);
  out.timeField(0x19, point.endTime);
  if (isWhole) out.fixed64Field(0x31, point.value);
  else out.doubleField(0x21, point.value);
  for (const exemplar of point.exemplars ?? []) writeExemplar(out, 0x2a, exemplar, isWhole);
  out.attributes(0x3a, point.attributes);
  out.close(start, 2);
}

function writeHistogram(out: ProtobufBuffer, point: DataPoint<Histogram> & Exemplified): void {
  const { count, sum, buckets } = point.value;
  const start = out.open(0x0a, 2);
  out.timeField(0x11, point.startTime);
  out.timeField(0x19, point.endTime);
  out.fixed64Field(0x21, count);
  if (sum !== undefined) out.doubleField(0x29, sum);
  if (buckets.counts.length > 0) {
    const counts = out.open(0x32, 1);
    for (const each of buckets.counts) out.fixed64(each);
    out.close(counts, 1);
  }
  if (buckets.boundaries.length > 0) {
    const bounds = out.open(0x3a, 1);
    for (const bound of buckets.boundaries) out.double(bound);
    out.close(bounds, 1);
  }
  for (const exemplar of point.exemplars ?? []) writeExemplar(out, 0x42, exemplar, false);
  out.attributes(0x4a, point.attributes);
  out.close(start, 2);
}

function writeExemplar(
  out: ProtobufBuffer,
  tag: number,
  { time, value: measured, traceId, spanId }: Exemplar,
  isWhole: boolean,
): void {
  const start = out.open(tag, 1);
  out.timeField(0x11, time);
  if (isWhole) out.fixed64Field(0x31, measured);
  else out.doubleField(0x19, measured);
  out.hexField(0x22, spanId);
  out.hexField(0x2a, traceId);
  out.close(start, 1);
}

/** Writes the parts as `clean` would join them. Returns the number of attributes that the limits dropped. */
function attributesInParts(out: ProtobufBuffer, tag: number, { parts, limits }: InParts): number {
  const longest = limits.valueLength;
  let count = 0;
  let dropped = 0;
  for (const part of parts) {
    for (const name in part) {
      const raw = part[name];
      if (raw === undefined) continue;
      // A short text is within all limits, and the encoding itself replaces lone surrogates.
      const isShort = longest === undefined && typeof raw === 'string' && raw.length < SHORT;
      const cleaned = isShort ? raw : cleanValue(raw, longest);
      if (cleaned === undefined) continue;
      if (count >= limits.attributes) dropped += 1;
      else {
        out.attribute(tag, name, cleaned);
        count += 1;
      }
    }
  }
  return dropped;
}

const SHORT = 128;
