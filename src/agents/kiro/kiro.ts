/**
 * Kiro. It has three contracts, which the payload distinguishes. Facts: its documentation, issues and measurements up
 * to CLI 2.19 and 3.0, IDE 1.0; checked 2026-11-18:
 *
 *   A  CLI 2.x: camelCase names, hooks embedded in an agent's file. Headless runs have no session id.
 *   B  CLI 3.x and IDE 1.x: PascalCase names, ids that begin with `sess_`.
 *   C  IDE 0.x: stdin is empty, and some hooks have an environment variable. The payload is the output of the command
 *      beside the hook, marked `"kiro": "ide-0"`: the length of a prompt, and the variable's facts about a tool.
 *
 * None of them has ids of turns or calls, times, tokens, or an event for the end of a session. Calls run one after the
 * other.
 */
import type { Fields } from '../../event/event.ts';
import { hexDigest } from '../../lib/hash.ts';
import { fieldsOf, isFields, number, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Memory, type Registration } from '../contract/contract.ts';
import { type Call, closeCall, openCall } from '../shared/pairing.ts';
import { settings } from './settings.ts';
import { actionName, actions, exitCodeOf, isExitStatus, toolFacts } from './tools.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';

const prompted: HookEvent = {
  edge: true,
  read: fields => [
    {
      event_type: 'Prompt.Submitted',
      // Some builds of the IDE send an empty prompt.
      data: { prompt: word(fields.prompt), prompt_length: number(fields.prompt_length) },
      actor: 'user',
    },
  ],
};

const stopped: HookEvent = {
  edge: true,
  read: fields => [{ event_type: 'Agent.Response', data: { response: text(fields.assistant_response), final: true } }],
};

const before: HookEvent = {
  read(fields, memory) {
    // Contract C does not state which tool will run.
    if (fields.tool_name === undefined) return [];
    const call = openCall(callOf(fields), memory);
    return [
      {
        event_type: 'Action.Before',
        key: call,
        data: { action: { name: actionName(toolName(fields)), input: fieldsOf(fields.tool_input) } },
        facts: { ...toolFacts(toolName(fields)), call },
      },
    ];
  },
};

const after: HookEvent = {
  read(fields, memory) {
    const call = fields.tool_name === undefined ? undefined : closeCall(callOf(fields), memory, 'oldest of its tool');
    const { success, exitCode } = outcome(fields);
    return [
      {
        event_type: 'Action.After',
        key: call,
        data: {
          action: {
            name: actionName(toolName(fields)),
            input: fieldsOf(fields.tool_input),
            result: success === undefined ? undefined : { success, exit_code: exitCode },
          },
        },
        output: fields.tool_response,
        facts: {
          ...toolFacts(toolName(fields)),
          call,
          error_type: success === false ? (exitCode === undefined ? 'tool_error' : 'exit_code') : undefined,
        },
      },
    ];
  },
};

const events: Record<string, HookEvent> = {
  // Contract A.
  agentSpawn: {
    // Sent again whenever the user selects another agent.
    edge: true,
    read: () => [{ event_type: 'Session.Start', key: 'start', data: {} }],
  },
  userPromptSubmit: prompted,
  preToolUse: before,
  postToolUse: after,
  stop: stopped,
  // Contract B.
  SessionStart: {
    // Sent at the start and at a resume of a session. The payload is the same for both.
    edge: true,
    read: (_, memory) => [
      { event_type: 'Session.Start', data: { start_reason: isFirst('start', memory) ? undefined : 'resume' } },
    ],
  },
  UserPromptSubmit: prompted,
  PreToolUse: before,
  PostToolUse: after,
  Stop: stopped,
  PreTaskExec: { read: () => [{ event_type: 'Agent.Plan.Start', data: {} }] },
  PostTaskExec: { read: () => [{ event_type: 'Agent.Plan.End', data: {} }] },
  PostFileCreate: changed('FileCreated', 'all'),
  PostFileSave: changed('FileSaved', 'all'),
  PostFileDelete: changed('FileDeleted', 'all'),
  Manual: { register: false, read: () => [] },
  // Contract C.
  promptSubmit: { ...prompted, register: false },
  agentStop: { ...stopped, register: false },
  fileCreated: changed('FileCreated'),
  fileEdited: changed('FileSaved'),
  fileDeleted: changed('FileDeleted'),
  userTriggered: { register: false, read: () => [] },
};

const camelCase = new Set(['agentSpawn', 'userPromptSubmit', 'preToolUse', 'postToolUse', 'stop']);

/** All fields of hooks of contracts A and B. */
const inputs = new Set([
  'hook_event_name',
  'cwd',
  'session_id',
  'prompt',
  'tool_name',
  'tool_input',
  'tool_response',
  'assistant_response',
]);

/** Fields of other agents that use the same event names. */
const others = [
  'conversation_id',
  'generation_id',
  'cursor_version',
  'sessionId',
  'transcript_path',
  'permission_mode',
];

export const kiro: Agent = {
  id: 'kiro',
  title: 'Kiro',
  source: { docs: 'https://kiro.dev/docs/cli/hooks/', version: 'CLI 2.19, 3.0, IDE 1.0', checked: '2026-11-18' },

  signs(fields) {
    const name = text(fields.hook_event_name);
    if (name === undefined) return 0;
    const known = Object.hasOwn(events, name);
    if (fields.kiro === 'ide-0') return known ? 1 : 0.6;
    const closed = Object.keys(fields).every(key => inputs.has(key));
    if (/^sess_/.test(text(fields.session_id) ?? '')) return known ? (closed ? 0.95 : 0.6) : 0.5;
    if (!camelCase.has(name) || others.some(key => key in fields)) return 0;
    const isSure =
      name === 'agentSpawn' || 'assistant_response' in fields || '__tool_use_purpose' in fieldsOf(fields.tool_input);
    // A later version may send further fields.
    if (!closed) return isSure ? 0.8 : word(fields.session_id) === undefined ? 0 : 0.45;
    return isSure ? 0.95 : word(fields.session_id) === undefined ? 0.5 : 0.6;
  },
  eventName: fields => word(fields.hook_event_name),
  session(fields, sender) {
    const cwd = text(fields.cwd) ?? sender.cwd;
    if (word(fields.session_id) !== undefined) return word(fields.session_id);
    // Headless runs and the old IDE have no session id: the process that ran the hook, and its folder, identify the
    // session.
    if (sender.ppid === undefined || cwd === undefined) return undefined;
    return `local-${hexDigest(sender.boot ?? '', sender.ppid, cwd).slice(0, 24)}`;
  },
  cwd: fields => word(fields.cwd),
  events,
  actions,
  truth,
  // The record of a turn is written some time after its end and has no tokens, so spans do not wait for it.
  settles: { action: 'hook', turn: 'hook', subagent: 'hook', session: 'transcript' },
  transcript,
  // The output of some hooks is sent to the model.
  reply: { stdout: '' },
  settings,
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: absent('the demonstration plays another agent'),
};

/** Reports a file that the agent or the user changed. */
function changed(name: 'FileCreated' | 'FileSaved' | 'FileDeleted', register: Registration = false): HookEvent {
  return { register, read: () => [{ event_type: `vendor.kiro.${name}`, data: {}, actor: 'system' }] };
}

function isFirst(what: string, memory: Memory): boolean {
  const first = memory.recall('seen', what) === undefined;
  memory.remember('seen', what, '1');
  return first;
}

/** Reads the variable of the IDE with facts about a tool. */
const reported = (fields: Fields): Fields => fieldsOf(fields.reported);

const toolName = (fields: Fields): string => word(fields.tool_name) ?? word(reported(fields).toolName) ?? 'unknown';

const callOf = (fields: Fields): Call => ({ tool: toolName(fields), input: fields.tool_input });

/** The tool of a command succeeds with any exit code, so the exit status in its text decides. */
function outcome(fields: Fields): { success?: boolean; exitCode?: number } {
  const reportedSuccess = reported(fields).toolSuccess;
  if (typeof reportedSuccess === 'boolean') return { success: reportedSuccess };
  const response = fields.tool_response;
  const exitCode = actionName(toolName(fields)) === 'shell' ? exitCodeOf(exitStatus(response)) : undefined;
  if (exitCode !== undefined) return { success: exitCode === 0, exitCode };
  const success = fieldsOf(response).success;
  return typeof success === 'boolean' ? { success } : {};
}

function exitStatus(response: unknown): unknown {
  if (typeof response === 'string') return isExitStatus(response.trim()) ? response : undefined;
  const { items, result } = fieldsOf(response);
  const parts = Array.isArray(items) ? items : Array.isArray(result) ? result : [response];
  return parts
    .filter(isFields)
    .map(part => fieldsOf(part.Json ?? part.json ?? part).exit_status)
    .find(status => status !== undefined);
}
