/** The items that reached a receiver: which ones, how often, and whether each repetition has the same bytes. */
import { createHash } from 'node:crypto';
import { countItems, cutBody } from '../../src/ship/otlp-body.ts';
import { decodeRequest, type JsonObject } from '../../src/telemetry/otlp-decode.ts';
import { type Collector, plainAttributes } from '../collector.ts';

type Signal = 'traces' | 'logs' | 'metrics';

export interface Request {
  signal: Signal;
  body: Uint8Array;
}

/** The items that a collector accepted: it answered so, even if the sender died before it read the answer. */
export const takenBy = ({ requests }: Pick<Collector, 'requests'>): Request[] =>
  requests.flatMap(({ signal, body, status = 0 }) =>
    signal !== undefined && status >= 200 && status < 300 ? [{ signal, body }] : [],
  );

export interface Span {
  id: string;
  parent: string | undefined;
  trace: string;
}

export interface Received {
  spans: Map<string, Span>;
  /** Ids of events; each event makes one record. */
  records: Set<string>;
  /** Hash of the bytes by id of a span or record, for comparing two deliveries. */
  hashes: Map<string, string>;
  /** The same without times, to compare the data of two runs. */
  timeless: Map<string, string>;
  /** How many items came again. */
  repeatedItems: number;
  /** How many requests contained such items. */
  repeatedRequests: number;
  /** Ids that came with two different contents, and series with two values for one moment. */
  changed: string[];
  /** The newest value of the counter of events. */
  counted: number;
  /** Series of that counter that fell, restarted, or began with a value other than 0. */
  fallen: string[];
}

export function receivedIn(requests: readonly Request[]): Received {
  const found: Received = {
    spans: new Map(),
    records: new Set(),
    hashes: new Map(),
    timeless: new Map(),
    repeatedItems: 0,
    repeatedRequests: 0,
    changed: [],
    counted: 0,
    fallen: [],
  };
  const series: Series = new Map();
  for (const { signal, body } of requests) {
    if (signal === 'metrics') {
      count(body, series, found.changed);
      continue;
    }
    const items = countItems(body) ?? 0;
    let repeated = 0;
    for (let i = 0; i < items; i += 1) {
      const bytes = cutBody(body, i, i + 1);
      const item = itemIn(signal, bytes);
      const id =
        signal === 'traces' ? String(item.spanId) : String(plainAttributes(item.attributes)['agent_hooks.event.id']);
      const key = `${signal} ${item.traceId} ${id}`;
      const hash = createHash('sha256').update(bytes).digest('hex');
      const known = found.hashes.get(key);
      if (known !== undefined) repeated += 1;
      if (known !== undefined && known !== hash) found.changed.push(key);
      found.hashes.set(key, hash);
      found.timeless.set(key, JSON.stringify(withoutTimes(item)));
      if (signal === 'logs') found.records.add(id);
      else {
        const parent = item.parentSpanId === undefined ? undefined : String(item.parentSpanId);
        found.spans.set(id, { id, parent, trace: String(item.traceId) });
      }
    }
    found.repeatedItems += repeated;
    if (repeated > 0) found.repeatedRequests += 1;
  }
  concludeCounts(series, found);
  return found;
}

const list = (value: unknown): JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : []);

function itemIn(signal: Signal, body: Uint8Array): JsonObject {
  const request = decodeRequest(signal, body) ?? {};
  const [resource] = list(Object.values(request)[0]);
  const [scope] = list(resource?.[signal === 'traces' ? 'scopeSpans' : 'scopeLogs']);
  return list(scope?.[signal === 'traces' ? 'spans' : 'logRecords'])[0] ?? {};
}

function withoutTimes({ attributes, ...item }: JsonObject): JsonObject {
  const kept = Object.entries(item).filter(([name]) => !name.endsWith('UnixNano'));
  return { ...Object.fromEntries(kept), attributes: list(attributes).filter(({ key }) => !isTime(String(key))) };
}

const isTime = (name: string): boolean => /_ms$/.test(name);

/** A series as points in the order of their times: a repeated body brings old points again, which change nothing. */
type Series = Map<string, Map<bigint, { start: string; value: number }>>;

function count(body: Uint8Array, series: Series, changed: string[]): void {
  const request = decodeRequest('metrics', body) ?? {};
  for (const resource of list(request.resourceMetrics)) {
    for (const metric of list(resource.scopeMetrics).flatMap(scope => list(scope.metrics))) {
      if (metric.name !== 'agent_hooks.pipeline.events') continue;
      for (const point of list((metric.sum as JsonObject | undefined)?.dataPoints)) {
        const key = JSON.stringify([resource.resource, point.attributes]);
        // Events that came again, could not be read or were dropped are not in a journal.
        if (!key.includes('"accepted"')) continue;
        const points = series.get(key) ?? new Map();
        series.set(key, points);
        const timeNs = BigInt(String(point.timeUnixNano));
        const now = { start: String(point.startTimeUnixNano), value: Number(point.asInt ?? 0) };
        const before = points.get(timeNs);
        if (before && before.value !== now.value) changed.push(`metrics ${key}`);
        points.set(timeNs, now);
      }
    }
  }
}

function concludeCounts(series: Series, found: Received): void {
  for (const [key, points] of series) {
    const inOrder = [...points].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, point]) => point);
    found.counted += inOrder.at(-1)?.value ?? 0;
    if (inOrder[0]?.value !== 0) found.fallen.push(`${key} did not begin with 0`);
    for (const [i, { start, value }] of inOrder.entries()) {
      const before = inOrder[i - 1];
      if (before && (value < before.value || start !== before.start)) found.fallen.push(key);
    }
  }
}
