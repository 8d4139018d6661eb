/**
 * The bridge into an application's own OpenTelemetry SDK. It makes the same spans, records and measurements of hooks that
 * otel-hooks sends, and gives them to that SDK through its public interfaces. It uses no disk and no network.
 *
 * The interfaces list only the methods that the bridge calls, so that SDKs of any version fit and none has to be installed.
 */
import { randomBytes } from 'node:crypto';
import { ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
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
import { SpanOutlet } from './span-outlet.ts';

/** A finished span, in the form of an SDK. */
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
  /** Identifies the installation, for `service.instance.id`. By default each bridge makes one. */
  installation?: string | undefined;
  /** The key under which content is hashed. By default each bridge makes one. */
  hashKey?: string | undefined;
  /** What one trace holds: a session (the default) or a turn. */
  shape?: 'session' | 'turn' | undefined;
  /** `off`: turns have no spans. */
  turns?: 'on' | 'off' | undefined;
  /** A denied action has status ERROR. */
  denyAsError?: boolean | undefined;
  semconv?: 'latest' | 'v1.36' | 'both' | undefined;
}

/** Facts about a payload that the payload itself may lack. */
export interface About {
  /** The agent that sent the payload; without it the payload is recognized by its fields. */
  tool?: string | undefined;
  /** The name of the event, where the payload has none. */
  event?: string | undefined;
  cwd?: string | undefined;
  /** When the event happened, in Unix ms; now by default. */
  atMs?: number | undefined;
  /** A W3C traceparent with the first event of a session. The root span links to it or, with `parent`, becomes its child. */
  traceparent?: string | undefined;
  traceparentIs?: 'link' | 'parent' | undefined;
}

export interface Handled {
  fate: 'journaled' | 'duplicate' | 'rejected';
  /** Why it was rejected. */
  reason?: string;
}

/** Each number is counted where the thing happens. */
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
  /** Lines of a journal of otel-hooks. They become the spans that otel-hooks sends for that journal. */
  journal(lines: string): void;
  /** Resolves when processors and exporters have all finished spans. Open sessions stay open. */
  flush(): Promise<void>;
  /** Ends open sessions as abandoned, and flushes. It does not shut down processors, exporters or providers. */
  shutdown(): Promise<void>;
  books(): BridgeBooks;
}

/** The bridge remembers at most this many ended sessions, for events that come late. */
const MOST_ENDED = 1_000;
const SWEEP_MS = 60_000;

export const createBridge = (options: BridgeOptions = {}): Bridge => new SessionsBridge(options);

class SessionsBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #installation: string;
  readonly #context: RoundContext;
  readonly #outlet: SpanOutlet;
  readonly #logger: ReturnType<BridgeLoggerProvider['getLogger']> | undefined;
  readonly #measure: Measure | undefined;
  readonly #sessions = new Map<string, SessionInRound>();
  readonly #books: BridgeBooks = {
    received: 0,
    journaled: 0,
    duplicate: 0,
    rejected: 0,
    spans: 0,
    records: 0,
    failed: 0,
    dropped: 0,
  };
  #sweptMs = Date.now();

  constructor(options: BridgeOptions) {
    const { hashKey = randomBytes(32).toString('hex'), loggerProvider, meterProvider } = options;
    this.#options = options;
    this.#installation = options.installation ?? randomBytes(16).toString('hex');
    this.#outlet = new SpanOutlet(options, this.#books);
    this.#logger = loggerProvider?.getLogger(SCOPE, VERSION);
    this.#measure = meterProvider && instrumentsOf(meterProvider);
    this.#context = {
      hash: content => keyedHash(hashKey, content),
      risk: judgeRisk,
      price: priceOf,
      nowMs: 0,
      counts: noCounts(),
      settles: 'never waiting',
    };
  }

  handle(payload: object | string, about: About = {}): Handled {
    this.#books.received += 1;
    try {
      return this.#take(payload, about);
    } catch {
      // An application must not fail because of an agent's payload. A payload that cannot be processed is counted.
      this.#books.rejected += 1;
      return { fate: 'rejected', reason: 'failed' };
    }
  }

  journal(lines: string): void {
    for (const line of lines.split('\n')) {
      if (line === '') continue;
      this.#books.received += 1;
      this.#books[this.#replayLine(line)] += 1;
    }
  }

  flush(): Promise<void> {
    return this.#outlet.flush();
  }

  async shutdown(): Promise<void> {
    for (const session of this.#sessions.values()) if (isOpen(session.state.fold)) this.#end(session);
    await this.#outlet.flush();
  }

  books(): BridgeBooks {
    return { ...this.#books };
  }

  #take(payload: object | string, about: About): Handled {
    const nowMs = Date.now();
    this.#context.nowMs = nowMs;
    const taken = takeFragment(fragmentOf(payload, about, nowMs), agents, ({ agent, session }) =>
      this.#sessionOf(agent, session, about),
    );
    if (taken.fate === 'rejected') {
      this.#books.rejected += 1;
      return { fate: 'rejected', reason: taken.reason };
    }
    for (const session of taken.sessions) {
      session.state.arrivedMs = Math.max(session.state.arrivedMs, nowMs);
      this.#send(session);
    }
    this.#sweep(nowMs);
    this.#books[taken.fate] += 1;
    return { fate: taken.fate };
  }

  #replayLine(line: string): 'journaled' | 'rejected' {
    const event = eventIn(line);
    if (event === undefined) return 'rejected';
    const id = event.source.tool;
    const settles = agentNamed(id)?.settles ?? { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };
    const session = this.#sessionOf({ id, settles }, rootSessionOf(event), {});
    session.state.arrivedMs = Date.now();
    try {
      session.replay(event);
      this.#send(session);
      return 'journaled';
    } catch {
      // The line looks like an event and is not one. The lines after it are read.
      return 'rejected';
    }
  }

  #sessionOf(agent: Parameters<typeof newSession>[0]['agent'], session: string, about: About): SessionInRound {
    const key = sessionKey(agent.id, session);
    const known = this.#sessions.get(key);
    if (known) return known;
    const state = newSession({ agent, session, key }, this.#pinnedFor(agent.id, about));
    const made = new SessionInRound(state, this.#context);
    this.#sessions.set(key, made);
    return made;
  }

  #pinnedFor(agent: string, about: About): Pinned {
    const { serviceName, attributes = {}, denyAsError = false, shape, turns, semconv = 'latest' } = this.#options;
    return {
      destinations: [],
      resource: resourceAttributes({ agent, serviceName, attributes, installation: this.#installation }),
      denyAsError,
      shape: shape === 'turn' ? 'turn' : undefined,
      turns: turns === 'off' && shape !== 'turn' ? 'off' : undefined,
      caller: callerOf(about.traceparent, about.traceparentIs),
      sampler: { kind: 'always_on', ratio: 1 },
      limits: limitsOf({}),
      semconv: semconv === 'latest' ? undefined : semconv,
    };
  }

  /** Hands the output of a session over to the application's SDK. */
  #send(output: SessionOutput): void {
    const { state, spans, records } = output;
    const resource = versioned(state.pinned.resource);
    const facts = spanFactsOf(state);
    if (this.#measure)
      for (const { metric, attributes, value } of incrementsIn(output)) this.#measure(metric, value, attributes);
    const finished = spansToSend(spans, facts);
    this.#books.spans += finished.length;
    this.#outlet.put(finished.map(span => readableSpan(mapSpan(span, facts, resource(span.version)))));
    for (const record of this.#logger ? records : []) {
      this.#emit(mapRecord(record, facts, resource(record.event.source.version)));
      this.#books.records += 1;
    }
    Object.assign(output, noOutput());
  }

  #emit(record: ReturnType<typeof mapRecord>): void {
    const { hrTime, hrTimeObserved, spanContext, eventName, severityNumber, severityText, body, attributes } =
      readableRecord(record);
    this.#logger?.emit({
      ...{ eventName, severityNumber, severityText, body, attributes },
      timestamp: hrTime,
      observedTimestamp: hrTimeObserved,
      context: trace.setSpanContext(ROOT_CONTEXT, spanContext as SpanContext),
    });
  }

  #end(session: SessionInRound): void {
    session.abort(Math.max(session.state.fold.lastMs, 0));
    this.#send(session);
  }

  /** Ends sessions that were silent for long, and forgets the oldest of the ended ones. */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    for (const session of this.#sessions.values()) {
      const { state } = session;
      if (isOpen(state.fold) && nowMs - state.arrivedMs > SILENCE_MS) this.#end(session);
    }
    const ended = [...this.#sessions].filter(([, { state }]) => !isOpen(state.fold));
    for (const [key] of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) this.#sessions.delete(key);
  }
}

function fragmentOf(payload: object | string, about: About, nowMs: number): Fragment {
  const bytes = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const header = { tool: about.tool, event: about.event, cwd: about.cwd, TRACEPARENT: about.traceparent };
  const stated = Object.entries(header).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return {
    name: 'bridge',
    header: Object.fromEntries(stated),
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
    // Not JSON.
    return undefined;
  }
}

type Measure = (metric: MetricId, value: number, attributes: object) => void;

/** One instrument for each of our metrics, made at its first measurement. */
function instrumentsOf(provider: BridgeMeterProvider): Measure {
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
