/**
 * Codex CLI. Facts: the hook layer's source of August 2026 (0.149) and the published input schemas of 0.159.2, with
 * captures of 0.147.0, 0.154.0 and 0.160.0; runs of 0.169.0. Checked 2026-11-19.
 *
 * A subagent's hooks have the session id of the root, and the id of the subagent's thread as `agent_id`; `turn_id`
 * names the turn. In hooks, a shell command counts as completed with any exit code, and a call that failed, was refused
 * or was aborted has no closing hook. Only the rollout states how a call ended. In code mode, hooks report the calls of
 * a script (`exec-…`), and the rollout reports the script as well.
 */
import type { AgentMode, Fields, StartReason } from '../../event/event.ts';
import { fieldsOf, own, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Reading } from '../contract/contract.ts';
import { askedCall, type Call, closeCall, openCall, wasAsked } from '../shared/pairing.ts';
import { permissionQuestion } from '../shared/permission-question.ts';
import { permitted } from '../shared/permitted.ts';
import { readingsWith } from '../shared/readings.ts';
import { settings } from './settings.ts';
import {
  actionName,
  actions,
  answerKey,
  endKey,
  launchedBy,
  plainTool,
  spawnedThread,
  startKey,
  toolFacts,
} from './tools.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';

const startReasons: Record<string, StartReason> = { startup: 'new', clear: 'new', fork: 'new', resume: 'resume' };

const events: Record<string, HookEvent> = {
  SessionStart: {
    // Sent with the first prompt of the thread, not at the start of the program.
    edge: true,
    read(fields) {
      // `compact` continues the running session: nothing starts.
      if (fields.source === 'compact') return [];
      return [
        reading(fields, {
          event_type: 'Session.Start',
          data: { start_reason: own(startReasons, text(fields.source) ?? 'startup') },
          facts: {
            previous: fields.source === 'clear' || fields.source === 'fork' ? {} : undefined,
          },
        }),
      ];
    },
  },
  SessionEnd: {
    edge: true,
    // The reason is always `other`, so the event has no reason.
    read: fields => [reading(fields, { event_type: 'Session.End', data: {} })],
  },
  UserPromptSubmit: {
    edge: true,
    // Input that steers the running turn has the id of that turn and opens no turn.
    read: fields => [
      reading(fields, { event_type: 'Prompt.Submitted', data: { prompt: text(fields.prompt) }, actor: 'user' }),
    ],
  },
  PreToolUse: {
    read(fields, memory) {
      const call = openCall(callOf(fields), memory);
      return [
        reading(fields, {
          event_type: 'Action.Before',
          key: call,
          data: { action: { name: actionName(toolOf(fields)), input: fieldsOf(fields.tool_input) } },
          facts: {
            ...toolFacts(toolOf(fields)),
            call,
            launches: launchedBy(toolOf(fields), fieldsOf(fields.tool_input)),
          },
        }),
      ];
    },
  },
  PostToolUse: {
    read(fields, memory) {
      const call = closeCall(callOf(fields), memory);
      // Also sent for a shell command that returned an error; the payload does not show it.
      const result = fields.tool_name === 'Bash' ? undefined : { success: true };
      return [
        reading(fields, {
          event_type: 'Action.After',
          key: call,
          data: {
            action: { name: actionName(toolOf(fields)), input: fieldsOf(fields.tool_input), result },
            decision: { outcome: 'allow' },
          },
          output: fields.tool_response,
          facts: {
            ...toolFacts(toolOf(fields)),
            call,
            decision: permitted(wasAsked(call, memory), fields.permission_mode === 'bypassPermissions'),
            launches: launchedBy(toolOf(fields), fieldsOf(fields.tool_input), spawned(fields)),
          },
        }),
      ];
    },
  },
  PermissionRequest: {
    // The hook carries no id of the call, and adds the command's justification to the input.
    read(fields, memory) {
      const call = askedCall(callOf(fields), memory);
      const tool = toolOf(fields);
      return permissionQuestion(reading, fields, actionName(tool), { ...toolFacts(tool), call });
    },
  },
  SubagentStart: {
    edge: true,
    read: fields => [
      reading(fields, { event_type: 'Session.Start', key: turnKey(fields, startKey), data: { start_reason: 'new' } }),
    ],
  },
  SubagentStop: {
    edge: true,
    read: fields => [
      answer(fields, text(fields.last_assistant_message)),
      reading(fields, { event_type: 'Session.End', key: turnKey(fields, endKey), data: { end_reason: 'completed' } }),
    ],
  },
  Stop: {
    edge: true,
    read: fields => [answer(fields, text(fields.last_assistant_message))],
  },
  Interrupt: {
    // Sent instead of Stop when the user stops the running turn; the session continues.
    edge: true,
    read: fields => [
      reading(fields, {
        event_type: 'Agent.Response',
        key: turnKey(fields, answerKey),
        data: { final: true },
        facts: { interrupted: true },
      }),
    ],
  },
  PreCompact: { read: fields => [compaction(fields, 'before')] },
  PostCompact: { read: fields => [compaction(fields, 'after')] },
  'agent-turn-complete': {
    // The payload of `notify`. It reports what Stop reports, for helper threads too, but no interrupted turns.
    edge: true,
    register: false,
    read: fields => {
      const turn = word(fields['turn-id']);
      return [
        {
          event_type: 'Agent.Response',
          key: turn && answerKey(turn),
          data: { response: text(fields['last-assistant-message']), final: true },
          facts: { turn },
        },
      ];
    },
  },
};

/** `rollout-<local time>-<thread>.jsonl`, in the folder of the day or in the archive. */
const ROLLOUT = /[\\/](?:sessions[\\/].*|archived_sessions[\\/])rollout-[^\\/]+\.jsonl(?:\.zst)?$/;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/;

export const codex: Agent = {
  id: 'codex',
  title: 'Codex',
  provider: 'openai',
  source: { docs: 'https://developers.openai.com/codex/hooks', version: '0.169.0', checked: '2026-11-19' },

  signs(fields) {
    if (fields.type === 'agent-turn-complete' && word(fields['thread-id']) !== undefined) return 1;
    const name = text(fields.hook_event_name);
    const session = word(fields.session_id);
    if (name === undefined || session === undefined) return 0;
    const known = Object.hasOwn(events, name);
    if (ROLLOUT.test(text(fields.transcript_path) ?? '')) return known ? 1 : 0.9;
    // Codex documents all fields of its payloads, so an unknown field proves that the payload is from another agent.
    if (!Object.keys(fields).every(key => inputs.has(key))) return 0;
    const isOwnId = UUID_V7.test(session);
    const hasModel = word(fields.model) !== undefined;
    if (word(fields.turn_id) !== undefined && isOwnId) return known ? 0.95 : 0.6;
    if (word(fields.turn_id) !== undefined && hasModel) return known ? 0.8 : 0.3;
    if (!known || !isOwnId) return 0;
    return fields.transcript_path === null ? 0.85 : hasModel ? 0.6 : 0.3;
  },
  eventName: fields => word(fields.hook_event_name) ?? word(fields.type),
  session: fields => word(fields.session_id) ?? word(fields['thread-id']),
  cwd: fields => word(fields.cwd),
  events: Object.fromEntries(
    Object.entries(events).map(([name, event]) => [
      name,
      { ...event, read: (fields, memory) => (isMemoryWriter(fields) ? [] : event.read(fields, memory)) },
    ]),
  ),
  actions,
  subagents: ['default', 'explorer'],
  truth,
  settles: { action: 'transcript', turn: 'transcript', subagent: 'transcript', session: 'transcript' },
  transcript,
  reply: { stdout: '' },
  settings,
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: absent('the demonstration plays another agent'),
};

const inputs = new Set([
  'session_id',
  'transcript_path',
  'cwd',
  'hook_event_name',
  'model',
  'permission_mode',
  'turn_id',
  'agent_id',
  'agent_type',
  'source',
  'prompt',
  'tool_name',
  'tool_input',
  'tool_use_id',
  'tool_response',
  'agent_transcript_path',
  'stop_hook_active',
  'last_assistant_message',
  'trigger',
  'reason',
]);

/**
 * Returns true for the background thread of the memories feature. It does not belong to any session. Seen in captures
 * of 0.160.0.
 */
const isMemoryWriter = (fields: Fields): boolean =>
  fields.transcript_path === null && /[\\/]\.codex[\\/]memories[\\/]?$/.test(text(fields.cwd) ?? '');

const reading = readingsWith(fields => ({
  facts: factsOf(fields),
  subagent: word(fields.agent_id),
  mode: agentMode(fields),
}));

function factsOf(fields: Fields): NonNullable<Reading['facts']> {
  return {
    turn: word(fields.turn_id),
    agent: word(fields.agent_type),
    permission_mode: word(fields.permission_mode),
    model: word(fields.model),
  };
}

function agentMode(fields: Fields): AgentMode | undefined {
  const mode = text(fields.permission_mode);
  return mode === undefined ? undefined : mode === 'plan' ? 'plan' : 'agent';
}

const answer = (fields: Fields, response: string | undefined): Reading =>
  reading(fields, {
    event_type: 'Agent.Response',
    key: turnKey(fields, answerKey),
    data: { response, final: true },
  });

/**
 * Returns the key of the end of a turn, which hooks, `notify` and the rollout share. If a hook makes the turn continue,
 * its end is reported again with the same id.
 */
function turnKey(fields: Fields, keyOf: (turn: string) => string): string | undefined {
  const turn = word(fields.turn_id);
  return turn === undefined || fields.stop_hook_active === true ? undefined : keyOf(turn);
}

const toolOf = (fields: Fields): string => plainTool(word(fields.tool_name) ?? 'unknown');

function callOf(fields: Fields): Call {
  const { description: _description, ...input } = fieldsOf(fields.tool_input);
  return {
    id: word(fields.tool_use_id),
    subagent: word(fields.agent_id),
    tool: toolOf(fields),
    input,
  };
}

/** Returns the thread that a call spawned. */
function spawned(fields: Fields): string | undefined {
  const response = text(fields.tool_response);
  return response === undefined ? word(fieldsOf(fields.tool_response).agent_id) : spawnedThread(response);
}

function compaction(fields: Fields, phase: 'before' | 'after'): Reading {
  const trigger = text(fields.trigger);
  return reading(fields, {
    event_type: 'Context.Compaction',
    data: { trigger: trigger === 'auto' || trigger === 'manual' ? trigger : undefined },
    actor: 'system',
    facts: { phase },
  });
}
