/** Sessions for the stack's dashboards and alerts: a normal day, and a day with many faults. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from './machine.ts';

interface Session {
  turns: number;
  /** The command of each turn, and whether it fails. */
  command?: string;
  isFailing?: boolean;
  calls?: number;
  model?: string;
  /** The time of the end. */
  agoMs?: number;
}

/**
 * A session with a transcript, which ended a second ago unless stated otherwise: each turn has `calls` commands, and a
 * response before each.
 */
export function worked(machine: Machine, about: Session): string {
  const {
    turns,
    command = 'npm test',
    isFailing = false,
    calls = 3,
    model = 'claude-sonnet-4-5',
    agoMs = 1_000,
  } = about;
  const session = randomUUID();
  const folder = join(machine.home, '.claude', 'projects', '-shop');
  const transcript = join(folder, `${session}.jsonl`);
  mkdirSync(folder, { recursive: true });
  const steps = turns * (2 * calls + 2) + 2;
  let atMs = Date.now() - agoMs - steps * 1_000;
  const rows: object[] = [];
  const base = { session_id: session, transcript_path: transcript, cwd: machine.home };
  const add = (event: string, fields: object): void => {
    atMs += 1_000;
    machine.hook({ ...base, hook_event_name: event, ...fields }, atMs);
  };
  const row = (type: string, fields: object): void => {
    const timestamp = new Date(atMs).toISOString();
    const same = { parentUuid: null, isSidechain: false, sessionId: session, version: '2.1.280' };
    rows.push({ ...same, type, uuid: randomUUID(), timestamp, ...fields });
  };
  const responds = (content: object, stop: string): void => {
    const id = `msg_${randomUUID()}`;
    const usage = {
      input_tokens: 40,
      cache_creation_input_tokens: 900,
      cache_read_input_tokens: 24_000,
      output_tokens: 350,
      output_tokens_details: { thinking_tokens: 120 },
    };
    const message = { id, role: 'assistant', model, content: [content], stop_reason: stop, usage };
    row('assistant', { requestId: `req_${id}`, message });
  };

  add('SessionStart', { source: 'startup', model });
  for (let turn = 0; turn < turns; turn += 1) {
    const prompt = { prompt_id: randomUUID() };
    add('UserPromptSubmit', { ...prompt, prompt: 'go on' });
    row('user', { promptId: prompt.prompt_id, promptSource: 'typed', message: { role: 'user', content: 'go on' } });
    for (let call = 0; call < calls; call += 1) {
      const tool = { tool_name: 'Bash', tool_use_id: `toolu_${randomUUID()}`, tool_input: { command } };
      add('PreToolUse', { ...prompt, ...tool });
      responds({ type: 'tool_use', id: tool.tool_use_id, name: 'Bash', input: tool.tool_input }, 'tool_use');
      if (isFailing) {
        const end = { error: 'Exit code 1\nexpected 3 to be 4', is_interrupt: false, duration_ms: 600 };
        add('PostToolUseFailure', { ...prompt, ...tool, ...end });
      } else {
        add('PostToolUse', { ...prompt, ...tool, tool_response: { stdout: `${turn} ${call}` }, duration_ms: 600 });
      }
      const result = { type: 'tool_result', tool_use_id: tool.tool_use_id, content: 'done', is_error: isFailing };
      row('user', { promptId: prompt.prompt_id, message: { role: 'user', content: [result] } });
    }
    add('Stop', { ...prompt, stop_hook_active: false });
    // The further fields of the status line: the used share of the window.
    const current_usage = { input_tokens: 40, cache_creation_input_tokens: 900, cache_read_input_tokens: 24_000 };
    const context_window = { context_window_size: 200_000, used_percentage: 12, current_usage };
    add('Status', { model: { id: model }, cost: { total_cost_usd: 0 }, context_window });
    responds({ type: 'text', text: 'done' }, 'end_turn');
  }
  const compactMetadata = { trigger: 'manual', preTokens: 63_000, postTokens: 9_000, durationMs: 400 };
  row('system', { subtype: 'compact_boundary', content: 'compacted', compactMetadata });
  add('SessionEnd', { reason: 'other' });
  writeFileSync(transcript, rows.map(each => `${JSON.stringify(each)}\n`).join(''));
  return session;
}

/** An agent that states the cost of a response. */
export function statedCost(machine: Machine): string {
  const session = `ses_${randomUUID()}`;
  const nowMs = Date.now() - 2_000;
  const tokens = { input: 812, output: 40, reasoning: 12, cache: { read: 9_000, write: 256 } };
  const whose = { id: `msg_${randomUUID()}`, sessionID: session, role: 'assistant', parentID: `msg_${randomUUID()}` };
  const by = { modelID: 'gpt-5.5', providerID: 'openai', mode: 'build', agent: 'build', finish: 'stop' };
  const info = { ...whose, ...by, cost: 0.0123, tokens, time: { created: nowMs - 900, completed: nowMs } };
  const known = { session_id: session, event_time: nowMs, opencode_version: '1.18.18', opencode_pid: 4711 };
  machine.hook({ type: 'message.updated', properties: { info }, ...known, directory: machine.home }, nowMs);
  return session;
}
