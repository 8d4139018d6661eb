/** Mapped spans and records as the SDK's own types, for applications that take them over its public interfaces. */
import type { AnyValueMap } from '@opentelemetry/api-logs';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { clean } from './clean.ts';
import type { MappedRecord } from './logs.ts';
import type { MappedSpan } from './spans.ts';

export function readableSpan({ parts, limits, ...span }: MappedSpan): ReadableSpan {
  const { kept, dropped } = clean(parts, limits);
  return { ...span, attributes: kept, droppedAttributesCount: dropped };
}

export function readableRecord({ parts, limits, long, ...record }: MappedRecord): ReadableLogRecord {
  const { kept, dropped } = clean(parts, limits);
  return { ...record, attributes: Object.assign(kept as AnyValueMap, long), droppedAttributesCount: dropped };
}
