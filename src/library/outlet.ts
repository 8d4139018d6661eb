/**
 * The queue between the sessions and the receivers. It keeps the order of spans and records, sends them in slices, and
 * flushes receivers before their own queues can overflow. It never rejects.
 */
import type { FinishedRecord, FinishedSpan, TraceKey } from '../assemble/finished.ts';
import type { FoldState } from '../assemble/state.ts';
import { mapRecord } from '../telemetry/logs.ts';
import { openRootOf } from '../telemetry/open-root.ts';
import type { versioned } from '../telemetry/resource.ts';
import { readableSpan } from '../telemetry/sdk-values.ts';
import { hrTime, mapSpan, type SpanContextFacts } from '../telemetry/spans.ts';
import type { Report } from './bridge-options.ts';
import type { BridgeSpan } from './otel-interfaces.ts';
import type { RecordTarget } from './record-target.ts';
import { RecordedSpan } from './recorded-span.ts';
import type { Sampling } from './sampling.ts';
import { type SpanAccounts, Ticket } from './span-accounts.ts';
import { failure, type Outgoing, type SpanTarget } from './span-targets.ts';
import type { TracedSpan, TracerTarget } from './tracer-target.ts';

/** A span or a record with the facts of its session. */
export interface QueuedItem {
  item: { span: FinishedSpan } | { record: FinishedRecord };
  facts: SpanContextFacts;
  resource: ReturnType<typeof versioned>;
  /** The start of the trace's root, while the root is open. */
  rootStartMs: number | undefined;
}

/** Receivers are flushed after this many items: a quarter of the queue of a batch processor. */
const SLICE = 512;
/** Without further spans, processors are flushed after this time, so that the results of the last spans are known. */
const IDLE_FLUSH_MS = 5_000;

export interface Receivers {
  tracer: TracerTarget | undefined;
  /** Processors and exporters. */
  targets: readonly SpanTarget[];
  records: RecordTarget | undefined;
}

export interface OutletOptions extends Receivers {
  accounts: SpanAccounts;
  sampling: Sampling;
  onSpan: ((span: BridgeSpan) => unknown) | undefined;
  most: number;
  report: Report;
}

export class Outlet {
  readonly #options: OutletOptions;
  #waiting: QueuedItem[] = [];
  /** Items before this index were sent. */
  #next = 0;
  #put = 0;
  #done = 0;
  #sinceFlush = 0;
  #running = false;
  #isClosed = false;
  #steps: (() => void)[] = [];
  #room: { promise: Promise<void>; open: () => void } | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: OutletOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length - this.#next;
  }

  get hasRoom(): boolean {
    return this.waiting < this.#options.most;
  }

  /** Resolves when half of the queue is free, or at once while the queue has room. */
  get ready(): Promise<void> {
    if (this.hasRoom || this.#isClosed) return Promise.resolve();
    if (this.#room === undefined) {
      let open = (): void => undefined;
      const promise = new Promise<void>(resolve => {
        open = resolve;
      });
      this.#room = { promise, open };
    }
    return this.#room.promise;
  }

  put(items: readonly QueuedItem[]): void {
    if (items.length === 0 || this.#isClosed) return;
    for (const each of items) {
      if ('span' in each.item) this.#options.accounts.produce(1);
      this.#waiting.push(each);
    }
    this.#put += items.length;
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => this.#run());
  }

  /** Resolves when all items that were queued before are sent, and the receivers are flushed. */
  async flush(): Promise<void> {
    const put = this.#put;
    while (this.#done < put && !this.#isClosed) await new Promise<void>(resolve => this.#steps.push(resolve));
    await this.#flushReceivers();
  }

  /** Drops all waiting items. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    const { accounts, records } = this.#options;
    for (const { item } of this.#waiting.slice(this.#next)) {
      if ('span' in item) accounts.settle('shutdown');
      else records?.drop();
    }
    this.#waiting = [];
    this.#next = 0;
    accounts.close();
    this.#signal();
  }

  async #run(): Promise<void> {
    while (this.waiting > 0) {
      const slice = this.#waiting.slice(this.#next, this.#next + SLICE);
      this.#next += slice.length;
      if (this.#next === this.#waiting.length) {
        this.#waiting = [];
        this.#next = 0;
      } else if (this.#next > SLICE * 16) {
        this.#waiting = this.#waiting.slice(this.#next);
        this.#next = 0;
      }
      await this.#send(slice);
      this.#sinceFlush += slice.length;
      if (this.#sinceFlush >= SLICE) await this.#flushReceivers();
      this.#done += slice.length;
      this.#signal();
      // Between two slices, other work of the application can run.
      if (this.waiting > 0) await new Promise(setImmediate);
    }
    this.#running = false;
    if (this.#sinceFlush > 0 && !this.#isClosed) {
      clearTimeout(this.#idle);
      this.#idle = setTimeout(() => void this.#flushReceivers(), IDLE_FLUSH_MS).unref();
    }
  }

  #signal(): void {
    const steps = this.#steps;
    this.#steps = [];
    for (const step of steps) step();
    if (this.#room !== undefined && (this.#isClosed || this.waiting <= this.#options.most / 2)) {
      this.#room.open();
      this.#room = undefined;
    }
  }

  async #flushReceivers(): Promise<void> {
    this.#sinceFlush = 0;
    const { tracer, targets, records } = this.#options;
    await Promise.all([tracer?.flush(), records?.flush(), ...targets.map(target => target.flush())]);
  }

  async #send(slice: readonly QueuedItem[]): Promise<void> {
    const { tracer, targets, records, report, accounts } = this.#options;
    const outgoing: Outgoing[] = [];
    const traced: TracedSpan[] = [];
    for (const each of slice) {
      const { item, facts, resource } = each;
      if ('record' in item) {
        const flags = this.#flagsOf(item.record.trace, each);
        records?.emit(mapRecord(item.record, facts, resource(item.record.event.source.version)), flags);
        continue;
      }
      try {
        this.#prepare(item.span, each, outgoing, traced);
      } catch (error) {
        accounts.settle('failed');
        report(failure('processor-failed', 'a span could not be made', error));
      }
    }
    await Promise.all([
      traced.length > 0 && tracer?.send(traced),
      ...(outgoing.length > 0 ? targets.map(target => target.send(outgoing)) : []),
    ]);
  }

  #prepare(finished: FinishedSpan, item: QueuedItem, outgoing: Outgoing[], traced: TracedSpan[]): void {
    const { tracer, targets, accounts, sampling } = this.#options;
    const { facts, resource } = item;
    const span = readableSpan(mapSpan(finished, facts, resource(finished.version)));
    if (!this.#isKept(span as unknown as BridgeSpan)) {
      accounts.settle('on_span');
      return;
    }
    const root = openRootOf(finished.trace, facts);
    const decision = targets.length === 0 ? undefined : sampling.decide(span, root);
    const ticket = new Ticket(accounts, (tracer === undefined ? 0 : 1) + targets.length);
    if (tracer !== undefined) traced.push({ span, root, rootStart: timeOf(item.rootStartMs), ticket });
    if (decision === undefined) for (const _ of targets) ticket.settle('sampled');
    else {
      const recorded = new RecordedSpan(span, decision.flags);
      if (decision.attributes) Object.assign(recorded.attributes, decision.attributes);
      outgoing.push({ span: recorded, ticket });
    }
  }

  #isKept(span: BridgeSpan): boolean {
    const { onSpan, report } = this.#options;
    try {
      return onSpan?.(span) !== false;
    } catch (error) {
      report(failure('on-span-failed', '`onSpan` failed, so the span is dropped', error));
      return false;
    }
  }

  /** The flags of a record's trace. */
  #flagsOf(trace: TraceKey, { facts, rootStartMs }: QueuedItem): number {
    const { tracer, sampling, targets } = this.#options;
    const root = openRootOf(trace, facts);
    try {
      if (tracer !== undefined) return tracer.flagsOf(root, timeOf(rootStartMs));
      return targets.length === 0 ? 1 : sampling.flagsOf(root);
    } catch {
      // The sampler or a processor failed. The span reports it.
      return 1;
    }
  }
}

const timeOf = (ms: number | undefined): [number, number] | undefined => (ms === undefined ? undefined : hrTime(ms));

/** Returns the start of an open trace's root; undefined if the root has ended. */
export function rootStartOf({ segment, turn, endedMs }: FoldState, trace: TraceKey): number | undefined {
  if (trace.turn !== undefined)
    return turn !== undefined && trace.turn === `${turn.key}\0${turn.ordinal}` ? turn.startMs : undefined;
  return segment?.number === trace.segment && endedMs === undefined ? segment.startMs : undefined;
}
