/** Creates one span, one record and one point that name doctor as their source, encoded as in delivery. */
import { SpanKind, SpanStatusCode, ValueType } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { OtlpSignal } from '../config/schema.ts';
import { VERSION } from '../lib/version.ts';
import { development, doctor, stable } from '../telemetry/names.ts';
import { OtlpWriter } from '../telemetry/otlp-writer.ts';
import { instrumentationScope, resourceOf } from '../telemetry/resource.ts';

export const DOCTOR_SERVICE = 'otel-hooks-doctor';

export interface Synthetic {
  traceId: string;
  /** The value of the metric identifies the run, so that all runs share one series. */
  seconds: number;
  bodies: { readonly [S in OtlpSignal]: Uint8Array };
}

export function synthetic(traceId: string, spanId: string, nowMs: number): Synthetic {
  const resource = resourceOf({ [stable.serviceName]: DOCTOR_SERVICE, [stable.telemetryDistroVersion]: VERSION });
  const attributes = { [doctor.synthetic]: true };
  const context = { traceId, spanId, traceFlags: 1 };
  const end = timeOf(nowMs);
  const start = timeOf(nowMs - 1);
  const seconds = Math.floor(nowMs / 1_000);
  const span: ReadableSpan = {
    name: 'otel-hooks doctor',
    kind: SpanKind.INTERNAL,
    spanContext: () => context,
    startTime: start,
    endTime: end,
    duration: [0, 1_000_000],
    status: { code: SpanStatusCode.UNSET },
    attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
  const record: ReadableLogRecord = {
    hrTime: end,
    hrTimeObserved: end,
    spanContext: context,
    severityText: 'INFO',
    severityNumber: SeverityNumber.INFO,
    body: 'otel-hooks doctor: a record to be read back',
    eventName: doctor.event,
    resource,
    instrumentationScope,
    attributes: { ...attributes, [development.eventName]: doctor.event },
    droppedAttributesCount: 0,
  };
  const writer = new OtlpWriter();
  const metrics = writer.metrics([
    {
      // Metrics do not carry the version, because an upgrade would start another series.
      resource: resourceOf({ [stable.serviceName]: DOCTOR_SERVICE }),
      scopeMetrics: [
        {
          scope: instrumentationScope,
          metrics: [
            {
              descriptor: { name: doctor.metric, description: '', unit: 's', valueType: ValueType.INT },
              dataPointType: DataPointType.SUM,
              aggregationTemporality: AggregationTemporality.CUMULATIVE,
              isMonotonic: false,
              dataPoints: [{ startTime: start, endTime: end, value: seconds, attributes }],
            },
          ],
        },
      ],
    },
  ]);
  return { traceId, seconds, bodies: { traces: writer.spans([span]), logs: writer.records([record]), metrics } };
}

const timeOf = (ms: number): [number, number] => [Math.floor(ms / 1_000), (ms % 1_000) * 1_000_000];
