/** The numbers of a bridge. */

/**
 * Numbers of inputs. `received = accepted + duplicate + refused`.
 *
 * @example
 * ```ts
 * const { received, accepted, duplicate, refused }: InputStats = bridge.stats().inputs;
 * ```
 */
export interface InputStats {
  received: number;
  accepted: number;
  duplicate: number;
  refused: number;
  /** `refused` by reason. */
  refusedBy: { [reason: string]: number };
  /** Events of accepted lists that were refused. They are not part of the other numbers. */
  refusedInLists: number;
}

/**
 * Numbers of sessions.
 *
 * @example
 * ```ts
 * const { open, ended }: SessionStats = bridge.stats().sessions;
 * ```
 */
export interface SessionStats {
  open: number;
  /** Ended sessions that are kept for late events. */
  ended: number;
  /** Ended by the bridge because no event came. */
  silenced: number;
  /** Ended by the bridge because too many sessions were open. */
  evicted: number;
}

/**
 * The reason why a span was dropped.
 *
 * @example
 * ```ts
 * const lost = (reason: DropReason): number => bridge.stats().spans.droppedBy[reason] ?? 0;
 * ```
 */
export type DropReason =
  | 'sampled'
  | 'on_span'
  | 'no_receiver'
  /** The queue of a processor was full, also after a flush. */
  | 'processor_full'
  /** The processor did not pass the span to its exporter. */
  | 'processor'
  /** The time limit of the shutdown was over. */
  | 'shutdown';

/**
 * Numbers of spans. `produced = exported + dropped + failed + waiting`.
 *
 * @example
 * ```ts
 * const { produced, exported, dropped, failed, waiting }: SpanStats = bridge.stats().spans;
 * ```
 */
export interface SpanStats {
  produced: number;
  /** An exporter accepted the span; or a processor took it, and its flush reported no error. */
  exported: number;
  dropped: number;
  /** An exporter or a processor reported an error, or did not answer in time. */
  failed: number;
  /** Not yet exported. */
  waiting: number;
  /** `dropped` by reason. */
  droppedBy: { [reason in DropReason]?: number };
}

/**
 * Numbers of log records: `produced = emitted + dropped + failed`.
 *
 * @example
 * ```ts
 * const { produced, emitted }: RecordStats = bridge.stats().records;
 * ```
 */
export interface RecordStats {
  produced: number;
  emitted: number;
  /** There was no logger provider, or the time for the shutdown was over. */
  dropped: number;
  failed: number;
}

/**
 * Numbers of measurements: `produced = recorded + dropped + failed`.
 *
 * @example
 * ```ts
 * const { produced, recorded }: MeasurementStats = bridge.stats().measurements;
 * ```
 */
export interface MeasurementStats {
  produced: number;
  recorded: number;
  /** There was no meter provider. */
  dropped: number;
  failed: number;
}

/**
 * The numbers of a bridge since it was created.
 *
 * @example
 * ```ts
 * const { spans, inputs }: BridgeStats = bridge.stats();
 * ```
 */
export interface BridgeStats {
  inputs: InputStats;
  sessions: SessionStats;
  spans: SpanStats;
  records: RecordStats;
  measurements: MeasurementStats;
}
