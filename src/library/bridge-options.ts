/** The options of the bridge, and the error that it reports. */
import type { Included, LogLevel, Semconv } from '../config/words.ts';
import type { Rates } from '../enrich/cost.ts';
import type { Rule } from '../enrich/risk/rules.ts';
import type { ContentMode } from '../event/content-classes.ts';
import type {
  BridgeLoggerProvider,
  BridgeMeterProvider,
  BridgeResource,
  BridgeSampler,
  BridgeSpan,
  BridgeSpanExporter,
  BridgeSpanProcessor,
  BridgeTracerProvider,
} from './otel-interfaces.ts';

/**
 * An object, or a function that returns it at its first use.
 *
 * @example
 * ```ts
 * const provider: Late<BridgeTracerProvider> = () => tracerProvider;
 * ```
 */
export type Late<T> = T | (() => T | undefined);

/**
 * The content that is kept. By default all classes are `off`, except for hashes of prompts and responses.
 *
 * @example
 * ```ts
 * const content: ContentOptions = { prompt: 'redacted', commands: 'redacted', maxChars: 4_000 };
 * ```
 */
export interface ContentOptions {
  /** The prompts of the user. */
  prompt?: ContentMode | undefined;
  /** The answers of the agent. */
  response?: ContentMode | undefined;
  /** The input of actions, with commands and paths. */
  arguments?: ContentMode | undefined;
  /** The output of actions, and messages of errors. */
  results?: ContentMode | undefined;
  /** The file of an action, and the working folder. */
  paths?: ContentMode | undefined;
  /** The command line of a shell. */
  commands?: ContentMode | undefined;
  user?: ContentMode | undefined;
  host?: ContentMode | undefined;
  /** The signals that carry the content: `spans`, `events` (log records) or `both`, the default. */
  on?: 'both' | 'spans' | 'events' | undefined;
  /** Longest text, in characters; 20,000 by default. */
  maxChars?: number | undefined;
  /** Key of hashes, with 16 characters or more. By default each bridge creates a random key. */
  hashKey?: string | undefined;
  /** Names of vendor metadata that is kept, as paths with dots. */
  metadata?: readonly string[] | undefined;
  /** RE2 patterns of further secrets, which the mode `redacted` removes. */
  redact?: readonly string[] | undefined;
  /** RE2 patterns of texts that are not secrets. */
  allow?: readonly string[] | undefined;
}

/**
 * Limits of memory and time. They keep a bridge small when its receiver is slow.
 *
 * @example
 * ```ts
 * const limits: BridgeLimits = { queue: 100_000, openSessions: 1_000, silenceMs: 600_000 };
 * ```
 */
export interface BridgeLimits {
  /** The largest number of waiting spans and records. If the queue is full, events are refused. Default 32,768. */
  queue?: number | undefined;
  /** Most sessions in memory. The session with the oldest last event is ended. Default 10,000. */
  openSessions?: number | undefined;
  /** A session is ended after this time without events. Default one hour. */
  silenceMs?: number | undefined;
  /** The time for which an ended session is kept, for late events. Default one minute. */
  endedMs?: number | undefined;
  /** The time limit of one export or flush. Default 30,000. */
  exportTimeoutMs?: number | undefined;
  /** Most attributes of a span or record. Default 128. */
  attributeCount?: number | undefined;
  /** Longest text of an attribute, in characters. Default 2,048 bytes. */
  attributeValueLength?: number | undefined;
  /** Most links of a span. Default 128. */
  linkCount?: number | undefined;
}

/**
 * The code of a `BridgeError`. docs/library.md lists them.
 *
 * @example
 * ```ts
 * const isOfExport = (code: BridgeErrorCode): boolean => code.startsWith('export-');
 * ```
 */
export type BridgeErrorCode =
  | 'content-pattern'
  | 'emit-failed'
  | 'export-failed'
  | 'export-timeout'
  | 'ingest-failed'
  | 'no-receiver'
  | 'on-span-failed'
  | 'processor-failed'
  | 'processor-full'
  | 'resume-failed'
  | 'span-ids'
  | 'traceparent';

/**
 * An error of the bridge. The bridge passes it to `onError` and never throws it.
 *
 * @example
 * ```ts
 * const onError = (error: BridgeError): void => console.warn(error.code, error.message);
 * ```
 */
export class BridgeError extends Error {
  override readonly name = 'BridgeError';
  readonly code: BridgeErrorCode;

  constructor(code: BridgeErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/**
 * Options of `createBridge`.
 *
 * Signals without an option go to the providers that the application registered with `@opentelemetry/api`. `false`
 * turns a signal off. A provider may be a function, which is called at its first use, so that a bridge can be created
 * before the SDK is started.
 *
 * @example
 * ```ts
 * const options: BridgeOptions = { parent: 'parent', content: { prompt: 'redacted' }, denyAsError: true };
 * ```
 */
export interface BridgeOptions {
  /**
   * Spans are started and ended by a tracer of this provider, so that its sampler, limits, resource and `onStart` apply.
   * Without it, and without `spanProcessors` and `spanExporters`, the registered provider is used.
   */
  tracerProvider?: Late<BridgeTracerProvider> | false | undefined;
  /** Processors that get each finished span, by `onStart` and `onEnd`. */
  spanProcessors?: readonly BridgeSpanProcessor[] | undefined;
  /** Exporters that get finished spans in batches of 512 at most. The bridge counts exactly which spans they refuse. */
  spanExporters?: readonly BridgeSpanExporter[] | undefined;
  loggerProvider?: Late<BridgeLoggerProvider> | false | undefined;
  meterProvider?: Late<BridgeMeterProvider> | false | undefined;
  /** The resource of spans for `spanProcessors` and `spanExporters`. Providers use their own resource. */
  resource?: BridgeResource | undefined;
  /** Decides which traces are sent to `spanProcessors` and `spanExporters`. A provider uses its own sampler. */
  sampler?: BridgeSampler | undefined;
  /**
   * The relation of a session to the span that is active at its first event, or to the `traceparent` of that event:
   * `link` (the default), `parent`, or `none`.
   */
  parent?: 'link' | 'parent' | 'none' | undefined;
  /**
   * `process` (the default): a session whose start this bridge did not get has new ids, and a link to the trace of its
   * start. `session`: ids depend on the id of the session only.
   */
  idScope?: 'process' | 'session' | undefined;
  content?: ContentOptions | undefined;
  limits?: BridgeLimits | undefined;
  /** Receives each error. By default errors go to the diagnostic logger of `@opentelemetry/api`. */
  onError?: ((error: BridgeError) => void) | undefined;
  /** May change a finished span. If it returns false or throws, the span is dropped. */
  onSpan?: ((span: BridgeSpan) => unknown) | undefined;
  /** True: transcripts that hooks name are read from the disk, for tokens and exact times. */
  transcripts?: boolean | undefined;
  /** True: the repository of the working folder is read from the disk. */
  repository?: boolean | undefined;
  risk?:
    | {
        enabled?: boolean | undefined;
        rules?: readonly Rule[] | undefined;
        overrides?: { readonly [id: string]: number | 'off' } | undefined;
      }
    | undefined;
  cost?:
    | { enabled?: boolean | undefined; prices?: { readonly [model: string]: Rates | string } | undefined }
    | undefined;
  loops?: { failing?: number | undefined; unchanged?: number | undefined; minutes?: number | undefined } | undefined;
  budget?:
    | {
        sessionTokens?: number | undefined;
        turnTokens?: number | undefined;
        sessionUsd?: number | undefined;
        turnUsd?: number | undefined;
      }
    | undefined;
  logs?: { /** The lowest level of records that are sent. */ level?: LogLevel | undefined } | undefined;
  metrics?:
    | { /** Attributes in addition to those with closed sets of values. */ include?: readonly Included[] }
    | undefined;
  /** The content of one trace: a session (the default) or a turn. */
  shape?: 'session' | 'turn' | undefined;
  /** `off`: turns have no spans. */
  turns?: 'on' | 'off' | undefined;
  /** True: a denied action has status ERROR. */
  denyAsError?: boolean | undefined;
  semconv?: Semconv | undefined;
  /** Identifies the installation, for `service.instance.id` of spans. By default each bridge creates a random id. */
  installation?: string | undefined;
}

/** Passes an error to the application. */
export type Report = (error: BridgeError) => void;
