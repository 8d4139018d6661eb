/**
 * The CPU time of deliver from journal lines to bodies that a receiver has acknowledged (fold, map, encode, outbox,
 * ledger, HTTP), compared with
 *
 *     serializers   only the official serializers over the same ReadableSpan and ReadableLogRecord values, in
 *                   requests of the same size: the lowest cost of the same bodies with official code
 *     SDK           the same spans and records by OpenTelemetry's own SDK: tracer and logger, BatchSpanProcessor and
 *                   BatchLogRecordProcessor, the OTLP/proto exporters of both signals, to the same receiver; from the
 *                   same journal (read, folded and mapped as deliver does it), and from values in memory
 *
 * The sides and the receiver are separate processes, so that no side pays for the other's heap or compiles its code.
 * `all in` begins with fragments in the inbox (read, recognize, redact, identify, judge, fold, commit) and ends with the
 * same acknowledged bodies: in a process that has compiled its code, and by the command `otel-hooks deliver` from the
 * start of its process to its end, with gzip and metrics as by default.
 *
 * Repeats alternate in random order after one that is not counted; medians are compared. Compression is off on all
 * sides; what gzip (level 1) adds, and what metrics add, is printed apart.
 *
 *     node scripts/bench.mjs deliver [--repeats 5] [--gate]
 *
 * `--gate`: three repeats of the first comparison; exits 1 when deliver falls below its gate in each of three runs,
 * because other work on the machine can only make it look worse.
 */

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { ProtobufLogsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider, type ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { step } from '../src/assemble/assemble.ts';
import type { Destination } from '../src/config/destinations.ts';
import { destinationsIn } from '../src/deliver/known-destinations.ts';
import { ChangedDocuments } from '../src/documents/changed-documents.ts';
import { documents } from '../src/documents/documents.ts';
import { collectAlone } from '../src/lib/garbage.ts';
import { outgoingOf } from '../src/pipeline/outgoing.ts';
import { computeRound } from '../src/pipeline/round.ts';
import type { SessionOutput } from '../src/pipeline/session-in-round.ts';
import type { SessionState } from '../src/session/session-state.ts';
import { changeOf } from '../src/store/document.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { resourceOf } from '../src/telemetry/resource.ts';
import { readableRecordOf, readableSpanOf } from '../test/otlp.ts';
import { destinationOf, fragmentOf, hooksOf, pinned, ROUND, START_MS, worldIn, writeInto } from './parts/sessions.ts';
import {
  alternate,
  answer,
  ask,
  type Counted,
  type Done,
  judged,
  nothing,
  numberAfter,
  onStage,
  type Stage,
  setting,
  timed,
} from './parts/sides.ts';
import { eventsOf, gainOf, journalsIn, prepareJournals, sessionOf } from './parts/stages.ts';
import { receive, shipping } from './parts/way.ts';

const GATE = 0.3;
const BAR = 0.55;
const STRETCH = 0.6;
const ALL_IN_GATE = 0.05;
const ALL_IN_BAR = 0.12;
const SDK_BAR = 1.8;
const SDK_STRETCH = 2.2;
const MOST_ITEMS = 512;
const SESSIONS = 40;
const HOOKS_PER_SESSION = 500;

type Job =
  | { kind: 'prepare' }
  | { kind: 'serializers' }
  | { kind: 'sdk'; url: string; isReady: boolean }
  | { kind: 'deliver'; url: string; gzip: boolean; metrics: boolean }
  | { kind: 'all in'; url: string; isCommand: boolean };

const [role, folder = ''] = process.argv.slice(2);
if (role === 'receiver') receive();
else if (role === 'worker') work();
else process.exitCode = await onStage(stage => main(stage, process.argv.slice(2)));

// ---------------------------------------------------------------- the comparison

async function main({ start }: Stage, words: readonly string[]): Promise<number> {
  const isGate = words.includes('--gate');
  const repeats = numberAfter(words, '--repeats', isGate ? 3 : 5);
  console.log(`${setting()}, ${repeats} repeats, medians of CPU time`);
  const receiver = start('receiver');
  const url = await new Promise<string>(resolve => receiver.once('message', each => resolve(String(each))));
  const [ours, bare, sdk] = [start('worker'), start('worker'), start('worker')];
  const run = (child: typeof ours, job: Job) => () => ask(child, job);
  await ask<Job>(ours, { kind: 'prepare' });
  const serializers = run(bare, { kind: 'serializers' });
  const deliver = run(ours, { kind: 'deliver', url, gzip: false, metrics: false });
  const allIn = {
    'all in': run(ours, { kind: 'all in', url, isCommand: false }),
    'all in, the command': run(ours, { kind: 'all in', url, isCommand: true }),
  };
  if (!isGate) {
    print(
      await alternate(repeats, {
        serializers,
        deliver,
        ...allIn,
        'journal through the SDK': run(sdk, { kind: 'sdk', url, isReady: false }),
        'ready values by the SDK': run(sdk, { kind: 'sdk', url, isReady: true }),
        'deliver, with metrics': run(ours, { kind: 'deliver', url, gzip: false, metrics: true }),
        'deliver, with gzip': run(ours, { kind: 'deliver', url, gzip: true, metrics: false }),
      }),
    );
    return 0;
  }
  for (let attempt = 1; attempt <= 3; attempt++) {
    if (print(await alternate(repeats, { serializers, deliver, ...allIn }))) return 0;
  }
  return 1;
}

/** Returns true if both gates are met. */
function print(sides: ReadonlyMap<string, Done>): boolean {
  const bare = sides.get('serializers') ?? nothing;
  console.log(
    `\n${'journal to acknowledged'.padEnd(26)}${'spans'.padStart(8)}${'records'.padStart(9)}${'CPU ms'.padStart(9)}${'items/CPU s'.padStart(13)}${'ratio'.padStart(8)}${'wall ms'.padStart(9)}`,
  );
  for (const [name, done] of sides) {
    if (done.spans !== bare.spans || done.records !== bare.records)
      throw new Error(`${name}: ${done.spans} spans and ${done.records} records, not as many as the others`);
    console.log(
      name.padEnd(26) +
        String(done.spans).padStart(8) +
        String(done.records).padStart(9) +
        done.cpuMs.toFixed(0).padStart(9) +
        (((done.spans + done.records) / done.cpuMs) * 1000).toFixed(0).padStart(13) +
        (bare.cpuMs / done.cpuMs).toFixed(3).padStart(8) +
        done.wallMs.toFixed(0).padStart(9),
    );
  }
  const { cpuMs } = sides.get('deliver') ?? nothing;
  const ratio = bare.cpuMs / cpuMs;
  const allIn = bare.cpuMs / (sides.get('all in') ?? nothing).cpuMs;
  console.log(
    judged('all in, beside the bare serializers', allIn, [
      { name: 'gate', least: ALL_IN_GATE },
      { name: 'bar', least: ALL_IN_BAR },
    ]),
  );
  const command = bare.cpuMs / (sides.get('all in, the command') ?? nothing).cpuMs;
  console.log(judged('all in by the command, from its start', command, [{ name: 'bar', least: ALL_IN_BAR }]));
  console.log(
    judged('deliver, beside the bare serializers', ratio, [
      { name: 'gate', least: GATE },
      { name: 'bar', least: BAR },
      { name: 'stretch', least: STRETCH },
    ]),
  );
  for (const name of ['journal through the SDK', 'ready values by the SDK']) {
    const sdk = sides.get(name);
    if (sdk === undefined) continue;
    console.log(
      judged(`deliver, beside ${name}`, sdk.cpuMs / cpuMs, [
        { name: 'bar', least: SDK_BAR },
        { name: 'stretch', least: SDK_STRETCH },
      ]),
    );
  }
  return ratio >= GATE && allIn >= ALL_IN_GATE;
}

// ---------------------------------------------------------------- the sides

function work(): void {
  let values: Values | undefined;
  answer<Job>(async job => {
    switch (job.kind) {
      case 'prepare':
        prepareJournals(join(folder, 'source'), SESSIONS, HOOKS_PER_SESSION);
        return nothing;
      case 'serializers': {
        values ??= valuesOf(journalsIn(join(folder, 'source')));
        const given = values;
        return timed(() => serialize(given));
      }
      case 'sdk': {
        const texts = journalsIn(join(folder, 'source'));
        values ??= valuesOf(texts);
        const given = job.isReady ? values : undefined;
        return timed(() => sendThroughSdk(given ?? valuesOf(texts), job.url));
      }
      case 'deliver': {
        collectAlone();
        const texts = journalsIn(join(folder, 'source'));
        const done = await timed(() => deliverJournals(texts, destinationOf(job)));
        rmSync(join(folder, 'way'), { recursive: true });
        return done;
      }
      case 'all in': {
        collectAlone();
        const state = join(folder, 'all-in');
        const sessions = Array.from({ length: SESSIONS }, (_, i) => hooksOf(`bench-${i}`, 500));
        writeInto(join(state, 'inbox'), SESSIONS * HOOKS_PER_SESSION, i =>
          fragmentOf(sessions[Math.floor(i / HOOKS_PER_SESSION)]?.next().value, job.url),
        );
        const done = job.isCommand ? deliverByCommand(state) : await timed(() => drainAndDeliver(state));
        rmSync(state, { recursive: true });
        return done;
      }
    }
  });
}

interface Values {
  spans: ReadableSpan[];
  records: ReadableLogRecord[];
}

function serialize({ spans, records }: Values): Counted {
  for (let at = 0; at < spans.length; at += MOST_ITEMS)
    ProtobufTraceSerializer.serializeRequest(spans.slice(at, at + MOST_ITEMS));
  for (let at = 0; at < records.length; at += MOST_ITEMS)
    ProtobufLogsSerializer.serializeRequest(records.slice(at, at + MOST_ITEMS));
  return { spans: spans.length, records: records.length };
}

/** As an application works: values become spans of a tracer and records of a logger, queues become requests. */
async function sendThroughSdk({ spans, records }: Values, url: string): Promise<Counted> {
  const resource = resourceFromAttributes(pinned('').resource);
  // The queues may not drop an item, because deliver drops none either.
  const room = { maxQueueSize: spans.length + records.length, maxExportBatchSize: MOST_ITEMS };
  let taken = 0;
  const failed: unknown[] = [];
  const traceExporter = new OTLPTraceExporter({ url: `${url}/v1/traces` });
  const logExporter = new OTLPLogExporter({ url: `${url}/v1/logs` });
  for (const exporter of [traceExporter, logExporter] as { export: typeof traceExporter.export }[]) {
    const send = exporter.export.bind(exporter);
    exporter.export = (items, done) =>
      send(items, result => {
        if (result.code === 0) taken += items.length;
        else failed.push(result.error);
        done(result);
      });
  }
  const tracers = new NodeTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(traceExporter, room)] });
  const loggers = new LoggerProvider({
    resource,
    processors: [new BatchLogRecordProcessor({ exporter: logExporter, ...room })],
  });
  const tracer = tracers.getTracer('bench');
  const logger = loggers.getLogger('bench');
  for (const [i, span] of spans.entries()) {
    const { name, kind, startTime, attributes, links } = span;
    const made = tracer.startSpan(
      name,
      { kind, startTime, attributes, links: [...links] },
      within(span.parentSpanContext),
    );
    made.setStatus(span.status);
    made.end(span.endTime);
    if (i % MOST_ITEMS === 0) await breath();
  }
  for (const [i, record] of records.entries()) {
    const { severityNumber, severityText, body, attributes, eventName } = record;
    logger.emit({
      timestamp: record.hrTime,
      observedTimestamp: record.hrTimeObserved,
      severityNumber,
      severityText,
      body,
      attributes,
      eventName,
      context: within(record.spanContext),
    });
    if (i % MOST_ITEMS === 0) await breath();
  }
  await Promise.all([tracers.shutdown(), loggers.shutdown()]);
  if (failed.length > 0 || taken !== spans.length + records.length) {
    throw new Error(`the SDK delivered ${taken} items`, { cause: failed[0] });
  }
  return { spans: spans.length, records: records.length };
}

const within = (parent: ReadableSpan['parentSpanContext']): Context =>
  parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);

/** Lets the process handle answers, as between the rounds of deliver. */
const breath = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** The input that deliver gives to the serializers, made before the measurement starts. */
function valuesOf(texts: readonly string[]): Values {
  const spans: ReadableSpan[] = [];
  const records: ReadableLogRecord[] = [];
  const resource = resourceOf(pinned('').resource);
  for (const text of texts) {
    const events = eventsOf(text);
    const { state } = sessionOf(events, pinned(''));
    const facts = {
      agent: state.agent,
      session: state.session,
      provider: undefined,
      denyAsError: false,
      limits: pinned('').limits,
    };
    for (const event of events) {
      const out = step(state.fold, event);
      for (const span of out.spans) spans.push(readableSpanOf(span, facts, resource));
      for (const record of out.records) records.push(readableRecordOf(record, facts, resource));
    }
  }
  return { spans, records };
}

/** As deliver works, but from events that are journaled already: no journal is written again. */
async function deliverJournals(texts: readonly string[], destination: Destination): Promise<Counted> {
  const store = openStore({ folder: join(folder, 'way'), access: 'own' });
  store.commit({ documents: [changeOf(documents.destinations.of(destination.id), destination)] });
  const { ship, flush, close } = shipping(store, () => [destination]);
  let gains: SessionOutput[] = [];
  let room = ROUND.fragments;
  const commit = async (): Promise<void> => {
    const changed = new ChangedDocuments(store);
    const { bodies, tallies } = outgoingOf(gains, changed, START_MS);
    store.commit({
      sessions: gains.map(({ state }) => ({ key: state.key, state })),
      documents: changed.changes(),
      bodies,
      tally: ledger => {
        for (const tally of tallies) tally(ledger);
      },
    });
    gains = [];
    room = ROUND.fragments;
    ship();
    await breath();
  };
  for (const text of texts) {
    const events = eventsOf(text);
    let gain = sessionOf(events, pinned(destination.id));
    gains.push(gain);
    for (const event of events) {
      if (room === 0) {
        await commit();
        gain = gainOf(store.session(gain.state.key)?.state as SessionState);
        gains.push(gain);
      }
      room -= 1;
      const { spans, records } = step(gain.state.fold, event);
      gain.events.push(event);
      gain.spans.push(...spans);
      gain.records.push(...records);
    }
  }
  await commit();
  await flush();
  close();
  const accounts = store.ledger().destinations[destination.id];
  store.close();
  return { spans: accounts?.traces.accepted ?? 0, records: accounts?.logs.accepted ?? 0 };
}

async function drainAndDeliver(state: string): Promise<Counted> {
  const store = openStore({ folder: state, access: 'own' });
  const { ship, flush, close } = shipping(store, () => destinationsIn(store));
  for (let taken = store.take(ROUND); taken.fragments.length > 0; taken = store.take(ROUND)) {
    const { round } = computeRound(store, taken, {}, worldIn(folder, taken.fragments.at(-1)?.atMs));
    if (store.commit(round) !== 'committed') throw new Error('a round was lost');
    ship();
    await breath();
  }
  await flush();
  close();
  const counted = acceptedIn(store);
  store.close();
  return counted;
}

/** Tells the CPU time of a process at its end. */
const TELLING = `data:text/javascript,process.on('exit', () => console.error(JSON.stringify(process.cpuUsage())))`;

function deliverByCommand(state: string): Done {
  const words = ['--import', TELLING, resolve('dist/otel-hooks.cjs'), 'deliver', '--wait', '120s'];
  const env = { PATH: process.env.PATH, HOME: folder, OTEL_HOOKS_STATE_DIR: state };
  const startMs = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { env, encoding: 'utf8' });
  const wallMs = performance.now() - startMs;
  if (status !== 0) throw new Error(`deliver failed: ${stdout}${stderr}`);
  const { user, system } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as NodeJS.CpuUsage;
  const store = openStore({ folder: state, access: 'read' });
  return { ...nothing, ...acceptedIn(store), cpuMs: (user + system) / 1000, wallMs };
}

function acceptedIn(store: Pick<Store, 'ledger'>): Counted {
  const counted = { spans: 0, records: 0 };
  for (const { traces, logs } of Object.values(store.ledger().destinations)) {
    counted.spans += traces.accepted;
    counted.records += logs.accepted;
  }
  return counted;
}
