/** What a round yields for one destination, gathered and encoded: the writer groups by resource object, so each resource is one object. */
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

/** One body holds at most this many items, so that a destination's refusal concerns few. */
const MOST_ITEMS = 512;

export interface Batch {
  signal: 'traces' | 'logs';
  items: number;
  bytes: Uint8Array;
  /** What holds sessions together: kept the longest where not all can be kept. */
  isSkeleton: boolean;
}

export interface Encoded {
  batches: Batch[];
  /** What the sampler left out, by signal. */
  unsampled: { traces: number; logs: number };
}

export function encode(yields: readonly Yield[], writer = new OtlpWriter()): Encoded {
  const resources = new Map<string, ReturnType<typeof versioned>>();
  const spans: Leaving<FinishedSpan>[] = [];
  const skeleton: Leaving<FinishedSpan>[] = [];
  const records: Leaving<FinishedRecord>[] = [];
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
    // Logs are not sampled: only spans are.
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

/** Where metrics find the spans that they speak of. */
export function locator(facts: SpanContextFacts, sampler: Yield['sampler']): Locate {
  const sampled = samples(sampler);
  return ({ trace, span }) =>
    sampled({ trace }) ? { traceId: wireTraceId(trace, facts), spanId: wireSpanId(span, trace, facts) } : undefined;
}

const frame: ReadonlySet<FinishedSpan['kind']> = new Set(['session', 'turn', 'subagent']);
const isSkeleton = ({ kind }: FinishedSpan): boolean => frame.has(kind);

/** Mapped when it is written, a body at a time: values that lived for a whole round would be copied as garbage is collected. */
interface Leaving<Item> {
  item: Item;
  facts: SpanContextFacts;
  resource: Resource;
}

const tracesOf = (writer: OtlpWriter, part: readonly Leaving<FinishedSpan>[], isFrame: boolean): Batch =>
  batch('traces', part.length, writer.spans(part.map(mapped(mapSpan))), isFrame);

const logsOf = (writer: OtlpWriter, part: readonly Leaving<FinishedRecord>[]): Batch =>
  batch('logs', part.length, writer.records(part.map(mapped(mapRecord))), false);

const mapped =
  <Item, Value>(map: (item: Item, facts: SpanContextFacts, resource: Resource) => Value) =>
  ({ item, facts, resource }: Leaving<Item>): Value =>
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

/** By trace id, as the standard's ratio sampler does it, so that a trace leaves whole or not at all. */
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
