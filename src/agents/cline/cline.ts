/**
 * Cline. Facts: cline/cline sources of 2026-08-22 (extension 4.1.x, CLI 3.0.5x, SDK) and docs.cline.bot; checked
 * 2026-11-18.
 *
 * Two generations share the names of hook files and differ in `hookName`: the extension uses `PreToolUse` and wraps the
 * values in an object of that name, the SDK and the CLI use `tool_call`. Calls of the extension have no id, calls of
 * the SDK do. A session is a task; the SDK encloses each of its runs in agent_start and agent_end, which is a turn.
 */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Reading } from '../contract/contract.ts';
import { closeCall, openCall } from '../shared/pairing.ts';
import { readingsWith } from '../shared/readings.ts';
import { settings } from './settings.ts';
import { actions, errorIn, errorKind, exitCodeIn, hasFailed, isRefused, oneCommand, useOfTool } from './tools.ts';
import { count, timeOf, transcript } from './transcript.ts';
import { truth } from './truth.ts';

const start: HookEvent = {
  edge: true,
  read(fields, memory) {
    // The SDK reports every run; the first run of a task starts the session, and each run of a subagent starts its own.
    const isMain = subagentOf(fields) === undefined;
    const isKnown = isMain && memory.recall('session', 'started') !== undefined;
    if (isMain) memory.remember('session', 'started', '1');
    const facts = modelOf(fields);
    const started = reading(fields, { event_type: 'Session.Start', data: { start_reason: 'new' }, facts });
    const prompted = reading(fields, { event_type: 'Prompt.Submitted', data: {}, actor: 'user', facts });
    return [...(isKnown ? [] : [started]), ...(isMain && hidesPrompts(fields) ? [prompted] : [])];
  },
};

/**
 * The CLI reports no prompts since 3.0.65 at the latest, and does not state its version there: the start of a run is the
 * prompt.
 */
function hidesPrompts(fields: Fields): boolean {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(text(fields.clineVersion) ?? '') ?? [];
  const isRun = fields.hookName === 'agent_start' || fields.hookName === 'session_start';
  if (isRun && word(fields.clineVersion) === undefined) return true;
  return isRun && major === '3' && (Number(minor) > 0 || Number(patch) >= 65);
}

const resume: HookEvent = {
  edge: true,
  read(fields, memory) {
    memory.remember('session', 'started', '1');
    return [reading(fields, { event_type: 'Session.Start', data: { start_reason: 'resume' }, facts: modelOf(fields) })];
  },
};

const prompt: HookEvent = {
  edge: true,
  read: fields => [
    reading(fields, {
      event_type: 'Prompt.Submitted',
      data: { prompt: text(fieldsOf(fields.userPromptSubmit).prompt) },
      actor: 'user',
      facts: modelOf(fields),
    }),
  ],
};

const before: HookEvent = {
  read(fields, memory) {
    const use = useOf(fields);
    const call = openCall(use.call, memory);
    return [
      reading(fields, {
        event_type: 'Action.Before',
        key: call,
        data: { action: { name: use.action, input: use.input } },
        facts: { call, tool: use.tool, mcp: use.mcp, launches: use.action === 'agent' ? {} : undefined },
      }),
    ];
  },
};

const after: HookEvent = {
  read(fields, memory) {
    const use = useOf(fields);
    const call = closeCall(use.call, memory);
    const result = fieldsOf(fields.tool_result);
    const legacy = fieldsOf(fields.postToolUse);
    const threw = result.error !== undefined && result.error !== null;
    // Since CLI 3.0.65, `error` is "[object Object]" for an error that stands in the output.
    const reason = errorIn(result.output) ?? errorText(result.error);
    const refused = isRefused(reason);
    const exitCode = exitCodeIn(result.output);
    const failed = threw || legacy.success === false || hasFailed(result.output);
    const known = failed || legacy.success === true || isFields(fields.tool_result);
    const event = reading(fields, {
      event_type: 'Action.After',
      key: call,
      data: {
        action: {
          name: use.action,
          input: use.input,
          result:
            known && !refused
              ? { success: !failed, exit_code: exitCode, error_message: failed ? reason : undefined }
              : undefined,
        },
        decision: refused ? { outcome: 'deny' } : undefined,
      },
      output: result.output ?? legacy.result,
      facts: {
        call,
        tool: use.tool,
        mcp: use.mcp,
        duration_ms: count(result.durationMs) ?? count(legacy.executionTimeMs),
        error_type: refused ? undefined : errorKind(failed, exitCode),
        decision: refused ? { source: 'mode', basis: 'observed' } : undefined,
        launches: use.action === 'agent' ? {} : undefined,
      },
      atMs: timeOf(result.endedAt),
    });
    if (use.tool !== 'plan_mode_respond') return [event];
    return [event, reading(fields, { event_type: 'Agent.Plan.End', key: call, data: { plan_type: 'plan' } })];
  },
};

const events: Record<string, HookEvent> = {
  // The extension.
  TaskStart: start,
  TaskResume: resume,
  TaskCancel: {
    edge: true,
    read: fields => [reading(fields, { event_type: 'Session.Abort', data: { end_reason: 'exit' }, actor: 'user' })],
  },
  TaskComplete: {
    edge: true,
    read: fields => [
      reading(fields, { event_type: 'Agent.Response', data: { final: true } }),
      reading(fields, { event_type: 'Session.End', data: { end_reason: 'completed' } }),
    ],
  },
  UserPromptSubmit: prompt,
  PreToolUse: before,
  PostToolUse: after,
  PreCompact: {
    // `contextSize` counts messages; the tokens are those of the last request.
    read(fields) {
      const compaction = fieldsOf(fields.preCompact);
      const input = count(compaction.tokensIn);
      const cached = count(compaction.tokensInCache);
      return [
        reading(fields, {
          event_type: 'Context.Compaction',
          data: {
            tokens_before: input === undefined && cached === undefined ? undefined : (input ?? 0) + (cached ?? 0),
            strategy: word(compaction.compactionStrategy),
          },
          actor: 'system',
          facts: { phase: 'before' },
        }),
      ];
    },
  },
  Notification: {
    read(fields) {
      const { event, message } = fieldsOf(fields.notification);
      return [
        reading(fields, {
          event_type: 'Agent.Notification',
          data: { type: word(event), message: text(message) },
          actor: 'system',
        }),
      ];
    },
  },
  // Event names in payloads of the SDK and the CLI. Their files have the names above, and two further names.
  agent_start: sent(start),
  session_start: sent(start),
  agent_resume: sent(resume),
  agent_end: {
    edge: true,
    register: false,
    read(fields) {
      const { outputText } = fieldsOf(fields.turn);
      const response = reading(fields, {
        event_type: 'Agent.Response',
        data: { response: text(outputText), final: true },
      });
      if (subagentOf(fields) === undefined) return [response];
      return [response, reading(fields, { event_type: 'Session.End', data: { end_reason: 'completed' } })];
    },
  },
  agent_abort: {
    edge: true,
    register: false,
    read: fields => [
      reading(fields, {
        event_type: 'Agent.Response',
        data: { final: true },
        actor: 'user',
        facts: { interrupted: true },
      }),
    ],
  },
  agent_error: {
    edge: true,
    read(fields) {
      const { name, message } = fieldsOf(fields.error);
      return [
        reading(fields, {
          event_type: 'Agent.Error',
          data: { error_type: 'UnhandledException', error_message: text(message) },
          facts: { error_type: /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(text(name) ?? '') ? text(name) : 'agent_error' },
        }),
      ];
    },
  },
  prompt_submit: sent(prompt),
  tool_call: sent(before),
  tool_call_before: sent(before),
  tool_result: sent(after),
  tool_call_after: sent(after),
  session_shutdown: {
    edge: true,
    read: fields => [reading(fields, { event_type: 'Session.End', data: { end_reason: 'exit' } })],
  },
};

function sent(event: HookEvent): HookEvent {
  return { ...event, register: false };
}

export const cline: Agent = {
  id: 'cline',
  title: 'Cline',
  source: { docs: 'https://github.com/cline/cline', version: 'extension 4.1, CLI 3.0', checked: '2026-11-18' },

  // No other agent sends `hookName` or `clineVersion`.
  signs(fields) {
    const name = text(fields.hookName);
    if (name === undefined || sessionOf(fields) === undefined) return 0;
    const known = Object.hasOwn(events, name);
    if (word(fields.clineVersion) !== undefined) return known ? 1 : 0.9;
    return known ? 0.7 : 0.1;
  },
  eventName: fields => word(fields.hookName),
  session: sessionOf,
  cwd(fields) {
    const [root] = Array.isArray(fields.workspaceRoots) ? fields.workspaceRoots : [];
    return word(root) ?? word(fieldsOf(fields.workspaceInfo).rootPath);
  },
  version: fields => word(fields.clineVersion),
  events,
  actions,
  truth,
  settles: { action: 'hook', turn: 'transcript', subagent: 'transcript', session: 'transcript' },
  transcript,
  // In both generations, empty output allows the call.
  reply: { stdout: '' },
  settings,
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: absent('the demonstration plays another agent'),
};

function sessionOf(fields: Fields): string | undefined {
  return word(fieldsOf(fields.sessionContext).rootSessionId) ?? word(fields.taskId);
}

/** A root agent has an id too; only an agent with a parent is a subagent. */
const subagentOf = (fields: Fields): string | undefined =>
  word(fields.parent_agent_id) === undefined ? undefined : word(fields.agent_id);

const reading = readingsWith(fields => ({ subagent: subagentOf(fields), atMs: timeOf(fields.timestamp) }));

function modelOf(fields: Fields): NonNullable<Reading['facts']> {
  const { provider, slug } = fieldsOf(fields.model);
  return { model: word(slug), provider: word(provider) };
}

interface Use {
  tool: string;
  action: string;
  input: Fields;
  mcp: { server: string } | undefined;
  call: Parameters<typeof openCall>[0];
}

/** Returns the tool and its input: the SDK's own fields first, then the fields it keeps for old hooks. */
function useOf(fields: Fields): Use {
  const current = fieldsOf(fields.tool_call ?? fields.tool_result);
  const legacy = fieldsOf(fields.preToolUse ?? fields.postToolUse);
  const name = word(current.name) ?? word(legacy.toolName) ?? 'unknown';
  const input = isFields(current.input) ? current.input : fieldsOf(legacy.parameters);
  return {
    ...useOfTool(name, input),
    input: oneCommand(input),
    call: { id: word(current.id), subagent: subagentOf(fields), tool: name, input: input },
  };
}

const errorText = (error: unknown): string | undefined => text(error) ?? text(fieldsOf(error).message);
