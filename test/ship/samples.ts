/** Spans, records and metrics for tests of shipping: plain objects in the SDK's shapes. */
import { SpanKind, SpanStatusCode, TraceFlags, ValueType } from '@opentelemetry/api';
import {
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import { emptyResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import { AggregationTemporality, DataPointType, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';

export const scope = { name: 'otel-hooks', version: '1' };
export const resourceA: Resource = resourceFromAttributes({ 'service.name': 'a' });
export const resourceB: Resource = resourceFromAttributes({ 'service.name': 'b', 'host.arch': 'arm64' });

export function span(name: string, more: Partial<ReadableSpan> = {}): ReadableSpan {
  return {
    name,
    kind: SpanKind.INTERNAL,
    spanContext: () => ({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      traceFlags: TraceFlags.SAMPLED,
    }),
    startTime: [1_760_000_000, 1],
    endTime: [1_760_000_001, 999_999_999],
    status: { code: SpanStatusCode.UNSET },
    attributes: {},
    links: [],
    events: [],
    duration: [1, 0],
    ended: true,
    resource: resourceA,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    ...more,
  };
}

export function record(eventName: string, more: Partial<ReadableLogRecord> = {}): ReadableLogRecord {
  return {
    hrTime: [1_760_000_000, 5],
    hrTimeObserved: [1_760_000_000, 6],
    eventName,
    attributes: {},
    droppedAttributesCount: 0,
    resource: resourceA,
    instrumentationScope: scope,
    ...more,
  };
}

export function sums(
  values: readonly [name: string, value: number][],
  resource: Resource = emptyResource(),
): ResourceMetrics {
  return {
    resource,
    scopeMetrics: [
      {
        scope,
        metrics: values.map(([name, value]) => ({
          descriptor: { name, description: '', unit: '1', valueType: ValueType.INT },
          aggregationTemporality: AggregationTemporality.CUMULATIVE,
          dataPointType: DataPointType.SUM,
          isMonotonic: true,
          dataPoints: [{ startTime: [1_760_000_000, 0], endTime: [1_760_000_060, 0], attributes: {}, value }],
        })),
      },
    ],
  };
}

const bytes = (value: Uint8Array | undefined): Buffer => Buffer.from(value ?? []);
export const traces = (spans: ReadableSpan[]): Buffer => bytes(ProtobufTraceSerializer.serializeRequest(spans));
export const logs = (records: ReadableLogRecord[]): Buffer => bytes(ProtobufLogsSerializer.serializeRequest(records));
export const metrics = (all: ResourceMetrics): Buffer => bytes(ProtobufMetricsSerializer.serializeRequest(all));

const parsed = (value: Uint8Array | undefined): unknown => JSON.parse(bytes(value).toString('utf8'));
export const tracesJson = (spans: ReadableSpan[]): unknown => parsed(JsonTraceSerializer.serializeRequest(spans));
export const logsJson = (records: ReadableLogRecord[]): unknown => parsed(JsonLogsSerializer.serializeRequest(records));
export const metricsJson = (all: ResourceMetrics): unknown => parsed(JsonMetricsSerializer.serializeRequest(all));

/** `count` spans named n0, n1, ... over two resources in turns of three. */
export const namedSpans = (count: number, from = 0): ReadableSpan[] =>
  Array.from({ length: count }, (_, i) =>
    span(`n${from + i}`, { resource: Math.floor((from + i) / 3) % 2 === 0 ? resourceA : resourceB }),
  );
