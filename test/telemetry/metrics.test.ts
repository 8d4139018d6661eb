import { describe, expect, test } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { lossesOf } from '../../src/deliver/state-limits.ts';
import { emptyLedger } from '../../src/store/ledger.ts';
import { MOST_SERIES } from '../../src/telemetry/cardinality.ts';
import { spanIdOf, traceIdOf } from '../../src/telemetry/ids.ts';
import { type Increment, incrementsOf, type Widening } from '../../src/telemetry/increments.ts';
import { encodeMetrics, settleMetrics } from '../../src/telemetry/metric-points.ts';
import { addTo, handOver, type MetricState, noMetrics } from '../../src/telemetry/metric-state.ts';
import { development, type MetricName, metrics, ours } from '../../src/telemetry/names.ts';
import { decodeRequest } from '../../src/telemetry/otlp-decode.ts';
import { play, START_MS } from '../play.ts';

const resource = { 'service.name': 'claude-code' };
const seriesOf = (state: MetricState) => Object.values(state.resources).flatMap(each => Object.values(each.series));
/** Counted as in Prometheus: each bucket, including the last one, sum and count. */
const inPrometheus = (state: MetricState): number =>
  seriesOf(state).reduce((sum, { metric }) => {
    const { bounds }: MetricName = metrics[metric];
    return sum + (bounds === undefined ? 1 : bounds.length + 3);
  }, 0);

interface Point {
  asInt?: string;
  asDouble?: number;
  sum?: number;
  attributes: { key: string; value: { stringValue: string } }[];
  exemplars?: { traceId: string; spanId: string; asInt?: string; asDouble?: number; timeUnixNano: string }[];
}
interface Points {
  dataPoints: Point[];
}
function pointsIn(bytes: Uint8Array | undefined, name: string): Point[] {
  const request = decodeRequest('metrics', bytes ?? new Uint8Array()) as unknown as {
    resourceMetrics: {
      scopeMetrics: {
        metrics: { name: string; sum?: Points; gauge?: Points; histogram?: Points }[];
      }[];
    }[];
  };
  return request.resourceMetrics
    .flatMap(r => r.scopeMetrics.flatMap(s => s.metrics))
    .filter(metric => metric.name === name)
    .flatMap(metric => (metric.sum ?? metric.gauge ?? metric.histogram)?.dataPoints ?? []);
}

const span = (call: string) => ({ kind: 'action' as const, session: 's', parts: [call] });
const trace = { agent: 'a', session: 's', segment: 0 };
const locate = ({ trace: where, span: key }: { trace: typeof trace; span: ReturnType<typeof span> }) => ({
  traceId: traceIdOf(where),
  spanId: spanIdOf('a', key),
});
const took = (call: string, value: number, ms: number): Increment => ({
  metric: 'toolDuration',
  attributes: { [development.toolName]: 'Bash' },
  value,
  place: { trace, span: span(call), ms },
});

test('a compaction is counted once, and its remaining share when it is reported', () => {
  const compaction = (i: number, phase?: string) => ({
    atMs: START_MS + i,
    payload: {
      ...{ spec_version: '0.1.0', event_id: `0000000${i}-0000-4000-8000-000000000000`, session_id: 's' },
      ...{ timestamp: new Date(START_MS + i).toISOString(), source: { tool: 'goose' } },
      event_type: 'Context.Compaction',
      data: { trigger: 'auto', tokens_before: 100, tokens_after: 40, tokens_removed: phase === 'before' ? 1 : 60 },
      metadata: { 'dev.otel-hooks': { v: 1, phase } },
    },
  });
  const counted = (...events: ReturnType<typeof compaction>[]) =>
    incrementsOf(play(events).events, [], 'custom', () => false)
      .filter(({ metric }) => metric !== 'pipelineEvents')
      .map(({ metric, value }) => `${metric} ${value}`);
  const both = ['compactions 1', 'tokensRemoved 60', 'compression 0.4'];
  expect(counted(compaction(1))).toEqual(both);
  expect(counted(compaction(1, 'before'), compaction(2, 'after'))).toEqual(both);
});

describe('exemplars', () => {
  const adding = { locate: locate as never };

  test('of a histogram name the span of the highest measurement since the last that was accepted', () => {
    const state = noMetrics();
    addTo(state, resource, [took('c1', 0.5, START_MS), took('c2', 7, START_MS + 1)], START_MS, adding);
    addTo(state, resource, [took('c3', 2, START_MS + 2)], START_MS, adding);
    const encoded = encodeMetrics(state, START_MS + 10, 'cumulative');
    expect(pointsIn(encoded?.bodies[0]?.bytes, 'gen_ai.execute_tool.duration')[0]?.exemplars).toBeUndefined();
    expect(pointsIn(encoded?.bodies[1]?.bytes, 'gen_ai.execute_tool.duration')[0]?.exemplars).toEqual([
      {
        traceId: traceIdOf(trace),
        spanId: spanIdOf('a', span('c2')),
        asDouble: 7,
        timeUnixNano: `${START_MS + 1}000000`,
      },
    ]);
    const next = settleMetrics(state, encoded?.settled ?? noMetrics());
    addTo(next, resource, [took('c4', 0.1, START_MS + 20)], START_MS, adding);
    const again = encodeMetrics(next, START_MS + 30, 'cumulative');
    expect(pointsIn(again?.bodies[0]?.bytes, 'gen_ai.execute_tool.duration')[0]?.exemplars).toEqual([
      expect.objectContaining({ spanId: spanIdOf('a', span('c4')), asDouble: 0.1 }),
    ]);
  });

  test('of a counter name the newest, and do not name a trace that is not sent', () => {
    const state = noMetrics();
    const one = (call: string): Increment => ({
      metric: 'decisions',
      attributes: {},
      value: 1,
      place: { trace, span: span(call), ms: START_MS },
    });
    addTo(state, resource, [one('c1'), one('c2')], START_MS, adding);
    addTo(state, resource, [took('c3', 1, START_MS)], START_MS, { locate: () => undefined });
    const bytes = encodeMetrics(state, START_MS + 10, 'cumulative')?.bodies[1]?.bytes;
    expect(pointsIn(bytes, 'agent_hooks.decisions')[0]?.exemplars).toEqual([
      expect.objectContaining({ spanId: spanIdOf('a', span('c2')), asInt: '1' }),
    ]);
    expect(pointsIn(bytes, 'gen_ai.execute_tool.duration')[0]?.exemplars).toBeUndefined();
  });

  test('that arrived after the encoding are kept for the next request', () => {
    const state = noMetrics();
    addTo(state, resource, [took('c1', 1, START_MS)], START_MS, adding);
    const encoded = encodeMetrics(state, START_MS + 10, 'cumulative');
    addTo(state, resource, [took('c2', 3, START_MS + 5)], START_MS, adding);
    const settled = settleMetrics(state, encoded?.settled ?? noMetrics());
    expect(seriesOf(settled)[0]?.exemplar?.spanId).toBe(spanIdOf('a', span('c2')));
  });
});

describe('the number of series', () => {
  test('stays below the limit for any number of names, and counts further names under other', () => {
    const state = noMetrics();
    let total = 0;
    for (let i = 0; i < 8_000; i += 1) {
      const about = { [development.providerName]: `p${i % 90}`, [development.requestModel]: `m${i % 700}` };
      total += 1;
      const increments: Increment[] = [
        { metric: 'inputTokens', attributes: about, value: 1 },
        { metric: 'inputTokensEach', attributes: about, value: 1 },
        { metric: 'inferenceDuration', attributes: about, value: 1 },
        { metric: 'toolDuration', attributes: { [development.toolName]: `t${i % 300}` }, value: 1 },
        { metric: 'agentDuration', attributes: { [development.agentName]: `a${i % 80}` }, value: 1 },
        { metric: 'prompts', attributes: { [development.sessionId]: `s${i}` }, value: 1 },
      ];
      addTo(state, resource, increments, START_MS);
    }
    expect(inPrometheus(state)).toBeLessThanOrEqual(MOST_SERIES);
    for (const metric of ['inputTokens', 'toolDuration', 'prompts']) {
      const all = seriesOf(state).filter(each => each.metric === metric);
      expect(all.reduce((sum, each) => sum + each.now.count, 0)).toBe(total);
      expect(all.some(each => Object.values(each.attributes).includes('other'))).toBe(true);
    }
    const overflow = seriesOf(state).filter(each => each.metric === 'pipelineOverflow');
    expect(overflow.map(each => each.attributes[ours.pipelineReason]).sort()).toContain('series');
    expect(overflow.every(each => each.now.sum > 0)).toBe(true);
  });

  test.each(agents.map(({ id }) => id))('holds for all that %s can do, in both modes, on six models', id => {
    const agent = agents.find(each => each.id === id);
    const state = noMetrics();
    const common = { startMs: 0, endMs: 1_000, duration: 'native', actor: { type: 'ai_agent' } };
    const counted = (span: object, mode: string): void => {
      const finished = { ...common, mode, ...span } as never;
      const known = { knownSubagent: (kind: string) => agent?.subagents?.includes(kind) ?? false };
      addTo(
        state,
        resource,
        incrementsOf([], [finished], id, () => true, known),
        START_MS,
      );
    };
    const kinds = [undefined, ...(agent?.subagents ?? []), 'own'];
    for (const mode of ['agent', 'plan']) {
      for (const model of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const usage = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, pricedUsd: 1 };
        for (const errorType of [undefined, '529']) counted({ kind: 'chat', model, errorType, ...usage }, mode);
      }
      for (const kind of kinds) {
        for (const errorType of [undefined, 'interrupted', 'abandoned']) {
          const about = { actions: 1, usage: { calls: 1 }, agent: kind, errorType };
          counted({ kind: kind === undefined ? 'turn' : 'subagent', ...about }, mode);
        }
        for (const [tool, name] of Object.entries(agent?.actions ?? {})) {
          for (const errorType of [undefined, 'tool_error', 'interrupted']) {
            const decision = { outcome: 'allow', source: 'user', basis: 'observed' };
            const about = { subagent: kind, agent: kind, waitMs: 1, risk: { score: 1, level: 'low' }, decision };
            counted({ kind: 'action', tool, name, errorType, ...about }, mode);
          }
        }
      }
    }
    expect(inPrometheus(state)).toBeLessThanOrEqual(MOST_SERIES);
  });

  test('continues to count from the stored state', () => {
    const state = noMetrics();
    const many = Array.from({ length: 60 }, (_, i): Increment => {
      return { metric: 'inputTokens', attributes: { [development.requestModel]: `m${i}` }, value: 1 };
    });
    addTo(state, resource, many, START_MS);
    const readBack = JSON.parse(JSON.stringify(state)) as MetricState;
    addTo(
      readBack,
      resource,
      [{ metric: 'inputTokens', attributes: { [development.requestModel]: 'new' }, value: 1 }],
      1,
    );
    expect(seriesOf(readBack).map(each => each.attributes[development.requestModel])).not.toContain('new');
  });
});

const session = { session_id: 's-1', transcript_path: '/home/dev/.claude/projects/x/s-1.jsonl', cwd: '/x' };
const points = () => {
  const hooks = [
    { hook_event_name: 'SessionStart', source: 'startup' },
    {
      ...{ hook_event_name: 'PreToolUse', tool_name: 'mcp__tracker__find', tool_use_id: 'c', tool_input: {} },
      permission_mode: 'plan',
    },
    {
      hook_event_name: 'PostToolUse',
      tool_name: 'mcp__tracker__find',
      tool_use_id: 'c',
      tool_input: {},
      duration_ms: 5,
    },
    { hook_event_name: 'SessionEnd', reason: 'other' },
  ];
  return play(hooks.map((payload, i) => ({ atMs: START_MS + i * 1000, payload: { ...session, ...payload } })));
};
const attributesWith = (wide: Widening, metric: string) => {
  const { events, spans } = points();
  return incrementsOf(events, spans, 'claude-code', () => false, { session: 's-1', ...wide })
    .filter(each => each.metric === metric)
    .map(each => each.attributes);
};

test('metrics have attributes of closed sets, and configured others', () => {
  const closed = {
    [ours.actionName]: 'mcp',
    [development.toolName]: 'mcp',
    [development.toolType]: 'extension',
    [development.agentName]: 'claude-code',
  };
  expect(attributesWith({}, 'toolDuration')).toEqual([closed]);
  expect(attributesWith({ include: ['session.id'] }, 'toolDuration')).toEqual([{ ...closed, 'session.id': 's-1' }]);
  expect(attributesWith({ include: ['gen_ai.tool.name', 'agent_hooks.mcp.server'] }, 'toolDuration')).toEqual([
    { ...closed, [development.toolName]: 'find', [ours.mcpServer]: 'tracker' },
  ]);
  expect(attributesWith({ include: ['agent_hooks.agent.mode'] }, 'toolDuration')).toEqual([
    { ...closed, [ours.agentMode]: 'plan' },
  ]);
});

test('the mode is on all metrics except histograms by tool, the actor on counters of actions of actors', () => {
  const { events, spans } = points();
  const all = incrementsOf(events, spans, 'claude-code', () => false);
  const [turn] = incrementsOf(
    [],
    [
      {
        kind: 'turn',
        startMs: 0,
        endMs: 1,
        actions: 0,
        usage: { calls: 0 },
        mode: 'plan',
        actor: { type: 'user' },
      } as never,
    ],
    'claude-code',
    () => false,
  );
  expect(turn).toMatchObject({ metric: 'agentDuration', attributes: { [ours.agentMode]: 'plan' } });
  expect(turn?.attributes).not.toHaveProperty([ours.actorType]);
  const started = all.find(({ metric }) => metric === 'sessionsStarted');
  expect(started?.attributes).toHaveProperty([ours.actorType]);
});

test('a kind of subagent that comes with the agent has its name, another is custom', () => {
  const of = (agent: string) =>
    ({ kind: 'subagent', startMs: 0, endMs: 1, actions: 1, usage: { calls: 1 }, agent }) as never;
  const knownSubagent = (kind: string) => kind === 'Explore';
  const named = (kind: string) =>
    incrementsOf([], [of(kind)], 'claude-code', () => true, { knownSubagent }).map(
      ({ attributes }) => attributes[development.agentName],
    );
  expect(new Set(named('Explore'))).toEqual(new Set(['Explore']));
  expect(new Set(named('the-customers-own'))).toEqual(new Set(['custom']));
});

test('an error keeps the class that its sender states, if it is one word or the status of a server', () => {
  const kindOn = (kind: string, errorType: string) =>
    incrementsOf(
      [],
      [{ kind, startMs: 0, endMs: 1, duration: 'native', model: 'm', usage: {}, actions: 0, errorType } as never],
      'a',
      () => true,
    ).flatMap(({ attributes }) => attributes['error.type'] ?? [])[0];
  const names = ['timeout', '429', '529', '200', 'rate_limit', 'AuthError', 'see /tmp/x'];
  const stated = ['rate_limit', 'AuthError'];
  expect(names.map(type => kindOn('turn', type))).toEqual(['timeout', '429', '529', '_OTHER', ...stated, '_OTHER']);
  const other = 'model_error';
  expect(names.map(type => kindOn('chat', type))).toEqual(['timeout', '429', '529', other, ...stated, other]);
});

test('every event is counted by its fate', () => {
  const { events } = points();
  const accepted = incrementsOf(events, [], 'claude-code', () => false).filter(
    each => each.metric === 'pipelineEvents',
  );
  expect(accepted.map(({ attributes }) => attributes[ours.pipelineResult])).toEqual(accepted.map(() => 'accepted'));
  const ledger = emptyLedger();
  ledger.fragments.dropped.duplicate = 3;
  ledger.fragments.dropped['over-age'] = 4;
  ledger.fragments.dropped['over-files'] = 1;
  ledger.counters['quarantined.not-json'] = 2;
  ledger.counters['bad-events.invalid-event'] = 5;
  const others = lossesOf(ledger, 'd').filter(each => each.metric === 'pipelineEvents');
  expect(
    others.map(({ attributes, value }) => [attributes[ours.eventType], attributes[ours.pipelineResult], value]),
  ).toEqual([
    ['other', 'duplicate', 3],
    ['other', 'invalid', 7],
    ['other', 'dropped', 5],
  ]);
  // A destination that takes over metrics gets these values from the accounts.
  const [from, to] = [noMetrics(), noMetrics()];
  addTo(from, resource, [...accepted, ...others], START_MS);
  handOver(from, to, START_MS);
  expect(new Set(seriesOf(to).map(({ attributes }) => attributes[ours.pipelineResult]))).toEqual(new Set(['accepted']));
});

test('the semconv setting decides under which names tokens and lengths of requests are counted', () => {
  const chat = {
    kind: 'chat',
    startMs: 0,
    endMs: 2_000,
    duration: 'native',
    model: 'm',
    input: 10,
    output: 0,
  } as never;
  const ids = (semconv: Widening['semconv']) =>
    incrementsOf([], [chat], 'a', () => true, { semconv }).map(each => each.metric);
  const newest = ['inputTokens', 'inputTokensEach', 'outputTokensEach', 'inferenceDuration'];
  const old = ['tokenUsage', 'tokenUsage', 'operationDuration'];
  expect(ids(undefined)).toEqual(newest);
  expect(ids('v1.36')).toEqual(old);
  expect(ids('both')).toEqual([...newest, ...old]);
  const [first] = incrementsOf([], [chat], 'a', () => true, { semconv: 'v1.36', provider: 'anthropic' });
  expect(first?.attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'anthropic',
    'gen_ai.request.model': 'm',
    'gen_ai.token.type': 'input',
  });
});

test.each(['cumulative', 'delta'] as const)(
  'a gauge (%s) is sent once for each measurement, without a zero',
  temporality => {
    const state = noMetrics();
    const stated = (value: number): Increment => ({
      metric: 'limitUsed',
      attributes: { [ours.limitWindow]: 'five_hour' },
      value,
    });
    const { name } = metrics.limitUsed;
    const sentAt = (current: MetricState, ms: number): { values: (number | undefined)[]; next: MetricState } => {
      const encoded = encodeMetrics(current, ms, temporality);
      const values = (encoded?.bodies ?? []).flatMap(({ bytes }) =>
        pointsIn(bytes, name).map(({ asDouble }) => asDouble),
      );
      return { values, next: encoded === undefined ? current : settleMetrics(current, encoded.settled) };
    };
    addTo(state, resource, [stated(0.4), stated(0.92)], 1_000);
    const first = sentAt(state, 2_000);
    expect(first.values).toEqual([0.92]);
    // Another series changes an hour later: the old measurement is not repeated as if it were new.
    addTo(first.next, resource, [{ metric: 'prompts', attributes: {}, value: 1 }], 3_600_000);
    const second = sentAt(first.next, 3_601_000);
    expect(second.values).toEqual([]);
    addTo(second.next, resource, [stated(0.1)], 3_700_000);
    const third = sentAt(second.next, 3_701_000);
    expect(third.values).toEqual([0.1]);
    // A measurement that equals the one before it is news as well.
    addTo(third.next, resource, [stated(0.1)], 3_800_000);
    const other = noMetrics();
    handOver(third.next, other, 3_900_000);
    expect(sentAt(other, 3_901_000).values).toEqual([0.1]);
  },
);

test('a gauge keeps the newest measurement, in any order of the sessions', () => {
  const measured = (value: number, measuredMs: number): Increment => ({
    metric: 'limitUsed',
    attributes: { [ours.limitWindow]: 'five_hour' },
    value,
    measuredMs,
  });
  const stateOf = (...rounds: [nowMs: number, ...measurements: Increment[]][]) => {
    const state = noMetrics();
    for (const [nowMs, ...measurements] of rounds) addTo(state, resource, measurements, nowMs);
    return state;
  };
  const sent = (state: MetricState): (number | undefined)[] =>
    (encodeMetrics(state, 9_000, 'cumulative')?.bodies ?? []).flatMap(({ bytes }) =>
      pointsIn(bytes, metrics.limitUsed.name).map(({ asDouble }) => asDouble),
    );
  expect(sent(stateOf([5_000, measured(0.9, 4_000)], [5_000, measured(0.2, 3_000)]))).toEqual([0.9]);
  expect(sent(stateOf([5_000, measured(0.9, 4_000), measured(0.2, 3_000)]))).toEqual([0.9]);
  // Of two measurements of one moment, the later one counts.
  expect(sent(stateOf([5_000, measured(0.9, 4_000), measured(0.2, 4_000)]))).toEqual([0.2]);

  const newer = stateOf([5_000, measured(0.9, 4_000)]);
  const known = encodeMetrics(newer, 6_000, 'cumulative')?.settled ?? newer;
  addTo(known, resource, [measured(0.2, 3_000)], 7_000);
  expect(sent(known), 'an older measurement is not sent after a newer one').toEqual([]);

  const joined = stateOf([5_000, measured(0.9, 4_000)]);
  handOver(stateOf([5_000, measured(0.2, 3_000)]), joined, 6_000);
  expect(sent(joined), 'also when the states of two endpoints are joined').toEqual([0.9]);

  // The time of an event may be wrong: one from the future must not stop the gauge.
  expect(sent(stateOf([5_000, measured(0.9, 9e12)], [6_000, measured(0.2, 6_000)]))).toEqual([0.2]);
  // The clock of the machine was set back.
  expect(sent(stateOf([8_000, measured(0.9, 8_000)], [6_000, measured(0.2, 6_000)]))).toEqual([0.2]);
});

test('limits, context and cost of a running session become gauges', () => {
  const status = (percent: number, usd: number) => ({
    atMs: START_MS,
    payload: {
      session_id: 's',
      model: { id: 'claude-sonnet-5' },
      cost: { total_cost_usd: usd },
      context_window: { used_percentage: percent, context_window_size: 200_000 },
      rate_limits: { five_hour: { used_percentage: 92, resets_at: 1_772_445_600 } },
    },
  });
  const { events, spans } = play([status(61, 0.42)]);
  const gauges = incrementsOf(events, spans, 'claude-code', () => true).filter(
    ({ metric }) => (metrics[metric] as MetricName).isGauge,
  );
  expect(gauges.map(({ metric, attributes, value }) => [metric, attributes, value])).toEqual([
    ['sessionContext', { [development.requestModel]: 'claude-sonnet-5' }, 0.61],
    ['sessionCost', { [development.requestModel]: 'claude-sonnet-5' }, 0.42],
    ['limitUsed', { [ours.limitWindow]: 'five_hour' }, 0.92],
    ['limitReset', { [ours.limitWindow]: 'five_hour' }, 1_772_445_600],
  ]);
  expect(new Set(gauges.map(({ measuredMs }) => measuredMs))).toEqual(new Set([START_MS]));
});
