/** One finished span of each kind and one event of each type with everything filled: what can leave is read off them. */
import type {
  ActionSpan,
  ChatSpan,
  FinishedSpan,
  PlanSpan,
  SessionSpan,
  SubagentSpan,
  Sums,
  TurnSpan,
} from '../../src/assemble/finished.ts';
import { type Event, type EventType, FACTS, type Facts, SPEC_VERSION } from '../../src/event/event.ts';

export const agent = 'AGENT';
export const session = 'SESSION';

type Filled<T> = { [K in keyof T]-?: Exclude<T[K], undefined> };

const key = (kind: FinishedSpan['kind']) => ({ kind, session, parts: ['1'] });
const common = {
  trace: { agent, session, segment: 0 },
  startMs: 0,
  endMs: 1_000,
  duration: 'arrival' as const,
  clamped: false,
  links: [],
  errorType: 'timeout',
  mode: 'agent',
  risk: { score: 1, level: 'low' as const, factors: ['x'] },
  closedBy: 'e',
};
const decision = { outcome: 'deny' as const, source: 'user' as const, basis: 'observed' as const };

const usage: Filled<Sums> = {
  calls: 1,
  input: 1,
  output: 1,
  cacheRead: 1,
  cacheWrite: 1,
  reasoning: 1,
  costUsd: 1,
  pricedUsd: 1,
  unpricedTokens: 1,
};

const sessionSpan: Filled<SessionSpan> = {
  ...common,
  kind: 'session',
  key: key('session'),
  parent: key('session'),
  startReason: 'new',
  repository: { url: 'u', name: 'n', owner: 'o', provider: 'p', branch: 'b', revision: 'r' },
  commits: ['c'],
  endReason: 'exit',
  turns: 1,
  actions: 1,
  subagents: 1,
  denied: 1,
  failed: 1,
  loops: 1,
  budget: 'warning',
  usage,
  complete: false,
  stated: { usage, model: 'MODEL', provider: 'PROVIDER' },
};
const turnSpan: Filled<TurnSpan> = {
  ...common,
  kind: 'turn',
  key: key('turn'),
  parent: key('session'),
  outcome: 'failed',
  turn: 't',
  ordinal: 1,
  prompts: 1,
  promptLength: 1,
  content: { prompt: 'p', response: 'r' },
  actions: 1,
  denied: 1,
  failed: 1,
  waitMs: 1,
  retries: 1,
  loop: 'aborted',
  budget: 'warning',
  decision,
  usage,
  complete: false,
};
const planSpan: Filled<PlanSpan> = {
  ...common,
  kind: 'plan',
  key: key('plan'),
  parent: key('turn'),
  subagent: 'SUBAGENT',
  agent: 'AGENT',
  type: 'plan',
  steps: 1,
};
const subagentSpan: Filled<SubagentSpan> = {
  ...common,
  kind: 'subagent',
  key: key('subagent'),
  parent: key('action'),
  id: 'SUBAGENT',
  agent: 'KIND',
  ordinal: 1,
  outcome: 'completed',
  actions: 1,
  launchedBy: 'c',
  usage,
  complete: false,
};
const actionSpan: Filled<ActionSpan> = {
  ...common,
  kind: 'action',
  key: key('action'),
  parent: key('turn'),
  call: 'c',
  subagent: 'SUBAGENT',
  agent: 'KIND',
  name: 'shell',
  tool: 'TOOL',
  mcpServer: 'SERVER',
  outcome: 'failure',
  decision,
  askedMs: 1,
  waitMs: 1,
  attempt: 2,
  exitCode: 1,
  executable: 'git',
  content: { input: {}, output: 'o', path: 'p', command: 'c' },
  traceRecord: 't',
};

const chatSpan: Filled<ChatSpan> = {
  ...common,
  kind: 'chat',
  key: key('chat'),
  parent: key('turn'),
  subagent: 'SUBAGENT',
  agent: 'KIND',
  model: 'MODEL',
  provider: 'PROVIDER',
  response: 'RESPONSE',
  request: 'REQUEST',
  finish: 'end_turn',
  input: 1,
  output: 1,
  cacheRead: 1,
  cacheWrite: 1,
  cacheWrite1h: 1,
  reasoning: 1,
  costUsd: 1,
  pricedUsd: 1,
  prices: 'genai-prices 0.1.8',
  unpricedTokens: 1,
  retries: 1,
  compacted: true,
  sum: 'turn',
};

export const spans: { [K in FinishedSpan['kind']]: Extract<FinishedSpan, { kind: K }> } = {
  session: sessionSpan,
  turn: turnSpan,
  plan: planSpan,
  subagent: subagentSpan,
  action: actionSpan,
  chat: chatSpan,
};

const call = { model_id: 'm', input_tokens: 1, output_tokens: 1, latency_ms: 1, retry_count: 1 };
const result = { success: true, exit_code: 0, error_message: 'm', output: 'o' };
const action = { name: 'shell', input: { a: 1 }, result };
const policy = { policy_name: 'p', rule: 'r', reason: 'r', override_by: 'o', action };
const loop = { iteration_count: 1, action_name: 'shell', tokens_consumed: 1, elapsed_ms: 1 };
const ends = { end_reason: 'exit', usage: {} };
const plan = { plan_type: 'plan', step_count: 1 };
const decided = { outcome: 'deny', reason: 'r' };

const data: Record<EventType, object> = {
  'Session.Start': { start_reason: 'new' },
  'Session.End': ends,
  'Session.Abort': ends,
  'Prompt.Submitted': { prompt: 'p', prompt_hash: 'h', prompt_length: 1, is_followup: true, decision: decided },
  'Agent.Plan.Start': plan,
  'Agent.Plan.End': plan,
  'Agent.Decision': { decision: decided, action_name: 'shell' },
  'Agent.Response': { response: 'r', response_hash: 'h', response_length: 1, final: true },
  'Model.Requested': call,
  'Model.Responded': call,
  'Model.Failed': { ...call, error_type: 'e', error_message: 'm' },
  'Action.Before': { action, decision: decided },
  'Action.After': { action, decision: decided },
  'Retry.Triggered': { attempt: 1, action_name: 'shell', reason: 'r' },
  'Retry.Loop.Detected': loop,
  'Retry.Loop.Aborted': loop,
  'Context.UntilCompaction': { tokens_used: 1, tokens_limit: 2, percentage_used: 50, tokens_remaining: 1 },
  'Context.Compaction': { trigger: 'auto', tokens_before: 2, tokens_after: 1, tokens_removed: 1, strategy: 's' },
  'Policy.Violation': policy,
  'Policy.Blocked': policy,
  'Policy.Override': policy,
  'Agent.Notification': { type: 'IdleTimeout', message: 'm' },
  'Agent.Error': { error_type: 'ModelError', error_message: 'm', origin_event: 'Model.Failed' },
};

const sized = { length: 1, hash: 'h' };

const facts: Filled<Facts> = {
  v: 1,
  seq: 1,
  time: 'arrival',
  native: 'NATIVE',
  root: session,
  turn: 't',
  call: 'c',
  over: [],
  tool: 'TOOL',
  mcp: { server: 'SERVER' },
  agent: 'KIND',
  launches: {},
  duration_ms: 1,
  error_type: 'timeout',
  exit_code: 1,
  executable: 'git',
  interrupted: false,
  decision: { source: 'user', basis: 'observed' },
  phase: 'before',
  path: 'p',
  command: 'c',
  cwd: 'd',
  content: { input: sized, output: sized, path: sized, command: sized },
  budget: { of: 'session', unit: 'tokens', state: 'warning', used: 1, limit: 1 },
  model: 'm',
  provider: 'p',
  usage: { cache_read_tokens: 1, cache_write_tokens: 1, cache_write_1h_tokens: 1, reasoning_tokens: 1 },
  totals: {
    input_tokens: 1,
    output_tokens: 1,
    cache_read_tokens: 1,
    cache_write_tokens: 1,
    cache_write_1h_tokens: 1,
    reasoning_tokens: 1,
  },
  finish: 'end_turn',
  response: 'RESPONSE',
  request: 'REQUEST',
  cost_usd: 1,
  cost: { usd: 1, prices: 'genai-prices 0.1.8' },
  sum: 'turn',
  started_ms: 1,
  launched_by: 'c',
  permission_mode: 'default',
  trace_record: 't',
  traceparent: '',
  fields: [],
};

/** As a subagent's event: it has every field of the envelope. */
export function eventOf(type: string, of: object = data[type as EventType] ?? {}, root = false): Event {
  return {
    spec_version: SPEC_VERSION,
    event_id: '00000000-0000-8000-8000-000000000000',
    event_type: type,
    timestamp: '2026-01-01T00:00:00.000Z',
    source: { tool: agent },
    session_id: root ? session : 'SUBAGENT',
    parent_session_id: root ? undefined : session,
    user: { id: 'hmac-sha256:0' },
    actor: { type: 'ai_agent' },
    agent_mode: 'agent',
    risk: common.risk,
    data: of,
    metadata: { [FACTS]: facts },
  } as Event;
}
