/** The receivers of finished spans: processors and exporters of the application's SDK. */

import { BridgeError, type BridgeErrorCode, type Report } from './bridge-options.ts';
import { contextOf, withoutTracing } from './global-api.ts';
import type { BridgeSpanExporter, BridgeSpanProcessor } from './otel-interfaces.ts';
import { isFull } from './processor-queue.ts';
import type { RecordedSpan } from './recorded-span.ts';
import type { Ticket } from './span-accounts.ts';
import { TimeoutError, within } from './time-limit.ts';

/** A span that will be sent, and its ticket. */
export interface Outgoing {
  span: RecordedSpan;
  ticket: Ticket;
}

/** No method throws or rejects. */
export interface SpanTarget<Item = Outgoing> {
  send(spans: readonly Item[]): Promise<void>;
  flush(): Promise<void>;
}

export function failure(code: BridgeErrorCode, subject: string, error: unknown): BridgeError {
  const isLate = error instanceof TimeoutError;
  const list = Array.isArray(error) ? error[0] : error;
  const why = list instanceof Error ? list.message : String(list);
  return new BridgeError(isLate ? 'export-timeout' : code, `${subject}: ${why}`, error);
}

export class ExporterTarget implements SpanTarget {
  readonly #exporter: BridgeSpanExporter;
  readonly #timeoutMs: number;
  readonly #report: Report;

  constructor(exporter: BridgeSpanExporter, timeoutMs: number, report: Report) {
    this.#exporter = exporter;
    this.#timeoutMs = timeoutMs;
    this.#report = report;
  }

  async send(items: readonly Outgoing[]): Promise<void> {
    const sampled = items.filter(({ span }) => span.spanContext().traceFlags === 1);
    for (const { span, ticket } of items) if (span.spanContext().traceFlags !== 1) ticket.settle('sampled');
    if (sampled.length === 0) return;
    try {
      await within(this.#timeoutMs, () => this.#export(sampled.map(({ span }) => span)));
      for (const { ticket } of sampled) ticket.settle('exported');
    } catch (error) {
      for (const { ticket } of sampled) ticket.settle('failed');
      this.#report(failure('export-failed', `${sampled.length} spans were not exported`, error));
    }
  }

  async flush(): Promise<void> {
    try {
      await within(this.#timeoutMs, () => this.#exporter.forceFlush?.());
    } catch (error) {
      this.#report(failure('export-failed', 'an exporter could not be flushed', error));
    }
  }

  #export(spans: readonly RecordedSpan[]): Promise<void> {
    return new Promise((resolve, reject) => {
      withoutTracing(() =>
        this.#exporter.export(spans as never, ({ code, error }) => {
          if (code === 0) resolve();
          else reject(error ?? new Error('the exporter refused them'));
        }),
      );
    });
  }
}

export class ProcessorTarget implements SpanTarget {
  readonly #processor: BridgeSpanProcessor;
  readonly #timeoutMs: number;
  readonly #report: Report;
  /** The spans that the processor has taken since its last flush. */
  #handed: Ticket[] = [];

  constructor(processor: BridgeSpanProcessor, timeoutMs: number, report: Report) {
    this.#processor = processor;
    this.#timeoutMs = timeoutMs;
    this.#report = report;
  }

  async send(items: readonly Outgoing[]): Promise<void> {
    for (const { span, ticket } of items) {
      if (isFull(this.#processor)) await this.flush();
      if (isFull(this.#processor)) ticket.settle('processor_full');
      else this.#hand(span, ticket);
    }
  }

  async flush(): Promise<void> {
    const handed = this.#handed;
    this.#handed = [];
    try {
      await within(this.#timeoutMs, () => this.#processor.forceFlush());
      for (const ticket of handed) ticket.settle('exported');
    } catch (error) {
      for (const ticket of handed) ticket.settle('failed');
      this.#report(failure('export-failed', `${handed.length} spans may not have been exported`, error));
    }
  }

  #hand(span: RecordedSpan, ticket: Ticket): void {
    try {
      this.#processor.onStart?.(span as never, contextOf(span.parentSpanContext) as never);
      this.#processor.onEnd(span as never);
    } catch (error) {
      ticket.settle('failed');
      this.#report(failure('processor-failed', 'a span processor failed', error));
      return;
    }
    if (span.spanContext().traceFlags === 1) this.#handed.push(ticket);
    else ticket.settle('sampled');
  }
}
