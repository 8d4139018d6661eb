/**
 * Counts spans. Each span is counted once when it is produced and once when its result is known, so that `produced =
 * exported + dropped + failed + waiting` at any time.
 */

import type { DropReason, SpanStats } from './stats.ts';

export type SpanFate = 'exported' | 'failed' | DropReason;

export class SpanAccounts {
  readonly #stats: SpanStats = { produced: 0, exported: 0, dropped: 0, failed: 0, waiting: 0, droppedBy: {} };

  #isClosed = false;

  produce(count: number): void {
    this.#stats.produced += count;
    this.#stats.waiting += count;
  }

  /** Counts all waiting spans as failed. Later results are ignored. */
  close(): void {
    this.#isClosed = true;
    this.#stats.failed += this.#stats.waiting;
    this.#stats.waiting = 0;
  }

  settle(fate: SpanFate): void {
    if (this.#isClosed) return;
    const stats = this.#stats;
    stats.waiting -= 1;
    if (fate === 'exported' || fate === 'failed') {
      stats[fate] += 1;
      return;
    }
    stats.dropped += 1;
    stats.droppedBy[fate] = (stats.droppedBy[fate] ?? 0) + 1;
  }

  get failed(): number {
    return this.#stats.failed;
  }

  get waiting(): number {
    return this.#stats.waiting;
  }

  read(): SpanStats {
    return { ...this.#stats, droppedBy: { ...this.#stats.droppedBy } };
  }
}

/** One span that is sent to several targets. The worst of their results counts. */
export class Ticket {
  readonly #accounts: SpanAccounts;
  #targets: number;
  #worst: SpanFate = 'exported';

  constructor(accounts: SpanAccounts, targets: number) {
    this.#accounts = accounts;
    this.#targets = targets;
  }

  settle(fate: SpanFate): void {
    if (this.#targets === 0) return;
    if (fate === 'failed' || this.#worst === 'exported') this.#worst = fate;
    this.#targets -= 1;
    if (this.#targets === 0) this.#accounts.settle(this.#worst);
  }
}

/** The results of an exporter for the spans of a bridge, if the exporter is known. */
export interface ExportResults {
  /** Returns the result of a span once; undefined if the exporter did not get the span. */
  take(spanId: string): 'exported' | 'failed' | undefined;
  /** Resolves when no export is running. */
  settled(): Promise<void>;
}
