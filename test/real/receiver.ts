/** An OTLP receiver. It decodes with the official definitions, not with the code of this project. */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A span, a log record or a metric with plain attributes. */
export interface Item {
  signal: 'traces' | 'logs' | 'metrics';
  /** The first part of the path: `hooks`, `import` or `again`. */
  way: string;
  atMs: number;
  resource: Record<string, unknown>;
  plain: Record<string, unknown>;
  [field: string]: unknown;
}

export interface Receiver {
  port: number;
  received: Item[];
  count(): number;
  lastMs(): number;
  traces(way: string): number;
  rootless(way: string): number;
  close(): Promise<void>;
}

type Fields = Record<string, unknown>;
interface Definition {
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): Fields;
}
interface Definitions {
  opentelemetry: {
    proto: {
      collector: {
        trace: { v1: { ExportTraceServiceRequest: Definition } };
        logs: { v1: { ExportLogsServiceRequest: Definition } };
        metrics: { v1: { ExportMetricsServiceRequest: Definition } };
      };
    };
  };
}

const parts = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
} as const;

export async function startReceiver(root: string): Promise<Receiver> {
  const path = 'otlp-definitions/build/src/generated/root.js';
  const { collector } = (createRequire(join(root, 'package.json'))(path) as Definitions).opentelemetry.proto;
  const definitions = {
    traces: collector.trace.v1.ExportTraceServiceRequest,
    logs: collector.logs.v1.ExportLogsServiceRequest,
    metrics: collector.metrics.v1.ExportMetricsServiceRequest,
  };
  const received: Item[] = [];
  let lastMs = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const raw = Buffer.concat(chunks);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    const [, way = '', , signal] = (request.url ?? '').split('/');
    if (signal === 'traces' || signal === 'logs' || signal === 'metrics') {
      lastMs = Date.now();
      const decoded = definitions[signal].toObject(definitions[signal].decode(body), {
        longs: String,
        bytes: String,
        enums: Number,
        defaults: false,
      });
      const [resources, scopes, items] = parts[signal];
      for (const resource of listOf(decoded[resources])) {
        const plainResource = plain((resource.resource as Fields | undefined)?.attributes);
        for (const scope of listOf(resource[scopes])) {
          for (const item of listOf(scope[items])) {
            received.push({
              ...hexIds(item),
              signal,
              way,
              atMs: lastMs,
              resource: plainResource,
              plain: plain(item.attributes),
            });
          }
        }
      }
    }
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const spansOf = (way: string): Item[] => received.filter(item => item.signal === 'traces' && item.way === way);
  const tracesOf = (spans: Item[]): Set<unknown> => new Set(spans.map(span => span.traceId));
  return {
    port: (server.address() as AddressInfo).port,
    received,
    count: () => received.filter(({ signal }) => signal !== 'metrics').length,
    lastMs: () => lastMs,
    traces: way => tracesOf(spansOf(way)).size,
    rootless: way => {
      const spans = spansOf(way);
      return tracesOf(spans).size - tracesOf(spans.filter(span => !span.parentSpanId)).size;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>(resolve => server.close(() => resolve()));
    },
  };
}

const ids = ['traceId', 'spanId', 'parentSpanId'];

function hexIds(item: Fields): Fields {
  const hex = (value: unknown): unknown =>
    typeof value === 'string' ? Buffer.from(value, 'base64').toString('hex') : value;
  const plainItem = Object.fromEntries(
    Object.entries(item).map(([key, value]) => [key, ids.includes(key) ? hex(value) : value]),
  );
  if (Array.isArray(item.links)) plainItem.links = listOf(item.links).map(hexIds);
  return plainItem;
}

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? (value as Fields[]) : []);

export function plain(attributes: unknown): Fields {
  return Object.fromEntries(listOf(attributes).map(({ key, value }) => [String(key), plainValue(value as Fields)]));
}

function plainValue(value: Fields | undefined): unknown {
  if (value === undefined || value === null) return undefined;
  if (value.intValue !== undefined) return Number(value.intValue);
  if (value.arrayValue !== undefined) {
    return listOf((value.arrayValue as Fields).values).map(each => plainValue(each));
  }
  if (value.kvlistValue !== undefined) return plain((value.kvlistValue as Fields).values);
  return Object.values(value)[0];
}
