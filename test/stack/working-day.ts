/** Sessions for the stack's dashboards and alerts: a normal day, and a day with many faults. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from './machine.ts';

/** One command of a session. */
export interface Action {
  command: string;
  ms: number;
  /** The error that the command ends with. */
  fails?: string;
  /** The time for which a person was asked, who then allowed the command. */
  waitMs?: number;
}

interface Session {
  turns: number;
  /** The commands of the last turn, instead of `calls` times `command`. */
  actions?: readonly Action[];
  /** Used part of the plan's limit at the first turn, in percent. */
  limitUsed?: number;
  /** Has no end yet; `ended` writes it. */
  isRunning?: boolean;
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
    actions = [],
    isRunning = false,
    limitUsed = 40,
  } = about;
  const session = randomUUID();
  const transcript = transcriptOf(machine, session);
  const usual: Action = { command, ms: 600, ...(isFailing ? { fails: 'Exit code 1\nexpected 3 to be 4' } : {}) };
  const turnsOf = Array.from({ length: turns }, (_, turn) =>
    turn === turns - 1 && actions.length > 0 ? actions : Array.from({ length: calls }, () => usual),
  );
  const steps = turnsOf.reduce((sum, all) => sum + 2 * all.length + 3.5, 2);
  const extraMs = actions.reduce((sum, { ms, waitMs = 0 }) => sum + ms + waitMs, 0);
  let atMs = Date.now() - agoMs - steps * 1_000 - extraMs;
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
  for (const [turn, commands] of turnsOf.entries()) {
    const prompt = { prompt_id: randomUUID() };
    add('UserPromptSubmit', { ...prompt, prompt: 'go on' });
    row('user', { promptId: prompt.prompt_id, promptSource: 'typed', message: { role: 'user', content: 'go on' } });
    for (const [call, { command: run, ms, fails, waitMs }] of commands.entries()) {
      const input = { tool_name: 'Bash', tool_input: { command: run } };
      const tool = { ...input, tool_use_id: `toolu_${randomUUID()}` };
      add('PreToolUse', { ...prompt, ...tool });
      responds({ type: 'tool_use', id: tool.tool_use_id, name: 'Bash', input: tool.tool_input }, 'tool_use');
      if (waitMs !== undefined) {
        add('PermissionRequest', { ...prompt, ...input });
        atMs += waitMs - 1_000;
      }
      if (actions.length > 0 && commands === actions) atMs += ms;
      if (fails === undefined)
        add('PostToolUse', { ...prompt, ...tool, tool_response: { stdout: `${turn} ${call}` }, duration_ms: ms });
      else add('PostToolUseFailure', { ...prompt, ...tool, error: fails, is_interrupt: false, duration_ms: ms });
      const isError = fails !== undefined;
      const result = { type: 'tool_result', tool_use_id: tool.tool_use_id, content: 'done', is_error: isError };
      row('user', { promptId: prompt.prompt_id, message: { role: 'user', content: [result] } });
    }
    atMs += 500;
    responds({ type: 'text', text: 'done' }, 'end_turn');
    add('Stop', { ...prompt, stop_hook_active: false });
    // The further fields of the status line: the used share of the window.
    const current_usage = { input_tokens: 40, cache_creation_input_tokens: 900, cache_read_input_tokens: 24_000 };
    const context_window = { context_window_size: 200_000, used_percentage: 12, current_usage };
    const resets_at = Math.floor(Date.now() / 1_000) + 7_200;
    const rate_limits = {
      five_hour: { used_percentage: limitUsed + turn, resets_at },
      seven_day: { used_percentage: 12, resets_at: resets_at + 86_400 },
    };
    add('Status', { model: { id: model }, cost: { total_cost_usd: 0 }, context_window, rate_limits });
  }
  const compactMetadata = { trigger: 'manual', preTokens: 63_000, postTokens: 9_000, durationMs: 400 };
  row('system', { subtype: 'compact_boundary', content: 'compacted', compactMetadata });
  if (!isRunning) add('SessionEnd', { reason: 'other' });
  writeFileSync(transcript, rows.map(each => `${JSON.stringify(each)}\n`).join(''));
  return session;
}

function transcriptOf(machine: Machine, session: string): string {
  const folder = join(machine.home, '.claude', 'projects', '-shop');
  mkdirSync(folder, { recursive: true });
  return join(folder, `${session}.jsonl`);
}

/** Ends a running session. */
export function ended(machine: Machine, session: string, agoMs: number): void {
  const base = { session_id: session, transcript_path: transcriptOf(machine, session), cwd: machine.home };
  machine.hook({ ...base, hook_event_name: 'SessionEnd', reason: 'other' }, Date.now() - agoMs);
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
