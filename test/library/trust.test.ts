/** The bridge keeps its promises to an application: no error escapes, and every span is counted. */
import { context, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  InMemorySpanExporter,
  NodeTracerProvider,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Bridge,
  type BridgeError,
  type BridgeOptions,
  createBridge,
  type IngestMeta,
  SessionIdGenerator,
} from '../../src/index.ts';

const tool = { tool: 'claude-code' } as const;
const payload = (session: string, name: string, fields: object = {}) => ({
  ...{ session_id: session, hook_event_name: name, cwd: '/x' },
  ...fields,
});
const starts = (session: string) => payload(session, 'SessionStart', { source: 'startup' });
const ends = (session: string) => payload(session, 'SessionEnd', { reason: 'other' });

/** A session with one span. */
function short(bridge: Bridge, session: string, meta: IngestMeta = {}): void {
  expect(bridge.ingest(starts(session), { ...tool, ...meta }).status).toBe('accepted');
  expect(bridge.ingest(ends(session), tool).status).toBe('accepted');
}

/** A session with the spans of a session, a turn and an action. */
function whole(bridge: Bridge, session: string, meta: IngestMeta = {}): void {
  const bash = { prompt_id: 'p1', tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } };
  const events = [
    starts(session),
    payload(session, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'secret words' }),
    payload(session, 'PreToolUse', bash),
    payload(session, 'PostToolUse', { ...bash, tool_response: {}, duration_ms: 5 }),
    payload(session, 'Stop', { prompt_id: 'p1' }),
    ends(session),
  ];
  for (const event of events) expect(bridge.ingest(event, { ...tool, ...meta }).status).toBe('accepted');
}

const quiet = { tracerProvider: false, loggerProvider: false, meterProvider: false } as const;
let errors: BridgeError[] = [];
let unhandled: unknown[] = [];
const note = (error: unknown): void => {
  unhandled.push(error);
};
const bridgeWith = (options: BridgeOptions): Bridge =>
  createBridge({ ...quiet, tracerProvider: undefined, onError: error => errors.push(error), ...options });

beforeEach(() => {
  errors = [];
  unhandled = [];
  process.on('unhandledRejection', note);
});
afterEach(async () => {
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
  trace.disable();
  context.disable();
});

const balanced = (bridge: Bridge): void => {
  const { spans, inputs } = bridge.stats();
  expect(spans.exported + spans.dropped + spans.failed + spans.waiting).toBe(spans.produced);
  expect(inputs.accepted + inputs.duplicate + inputs.refused).toBe(inputs.received);
};

const boom = (): never => {
  throw new Error('boom');
};

describe('errors of the receivers', () => {
  test.each<[string, BridgeOptions]>([
    ['a processor whose onEnd throws', { spanProcessors: [{ onEnd: boom, forceFlush: async () => undefined }] }],
    [
      'a processor whose onStart throws',
      { spanProcessors: [{ onStart: boom, onEnd: () => undefined, forceFlush: async () => undefined }] },
    ],
    ['an exporter whose export throws', { spanExporters: [{ export: boom }] }],
    [
      'an exporter that reports an error',
      { spanExporters: [{ export: (_: never, done) => done({ code: 1, error: new Error('boom') }) }] },
    ],
    ['a processor whose forceFlush throws', { spanProcessors: [{ onEnd: () => undefined, forceFlush: boom }] }],
    [
      'a tracer that throws',
      { tracerProvider: { getTracer: () => ({ startSpan: boom }), forceFlush: async () => undefined } },
    ],
    ['a sampler that throws', { sampler: { shouldSample: boom }, spanExporters: [new InMemorySpanExporter()] }],
  ])('%s: the spans count as failed, and the flush reports it', async (_, options) => {
    const bridge = bridgeWith(options);
    short(bridge, 's1');
    const result = await bridge.forceFlush();
    expect(result).toMatchObject({ ok: false, timedOut: false, failed: 1 });
    expect(result.errors[0]?.message).toContain('boom');
    expect(bridge.stats().spans).toMatchObject({ produced: 1, failed: 1, exported: 0, waiting: 0 });
    expect(errors.length).toBeGreaterThan(0);
  });

  test('a logger and a meter that throw do not escape from ingest', async () => {
    const loggerProvider = { getLogger: () => ({ emit: boom }) };
    const meterProvider = { getMeter: boom };
    const bridge = bridgeWith({ spanExporters: [new InMemorySpanExporter()], loggerProvider, meterProvider });
    short(bridge, 's1');
    await bridge.forceFlush();
    const { records, measurements } = bridge.stats();
    expect(records).toMatchObject({ produced: 2, failed: 2 });
    expect(measurements.failed).toBe(measurements.produced);
    expect(measurements.produced).toBeGreaterThan(0);
  });

  test('a forceFlush that returns undefined is a flush that succeeded', async () => {
    const processor = { onEnd: () => undefined, forceFlush: () => undefined as unknown as Promise<void> };
    const bridge = bridgeWith({ spanProcessors: [processor] });
    short(bridge, 's1');
    expect(await bridge.forceFlush()).toMatchObject({ ok: true });
  });

  test('an exporter that never answers ends neither flush nor shutdown, and its spans count as failed', async () => {
    const bridge = bridgeWith({ spanExporters: [{ export: () => undefined }] });
    short(bridge, 's1');
    expect(await bridge.forceFlush({ timeoutMs: 20 })).toMatchObject({ ok: false, timedOut: true, waiting: 1 });
    expect(await bridge.shutdown({ timeoutMs: 20 })).toMatchObject({ ok: false, timedOut: true, waiting: 0 });
    expect(bridge.stats().spans).toMatchObject({ produced: 1, failed: 1, waiting: 0 });
  });

  test('a flush reports the errors of its own time, not earlier ones', async () => {
    let code = 1;
    const exporter = { export: (_: never, done: (result: { code: number }) => void) => done({ code }) };
    const bridge = bridgeWith({ spanExporters: [exporter] });
    short(bridge, 's1');
    expect((await bridge.forceFlush()).ok).toBe(false);
    code = 0;
    short(bridge, 's2');
    expect(await bridge.forceFlush()).toMatchObject({ ok: true, errors: [] });
    expect(bridge.stats().spans).toMatchObject({ produced: 2, failed: 1, exported: 1 });
  });

  test('an onError that throws harms nothing', async () => {
    const bridge = bridgeWith({ spanExporters: [{ export: boom }], onError: boom });
    short(bridge, 's1');
    expect((await bridge.shutdown()).ok).toBe(false);
  });
});

describe('every loss is reported', () => {
  test('a batch processor with a small queue gets all spans', async () => {
    const exporter = new InMemorySpanExporter();
    const processor = new BatchSpanProcessor(exporter, { maxQueueSize: 100, maxExportBatchSize: 50 });
    const bridge = bridgeWith({ spanProcessors: [processor] });
    for (let i = 0; i < 1_500; i += 1) short(bridge, `s${i}`);
    await bridge.forceFlush();
    expect(exporter.getFinishedSpans().length).toBe(1_500);
    expect(bridge.stats().spans).toMatchObject({ produced: 1_500, exported: 1_500, dropped: 0, failed: 0 });
  });

  test('a tracer provider whose batch processor the application fills gets all spans of the bridge', async () => {
    const exporter = new InMemorySpanExporter();
    const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
    const tracer = provider.getTracer('application');
    const bridge = bridgeWith({ tracerProvider: provider });
    for (let i = 0; i < 3_000; i += 1) {
      short(bridge, `s${i}`);
      if (i % 500 === 0) {
        for (let k = 0; k < 2_500; k += 1) tracer.startSpan('own').end();
        await bridge.ready;
      }
    }
    await bridge.forceFlush();
    const ours = exporter.getFinishedSpans().filter(({ name }) => name.startsWith('session '));
    expect(ours.length).toBe(3_000);
    expect(bridge.stats().spans).toMatchObject({ produced: 3_000, exported: 3_000, dropped: 0, failed: 0 });
  });

  test('a full queue refuses the event, and takes it after `ready`', async () => {
    const exporter = new InMemorySpanExporter();
    const bridge = bridgeWith({ spanExporters: [exporter], limits: { queue: 100 } });
    let refused = 0;
    for (let i = 0; i < 1_000; i += 1)
      for (const event of [starts(`s${i}`), ends(`s${i}`)])
        for (
          let result = bridge.ingest(event, tool);
          result.status !== 'accepted';
          result = bridge.ingest(event, tool)
        ) {
          expect(result).toMatchObject({ status: 'refused', reason: 'queue-full' });
          refused += 1;
          await bridge.ready;
        }
    await bridge.shutdown();
    expect(exporter.getFinishedSpans().length).toBe(1_000);
    expect(refused).toBeGreaterThan(5);
    expect(bridge.stats().inputs.refusedBy).toEqual({ 'queue-full': refused });
    balanced(bridge);
  });

  test('a shutdown with more open sessions than the queue holds exports all of them', async () => {
    const exporter = new InMemorySpanExporter();
    const bridge = bridgeWith({ spanExporters: [exporter], limits: { queue: 50 } });
    for (let i = 0; i < 1_000; i += 1) {
      await bridge.ready;
      expect(bridge.ingest(starts(`s${i}`), tool).status).toBe('accepted');
    }
    expect(await bridge.shutdown()).toMatchObject({ ok: true, waiting: 0 });
    expect(exporter.getFinishedSpans().length).toBe(1_000);
  });

  test('a journal that is longer than the queue is read with back-pressure, in parts that end anywhere', async () => {
    const line = (session: string, type: string, data: object): string =>
      `${JSON.stringify({ spec_version: '0.1.0', event_id: `${session}-${type}`, timestamp: '2026-03-02T10:00:00Z', event_type: type, session_id: session, source: { tool: 'x' }, data })}\n`;
    let text = '';
    for (let i = 0; i < 500; i += 1)
      text += line(`s${i}`, 'Session.Start', { start_reason: 'new' }) + line(`s${i}`, 'Session.End', {});
    const bytes = Buffer.from(text);
    async function* parts() {
      for (let at = 0; at < bytes.length; at += 997) yield bytes.subarray(at, at + 997);
    }
    const exporter = new InMemorySpanExporter();
    const bridge = bridgeWith({ spanExporters: [exporter], limits: { queue: 20 } });
    expect(await bridge.journal(parts())).toEqual({ accepted: 1_000, refused: 0 });
    await bridge.shutdown();
    expect(exporter.getFinishedSpans().length).toBe(500);
    balanced(bridge);
  });

  test('without any receiver, spans count as dropped, and this is reported once', async () => {
    const bridge = bridgeWith({});
    short(bridge, 's1');
    short(bridge, 's2');
    await bridge.forceFlush();
    expect(bridge.stats().spans).toMatchObject({ produced: 2, dropped: 2, droppedBy: { no_receiver: 2 } });
    expect(errors.map(({ code }) => code)).toEqual(['no-receiver']);
  });

  test('values that are not events are refused with a reason, and the numbers balance', () => {
    const bridge = bridgeWith({ spanExporters: [new InMemorySpanExporter()] });
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const takeAny = bridge.ingest.bind(bridge) as (input: unknown, meta?: unknown) => { status: string };
    for (const input of [undefined, null, 1n, { n: 1n }, cycle, () => 1, Symbol('x'), 7, '', '{', [], [7]])
      expect(takeAny(input, tool).status).toBe('refused');
    expect(takeAny(starts('s1'), { ...tool, timeMs: Number.NaN })).toMatchObject({ reason: 'invalid-time' });
    expect(takeAny(starts('s1'), null).status).toBe('accepted');
    balanced(bridge);
  });

  test('an event with an invalid id or time is refused by its rule and position, as `serve` refuses it', () => {
    const bridge = bridgeWith({ spanExporters: [new InMemorySpanExporter()] });
    const event = {
      spec_version: '0.1.0',
      event_type: 'Session.Start',
      session_id: 's',
      source: { tool: 'x' },
      data: {},
    };
    const text = JSON.stringify({ ...event, event_id: 'no uuid', timestamp: 'yesterday' });
    const result = bridge.ingest(text);
    expect(result).toMatchObject({ status: 'refused', reason: 'invalid-event', line: 1 });
    expect(result.status === 'refused' && result.rule && result.field).toBeTruthy();
  });

  test('events after the shutdown are refused', async () => {
    const bridge = bridgeWith({ spanExporters: [new InMemorySpanExporter()] });
    await bridge.shutdown();
    expect(bridge.ingest(starts('s1'), tool)).toMatchObject({ status: 'refused', reason: 'shut-down' });
    expect((await bridge.shutdown()).ok).toBe(true);
  });

  test('`await using` shuts the bridge down', async () => {
    const exporter = new InMemorySpanExporter();
    const bridge = bridgeWith({ spanExporters: [exporter] });
    bridge.ingest(starts('s1'), tool);
    await bridge[Symbol.asyncDispose]();
    expect(exporter.getFinishedSpans().length).toBe(1);
  });
});

describe('memory', () => {
  test('the session with the oldest last event is ended when too many are open', async () => {
    const exporter = new InMemorySpanExporter();
    const bridge = bridgeWith({ spanExporters: [exporter], limits: { openSessions: 10 } });
    for (let i = 0; i < 30; i += 1) bridge.ingest(starts(`s${i}`), tool);
    await bridge.forceFlush();
    expect(bridge.stats().sessions).toMatchObject({ open: 10, evicted: 20 });
    expect(exporter.getFinishedSpans().length).toBe(20);
  });

  test('a silent session ends, and an ended one is forgotten, while no event comes', async () => {
    const exporter = new InMemorySpanExporter();
    const bridge = bridgeWith({ spanExporters: [exporter], limits: { silenceMs: 40, endedMs: 20 } });
    bridge.ingest(starts('s1'), tool);
    short(bridge, 's2');
    await expect
      .poll(() => bridge.stats().sessions, { timeout: 2_000 })
      .toMatchObject({ open: 0, ended: 0, silenced: 1 });
    await expect.poll(() => exporter.getFinishedSpans().length).toBe(2);
  });
});

const attributesOf = (exporter: InMemorySpanExporter) => exporter.getFinishedSpans().map(span => span.attributes);

describe('a tracer provider', () => {
  const providerWith = (options: object = {}) => {
    const exporter = new InMemorySpanExporter();
    const spanProcessors = [new SimpleSpanProcessor(exporter)];
    return { exporter, provider: new NodeTracerProvider({ spanProcessors, ...options }) };
  };
  const idsIn = (exporter: InMemorySpanExporter) =>
    exporter
      .getFinishedSpans()
      .map(span => [span.name, span.spanContext().traceId, span.spanContext().spanId])
      .sort();

  test.each([
    ['with a SessionIdGenerator', { idGenerator: new SessionIdGenerator() }],
    ['with its own generator', {}],
  ])('%s gives spans the computed ids, times and parents', async (_, options) => {
    const plain = new InMemorySpanExporter();
    const direct = bridgeWith({ spanExporters: [plain] });
    const { exporter, provider } = providerWith(options);
    const bridge = bridgeWith({ tracerProvider: provider });
    for (const each of [direct, bridge]) {
      whole(each, 's1', { timeMs: Date.UTC(2026, 2, 2) });
      await each.shutdown();
    }
    expect(exporter.getFinishedSpans().length).toBe(3);
    expect(idsIn(exporter)).toEqual(idsIn(plain));
    const shape = (all: InMemorySpanExporter) =>
      all.getFinishedSpans().map(({ name, parentSpanContext, startTime, endTime, kind }) => ({
        ...{ name, startTime, endTime, kind, parent: parentSpanContext?.spanId },
      }));
    expect(shape(exporter)).toEqual(shape(plain));
    expect(exporter.getFinishedSpans().every(({ kind }) => kind === SpanKind.INTERNAL)).toBe(true);
    const own = provider.getTracer('application').startSpan('own');
    expect(idsIn(exporter).flat()).not.toContain(own.spanContext().spanId);
  });

  test('decides by its sampler, for whole traces', async () => {
    const off = providerWith({ sampler: new AlwaysOffSampler() });
    const none = bridgeWith({ tracerProvider: off.provider });
    whole(none, 's1');
    await none.forceFlush();
    expect(none.stats().spans).toMatchObject({ produced: 3, exported: 0, dropped: 3, droppedBy: { sampled: 3 } });
    const half = providerWith({ sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0.5) }) });
    const bridge = bridgeWith({ tracerProvider: half.provider });
    for (let i = 0; i < 60; i += 1) whole(bridge, `s${i}`);
    await bridge.forceFlush();
    const traces = new Map<string, number>();
    for (const span of half.exporter.getFinishedSpans())
      traces.set(span.spanContext().traceId, (traces.get(span.spanContext().traceId) ?? 0) + 1);
    expect([...new Set(traces.values())]).toEqual([3]);
    expect(traces.size).toBeGreaterThan(10);
    expect(traces.size).toBeLessThan(50);
  });

  test('applies its limits, its resource and the onStart of its processors', async () => {
    const { exporter, provider } = providerWith({
      spanLimits: { attributeCountLimit: 3 },
      resource: resourceFromAttributes({ 'service.name': 'shop' }),
      spanProcessors: [],
    });
    await provider.shutdown();
    const marking = {
      onStart: (span: { setAttribute(name: string, value: string): void }) => span.setAttribute('marked', 'yes'),
      onEnd: () => undefined,
      forceFlush: async () => undefined,
      shutdown: async () => undefined,
    };
    const limited = new NodeTracerProvider({
      spanLimits: { attributeCountLimit: 3 },
      resource: resourceFromAttributes({ 'service.name': 'shop' }),
      spanProcessors: [marking, new SimpleSpanProcessor(exporter)],
    });
    const bridge = bridgeWith({ tracerProvider: limited });
    whole(bridge, 's1');
    await bridge.forceFlush();
    for (const span of exporter.getFinishedSpans()) {
      expect(Object.keys(span.attributes).length).toBeLessThanOrEqual(3);
      expect(span.resource.attributes['service.name']).toBe('shop');
    }
    expect(exporter.getFinishedSpans().some(({ droppedAttributesCount }) => droppedAttributesCount > 0)).toBe(true);
  });

  test('that is registered after the bridge was made gets the spans', async () => {
    const bridge = bridgeWith({});
    const { exporter, provider } = providerWith();
    trace.setGlobalTracerProvider(provider);
    whole(bridge, 's1');
    await bridge.forceFlush();
    expect(exporter.getFinishedSpans().length).toBe(3);
    const second = bridgeWith({ tracerProvider: trace.getTracerProvider() });
    whole(second, 's2');
    expect(await second.forceFlush()).toMatchObject({ ok: true });
    expect(exporter.getFinishedSpans().length).toBe(6);
  });
});

test('a processor may set attributes in onStart, as the processors of vendors do', async () => {
  const exporter = new InMemorySpanExporter();
  const marking = {
    onStart: (span: { setAttribute(name: string, value: string): void }) => span.setAttribute('marked', 'yes'),
    onEnd: () => undefined,
    forceFlush: async () => undefined,
  };
  const bridge = bridgeWith({ spanProcessors: [marking, new SimpleSpanProcessor(exporter)] });
  whole(bridge, 's1');
  await bridge.shutdown();
  expect(attributesOf(exporter).map(({ marked }) => marked)).toEqual(['yes', 'yes', 'yes']);
});

test('a meter provider that is made after the bridge gets the measurements', async () => {
  let provider: MeterProvider | undefined;
  const bridge = bridgeWith({ spanExporters: [new InMemorySpanExporter()], meterProvider: () => provider });
  const points = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: points, exportIntervalMillis: 3_600_000 });
  provider = new MeterProvider({ readers: [reader] });
  whole(bridge, 's1');
  await bridge.forceFlush();
  expect(points.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics[0]?.metrics ?? []).length).toBeGreaterThan(3);
  await provider.shutdown();
});

describe('the context of a session', () => {
  const caller = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
  const header = `00-${caller.traceId}-${caller.spanId}-`;
  const active = (flags: number, run: () => void): void => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    context.with(trace.setSpanContext(context.active(), { ...caller, traceFlags: flags }), run);
  };
  const rootOf = (exporter: InMemorySpanExporter) =>
    exporter.getFinishedSpans().find(({ name }) => name.startsWith('session '));

  test('the active span is linked by default, and is the parent or nothing on request', async () => {
    for (const parent of ['link', 'parent', 'none'] as const) {
      const exporter = new InMemorySpanExporter();
      const bridge = bridgeWith({ spanExporters: [exporter], parent });
      active(1, () => short(bridge, 's1'));
      await bridge.shutdown();
      const root = rootOf(exporter);
      expect(root?.parentSpanContext?.spanId).toBe(parent === 'parent' ? caller.spanId : undefined);
      expect(root?.links.map(link => link.context.spanId)).toEqual(parent === 'link' ? [caller.spanId] : []);
      context.disable();
    }
  });

  test('a parent that is not sampled keeps its flags, and its session is not sampled', async () => {
    for (const options of [{ sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }) }, {}]) {
      const exporter = new InMemorySpanExporter();
      const bridge = bridgeWith({ spanExporters: [exporter], parent: 'parent', ...options });
      whole(bridge, 's1', { traceparent: `${header}00` });
      await bridge.shutdown();
      expect(exporter.getFinishedSpans()).toEqual([]);
      expect(bridge.stats().spans.droppedBy).toEqual({ sampled: 3 });
    }
  });

  test('a malformed traceparent, and a different one after the first event, are reported', () => {
    const bridge = bridgeWith({ spanExporters: [new InMemorySpanExporter()] });
    bridge.ingest(starts('s1'), { ...tool, traceparent: 'nonsense' });
    bridge.ingest(ends('s1'), { ...tool, traceparent: `${header}01` });
    expect(errors.map(({ code }) => code)).toEqual(['traceparent', 'traceparent']);
  });

  test('a session that continues in a new process has new ids, and a link to the trace of its start', async () => {
    const first = new InMemorySpanExporter();
    const second = new InMemorySpanExporter();
    const before = bridgeWith({ spanExporters: [first] });
    short(before, 's1');
    await before.shutdown();
    const after = bridgeWith({ spanExporters: [second] });
    after.ingest(payload('s1', 'SessionStart', { source: 'resume' }), tool);
    await after.shutdown();
    const [one, other] = [rootOf(first), rootOf(second)];
    expect(other?.spanContext().traceId).not.toBe(one?.spanContext().traceId);
    expect(other?.links.map(link => link.context)).toMatchObject([
      { traceId: one?.spanContext().traceId, spanId: one?.spanContext().spanId },
    ]);
    const third = new InMemorySpanExporter();
    const same = bridgeWith({ spanExporters: [third], idScope: 'session' });
    same.ingest(payload('s1', 'SessionStart', { source: 'resume' }), tool);
    await same.shutdown();
    expect(rootOf(third)?.spanContext().traceId).toBe(one?.spanContext().traceId);
  });
});

describe('options', () => {
  test.each<[string, object, RegExp]>([
    ['an unknown option', { spanProcesors: [] }, /no option spanProcesors; there is an option spanProcessors/],
    ['an unknown part', { limits: { queu: 1 } }, /no option limits\.queu; there is an option limits\.queue/],
    ['a bad value', { parent: 'child' }, /option parent is link, parent or none/],
    ['a value that the setting refuses', { content: { prompt: 'all' } }, /option content\.prompt/],
    ['no processor', { spanProcessors: [{}] }, /option spanProcessors is a list of span processors/],
  ])('%s is refused by name when the bridge is made', (_, options, message) => {
    expect(() => createBridge(options as BridgeOptions)).toThrow(message);
  });

  test('the application’s resource, and the standard’s variables, name the service of spans', async () => {
    const exporter = new InMemorySpanExporter();
    const bridge = bridgeWith({
      spanExporters: [exporter],
      resource: resourceFromAttributes({ 'service.name': 'shop', 'host.name': 'h1' }),
    });
    short(bridge, 's1');
    await bridge.shutdown();
    expect(exporter.getFinishedSpans()[0]?.resource.attributes).toMatchObject({
      'service.name': 'shop',
      'host.name': 'h1',
    });
    process.env.OTEL_SERVICE_NAME = 'from-variable';
    const named = new InMemorySpanExporter();
    const other = bridgeWith({ spanExporters: [named] });
    delete process.env.OTEL_SERVICE_NAME;
    short(other, 's1');
    await other.shutdown();
    expect(named.getFinishedSpans()[0]?.resource.attributes['service.name']).toBe('from-variable');
  });

  test('OTEL_SDK_DISABLED switches the bridge off', () => {
    process.env.OTEL_SDK_DISABLED = 'true';
    const bridge = bridgeWith({ spanExporters: [new InMemorySpanExporter()] });
    delete process.env.OTEL_SDK_DISABLED;
    expect(bridge.ingest(starts('s1'), tool)).toMatchObject({ status: 'refused', reason: 'disabled' });
  });

  test('content, own secrets, prices, risk rules, budgets and the level of records are those of the command', async () => {
    const exporter = new InMemorySpanExporter();
    const emitted: { eventName?: string; severityText?: string }[] = [];
    const bridge = bridgeWith({
      spanExporters: [exporter],
      loggerProvider: { getLogger: () => ({ emit: record => emitted.push(record) }) },
      content: { prompt: 'redacted', redact: ['sec[a-z]+t'] },
      logs: { level: 'warn' },
      budget: { sessionTokens: 10 },
      cost: { prices: { 'my-model': { input_mtok: 1_000_000, output_mtok: 0 } } },
      risk: {
        rules: [{ id: 'own.ls', on: 'command', when: { program: 'ls' }, score: 77, factor: 'OWN_LS', why: 'a test' }],
      },
    });
    whole(bridge, 's1');
    const response = {
      event_type: 'Model.Responded',
      data: { model_id: 'x/my-model', input_tokens: 20, output_tokens: 1 },
    };
    const envelope = { spec_version: '0.1.0', session_id: 's2', source: { tool: 'x' } };
    const id = '0b4d9a52-3b1e-4d2a-9a53-0f1d1c6b7a10';
    bridge.ingest(JSON.stringify({ ...envelope, ...response, event_id: id, timestamp: '2026-03-02T10:00:00Z' }));
    await bridge.shutdown();
    const spans = attributesOf(exporter);
    expect(JSON.stringify(spans)).toContain('words');
    expect(JSON.stringify(spans)).not.toContain('secret words');
    expect(spans.some(span => span['agent_hooks.cost.usd'] === 20)).toBe(true);
    expect(emitted.every(({ severityText }) => severityText === 'WARN' || severityText === 'ERROR')).toBe(true);
    expect(emitted.some(({ eventName }) => eventName === 'agent_hooks.policy.violation')).toBe(true);
    expect(JSON.stringify(spans)).toContain('OWN_LS');
  });

  test('onSpan changes a span, and drops it by returning false or throwing', async () => {
    const exporter = new InMemorySpanExporter();
    const bridge = bridgeWith({
      spanExporters: [exporter],
      onSpan: span => {
        if (span.name.startsWith('execute_tool')) return false;
        if (span.name.startsWith('invoke_agent')) throw new Error('boom');
        span.name = 'changed';
        span.attributes.team = 'a';
        return undefined;
      },
    });
    whole(bridge, 's1');
    await bridge.shutdown();
    expect(exporter.getFinishedSpans().map(({ name, attributes }) => [name, attributes.team])).toEqual([
      ['changed', 'a'],
    ]);
    expect(bridge.stats().spans).toMatchObject({ exported: 1, dropped: 2, droppedBy: { on_span: 2 } });
  });
});
