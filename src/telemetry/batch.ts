/**
 * Encodes the output of a round for one destination. The writer groups by resource object, so equal resources are one
 * object here.
 */
import type { Resource } from '@opentelemetry/resources';
import type { FinishedRecord, FinishedSpan } from '../assemble/finished.ts';
import { mapRecord } from './logs.ts';
import type { Locate } from './metric-state.ts';
import { OtlpWriter } from './otlp-writer.ts';
import { type Plain, versioned } from './resource.ts';
import { mapSpan, type SpanContextFacts, wireSpanId, wireTraceId } from './spans.ts';

export interface Yield {
  spans: readonly FinishedSpan[];
  records: readonly FinishedRecord[];
  facts: SpanContextFacts;
  resource: Plain;
}

/** The largest number of items in one body. It is small, so that a refused body affects few items. */
const MOST_ITEMS = 512;

export interface Batch {
  signal: 'traces' | 'logs';
  items: number;
  bytes: Uint8Array;
  /** Spans of sessions, turns and subagents. When limits force a loss, they are dropped last. */
  isSkeleton: boolean;
}

export function encodeBatches(yields: readonly Yield[], writer = new OtlpWriter()): Batch[] {
  const resources = new Map<string, ReturnType<typeof versioned>>();
  const spans: Unmapped<FinishedSpan>[] = [];
  const skeleton: Unmapped<FinishedSpan>[] = [];
  const records: Unmapped<FinishedRecord>[] = [];
  for (const { facts, ...each } of yields) {
    const key = JSON.stringify(each.resource);
    const resourceOf = resources.get(key) ?? versioned(each.resource);
    resources.set(key, resourceOf);
    for (const item of each.spans)
      (isSkeleton(item) ? skeleton : spans).push({ item, facts, resource: resourceOf(item.version) });
    for (const item of each.records) records.push({ item, facts, resource: resourceOf(item.event.source.version) });
  }
  return [
    ...sliced(spans).map(part => tracesOf(writer, part, false)),
    ...sliced(skeleton).map(part => tracesOf(writer, part, true)),
    ...sliced(records).map(part => logsOf(writer, part)),
  ];
}

/** Finds the span of an exemplar. */
export const locator =
  (facts: SpanContextFacts): Locate =>
  ({ trace, span }) => ({ traceId: wireTraceId(trace, facts), spanId: wireSpanId(span, trace, facts) });

const frame: ReadonlySet<FinishedSpan['kind']> = new Set(['session', 'turn', 'subagent']);
const isSkeleton = ({ kind }: FinishedSpan): boolean => frame.has(kind);

/**
 * Items are mapped when their body is written. Mapped values that live for a whole round would be copied by the garbage
 * collector.
 */
interface Unmapped<Item> {
  item: Item;
  facts: SpanContextFacts;
  resource: Resource;
}

const tracesOf = (writer: OtlpWriter, part: readonly Unmapped<FinishedSpan>[], isFrame: boolean): Batch =>
  batch('traces', part.length, writer.spans(part.map(mapped(mapSpan))), isFrame);

const logsOf = (writer: OtlpWriter, part: readonly Unmapped<FinishedRecord>[]): Batch =>
  batch('logs', part.length, writer.records(part.map(mapped(mapRecord))), false);

const mapped =
  <Item, Value>(map: (item: Item, facts: SpanContextFacts, resource: Resource) => Value) =>
  ({ item, facts, resource }: Unmapped<Item>): Value =>
    map(item, facts, resource);

const batch = (
  signal: 'traces' | 'logs',
  items: number,
  bytes: Uint8Array | undefined,
  isSkeleton: boolean,
): Batch => ({
  signal,
  items,
  bytes: bytes ?? new Uint8Array(),
  isSkeleton,
});

export function sliced<T>(items: T[]): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < items.length; at += MOST_ITEMS) parts.push(items.slice(at, at + MOST_ITEMS));
  return parts;
}
