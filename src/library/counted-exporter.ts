/** An exporter that records which spans of the bridge were exported, so that counts are exact even with a processor. */
import { SCOPE } from '../telemetry/names.ts';
import type { BridgeSpanContext, BridgeSpanExporter } from './otel-interfaces.ts';
import type { ExportResults } from './span-accounts.ts';

interface ExportedSpan {
  spanContext(): BridgeSpanContext;
  instrumentationScope?: { name: string };
}

type Done = (result: { code: number; error?: Error }) => void;

/** The number of results that are kept until the bridge reads them. */
const MOST_FATES = 100_000;

export class CountedExporter implements ExportResults {
  /** Processors of SDK 2 take an exporter, processors of SDK 3 an object with one. This object is both. */
  readonly exporter = this;
  readonly #inner: BridgeSpanExporter & { shutdown?(): Promise<void> };
  readonly #fates = new Map<string, 'exported' | 'failed'>();
  readonly #running = new Set<Promise<void>>();

  constructor(inner: BridgeSpanExporter & { shutdown?(): Promise<void> }) {
    this.#inner = inner;
  }

  export(spans: readonly ExportedSpan[], done: Done): void {
    let finish = (): void => undefined;
    const running = new Promise<void>(resolve => {
      finish = resolve;
    });
    this.#running.add(running);
    const answer: Done = result => {
      this.#note(spans, result.code === 0 ? 'exported' : 'failed');
      this.#running.delete(running);
      finish();
      done(result);
    };
    try {
      this.#inner.export(spans as never, answer);
    } catch (error) {
      answer({ code: 1, error: error instanceof Error ? error : new Error(String(error)) });
    }
  }

  async forceFlush(): Promise<void> {
    await this.#inner.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#inner.shutdown?.();
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  take(spanId: string): 'exported' | 'failed' | undefined {
    const fate = this.#fates.get(spanId);
    this.#fates.delete(spanId);
    return fate;
  }

  #note(spans: readonly ExportedSpan[], fate: 'exported' | 'failed'): void {
    if (this.#fates.size > MOST_FATES) this.#fates.clear();
    for (const span of spans)
      if (span.instrumentationScope?.name === SCOPE) this.#fates.set(span.spanContext().spanId, fate);
  }
}
