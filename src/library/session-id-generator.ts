/** Lets a tracer of an SDK use the ids that the bridge computed. */
import { randomBytes } from 'node:crypto';

interface Ids {
  traceId: string;
  spanId: string;
}

/** Shared by all copies of this module in a process, because the ESM and the CommonJS build may both be loaded. */
const NEXT = Symbol.for('dev.otel-hooks.next-ids');
const shared = globalThis as { [NEXT]?: Ids | undefined };

/**
 * An id generator of an SDK.
 *
 * @example
 * ```ts
 * const ids: IdGenerator = new SessionIdGenerator(new RandomIdGenerator());
 * ```
 */
export interface IdGenerator {
  generateTraceId(): string;
  generateSpanId(): string;
}

/**
 * An `IdGenerator` that gives the spans of a bridge their computed ids, and all other spans random ids.
 *
 * @example
 * ```ts
 * import { createBridge, SessionIdGenerator } from 'otel-hooks';
 * const tracerProvider = new NodeTracerProvider({ idGenerator: new SessionIdGenerator(), spanProcessors });
 * const bridge = createBridge({ tracerProvider });
 * ```
 */
export class SessionIdGenerator implements IdGenerator {
  readonly #others: IdGenerator;

  /** `others` makes the ids of all other spans; random ids by default. */
  constructor(others: IdGenerator = random) {
    this.#others = others;
  }

  generateTraceId(): string {
    return shared[NEXT]?.traceId ?? this.#others.generateTraceId();
  }

  generateSpanId(): string {
    return shared[NEXT]?.spanId ?? this.#others.generateSpanId();
  }
}

/** Calls `start`. During the call, a `SessionIdGenerator` returns these ids. */
export function withIds<T>(ids: Ids, start: () => T): T {
  shared[NEXT] = ids;
  try {
    return start();
  } finally {
    shared[NEXT] = undefined;
  }
}

const random: IdGenerator = { generateTraceId: () => randomId(16), generateSpanId: () => randomId(8) };

function randomId(bytes: number): string {
  const id = randomBytes(bytes).toString('hex');
  return /[1-9a-f]/.test(id) ? id : randomId(bytes);
}
