/** An OTLP/HTTP receiver in this process: decodes protobuf bodies and forwards them if requested. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { request as secureRequest } from 'node:https';
import { gunzipSync } from 'node:zlib';
import { decodeRequest, type Json, type JsonObject } from '../telemetry/otlp-decode.ts';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  startMs: number;
  endMs: number;
  isError: boolean;
  attributes: { [name: string]: string };
}

export interface Point {
  name: string;
  unit: string;
  attributes: { [name: string]: string };
  value: number;
  count: number | undefined;
}

export interface Receiver {
  url: string;
  spans: ReceivedSpan[];
  records: { eventName: string; severity: string; body: string }[];
  /** The newest value of each series. */
  points: Map<string, Point>;
  bodies: number;
  bytes: number;
  /** Status codes other than success from the collector to which bodies are forwarded. */
  refusals: Map<string, string>;
  close(): void;
}

const signals = { '/v1/traces': 'traces', '/v1/logs': 'logs', '/v1/metrics': 'metrics' } as const;

export async function startReceiver(passOn: string | undefined): Promise<Receiver> {
  const receiver: Receiver = {
    url: '',
    spans: [],
    records: [],
    points: new Map(),
    bodies: 0,
    bytes: 0,
    refusals: new Map(),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const server = createServer((incoming, answer) => {
    take(receiver, incoming, answer, passOn).catch(() => answer.writeHead(500).end());
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no address');
  receiver.url = `http://127.0.0.1:${address.port}`;
  return receiver;
}

async function take(
  receiver: Receiver,
  incoming: IncomingMessage,
  answer: ServerResponse,
  passOn: string | undefined,
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const path = incoming.url ?? '';
  const signal = Object.hasOwn(signals, path) ? signals[path as keyof typeof signals] : undefined;
  const plain = incoming.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  const decoded = signal && decodeRequest(signal, plain);
  if (signal === undefined || decoded === undefined) {
    answer.writeHead(400).end();
    return;
  }
  receiver.bodies += 1;
  receiver.bytes += body.length;
  if (signal === 'traces') keepSpans(receiver, decoded);
  else if (signal === 'logs') keepRecords(receiver, decoded);
  else keepPoints(receiver, decoded);
  if (passOn !== undefined) {
    const status = await forward(`${passOn.replace(/\/$/, '')}${path}`, incoming, body);
    if (status !== '200') receiver.refusals.set(path, status);
  }
  answer.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
}

function forward(url: string, incoming: IncomingMessage, body: Buffer): Promise<string> {
  return new Promise(settled => {
    const headers = {
      'content-type': incoming.headers['content-type'] ?? 'application/x-protobuf',
      'content-length': String(body.length),
      ...(incoming.headers['content-encoding'] ? { 'content-encoding': incoming.headers['content-encoding'] } : {}),
    };
    const send = url.startsWith('https:') ? secureRequest : request;
    const outgoing = send(url, { method: 'POST', headers, timeout: 10_000 }, answer => {
      answer.resume();
      answer.on('end', () => settled(String(answer.statusCode)));
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer within 10 s')));
    outgoing.on('error', error => settled(error.message));
    outgoing.end(body);
  });
}

const list = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : []);
const object = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
const textOf = (value: Json | undefined): string => (value === undefined ? '' : String(value));

/** Returns the items of a request. All three signals nest them as resource, scope, item. */
function itemsOf(request: JsonObject, outer: string, middle: string, inner: string): JsonObject[] {
  return list(request[outer]).flatMap(resource => list(resource[middle]).flatMap(scope => list(scope[inner])));
}

function attributesOf(item: JsonObject): { [name: string]: string } {
  return Object.fromEntries(
    list(item.attributes).map(({ key, value }) => [textOf(key), textOf(Object.values(object(value))[0])]),
  );
}

const msOf = (nanos: Json | undefined): number => Number(BigInt(textOf(nanos) || '0') / 1000n) / 1000;

function keepSpans(receiver: Receiver, request: JsonObject): void {
  for (const span of itemsOf(request, 'resourceSpans', 'scopeSpans', 'spans')) {
    receiver.spans.push({
      traceId: textOf(span.traceId),
      spanId: textOf(span.spanId),
      parentSpanId: textOf(span.parentSpanId) || undefined,
      name: textOf(span.name),
      startMs: msOf(span.startTimeUnixNano),
      endMs: msOf(span.endTimeUnixNano),
      isError: Number(object(span.status).code ?? 0) === 2,
      attributes: attributesOf(span),
    });
  }
}

function keepRecords(receiver: Receiver, request: JsonObject): void {
  for (const record of itemsOf(request, 'resourceLogs', 'scopeLogs', 'logRecords')) {
    receiver.records.push({
      eventName: textOf(record.eventName),
      severity: textOf(record.severityText),
      body: textOf(object(record.body).stringValue),
    });
  }
}

function keepPoints(receiver: Receiver, request: JsonObject): void {
  for (const metric of itemsOf(request, 'resourceMetrics', 'scopeMetrics', 'metrics')) {
    const points = [...list(object(metric.sum).dataPoints), ...list(object(metric.histogram).dataPoints)];
    for (const point of points) {
      const attributes = attributesOf(point);
      const isHistogram = point.count !== undefined;
      receiver.points.set(`${textOf(metric.name)} ${JSON.stringify(attributes)}`, {
        name: textOf(metric.name),
        unit: textOf(metric.unit),
        attributes,
        value: Number(point.asInt ?? point.asDouble ?? point.sum ?? 0),
        count: isHistogram ? Number(point.count) : undefined,
      });
    }
  }
}
