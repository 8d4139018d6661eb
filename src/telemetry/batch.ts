/**
 * Encodes the output of a round for one destination. The writer groups by resource object, so equal resources are one
 * object here.
 */
import type { Resource } from '@opentelemetry/resources';
import type { FinishedRecord, FinishedSpan } from '../assemble/finished.ts';
import { traceIdOf } from './ids.ts';
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
  sampler: { kind: string; ratio: number };
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

export interface Encoded {
  batches: Batch[];
  /** Items that the sampler dropped, by signal. */
  unsampled: { traces: number; logs: number };
}

export function encodeBatches(yields: readonly Yield[], writer = new OtlpWriter()): Encoded {
  const resources = new Map<string, ReturnType<typeof versioned>>();
  const spans: Unmapped<FinishedSpan>[] = [];
  const skeleton: Unmapped<FinishedSpan>[] = [];
  const records: Unmapped<FinishedRecord>[] = [];
  const unsampled = { traces: 0, logs: 0 };
  for (const { facts, sampler, ...each } of yields) {
    const key = JSON.stringify(each.resource);
    const resourceOf = resources.get(key) ?? versioned(each.resource);
    resources.set(key, resourceOf);
    const sampled = samples(sampler);
    for (const item of each.spans) {
      const resource = resourceOf(item.version);
      if (sampled(item)) (isSkeleton(item) ? skeleton : spans).push({ item, facts, resource });
      else unsampled.traces += 1;
    }
    // The sampler applies to spans only.
    for (const item of each.records) records.push({ item, facts, resource: resourceOf(item.event.source.version) });
  }
  return {
    batches: [
      ...sliced(spans).map(part => tracesOf(writer, part, false)),
      ...sliced(skeleton).map(part => tracesOf(writer, part, true)),
      ...sliced(records).map(part => logsOf(writer, part)),
    ],
    unsampled,
  };
}

/** Finds the span of an exemplar. */
export function locator(facts: SpanContextFacts, sampler: Yield['sampler']): Locate {
  const sampled = samples(sampler);
  return ({ trace, span }) =>
    sampled({ trace }) ? { traceId: wireTraceId(trace, facts), spanId: wireSpanId(span, trace, facts) } : undefined;
}

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

/** Decides by trace id, as the standard's ratio sampler does, so that a trace is sent whole or not at all. */
function samples(sampler: { kind: string; ratio: number }): (span: Pick<FinishedSpan, 'trace'>) => boolean {
  if (sampler.ratio >= 1) return () => true;
  if (sampler.ratio <= 0) return () => false;
  const bound = Math.floor(sampler.ratio * 0xffffffff);
  return span => {
    const id = traceIdOf(span.trace);
    let sum = 0;
    for (let i = 0; i < 4; i += 1) sum = (sum ^ Number.parseInt(id.slice(i * 8, i * 8 + 8), 16)) >>> 0;
    return sum < bound;
  };
}
