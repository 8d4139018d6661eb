/**
 * One finished span of each kind and one event of each type with all fields. The reference derives the data that can be
 * sent, and its form, from these values.
 */
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
import { type Event, type EventType, FACTS, type Facts, limitWindows, SPEC_VERSION } from '../../src/event/event.ts';

/** The options of an action, each with a value. */
const options = {
  timeout_ms: 120_000,
  background: false,
  offset: 40,
  limit: 20,
  output_mode: 'content',
  case_insensitive: true,
  multiline: false,
  replace_all: true,
  edit_mode: 'insert',
  lsp_operation: 'hover',
  agent_model: 'haiku',
};

export const agent = 'claude-code';
export const session = 'a5d1f0c2-4e7b-4f6e-9b1d-2c8e5a7f3b90';
const subagent = 'a7e04c21';
const call = 'toolu_01Hx';
const prompt = '5b0c7d9e-1f3a-4c52-8a66-0e9d4b7f2c11';
const event = '3f9a2b61-07c4-8d15-a2e8-6b1c9d0e4f73';
const hash = 'hmac-sha256:9c1f27ab60d5e834';
const model = 'claude-sonnet-4-5';
const response = 'msg_01XFDU';
const prices = 'genai-prices 0.1.8';
const traceRecord = '550e8400-e29b-41d4-a716-446655440000';

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
  actor: { type: 'ai_agent' as const, id: 'planner-2' },
  metadata: { '*': 'plugin' },
  version: '2.1.143',
  risk: { score: 65, level: 'high' as const, factors: ['DESTRUCTIVE_OP'] },
  closedBy: event,
};
const origin = { source: 'user', basis: 'observed', reason: 'answer', scope: 'session', grant: 'once' } as const;
const decision = { outcome: 'deny' as const, ...origin };

const usage: Filled<Sums> = {
  calls: 12,
  input: 184_210,
  output: 5_120,
  cacheRead: 171_008,
  cacheWrite: 9_216,
  reasoning: 768,
  costUsd: 0.1842,
  pricedUsd: 0.1837,
  unpricedTokens: 2_048,
};

const limits = limitWindows.map(window => ({ window, used: 0.42, resets_at: 1_772_445_600 }));

const sessionSpan: Filled<SessionSpan> = {
  ...common,
  kind: 'session',
  key: key('session'),
  parent: key('session'),
  startReason: 'new',
  previous: '5b0c7d3e-91aa-4c55-8f7e-6f1d2a3b4c5d',
  compactions: [],
  isContinued: true,
  statedCosts: [],
  repository: {
    url: 'https://git.example/acme/shop',
    name: 'shop',
    owner: 'acme',
    provider: 'gitlab',
    branch: 'main',
    revision: '9d59409acf479dfa0df1aa568182e43e43df8bbe',
  },
  commits: ['e21fd6b0c3a9b7d45f60812ce94a7d3b58f0c6a2'],
  endReason: 'exit',
  said: { total_tokens: 1, total_actions: 1, duration_ms: 342_000 },
  turns: 4,
  actions: 31,
  subagents: 2,
  denied: 1,
  failed: 3,
  loops: 1,
  budget: 'warning',
  context: { used: 78_124, limit: 160_000 },
  status: { costUsd: 0.42, limits, model, context: 0.49 },
  agent: 'claude-code',
  usage,
  complete: false,
  stated: { usage, upperUsd: 0.42, prices, model, provider: 'anthropic' },
};
const turnSpan: Filled<TurnSpan> = {
  ...common,
  kind: 'turn',
  key: key('turn'),
  parent: key('session'),
  outcome: 'failed',
  turn: prompt,
  ordinal: 1,
  number: 3,
  prompts: 1,
  promptLength: 48,
  isFollowup: true,
  content: { prompt: 'Why does the test fail?', response: 'The clock is not set.' },
  actions: 9,
  denied: 1,
  failed: 2,
  waitMs: 5_400,
  retries: 2,
  loop: 'aborted',
  budget: 'warning',
  context: { used: 78_124, limit: 160_000 },
  agent: 'claude-code',
  decision,
  usage,
  complete: false,
};
const planSpan: Filled<PlanSpan> = {
  ...common,
  kind: 'plan',
  key: key('plan'),
  parent: key('turn'),
  subagent,
  agent: 'Explore',
  type: 'plan',
  steps: 5,
};
const subagentSpan: Filled<SubagentSpan> = {
  ...common,
  kind: 'subagent',
  key: key('subagent'),
  parent: key('action'),
  id: subagent,
  agent: 'Explore',
  ordinal: 1,
  outcome: 'completed',
  depth: 1,
  actions: 6,
  launchedBy: call,
  usage,
  complete: false,
};
const actionSpan: Filled<ActionSpan> = {
  ...common,
  kind: 'action',
  key: key('action'),
  parent: key('turn'),
  call,
  subagent,
  agent: 'Explore',
  name: 'shell',
  tool: 'Bash',
  mcpServer: 'tracker',
  outcome: 'failure',
  decision,
  askedMs: 1,
  waitMs: 5_400,
  attempt: 2,
  exitCode: 1,
  executable: 'git',
  skill: 'custom',
  options,
  content: {
    input: { command: 'git status' },
    output: 'nothing to commit',
    path: 'src/clock.ts',
    command: 'git status',
    reason: 'not on this branch',
  },
  traceRecord,
};

const chatSpan: Filled<ChatSpan> = {
  ...common,
  kind: 'chat',
  key: key('chat'),
  parent: key('turn'),
  subagent,
  agent: 'Explore',
  model,
  provider: 'anthropic',
  response,
  request: 'req_011CSH',
  finish: 'end_turn',
  input: 15_350,
  output: 426,
  cacheRead: 14_250,
  cacheWrite: 768,
  cacheWrite1h: 512,
  reasoning: 64,
  costUsd: 0.0154,
  pricedUsd: 0.0153,
  prices,
  unpricedTokens: 2_048,
  retries: 1,
  compacted: true,
  sum: 'turn',
  untold: 'compaction',
};

export const spans: { [K in FinishedSpan['kind']]: Extract<FinishedSpan, { kind: K }> } = {
  session: sessionSpan,
  turn: turnSpan,
  plan: planSpan,
  subagent: subagentSpan,
  action: actionSpan,
  chat: chatSpan,
};

const answered = { model_id: model, input_tokens: 15_350, output_tokens: 426, latency_ms: 2_300, retry_count: 1 };
const result = { success: false, exit_code: 1, error_message: 'no such file', output: 'nothing to commit' };
const action = { name: 'shell', input: { command: 'git status' }, result };
const policy = { policy_name: 'budget', rule: 'session_tokens.warning', reason: 'too many', override_by: 'o', action };
const loop = { iteration_count: 3, action_name: 'shell', tokens_consumed: 48_200, elapsed_ms: 61_000 };
const ends = { end_reason: 'exit', usage: { total_tokens: 189_330, total_actions: 31, duration_ms: 342_000 } };
const plan = { plan_type: 'plan', step_count: 5 };
const decided = { outcome: 'deny', reason: 'not on this branch' };

const data: Record<EventType, object> = {
  'Session.Start': { start_reason: 'new' },
  'Session.End': ends,
  'Session.Abort': { end_reason: 'abandoned' },
  'Prompt.Submitted': {
    prompt: 'Why does the test fail?',
    prompt_hash: hash,
    prompt_length: 48,
    is_followup: true,
    decision: decided,
  },
  'Agent.Plan.Start': plan,
  'Agent.Plan.End': plan,
  'Agent.Decision': {
    decision: decided,
    action_name: 'shell',
    decision_type: 'plan',
    selected: 'rewrite',
    options_count: 3,
    confidence: 0.8,
    summary_length: 212,
  },
  'Agent.Response': { response: 'The clock is not set.', response_hash: hash, response_length: 812, final: true },
  'Model.Requested': answered,
  'Model.Responded': answered,
  'Model.Failed': { ...answered, error_type: 'model_error', error_message: 'overloaded' },
  'Action.Before': { action, decision: decided },
  'Action.After': { action, decision: { ...decided, outcome: 'allow' } },
  'Retry.Triggered': { attempt: 2, action_name: 'shell', reason: 'failed' },
  'Retry.Loop.Detected': loop,
  'Retry.Loop.Aborted': loop,
  'Context.UntilCompaction': {
    tokens_used: 150_000,
    tokens_limit: 200_000,
    percentage_used: 75,
    tokens_remaining: 50_000,
  },
  'Context.Compaction': {
    trigger: 'auto',
    tokens_before: 168_000,
    tokens_after: 24_000,
    tokens_removed: 144_000,
    strategy: 'summary',
  },
  'Policy.Violation': policy,
  'Policy.Blocked': { ...policy, policy_name: 'no-network', rule: 'egress' },
  'Policy.Override': { ...policy, policy_name: 'no-network', rule: 'egress' },
  'Agent.Notification': { type: 'ToolPermission', message: 'May I?' },
  'Agent.Error': { error_type: 'ModelError', error_message: 'overloaded', origin_event: 'Model.Failed' },
};

/** The name of a written file. */
export const written = { operation: 'update', start_line: 3, end_line: 9 };

const sized = { length: 1, hash };

const facts: Filled<Facts> = {
  v: 1,
  seq: 1,
  time: 'arrival',
  native: 'PostToolUse',
  previous: { session: '5b0c7d3e-91aa-4c55-8f7e-6f1d2a3b4c5d', segment: 0 },
  root: session,
  turn: prompt,
  call,
  over: [],
  tool: 'Bash',
  mcp: { server: 'tracker' },
  agent: 'Explore',
  launches: {},
  duration_ms: 1_240,
  error_type: 'exit_code',
  exit_code: 1,
  executable: 'git',
  skill: 'custom',
  options,
  interrupted: false,
  decision: origin,
  phase: 'before',
  path: 'src/clock.ts',
  command: 'git status',
  edits: [{ hash, path: 'src/clock.ts', operation: 'update', lines: [[3, 9]] }],
  cwd: '/home/kim/shop',
  context_uri: 'https://app.example/pages/7',
  content: { input: sized, output: sized, path: sized, command: sized, override_by: sized },
  budget: { of: 'session', unit: 'tokens', state: 'warning', used: 720_000, limit: 1_000_000 },
  model,
  provider: 'anthropic',
  usage: { cache_read_tokens: 14_250, cache_write_tokens: 768, cache_write_1h_tokens: 512, reasoning_tokens: 64 },
  totals: {
    input_tokens: 1,
    output_tokens: 1,
    cache_read_tokens: 1,
    cache_write_tokens: 1,
    cache_write_1h_tokens: 1,
    reasoning_tokens: 1,
  },
  finish: 'end_turn',
  is_error: true,
  is_attempt: true,
  no_turn_end: true,
  response,
  request: 'req_011CSH',
  cost_usd: 0.0154,
  cost: { usd: 0.0153, upper_usd: 0.42, prices },
  sum: 'turn',
  started_ms: 1,
  launched_by: call,
  depth: 1,
  permission_mode: 'default',
  trace_record: traceRecord,
  stated_budget: { used: 1, limit: 2 },
  crossed: [70],
  session_cost_usd: 0.42,
  rate_limits: limits,
  traceparent: '',
  fields: [],
};

/** An event of a subagent has every field of the envelope. */
export function eventOf(
  type: string,
  of: object = data[type as EventType] ?? {},
  root = false,
  more: Partial<Facts> = {},
): Event {
  return {
    spec_version: SPEC_VERSION,
    event_id: event,
    event_type: type,
    timestamp: '2026-01-01T00:00:00.000Z',
    source: { tool: agent, version: common.version },
    session_id: root ? session : subagent,
    parent_session_id: root ? undefined : session,
    user: { id: hash },
    actor: common.actor,
    agent_mode: 'agent',
    risk: root && !type.startsWith('Action.') ? undefined : common.risk,
    data: of,
    metadata: { [FACTS]: { ...facts, ...more }, ...common.metadata },
  } as Event;
}
