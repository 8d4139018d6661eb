/**
 * For applications with an OpenTelemetry SDK of their own: what hooks say becomes the same spans, records and measurements
 * that otel-hooks sends, and goes into that SDK over its public interfaces. Nothing touches a disk or a network here.
 *
 * The interfaces are described by what is called on them, so that SDKs of any version fit and none has to be installed.
 */
import { randomBytes } from 'node:crypto';
import { ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { agentNamed, agents } from '../agents/index.ts';
import { isOpen } from '../assemble/assemble.ts';
import { limitsOf } from '../config/config.ts';
import { type Event, rootSessionOf } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { keyedHash } from '../lib/hash.ts';
import { isFields } from '../lib/read.ts';
import { VERSION } from '../lib/version.ts';
import { incrementsIn, spanFactsOf } from '../pipeline/outgoing.ts';
import {
  noCounts,
  noOutput,
  type RoundContext,
  SessionInRound,
  type SessionOutput,
  SILENCE_MS,
} from '../pipeline/session-in-round.ts';
import { takeFragment } from '../pipeline/take-fragment.ts';
import { judgeRisk } from '../session/own-rules.ts';
import { callerOf } from '../session/pin.ts';
import { priceOf } from '../session/prices.ts';
import { newSession, type Pinned, sessionKey } from '../session/session-state.ts';
import { mapRecord } from '../telemetry/logs.ts';
import { type MetricId, type MetricName, metrics, SCOPE } from '../telemetry/names.ts';
import { resourceAttributes, versioned } from '../telemetry/resource.ts';
import { readableRecord, readableSpan } from '../telemetry/sdk-values.ts';
import { mapSpan, spansToSend } from '../telemetry/spans.ts';

/** What is handed over: a finished span as SDKs have them. */
export interface BridgeSpan {
  readonly name: string;
  readonly kind: number;
  spanContext(): { traceId: string; spanId: string; traceFlags: number };
  readonly parentSpanContext?: { traceId: string; spanId: string; traceFlags: number } | undefined;
  readonly startTime: [number, number];
  readonly endTime: [number, number];
  readonly status: { code: number };
  readonly attributes: object;
}

export interface BridgeSpanProcessor {
  onEnd(span: BridgeSpan): void;
  forceFlush(): Promise<void>;
}

export interface BridgeSpanExporter {
  export(spans: BridgeSpan[], done: (result: { code: number; error?: Error }) => void): void;
  forceFlush?(): Promise<void>;
}

export interface BridgeLoggerProvider {
  getLogger(name: string, version?: string): { emit(record: object): void };
}

export interface BridgeMeterProvider {
  getMeter(
    name: string,
    version?: string,
  ): {
    createCounter(name: string, options?: object): { add(value: number, attributes?: object): void };
    createHistogram(name: string, options?: object): { record(value: number, attributes?: object): void };
  };
}

export interface BridgeOptions {
  spanProcessors?: readonly BridgeSpanProcessor[] | undefined;
  spanExporters?: readonly BridgeSpanExporter[] | undefined;
  /** Records and measurements carry the resource of their providers. */
  loggerProvider?: BridgeLoggerProvider | undefined;
  meterProvider?: BridgeMeterProvider | undefined;
  /** `service.name` on spans; without it the name of the agent. */
  serviceName?: string | undefined;
  /** Further attributes of the resource of spans. */
  attributes?: { readonly [name: string]: string } | undefined;
  /** Who we are, for `service.instance.id`; without it another one with each bridge. */
  installation?: string | undefined;
  /** Content is hashed under this key; without it another one with each bridge. */
  hashKey?: string | undefined;
  /** What one trace holds; a session where nothing is said. */
  shape?: 'session' | 'turn' | undefined;
  /** `off`: turns have no spans. */
  turns?: 'on' | 'off' | undefined;
  /** A denied action has status ERROR. */
  denyAsError?: boolean | undefined;
  semconv?: 'latest' | 'v1.36' | 'both' | undefined;
}

/** What is known of a payload beside itself. */
export interface About {
  /** The agent that it comes from; without it the payload is recognized. */
  tool?: string | undefined;
  /** The name of the event, where the payload does not say it. */
  event?: string | undefined;
  cwd?: string | undefined;
  /** When it was told, in Unix ms; without it now. */
  atMs?: number | undefined;
  /** A W3C traceparent with the first event of a session: its root links there, or, as `parent`, hangs there. */
  traceparent?: string | undefined;
  traceparentIs?: 'link' | 'parent' | undefined;
}

export interface Handled {
  fate: 'journaled' | 'duplicate' | 'rejected';
  /** Why it was rejected. */
  reason?: string;
}

/** Counted where it happens. */
export interface BridgeBooks {
  /** Payloads and lines of journals. */
  received: number;
  journaled: number;
  duplicate: number;
  rejected: number;
  spans: number;
  records: number;
  /** Spans that an exporter refused, or that found the queue full. */
  failed: number;
  dropped: number;
}

export interface Bridge {
  /** One payload of an agent's hook, or one event of an open standard, as an object or as its text. */
  handle(payload: object | string, about?: About): Handled;
  /** Lines of a journal of otel-hooks: the very spans that were, or would be, sent for it. */
  journal(lines: string): void;
  /** Resolves when processors and exporters have all that is finished. Open sessions stay open. */
  flush(): Promise<void>;
  /** Ends what is open, as abandoned, and flushes. Processors, exporters and providers stay the application's. */
  shutdown(): Promise<void>;
  books(): BridgeBooks;
}

/** At most so many sessions that are over are remembered, for what comes late. */
const MOST_ENDED = 1_000;
const SWEEP_MS = 60_000;

export function createBridge(options: BridgeOptions = {}): Bridge {
  const {
    installation = randomBytes(16).toString('hex'),
    hashKey = randomBytes(32).toString('hex'),
    semconv = 'latest',
    loggerProvider,
    meterProvider,
  } = options;
  const limits = limitsOf({});
  const sessions = new Map<string, SessionInRound>();
  const books: BridgeBooks = {
    received: 0,
    journaled: 0,
    duplicate: 0,
    rejected: 0,
    spans: 0,
    records: 0,
    failed: 0,
    dropped: 0,
  };
  const outlet = outletOver(options, books);
  const logger = loggerProvider?.getLogger(SCOPE, VERSION);
  const measure = meterProvider && instrumentsOf(meterProvider);
  let sweptMs = Date.now();

  const pinnedFor = (agent: string, about: About): Pinned => ({
    destinations: [],
    resource: resourceAttributes({
      agent,
      serviceName: options.serviceName,
      attributes: options.attributes ?? {},
      installation,
    }),
    denyAsError: options.denyAsError ?? false,
    shape: options.shape === 'turn' ? 'turn' : undefined,
    turns: options.turns === 'off' && options.shape !== 'turn' ? 'off' : undefined,
    caller: callerOf(about.traceparent, about.traceparentIs),
    sampler: { kind: 'always_on', ratio: 1 },
    limits,
    semconv: semconv === 'latest' ? undefined : semconv,
  });

  const counts = noCounts();
  const context: RoundContext = {
    hash: content => keyedHash(hashKey, content),
    risk: judgeRisk,
    price: priceOf,
    nowMs: 0,
    counts,
    settles: 'never waiting',
  };

  function sessionOf(agent: Parameters<typeof newSession>[0]['agent'], session: string, about: About): SessionInRound {
    const key = sessionKey(agent.id, session);
    const known = sessions.get(key);
    if (known) return known;
    const state = newSession({ agent, session, key }, pinnedFor(agent.id, about));
    const made = new SessionInRound(state, context);
    sessions.set(key, made);
    return made;
  }

  function yieldAll(output: SessionOutput): void {
    const { state, spans, records } = output;
    const resource = versioned(state.pinned.resource);
    const facts = spanFactsOf(state);
    if (measure) for (const { metric, attributes, value } of incrementsIn(output)) measure(metric, value, attributes);
    const left = spansToSend(spans, facts);
    books.spans += left.length;
    outlet.put(left.map(span => readableSpan(mapSpan(span, facts, resource(span.version)))));
    for (const record of logger ? records : []) {
      const { hrTime, hrTimeObserved, spanContext, ...said } = readableRecord(
        mapRecord(record, facts, resource(record.event.source.version)),
      );
      const { severityNumber, severityText, eventName, body, attributes } = said;
      logger?.emit({
        ...{ eventName, severityNumber, severityText, body, attributes },
        timestamp: hrTime,
        observedTimestamp: hrTimeObserved,
        context: trace.setSpanContext(ROOT_CONTEXT, spanContext as SpanContext),
      });
      books.records += 1;
    }
    Object.assign(output, noOutput());
  }

  function end(session: SessionInRound): void {
    session.abort(Math.max(session.state.fold.lastMs, 0));
    yieldAll(session);
  }

  /** Sessions that nothing was heard of for long are over; the oldest of these are forgotten. */
  function sweep(nowMs: number): void {
    if (nowMs - sweptMs < SWEEP_MS) return;
    sweptMs = nowMs;
    for (const session of sessions.values()) {
      const { state } = session;
      if (isOpen(state.fold) && nowMs - state.arrivedMs > SILENCE_MS) end(session);
    }
    const ended = [...sessions].filter(([, { state }]) => !isOpen(state.fold));
    for (const [key] of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) sessions.delete(key);
  }

  function handled(payload: object | string, about: About): Handled {
    const nowMs = Date.now();
    context.nowMs = nowMs;
    const taken = takeFragment(fragmentOf(payload, about, nowMs), agents, ({ agent, session }) =>
      sessionOf(agent, session, about),
    );
    if (taken.fate === 'rejected') {
      books.rejected += 1;
      return { fate: 'rejected', reason: taken.reason };
    }
    for (const session of taken.sessions) {
      session.state.arrivedMs = Math.max(session.state.arrivedMs, nowMs);
      yieldAll(session);
    }
    sweep(nowMs);
    books[taken.fate] += 1;
    return { fate: taken.fate };
  }

  return {
    handle(payload, about = {}) {
      books.received += 1;
      try {
        return handled(payload, about);
      } catch {
        // An application must not fail because of what an agent said. What cannot be processed is counted.
        books.rejected += 1;
        return { fate: 'rejected', reason: 'failed' };
      }
    },
    journal(lines) {
      for (const line of lines.split('\n')) {
        if (line === '') continue;
        books.received += 1;
        const event = eventIn(line);
        if (event === undefined) {
          books.rejected += 1;
          continue;
        }
        const id = event.source.tool;
        const settles = agentNamed(id)?.settles ?? { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };
        const session = sessionOf({ id, settles }, rootSessionOf(event), {});
        session.state.arrivedMs = Date.now();
        try {
          session.replay(event);
          yieldAll(session);
          books.journaled += 1;
        } catch {
          // A line that looks like an event and is none: it is counted, and the lines behind it are read.
          books.rejected += 1;
        }
      }
    },
    flush: outlet.flush,
    async shutdown() {
      for (const session of sessions.values()) if (isOpen(session.state.fold)) end(session);
      await outlet.flush();
    },
    books: () => ({ ...books }),
  };
}

function fragmentOf(payload: object | string, about: About, nowMs: number): Fragment {
  const bytes = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const header = { tool: about.tool, event: about.event, cwd: about.cwd, TRACEPARENT: about.traceparent };
  const said = Object.entries(header).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return {
    name: 'bridge',
    header: Object.fromEntries(said),
    payload: bytes,
    atMs: about.atMs ?? nowMs,
    sizeBytes: bytes.length,
  };
}

function eventIn(line: string): Event | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    const isEvent =
      isFields(value) &&
      typeof value.event_type === 'string' &&
      typeof value.session_id === 'string' &&
      isFields(value.source) &&
      typeof value.source.tool === 'string' &&
      isFields(value.data);
    return isEvent ? (value as unknown as Event) : undefined;
  } catch {
    // No JSON: it is counted as rejected.
    return undefined;
  }
}

/**
 * An SDK's own queue holds 2,048 spans and drops what comes beyond, so it is emptied before it is given more than that.
 */
const SLICE = 512;
const MOST_WAITING = 65_536;

function outletOver(
  { spanProcessors = [], spanExporters = [] }: BridgeOptions,
  books: BridgeBooks,
): { put(spans: readonly ReadableSpan[]): void; flush(): Promise<void> } {
  let waiting: ReadableSpan[] = [];
  let given = 0;
  let errors: Error[] = [];
  let running: Promise<void> | undefined;

  const emptied = (): Promise<unknown> =>
    Promise.all(spanProcessors.map(processor => processor.forceFlush().catch((error: Error) => errors.push(error))));

  async function pump(): Promise<void> {
    while (waiting.length > 0) {
      const slice = waiting.slice(0, SLICE);
      waiting = waiting.slice(SLICE);
      for (const processor of spanProcessors) for (const span of slice) ended(processor, span);
      given += slice.length;
      await Promise.all(spanExporters.map(exporter => exported(exporter, slice)));
      if (given >= SLICE && spanProcessors.length > 0) {
        given = 0;
        await emptied();
      }
    }
  }

  /** A processor that throws fails for this span alone; `flush` tells of it. */
  const ended = (processor: BridgeSpanProcessor, span: ReadableSpan): void => {
    try {
      processor.onEnd(span as BridgeSpan);
    } catch (error) {
      errors.push(error instanceof Error ? error : new Error(String(error)));
    }
  };

  const exported = (exporter: BridgeSpanExporter, spans: ReadableSpan[]): Promise<void> =>
    new Promise(done => {
      exporter.export(spans as BridgeSpan[], ({ code, error }) => {
        if (code !== 0) {
          books.failed += spans.length;
          errors.push(error ?? new Error('an exporter refused spans'));
        }
        done();
      });
    });

  const run = (): void => {
    running ??= pump().finally(() => {
      running = undefined;
    });
  };

  return {
    put(spans) {
      const room = Math.max(0, MOST_WAITING - waiting.length);
      books.dropped += Math.max(0, spans.length - room);
      waiting.push(...spans.slice(0, room));
      if (waiting.length > 0) run();
    },
    async flush() {
      while (running) await running;
      given = 0;
      await emptied();
      for (const exporter of spanExporters)
        await exporter.forceFlush?.().catch((error: Error) => {
          errors.push(error);
        });
      const met = errors;
      errors = [];
      if (met.length > 0) throw new AggregateError(met, `otel-hooks: ${met[0]?.message}`);
    },
  };
}

/** One instrument for each of our metrics, made when it is first needed. */
function instrumentsOf(provider: BridgeMeterProvider): (metric: MetricId, value: number, attributes: object) => void {
  const meter = provider.getMeter(SCOPE, VERSION);
  const made = new Map<MetricId, (value: number, attributes: object) => void>();
  const make = (metric: MetricId): ((value: number, attributes: object) => void) => {
    const { name, unit, description, bounds }: MetricName = metrics[metric];
    if (bounds === undefined) {
      const counter = meter.createCounter(name, { unit, description });
      return (value, attributes) => counter.add(value, attributes);
    }
    const advice = { explicitBucketBoundaries: [...bounds] };
    const histogram = meter.createHistogram(name, { unit, description, advice });
    return (value, attributes) => histogram.record(value, attributes);
  };
  return (metric, value, attributes) => {
    const instrument = made.get(metric) ?? make(metric);
    made.set(metric, instrument);
    instrument(value, attributes);
  };
}
