import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Destination } from '../config/destinations.ts';
import { shownEndpoint } from '../config/shown.ts';
import {
  type DestinationPreview,
  type Preview,
  previewOf,
  previewOfAll,
  type Request,
} from '../deliver/preview-round.ts';
import { hexDigestOf } from '../lib/hash.ts';
import { makePath } from '../lib/make-path.ts';
import { fieldsOf } from '../lib/read.ts';
import { asShown } from '../lib/shown.ts';
import type { PreviewWorld } from '../pipeline/pin-now.ts';
import { openStore } from '../store/store.ts';
import { decodeRequest, type Json } from '../telemetry/otlp-decode.ts';
import { diskEyes } from '../transcripts/eyes.ts';
import { impatient } from '../transcripts/settlement.ts';
import { named, unnamed } from '../view/named.ts';
import { duration } from '../view/tree.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { foldersOf, surroundingsOf } from './place.ts';

export function run(words: Words, io: Io): number {
  const { state, config } = foldersOf(words, io);
  const [wanted] = words.rest;
  const world: PreviewWorld = {
    ...surroundingsOf(words, io, config),
    nowMs: io.now(),
    eyes: diskEyes(),
    waits: impatient,
  };
  const { session, destinations } = lookedAt(state, wanted, world);
  const missed = session && wanted !== undefined ? unnamed(session, wanted) : undefined;
  if (missed !== undefined) {
    io.err(`otel-hooks: ${missed}.\n  next: otel-hooks show\n`);
    return 1;
  }
  const raw = flagText(words, '--raw');
  if (raw !== undefined) write(resolve(io.cwd, raw), destinations, io);
  else if (words.flags['--json']) io.out(`${JSON.stringify(asJson(session?.[0], destinations), null, 2)}\n`);
  else io.out(asText(session?.[0], destinations));
  return 0;
}

function lookedAt(
  folder: string,
  wanted: string | undefined,
  world: PreviewWorld,
): { session: Preview[] | undefined; destinations: DestinationPreview[] } {
  if (!existsSync(folder)) return { session: wanted === undefined ? undefined : [], destinations: [] };
  const store = openStore({ folder, access: 'read' });
  try {
    if (wanted === undefined) return { session: undefined, destinations: previewOfAll(store, world) };
    const session = named(previewOf(store, wanted, world), wanted);
    return { session, destinations: session.flatMap(each => each.destinations) };
  } finally {
    store.close();
  }
}

const isJson = ({ signals }: Destination, { signal }: Request): boolean =>
  signal === 'events' || signals[signal]?.protocol === 'http/json';

/** The bytes of the body as OTLP/JSON; the lines of the events' log. */
function bodyOf(destination: Destination, request: Request): Json {
  const text = () => Buffer.from(request.bytes).toString();
  if (request.signal === 'events') {
    const lines = text().trimEnd().split('\n');
    return lines.map(line => JSON.parse(line) as Json);
  }
  if (isJson(destination, request)) return JSON.parse(text()) as Json;
  return decodeRequest(request.signal, request.bytes) ?? {};
}

/** Removes the parts of an address that may hold a key: user, password, query and fragment. */
const whereOf = ({ signals, endpoint }: Destination, { signal }: Request): string =>
  shownEndpoint(signals[signal]?.url ?? signals[signal]?.path ?? endpoint);

function asJson(session: Preview | undefined, destinations: readonly DestinationPreview[]): object {
  const about =
    session === undefined
      ? {}
      : {
          session: session.session,
          agent: session.agent,
          open: session.isOpen,
          events: session.events,
          waiting: session.waiting,
        };
  return {
    v: 1,
    ...about,
    destinations: destinations.map(({ destination, isAssumed, requests }) => ({
      provider: destination.provider,
      endpoint: shownEndpoint(destination.endpoint),
      supposed: isAssumed,
      requests: requests.map(request => ({
        signal: request.signal,
        to: whereOf(destination, request),
        protocol: request.signal === 'events' ? 'lines' : destination.signals[request.signal]?.protocol,
        items: request.items,
        bytes: request.bytes.length,
        sha256: hexDigestOf(request.bytes),
        body: bodyOf(destination, request),
      })),
    })),
  };
}

function write(folder: string, destinations: readonly DestinationPreview[], io: Io): void {
  ownFolder(folder);
  for (const { destination, requests } of destinations) {
    for (const [i, request] of requests.entries()) {
      const ending = request.signal === 'events' ? 'jsonl' : isJson(destination, request) ? 'json' : 'pb';
      const file = join(folder, `${destination.id}-${String(i + 1).padStart(3, '0')}-${request.signal}.${ending}`);
      writeAnew(file, request.bytes);
      io.out(`${file}  ${request.bytes.length} bytes\n`);
    }
  }
  if (destinations.every(({ requests }) => requests.length === 0)) io.out('Nothing would leave.\n');
}

/**
 * Bodies may hold content. A new folder is made for the user only; an existing one must belong to the user and be no
 * link. Its mode stays, because it may hold more than these files, and each of these files is closed to other users.
 */
function ownFolder(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) makePath(folder);
  const facts = lstatSync(folder);
  const why = !facts.isDirectory()
    ? 'it is not a folder'
    : process.geteuid !== undefined && facts.uid !== process.geteuid()
      ? 'it belongs to another user'
      : undefined;
  if (why !== undefined) throw new UsageError(`--raw takes a folder of your own, not ${folder}: ${why}`);
}

/**
 * A file of an earlier preview is replaced and never overwritten in place: it could be a link, or readable by other
 * users.
 */
function writeAnew(file: string, bytes: Uint8Array): void {
  const beside = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(beside, bytes, { mode: 0o600, flag: 'wx' });
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

// ---------------------------------------------------------------- for people

function asText(session: Preview | undefined, destinations: readonly DestinationPreview[]): string {
  const lines: string[] = [];
  if (session !== undefined) {
    const { agent, events, waiting } = session;
    const unread = waiting === 0 ? '' : `, ${waiting} of them not read yet`;
    lines.push(`session ${session.session} of ${agent}: ${events} events${unread}`);
    if (session.isOpen) lines.push('Open turns and actions are sent when they are closed; they are not shown.');
  }
  if (destinations.every(({ requests }) => requests.length === 0)) lines.push('Nothing would leave.');
  for (const { destination, isAssumed, requests } of destinations) {
    if (requests.length === 0) continue;
    if (isAssumed) {
      lines.push(
        '',
        'This session has no destination and none of this leaves. To where a new one would go, or to a collector here, it would be:',
      );
    }
    for (const request of requests) {
      const { signal, items, bytes } = request;
      const adds = signal === 'metrics' && session !== undefined ? ', the increase of counters by this session' : '';
      lines.push(
        '',
        `${destination.provider} ${whereOf(destination, request)}: ${items} ${wordFor[signal]}, ${bytes.length} bytes${adds}`,
        ...itemsOf(signal, bodyOf(destination, request)),
      );
    }
  }
  return lines.map(line => `${asShown(line)}\n`).join('');
}

const wordFor = { traces: 'spans', logs: 'records', metrics: 'metrics', events: 'events' } as const;

type Fields = { readonly [name: string]: unknown };
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

function itemsOf(signal: Request['signal'], body: Json): string[] {
  if (signal === 'events') return listOf(body).flatMap(event => `  ${JSON.stringify(event)}`);
  const { resourceSpans, resourceLogs, resourceMetrics } = fieldsOf(body);
  const lines: string[] = [];
  let before = '';
  for (const part of listOf(resourceSpans ?? resourceLogs ?? resourceMetrics)) {
    const resource = attributesOf(fieldsOf(part.resource).attributes);
    // Each of the joined bodies states it.
    if (resource.join() !== before) lines.push('  resource', ...resource);
    before = resource.join();
    for (const scope of listOf(part.scopeSpans ?? part.scopeLogs ?? part.scopeMetrics)) {
      for (const span of listOf(scope.spans)) lines.push(...spanLines(span));
      for (const record of listOf(scope.logRecords)) lines.push(...recordLines(record));
      for (const metric of listOf(scope.metrics)) lines.push(...metricLines(metric));
    }
  }
  return lines;
}

const timeOf = (nanos: unknown): string => {
  const ms = Number(BigInt(String(nanos ?? 0)) / 1_000_000n);
  return new Date(ms).toISOString();
};

function spanLines(span: Fields): string[] {
  const start = BigInt(String(span.startTimeUnixNano));
  const ms = Number((BigInt(String(span.endTimeUnixNano)) - start) / 1_000_000n);
  const { code } = fieldsOf(span.status);
  const parent = span.parentSpanId ? ` in ${span.parentSpanId}` : '';
  return [
    `  ${timeOf(start)} ${harmless(String(span.name))} ${duration(ms)}${code === 2 ? ' ERROR' : ''}`,
    `      trace ${span.traceId} span ${span.spanId}${parent}`,
    ...attributesOf(span.attributes),
    ...listOf(span.links).flatMap(link => [
      `      link to ${link.traceId} ${link.spanId}`,
      ...attributesOf(link.attributes),
    ]),
  ];
}

const recordLines = (record: Fields): string[] => [
  `  ${timeOf(record.timeUnixNano)} ${record.severityText} ${shown(record.body)}`,
  `      trace ${record.traceId} span ${record.spanId}`,
  ...attributesOf(record.attributes),
];

function metricLines(metric: Fields): string[] {
  const { dataPoints } = fieldsOf(metric.sum ?? metric.gauge ?? metric.histogram);
  return listOf(dataPoints).flatMap(point => {
    const value = point.asInt ?? point.asDouble ?? `${point.count} values, sum ${point.sum}`;
    return [`  ${metric.name} ${value} ${metric.unit ?? ''}`.trimEnd(), ...attributesOf(point.attributes)];
  });
}

const attributesOf = (attributes: unknown): string[] =>
  listOf(attributes).map(({ key, value }) => `      ${harmless(String(key))} = ${shown(value)}`);

/** A value of OTLP/JSON as plain JSON; a text on one line, without quotes and control characters. */
function shown(value: unknown): string {
  const plain = plainOf(value);
  return typeof plain === 'string' ? harmless(plain) : harmless(JSON.stringify(plain));
}

const harmless = (text: string): string =>
  text.replace(/[\u0000-\u001f\u007f-\u009f]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

function plainOf(value: unknown): unknown {
  const { stringValue, intValue, doubleValue, boolValue, arrayValue, kvlistValue } = fieldsOf(value);
  if (arrayValue !== undefined) return listOf(fieldsOf(arrayValue).values).map(plainOf);
  if (kvlistValue !== undefined)
    return Object.fromEntries(listOf(fieldsOf(kvlistValue).values).map(each => [each.key, plainOf(each.value)]));
  return stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue ?? null) : Number(intValue));
}
