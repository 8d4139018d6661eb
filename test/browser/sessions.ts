/** Sessions for the page, as journals. They hold something of everything that the page shows. */
import { join } from 'node:path';
import { type Event, type Facts, factsOf } from '../../src/event/event.ts';
import { openStore } from '../../src/store/store.ts';

/** Writes a journal as a delivery would, and returns its key. */
export function writeJournal(home: string, session: string, events: readonly Event[], more = ''): string {
  const key = Buffer.from(session.padEnd(16, '0').slice(0, 16)).toString('hex');
  const store = openStore({ folder: join(home, 'state'), access: 'own' });
  store.commit({ journal: [{ key, lines: events.map(each => `${JSON.stringify(each)}\n`).join('') + more }] });
  store.close();
  return key;
}

/** Collects the events of one session; `at` is in seconds since its start. */
export class Script {
  readonly events: Event[] = [];
  private readonly session: string;
  private readonly startMs: number;
  private readonly agent: string;

  constructor(session: string, start: string, agent = 'claude-code') {
    this.session = session;
    this.startMs = Date.parse(start);
    this.agent = agent;
  }

  add(at: number, type: string, data: object = {}, facts: object = {}, more: object = {}): this {
    const seq = this.events.length + 1;
    this.events.push({
      spec_version: '0.1.0',
      event_id: `${this.session
        .replace(/[^0-9a-f]/g, '')
        .padEnd(8, '0')
        .slice(0, 8)}-0000-8000-8000-${String(seq).padStart(12, '0')}`,
      event_type: type,
      timestamp: new Date(this.startMs + at * 1_000).toISOString(),
      source: { tool: this.agent },
      session_id: this.session,
      data,
      metadata: { 'dev.otel-hooks': { v: 1, seq, time: 'native', ...facts } as Facts },
      ...more,
    } as unknown as Event);
    return this;
  }

  start(at: number, facts: object = {}): this {
    this.add(at, 'Session.Start', { start_reason: 'previous' in facts ? 'resume' : 'new' }, facts);
    const repository = { provider: 'github', owner: 'acme', name: 'shop', branch: 'checkout-totals' };
    return this.add(at, 'vendor.otel-hooks.Repository', repository);
  }

  /** The end of the session, whose transcript was read. */
  end(at: number): Event[] {
    this.add(at, 'Session.End', { end_reason: 'exit' });
    const calls = new Set(this.events.map(each => factsOf(each)?.call).filter(call => call !== undefined));
    const turns = new Set(this.events.map(each => factsOf(each)?.turn).filter(turn => turn !== undefined));
    const spans = [...[...turns].map(turn => `turn:${turn}:0`), 'subagent:reviewer:0', 'session:0'];
    for (const of of [...[...calls].map(call => `action:${call}`), ...spans])
      this.add(at, 'vendor.otel-hooks.Settled', { of, reason: 'read' });
    return this.events;
  }

  /** A response that took `seconds`. */
  response(at: number, seconds: number, [input, cached, output]: [number, number, number], more: object = {}): this {
    const usd = ((input - cached) * 3 + cached * 0.3 + output * 15) / 1e6;
    return this.add(
      at,
      'Model.Responded',
      { model_id: 'claude-sonnet-4-5', input_tokens: input, output_tokens: output, latency_ms: seconds * 1_000 },
      {
        ...{ model: 'claude-sonnet-4-5', provider: 'anthropic', response: `r${at}`, finish: 'tool_use' },
        ...{ usage: { cache_read_tokens: cached }, cost: { usd, prices: 'list' } },
        started_ms: this.startMs + (at - seconds) * 1_000,
        time: 'transcript',
      },
      more,
    );
  }

  /** An action from `at` for `seconds`. */
  action(at: number, seconds: number, tool: string, facts: Partial<Facts> = {}, result: object = {}): this {
    const call = `${tool}-${at}`;
    const action = { name: tool === 'Bash' ? 'shell' : 'edit' };
    const more = facts.agent === undefined ? {} : { session_id: 'reviewer', parent_session_id: this.session };
    this.add(at, 'Action.Before', { action }, { call, tool, ...facts }, more);
    const after = { success: true, ...result };
    return this.add(
      at + seconds,
      'Action.After',
      { action: { ...action, result: after } },
      {
        call,
        tool,
        duration_ms: seconds * 1_000,
        ...facts,
        ...('exit_code' in result ? { exit_code: result.exit_code } : {}),
      },
      more,
    );
  }
}

/** A session with failures, a denial, a wait, a retry, a loop, a subagent, a budget, a compaction and commits. */
export function checkout(session: string, start: string): Event[] {
  const s = new Script(session, start).start(0);
  s.add(2, 'Prompt.Submitted', { prompt_length: 120 }, { turn: 't1' });
  s.response(9, 7, [18_200, 12_000, 420]).action(10, 0.3, 'Read').action(10.4, 0.2, 'Grep');
  s.response(21, 10, [24_900, 18_000, 900]);
  s.add(22, 'Action.Before', { action: { name: 'edit' } }, { call: 'e1', tool: 'Edit' });
  s.add(
    22.1,
    'Agent.Decision',
    { decision: { outcome: 'ask' } },
    { call: 'e1', tool: 'Edit', decision: { source: 'config', basis: 'observed', reason: 'rule' } },
  );
  s.add(
    98,
    'Agent.Decision',
    { decision: { outcome: 'allow' } },
    { call: 'e1', tool: 'Edit', decision: { source: 'user', basis: 'observed', reason: 'answer', grant: 'once' } },
  );
  s.add(
    98.4,
    'Action.After',
    { action: { name: 'edit', result: { success: true } } },
    { call: 'e1', tool: 'Edit', duration_ms: 400 },
  );
  s.response(104, 5, [27_300, 24_000, 300]);
  for (const [n, at] of [105, 140, 171].entries()) {
    s.action(at, 24, 'Bash', { executable: 'npm' }, { success: false, exit_code: 1 });
    if (n > 0)
      s.add(at + 25, 'Retry.Triggered', { attempt: n + 1, action_name: 'shell' }, { call: `Bash-${at}`, tool: 'Bash' });
    s.response(at + 30, 5, [31_000 + n * 4_000, 27_000 + n * 4_000, 500]);
  }
  s.add(202, 'Retry.Loop.Detected', { iteration_count: 3, action_name: 'shell' }, { tool: 'Bash' });
  s.add(210, 'Agent.Response', { response_length: 300, final: true }, { turn: 't1' });
  s.add(400, 'Prompt.Submitted', { prompt_length: 60, is_followup: true }, { turn: 't2' });
  s.add(402, 'Context.UntilCompaction', { tokens_used: 96_000, tokens_limit: 200_000, percentage_used: 48 });
  s.response(409, 7, [96_000, 40_000, 2_200]);
  s.add(
    410,
    'Action.Before',
    { action: { name: 'task' } },
    { call: 'a1', tool: 'Agent', launches: { id: 'reviewer', agent: 'code-reviewer' } },
  );
  const inner = { session_id: 'reviewer', parent_session_id: session };
  s.add(410.5, 'Session.Start', { start_reason: 'new' }, { agent: 'code-reviewer', launched_by: 'a1' }, inner);
  s.response(425, 14, [40_000, 9_000, 1_500], inner);
  s.action(426, 1.2, 'Grep', { agent: 'code-reviewer' }).action(427.4, 0.6, 'Read', { agent: 'code-reviewer' });
  s.response(470, 40, [64_000, 40_000, 3_900], inner);
  s.add(471, 'Session.End', { end_reason: 'completed' }, { agent: 'code-reviewer' }, inner);
  s.add(
    472,
    'Action.After',
    { action: { name: 'task', result: { success: true } } },
    { call: 'a1', tool: 'Agent', duration_ms: 62_000 },
  );
  s.response(480, 7, [171_000, 90_000, 800]);
  s.add(481, 'Context.UntilCompaction', { tokens_used: 171_000, tokens_limit: 200_000, percentage_used: 85.5 });
  s.add(490, 'Context.Compaction', { trigger: 'auto', tokens_before: 171_000, tokens_after: 38_000 });
  s.response(500, 8, [41_000, 12_000, 600]);
  s.add(
    501,
    'Action.Before',
    { action: { name: 'shell' } },
    { call: 'push', tool: 'Bash', executable: 'git' },
    { risk: { level: 'critical', score: 92, factors: ['DESTRUCTIVE_OP'] } },
  );
  s.add(
    501.5,
    'Policy.Blocked',
    { policy_name: 'protected-branches', action: { name: 'shell' } },
    { call: 'push', tool: 'Bash', decision: { source: 'policy', basis: 'observed', reason: 'rule', scope: 'managed' } },
  );
  s.add(
    501.6,
    'Action.After',
    { action: { name: 'shell', result: { success: false } }, decision: { outcome: 'deny' } },
    { call: 'push', tool: 'Bash', decision: { source: 'policy', basis: 'observed', reason: 'rule', scope: 'managed' } },
  );
  s.response(508, 5, [43_000, 40_000, 300]);
  s.action(509, 4, 'Bash', { executable: 'git' });
  s.add(513.5, 'vendor.otel-hooks.Repository', {
    provider: 'github',
    owner: 'acme',
    name: 'shop',
    branch: 'checkout-totals',
    commits: ['9f31c2a7d0b14c5e8a6f7b8c9d0e1f2a3b4c5d6e'],
  });
  s.add(
    514,
    'Policy.Violation',
    {},
    { budget: { of: 'session', unit: 'usd', state: 'warning', used: 0.82, limit: 1 } },
  );
  s.response(521, 6, [45_000, 42_000, 700]);
  s.add(522, 'Agent.Response', { response_length: 500, final: true }, { turn: 't2' });
  return s.end(560);
}

/** The continuation of another session on the next day. */
export function resumed(session: string, start: string, previous: string): Event[] {
  const s = new Script(session, start).start(0, { previous: { session: previous, segment: 0 } });
  s.add(1, 'Prompt.Submitted', { prompt_length: 20 }, { turn: 't1' });
  s.response(9, 7, [44_000, 0, 900]).action(10, 18, 'Bash', { executable: 'npm' });
  s.response(34, 5, [46_000, 44_000, 200]);
  s.add(35, 'Agent.Response', { response_length: 90, final: true }, { turn: 't1' });
  return s.end(60);
}

/** A small session of another agent. */
export function small(session: string, start: string, agent: string, n: number): Event[] {
  const s = new Script(session, start, agent).start(0);
  s.add(1, 'Prompt.Submitted', { prompt_length: 20 }, { turn: 't1' });
  for (let i = 0; i < 2 + (n % 4); i += 1) {
    s.response(5 + 10 * i, 4, [9_000 * (1 + (n % 5)), 4_000, 300]).action(
      6 + 10 * i,
      2,
      'Bash',
      {},
      n % 3 === 0 && i === 1 ? { success: false, exit_code: 1 } : {},
    );
  }
  s.add(58, 'Agent.Response', { response_length: 90, final: true }, { turn: 't1' });
  return s.end(60);
}
