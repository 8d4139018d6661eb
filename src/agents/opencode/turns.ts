/** Events about a session and its turns: prompts, answers, errors, changes of agent or model, steps. */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, number, text, word } from '../../lib/read.ts';
import type { Memory, Reading } from '../contract/contract.ts';
import { called, callOf } from './calls.ts';
import { actionName, launchOf, responded, servedBy, stopped } from './messages.ts';

/** An event in the form that both versions share. */
export interface Happened {
  data: Fields;
  /** The session of the event, which may be a child. */
  session: string;
  isChild: boolean;
  atMs: number | undefined;
  memory: Memory;
}

/** V1 sends a message of the user repeatedly; its hook comes first. */
export function prompted({ session, memory, isChild }: Happened, id: string | undefined): Reading[] {
  if (id === undefined || memory.recall('prompt', id) !== undefined) return [];
  memory.remember('prompt', id, '1');
  memory.remember('turn', session, id);
  return [{ event_type: 'Prompt.Submitted', key: id, data: {}, actor: isChild ? 'ai_agent' : 'user' }];
}

/** A fork begins with copies of messages and calls, which are older than the fork itself. */
export function isCopied({ session, memory }: Happened, atMs: number | undefined): boolean {
  const created = memory.recall('created', session);
  return created !== undefined && atMs !== undefined && atMs < Number(created);
}

/**
 * V1 asks the model for a title too, whose response no message holds. It repeats the request of a message after an
 * error; the first one counts.
 */
export function requested({ data, session, memory }: Happened): Reading[] {
  const message = word(data.messageID);
  if (data.agent === 'title' || (message !== undefined && memory.recall('requested', session) === message)) return [];
  if (message !== undefined) memory.remember('requested', session, message);
  const model = fieldsOf(data.model);
  const id = word(model.id) ?? word(model.modelID);
  memory.remember('failed', session, JSON.stringify([id, model.providerID]));
  return [{ event_type: 'Model.Requested', key: message, data: { model_id: id }, facts: { model: id } }];
}

export function began({ data, atMs, memory }: Happened): Reading[] {
  const call = callOf(data);
  const tool = text(data.tool);
  const input = fieldsOf(data.args ?? data.input);
  if (call !== undefined && atMs !== undefined) memory.remember('called', call, String(atMs));
  if (call !== undefined && tool !== undefined) memory.remember('tool', call, tool);
  const facts = { call, tool, launches: launchOf(tool, input, {}) };
  return [{ event_type: 'Action.Before', key: call, data: { action: { name: actionName(tool), input } }, facts }];
}

export function over(happened: Happened): Reading[] {
  const { data, memory } = happened;
  const call = callOf(data);
  if (call !== undefined && text(data.tool) !== undefined) memory.remember('tool', call, text(data.tool) ?? '');
  const result = fieldsOf(data.result);
  const exitCode = number(fieldsOf(data.metadata ?? result.metadata).exit);
  const error = data.error ?? undefined;
  const failed = error !== undefined || data.status === 'error' || data.isError === true || (exitCode ?? 0) !== 0;
  const message = text(error) ?? text(fieldsOf(error).message);
  const kind = error === undefined && exitCode !== undefined ? 'exit_code' : 'tool_error';
  return [
    called(
      happened,
      { success: !failed, exit_code: exitCode, error_message: failed ? message : undefined },
      { error_type: failed ? kind : undefined },
    ),
  ];
}

/** Ends a turn with its answer. In a child session, this also ends the session. */
export function answered({ session, memory, isChild }: Happened): Reading[] {
  const length = memory.recall('answer', session);
  endTurn(session, memory);
  const answer: Reading = {
    event_type: 'Agent.Response',
    data: { final: true, response_length: length === undefined ? undefined : Number(length) },
  };
  return isChild ? [answer, { event_type: 'Session.End', data: { end_reason: 'completed' } }] : [answer];
}

export function interrupted({ session, memory, isChild }: Happened): Reading[] {
  endTurn(session, memory);
  // V1 reports the end of a running call after the end of its turn.
  const calls = memory.list('running call').flatMap(([call, of]): Reading[] => {
    if (of !== session) return [];
    memory.forget('running call', call);
    const tool = memory.recall('tool', call) ?? 'unknown';
    return [stopped(call, actionName(tool), {}, { call, tool })];
  });
  if (isChild) return [...calls, { event_type: 'Session.Abort', data: {}, facts: { interrupted: true } }];
  return [...calls, { event_type: 'Agent.Response', data: { final: true }, facts: { interrupted: true } }];
}

export function failed(
  { data, session, memory, isChild }: Happened,
  kind: string | undefined,
  message: unknown,
): Reading[] {
  const [model, provider] = listed(memory.recall('failed', session));
  endTurn(session, memory);
  const facts = { error_type: errorKind(kind) };
  const readings: Reading[] = [
    {
      event_type: 'Model.Failed',
      key: word(data.messageID),
      data: { model_id: word(model), error_type: facts.error_type, error_message: text(message) },
      facts: { ...facts, model: word(model), provider: servedBy(provider) },
    },
    {
      event_type: 'Agent.Error',
      data: { error_type: 'ModelError', error_message: text(message), origin_event: 'Model.Failed' },
      facts,
    },
  ];
  return isChild ? [...readings, { event_type: 'Session.End', data: { end_reason: 'error' } }] : readings;
}

function endTurn(session: string, memory: Memory): void {
  for (const kind of ['turn', 'running', 'answer', 'failed', 'requested']) memory.forget(kind, session);
}

export function taken({ data, memory }: Happened): Reading[] {
  memory.forget('queued', inboxId(data) ?? '');
  return [];
}

export const inboxId = (data: Fields): string | undefined => word(data.inboxID) ?? word(data.inputID);

/** Returns the input: `item` since 2.0, `input` or `prompt` in betas. */
export function inputOf(data: Fields): { type: string | undefined; prompt: string | undefined } {
  if (data.item === undefined && data.input === undefined)
    return { type: 'user', prompt: text(fieldsOf(data.prompt).text) };
  const item = fieldsOf(data.item ?? data.input);
  return { type: text(item.type) ?? 'user', prompt: text(fieldsOf(item.payload ?? item.data).text) };
}

/** Reports a change of the agent: planning begins or ends. */
export function chosen({ data, session, memory }: Happened): Reading[] {
  const agent = word(data.agent);
  const former = memory.recall('agent', session);
  if (agent === undefined || agent === former) return [];
  memory.remember('agent', session, agent);
  if (agent === 'plan') return [{ event_type: 'Agent.Plan.Start', data: { plan_type: 'plan' } }];
  return former === 'plan' ? [{ event_type: 'Agent.Plan.End', data: { plan_type: 'plan' } }] : [];
}

/** A step is one response. It ends when its calls have run; its tokens were complete when the stream ended. */
export function stepped({ data, atMs, memory }: Happened): Reading[] {
  const step = word(data.assistantMessageID);
  if (step === undefined) return [];
  const [model, provider, startedMs] = listed(memory.recall('step', step));
  const streamed = memory.recall('streamed', step);
  const endMs = streamed === undefined ? atMs : Number(streamed);
  memory.forget('step', step);
  memory.forget('streamed', step);
  return [
    responded(
      {
        id: step,
        model: word(model) ?? word(fieldsOf(data.model).id),
        provider: servedBy(provider ?? fieldsOf(data.model).providerID),
        finish: word(data.finish) ?? word(data.rawFinish),
        latencyMs: streamed !== undefined && typeof startedMs === 'number' ? Number(streamed) - startedMs : undefined,
      },
      data,
      endMs,
    ),
  ];
}

export function listed(remembered: string | undefined): unknown[] {
  const list: unknown = remembered ? JSON.parse(remembered) : [];
  return Array.isArray(list) ? list : [];
}

/** Turns names such as `APIError` and `provider.invalid-request` into a short word of a closed set. */
export function errorKind(kind: string | undefined): string {
  const snake = (kind ?? '')
    .replace(/Error$/, '')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/[.-]/g, '_')
    .toLowerCase();
  return /^[a-z][a-z0-9_]{0,63}$/.test(snake) ? snake : 'unknown';
}
