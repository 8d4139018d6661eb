/** Rows of the event log about calls and the permissions for them. */
import type { DecisionSource, Fields } from '../../event/event.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import type { TranscriptEntry } from '../contract/contract.ts';
import { entryOf, type Row, sharedEntry } from './row.ts';
import { exitCodeOf, inputOf, launchedBy, toolOf } from './tools.ts';
import { asked } from './transcript.ts';

export function callStarted(row: Row): TranscriptEntry[] {
  const call = word(row.data.toolCallId);
  if (call === undefined) return [];
  const name = text(row.data.toolName) ?? 'unknown';
  const { action, facts } = toolOf(name, mcpOf(row.data));
  const input = inputOf(row.data.arguments);
  const launches = launchedBy(action, input);
  row.memory.remember('calls', call, JSON.stringify({ action, facts }));
  return [
    sharedEntry(row, {
      event_type: 'Action.Before',
      key: call,
      data: { action: { name: action, input } },
      facts: { ...facts, call, launches },
    }),
  ];
}

function mcpOf(data: Fields): { server: string | undefined; tool: string | undefined } | undefined {
  const tool = word(data.mcpToolName);
  return tool === undefined ? undefined : { server: word(data.mcpServerName), tool };
}

/** A command that the user typed between prompts is not an action of the agent. */
export function typedByPerson({ data, memory }: Row): TranscriptEntry[] {
  const call = word(data.toolCallId);
  if (call !== undefined) memory.remember('typed', call, '1');
  return [];
}

export function callEnded(row: Row): TranscriptEntry[] {
  const { data, memory } = row;
  const call = word(data.toolCallId);
  if (call === undefined || memory.recall('typed', call) !== undefined || data.isUserRequested === true) return [];
  asked(row);
  const known = memory.recall('calls', call);
  const { action, facts } = known === undefined ? toolOf('unknown') : (JSON.parse(known) as ReturnType<typeof toolOf>);
  const denial = denialOf(row, call);
  memory.forget('calls', call);
  memory.forget('denied', call);
  const allowed = denial === undefined ? memory.recall('allowed', call) : undefined;
  const { success, exitCode, output } = resultOf(data, action);
  const isExit = (exitCode ?? 0) !== 0;
  return [
    ...(row.isChat && success === false ? [failedInChat(row, call)] : []),
    sharedEntry(row, {
      event_type: 'Action.After',
      key: call,
      data: {
        action: { name: action, result: denial ? undefined : { success, exit_code: exitCode } },
        decision: denial ? { outcome: 'deny' } : allowed === undefined ? undefined : { outcome: 'allow' },
      },
      output,
      facts: {
        ...facts,
        call,
        error_type: success === false && denial === undefined ? (isExit ? 'exit_code' : 'tool_error') : undefined,
        decision:
          denial !== undefined
            ? { source: denial.source, basis: 'observed' }
            : allowed === undefined
              ? undefined
              : { source: own(deciders, allowed) ?? 'unknown', basis: 'observed' },
      },
    }),
  ];
}

function resultOf(
  data: Fields,
  action: string,
): { success: boolean | undefined; exitCode: number | undefined; output: unknown } {
  const result = fieldsOf(data.result);
  const kind = text(result.result_type);
  const exitCode = number(fieldsOf(data.shellExecution).exitCode) ?? exitCodeOf(action, result.content);
  const stated = typeof data.success === 'boolean' ? data.success : kind === undefined ? undefined : kind === 'success';
  return { success: (exitCode ?? 0) === 0 ? stated : false, exitCode, output: result.content };
}

/** If a rule denies a call, there is no row of the decision. Only the error of the call states the denial. */
function denialOf({ data, memory }: Row, call: string): { source: DecisionSource } | undefined {
  const stated = own(denials, memory.recall('denied', call) ?? '');
  if (stated !== undefined) return stated;
  const { code, message } = fieldsOf(data.error);
  if (code !== 'denied') return undefined;
  return { source: / denied due to the following rules/.test(text(message) ?? '') ? 'config' : 'unknown' };
}

/**
 * Hooks of VS Code do not report failed calls. If a hook has reported the start under this id, the call is over now.
 */
const failedInChat = (row: Row, call: string): TranscriptEntry =>
  entryOf(row, {
    event_type: 'vendor.copilot.tool_failed',
    key: call,
    data: {},
    facts: { over: [call] },
  });

/** The kinds of refusals, with the source of the refusal and its policy. */
const denials: Readonly<Record<string, { source: DecisionSource; policy?: string }>> = {
  'denied-by-rules': { source: 'config', policy: 'rules' },
  'denied-by-content-exclusion-policy': { source: 'policy', policy: 'content-exclusion' },
  'denied-interactively-by-user': { source: 'user' },
  'denied-no-approval-rule-and-could-not-request-from-user': { source: 'mode', policy: 'no-approval' },
};

/** The names in the log for the source of a decision. */
const deciders: Readonly<Record<string, DecisionSource>> = {
  user: 'user',
  interactive: 'user',
  user_prompt: 'user',
  rule: 'config',
  rules: 'config',
  config: 'config',
  hook: 'hook',
  policy: 'policy',
  allow_all: 'mode',
  unattended_fallback: 'mode',
};

export function permissionAsked(row: Row): TranscriptEntry[] {
  const { data, memory } = row;
  const call = word(fieldsOf(data.permissionRequest).toolCallId);
  const request = word(data.requestId);
  if (call === undefined || request === undefined) return [];
  memory.remember('requests', request, call);
  return [
    sharedEntry(row, {
      event_type: 'Agent.Decision',
      data: { decision: { outcome: 'ask' } },
      facts: { call, decision: { source: 'unknown', basis: 'observed' } },
    }),
  ];
}

export function permissionGiven(row: Row): TranscriptEntry[] {
  const { data, memory } = row;
  const kind = text(fieldsOf(data.result).kind) ?? '';
  const denial = own(denials, kind);
  const call = memory.recall('requests', word(data.requestId) ?? '');
  const decider = word(data.decisionSource);
  if (denial === undefined && call !== undefined && decider !== undefined && kind.startsWith('approved'))
    memory.remember('allowed', call, decider);
  if (denial === undefined || call === undefined) return [];
  memory.remember('denied', call, kind);
  const decided = sharedEntry(row, {
    event_type: 'Agent.Decision',
    data: { decision: { outcome: 'deny' } },
    facts: { call, decision: { source: denial.source, basis: 'observed' } },
  });
  if (denial.policy === undefined) return [decided];
  return [
    decided,
    // Hooks do not report this event. The call is left out, because hooks name it differently.
    entryOf(row, {
      event_type: 'Policy.Blocked',
      actor: 'system',
      data: { policy_name: denial.policy },
      facts: { decision: { source: denial.source, basis: 'observed' } },
    }),
  ];
}
