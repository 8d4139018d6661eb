/** Decides with the application's sampler whether spans are sent that no tracer starts. */
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { OpenRoot } from '../telemetry/open-root.ts';
import { contextOf } from './global-api.ts';
import type { BridgeSampler, BridgeSpanContext } from './otel-interfaces.ts';

/** The values of `SamplingDecision` of the SDK. */
const [NOT_RECORD, SAMPLED] = [0, 2];
const KIND_INTERNAL = 0;

/** The number of traces whose decisions are cached. */
const MOST_TRACES = 20_000;

type Decision = ReturnType<BridgeSampler['shouldSample']>;

export class Sampling {
  readonly #sampler: BridgeSampler | undefined;
  readonly #roots = new Map<string, Decision>();

  constructor(sampler: BridgeSampler | undefined) {
    this.#sampler = sampler;
  }

  /** Returns the trace flags of the root: 1 if the trace is sampled. */
  flagsOf(root: OpenRoot): number {
    return this.#rootDecision(root).decision === SAMPLED ? 1 : 0;
  }

  /** Returns the flags of a span and the attributes that the sampler adds; undefined if the span is not recorded. */
  decide(span: ReadableSpan, root: OpenRoot): { flags: number; attributes: object | undefined } | undefined {
    const isRoot = span.spanContext().spanId === root.spanId;
    const { decision, attributes } = isRoot ? this.#rootDecision(root) : this.#childDecision(span, root);
    return decision === NOT_RECORD ? undefined : { flags: decision === SAMPLED ? 1 : 0, attributes };
  }

  #rootDecision(root: OpenRoot): Decision {
    const known = this.#roots.get(root.traceId);
    if (known !== undefined) return known;
    const { traceId, name, attributes, parent } = root;
    const made = this.#ask(parent, traceId, name, KIND_INTERNAL, attributes, []);
    if (this.#roots.size >= MOST_TRACES) this.#roots.clear();
    this.#roots.set(traceId, made);
    return made;
  }

  #childDecision(span: ReadableSpan, root: OpenRoot): Decision {
    const traceFlags = this.flagsOf(root);
    if (this.#sampler === undefined) return { decision: traceFlags === 1 ? SAMPLED : NOT_RECORD };
    const { traceId } = span.spanContext();
    const parent = { traceId, spanId: span.parentSpanContext?.spanId ?? root.spanId, traceFlags };
    return this.#ask(parent, traceId, span.name, span.kind, span.attributes, span.links);
  }

  #ask(
    parent: BridgeSpanContext | undefined,
    ...[traceId, name, kind, attributes, links]: [string, string, number, object, object]
  ): Decision {
    // Without a sampler, a span follows its parent, and a root is sampled.
    if (this.#sampler === undefined) return { decision: (parent?.traceFlags ?? 1) === 1 ? SAMPLED : NOT_RECORD };
    return this.#sampler.shouldSample(
      contextOf(parent) as never,
      traceId,
      name,
      kind,
      attributes as never,
      links as never,
    );
  }
}
