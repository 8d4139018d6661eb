/**
 * GitHub Copilot: CLI, cloud agent, app, and VS Code. Facts: the vendor's hook reference of autumn 2026, VS Code's hook
 * pages of 2026-10, measurements of CLI 1.0.41 to 1.0.102, recordings of VS Code of 2026-02 and 2026-05;
 * checked 2026-11-19.
 *
 * The spelling of a hook's name in the settings decides the form of its payload. A camelCase name gives a camelCase
 * payload without the name of the event. A PascalCase name gives a snake_case payload with the name. VS Code's own chat
 * agent sends a third form, in which calls have ids; in the other forms, calls pair by tool and arguments, in order. No
 * hook has a turn, a model or tokens. In the cloud, a payload may lack the session's id. Then a job is one session,
 * which the process that runs the hooks identifies.
 *
 * Hooks of a subagent of the CLI have the session id of the subagent, and do not name the subagent that starts. The event
 * log of the CLI has both facts, so the log reports the events of subagents.
 */
import type { EndReason, Facts, Fields, StartReason } from '../../event/event.ts';
import { hexDigest } from '../../lib/hash.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Memory, type Reading } from '../contract/contract.ts';
import { askedCall, type Call, closeCall, openCall, wasAsked } from '../shared/pairing.ts';
import { permissionQuestion } from '../shared/permission-question.ts';
import { readingsWith } from '../shared/readings.ts';
import { settings } from './settings.ts';
import { actions, exitCodeOf, inputOf, launchedBy, type Tool, toolOf } from './tools.ts';
import { CHAT_LOG, EVENT_LOG, transcript } from './transcript.ts';
import { truth } from './truth.ts';

const startReasons: Record<string, StartReason> = { startup: 'new', new: 'new', resume: 'resume' };

const endReasons: Record<string, EndReason> = { complete: 'completed', user_exit: 'exit' };

const abortReasons: Record<string, EndReason> = { error: 'error', timeout: 'idle_timeout' };

const notificationTypes: Record<string, string> = { permission_prompt: 'ToolPermission', agent_idle: 'IdleTimeout' };

const sessionStart: HookEvent = {
  edge: true,
  // If this payload has the first prompt, a separate event repeats the prompt.
  read: fields => [
    reading(fields, {
      event_type: 'Session.Start',
      data: { start_reason: own(startReasons, text(fields.source) ?? 'new') },
    }),
  ],
};

const sessionEnd: HookEvent = {
  edge: true,
  read(fields) {
    const reason = text(fields.reason) ?? 'complete';
    const ended = own(endReasons, reason);
    if (ended !== undefined) return [reading(fields, { event_type: 'Session.End', data: { end_reason: ended } })];
    const aborted = reading(fields, {
      event_type: 'Session.Abort',
      data: { end_reason: own(abortReasons, reason) },
    });
    if (reason !== 'error') return [aborted];
    return [reading(fields, { event_type: 'Agent.Error', data: { error_type: 'UnhandledException' } }), aborted];
  },
};

const prompted: HookEvent = {
  edge: true,
  read: fields => [
    reading(fields, { event_type: 'Prompt.Submitted', data: { prompt: text(fields.prompt) }, actor: 'user' }),
  ],
};

const beforeAction: HookEvent = {
  read(fields, memory) {
    const { action, facts, input } = toolUse(fields);
    const call = openCall(callOf(fields), memory);
    return [
      reading(fields, {
        event_type: 'Action.Before',
        key: call,
        data: { action: { name: action, input } },
        facts: { ...facts, call, launches: launchedBy(action, input) },
      }),
    ];
  },
};

const afterAction: HookEvent = {
  read(fields, memory) {
    const { action, facts, input } = toolUse(fields);
    const call = closeCall(callOf(fields), memory);
    const judged = letThrough(call, memory);
    const result = fieldsOf(fields.toolResult ?? fields.tool_result);
    const kind = text(result.resultType) ?? text(result.result_type) ?? 'success';
    // Older builds reported failures and refusals here too.
    const denied = kind === 'denied';
    const exitCode = exitCodeOf(action, result.textResultForLlm ?? result.text_result_for_llm ?? fields.tool_response);
    const success = denied ? undefined : kind === 'success' && (exitCode ?? 0) === 0;
    return [
      reading(fields, {
        event_type: 'Action.After',
        key: call,
        data: {
          action: { name: action, input, result: denied ? undefined : { success, exit_code: exitCode } },
          decision: denied ? { outcome: 'deny' } : judged && { outcome: 'allow' },
        },
        output: result.textResultForLlm ?? result.text_result_for_llm ?? fields.tool_response,
        facts: {
          ...facts,
          call,
          launches: launchedBy(action, input),
          error_type: success === false ? ((exitCode ?? 0) === 0 ? 'tool_error' : 'exit_code') : undefined,
          decision: denied ? { source: 'unknown', basis: 'observed' } : judged,
        },
      }),
    ];
  },
};

const failedAction: HookEvent = {
  read(fields, memory) {
    const { action, facts, input } = toolUse(fields);
    const call = closeCall(callOf(fields), memory);
    const judged = letThrough(call, memory);
    return [
      reading(fields, {
        event_type: 'Action.After',
        key: call,
        data: {
          action: { name: action, input, result: { success: false, error_message: text(fields.error) } },
          decision: judged && { outcome: 'allow' },
        },
        facts: { ...facts, call, error_type: 'tool_error', decision: judged },
      }),
    ];
  },
};

/** A call that ran may have been allowed by a rule or by the user, since rules apply before the user is asked. */
const letThrough = (call: string | undefined, memory: Memory): NonNullable<Facts['decision']> | undefined =>
  wasAsked(call, memory) ? { source: 'unknown', basis: 'inferred' } : undefined;

const permissionRequest: HookEvent = {
  read(fields, memory) {
    const { action, facts: tool } = toolUse(fields);
    const call = askedCall(callOf(fields), memory);
    return permissionQuestion(reading, fields, action, { ...tool, call });
  },
};

/** The CLI writes the answer of the agent only to its event log. */
const stopped: HookEvent = {
  edge: true,
  read: fields => [
    reading(fields, {
      event_type: 'Agent.Response',
      data: { response: text(fields.last_assistant_message), final: true },
    }),
  ],
};

const subagentStarted: HookEvent = {
  edge: true,
  plain: ['agentName'],
  read(fields) {
    const id = word(fields.agent_id);
    const agent = agentOf(fields);
    if (id === undefined) return [aboutSubagent(fields)];
    return [
      reading(fields, {
        event_type: 'Session.Start',
        key: id,
        data: { start_reason: 'new' },
        subagent: id,
        facts: { agent },
      }),
    ];
  },
};

const subagentStopped: HookEvent = {
  edge: true,
  plain: ['agentName'],
  read(fields) {
    const id = word(fields.agent_id);
    // The CLI names an instance here, and its event log reports the subagent under another id.
    if (id === undefined || EVENT_LOG.test(text(fields.transcript_path) ?? '')) return [aboutSubagent(fields)];
    const facts = { agent: agentOf(fields) };
    return [
      reading(fields, {
        event_type: 'Agent.Response',
        data: { response: text(fields.last_assistant_message), final: true },
        subagent: id,
        facts,
      }),
      reading(fields, {
        event_type: 'Session.End',
        key: id,
        data: { end_reason: 'completed' },
        subagent: id,
        facts,
      }),
    ];
  },
};

const errorOccurred: HookEvent = {
  read(fields) {
    const error = fieldsOf(fields.error);
    const message = text(error.message);
    const kind = errorKind(error.name);
    const context = text(fields.errorContext) ?? text(fields.error_context);
    const facts = { error_type: kind };
    if (context === 'model_call') {
      // The turn continues; only a permanent failure ends it.
      if (fields.recoverable === true) {
        return [reading(fields, { event_type: 'Retry.Triggered', data: { reason: message }, actor: 'system', facts })];
      }
      return [
        reading(fields, { event_type: 'Model.Failed', data: { error_type: kind, error_message: message }, facts }),
        reading(fields, {
          event_type: 'Agent.Error',
          data: { error_type: 'ModelError', error_message: message, origin_event: 'Model.Failed' },
          facts,
        }),
      ];
    }
    return [
      reading(fields, {
        event_type: 'Agent.Error',
        data: {
          error_type: context === 'tool_execution' ? 'ToolFailed' : 'UnhandledException',
          error_message: message,
        },
        facts,
      }),
    ];
  },
};

const preCompact: HookEvent = {
  read(fields) {
    const trigger = fields.trigger === 'auto' || fields.trigger === 'manual' ? fields.trigger : undefined;
    return [
      reading(fields, {
        event_type: 'Context.Compaction',
        data: { trigger },
        actor: 'system',
        facts: { phase: 'before' },
      }),
    ];
  },
};

const notified: HookEvent = {
  plain: ['notification_type'],
  read(fields) {
    const kind = word(fields.notification_type);
    return [
      reading(fields, {
        event_type: 'Agent.Notification',
        data: { type: own(notificationTypes, kind ?? '') ?? kind, message: text(fields.message) },
        actor: 'system',
      }),
    ];
  },
};

/** Repeats the prompt in the form in which it is sent to the model. */
const transformed: HookEvent = { register: false, read: () => [] };

/**
 * The CLI writes an event log with ids, outcomes and decisions, which its hooks do not have. So in sessions of the CLI
 * the log reports these events, and the hook only triggers the reading of the log.
 */
const unlessLogged = (event: HookEvent): HookEvent => ({
  ...event,
  read: (fields, memory) => (isLogged(fields) ? [] : event.read(fields, memory)),
});

/** A payload under a camelCase name does not name its event, so hooks are registered under the other spelling. */
const unnamed = (event: HookEvent): HookEvent => ({ ...event, register: false });

const events: Record<string, HookEvent> = {
  sessionStart: unnamed(sessionStart),
  sessionEnd: unnamed(sessionEnd),
  userPromptSubmitted: unnamed(unlessLogged(prompted)),
  userPromptTransformed: transformed,
  preToolUse: unnamed(unlessLogged(beforeAction)),
  permissionRequest: unnamed(unlessLogged(permissionRequest)),
  postToolUse: unnamed(unlessLogged(afterAction)),
  postToolUseFailure: unnamed(unlessLogged(failedAction)),
  // From older descriptions.
  preToolUseFailure: unnamed(failedAction),
  agentStop: unnamed(unlessLogged(stopped)),
  // There is no PascalCase name for this event.
  subagentStart: unlessLogged(subagentStarted),
  subagentStop: unnamed(unlessLogged(subagentStopped)),
  errorOccurred: unnamed(unlessLogged(errorOccurred)),
  preCompact: unnamed(unlessLogged(preCompact)),
  SessionStart: sessionStart,
  SessionEnd: sessionEnd,
  UserPromptSubmit: unlessLogged(prompted),
  PreToolUse: unlessLogged(beforeAction),
  PermissionRequest: unlessLogged(permissionRequest),
  PostToolUse: unlessLogged(afterAction),
  PostToolUseFailure: unlessLogged(failedAction),
  Stop: unlessLogged(stopped),
  SubagentStart: { ...unlessLogged(subagentStarted), register: false },
  SubagentStop: unlessLogged(subagentStopped),
  ErrorOccurred: unlessLogged(errorOccurred),
  PreCompact: unlessLogged(preCompact),
  Notification: notified,
};

function signs(fields: Fields): number {
  const isOwn =
    isLog(text(fields.transcriptPath)) ||
    isLog(text(fields.transcript_path)) ||
    text(fields.sessionId)?.startsWith(CHAT_URI) === true ||
    text(fields.tool_use_id)?.includes(VSCODE_ID) === true;
  if (isOwn) return 1;
  if (timeOf(fields) === undefined) return 0;
  const name = eventName(fields);
  if (name === undefined) return signsOfShape(fields);
  const known = Object.hasOwn(events, name);
  if (word(fields.sessionId) !== undefined) return known ? 0.8 : 0.3;
  if (word(fields.session_id) === undefined) return 0;
  // The payload has Claude Code's names and fields, and a time. Other agents send a time too: a transcript in another
  // folder than above indicates such an agent.
  if ('transcript_path' in fields) return known && !shared.has(name) ? 0.6 : 0;
  return known ? 0.7 : 0.3;
}

/** Payloads of the CLI that do not name their event: the time is a number, and the fields are those of an event. */
function signsOfShape(fields: Fields): number {
  const shape = typeof fields.timestamp === 'number' ? eventByShape(fields) : undefined;
  if (shape === undefined || text(fields.cwd) === undefined) return 0;
  const telling = ['toolArgs', 'toolResult', 'stopReason', 'errorContext', 'transformedPrompt', 'agentName'];
  return telling.some(key => key in fields) ? 0.9 : 'sessionId' in fields ? 0.7 : 0.5;
}

export const copilot: Agent = {
  id: 'copilot',
  title: 'GitHub Copilot',
  provider: 'github',
  source: {
    docs: 'https://docs.github.com/en/copilot/reference/hooks-configuration',
    version: 'CLI 1.0.102, VS Code 1.109',
    checked: '2026-11-19',
  },

  signs,
  eventName,
  eventByShape,
  session(fields, sender) {
    // Hooks inside a subagent have the id of the subagent.
    const logged = EVENT_LOG.exec(text(fields.transcriptPath) ?? text(fields.transcript_path) ?? '')?.[1];
    if (logged !== undefined) return logged;
    const id = word(fields.sessionId) ?? word(fields.session_id);
    const agent = word(fields.agent_id) ?? word(fields.agentId);
    if (id !== undefined) return conversationOf(id === agent ? (word(fields.parent_agent_id) ?? id) : id);
    if (sender.ppid === undefined) return undefined;
    return `job-${hexDigest(sender.boot ?? '', sender.ppid, text(fields.cwd) ?? sender.cwd ?? '').slice(0, 24)}`;
  },
  // An old VS Code sent the folder of the hook file.
  cwd: fields => word(text(fields.cwd)?.replace(/[\\/]\.github[\\/]hooks[\\/]?$/, '')),
  events,
  actions,
  subagents: ['general-purpose', 'explore', 'task'],
  truth,
  settles: { action: 'transcript', turn: 'transcript', subagent: 'transcript', session: 'transcript' },
  transcript,
  // `{}` would work too. Any decision would skip the question to the user.
  reply: { stdout: '' },
  settings,
  interchange: async () => {
    const { copilotCli, vsCodeCopilot } = await import('./interchange.ts');
    return [copilotCli, vsCodeCopilot];
  },
  demo: absent('the demonstration plays another agent'),
};

/** Names of events that other agents with a time use too. */
const shared = new Set(['SessionStart', 'SessionEnd', 'Notification', 'PreCompact']);

const CHAT_URI = 'vscode-chat-session://local/';
const VSCODE_ID = '__vscode-';

const isLog = (path: string | undefined): boolean =>
  path !== undefined && (EVENT_LOG.test(path) || CHAT_LOG.test(path));

/**
 * Returns true for the CLI: its hooks name the event log or no transcript; hooks of VS Code name a transcript or a
 * call.
 */
function isLogged(fields: Fields): boolean {
  const id = text(fields.sessionId) ?? text(fields.session_id) ?? '';
  if (!SESSION_ID.test(id) || fields.tool_use_id !== undefined || fields.hookEventName !== undefined) return false;
  const path = text(fields.transcriptPath) ?? text(fields.transcript_path);
  return path === undefined || EVENT_LOG.test(path);
}

const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function eventName(fields: Fields): string | undefined {
  return word(fields.hook_event_name) ?? word(fields.hookEventName);
}

/** Returns the event of a camelCase payload, which has no name: each event has characteristic fields. */
function eventByShape(fields: Fields): string | undefined {
  const has = (key: string): boolean => fields[key] !== undefined;
  if (has('errorContext')) return 'errorOccurred';
  if (has('transformedPrompt')) return 'userPromptTransformed';
  if (has('prompt')) return 'userPromptSubmitted';
  if (has('toolResult')) return 'postToolUse';
  if (has('toolName'))
    return has('error') ? 'postToolUseFailure' : has('toolArgs') ? 'preToolUse' : 'permissionRequest';
  if (has('agentId') || (has('agentName') && has('stopReason'))) return 'subagentStop';
  if (has('agentName')) return 'subagentStart';
  if (has('stopReason')) return 'agentStop';
  if (has('trigger')) return 'preCompact';
  if (has('reason')) return 'sessionEnd';
  if (has('source')) return 'sessionStart';
  return undefined;
}

/** An old VS Code named the session by an address that contains its id. */
function conversationOf(id: string): string {
  if (!id.startsWith(CHAT_URI)) return id;
  try {
    const decoded = atob(id.slice(CHAT_URI.length));
    return /^[\w-]{1,64}$/.test(decoded) ? decoded : id;
  } catch {
    // The address has another form: the whole address is the id.
    return id;
  }
}

function timeOf(fields: Fields): number | undefined {
  const { timestamp } = fields;
  const atMs = typeof timestamp === 'string' ? Date.parse(timestamp) : number(timestamp);
  return atMs === undefined || Number.isNaN(atMs) ? undefined : atMs;
}

const reading = readingsWith(fields => ({ atMs: timeOf(fields) }));

interface ToolUse extends Tool {
  input: Fields;
}

const toolUse = (fields: Fields): ToolUse => ({
  ...toolOf(text(fields.toolName) ?? text(fields.tool_name) ?? 'unknown'),
  input: inputOf(fields.toolArgs ?? fields.tool_input ?? fields.toolInput),
});

/** Two hooks of one call may spell the tool differently, so the call is identified by its action. */
function callOf(fields: Fields): Call {
  const { action, input } = toolUse(fields);
  return { id: word(text(fields.tool_use_id)?.split(VSCODE_ID, 1)[0]), tool: action, input };
}

const agentOf = (fields: Fields): string | undefined =>
  word(fields.agentType) ?? word(fields.agent_type) ?? word(fields.agentName) ?? word(fields.agent_name);

function aboutSubagent(fields: Fields): Reading {
  const native = eventName(fields) ?? eventByShape(fields) ?? 'subagent';
  return reading(fields, {
    event_type: `vendor.copilot.${native}`,
    data: { agentName: agentOf(fields) },
    facts: { agent: agentOf(fields), fields: ['agentName'] },
  });
}

/** Returns the name of a class of errors, if it is a name. */
const errorKind = (name: unknown): string => (/^[A-Za-z][\w.]{0,63}$/.test(text(name) ?? '') ? String(name) : '_OTHER');
