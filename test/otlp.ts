/** The values that tests compare: the SDK's own finished spans and records, and their bytes. */
import type { Resource } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { FinishedRecord, FinishedSpan } from '../src/assemble/finished.ts';
import { mapRecord } from '../src/telemetry/logs.ts';
import { OtlpWriter } from '../src/telemetry/otlp-writer.ts';
import { readableRecord, readableSpan } from '../src/telemetry/sdk-values.ts';
import { mapSpan, type SpanContextFacts } from '../src/telemetry/spans.ts';

export const writer = new OtlpWriter();

export const readableSpanOf = (span: FinishedSpan, facts: SpanContextFacts, resource: Resource): ReadableSpan =>
  readableSpan(mapSpan(span, facts, resource));

export const readableRecordOf = (
  record: FinishedRecord,
  facts: SpanContextFacts,
  resource: Resource,
): ReadableLogRecord => readableRecord(mapRecord(record, facts, resource));
