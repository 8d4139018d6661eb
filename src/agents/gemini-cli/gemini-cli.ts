/**
 * Gemini CLI. Facts: its source of August 2026 (0.56, 0.57 preview) and recordings of June 2026; checked 2026-11-18.
 *
 * Every hook has its time, but no id of the turn or the call. Actions of a subagent look like actions of the session,
 * and a call that was refused, cancelled or blocked has no closing hook. So in a session with a chat, the chat reports
 * calls, and hooks report prompts, answers, and the start and end of the session. Without a chat, calls pair by tool
 * and input in order, or only by tool, because another hook may have changed the input. A permanent change of the model
 * changes the session id without an event: the result is two sessions, and the first one has the transcript.
 */
import type { EndReason, Fields, StartReason } from '../../event/event.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Memory, type Reading } from '../contract/contract.ts';
import { askedCall, type Call, closeCall, openCall } from '../shared/pairing.ts';
import { readingsWith } from '../shared/readings.ts';
import { timeOf } from '../shared/times.ts';
import { settings } from './settings.ts';
import { actionName, actions, exitCodeOf } from './tools.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';

const startReasons: Record<string, StartReason> = { startup: 'new', clear: 'new', resume: 'resume' };

const endReasons: Record<string, EndReason> = {
  exit: 'exit',
  logout: 'exit',
  prompt_input_exit: 'exit',
  clear: 'manual_reset',
};

const events: Record<string, HookEvent> = {
  SessionStart: {
    edge: true,
    read: fields => [
      reading(fields, {
        event_type: 'Session.Start',
        data: { start_reason: own(startReasons, text(fields.source) ?? 'startup') },
        facts: fields.source === 'clear' ? { previous: {} } : {},
      }),
    ],
  },
  SessionEnd: {
    edge: true,
    read: (fields, memory) => [
      ...leftRunning(fields, memory),
      reading(fields, {
        event_type: 'Session.End',
        data: { end_reason: own(endReasons, text(fields.reason) ?? '') },
      }),
    ],
  },
  BeforeAgent: {
    // Also sent when a hook forces the agent to continue. Then the prompt is the reason of that hook, and the payload
    // looks the same.
    edge: true,
    read(fields, memory) {
      // A cancelled turn has no AfterAgent, and its calls have no AfterTool.
      for (const [call] of memory.list('running')) memory.forget('running', call);
      return [
        reading(fields, { event_type: 'Prompt.Submitted', data: { prompt: text(fields.prompt) }, actor: 'user' }),
      ];
    },
  },
  AfterAgent: {
    edge: true,
    read(fields, memory) {
      for (const [call] of memory.list('running')) memory.forget('running', call);
      const response = text(fields.prompt_response);
      return [
        reading(fields, {
          event_type: 'Agent.Response',
          data: { response: response === '[no response text]' ? undefined : response, final: true },
        }),
      ];
    },
  },
  BeforeTool: {
    read(fields, memory) {
      const call = openCall(callOf(fields), memory);
      if (hasChat(fields)) {
        memory.remember(
          'running',
          call,
          JSON.stringify([text(fields.tool_name) ?? 'unknown', timeOf(fields.timestamp)]),
        );
        return [];
      }
      const before = reading(fields, {
        event_type: 'Action.Before',
        key: call,
        data: { action: { name: nameOf(fields), input: fieldsOf(fields.tool_input) } },
        facts: { ...toolFacts(fields), call, launches: launchedBy(fields) },
      });
      if (fields.tool_name !== 'enter_plan_mode') return [before];
      return [before, reading(fields, { event_type: 'Agent.Plan.Start', key: call, data: { plan_type: 'plan' } })];
    },
  },
  AfterTool: {
    read(fields, memory) {
      const call = closeCall(callOf(fields), memory, 'oldest of its tool');
      if (hasChat(fields)) {
        memory.forget('running', call ?? '');
        return [];
      }
      const { error, exitCode } = outcome(fields);
      const failed = error !== undefined || (exitCode !== undefined && exitCode !== 0);
      const after = reading(fields, {
        event_type: 'Action.After',
        key: call,
        data: {
          action: {
            name: nameOf(fields),
            input: fieldsOf(fields.tool_input),
            result: { success: !failed, exit_code: exitCode, error_message: text(error?.message) },
          },
        },
        output: fieldsOf(fields.tool_response).llmContent,
        facts: {
          ...toolFacts(fields),
          call,
          launches: launchedBy(fields),
          error_type: error ? errorKind(error.type) : failed ? 'exit_code' : undefined,
        },
      });
      if (fields.tool_name !== 'exit_plan_mode') return [after];
      return [after, reading(fields, { event_type: 'Agent.Plan.End', key: call, data: { plan_type: 'plan' } })];
    },
  },
  Notification: {
    plain: ['notification_type'],
    // The user is asked. The answer is not reported, and only the kind of the dialog identifies the call.
    read(fields, memory) {
      const kind = text(fieldsOf(fields.details).type) ?? '';
      // The chat has another id for the call.
      const call = hasChat(fields) ? undefined : askedCall({ tools: own(askedTools, kind) ?? [] }, memory);
      const type = word(fields.notification_type);
      const facts = { call, decision: { source: 'unknown', basis: 'observed' } as const };
      const notified = reading(fields, {
        event_type: 'Agent.Notification',
        data: { type, message: text(fields.message) },
        actor: 'system',
        facts,
      });
      if (type !== 'ToolPermission') return [notified];
      return [
        notified,
        reading(fields, { event_type: 'Agent.Decision', data: { decision: { outcome: 'ask' } }, facts }),
      ];
    },
  },
  // Sent before every request, whether or not the context is compressed. The chat shows a compression.
  PreCompress: { register: false, read: () => [] },
  // The agent waits for each of the following hooks before it asks the model; AfterModel runs for every piece of a
  // streamed answer.
  BeforeModel: {
    register: 'all',
    read: fields => [
      reading(fields, { event_type: 'Model.Requested', data: { model_id: word(fieldsOf(fields.llm_request).model) } }),
    ],
  },
  AfterModel: { register: 'named', read: answered },
  // The same request as in BeforeModel.
  BeforeToolSelection: { register: false, read: () => [] },
};

/** Kinds of confirmation dialogs, and the tools that open them. */
const askedTools: Readonly<Record<string, readonly string[]>> = {
  exec: ['run_shell_command'],
  edit: ['replace', 'write_file'],
  info: ['web_fetch', 'google_web_search'],
  ask_user: ['ask_user'],
  exit_plan_mode: ['exit_plan_mode'],
};

const shared = new Set(['SessionStart', 'SessionEnd', 'Notification']);

export const geminiCli: Agent = {
  id: 'gemini-cli',
  aliases: ['gemini'],
  title: 'Gemini CLI',
  provider: 'gcp.gemini',
  source: { docs: 'https://geminicli.com/docs/hooks/reference/', version: '0.61.0', checked: '2026-11-19' },

  signs(fields) {
    const name = text(fields.hook_event_name);
    const path = text(fields.transcript_path);
    // The base of every hook; `transcript_path` is empty while there is no transcript.
    if (name === undefined || word(fields.session_id) === undefined || path === undefined) return 0;
    if (!Number.isFinite(Date.parse(text(fields.timestamp) ?? ''))) return 0;
    const known = Object.hasOwn(events, name);
    if (CHAT.test(path) && OWN.test(path)) return known ? 1 : 0.9;
    if (path !== '') return known && !shared.has(name) ? 0.7 : 0;
    return known ? (shared.has(name) ? 0.6 : 0.9) : 0.2;
  },
  eventName: fields => word(fields.hook_event_name),
  session: fields => word(fields.session_id),
  cwd: fields => word(fields.cwd),
  events,
  actions,
  truth,
  settles: { action: 'transcript', turn: 'transcript', subagent: 'transcript', session: 'transcript' },
  transcript,
  // Gemini CLI shows any other output to the user, also on stderr.
  reply: { stdout: '' },
  settings,
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: absent('the demonstration plays another agent'),
};

/** Forks of Gemini CLI store their chats in the same form, in a folder with another name. */
const OWN = /[\\/]\.gemini[\\/]/;
const CHAT = /[\\/]chats[\\/](?:[^\\/]+[\\/])?[^\\/]+\.jsonl?$/;

const reading = readingsWith(fields => ({ atMs: timeOf(fields.timestamp) }));

function nameOf(fields: Fields): string {
  const mcp = word(fieldsOf(fields.mcp_context).tool_name);
  return mcp === undefined ? actionName(fields.tool_name) : `mcp:${mcp}`;
}

function toolFacts(fields: Fields): NonNullable<Reading['facts']> {
  const mcp = fieldsOf(fields.mcp_context);
  const tool = word(mcp.tool_name);
  if (tool === undefined) return { tool: text(fields.tool_name) ?? 'unknown' };
  return { tool, mcp: { server: word(mcp.server_name) ?? 'unknown' } };
}

const hasChat = (fields: Fields): boolean => word(fields.transcript_path) !== undefined;

/** The chat gets the calls of an answer when all of them have ended, so calls that a signal interrupted are missing. */
function leftRunning(fields: Fields, memory: Memory): Reading[] {
  return memory.list('running').map(([call, value]) => {
    memory.forget('running', call);
    const [tool, atMs] = JSON.parse(value) as [string, number | undefined];
    const name = actionName(tool);
    return reading(fields, {
      event_type: 'Action.Before',
      key: call,
      atMs,
      data: { action: { name, input: {} } },
      facts: { tool, call },
    });
  });
}

const callOf = (fields: Fields): Call => ({ tool: text(fields.tool_name) ?? 'unknown', input: fields.tool_input });

function launchedBy(fields: Fields): NonNullable<Reading['facts']>['launches'] {
  if (fields.tool_name !== 'invoke_agent') return undefined;
  return { agent: word(fieldsOf(fields.tool_input).agent_name) };
}

/** Returns the error of the tool; without one, the exit code of its command. */
function outcome(fields: Fields): { error: Fields | undefined; exitCode: number | undefined } {
  const response = fieldsOf(fields.tool_response);
  const error = response.error === undefined || response.error === null ? undefined : fieldsOf(response.error);
  const isCommand = fields.tool_name === 'run_shell_command' && error === undefined;
  return {
    error,
    exitCode: isCommand ? exitCodeOf(text(response.llmContent), text(response.returnDisplay)) : undefined,
  };
}

/** The kinds are a closed set of the program; any other text is dropped. */
const errorKind = (kind: unknown): string =>
  /^[a-z][a-z0-9_]{0,63}$/.test(text(kind) ?? '') ? String(kind) : 'tool_error';

/**
 * Reads the last piece of an answer. Its counts leave out cached and reasoning tokens, and it has no id. So it is used
 * as the response only in a session without a transcript.
 */
function answered(fields: Fields): Reading[] {
  const response = fieldsOf(fields.llm_response);
  const candidates = Array.isArray(response.candidates) ? response.candidates : [];
  const finish = candidates.map(candidate => word(fieldsOf(candidate).finishReason)).find(Boolean);
  if (finish === undefined || word(fields.transcript_path) !== undefined) return [];
  const usage = fieldsOf(response.usageMetadata);
  const model = word(fieldsOf(fields.llm_request).model);
  return [
    reading(fields, {
      event_type: 'Model.Responded',
      data: { model_id: model, input_tokens: number(usage.promptTokenCount) },
      facts: { model, finish },
    }),
  ];
}
