/**
 * Emits spans through a tracer of the application's provider: with computed ids and times, and with the provider's
 * sampler, limits, resource and `onStart`.
 *
 * The root of a trace ends after all other spans of the trace. It is started with the first output of its trace, so that
 * the sampler decides about the root first, and the other spans follow its decision.
 */
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { VERSION } from '../lib/version.ts';
import { SCOPE } from '../telemetry/names.ts';
import type { OpenRoot } from '../telemetry/open-root.ts';
import type { Report } from './bridge-options.ts';
import { BridgeError } from './bridge-options.ts';
import { contextOf } from './global-api.ts';
import type {
  BridgeSpanContext,
  BridgeTime,
  BridgeTracer,
  BridgeTracerProvider,
  BridgeTracerSpan,
} from './otel-interfaces.ts';
import { isFull, processorsIn } from './processor-queue.ts';
import { type IdGenerator, SessionIdGenerator, withIds } from './session-id-generator.ts';
import type { ExportResults, Ticket } from './span-accounts.ts';
import { failure, type SpanTarget } from './span-targets.ts';
import { within } from './time-limit.ts';

export interface TracedSpan {
  span: ReadableSpan;
  root: OpenRoot;
  /** The start of the root, if it is still open. */
  rootStart: BridgeTime | undefined;
  ticket: Ticket;
}

/** The number of traces whose decisions are cached. */
const MOST_TRACES = 20_000;

export class TracerTarget implements SpanTarget<TracedSpan> {
  readonly #find: () => BridgeTracerProvider | undefined;
  readonly #results: ExportResults | undefined;
  readonly #timeoutMs: number;
  readonly #report: Report;
  #provider: BridgeTracerProvider | undefined;
  #tracer: BridgeTracer | undefined;
  /** Started roots, by trace id. */
  readonly #open = new Map<string, BridgeTracerSpan>();
  /** The flags of roots, by trace id. */
  readonly #flags = new Map<string, number>();
  #handed: { ticket: Ticket; spanId: string }[] = [];
  readonly #reported = new Set<string>();

  constructor(
    find: () => BridgeTracerProvider | undefined,
    { results, timeoutMs, report }: { results?: ExportResults | undefined; timeoutMs: number; report: Report },
  ) {
    this.#find = find;
    this.#results = results;
    this.#timeoutMs = timeoutMs;
    this.#report = report;
  }

  /** The trace flags of a root; starts the root if it is open and was not started. */
  flagsOf(root: OpenRoot, rootStart: BridgeTime | undefined): number {
    const known = this.#open.get(root.traceId)?.spanContext().traceFlags ?? this.#flags.get(root.traceId);
    if (known !== undefined || rootStart === undefined) return (known ?? 1) & 1;
    const tracer = this.#currentTracer();
    if (tracer === undefined) return 1;
    const { name, attributes, parent } = root;
    const span = this.#start(tracer, root, parent, name, { kind: 0, attributes, startTime: rootStart });
    this.#open.set(root.traceId, span);
    return this.#noteFlags(root.traceId, span);
  }

  async send(items: readonly TracedSpan[]): Promise<void> {
    for (const item of items) {
      const tracer = this.#tracerFor(item);
      if (tracer === 'failed') continue;
      if (tracer === undefined) {
        item.ticket.settle('no_receiver');
        this.#once('no-receiver', 'no tracer provider is registered, so spans are dropped');
        continue;
      }
      if (this.#isFull()) await this.flush();
      this.#emit(tracer, item);
    }
  }

  async flush(): Promise<void> {
    const handed = this.#handed;
    this.#handed = [];
    const provider = this.#provider;
    let error: unknown;
    try {
      await within(this.#timeoutMs, async () => {
        try {
          await provider?.forceFlush?.();
        } finally {
          await this.#results?.settled();
        }
      });
    } catch (thrown) {
      error = thrown ?? new Error('the flush failed');
    }
    let missing = 0;
    for (const { ticket, spanId } of handed) {
      const fate =
        this.#results === undefined ? (error === undefined ? 'exported' : 'failed') : this.#results.take(spanId);
      if (fate !== 'exported') missing += 1;
      ticket.settle(fate ?? (error === undefined ? 'processor' : 'failed'));
    }
    if (error !== undefined || missing > 0)
      this.#report(
        failure('export-failed', `${missing} spans may not have been exported`, error ?? 'no error was given'),
      );
  }

  /** `failed`: the provider threw, and the span is counted. */
  #tracerFor({ ticket }: TracedSpan): BridgeTracer | undefined | 'failed' {
    try {
      return this.#currentTracer();
    } catch (error) {
      ticket.settle('failed');
      this.#report(failure('processor-failed', 'the tracer provider failed', error));
      return 'failed';
    }
  }

  #emit(tracer: BridgeTracer, { span, root, rootStart, ticket }: TracedSpan): void {
    const { traceId, spanId } = span.spanContext();
    try {
      const isRoot = spanId === root.spanId;
      const made = isRoot ? this.#rootSpan(tracer, span, root) : this.#childSpan(tracer, span, root, rootStart);
      if ((made.spanContext().traceFlags & 1) === 0) ticket.settle('sampled');
      else if (this.#isFull()) ticket.settle('processor_full');
      else this.#handed.push({ ticket, spanId: made.spanContext().spanId });
      made.end(span.endTime);
    } catch (error) {
      ticket.settle('failed');
      this.#report(failure('processor-failed', `a span of trace ${traceId} could not be emitted`, error));
    }
  }

  #rootSpan(tracer: BridgeTracer, span: ReadableSpan, root: OpenRoot): BridgeTracerSpan {
    const open = this.#open.get(root.traceId);
    this.#open.delete(root.traceId);
    if (open === undefined) {
      const made = this.#startFinished(tracer, span, root.parent);
      this.#noteFlags(root.traceId, made);
      return made;
    }
    open.updateName(span.name);
    open.setAttributes(span.attributes as never);
    setStart(open, span.startTime);
    (open as { addLinks?: (links: object) => void }).addLinks?.(span.links);
    if (span.status.code !== 0) open.setStatus(span.status);
    return open;
  }

  #childSpan(
    tracer: BridgeTracer,
    span: ReadableSpan,
    root: OpenRoot,
    rootStart: BridgeTime | undefined,
  ): BridgeTracerSpan {
    const traceFlags = this.flagsOf(root, rootStart);
    const spanId = span.parentSpanContext?.spanId ?? root.spanId;
    return this.#startFinished(tracer, span, { traceId: root.traceId, spanId, traceFlags });
  }

  #startFinished(tracer: BridgeTracer, span: ReadableSpan, parent: BridgeSpanContext | undefined): BridgeTracerSpan {
    const { name, kind, attributes, links, startTime, status } = span;
    const made = this.#start(tracer, span.spanContext(), parent, name, { kind, attributes, links, startTime });
    if (status.code !== 0) made.setStatus(status);
    return made;
  }

  #start(
    tracer: BridgeTracer,
    ids: { traceId: string; spanId: string },
    parent: BridgeSpanContext | undefined,
    name: string,
    options: object,
  ): BridgeTracerSpan {
    const span = withIds(ids, () => tracer.startSpan(name, options, contextOf(parent) as never));
    if (span.isRecording() && span.spanContext().spanId !== ids.spanId)
      this.#once(
        'span-ids',
        'the tracer provider makes ids of its own: give it `idGenerator: new SessionIdGenerator()`',
      );
    return span;
  }

  /** Returns the tracer of the current provider: it may be registered late, or replaced in tests. */
  #currentTracer(): BridgeTracer | undefined {
    const provider = this.#find();
    if (provider === undefined) return undefined;
    if (provider !== this.#provider) {
      this.#tracer = withComputedIds(provider.getTracer(SCOPE, VERSION));
      this.#provider = provider;
    }
    return this.#tracer;
  }

  #noteFlags(traceId: string, span: BridgeTracerSpan): number {
    if (this.#flags.size >= MOST_TRACES) this.#flags.clear();
    const flags = span.spanContext().traceFlags & 1;
    this.#flags.set(traceId, flags);
    return flags;
  }

  #isFull = (): boolean => this.#provider !== undefined && processorsIn(this.#provider).some(isFull);

  #once(code: 'no-receiver' | 'span-ids', message: string): void {
    if (this.#reported.has(code)) return;
    this.#reported.add(code);
    this.#report(new BridgeError(code, message));
  }
}

/** Moves the start of a root back: an action may have begun before the first event of its session. */
function setStart(open: BridgeTracerSpan, startTime: BridgeTime): void {
  const span = open as { startTime?: BridgeTime };
  if (Array.isArray(span.startTime)) span.startTime = startTime;
}

/**
 * Makes the tracer of the bridge use computed ids. If the provider has no `SessionIdGenerator`, the generator in a
 * field of this tracer is replaced. The field has the same name in SDK 1, 2 and 3. Other tracers keep their generator.
 */
function withComputedIds(tracer: BridgeTracer): BridgeTracer {
  const own = tracer as { _idGenerator?: IdGenerator };
  const { _idGenerator: generator } = own;
  if (typeof generator?.generateSpanId === 'function' && !(generator instanceof SessionIdGenerator))
    own._idGenerator = new SessionIdGenerator(generator);
  return tracer;
}

/** Returns the provider behind the proxy of `trace.getTracerProvider()`; undefined if no SDK is registered. */
export function behindProxy(provider: BridgeTracerProvider | undefined): BridgeTracerProvider | undefined {
  const delegate = (provider as { getDelegate?: () => BridgeTracerProvider } | undefined)?.getDelegate?.();
  if (provider === undefined || delegate === undefined) return provider;
  return isNoop(delegate) ? undefined : delegate;
}

/** Returns true for the provider that the API returns if none is registered. */
export const isNoop = (provider: object): boolean => /^Noop\w*Provider$/.test(provider.constructor.name);
