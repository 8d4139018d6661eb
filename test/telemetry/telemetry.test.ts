import { SpanStatusCode } from '@opentelemetry/api';
import { ProtobufLogsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import * as incubating from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, test } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { providerNamed } from '../../src/agents/shared/providers.ts';
import { eventTypes } from '../../src/event/event.ts';
import { encodeBatches } from '../../src/telemetry/batch.ts';
import { clean, cleanText } from '../../src/telemetry/clean.ts';
import { spanIdOf, subMillisecondNanos, traceIdOf } from '../../src/telemetry/ids.ts';
import { incrementsOf } from '../../src/telemetry/increments.ts';
import { encodeMetrics } from '../../src/telemetry/metric-points.ts';
import { addTo, type MetricState, noMetrics } from '../../src/telemetry/metric-state.ts';
import { development, eventNameOf, metrics, operations, ours, stable } from '../../src/telemetry/names.ts';
import { decodeRequest } from '../../src/telemetry/otlp-decode.ts';
import { metricResource, type Plain, resourceAttributes, resourceOf, versioned } from '../../src/telemetry/resource.ts';
import { formerSystem, spansToSend } from '../../src/telemetry/spans.ts';
import { readableRecordOf, readableSpanOf } from '../otlp.ts';
import { limits, mapped, play, START_MS } from '../play.ts';

const session = { session_id: 's-1', transcript_path: '/home/dev/.claude/projects/x/s-1.jsonl', cwd: '/x' };
const hook = (second: number, name: string, fields: object = {}) => ({
  atMs: START_MS + second * 1000,
  payload: { ...session, hook_event_name: name, ...fields },
});
const short = () =>
  play([
    hook(0, 'SessionStart', { source: 'startup' }),
    hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'secret words' }),
    hook(2, 'PreToolUse', { prompt_id: 'p1', tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } }),
    hook(3, 'PostToolUse', {
      prompt_id: 'p1',
      tool_name: 'Bash',
      tool_use_id: 'c1',
      tool_input: { command: 'ls' },
      duration_ms: 400,
    }),
    hook(4, 'Stop', { prompt_id: 'p1' }),
    hook(5, 'SessionEnd', { reason: 'other' }),
  ]);

describe('names', () => {
  test('values from closed sets are those of the conventions', () => {
    const valuesOf = (prefix: string): Set<string> =>
      new Set(Object.entries(incubating).flatMap(([name, value]) => (name.startsWith(prefix) ? [String(value)] : [])));
    const others = (values: readonly string[], of: string): string[] =>
      values.filter(value => !valuesOf(of).has(value));
    // An operation of gen_ai.plan.internal, in semantic-conventions-genai.
    expect(others(Object.values(operations), 'GEN_AI_OPERATION_NAME_VALUE_')).toEqual(['plan']);
    const spoken = agents.flatMap(({ provider }) => provider ?? []);
    const aliases = 'google gemini vertex vertex_ai bedrock azure azure_openai mistral xai grok moonshot kimi'.split(
      ' ',
    );
    // The enumeration is open: the agent itself sends `github`, and semantic-conventions-genai has `moonshot_ai`.
    const newer = ['github', 'moonshot_ai'];
    expect(new Set(others([...spoken, ...aliases.map(providerNamed)], 'GEN_AI_PROVIDER_NAME_VALUE_'))).toEqual(
      new Set(newer),
    );
    expect([...valuesOf('GEN_AI_SYSTEM_VALUE_')]).toContain(formerSystem('x_ai'));
    expect([...valuesOf('GEN_AI_TOKEN_TYPE_VALUE_')]).toEqual(expect.arrayContaining(['input', 'output']));
    expect([...valuesOf('MCP_METHOD_NAME_VALUE_')]).toContain('tools/call');
  });

  test('every name follows the naming rules: lower case, dots and underscores', () => {
    const names = [...Object.values(stable), ...Object.values(development), ...Object.values(ours)];
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+\.?$/);
    for (const { name } of Object.values(metrics))
      expect(name).toMatch(/^(agent_hooks|gen_ai|mcp)(\.[a-z][a-z0-9_]*)+$/);
    expect(new Set(names).size).toBe(names.length);
  });

  test('event names are the types in lower case, and vendor events share one', () => {
    expect(eventTypes.map(eventNameOf)).toContain('agent_hooks.session.start');
    expect(eventNameOf('vendor.claude-code.ConfigChange')).toBe('agent_hooks.vendor');
  });
});

describe('ids', () => {
  const trace = { agent: 'claude-code', session: 's', segment: 0 };
  test('are computed: the same keys give the same ids, other keys others', () => {
    expect(traceIdOf(trace)).toBe(traceIdOf({ ...trace }));
    expect(traceIdOf(trace)).toMatch(/^[0-9a-f]{32}$/);
    expect(traceIdOf({ ...trace, segment: 1 })).not.toBe(traceIdOf(trace));
    expect(spanIdOf('a', { kind: 'turn', session: 's', parts: ['1', '0'] })).not.toBe(
      spanIdOf('a', { kind: 'action', session: 's', parts: ['1', '0'] }),
    );
  });

  test('this version computes exactly these', () => {
    // A change here breaks the link between sent and future data: it needs a new tag.
    expect(traceIdOf(trace)).toMatchInlineSnapshot(`"11385ea691f009d56bbb4e345bc1189e"`);
    expect(spanIdOf('claude-code', { kind: 'action', session: 's', parts: ['c1'] })).toMatchInlineSnapshot(
      `"0d858ca576ded603"`,
    );
  });

  test('nanoseconds below the millisecond come from the event', () => {
    const nanos = subMillisecondNanos('550e8400-e29b-81d4-a716-446655440000');
    expect(nanos).toBeGreaterThanOrEqual(0);
    expect(nanos).toBeLessThan(1_000_000);
  });
});

describe('spans and records', () => {
  test('a session is one trace with the expected values', () => {
    const played = short();
    const batches = encodeBatches([
      {
        spans: played.spans,
        records: played.records,
        facts: { agent: 'claude-code', session: 's-1', provider: 'anthropic', denyAsError: false, limits },
        resource: { 'service.name': 'claude-code' },
      },
    ]);
    expect(batches.map(({ signal, items, isSkeleton }) => [signal, items, isSkeleton])).toEqual([
      ['traces', 1, false],
      ['traces', 2, true],
      ['logs', 6, false],
    ]);
    const text = JSON.stringify(batches.map(({ signal, bytes }) => decodeRequest(signal, bytes)));
    expect(text).toContain('execute_tool Bash');
    expect(text).toContain('agent_hooks.prompt.submitted');
    expect(text).not.toContain('secret words');
    const logs = decodeRequest('logs', batches[2]?.bytes ?? new Uint8Array());
    expect(logs?.resourceLogs).toHaveLength(1);
  });

  test('equal rounds and unequal rounds give the same bytes for each span', () => {
    const one = mapped(short().spans).map(span =>
      Buffer.from(ProtobufTraceSerializer.serializeRequest([span]) ?? []).toString('hex'),
    );
    const two = mapped(short().spans).map(span =>
      Buffer.from(ProtobufTraceSerializer.serializeRequest([span]) ?? []).toString('hex'),
    );
    expect(two).toEqual(one);
    expect(ProtobufLogsSerializer.serializeRequest([])).toBeDefined();
  });

  test('the trace of the caller is a link, or the parent if that is configured', () => {
    const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
    const roots = (['link', 'parent'] as const).map(policy => {
      const facts = {
        agent: 'claude-code',
        session: 's-1',
        provider: undefined,
        denyAsError: false,
        limits,
        caller: { policy, ...caller },
      };
      const spans = short().spans.map(span => readableSpanOf(span, facts, resourceOf({})));
      expect(new Set(spans.map(span => span.spanContext().traceId)).size).toBe(1);
      return spans.find(span => span.name.startsWith('session'));
    });
    expect(roots[0]?.links.map(link => link.context.traceId)).toEqual([caller.traceId]);
    expect(roots[0]?.parentSpanContext).toBeUndefined();
    expect(roots[1]?.links).toEqual([]);
    expect(roots[1]?.parentSpanContext?.spanId).toBe(caller.spanId);
    expect(roots[1]?.spanContext().traceId).toBe(caller.traceId);
  });

  test('without turns their spans and records belong to the session', () => {
    const { spans, records } = short();
    const facts = { agent: 'claude-code', session: 's-1', provider: undefined, denyAsError: false, limits };
    const flat = { ...facts, turns: 'off' as const };
    const left = spansToSend(spans, flat).map(span => readableSpanOf(span, flat, resourceOf({})));
    expect(left.map(({ name }) => name)).toEqual(['execute_tool Bash', 'session claude-code']);
    const [action, session] = left;
    expect(action?.parentSpanContext?.spanId).toBe(session?.spanContext().spanId);
    const ids = new Set(left.map(span => span.spanContext().spanId));
    const spanIds = records.map(record => readableRecordOf(record, flat, resourceOf({})).spanContext?.spanId);
    expect(spanIds.filter(id => !ids.has(id ?? ''))).toEqual([]);
    expect(new Set(spanIds).size).toBe(2);
  });

  test('a denied action is an error only if configured; an exit code alone is not an error', () => {
    const envelope = { spec_version: '0.1.0', source: { tool: 'goose' }, session_id: 's-1' };
    const event = (second: number, event_type: string, data: object) => {
      const event_id = `0000000${second}-0000-4000-8000-000000000000`;
      const atMs = START_MS + second * 1_000;
      return { atMs, payload: { ...envelope, event_id, timestamp: new Date(atMs).toISOString(), event_type, data } };
    };
    const { spans } = play([
      event(1, 'Action.Before', { action: { name: 'shell' }, decision: { outcome: 'deny' } }),
      event(2, 'Action.Before', { action: { name: 'read_file' } }),
      event(3, 'Action.After', { action: { name: 'read_file', result: { success: true, exit_code: 1 } } }),
      event(4, 'Session.End', { end_reason: 'exit' }),
    ]);
    const statuses = (denyAsError: boolean) => {
      const facts = { agent: 'goose', session: 's-1', provider: undefined, denyAsError, limits };
      return spans
        .filter(({ kind }) => kind === 'action')
        .map(span => readableSpanOf(span, facts, resourceOf({})))
        .map(({ status, attributes }) => [status.code, attributes['error.type'], attributes['process.exit.code']]);
    };
    const { UNSET, ERROR } = SpanStatusCode;
    const passed = [UNSET, undefined, 1];
    expect(statuses(false)).toEqual([[UNSET, undefined, undefined], passed]);
    expect(statuses(true)).toEqual([[ERROR, 'denied', undefined], passed]);
  });

  test('attributes keep to the limits of the standard, the dropped ones counted', () => {
    const { kept, dropped } = clean(
      [
        { a: 'abcdef', b: 1 },
        { c: true, d: undefined, e: Number.NaN },
      ],
      { attributes: 2, valueLength: 3 },
    );
    expect(kept).toEqual({ a: 'abc', b: 1 });
    expect(dropped).toBe(1);
  });

  test('values are well-formed and shorter than the limits of back ends', () => {
    expect(cleanText('a\uD800b')).toBe('a\uFFFDb');
    expect(cleanText('ok \uD83D\uDE00')).toBe('ok \uD83D\uDE00');
    const long = cleanText('é'.repeat(5_000));
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(2_048);
    expect(long.endsWith('é')).toBe(true);
  });
});

describe('resource', () => {
  const facts = { agent: 'claude-code', serviceName: undefined, attributes: { team: 'web' }, installation: 'i1' };
  test('names the agent, and is the same every time', () => {
    const attributes = resourceAttributes(facts);
    expect(attributes['service.name']).toBe('claude-code');
    expect(attributes['service.instance.id']).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(resourceAttributes(facts)).toEqual(attributes);
    expect(resourceAttributes({ ...facts, installation: 'i2' })['service.instance.id']).not.toBe(
      attributes['service.instance.id'],
    );
  });
  test('of metrics carries no version, so that an upgrade starts no new series', () => {
    const { attributes } = versioned(resourceAttributes(facts))('2.1.0');
    expect(attributes).toMatchObject({ 'service.version': '2.1.0' });
    expect(Object.keys(metricResource(attributes as Plain)).filter(name => name.includes('version'))).toEqual([]);
  });
  test('has the configured version, not the one of the agent', () => {
    const own = resourceAttributes({ ...facts, attributes: { 'service.version': '7' } });
    for (const version of ['2.1.0', undefined]) expect(versioned(own)(version).attributes).toEqual(own);
  });
});

describe('metrics', () => {
  const resource = { 'service.name': 'claude-code' };
  const counted = (state: MetricState, nowMs = START_MS) => {
    const { events, spans } = short();
    addTo(
      state,
      resource,
      incrementsOf(events, spans, 'claude-code', tool => tool === 'Bash'),
      nowMs,
    );
    return state;
  };
  const valuesIn = (bytes: Uint8Array | undefined) => {
    const request = decodeRequest('metrics', bytes ?? new Uint8Array()) as unknown as {
      resourceMetrics: {
        scopeMetrics: {
          metrics: { name: string; sum?: { dataPoints: { asInt: string; timeUnixNano: string }[] } }[];
        }[];
      }[];
    };
    const all = request.resourceMetrics.flatMap(r => r.scopeMetrics.flatMap(s => s.metrics));
    return Object.fromEntries(
      all.flatMap(m => (m.sum ? [[m.name, m.sum.dataPoints.reduce((sum, p) => sum + Number(p.asInt), 0)]] : [])),
    );
  };

  test('a new series is sent as 0 before its first value', () => {
    const encoded = encodeMetrics(counted(noMetrics()), START_MS + 10, 'cumulative');
    expect(encoded?.bodies.length).toBe(2);
    expect(Object.values(valuesIn(encoded?.bodies[0]?.bytes)).every(value => value === 0)).toBe(true);
    expect(valuesIn(encoded?.bodies[1]?.bytes)['agent_hooks.session.started']).toBe(1);
    expect(valuesIn(encoded?.bodies[1]?.bytes)['agent_hooks.prompt.submitted']).toBe(1);
  });

  test('after a silence a counter is sent with its old value, then with the new one', () => {
    const first = encodeMetrics(counted(noMetrics()), START_MS, 'cumulative');
    const state = first?.settled ?? noMetrics();
    addTo(
      state,
      resource,
      [{ metric: 'prompts', attributes: { [ours.promptFollowup]: 'unknown', [ours.actorType]: 'user' }, value: 2 }],
      START_MS,
    );
    const soon = encodeMetrics(state, START_MS + 30_000, 'cumulative');
    expect(soon?.bodies.map(({ bytes }) => valuesIn(bytes)['agent_hooks.prompt.submitted'])).toEqual([3]);
    const late = encodeMetrics(state, START_MS + 3_600_000, 'cumulative');
    expect(late?.bodies.map(({ bytes }) => valuesIn(bytes)['agent_hooks.prompt.submitted'])).toEqual([1, 3]);
    // A series that did not grow is not sent.
    expect(Object.keys(valuesIn(late?.bodies[0]?.bytes))).toEqual(['agent_hooks.prompt.submitted']);
    expect(encodeMetrics(state, START_MS + 3_600_000, 'delta')?.bodies.length).toBe(1);
  });

  test('custom names of models and providers make a limited number of series', () => {
    const state = noMetrics();
    const increments = Array.from({ length: 80 }, (_, i) => ({
      metric: 'inputTokens' as const,
      attributes: { [development.requestModel]: 'm', [development.providerName]: `gateway-${i}` },
      value: 1,
    }));
    addTo(state, resource, increments, START_MS);
    const all = Object.values(state.resources).flatMap(each => Object.values(each.series));
    const series = all.filter(each => each.metric === 'inputTokens');
    expect(series.map(each => each.attributes[development.providerName])).toContain('other');
    expect(series).toHaveLength(51);
  });

  test('counters only grow and times only rise, with any clock', () => {
    let state = counted(noMetrics());
    let lastMs = 0;
    for (const nowMs of [START_MS + 10, START_MS - 3_600_000, START_MS + 11, 0]) {
      const encoded = encodeMetrics(state, nowMs, 'cumulative');
      expect(encoded).toBeDefined();
      if (encoded === undefined) return;
      expect(encoded.settled.lastMs).toBeGreaterThan(lastMs);
      lastMs = encoded.settled.lastMs;
      state = counted(encoded.settled);
    }
    const last = encodeMetrics(state, START_MS + 20, 'cumulative');
    expect(valuesIn(last?.bodies.at(-1)?.bytes)['agent_hooks.session.started']).toBe(5);
  });

  test('without a change no metrics are sent; delta is the difference to the accepted state', () => {
    const first = encodeMetrics(counted(noMetrics()), START_MS, 'delta');
    expect(first?.bodies.length).toBe(1);
    if (first === undefined) return;
    expect(encodeMetrics(first.settled, START_MS + 1, 'delta')).toBeUndefined();
    const second = encodeMetrics(counted(first.settled), START_MS + 2, 'delta');
    expect(valuesIn(second?.bodies[0]?.bytes)['agent_hooks.session.started']).toBe(1);
  });

  test('names that servers and users invent share one value', () => {
    const { events, spans } = play([
      ...Array.from({ length: 50 }, (_, i) =>
        hook(i, 'PreToolUse', { tool_name: `mcp__s${i}__t${i}`, tool_use_id: `c${i}`, tool_input: { i } }),
      ),
      ...Array.from({ length: 50 }, (_, i) =>
        hook(60 + i, 'PostToolUse', { tool_name: `Own${i}`, tool_use_id: `d${i}`, tool_input: { i }, duration_ms: 5 }),
      ),
      hook(200, 'SessionEnd', { reason: 'other' }),
    ]);
    const tools = new Set(
      incrementsOf(events, spans, 'claude-code', () => false).map(each => each.attributes['gen_ai.tool.name']),
    );
    expect([...tools].filter(Boolean).sort()).toEqual(['custom', 'mcp']);
  });
});
