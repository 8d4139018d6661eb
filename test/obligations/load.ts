/** Sessions of a given size, with their expected result. Everything follows from the seed. */
import type { SpanKey } from '../../src/assemble/finished.ts';
import { spanIdOf, traceIdOf } from '../../src/telemetry/ids.ts';
import { AGENT } from '../wire/house.ts';

export type Random = () => number;

/** mulberry32 */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface HookCall {
  event: string;
  payload: Record<string, unknown> | string;
}

export const textOf = (payload: HookCall['payload']): string =>
  typeof payload === 'string' ? payload : JSON.stringify(payload);

/** Lanes run in parallel, as calls and subagents do; the next phase begins when all lanes have ended. */
export type Phase = HookCall[][];

export interface Expected {
  hooks: number;
  records: number;
  /** Span by id: its parent's id, undefined for a root, and its trace. */
  spans: Map<string, { parent: string | undefined; trace: string }>;
}

export interface Load {
  sessions: Phase[][];
  expected: Expected;
}

const LEAST_SESSIONS = 5;
/** A session of about half as many spans, so that it is not cut into segments. */
const MOST_HOOKS = 3_000;
const LANES = 13;
const SUBAGENT_LANES = 4;

/** Two events in one hook: the answer and the end of the turn; the question to the person, and its text. */
const isTwo = new Set(['SubagentStop', 'PermissionRequest']);

export function loadOf(hooks: number, random: Random, tag: string): Load {
  const expected: Expected = { hooks: 0, records: 0, spans: new Map() };
  const length = Math.max(LEAST_SESSIONS, Math.ceil(hooks / MOST_HOOKS));
  const each = Math.floor(hooks / length);
  const sessions = Array.from({ length }, (_, i) =>
    sessionOf(`${tag}-session-${i}`, i === 0 ? hooks - each * (length - 1) : each, random, expected),
  );
  return { sessions, expected };
}

function sessionOf(session: string, hooks: number, random: Random, expected: Expected): Phase[] {
  const trace = traceIdOf({ agent: AGENT, session, segment: 0 });
  const base = { session_id: session, cwd: '/' };
  const hook = (event: string, ...fields: object[]): HookCall => {
    expected.hooks += 1;
    expected.records += isTwo.has(event) ? 2 : 1;
    return { event, payload: Object.assign({}, base, ...fields, { hook_event_name: event }) };
  };
  const span = (key: Omit<SpanKey, 'session'>, parent: string | undefined, owner = session): string => {
    const id = spanIdOf(AGENT, { ...key, session: owner });
    expected.spans.set(id, { parent, trace });
    return id;
  };
  let calls = 0;
  const root = span({ kind: 'session', parts: ['0'] }, undefined);

  /** One call: two hooks, or three when a person is asked. */
  function call(lane: HookCall[], turn: object, parent: string, left: number, subagent?: string): void {
    calls += 1;
    const id = `${session}-call-${calls}`;
    const fields = { ...turn, tool_use_id: id, tool_name: random() < 0.5 ? 'Bash' : 'Read', tool_input: { n: calls } };
    lane.push(hook('PreToolUse', fields));
    if (left > 2 && random() < 0.1) lane.push(hook('PermissionRequest', fields));
    const fails = random() < 0.1;
    const duration_ms = Math.floor(random() * 20);
    lane.push(
      fails
        ? hook('PostToolUseFailure', fields, { error: 'Exit code 1', duration_ms })
        : hook('PostToolUse', fields, { tool_response: { n: calls }, duration_ms }),
    );
    span({ kind: 'action', parts: [id] }, parent, subagent ?? session);
  }

  const turns = Math.max(1, Math.round(hooks / 500));
  const startedAt = expected.hooks;
  const phases: Phase[] = [[[hook('SessionStart', { source: 'startup' })]]];
  for (let i = 0; i < turns; i += 1) {
    const turn = { prompt_id: `${session}-turn-${i}`, permission_mode: 'default' };
    const parent = span({ kind: 'turn', parts: [turn.prompt_id, '0'] }, root);
    phases.push([[hook('UserPromptSubmit', turn, { prompt: `Number ${i}` })]]);
    // The number of hooks of this turn, without its end and the end of the session.
    const until = startedAt + Math.floor(((hooks - 1) * (i + 1)) / turns) - 1;
    const lanes: Phase = Array.from({ length: LANES }, () => []);
    const closing: (() => void)[] = [];
    const room = (): number => until - expected.hooks - 2 * closing.length;
    const inner: { lane: HookCall[]; turn: object; parent: string; subagent?: string }[] = lanes.map((lane, n) => {
      if (n >= SUBAGENT_LANES || room() < 16) return { lane, turn, parent };
      calls += 1;
      const launch = `${session}-call-${calls}`;
      const agent_id = `${session}-agent-${i}-${n}`;
      const fields = {
        ...turn,
        tool_use_id: launch,
        tool_name: 'Agent',
        tool_input: { subagent_type: `kind-${n}`, prompt: agent_id },
      };
      const own = { ...turn, agent_id, agent_type: `kind-${n}` };
      lane.push(hook('PreToolUse', fields), hook('SubagentStart', own));
      const action = span({ kind: 'action', parts: [launch] }, parent);
      const subagent = span({ kind: 'subagent', parts: [agent_id, '0'] }, action);
      closing.push(() => {
        lane.push(
          hook('SubagentStop', own, { last_assistant_message: 'Done.' }),
          hook('PostToolUse', fields, { tool_response: { agentId: agent_id }, duration_ms: 5 }),
        );
      });
      return { lane, turn: own, parent: subagent, subagent: agent_id };
    });
    while (room() >= 2) {
      const at = inner[Math.floor(random() * inner.length)];
      if (at) call(at.lane, at.turn, at.parent, room(), at.subagent);
    }
    if (room() === 1)
      lanes[LANES - 1]?.push(hook('Notification', turn, { message: 'x', notification_type: 'idle_prompt' }));
    for (const close of closing) close();
    phases.push(
      lanes.filter(lane => lane.length > 0),
      [[hook('Stop', turn, { last_assistant_message: `Done ${i}` })]],
    );
  }
  phases.push([[hook('SessionEnd', { reason: 'other' })]]);
  return phases;
}

/** All hooks in an order that an agent can cause, with sessions and lanes mixed at random. */
export function inSomeOrder({ sessions }: Load, random: Random): HookCall[] {
  const order: HookCall[] = [];
  const left = sessions.map(phases => phases.map(phase => phase.map(lane => [...lane])));
  while (left.some(phases => phases.length > 0)) {
    const phases = left[Math.floor(random() * left.length)];
    const phase = phases?.[0];
    if (phases === undefined || phase === undefined) continue;
    const lanes = phase.filter(lane => lane.length > 0);
    const next = lanes[Math.floor(random() * lanes.length)]?.shift();
    if (next === undefined) phases.shift();
    else order.push(next);
  }
  return order;
}
