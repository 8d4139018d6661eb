/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The bridge into an application's own OpenTelemetry SDK. From hooks it makes the same spans, records and measurements
 * as delivery, and passes them to that SDK through its public interfaces. It does not use the network. It reads the
 * disk only if the options ask for transcripts or repositories. It never throws and never rejects, except for bad
 * options.
 */
import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { agentNamed, agents } from '../agents/index.ts';
import { awaited, isOpen } from '../assemble/assemble.ts';
import { rootSessionOf } from '../event/event.ts';
import { keyedHash } from '../lib/hash.ts';
import { isFields } from '../lib/read.ts';
import { incrementsIn, spanFactsOf } from '../pipeline/outgoing.ts';
import {
  noCounts,
  noOutput,
  type RoundContext,
  SessionInRound,
  type SessionOutput,
} from '../pipeline/session-in-round.ts';
import { takeFragment } from '../pipeline/take-fragment.ts';
import { keeperOf } from '../session/own-content.ts';
import { judgeRisk } from '../session/own-rules.ts';
import { callerOf } from '../session/pin.ts';
import { priceOf } from '../session/prices.ts';
import { newSession, type Pinned, sessionKey } from '../session/session-state.ts';
import { isOfWeight } from '../telemetry/logs.ts';
import { versioned } from '../telemetry/resource.ts';
import { type SpanContextFacts, spansToSend } from '../telemetry/spans.ts';
import { diskEyes } from '../transcripts/eyes.ts';
import { patient } from '../transcripts/settlement.ts';
import type { Report } from './bridge-options.ts';
import { BridgeError, type BridgeOptions, type Late } from './bridge-options.ts';
import { useContained } from './contained.ts';
import {
  activeSpanContext,
  globalLoggerProvider,
  globalMeterProvider,
  globalTracerProvider,
  warn,
} from './global-api.ts';
import { check, refusal } from './input.ts';
import type { BridgeInput, HookPayload, IngestMeta, IngestResult } from './input-types.ts';
import { Instruments } from './instruments.ts';
import { eventIn, type JournalSource, linesIn } from './journal-lines.ts';
import { LiveSessions } from './live-sessions.ts';
import { isDisabled, pinnedOf, settingsOf } from './options.ts';
import { Outlet, rootStartOf } from './outlet.ts';
import { RecordTarget } from './record-target.ts';
import { Sampling } from './sampling.ts';
import { type ExportResults, SpanAccounts } from './span-accounts.ts';
import { ExporterTarget, failure, ProcessorTarget, type SpanTarget } from './span-targets.ts';
import type { BridgeStats, InputStats } from './stats.ts';
import { TimeoutError, within } from './time-limit.ts';
import { behindProxy, isNoop, TracerTarget } from './tracer-target.ts';

/**
 * The result of `forceFlush` or `shutdown`.
 * @example
 * ```ts
 * const { ok, waiting }: FlushResult = await bridge.forceFlush();
 * ```
 */
export interface FlushResult {
  /** True: all finished spans, records and measurements were exported in time. */
  ok: boolean;
  timedOut: boolean;
  /** Spans that failed during this call. */
  failed: number;
  /** Spans that were not exported within the time limit. */
  waiting: number;
  /** The errors during this call. Earlier errors were passed to `onError`. */
  errors: readonly BridgeError[];
}

/**
 * Options of `forceFlush` and `shutdown`.
 * @example
 * ```ts
 * const options: FlushOptions = { timeoutMs: 5_000 };
 * ```
 */
export interface FlushOptions {
  /** Default 30,000. */
  timeoutMs?: number | undefined;
}

/**
 * The numbers of accepted and refused lines of a journal.
 * @example
 * ```ts
 * const { accepted, refused }: JournalResult = await bridge.journal(text);
 * ```
 */
export interface JournalResult {
  accepted: number;
  refused: number;
}

/**
 * A bridge of `createBridge`.
 * @example
 * ```ts
 * await using bridge: Bridge = createBridge();
 * ```
 */
export interface Bridge extends AsyncDisposable {
  /**
   * Takes one event of an open standard, or its text, or the text of several events.
   *
   * @example
   * ```ts
   * const result = bridge.ingest(event);
   * if (result.status === 'refused') console.warn(result.reason, result.rule, result.message);
   * await bridge.ready;
   * ```
   */
  ingest(event: BridgeInput, meta?: IngestMeta): IngestResult;
  /** Takes the payload of an agent's own hook. */
  ingest(payload: HookPayload, meta: IngestMeta & { tool: NonNullable<IngestMeta['tool']> }): IngestResult;
  /**
   * Resolves when the queue has room. While the queue is full, `ingest` refuses events with the reason `queue-full`.
   */
  readonly ready: Promise<void>;
  /** Reads a journal of otel-hooks, and waits while the queue is full. The spans are the same as in delivery. */
  journal(lines: JournalSource): Promise<JournalResult>;
  /** Sends all finished items to their receivers, and flushes these. Open sessions stay open. Never rejects. */
  forceFlush(options?: FlushOptions): Promise<FlushResult>;
  /**
   * Ends open sessions as abandoned, sends all items to their receivers, and flushes these. Items that were not
   * exported in time are counted as dropped or failed. It does not shut down processors, exporters and providers. Never
   * rejects.
   */
  shutdown(options?: FlushOptions): Promise<FlushResult>;
  stats(): BridgeStats;
}

/** Values that `otel-hooks/sdk` passes in addition to the options. */
export interface InternalOptions {
  results?: ExportResults | undefined;
  env?: Readonly<Record<string, string | undefined>> | undefined;
}

const DEFAULTS = {
  queue: 32_768,
  openSessions: 10_000,
  silenceMs: 3_600_000,
  endedMs: 60_000,
  exportTimeoutMs: 30_000,
};
const FLUSH_MS = 30_000;
/** The number of lines of a journal that are read before other work of the application can run. */
const LINES_IN_A_ROW = 256;
/** The largest number of bytes that one reading of transcripts reads. */
const TRANSCRIPT_BYTES = 16 * 1024 * 1024;
const TRANSCRIPT_TICK_MS = 1_000;

/**
 * Creates a bridge from the hooks of agents into the application's own OpenTelemetry SDK.
 *
 * @example
 * ```ts
 * import { createBridge } from 'otel-hooks';
 * const bridge = createBridge({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
 * bridge.ingest(payload, { tool: 'claude-code' });
 * await bridge.shutdown();
 * ```
 *
 * @throws TypeError when an option is unknown or has a bad value.
 */
export const createBridge = (options: BridgeOptions = {}): Bridge => new SessionsBridge(options);

export class SessionsBridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #isDisabled: boolean;
  readonly #limits: typeof DEFAULTS;
  readonly #pinnedFor: (agent: string) => Pinned;
  readonly #context: RoundContext;
  readonly #accounts = new SpanAccounts();
  readonly #outlet: Outlet;
  readonly #records: RecordTarget;
  readonly #instruments: Instruments;
  readonly #sessions: LiveSessions;
  readonly #inputs: InputStats = {
    ...{ received: 0, accepted: 0, duplicate: 0, refused: 0 },
    refusedBy: {},
    refusedInLists: 0,
  };
  /** The errors of each running flush. */
  readonly #flushErrors = new Set<BridgeError[]>();
  #transcriptTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #shutdown: Promise<FlushResult> | undefined;

  constructor(options: BridgeOptions, { results, env = process.env }: InternalOptions = {}) {
    useContained();
    const values = settingsOf(options);
    this.#options = options;
    this.#isDisabled = isDisabled(env);
    this.#limits = { ...DEFAULTS, ...withoutUndefined(options.limits ?? {}) };
    const installation = options.installation ?? randomBytes(16).toString('hex');
    const hashKey = options.content?.hashKey ?? randomBytes(32).toString('hex');
    const { pinnedFor, problems } = pinnedOf(options, values, { installation, hashKey, env });
    this.#pinnedFor = pinnedFor;
    this.#context = contextFor(options, hashKey, key => this.#sessions.has(key));
    const report = this.#report;
    const { exportTimeoutMs: timeoutMs } = this.#limits;
    const { spanProcessors = [], spanExporters = [], tracerProvider, loggerProvider, meterProvider } = options;
    const isTraced = spanProcessors.length + spanExporters.length === 0 || tracerProvider !== undefined;
    const findTracers = finder(tracerProvider, () => behindProxy(globalTracerProvider()));
    this.#records = new RecordTarget(finder(loggerProvider, globalLoggerProvider), timeoutMs, report);
    this.#instruments = new Instruments(finder(meterProvider, globalMeterProvider), report);
    const targets: SpanTarget[] = [
      ...spanProcessors.map(each => new ProcessorTarget(each, timeoutMs, report)),
      ...spanExporters.map(each => new ExporterTarget(each, timeoutMs, report)),
    ];
    this.#outlet = new Outlet({
      tracer: isTraced ? new TracerTarget(() => behindProxy(findTracers()), { results, timeoutMs, report }) : undefined,
      targets,
      records: loggerProvider === false ? undefined : this.#records,
      accounts: this.#accounts,
      sampling: new Sampling(options.sampler),
      onSpan: options.onSpan,
      most: this.#limits.queue,
      report,
    });
    this.#sessions = new LiveSessions(
      this.#limits,
      (session, nowMs) => this.#end(session, nowMs),
      () => this.#outlet.hasRoom,
    );
    for (const problem of problems) report(new BridgeError('content-pattern', `an option has no effect: ${problem}`));
  }

  get ready(): Promise<void> {
    return this.#outlet.ready;
  }

  ingest(input: BridgeInput | HookPayload, meta: IngestMeta = {}): IngestResult {
    this.#inputs.received += 1;
    const result = this.#ingest(input, meta);
    this.#inputs[result.status] += 1;
    if (result.status === 'refused')
      this.#inputs.refusedBy[result.reason] = (this.#inputs.refusedBy[result.reason] ?? 0) + 1;
    return result;
  }

  async journal(lines: JournalSource): Promise<JournalResult> {
    const result: JournalResult = { accepted: 0, refused: 0 };
    try {
      let count = 0;
      for await (const line of linesIn(lines)) {
        if (line.trim() === '') continue;
        if (!this.#outlet.hasRoom) await this.#outlet.ready;
        count += 1;
        if (count % LINES_IN_A_ROW === 0) await new Promise(setImmediate);
        result[this.#replay(line)] += 1;
      }
    } catch (error) {
      this.#report(failure('ingest-failed', 'a journal could not be read to its end', error));
    }
    return result;
  }

  forceFlush({ timeoutMs = FLUSH_MS }: FlushOptions = {}): Promise<FlushResult> {
    return this.#flush(timeoutMs, async () => {
      await this.#outlet.flush();
      await this.#instruments.flush(this.#limits.exportTimeoutMs);
    });
  }

  shutdown({ timeoutMs = FLUSH_MS }: FlushOptions = {}): Promise<FlushResult> {
    this.#shutdown ??= this.#close(timeoutMs);
    return this.#shutdown;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  stats(): BridgeStats {
    return {
      inputs: { ...this.#inputs, refusedBy: { ...this.#inputs.refusedBy } },
      sessions: this.#sessions.stats(),
      spans: this.#accounts.read(),
      records: { ...this.#records.stats },
      measurements: { ...this.#instruments.stats },
    };
  }

  // ------------------------------------------------------------ input

  #ingest(input: unknown, meta: IngestMeta): IngestResult {
    if (this.#isClosed) return refusal('shut-down', 'the bridge is shut down');
    if (this.#isDisabled) return refusal('disabled', 'OTEL_SDK_DISABLED is true');
    if (!this.#outlet.hasRoom) return refusal('queue-full', 'the queue is full: wait for `ready`');
    try {
      const nowMs = Date.now();
      const known = isFields(meta) ? meta : {};
      const checked = check(input, known, nowMs);
      return 'refusal' in checked ? checked.refusal : this.#take(checked, known, nowMs);
    } catch (error) {
      this.#report(failure('ingest-failed', 'an input could not be processed', error));
      return refusal('failed', 'the input could not be processed');
    }
  }

  #take(
    { fragment, refused }: Exclude<ReturnType<typeof check>, { refusal: unknown }>,
    meta: IngestMeta,
    nowMs: number,
  ): IngestResult {
    this.#prepareContext(nowMs);
    const begun = new Set<SessionInRound>();
    const taken = takeFragment(fragment, agents, ({ agent, session, cwd }) => {
      const known = this.#sessions.get(sessionKey(agent.id, session));
      if (known !== undefined) return known;
      const made = this.#begin(agent, session, this.#callerFor(meta), cwd);
      begun.add(made);
      return made;
    });
    if (taken.fate === 'rejected') return refusal(taken.reason, `the input was not accepted: ${taken.reason}`);
    for (const session of taken.sessions) {
      if (begun.has(session)) this.#scopeIds(session);
      else if (meta.traceparent !== undefined) this.#noteLateCaller(session, meta);
      this.#send(session);
      this.#sessions.touch(session, nowMs);
    }
    this.#watchTranscripts();
    if (taken.fate === 'duplicate') return { status: 'duplicate' };
    this.#inputs.refusedInLists += refused.length;
    return { status: 'accepted', refused };
  }

  #replay(line: string): 'accepted' | 'refused' {
    const event = this.#isClosed || this.#isDisabled ? undefined : eventIn(line);
    if (event === undefined) return 'refused';
    const nowMs = Date.now();
    this.#prepareContext(nowMs);
    try {
      const id = event.source.tool;
      const settles = agentNamed(id)?.settles ?? { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };
      const key = sessionKey(id, rootSessionOf(event));
      const session =
        this.#sessions.get(key) ?? this.#begin({ id, settles }, rootSessionOf(event), undefined, undefined);
      session.replay(event);
      this.#send(session);
      this.#sessions.touch(session, nowMs);
      return 'accepted';
    } catch {
      // The line looks like an event, but is not valid. The lines after it are read.
      return 'refused';
    }
  }

  // ------------------------------------------------------------ sessions

  #begin(
    agent: Parameters<typeof newSession>[0]['agent'],
    session: string,
    caller: Pinned['caller'],
    cwd: string | undefined,
  ): SessionInRound {
    const key = sessionKey(agent.id, session);
    const state = newSession({ agent, session, key }, { ...this.#pinnedFor(agent.id), caller });
    return new SessionInRound(state, this.#context, this.#options.repository === true ? cwd : undefined);
  }

  #callerFor({ traceparent }: IngestMeta): Pinned['caller'] {
    const { parent = 'link' } = this.#options;
    if (parent === 'none') return undefined;
    if (traceparent !== undefined) {
      const caller = callerOf(traceparent, parent);
      if (caller === undefined) {
        this.#report(new BridgeError('traceparent', `the traceparent is malformed: ${JSON.stringify(traceparent)}`));
        return undefined;
      }
      return { ...caller, flags: Number.parseInt(traceparent.slice(-2), 16) & 1 };
    }
    const active = activeSpanContext();
    if (active === undefined || !/[1-9a-f]/.test(active.traceId)) return undefined;
    return { policy: parent, traceId: active.traceId, spanId: active.spanId, flags: active.traceFlags & 1 };
  }

  #noteLateCaller({ state: { pinned, session } }: SessionInRound, { traceparent = '' }: IngestMeta): void {
    const { caller } = pinned;
    if (this.#options.parent === 'none' || (caller && traceparent.includes(`${caller.traceId}-${caller.spanId}`)))
      return;
    const message = `the traceparent of a later event of session ${session} has no effect: that of the first event counts`;
    this.#report(new BridgeError('traceparent', message));
  }

  /** If another process got the start of a session, the session gets new ids, and a link to the trace of its start. */
  #scopeIds({ state }: SessionInRound): void {
    const isStarted = state.fold.segment?.startReason === 'new';
    if (this.#options.idScope !== 'session' && !isStarted) this.#scopes.set(state, randomBytes(8).toString('hex'));
  }

  readonly #scopes = new WeakMap<SessionInRound['state'], string>();

  #factsOf(state: SessionInRound['state']): SpanContextFacts {
    return { ...spanFactsOf(state), idScope: this.#scopes.get(state) };
  }

  /** Queues the output of a session. */
  #send(output: SessionOutput): void {
    const { state, spans, records } = output;
    for (const increment of incrementsIn(output)) this.#instruments.measure(increment);
    const finished = spansToSend(spans, { turns: state.pinned.turns });
    if (finished.length + records.length > 0) {
      const facts = this.#factsOf(state);
      const resource = this.#resourceOf(state.pinned.resource);
      const { level } = state.pinned;
      const sent = level === undefined ? records : records.filter(record => isOfWeight(record, level));
      this.#outlet.put([
        ...sent.map(record => ({
          ...{ item: { record }, facts, resource },
          rootStartMs: rootStartOf(state.fold, record.trace),
        })),
        ...finished.map(span => ({
          ...{ item: { span }, facts, resource },
          rootStartMs: rootStartOf(state.fold, span.trace),
        })),
      ]);
    }
    Object.assign(output, noOutput());
  }

  /** One object for equal resources, because exporters group spans by it. */
  #resourceOf(attributes: Pinned['resource']): ReturnType<typeof versioned> {
    const known = this.#resources.get(attributes) ?? versioned(attributes);
    this.#resources.set(attributes, known);
    return known;
  }

  readonly #resources = new WeakMap<Pinned['resource'], ReturnType<typeof versioned>>();

  /** Ends a session whose end was not observed, and settles all of its spans. */
  #end(session: SessionInRound, nowMs: number): void {
    this.#prepareContext(nowMs);
    try {
      while (!session.endForRemoval()) this.#prepareContext(nowMs);
      this.#send(session);
    } catch (error) {
      this.#report(failure('ingest-failed', 'a session could not be ended', error));
    }
  }

  #prepareContext(nowMs: number): void {
    this.#context.nowMs = nowMs;
    const { transcripts } = this.#context;
    if (transcripts === undefined) return;
    transcripts.nowMs = nowMs;
    transcripts.budget.bytes = TRANSCRIPT_BYTES;
  }

  /** While closed spans wait for their transcripts, the transcripts are read again. */
  #watchTranscripts(): void {
    if (this.#context.transcripts === undefined || this.#transcriptTimer !== undefined || this.#isClosed) return;
    const waiting = this.#sessions.all().filter(({ state }) => awaited(state.fold).length > 0);
    if (waiting.length === 0) return;
    this.#transcriptTimer = setTimeout(() => {
      this.#transcriptTimer = undefined;
      for (const session of waiting) this.#settle(session);
      this.#watchTranscripts();
    }, TRANSCRIPT_TICK_MS).unref();
  }

  #settle(session: SessionInRound): void {
    this.#prepareContext(Date.now());
    try {
      session.settle();
      this.#send(session);
    } catch (error) {
      this.#report(failure('ingest-failed', 'a transcript could not be read', error));
    }
  }

  // ------------------------------------------------------------ end

  async #close(timeoutMs: number): Promise<FlushResult> {
    this.#isClosed = true;
    this.#sessions.stop();
    clearTimeout(this.#transcriptTimer);
    const failedBefore = this.#accounts.failed;
    const result = await this.#flush(timeoutMs, async isOver => {
      for (const session of this.#sessions.drain()) {
        if (isOpen(session.state.fold) || awaited(session.state.fold).length > 0) this.#end(session, Date.now());
        if (!this.#outlet.hasRoom) await this.#outlet.ready;
        if (isOver()) return;
      }
      await this.#outlet.flush();
      await this.#instruments.flush(this.#limits.exportTimeoutMs);
    });
    // After a timeout, the remaining sessions are ended so that their spans are counted.
    for (const session of this.#sessions.drain()) if (isOpen(session.state.fold)) this.#end(session, Date.now());
    this.#outlet.close();
    return { ...result, failed: this.#accounts.failed - failedBefore, waiting: 0 };
  }

  async #flush(timeoutMs: number, run: (isOver: () => boolean) => Promise<void>): Promise<FlushResult> {
    const errors: BridgeError[] = [];
    this.#flushErrors.add(errors);
    const failedBefore = this.#accounts.failed;
    let timedOut = false;
    try {
      await within(timeoutMs, () => run(() => timedOut));
    } catch (error) {
      timedOut = error instanceof TimeoutError;
      if (!timedOut) this.#report(failure('export-failed', 'the flush failed', error));
    }
    this.#flushErrors.delete(errors);
    const failed = this.#accounts.failed - failedBefore;
    const { waiting } = this.#accounts;
    return { ok: !timedOut && failed === 0 && errors.length === 0, timedOut, failed, waiting, errors };
  }

  readonly #report: Report = error => {
    for (const errors of this.#flushErrors) if (errors.length < MOST_ERRORS) errors.push(error);
    try {
      if (this.#options.onError === undefined) warn(`otel-hooks: ${error.message}`);
      else this.#options.onError(error);
    } catch {
      // An error of `onError` cannot be reported.
    }
  };
}

const MOST_ERRORS = 100;

/** Finds a provider: the given one, or the one that is registered with the API. */
function finder<T extends object>(
  given: Late<T> | false | undefined,
  registered: () => T | undefined,
): () => T | undefined {
  if (given === false) return () => undefined;
  if (given === undefined) return registered;
  if (typeof given === 'function') return given as () => T | undefined;
  // If no provider is registered, the API returns a provider without effect.
  return isNoop(given) ? registered : () => given;
}

function contextFor(options: BridgeOptions, hashKey: string, knows: (key: string) => boolean): RoundContext {
  const eyes = options.transcripts === true || options.repository === true ? diskEyes() : undefined;
  const context: RoundContext = {
    hash: content => keyedHash(hashKey, content),
    risk: judgeRisk,
    price: priceOf,
    keep: keeperOf,
    nowMs: 0,
    counts: noCounts(),
    eyes: options.repository === true ? eyes : undefined,
  };
  if (options.transcripts !== true || eyes === undefined) return { ...context, settles: 'never waiting' };
  const transcripts = {
    ...{
      eyes,
      home: homedir(),
      env: process.env,
      nowMs: 0,
      waits: patient,
      budget: { bytes: TRANSCRIPT_BYTES },
      knows,
    },
    journal: () => undefined,
    owner: (_agent: string, _origin: string, of: { key: string; session: string }) => of,
  };
  return { ...context, transcripts };
}

const withoutUndefined = <T extends object>(values: T): Partial<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
