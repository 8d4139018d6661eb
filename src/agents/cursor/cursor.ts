/**
 * Cursor: IDE, CLI (`cursor-agent`) and cloud agents. Facts: the vendor's hook documentation of 2026-06, captures of
 * IDE 3.18.25 and CLI 2026.06.24 to 2026.09.10; checked 2026-11-18.
 *
 * Two families of hooks report each call. The general hooks (preToolUse, postToolUse, postToolUseFailure) have the id
 * of the call. The special hooks (shell, MCP, file) have no id, and some surfaces send only them. The reader matches
 * both by the subject of the call (the command, the tool or the file) and reports them under the same id, in any order.
 * The general hooks state how the call ended.
 *
 * `generation_id` names the turn. Hooks of a subagent have the conversation id of the subagent; the path of its
 * transcript shows the root conversation. Without a transcript path, such a conversation is a separate session.
 */
import type { AgentMode, Fields } from '../../event/event.ts';
import { number, own, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Memory, type Reading } from '../contract/contract.ts';
import { callFacts, callOf, covered, heldBySandbox, isRunning, mcpCall, special, tab, toolCall } from './calls.ts';
import { eventName, familyOf, modelOf, ofNoTurn, reading, turnOf } from './reading.ts';
import { obstaclesOf, settings } from './settings.ts';
import { actionName, actions, inputOf } from './tools.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';
import { isEarlierTurn, keepUsage, usageOver } from './usage.ts';

const modes: Record<string, AgentMode> = { agent: 'agent', ask: 'chat', edit: 'edit' };

const events: Record<string, HookEvent> = {
  sessionStart: {
    edge: true,
    read: fields => [
      reading(fields, {
        event_type: 'Session.Start',
        data: { start_reason: 'new' },
        facts: { ...ofNoTurn, model: modelOf(fields.model) },
        mode: own(modes, text(fields.composer_mode) ?? ''),
      }),
    ],
  },
  sessionEnd: {
    edge: true,
    read(fields, memory) {
      const usage = { duration_ms: number(fields.duration_ms) };
      const end: Reading[] =
        fields.reason === 'error'
          ? [
              reading(fields, {
                event_type: 'Agent.Error',
                data: { error_type: 'UnhandledException', error_message: text(fields.error_message) },
                facts: ofNoTurn,
              }),
              reading(fields, { event_type: 'Session.Abort', data: { end_reason: 'error', usage }, facts: ofNoTurn }),
            ]
          : fields.reason === 'aborted'
            ? [reading(fields, { event_type: 'Session.Abort', data: { usage }, facts: ofNoTurn })]
            : [
                reading(fields, {
                  event_type: 'Session.End',
                  data: { end_reason: fields.reason === 'completed' ? 'completed' : 'exit', usage },
                  facts: ofNoTurn,
                }),
              ];
      return [...usageOver(fields, memory, () => true), ...end];
    },
  },
  beforeSubmitPrompt: {
    edge: true,
    read: (fields, memory) => [
      ...usageOver(fields, memory, isEarlierTurn(fields)),
      reading(fields, { event_type: 'Prompt.Submitted', data: { prompt: text(fields.prompt) }, actor: 'user' }, memory),
    ],
  },
  preToolUse: {
    read(fields, memory) {
      const call = callOf(fields, toolCall(fields), 'B', memory).id;
      return [
        reading(
          fields,
          {
            event_type: 'Action.Before',
            key: call,
            data: { action: { name: actionName(fields), input: inputOf(fields.tool_input) } },
            facts: { ...callFacts(fields, call, memory), call },
          },
          memory,
        ),
      ];
    },
  },
  postToolUse: {
    read(fields, memory) {
      const call = callOf(fields, toolCall(fields), 'A', memory).id;
      return [
        reading(
          fields,
          {
            event_type: 'Action.After',
            key: call,
            data: {
              action: {
                name: actionName(fields),
                input: inputOf(fields.tool_input),
                result: { success: true, exit_code: number(inputOf(fields.tool_output).exitCode) },
              },
              decision: heldBySandbox(call, memory) && { outcome: 'allow' },
            },
            output: fields.tool_output,
            facts: {
              ...callFacts(fields, call, memory),
              call,
              duration_ms: number(fields.duration),
              decision: heldBySandbox(call, memory),
            },
          },
          memory,
        ),
      ];
    },
  },
  postToolUseFailure: {
    read(fields, memory) {
      const call = callOf(fields, toolCall(fields), 'A', memory).id;
      const facts = { ...callFacts(fields, call, memory), call, duration_ms: number(fields.duration) };
      const action = { name: actionName(fields), input: inputOf(fields.tool_input) };
      if (fields.failure_type === 'permission_denied') {
        const denied = { ...facts, decision: { source: 'unknown', basis: 'observed' } as const };
        const reason = text(fields.error_message);
        return [
          reading(
            fields,
            {
              event_type: 'Policy.Blocked',
              key: call,
              data: { policy_name: 'permission', reason, action: { name: action.name } },
              actor: 'system',
              facts: denied,
            },
            memory,
          ),
          reading(
            fields,
            {
              event_type: 'Action.After',
              key: call,
              data: { action, decision: { outcome: 'deny', reason } },
              facts: denied,
            },
            memory,
          ),
        ];
      }
      const interrupted = fields.is_interrupt === true;
      return [
        reading(
          fields,
          {
            event_type: 'Action.After',
            key: call,
            data: { action: { ...action, result: { success: false, error_message: text(fields.error_message) } } },
            facts: {
              ...facts,
              interrupted: interrupted || undefined,
              error_type: interrupted ? 'interrupted' : fields.failure_type === 'timeout' ? 'timeout' : 'tool_error',
            },
          },
          memory,
        ),
      ];
    },
  },
  beforeShellExecution: covered(
    special('before', fields => ({
      kind: 'shell',
      subject: text(fields.command) ?? '',
      name: 'shell',
      tool: 'Shell',
      input: { command: fields.command },
    })),
  ),
  // The payload has neither the success of the command nor its exit code.
  afterShellExecution: covered(
    special('after', fields => ({
      kind: 'shell',
      subject: text(fields.command) ?? '',
      name: 'shell',
      tool: 'Shell',
      input: { command: fields.command },
    })),
  ),
  // The general hooks do not name the server.
  beforeMCPExecution: special('before', mcpCall),
  afterMCPExecution: covered(special('after', mcpCall)),
  // This hook runs after the file was read, and there is no hook for the end. Without general hooks, it is the only
  // report of a read.
  beforeReadFile: {
    register: 'named',
    read(fields, memory) {
      const call = callOf(fields, { kind: 'read', subject: text(fields.file_path) ?? '' }, 'b', memory);
      const known = {
        key: call.id,
        data: { action: { name: 'read_file', input: { path: fields.file_path } } },
        facts: { tool: 'Read', call: call.id },
      };
      const general = call.reports.includes('B');
      return [reading(fields, { ...known, event_type: general ? 'Action.Before' : 'Action.After' }, memory)];
    },
  },
  afterFileEdit: covered(
    special('after', fields => ({
      kind: 'write',
      subject: text(fields.file_path) ?? '',
      name: 'code_edit',
      tool: 'Write',
      input: { path: fields.file_path, edits: fields.edits },
      success: true,
    })),
  ),
  beforeTabFileRead: tab('read_file', 'TabRead'),
  afterTabFileEdit: tab('code_edit', 'TabWrite'),
  // Very frequent; only the fact and the length are kept.
  afterAgentThought: {
    register: 'named',
    read: (fields, memory) => [
      reading(
        fields,
        {
          event_type: 'Agent.Decision',
          data: { summary_length: text(fields.text)?.length },
          facts: { duration_ms: number(fields.duration_ms) },
        },
        memory,
      ),
    ],
  },
  afterAgentResponse: {
    // A turn may have several of these. The payload has the tokens of the turn so far, and `stop` repeats them. So they
    // are recorded once, at the end of the turn.
    read(fields, memory) {
      const generation = word(fields.generation_id);
      const earlier = usageOver(fields, memory, isEarlierTurn(fields));
      keepUsage(fields, memory);
      const response = text(fields.text);
      if (generation !== undefined && response !== undefined) {
        memory.remember('response', generation, `${response.length} ${memory.likeness(response)}`);
      }
      return [...earlier, reading(fields, { event_type: 'Agent.Response', data: { response, final: false } }, memory)];
    },
  },
  subagentStart: {
    edge: true,
    read(fields, memory) {
      const id = word(fields.subagent_id);
      if (id === undefined) return [];
      memory.remember('subagents', id, subagentLikeness(fields, memory));
      const call = word(fields.tool_call_id);
      if (call !== undefined) memory.remember('launched', call, id);
      return [
        reading(fields, {
          event_type: 'Session.Start',
          key: id,
          data: { start_reason: 'new' },
          subagent: id,
          facts: {
            ...turnOf(fields),
            agent: word(fields.subagent_type),
            model: modelOf(fields.subagent_model),
            launched_by: call !== undefined && isRunning(call, memory) ? call : undefined,
          },
        }),
      ];
    },
  },
  subagentStop: {
    edge: true,
    plain: ['duration_ms', 'tool_call_count', 'message_count', 'status'],
    // The hook has no id: it belongs to the oldest open subagent of this kind and task.
    read(fields, memory) {
      const id = endedSubagent(fields, memory);
      const facts = { agent: word(fields.subagent_type) };
      if (id === undefined) {
        const plain = ['duration_ms', 'tool_call_count', 'message_count', 'status'];
        return [
          reading(fields, {
            event_type: 'vendor.cursor.subagentStop',
            data: Object.fromEntries(plain.map(key => [key, fields[key]])),
            facts: { ...facts, fields: plain },
          }),
        ];
      }
      const response = word(fields.summary);
      const usage = { duration_ms: number(fields.duration_ms), total_actions: number(fields.tool_call_count) };
      const answer: Reading[] =
        response === undefined
          ? []
          : [reading(fields, { event_type: 'Agent.Response', data: { response, final: true }, subagent: id, facts })];
      const ending: Reading =
        fields.status === 'completed' || fields.status === undefined
          ? { event_type: 'Session.End', data: { end_reason: 'completed', usage } }
          : {
              event_type: 'Session.Abort',
              data: { end_reason: fields.status === 'error' ? 'error' : undefined, usage },
            };
      return [...answer, reading(fields, { ...ending, key: id, subagent: id, facts })];
    },
  },
  preCompact: {
    read(fields, memory) {
      const used = number(fields.context_tokens);
      const limit = number(fields.context_window_size);
      const trigger = fields.trigger === 'auto' || fields.trigger === 'manual' ? fields.trigger : undefined;
      return [
        reading(
          fields,
          {
            event_type: 'Context.UntilCompaction',
            data: {
              tokens_used: used,
              tokens_limit: limit,
              percentage_used: number(fields.context_usage_percent),
              tokens_remaining: used === undefined || limit === undefined ? undefined : Math.max(0, limit - used),
            },
            actor: 'system',
          },
          memory,
        ),
        reading(
          fields,
          {
            event_type: 'Context.Compaction',
            data: { trigger, tokens_before: used },
            actor: 'system',
            facts: { phase: 'before' },
          },
          memory,
        ),
      ];
    },
  },
  stop: {
    edge: true,
    read(fields, memory) {
      const generation = word(fields.generation_id) ?? '';
      const [length, hash] = memory.recall('response', generation)?.split(' ') ?? [];
      memory.forget('response', generation);
      keepUsage(fields, memory);
      const tokens = usageOver(fields, memory, ({ turn }) => turn === generation);
      const failed = fields.status === 'error';
      const error: Reading[] = failed
        ? [
            reading(fields, {
              event_type: 'Agent.Error',
              data: { error_type: 'UnhandledException', error_message: text(fields.error_message) },
            }),
          ]
        : [];
      const aborted = fields.status === 'aborted';
      return [
        ...tokens,
        ...error,
        reading(fields, {
          event_type: 'Agent.Response',
          data: {
            response_length: length === undefined ? undefined : Number(length),
            response_hash: hash,
            final: true,
          },
          facts: {
            ...turnOf(fields),
            interrupted: aborted || undefined,
            error_type: failed ? 'agent_error' : undefined,
          },
        }),
      ];
    },
  },
  // The hook does not belong to a conversation, so no event is recorded.
  workspaceOpen: { register: false, read: () => [] },
};

export const cursor: Agent = {
  id: 'cursor',
  title: 'Cursor',
  source: { docs: 'https://cursor.com/docs/hooks', version: 'IDE 3.18.25, CLI 2026.09.10', checked: '2026-11-18' },

  signs(fields) {
    const name = eventName(fields);
    const known = name !== undefined && Object.hasOwn(events, name);
    // Only Cursor sends this field. It is in every payload, even if the hook comes from the settings of another agent.
    if (word(fields.cursor_version) !== undefined) return known ? 1 : 0.95;
    if (word(fields.conversation_id) === undefined || name === undefined) return 0;
    const own = ['generation_id', 'workspace_roots', 'user_email'].filter(key => key in fields).length;
    return known ? 0.4 + own * 0.15 : own * 0.15;
  },
  eventName,
  session: fields =>
    familyOf(fields)?.root ??
    word(fields.parent_conversation_id) ??
    word(fields.conversation_id) ??
    word(fields.session_id) ??
    (fields.hook_event_name === 'workspaceOpen' ? 'no-conversation' : undefined),
  cwd: fields =>
    word(fields.cwd) ?? (Array.isArray(fields.workspace_roots) ? word(fields.workspace_roots[0]) : undefined),
  version: fields => word(fields.cursor_version),
  events,
  actions,
  subagents: ['generalPurpose', 'explore', 'shell'],
  truth,
  settles: { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' },
  transcript,
  // With the user's setting `failClosed`, an empty answer would deny the action. An empty object is not a decision.
  reply: { stdout: '{}' },
  settings: { ...settings, obstacles: obstaclesOf(Object.keys(events)) },
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: absent('the demonstration plays another agent'),
};

const subagentLikeness = (fields: Fields, memory: Memory): string =>
  memory.likeness([text(fields.subagent_type) ?? '', text(fields.task) ?? ''].join('\0'));

function endedSubagent(fields: Fields, memory: Memory): string | undefined {
  const like = subagentLikeness(fields, memory);
  const id = word(fields.subagent_id) ?? memory.list('subagents').find(([, known]) => known === like)?.[0];
  if (id !== undefined) memory.forget('subagents', id);
  return id;
}
