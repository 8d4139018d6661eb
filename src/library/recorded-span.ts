/**
 * A finished span as the span of an SDK, for processors: writable in `onStart`, readable in `onEnd`. It also has the
 * names that SDK 1 reads.
 */
import type { Attributes, AttributeValue, HrTime, Link, SpanContext, SpanStatus } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';

export class RecordedSpan {
  name: string;
  readonly kind: number;
  readonly parentSpanContext: SpanContext | undefined;
  readonly parentSpanId: string | undefined;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly duration: HrTime;
  status: SpanStatus;
  readonly attributes: Attributes;
  readonly links: Link[];
  readonly events: { name: string; attributes?: Attributes | undefined; time: HrTime }[] = [];
  readonly ended = true;
  readonly resource: ReadableSpan['resource'];
  readonly instrumentationScope: ReadableSpan['instrumentationScope'];
  readonly instrumentationLibrary: ReadableSpan['instrumentationScope'];
  readonly droppedAttributesCount: number;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount: number;
  readonly #context: SpanContext;

  constructor(span: ReadableSpan, traceFlags: number) {
    this.name = span.name;
    this.kind = span.kind;
    this.parentSpanContext = span.parentSpanContext;
    this.parentSpanId = span.parentSpanContext?.spanId;
    this.startTime = span.startTime;
    this.endTime = span.endTime;
    this.duration = span.duration;
    this.status = span.status;
    this.attributes = span.attributes;
    this.links = span.links;
    this.resource = span.resource;
    this.instrumentationScope = span.instrumentationScope;
    this.instrumentationLibrary = span.instrumentationScope;
    this.droppedAttributesCount = span.droppedAttributesCount;
    this.droppedLinksCount = span.droppedLinksCount;
    this.#context = { ...span.spanContext(), traceFlags };
  }

  spanContext(): SpanContext {
    return this.#context;
  }

  isRecording(): boolean {
    return true;
  }

  setAttribute(name: string, value: AttributeValue): this {
    this.attributes[name] = value;
    return this;
  }

  setAttributes(attributes: Attributes): this {
    Object.assign(this.attributes, attributes);
    return this;
  }

  setStatus(status: SpanStatus): this {
    this.status = status;
    return this;
  }

  updateName(name: string): this {
    this.name = name;
    return this;
  }

  addLink(link: Link): this {
    this.links.push(link);
    return this;
  }

  addLinks(links: Link[]): this {
    this.links.push(...links);
    return this;
  }

  addEvent(name: string, attributes?: Attributes): this {
    this.events.push({ name, attributes, time: this.endTime });
    return this;
  }

  recordException(error: { message?: string }): void {
    this.addEvent('exception', { 'exception.message': error.message });
  }

  end(): void {
    // The span has already ended, so this call has no effect.
  }
}
