/** Reads from the back ends, over their own HTTP interfaces. */
import { execFileSync } from 'node:child_process';
import type { SpanLike } from '../../src/view/span-node.ts';
import { plainAttributes } from '../collector.ts';
import type { Stack } from './compose.ts';

export interface StoredSpan extends SpanLike {
  service: string;
  resource: { [name: string]: unknown };
  links: { trace: string; span: string; type: unknown }[];
}

type Json = { [key: string]: unknown };

export async function json<T>(base: string, path: string, query: { [name: string]: string | number } = {}): Promise<T> {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const response = await fetch(url, { signal: AbortSignal.timeout(20_000) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text.slice(0, 500)}`);
  return JSON.parse(text) as T;
}

/** Waits until a value appears. Fails with the last value when it does not. */
export async function eventually<T>(
  read: () => Promise<T>,
  isThere: (value: T) => boolean,
  waitMs = 45_000,
): Promise<T> {
  const until = Date.now() + waitMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await read();
      if (isThere(value)) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > until) throw new Error(`not there after ${waitMs} ms; last seen: ${inspect(last)}`);
    await pause(250);
  }
}
const inspect = (value: unknown): string =>
  (value instanceof Error ? value.message : JSON.stringify(value)).slice(0, 2_000);
export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

const hexOf = (base64: string): string => Buffer.from(base64, 'base64').toString('hex');
const msOf = (nanos: string): number => Number(BigInt(nanos) / 1_000n) / 1_000;

/** The spans of a trace in Tempo; each copy of a span counts. */
export async function tempoSpans(stack: Stack, trace: string): Promise<StoredSpan[]> {
  interface Answer {
    trace: { resourceSpans?: { resource: Json; scopeSpans: { spans: Json[] }[] }[] };
  }
  const answer = await json<Answer>(stack.tempo, `/api/v2/traces/${trace}`);
  return (answer.trace.resourceSpans ?? []).flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(scope => scope.spans)
      .map(span => ({
        service: String(plainAttributes(resource.attributes as never)['service.name']),
        spanId: hexOf(String(span.spanId)),
        parentSpanId: span.parentSpanId ? hexOf(String(span.parentSpanId)) : undefined,
        name: String(span.name),
        startMs: msOf(String(span.startTimeUnixNano)),
        endMs: msOf(String(span.endTimeUnixNano)),
        isError: (span.status as { code?: string } | undefined)?.code === 'STATUS_CODE_ERROR',
        attributes: plainAttributes(span.attributes as never),
        resource: plainAttributes(resource.attributes as never),
        links: ((span.links ?? []) as Json[]).map(link => ({
          trace: hexOf(String(link.traceId)),
          span: hexOf(String(link.spanId)),
          type: plainAttributes(link.attributes as never)['agent_hooks.link.type'],
        })),
      })),
  );
}

/** The ids of traces that a TraceQL query finds. */
export async function search(stack: Stack, query: string): Promise<string[]> {
  const now = Math.floor(Date.now() / 1_000);
  const found = await json<{ traces?: { traceID: string }[] }>(stack.tempo, '/api/search', {
    q: query,
    start: now - 6 * 3_600,
    end: now + 60,
    limit: 200,
  });
  return (found.traces ?? []).map(({ traceID }) => traceID);
}

export interface Line {
  labels: { [name: string]: string };
  atNs: string;
  line: string;
}

export async function lines(stack: Stack, query: string): Promise<Line[]> {
  const now = Date.now();
  const answer = await json<{ data: { result: { stream: Line['labels']; values: [string, string][] }[] } }>(
    stack.loki,
    '/loki/api/v1/query_range',
    { query, start: `${now - 6 * 3_600_000}000000`, end: `${now + 60_000}000000`, limit: 5_000 },
  );
  return answer.data.result.flatMap(({ stream, values }) =>
    values.map(([atNs, line]) => ({ labels: stream, atNs, line })),
  );
}

export interface Sample {
  metric: { [label: string]: string };
  value: number;
}

export async function samples(stack: Stack, query: string): Promise<Sample[]> {
  const answer = await json<{ data: { result: { metric: Sample['metric']; value: [number, string] }[] } }>(
    stack.prometheus,
    '/api/v1/query',
    { query },
  );
  return answer.data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
}

/** The name under which Prometheus knows the machine that a session ran on. */
export async function instanceOf(stack: Stack, session: string): Promise<string> {
  const [found] = await eventually(
    () => lines(stack, `{service_name=~".+"} | session_id="${session}"`),
    all => all.length > 0,
  );
  return found?.labels.service_instance_id ?? '';
}

/** The number of counted events, by type. */
export async function countedEvents(stack: Stack, instance: string): Promise<{ [type: string]: number }> {
  const counter = `agent_hooks_pipeline_events_total{instance="${instance}"}`;
  const all = await samples(stack, `sum by (agent_hooks_event_type) (${counter})`);
  return Object.fromEntries(all.map(({ metric, value }) => [metric.agent_hooks_event_type, value]));
}

export const docker = (...words: string[]): string => execFileSync('docker', words, { encoding: 'utf8' }).trim();
export const container = ({ project }: Stack, service: string): string =>
  docker(
    'ps',
    '-aq',
    '--filter',
    `label=com.docker.compose.project=${project}`,
    '--filter',
    `label=com.docker.compose.service=${service}`,
  );
