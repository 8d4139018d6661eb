/** Messages and their parts, as V1 sends them on its bus and stores them, and the tools of both versions. */
import type { AgentMode, Fields } from '../../event/event.ts';
import { count, fieldsOf, number, own, text, word } from '../../lib/read.ts';
import type { Reading } from '../contract/contract.ts';

export const actions = {
  apply_patch: 'write_file',
  bash: 'shell',
  edit: 'code_edit',
  execute: 'execute',
  glob: 'glob',
  grep: 'grep',
  list: 'list_directory',
  lsp: 'lsp',
  patch: 'write_file',
  plan_enter: 'enter_plan_mode',
  plan_exit: 'exit_plan_mode',
  question: 'ask_user_question',
  read: 'read_file',
  shell: 'shell',
  skill: 'skill',
  subagent: 'agent',
  task: 'agent',
  todoread: 'todo_read',
  todowrite: 'todo_write',
  webfetch: 'web_search',
  websearch: 'web_search',
  write: 'write_file',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

/** OpenCode uses the provider ids of models.dev, where `google` is Google's API for developers. */
export function servedBy(id: unknown): string | undefined {
  const provider = word(id);
  return provider === 'google' ? 'gemini' : provider;
}

/** The mode of an agent: `plan` changes nothing. */
export const modeOf = (agent: unknown): AgentMode | undefined =>
  word(agent) === undefined ? undefined : agent === 'plan' ? 'plan' : 'agent';

/** A tool of an MCP server is `<server>_<tool>`. The separator is ambiguous, so the tool keeps its whole name. */
export const actionName = (tool: string | undefined): string =>
  tool === undefined ? 'unknown' : (own(actionNames, tool) ?? tool);

/** Returns the subagent that a call launches; the id of the child is known once it runs. */
export function launchOf(
  tool: string | undefined,
  input: Fields,
  metadata: Fields,
): NonNullable<Reading['facts']>['launches'] {
  if (tool !== 'task' && tool !== 'subagent') return undefined;
  return {
    id: word(metadata.sessionId) ?? word(metadata.sessionID),
    agent: word(input.subagent_type) ?? word(input.agent),
  };
}

/**
 * The source of a refusal in the text of a failed call: a rule of the configuration, or the answer to a question. The
 * texts are the agent's own.
 */
function refusalIn(error: string | undefined): 'config' | 'user' | undefined {
  if (error?.startsWith('The user has specified a rule which prevents you from using')) return 'config';
  return error?.startsWith('The user rejected permission to use') ? 'user' : undefined;
}

/** The last lines of the output of a command that the user interrupted. The agent completes such a call. */
const ABORTED = /<shell_metadata>\s*User aborted the command\s*<\/shell_metadata>\s*$/;

/** `opencode run` denies questions to its sessions, because no person can answer there. */
export const isUnattended = (permission: unknown): boolean =>
  Array.isArray(permission) &&
  permission.map(fieldsOf).some(rule => rule.permission === 'question' && rule.action === 'deny');

/**
 * Returns the events of a tool part so far. A part is sent again with each change of its state. `isUnasked`: no person
 * could answer questions.
 */
export function actionsOf(part: Fields, waitedMs: number, isUnasked = false): Reading[] {
  const call = word(part.callID);
  const state = fieldsOf(part.state);
  const startMs = number(fieldsOf(state.time).start);
  const status = text(state.status);
  if (part.type !== 'tool' || call === undefined || startMs === undefined || status === 'pending') return [];
  const tool = text(part.tool) ?? 'unknown';
  const input = fieldsOf(state.input);
  const name = actionName(tool);
  const metadata = fieldsOf(state.metadata);
  const launches = launchOf(tool, input, metadata);
  const facts = { call, tool, launches };
  const readings: Reading[] = [
    { event_type: 'Action.Before', key: call, data: { action: { name, input } }, facts, atMs: startMs },
  ];
  if (tool === 'plan_enter')
    readings.push({ event_type: 'Agent.Plan.Start', key: call, data: { plan_type: 'plan' }, atMs: startMs });
  const endMs = number(fieldsOf(state.time).end);
  if ((status !== 'completed' && status !== 'error') || endMs === undefined) return readings;
  if (tool === 'bash' && metadata.exit === null && ABORTED.test((text(state.output) ?? '').slice(-200))) {
    return [...readings, { ...stopped(call, name, input, facts), output: state.output, atMs: endMs }];
  }
  const exitCode = number(metadata.exit);
  const refusal = status === 'error' ? refusalIn(text(state.error)) : undefined;
  if (refusal !== undefined) {
    readings.push({
      event_type: 'Action.After',
      key: call,
      data: { action: { name, input }, decision: { outcome: 'deny' } },
      facts: { ...facts, decision: { source: refusal === 'user' && isUnasked ? 'mode' : refusal, basis: 'observed' } },
      atMs: endMs,
    });
    return readings;
  }
  // The agent completes a call of a tool that does not exist with a tool of its own.
  const isError = status === 'error' || tool === 'invalid';
  const failed = isError || (exitCode !== undefined && exitCode !== 0);
  readings.push({
    event_type: 'Action.After',
    key: call,
    data: {
      action: { name, input, result: { success: !failed, exit_code: exitCode, error_message: text(state.error) } },
    },
    output: state.output,
    facts: {
      ...facts,
      duration_ms: Math.max(0, endMs - startMs - waitedMs),
      error_type: failed ? (isError ? 'tool_error' : 'exit_code') : undefined,
    },
    atMs: endMs,
  });
  if (tool === 'plan_exit')
    readings.push({ event_type: 'Agent.Plan.End', key: call, data: { plan_type: 'plan' }, atMs: endMs });
  return readings;
}

/** The end of a call that the user interrupted. */
export const stopped = (call: string, name: string, input: Fields, facts: NonNullable<Reading['facts']>): Reading => ({
  event_type: 'Action.After',
  key: call,
  data: { action: { name, input } },
  facts: { ...facts, interrupted: true },
});

/**
 * Returns the response of a complete message. The message is sent repeatedly while it grows. It is complete when its
 * calls have run; `streamedMs` is the time of its newest part.
 */
export function responseOf(info: Fields, streamedMs?: number): Reading | undefined {
  const id = word(info.id);
  const time = fieldsOf(info.time);
  const completedMs = number(time.completed);
  if (info.role !== 'assistant' || id === undefined || completedMs === undefined) return undefined;
  // A request that failed or was interrupted has no tokens.
  if (info.error !== undefined && !count(fieldsOf(info.tokens).output)) return undefined;
  return responded(
    {
      id,
      model: word(info.modelID),
      provider: servedBy(info.providerID),
      finish: word(info.finish),
      turn: word(info.parentID),
    },
    info,
    Math.min(streamedMs ?? completedMs, completedMs),
  );
}

export interface Response {
  id: string;
  model: string | undefined;
  provider: string | undefined;
  finish: string | undefined;
  turn?: string | undefined;
  latencyMs?: number | undefined;
}

/** The tokens of a response: `input` leaves out the cached tokens, `output` the reasoning tokens. */
export function responded(response: Response, paid: Fields, atMs: number | undefined): Reading {
  const tokens = fieldsOf(paid.tokens);
  const cache = fieldsOf(tokens.cache);
  const sum = (...parts: unknown[]): number | undefined => {
    const known = parts.map(count);
    return known[0] === undefined ? undefined : known.reduce<number>((total, part) => total + (part ?? 0), 0);
  };
  const { id, model, provider, finish, turn, latencyMs } = response;
  return {
    event_type: 'Model.Responded',
    key: id,
    data: {
      model_id: model,
      input_tokens: sum(tokens.input, cache.read, cache.write),
      output_tokens: sum(tokens.output, tokens.reasoning),
      latency_ms: latencyMs,
    },
    facts: {
      turn,
      model,
      provider,
      finish,
      response: id,
      cost_usd: number(paid.cost),
      usage: {
        cache_read_tokens: count(cache.read),
        cache_write_tokens: count(cache.write),
        reasoning_tokens: count(tokens.reasoning),
      },
    },
    atMs,
  };
}

/** The text of the user: parts that the program added are marked. */
export function written(parts: unknown): string | undefined {
  if (!Array.isArray(parts)) return undefined;
  const texts = parts.map(fieldsOf).flatMap(part => (part.synthetic === true ? [] : (text(part.text) ?? [])));
  return texts.length === 0 ? undefined : texts.join('\n');
}
