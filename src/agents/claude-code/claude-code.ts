/**
 * Claude Code. Facts: official hook documentation and changelog up to 2.1.240, captures of 2.1.215 to 2.1.289, runs
 * of 2.1.327; checked 2026-11-19.
 *
 * Every hook of a subagent has the session id of the parent; only `agent_id` identifies the subagent. `prompt_id` names
 * the turn. The hook of a queued prompt has the id of the running turn, and the turn of that prompt later starts
 * without a hook. Fields that early documents name differently (`subagent_type`, `error_type`, `tool_use_ids`) are read
 * under both names.
 */
import type { EndReason, Fields, StartReason } from '../../event/event.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import type { Agent, HookEvent, Memory, Reading } from '../contract/contract.ts';
import { askedCall, type Call, closeCall, openCall, wasAsked } from '../shared/pairing.ts';
import { permissionQuestion } from '../shared/permission-question.ts';
import { permitted } from '../shared/permitted.ts';
import { demoSession } from './demo.ts';
import { editsIn } from './edits.ts';
import { furtherEvents } from './further-events.ts';
import { reading } from './hook-reading.ts';
import { optionsOf } from './options.ts';
import { failureKey } from './place.ts';
import { settings } from './settings.ts';
import { isStatusLine, readStatusLine } from './status-line.ts';
import { actionName, actions, launchedBy, toolFacts } from './tools.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';

const startReasons: Record<string, StartReason> = { startup: 'new', clear: 'new', fork: 'new', resume: 'resume' };
/** Returns true if the process ran another session before this one. */
const isAnew = ({ source }: Fields): boolean => source === 'clear' || source === 'fork';

/** `other` covers completed and aborted runs, `resume` a session that continues elsewhere. */
const endReasons: Record<string, EndReason> = { clear: 'manual_reset', logout: 'exit', prompt_input_exit: 'exit' };

const events: Record<string, HookEvent> = {
  SessionStart: {
    edge: true,
    read(fields) {
      // `compact` continues the running session: nothing starts.
      if (fields.source === 'compact') return [];
      // An unknown source is a start as well, with an unknown reason.
      const reason = own(startReasons, text(fields.source) ?? 'startup');
      return [
        reading(fields, {
          event_type: 'Session.Start',
          data: { start_reason: reason },
          facts: { model: word(fields.model), previous: isAnew(fields) ? {} : undefined },
        }),
      ];
    },
  },
  SessionEnd: {
    edge: true,
    read: fields => [
      reading(fields, {
        event_type: 'Session.End',
        data: { end_reason: own(endReasons, text(fields.reason) ?? '') },
      }),
    ],
  },
  UserPromptSubmit: {
    edge: true,
    read: (fields, memory) => [
      reading(fields, {
        event_type: 'Prompt.Submitted',
        key: promptKey(fields, memory),
        data: { prompt: text(fields.prompt) },
        // A background agent that ends starts a turn.
        actor: text(fields.prompt)?.startsWith('<task-notification>') === true ? 'system' : 'user',
      }),
    ],
  },
  PreToolUse: {
    read(fields, memory) {
      const call = openCall(callOf(fields), memory);
      const { tool, mcp } = toolFacts(fields);
      const before = reading(fields, {
        event_type: 'Action.Before',
        key: call,
        data: { action: { name: actionName(fields), input: fieldsOf(fields.tool_input) } },
        facts: { tool, mcp, call, options: optionsOf(fields), launches: launchedBy(fields) },
      });
      if (fields.tool_name !== 'EnterPlanMode') return [before];
      return [before, reading(fields, { event_type: 'Agent.Plan.Start', key: call, data: { plan_type: 'plan' } })];
    },
  },
  PostToolUse: {
    read(fields, memory) {
      const call = closeCall(callOf(fields), memory);
      const { tool, mcp } = toolFacts(fields);
      const response = fieldsOf(fields.tool_response);
      const interrupted = response.interrupted === true;
      const after = reading(fields, {
        event_type: 'Action.After',
        key: call,
        data: {
          action: { name: actionName(fields), input: fieldsOf(fields.tool_input), result: { success: true } },
          decision: { outcome: 'allow' },
        },
        output: fields.tool_response,
        edits: editsIn(text(fields.tool_name), response),
        facts: {
          tool,
          mcp,
          call,
          options: optionsOf(fields),
          decision: permitted(wasAsked(call, memory), isLetPass(fields)),
          duration_ms: number(fields.duration_ms),
          interrupted: interrupted || undefined,
          launches: launchedBy(fields, word(response.agentId)),
        },
      });
      if (fields.tool_name !== 'ExitPlanMode') return [after];
      return [after, reading(fields, { event_type: 'Agent.Plan.End', key: call, data: { plan_type: 'plan' } })];
    },
  },
  PostToolUseFailure: {
    read(fields, memory) {
      const call = closeCall(callOf(fields), memory);
      const { tool, mcp } = toolFacts(fields);
      const error = text(fields.error) ?? '';
      const exitCode = /^Exit code (\d{1,3})\b/.exec(error)?.[1];
      const interrupted = fields.is_interrupt === true;
      return [
        reading(fields, {
          event_type: 'Action.After',
          key: call,
          data: {
            action: {
              name: actionName(fields),
              input: fieldsOf(fields.tool_input),
              result: {
                success: false,
                exit_code: exitCode === undefined ? undefined : Number(exitCode),
                error_message: error,
              },
            },
            decision: { outcome: 'allow' },
          },
          facts: {
            tool,
            mcp,
            call,
            options: optionsOf(fields),
            decision: permitted(wasAsked(call, memory), isLetPass(fields)),
            duration_ms: number(fields.duration_ms),
            interrupted: interrupted || undefined,
            error_type: interrupted ? 'interrupted' : exitCode === undefined ? 'tool_error' : 'exit_code',
          },
        }),
      ];
    },
  },
  PostToolBatch: {
    // Sent after a batch of parallel calls. It only proves that each of them is over.
    read(fields, memory) {
      const calls = Array.isArray(fields.tool_calls) ? fields.tool_calls : [];
      const ids = Array.isArray(fields.tool_use_ids) ? fields.tool_use_ids : [];
      const over = [...calls.map(call => fieldsOf(call).tool_use_id), ...ids]
        .flatMap(id => word(id) ?? [])
        .slice(0, 128);
      for (const call of over) memory.forget('open', call);
      return [
        reading(fields, {
          event_type: 'vendor.claude-code.PostToolBatch',
          data: { calls: calls.length },
          facts: { over },
        }),
      ];
    },
  },
  PermissionRequest: {
    // The hook carries no id of the call: it is the oldest open call of the same agent, tool and input that the user
    // was not asked about yet.
    read(fields, memory) {
      const call = askedCall(callOf(fields), memory);
      return permissionQuestion(reading, fields, actionName(fields), { ...toolFacts(fields), call });
    },
  },
  PermissionDenied: {
    // Denied by the classifier of auto mode. Denials by the user, a rule or a hook send no hook.
    read(fields, memory) {
      const call = closeCall(callOf(fields), memory);
      const reason = text(fields.reason);
      const facts = {
        ...toolFacts(fields),
        call,
        decision: { source: 'classifier', basis: 'observed' } as const,
      };
      return [
        reading(fields, {
          event_type: 'Policy.Blocked',
          key: call,
          data: { policy_name: 'auto_mode', reason, action: { name: actionName(fields) } },
          actor: 'system',
          facts,
        }),
        reading(fields, {
          event_type: 'Action.After',
          key: call,
          data: {
            action: { name: actionName(fields), input: fieldsOf(fields.tool_input) },
            decision: { outcome: 'deny', reason },
          },
          facts,
        }),
      ];
    },
  },
  Notification: {
    plain: ['notification_type'],
    read: fields => [
      reading(fields, {
        event_type: 'Agent.Notification',
        data: {
          type: own(notificationTypes, text(fields.notification_type) ?? '') ?? word(fields.notification_type),
          message: text(fields.message) ?? text(fields.notification_message),
        },
        actor: 'system',
      }),
    ],
  },
  SubagentStart: {
    edge: true,
    read(fields, memory) {
      const id = word(fields.agent_id);
      if (id !== undefined) memory.remember('subagents', id, '1');
      return [reading(fields, { event_type: 'Session.Start', data: { start_reason: 'new' } })];
    },
  },
  SubagentStop: {
    edge: true,
    read(fields, memory) {
      // The internal agent of a compaction stops without a kind, and never started.
      if (fields.agent_type === '' && memory.recall('subagents', word(fields.agent_id) ?? '') === undefined) return [];
      return [
        reading(fields, {
          event_type: 'Agent.Response',
          data: { response: text(fields.last_assistant_message), final: true },
        }),
        reading(fields, { event_type: 'Session.End', data: { end_reason: 'completed' } }),
      ];
    },
  },
  Stop: {
    edge: true,
    read: fields => [
      reading(fields, {
        event_type: 'Agent.Response',
        data: { response: text(fields.last_assistant_message), final: true },
      }),
    ],
  },
  StopFailure: {
    edge: true,
    read(fields) {
      const kind = errorKind(fields.error ?? fields.error_type);
      const message = text(fields.error_details) ?? text(fields.error_message);
      return [
        reading(fields, {
          event_type: 'Model.Failed',
          key: failureKey(word(fields.prompt_id)),
          data: { error_type: kind, error_message: message },
          facts: { error_type: kind },
        }),
        reading(fields, {
          event_type: 'Agent.Error',
          data: {
            error_type: 'ModelError',
            error_message: message,
            origin_event: 'Model.Failed',
          },
          facts: { error_type: kind },
        }),
      ];
    },
  },
  PreCompact: {
    read: fields => [compaction(fields)],
  },
  ...furtherEvents,
  // `enable --status-line` registers it in another place of the settings than hooks.
  StatusLine: {
    plain: ['total_cost_usd', 'five_hour_used_percentage', 'seven_day_used_percentage'],
    register: 'status-line',
    read: readStatusLine,
  },
};

const notificationTypes: Record<string, string> = { permission_prompt: 'ToolPermission', idle_prompt: 'IdleTimeout' };

export const claudeCode: Agent = {
  id: 'claude-code',
  aliases: ['claude'],
  title: 'Claude Code',
  provider: 'anthropic',
  source: { docs: 'https://code.claude.com/docs/en/hooks', version: '2.1.327', checked: '2026-11-19' },

  signs(fields) {
    const name = nativeName(fields);
    if (name === undefined || word(fields.session_id) === undefined) return 0;
    const known = Object.hasOwn(events, name);
    const path = text(fields.transcript_path) ?? '';
    if (/[\\/]\.claude[\\/]/.test(path)) return known ? 1 : 0.9;
    // The configuration folder may have another name; the file is named after the session.
    if (OWN_FILE.exec(path)?.[1] === fields.session_id) return known ? 0.95 : 0.8;
    // `turn_id` belongs to other agents, except in MessageDisplay.
    if ('turn_id' in fields && name !== 'MessageDisplay') return 0.1;
    // Other agents use these event names too; fields that only Claude Code sends decide.
    const own = ['prompt_id', 'permission_mode', 'effort', 'agent_id', 'stop_hook_active'].filter(key => key in fields);
    return known ? Math.min(0.8, 0.4 + own.length * 0.15) : 0.1;
  },
  eventName: nativeName,
  session: fields => word(fields.session_id),
  cwd: fields => word(fields.cwd),
  // Only the status line states it.
  version: fields => word(fields.version),
  events,
  actions,
  subagents: ['general-purpose', 'Explore', 'Plan', 'claude', 'claude-code-guide', 'statusline-setup'],
  truth,
  settles: { action: 'transcript', turn: 'transcript', subagent: 'transcript', session: 'transcript' },
  transcript,
  reply: { stdout: '' },
  settings,
  // At SessionStart, Setup, CwdChanged and FileChanged.
  environmentFile: 'CLAUDE_ENV_FILE',
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: demoSession,
};

const OWN_FILE = /[\\/]projects[\\/][^\\/]+[\\/]([^\\/]+)\.jsonl$/;

/** The payload of the status line has no name, or `Status`. */
function nativeName(fields: Fields): string | undefined {
  const name = word(fields.hook_event_name);
  if (name !== undefined && name !== 'Status') return name;
  return isStatusLine(fields) ? 'StatusLine' : name;
}

/** The kinds are a closed set that grows; any other text is `unknown`. */
const errorKind = (error: unknown): string =>
  /^[a-z][a-z0-9_]{0,63}$/.test(text(error) ?? '') ? String(error) : 'unknown';

/**
 * Returns a key only for the first prompt of an id: the transcript has the same key. Further prompts with this id were
 * queued, and the transcript has them under other ids.
 */
function promptKey(fields: Fields, memory: Memory): string | undefined {
  const prompt = word(fields.prompt_id);
  if (prompt === undefined) return undefined;
  const count = Number(memory.recall('prompts', prompt) ?? '0') + 1;
  memory.remember('prompts', prompt, String(count));
  return count === 1 ? prompt : `${prompt}#${count}`;
}

function compaction(fields: Fields): Reading {
  const trigger = text(fields.trigger);
  return reading(fields, {
    event_type: 'Context.Compaction',
    data: { trigger: trigger === 'auto' || trigger === 'manual' ? trigger : undefined },
    actor: 'system',
    facts: { phase: 'before' },
  });
}

const callOf = (fields: Fields): Call => ({
  id: word(fields.tool_use_id),
  subagent: word(fields.agent_id),
  tool: text(fields.tool_name) ?? '',
  input: fields.tool_input,
});

/** Returns true if the mode allows the call: all calls, calls that its classifier does not deny, or edits. */
function isLetPass({ permission_mode: mode, tool_name: tool }: Fields): boolean {
  const isEdit = ['Edit', 'MultiEdit', 'NotebookEdit', 'Write'].includes(text(tool) ?? '');
  return mode === 'bypassPermissions' || mode === 'auto' || (mode === 'acceptEdits' && isEdit);
}
