/**
 * OpenCode, V1 (1.x) and V2 (2.x). Facts: V1 source at 1.18.18, V2 schemas up to 2.0.32 and recordings of 2.0.16;
 * checked 2026-11-18.
 *
 * OpenCode runs no commands. A plugin in its process forwards the events of its bus unchanged, `{type, properties}`
 * from V1 and `{type, created, data}` from V2, and adds `session_id` (the root of the session's family), `event_time`,
 * `directory` and `opencode_version`. Hooks of V1 that are not events of the bus have the same form, with the hook's
 * name.
 *
 * Sessions, messages and calls have ids. A child session has its own id and names its parent. In V1, an answer names
 * its prompt. In V2, a turn is an execution from its start to its end, with the id of the prompt that began it.
 */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, number, own, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Memory, type Reading } from '../contract/contract.ts';
import { askedAbout, called, callOf, metadataOf, questioned, toolOf, waitedMs } from './calls.ts';
import {
  actionName,
  actions,
  actionsOf,
  isUnattended,
  launchOf,
  modeOf,
  responseOf,
  servedBy,
  written,
} from './messages.ts';
import { settings } from './settings.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';
import {
  answered,
  began,
  chosen,
  errorKind,
  failed,
  type Happened,
  inboxId,
  inputOf,
  interrupted,
  isCopied,
  listed,
  over,
  prompted,
  requested,
  stepped,
  taken,
} from './turns.ts';

const readers: Record<string, (happened: Happened) => Reading[]> = {
  'session.created': ({ data, session, memory }) => {
    const info = data.info === undefined ? data : fieldsOf(data.info);
    const agent = word(info.agent);
    if (agent !== undefined) memory.remember('agent', session, agent);
    const createdMs = number(fieldsOf(info.time).created);
    if (createdMs !== undefined) memory.remember('created', session, String(createdMs));
    if (isUnattended(info.permission)) memory.remember('unattended', session, '1');
    return [{ event_type: 'Session.Start', key: 'start', data: { start_reason: 'new' } }];
  },
  'session.forked': () => [{ event_type: 'Session.Start', key: 'start', data: { start_reason: 'new' } }],
  'session.deleted': () => [{ event_type: 'Session.End', data: { end_reason: 'exit' } }],
  // The process of V1 ends.
  dispose: () => [{ event_type: 'Session.End', data: { end_reason: 'exit' } }],

  // ---- V1: prompts, messages and their parts
  'chat.message': happened => {
    const { data, session, memory, isChild } = happened;
    const id = word(data.messageID);
    if (id !== undefined) {
      memory.remember('turn', session, id);
      memory.remember('prompt', id, '1');
    }
    return [
      ...chosen(happened),
      {
        event_type: 'Prompt.Submitted',
        key: id,
        data: { prompt: written(data.parts) },
        actor: isChild ? 'ai_agent' : 'user',
      },
    ];
  },
  'chat.params': requested,
  'message.updated': happened => {
    const { data, session, memory } = happened;
    const info = fieldsOf(data.info);
    if (isCopied(happened, number(fieldsOf(info.time).created))) return [];
    if (info.role === 'user') return prompted(happened, word(info.id));
    const response = responseOf(info, number(data.streamed));
    if (response === undefined) return [];
    memory.forget('requested', session);
    // After a compaction, OpenCode continues with prompts of its own: they are part of the turn.
    const { turn, ...facts } = response.facts ?? {};
    const isPrompt = turn !== undefined && memory.recall('prompt', turn) !== undefined;
    return [{ ...response, facts: { ...facts, turn: isPrompt ? turn : (memory.recall('turn', session) ?? turn) } }];
  },
  'message.part.updated': happened => {
    const { data, session, memory } = happened;
    const part = fieldsOf(data.part);
    const time = fieldsOf(part.time);
    if (isCopied(happened, number(fieldsOf(fieldsOf(part.state).time).start) ?? number(time.start))) return [];
    if (part.type === 'reasoning' && number(time.end) !== undefined)
      return [thought(word(part.id), part.text, number(time.end))];
    // Only texts of the agent have an end time.
    if (part.type === 'text' && number(time.end) !== undefined)
      memory.remember('answer', session, String(text(part.text)?.length ?? 0));
    const call = word(part.callID);
    if (call !== undefined) {
      memory.remember('tool', call, text(part.tool) ?? '');
      if (text(fieldsOf(part.state).status) === 'running') memory.remember('running call', call, session);
      else memory.forget('running call', call);
    }
    return actionsOf(part, waitedMs(call, memory), memory.recall('unattended', session) !== undefined);
  },
  // Hooks of both versions, in the process itself: a plugin that forwards them reports the same calls.
  'tool.execute.before': began,
  'tool.execute.after': over,
  'execute.before': began,
  'execute.after': over,
  'session.status': ({ data }) => {
    const status = fieldsOf(data.status);
    return status.type === 'retry' ? [retried(status.attempt, status.message)] : [];
  },
  // Also sent after an abort and after an error, which have ended the turn already.
  'session.idle': happened =>
    happened.memory.recall('turn', happened.session) === undefined ? [] : answered(happened),
  'session.error': happened => {
    const error = fieldsOf(happened.data.error);
    if (error.name === 'MessageAbortedError') return interrupted(happened);
    return failed(happened, text(error.name), fieldsOf(error.data).message);
  },
  'experimental.session.compacting': ({ data }) => [compaction(data, 'before')],
  'session.compacted': ({ data }) => [compaction(data, 'after')],

  // ---- V2: executions and their steps
  'session.inbox.enqueued': ({ data, session, memory, isChild }) => {
    const id = inboxId(data);
    const { type, prompt } = inputOf(data);
    if (type !== 'user' || id === undefined) return [];
    memory.remember('queued', id, session);
    // Input during an execution steers it; if it has to wait, the next execution is its turn.
    if (memory.recall('running', session) === undefined) memory.remember('turn', session, id);
    return [
      {
        event_type: 'Prompt.Submitted',
        key: id,
        data: { prompt },
        actor: isChild ? 'ai_agent' : 'user',
      },
    ];
  },
  'session.inbox.delivered': taken,
  'session.inbox.cancelled': taken,
  'session.execution.started': ({ session, memory }) => {
    const next = memory.list('queued').find(([, queued]) => queued === session)?.[0];
    if (next !== undefined) memory.remember('turn', session, next);
    memory.remember('running', session, '1');
    return [];
  },
  'session.step.started': ({ data, atMs, memory }) => {
    // `started` is the time of the request. The time of the event is the time of the first byte of the answer.
    const startedMs = number(data.started) ?? atMs;
    const model = fieldsOf(data.model);
    const step = word(data.assistantMessageID);
    if (step !== undefined) memory.remember('step', step, JSON.stringify([model.id, model.providerID, startedMs]));
    return [
      {
        event_type: 'Model.Requested',
        key: step,
        data: { model_id: word(model.id) },
        facts: { model: word(model.id), provider: servedBy(model.providerID) },
        atMs: startedMs,
      },
    ];
  },
  'session.step.streamed': ({ data, atMs, memory }) => {
    const step = word(data.assistantMessageID);
    if (step !== undefined && atMs !== undefined) memory.remember('streamed', step, String(atMs));
    return [];
  },
  'session.step.ended': stepped,
  // The execution reports the failure; this event reports the tokens.
  'session.step.failed': happened => {
    const { data, session, memory } = happened;
    const asked = memory.recall('step', word(data.assistantMessageID) ?? '');
    if (asked !== undefined) memory.remember('failed', session, asked);
    return data.tokens === undefined ? [] : stepped(happened);
  },
  'session.text.ended': ({ data, session, memory }) => {
    memory.remember('answer', session, String(text(data.text)?.length ?? 0));
    return [];
  },
  'session.reasoning.ended': ({ data }) => {
    const step = word(data.assistantMessageID);
    return [thought(step && `${step}:${number(data.ordinal) ?? 0}`, data.text)];
  },
  'session.tool.input.started': ({ data, memory }) => {
    // Of all events of a call, only this one names the tool.
    const call = callOf(data);
    if (call !== undefined) memory.remember('tool', call, text(data.name) ?? '');
    return [];
  },
  'session.tool.called': ({ data, atMs, memory }) => {
    const call = callOf(data);
    if (call !== undefined && atMs !== undefined) memory.remember('called', call, String(atMs));
    const tool = toolOf(call, memory);
    const input = fieldsOf(data.input);
    return [
      {
        event_type: 'Action.Before',
        key: call,
        data: { action: { name: actionName(tool), input } },
        facts: { call, tool, launches: launchOf(tool, input, {}) },
      },
    ];
  },
  'session.tool.success': happened => {
    // A command that returned an error is a success too.
    const exitCode = number(metadataOf(happened.data).exit);
    const success = exitCode === undefined || exitCode === 0;
    return [called(happened, { success, exit_code: exitCode }, { error_type: success ? undefined : 'exit_code' })];
  },
  'session.tool.failed': happened => {
    const error = fieldsOf(happened.data.error);
    const aborted = error.type === 'aborted';
    return [
      called(
        happened,
        { success: false, error_message: text(error.message) },
        { interrupted: aborted || undefined, error_type: aborted ? 'interrupted' : errorKind(text(error.type)) },
      ),
    ];
  },
  'session.retry.scheduled': ({ data }) => [retried(data.attempt, fieldsOf(data.error).message)],
  'session.execution.succeeded': answered,
  'session.execution.failed': happened => {
    const error = fieldsOf(happened.data.error);
    return failed(happened, text(error.type), error.message);
  },
  // The reason is `shutdown` even if the user refused a call.
  'session.execution.interrupted': interrupted,
  'session.compaction.started': ({ data }) => [compaction(data, 'before')],
  'session.compaction.ended': ({ data }) => [compaction(data, 'after')],
  'session.agent.selected': chosen,

  // ---- questions to the user, and answers
  'permission.asked': askedAbout,
  // Events of V1 up to 1.0.
  'permission.updated': askedAbout,
  'permission.replied': ({ data, session, atMs, memory }) => {
    const request = word(data.requestID) ?? word(data.permissionID);
    const isRefused = (data.reply ?? data.response) === 'reject';
    const [asked, askedMs] = listed(request && memory.recall('request', request));
    const call = word(asked);
    if (call !== undefined && typeof askedMs === 'number' && atMs !== undefined) {
      memory.remember('waited', call, String(waitedMs(call, memory) + Math.max(0, atMs - askedMs)));
    }
    // `opencode run` refuses a question in place of a person.
    const isRefusedByMode = isRefused && memory.recall('unattended', session) !== undefined;
    const decision = { source: isRefusedByMode ? 'mode' : 'user', basis: 'observed' } as const;
    const actor = isRefusedByMode ? 'system' : 'user';
    const facts = { call, tool: toolOf(call, memory), decision };
    const name = actionName(facts.tool);
    if (!isRefused) {
      return [
        {
          event_type: 'Agent.Decision',
          key: request && `replied:${request}`,
          data: { decision: { outcome: 'allow' }, action_name: name },
          actor: 'user',
          facts,
        },
      ];
    }
    const blocked: Reading = {
      event_type: 'Policy.Blocked',
      key: request,
      data: { policy_name: 'permission', action: { name } },
      actor,
      facts,
    };
    if (call === undefined) return [blocked];
    // The failure event that follows is ignored, because it has no further facts.
    return [
      blocked,
      {
        event_type: 'Action.After',
        key: call,
        data: { action: { name }, decision: { outcome: 'deny' } },
        facts,
      },
    ];
  },
  'question.asked': ({ data }) => [questioned(word(data.id), word(fieldsOf(data.tool).callID))],
  'form.created': ({ data }) => {
    const form = fieldsOf(data.form);
    const metadata = fieldsOf(form.metadata);
    return metadata.kind === 'question' ? [questioned(word(form.id), callOf(fieldsOf(metadata.tool)))] : [];
  },
};

const edges = new Set([
  'session.created',
  'session.deleted',
  'dispose',
  'chat.message',
  'session.idle',
  'session.error',
  'session.inbox.enqueued',
  'session.execution.succeeded',
  'session.execution.failed',
  'session.execution.interrupted',
]);

/** Events that the plugin does not forward: other events report the same, or one process for each would be too many. */
const unasked = new Set(['tool.execute.before', 'tool.execute.after', 'execute.before', 'execute.after']);

const events: Record<string, HookEvent> = Object.fromEntries(
  Object.entries(readers).map(([name, read]) => [
    name,
    {
      ...(edges.has(name) ? { edge: true } : {}),
      ...(unasked.has(name) ? { register: false } : {}),
      // Each piece of thought would start a process.
      ...(name === 'session.reasoning.ended' ? { register: 'named' } : {}),
      read: (fields, memory) => shared(fields, memory, read),
    },
  ]),
);

/** Names of events in betas of V2, with their final names. */
const formerNames: Readonly<Record<string, string>> = {
  'session.input.admitted': 'session.inbox.enqueued',
  'session.input.promoted': 'session.inbox.delivered',
  'session.prompt.admitted': 'session.inbox.enqueued',
  'session.prompt.promoted': 'session.inbox.delivered',
};

function nameOf(fields: Fields): string | undefined {
  const name = isFlat(fields) ? word(fields.hook_event_name) : word(fields.type);
  return name === undefined
    ? undefined
    : (own(formerNames, name) ?? name.replace(/^session\.input\./, 'session.inbox.'));
}

function dataOf(fields: Fields): Fields {
  if (!isFlat(fields)) return fieldsOf(fields.data ?? fields.properties);
  const { session_id, parent_id, tool_use_id, tool_name, tool_input, tool_output, model, ...rest } = fields;
  return {
    ...rest,
    sessionID: session_id,
    parentID: parent_id,
    id: tool_use_id,
    callID: tool_use_id,
    name: tool_name,
    tool: tool_name,
    input: tool_input,
    output: tool_output,
    model: isFields(model) ? model : { id: model },
  };
}

/** All values in one object, as other plugins pass it to the commands of hooks. */
const isFlat = (fields: Fields): boolean =>
  fields.type === undefined && fields.data === undefined && word(fields.hook_event_name) !== undefined;

function sessionOf(fields: Fields): string | undefined {
  const data = dataOf(fields);
  const info = fieldsOf(data.info);
  return (
    word(data.sessionID) ??
    word(info.sessionID) ??
    word(fieldsOf(info.metadata).sessionID) ??
    word(fieldsOf(data.part).sessionID) ??
    word(fieldsOf(data.form).sessionID) ??
    (nameOf(fields)?.startsWith('session.') ? word(info.id) : undefined) ??
    word(fields.session_id)
  );
}

export const openCode: Agent = {
  id: 'opencode',
  title: 'OpenCode',
  source: { docs: 'https://opencode.ai/docs/plugins/', version: '1.18.18, 2.0.32', checked: '2026-11-18' },

  signs(fields) {
    const name = nameOf(fields);
    if (name === undefined) return 0;
    const known = Object.hasOwn(events, name);
    const session = sessionOf(fields);
    if (isFlat(fields) && word(fields.opencode_version) === undefined) return known && session !== undefined ? 0.7 : 0;
    if (word(fields.opencode_version) !== undefined && session !== undefined) return known ? 1 : 0.9;
    // An unchanged event of the bus. Some events belong to the program and not to a session.
    const ofBus = /^evt_/.test(text(fields.id) ?? '') || /^ses_/.test(session ?? '');
    const bare = ofBus && /^[a-z]+(\.[a-z]+)+$/.test(name) && ('data' in fields || 'properties' in fields);
    return bare ? (known ? 0.95 : 0.7) : 0;
  },
  eventName: nameOf,
  session: fields =>
    (isFlat(fields) ? word(fields.parent_id) : undefined) ?? word(fields.session_id) ?? sessionOf(fields),
  cwd: fields => word(fields.directory) ?? word(fieldsOf(fields.location).directory),
  version: fields => word(fields.opencode_version),
  events,
  actions,
  subagents: ['general', 'explore'],
  truth,
  settles: { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' },
  transcript,
  reply: { stdout: '' },
  settings,
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: absent('the demonstration plays another agent'),
};

/** Returns the readings of an event, with the values that all of them share. */
function shared(fields: Fields, memory: Memory, read: (happened: Happened) => Reading[]): Reading[] {
  const session = sessionOf(fields) ?? '';
  const isChild = session !== (openCode.session(fields, {}) ?? session);
  const atMs = number(fields.created) ?? number(fields.event_time);
  // Read before the event, which may end the turn.
  const turn = memory.recall('turn', session);
  const readings = read({ data: dataOf(fields), session, isChild, atMs, memory });
  const agent = memory.recall('agent', session);
  return readings.map(reading => ({
    ...reading,
    facts: {
      turn: memory.recall('turn', session) ?? turn,
      agent: isChild ? agent : undefined,
      ...withoutUnknown(reading.facts ?? {}),
    },
    atMs: reading.atMs ?? atMs,
    mode: modeOf(agent),
    subagent: isChild ? session : undefined,
  }));
}

const withoutUnknown = (facts: NonNullable<Reading['facts']>): NonNullable<Reading['facts']> =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));

const thought = (key: string | undefined, thinking: unknown, atMs?: number): Reading => ({
  event_type: 'Agent.Decision',
  key: key && `thought:${key}`,
  data: { summary_length: text(thinking)?.length },
  atMs,
});

const retried = (attempt: unknown, reason: unknown): Reading => ({
  event_type: 'Retry.Triggered',
  data: { attempt: number(attempt), reason: text(reason) },
  actor: 'system',
});

function compaction(data: Fields, phase: 'before' | 'after'): Reading {
  const trigger = data.reason === 'auto' || data.reason === 'manual' ? data.reason : undefined;
  return { event_type: 'Context.Compaction', data: { trigger }, actor: 'system', facts: { phase } };
}
