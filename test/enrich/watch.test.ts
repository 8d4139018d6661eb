/** Each rule of docs/loops-and-budgets.md: the events of a session in short form go in, new events come out. */
import { expect, test } from 'vitest';
import { noteLoopsAndBudgets, noWatch, type WatchSettings } from '../../src/enrich/watch.ts';
import { type Event, FACTS, type Facts, SPEC_VERSION } from '../../src/event/event.ts';
import { usualLoops } from '../../src/event/loop-limits.ts';

interface Step {
  type: Event['event_type'];
  atS?: number;
  data?: object;
  facts?: Partial<Facts>;
  session?: string;
  input?: string;
  result?: string;
}

const START_MS = Date.parse('2026-03-02T09:00:00.000Z');

/** The new events, each with the number of the step that caused it. */
function notesOf(steps: readonly Step[], settings: WatchSettings = { loops: usualLoops }): string[] {
  let memory = noWatch();
  return steps.flatMap(({ type, atS, data = {}, facts, session = 's', input, result }, i) => {
    const event = {
      spec_version: SPEC_VERSION,
      event_id: `e${i}`,
      event_type: type,
      timestamp: new Date(START_MS + (atS ?? i) * 1_000).toISOString(),
      source: { tool: 'a' },
      session_id: session,
      parent_session_id: session === 's' ? undefined : 's',
      data,
      metadata: { [FACTS]: { v: 1, seq: i, time: 'arrival', ...facts } },
    } as Event;
    // The state is stored as JSON between two rounds.
    memory = JSON.parse(JSON.stringify(memory)) as typeof memory;
    return noteLoopsAndBudgets(memory, event, { input, result }, settings).map(({ body, risk, facts: more }) => {
      const level = risk?.level === undefined ? '' : ` ${risk.level} ${risk.factors?.join()}`;
      const budget = more?.budget === undefined ? '' : ` ${more.budget.used}/${more.budget.limit}`;
      return `${i} ${body.event_type} ${JSON.stringify(body.data)}${budget}${level}`;
    });
  });
}

/** A call from start to end. */
const call = (
  input: string,
  end: 'ok' | 'failed' | 'denied' | 'interrupted',
  result?: string,
  session?: string,
): Step[] => {
  const id = `${input} ${Math.random()}`;
  const ends = {
    ok: { action: { name: 'shell', result: { success: true } } },
    failed: { action: { name: 'shell', result: { success: false, exit_code: 1 } } },
    denied: { action: { name: 'shell' }, decision: { outcome: 'deny' } },
    interrupted: { action: { name: 'shell', result: { success: false } } },
  };
  const facts = { call: id, tool: 'Bash', interrupted: end === 'interrupted' || undefined };
  return [
    { type: 'Action.Before', data: { action: { name: 'shell' } }, facts, input, session },
    { type: 'Action.After', data: ends[end], facts, result, session },
  ] as Step[];
};
const responded = (tokens: number, more: Partial<Facts> = {}, session?: string): Step => ({
  type: 'Model.Responded',
  data: { model_id: 'm', input_tokens: tokens, output_tokens: 0 },
  facts: more,
  ...(session === undefined ? {} : { session }),
});

test('an action that failed and is repeated is a retry; after a success it is not', () => {
  expect(notesOf([...call('test', 'failed'), ...call('test', 'ok'), ...call('test', 'ok')])).toEqual([
    '2 Retry.Triggered {"attempt":2,"action_name":"shell","reason":"failed"}',
  ]);
});

/** All orders of the steps of two calls in which each call keeps its own order. */
const mixed = ([one, ...ones]: Step[], [two, ...twos]: Step[]): Step[][] =>
  one === undefined || two === undefined
    ? [[one, ...ones, two, ...twos].flatMap(step => step ?? [])]
    : [
        ...mixed(ones, [two, ...twos]).map(rest => [one, ...rest]),
        ...mixed([one, ...ones], twos).map(rest => [two, ...rest]),
      ];

test.each([
  [0, 0],
  [0, 30],
  [0, 500],
  [500, 0],
])('two equal parallel calls give the same result in each order of their hooks (%i, %i ms)', (one, two) => {
  const at = (ms: number, steps: Step[]): Step[] =>
    steps.map((step, i) => ({ ...step, atS: 10 + (ms + i * 40) / 1_000 }));
  const before = call('test', 'failed', 'a').map((step, i) => ({ ...step, atS: i }));
  const after = call('test', 'ok').map((step, i) => ({ ...step, atS: 20 + i }));
  const [former, latter] = [at(one, call('test', 'failed', 'b')), at(two, call('test', 'failed', 'b'))];
  const isApart = Math.abs(two - one) > 40;
  const [sooner, later] = one < two ? [former, latter] : [latter, former];
  const orders = mixed(former, latter).filter(
    order => !isApart || [0, 1].every(i => order.indexOf(sooner[i] as Step) < order.indexOf(later[i] as Step)),
  );
  const tellings = orders.map(order =>
    notesOf([...before, ...order, ...after])
      .map(line => line.replace(/^\d+ /, ''))
      .sort(),
  );
  expect(orders).toHaveLength(isApart ? 2 : 6);
  expect(new Set(tellings.map(lines => lines.join('\n'))).size).toBe(1);
});

test('a denied action that is repeated is a retry', () => {
  expect(notesOf([...call('push', 'denied'), ...call('push', 'denied')])).toEqual([
    '2 Retry.Triggered {"attempt":2,"action_name":"shell","reason":"denied"}',
  ]);
});

test('the third equal failure is a loop, reported once', () => {
  const three = ['one', 'two', 'three', 'four'].flatMap(() => call('test', 'failed', 'off by a cent'));
  expect(notesOf(three).filter(line => line.includes('Loop'))).toEqual([
    '5 Retry.Loop.Detected {"iteration_count":3,"action_name":"shell","elapsed_ms":4000} high RETRY_LOOP',
  ]);
});

test('a loop reports the tokens of the responses that are known so far', () => {
  const one = () => [...call('test', 'failed', 'x'), responded(1_000)];
  expect(notesOf([...one(), ...one(), ...one()]).filter(line => line.includes('Loop'))).toEqual([
    '7 Retry.Loop.Detected {"iteration_count":3,"action_name":"shell","tokens_consumed":2000,"elapsed_ms":6000} high RETRY_LOOP',
  ]);
});

test('another error message is another failure', () => {
  const steps = ['a', 'b', 'a', 'b', 'c', 'd'].flatMap(words => call('test', 'failed', words));
  expect(notesOf(steps).filter(line => line.includes('Loop'))).toEqual([]);
});

test('a failure without a message is identified by its exit code', () => {
  const steps = [1, 2, 3].flatMap(() => call('test', 'failed'));
  expect(notesOf(steps).filter(line => line.includes('Loop'))).toHaveLength(1);
});

test('other actions in between do not hide a loop', () => {
  const steps = [1, 2, 3].flatMap(edit => [...call('test', 'failed', 'x'), ...call(`edit ${edit}`, 'ok', 'done')]);
  expect(notesOf(steps).filter(line => line.includes('Loop'))).toHaveLength(1);
});

test('two actions that alternate without progress are one loop', () => {
  const steps = [1, 2, 3, 4].flatMap(() => [...call('a', 'failed', 'x'), ...call('b', 'failed', 'y')]);
  expect(notesOf(steps).filter(line => line.includes('Loop'))).toHaveLength(1);
});

test('actions of a subagent and of its parent are not one loop', () => {
  const steps = [
    ...call('test', 'failed', 'x'),
    ...call('test', 'failed', 'x', 'child'),
    ...call('test', 'failed', 'x'),
  ];
  expect(notesOf(steps).filter(line => line.includes('Loop'))).toEqual([]);
});

test('five equal successes are a loop; with unknown outputs they are not', () => {
  const same = [1, 2, 3, 4, 5].flatMap(() => call('status', 'ok', 'nothing new'));
  expect(notesOf(same)).toEqual([
    '9 Retry.Loop.Detected {"iteration_count":5,"action_name":"shell","elapsed_ms":8000} medium RETRY_LOOP',
  ]);
  const unknown = [1, 2, 3, 4, 5, 6].flatMap(() => call('status', 'ok'));
  expect(notesOf(unknown)).toEqual([]);
  const changing = [1, 2, 3, 4, 5, 6].flatMap(i => call('status', 'ok', `job ${i}`));
  expect(notesOf(changing)).toEqual([]);
});

test('equal failures a long time apart are not a loop', () => {
  const steps = [0, 1, 2].flatMap(i => call('test', 'failed', 'x').map(step => ({ ...step, atS: i * 1_000 })));
  expect(notesOf(steps)).toEqual([]);
});

test('a denial, or an interruption of the call or the turn, aborts a loop', () => {
  const loop = [1, 2, 3].flatMap(() => call('test', 'failed', 'x'));
  const stopped = [
    call('test', 'denied'),
    call('test', 'interrupted'),
    [{ type: 'Agent.Response', data: { final: true }, facts: { interrupted: true } } as Step],
  ];
  for (const stop of stopped) {
    const lines = notesOf([...loop, ...stop, ...stop]).filter(line => line.includes('Aborted'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/"iteration_count":3,"action_name":"shell","elapsed_ms":\d+} high RETRY_LOOP$/);
  }
});

test('a loop that ends without an intervention is not aborted', () => {
  const steps = [
    ...[1, 2, 3].flatMap(() => call('test', 'failed', 'x')),
    ...call('test', 'ok', 'y'),
    ...call('z', 'interrupted'),
  ];
  expect(notesOf(steps).filter(line => line.includes('Aborted'))).toEqual([]);
});

test('compactions that free next to nothing are a loop', () => {
  const compaction = (before: number, after: number): Step => ({
    type: 'Context.Compaction',
    data: { tokens_before: before, tokens_after: after },
  });
  expect(notesOf([compaction(100, 95), compaction(100, 91), compaction(100, 20), compaction(100, 95)])).toEqual([]);
  expect(notesOf([compaction(100, 95), compaction(100, 92), compaction(100, 95), compaction(100, 95)])).toEqual([
    '2 Retry.Loop.Detected {"iteration_count":3,"action_name":"compaction"} medium RETRY_LOOP',
  ]);
});

test('two actions that alternate four times, each with one result, are a loop, reported once', () => {
  const steps = [1, 2, 3, 4].flatMap(() => [...call('a', 'ok', 'same'), ...call('b', 'ok', 'as before')]);
  const lines = [
    '15 Retry.Loop.Detected {"iteration_count":4,"action_name":"shell","elapsed_ms":14000} medium RETRY_LOOP',
  ];
  expect(notesOf(steps)).toEqual(lines);
  expect(notesOf([...steps, ...steps])).toEqual(lines);
});

test('no alternation: another result, a third action, unknown outputs, or only three times', () => {
  const pair = (a: string | undefined, b: string | undefined): Step[] => [...call('a', 'ok', a), ...call('b', 'ok', b)];
  const times = (count: number, steps: (i: number) => Step[]): Step[] =>
    Array.from({ length: count }, (_, i) => steps(i)).flat();
  expect(notesOf(times(4, i => pair('same', `line ${i}`)))).toEqual([]);
  expect(notesOf(times(4, () => pair(undefined, 'same')))).toEqual([]);
  expect(notesOf(times(3, () => pair('x', 'y')))).toEqual([]);
  const broken = [...times(2, () => pair('x', 'y')), ...call('c', 'ok', 'z'), ...times(2, () => pair('x', 'y'))];
  expect(notesOf(broken)).toEqual([]);
  expect(
    notesOf(
      times(4, () => pair('x', 'y')),
      { loops: { ...usualLoops, unchanged: 0 } },
    ),
  ).toEqual([]);
});

/** The end of an action whose input is unknown. */
const blind = (tool: string, success: boolean): Step => ({
  type: 'Action.After',
  data: { action: { name: tool, result: { success } } },
  facts: { tool },
});

test('three failures of a tool with unknown input are a loop of medium risk, unless another action ends in between', () => {
  const failure = blind('shell', false);
  expect(notesOf([failure, failure, failure, failure])).toEqual([
    '2 Retry.Loop.Detected {"iteration_count":3,"action_name":"shell","elapsed_ms":2000} medium RETRY_LOOP',
  ]);
  expect(notesOf([failure, failure, blind('edit', true), failure])).toEqual([]);
  expect(notesOf([failure, failure, ...call('a', 'ok', 'x'), failure])).toEqual([]);
  expect(notesOf([failure, failure, blind('shell', true), failure])).toEqual([]);
});

test('two tools with unknown input that alternate four times are a loop only if one of them fails', () => {
  const times = (one: Step, two: Step): Step[] => [1, 2, 3, 4].flatMap(() => [one, two]);
  expect(notesOf(times(blind('edit', true), blind('shell', false)))).toEqual([
    '7 Retry.Loop.Detected {"iteration_count":4,"action_name":"shell","elapsed_ms":7000} high RETRY_LOOP',
  ]);
  expect(notesOf(times(blind('edit', true), blind('read', true)))).toEqual([]);
});

test('loops that the agent itself reports are not reported again', () => {
  const loop = [1, 2, 3].flatMap(() => call('test', 'failed', 'x'));
  const own: Step = { type: 'Retry.Loop.Detected', data: { iteration_count: 2 } };
  expect(notesOf([own, ...loop]).filter(line => line.includes('Loop'))).toEqual([]);
});

test('loops can be switched off', () => {
  const loop = [1, 2, 3].flatMap(() => call('test', 'failed', 'x'));
  expect(notesOf(loop, { loops: { ...usualLoops, failing: 0 } }).filter(line => line.includes('Loop'))).toEqual([]);
});

const window = (used: number, limit: number | undefined, facts?: Partial<Facts>): Step => ({
  type: 'Context.UntilCompaction',
  data: { tokens_used: used, tokens_limit: limit },
  ...(facts ? { facts } : {}),
});

test('after the window was reported, each response gives the used share', () => {
  expect(notesOf([responded(500), window(1_000, 8_000, { model: 'm' }), responded(1_000), responded(6_000)])).toEqual([
    '3 Context.UntilCompaction {"tokens_used":6000,"tokens_limit":8000,"percentage_used":75,"tokens_remaining":2000}',
  ]);
});

test('the window is not guessed: without a report, for another model, for a subagent, or if the agent reports the share', () => {
  expect(notesOf([responded(500), responded(600)])).toEqual([]);
  const other = window(1, 8_000, { model: 'other' });
  expect(notesOf([other, responded(500), responded(600)])).toEqual([]);
  expect(notesOf([window(1, 8_000), responded(1), responded(500, {}, 'child')])).toEqual([]);
  expect(notesOf([window(1, 8_000), responded(1), window(1, 8_000), responded(2)])).toEqual([]);
  expect(notesOf([window(1, undefined), responded(1), responded(2)])).toEqual([]);
});

test('a budget of tokens is reported at 70 % and at 80 %, once for the session and once for each turn', () => {
  const prompt = (turn: string): Step => ({ type: 'Prompt.Submitted', facts: { turn } });
  const settings = { budget: { sessionTokens: 1_000, turnTokens: 500 } };
  expect(
    notesOf(
      [prompt('1'), responded(360), responded(60), prompt('2'), responded(300), responded(90), responded(900)],
      settings,
    ),
  ).toEqual([
    '1 Policy.Violation {"policy_name":"budget","rule":"turn_tokens.warning"} 360/500',
    '2 Policy.Violation {"policy_name":"budget","rule":"turn_tokens.exceeded"} 420/500 high COST_ANOMALY',
    '4 Policy.Violation {"policy_name":"budget","rule":"session_tokens.warning"} 720/1000',
    '5 Policy.Violation {"policy_name":"budget","rule":"session_tokens.exceeded"} 810/1000 high COST_ANOMALY',
    '5 Policy.Violation {"policy_name":"budget","rule":"turn_tokens.warning"} 390/500',
    '6 Policy.Violation {"policy_name":"budget","rule":"turn_tokens.exceeded"} 1290/500 high COST_ANOMALY',
  ]);
});

test('a budget of dollars counts the known costs', () => {
  const settings = { budget: { sessionUsd: 1 } };
  expect(
    notesOf([responded(10, { cost_usd: 0.75 }), responded(10), responded(10, { cost_usd: 0.1 })], settings),
  ).toEqual([
    '0 Policy.Violation {"policy_name":"budget","rule":"session_usd.warning"} 0.75/1',
    '2 Policy.Violation {"policy_name":"budget","rule":"session_usd.exceeded"} 0.85/1 high COST_ANOMALY',
  ]);
});

test('a response of at least a dollar that costs ten times as much as the last ones is reported', () => {
  const cost = (usd: number): Step => responded(10, { cost: { usd, prices: 'a list' } });
  const usual = Array.from({ length: 8 }, () => cost(0.1));
  const details = '{"policy_name":"cost","rule":"response.unusual"} medium COST_ANOMALY';
  expect(notesOf([...usual, cost(1)])).toEqual([`8 Policy.Violation ${details}`]);
  expect(notesOf([...usual, cost(0.9)])).toEqual([]);
  expect(notesOf([...usual.slice(1), cost(5)])).toEqual([]);
  expect(notesOf([...usual, responded(10, { cost_usd: 5, sum: 'turn' })])).toEqual([]);
  // A usual cost is no longer reported.
  expect(notesOf([...usual, ...Array.from({ length: 10 }, () => cost(2)), cost(2)])).toHaveLength(8);
});

test('without a budget nothing is reported', () => {
  expect(notesOf([responded(1e12), responded(Number.MAX_VALUE)])).toEqual([]);
});

test('the memory is bounded', () => {
  const memory = noWatch();
  for (let i = 0; i < 2_000; i += 1) {
    for (const step of [...call(`input ${i}`, 'failed', String(i)), responded(1, { turn: `t${i}` })]) {
      const event = {
        event_id: `e${i}`,
        event_type: step.type,
        timestamp: new Date(START_MS).toISOString(),
        session_id: `child ${i}`,
        parent_session_id: 's',
        data: step.data,
        metadata: { [FACTS]: { v: 1, ...step.facts } },
      } as unknown as Event;
      noteLoopsAndBudgets(memory, event, { input: step.input, result: step.result }, { loops: usualLoops });
    }
  }
  expect(JSON.stringify(memory).length).toBeLessThan(20_000);
});

test('a loop ends with its session, and nothing of its actions stays in the state', () => {
  const memory = noWatch();
  const note = (type: Event['event_type'], n: number, session = 's'): number =>
    noteLoopsAndBudgets(
      memory,
      {
        spec_version: SPEC_VERSION,
        event_id: `e${n}`,
        event_type: type,
        timestamp: new Date(START_MS + n * 1_000).toISOString(),
        source: { tool: 'a' },
        session_id: session,
        parent_session_id: session === 's' ? undefined : 's',
        data: { action: { name: 'shell', result: { success: false } } },
        metadata: { [FACTS]: { v: 1, seq: n, time: 'arrival', call: `c${Math.floor(n / 2)}`, tool: 'Bash' } },
      } as Event,
      { input: 'same', result: 'same' },
      { loops: usualLoops },
    ).length;
  for (const n of [0, 2]) {
    note('Action.Before', n);
    note('Action.After', n + 1);
  }
  note('Session.End', 4, 'subagent');
  expect(memory.runs).toHaveLength(1);
  note('Session.End', 5);
  expect(memory).toMatchObject({ runs: [], circling: [] });
  expect([memory.swings, memory.blind]).toEqual([undefined, undefined]);
  note('Session.Start', 6);
  note('Action.Before', 8);
  expect(note('Action.After', 9)).toBe(0);
});
