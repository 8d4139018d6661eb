/** Emits log records through the application's logger provider. */
import { ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import { VERSION } from '../lib/version.ts';
import type { MappedRecord } from '../telemetry/logs.ts';
import { SCOPE } from '../telemetry/names.ts';
import { readableRecord } from '../telemetry/sdk-values.ts';
import type { Report } from './bridge-options.ts';
import type { BridgeLoggerProvider } from './otel-interfaces.ts';
import { failure } from './span-targets.ts';
import type { RecordStats } from './stats.ts';
import { within } from './time-limit.ts';

export class RecordTarget {
  readonly stats: RecordStats = { produced: 0, emitted: 0, dropped: 0, failed: 0 };
  readonly #find: () => BridgeLoggerProvider | undefined;
  readonly #timeoutMs: number;
  readonly #report: Report;
  #provider: BridgeLoggerProvider | undefined;
  #logger: ReturnType<BridgeLoggerProvider['getLogger']> | undefined;
  #isFlushed = true;

  constructor(find: () => BridgeLoggerProvider | undefined, timeoutMs: number, report: Report) {
    this.#find = find;
    this.#timeoutMs = timeoutMs;
    this.#report = report;
  }

  emit(record: MappedRecord, traceFlags: number): void {
    this.stats.produced += 1;
    try {
      const provider = this.#find();
      if (provider === undefined) {
        this.stats.dropped += 1;
        return;
      }
      if (provider !== this.#provider) {
        this.#logger = provider.getLogger(SCOPE, VERSION);
        this.#provider = provider;
      }
      const { hrTime, hrTimeObserved, spanContext, eventName, severityNumber, severityText, body, attributes } =
        readableRecord(record);
      this.#logger?.emit({
        ...{ eventName, severityNumber, severityText, body, attributes },
        timestamp: hrTime,
        observedTimestamp: hrTimeObserved,
        context: trace.setSpanContext(ROOT_CONTEXT, { ...spanContext, traceFlags } as SpanContext),
      });
      this.stats.emitted += 1;
      this.#isFlushed = false;
    } catch (error) {
      this.stats.failed += 1;
      this.#report(failure('emit-failed', 'a log record could not be emitted', error));
    }
  }

  /** Counts a record that will not be emitted. */
  drop(): void {
    this.stats.produced += 1;
    this.stats.dropped += 1;
  }

  async flush(): Promise<void> {
    if (this.#isFlushed) return;
    this.#isFlushed = true;
    try {
      await within(this.#timeoutMs, () => this.#provider?.forceFlush?.());
    } catch (error) {
      this.#report(failure('export-failed', 'the logger provider could not be flushed', error));
    }
  }
}
