/** Gives finished spans to the span processors and exporters of an application's SDK. */
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { BridgeBooks, BridgeOptions, BridgeSpan, BridgeSpanExporter, BridgeSpanProcessor } from './bridge.ts';

/** The queue of an SDK's processor holds 2,048 spans and drops further ones, so it is flushed before it gets that many. */
const SLICE = 512;
const MOST_WAITING = 65_536;

type SpanTargets = Pick<BridgeOptions, 'spanProcessors' | 'spanExporters'>;

export class SpanOutlet {
  readonly #processors: readonly BridgeSpanProcessor[];
  readonly #exporters: readonly BridgeSpanExporter[];
  readonly #books: BridgeBooks;
  #waiting: ReadableSpan[] = [];
  /** Spans that the processors got since they were last flushed. */
  #sinceFlush = 0;
  #errors: Error[] = [];
  #running: Promise<void> | undefined;

  constructor({ spanProcessors = [], spanExporters = [] }: SpanTargets, books: BridgeBooks) {
    this.#processors = spanProcessors;
    this.#exporters = spanExporters;
    this.#books = books;
  }

  put(spans: readonly ReadableSpan[]): void {
    const room = Math.max(0, MOST_WAITING - this.#waiting.length);
    this.#books.dropped += Math.max(0, spans.length - room);
    this.#waiting.push(...spans.slice(0, room));
    if (this.#waiting.length === 0) return;
    this.#running ??= this.#sendWaiting().finally(() => {
      this.#running = undefined;
    });
  }

  /** Resolves when all spans are exported. Rejects with the errors since the last call. */
  async flush(): Promise<void> {
    while (this.#running) await this.#running;
    await this.#flushProcessors();
    for (const exporter of this.#exporters)
      await exporter.forceFlush?.().catch((error: Error) => {
        this.#errors.push(error);
      });
    const errors = this.#errors;
    this.#errors = [];
    if (errors.length > 0) throw new AggregateError(errors, `otel-hooks: ${errors[0]?.message}`);
  }

  async #sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const slice = this.#waiting.slice(0, SLICE);
      this.#waiting = this.#waiting.slice(SLICE);
      for (const processor of this.#processors) for (const span of slice) this.#process(processor, span);
      this.#sinceFlush += slice.length;
      await Promise.all(this.#exporters.map(exporter => this.#export(exporter, slice)));
      if (this.#sinceFlush >= SLICE && this.#processors.length > 0) await this.#flushProcessors();
    }
  }

  async #flushProcessors(): Promise<void> {
    this.#sinceFlush = 0;
    await Promise.all(
      this.#processors.map(processor => processor.forceFlush().catch((error: Error) => this.#errors.push(error))),
    );
  }

  /** A processor that throws fails for this span alone; `flush` reports the error. */
  #process(processor: BridgeSpanProcessor, span: ReadableSpan): void {
    try {
      processor.onEnd(span as BridgeSpan);
    } catch (error) {
      this.#errors.push(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #export(exporter: BridgeSpanExporter, spans: ReadableSpan[]): Promise<void> {
    return new Promise(done => {
      exporter.export(spans as BridgeSpan[], ({ code, error }) => {
        if (code !== 0) {
          this.#books.failed += spans.length;
          this.#errors.push(error ?? new Error('an exporter refused spans'));
        }
        done();
      });
    });
  }
}
