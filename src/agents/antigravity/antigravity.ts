/**
 * Google Antigravity (`agy`, IDE). Facts: the documents shipped with the CLI, issues of
 * google-antigravity/antigravity-cli up to 1.2.7 (2026-09), and transcripts of 1.0 recorded in June 2026; checked
 * 2026-11-18.
 *
 * Payloads are protojson: camelCase, without members that are 0, empty or false, so a missing `stepIdx` is step 0. The
 * event's name may be missing too; then the registration passes it. No payload has a prompt, a result, a model or a
 * time.
 */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, number, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Reading } from '../contract/contract.ts';
import { settings } from './settings.ts';
import { actionName, actions, inputOf, launchedBy, toolFacts } from './tools.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';

const events: Record<string, HookEvent> = {
  SessionStart: {
    edge: true,
    read: () => [{ event_type: 'Session.Start', data: { start_reason: 'new' } }],
  },
  PreInvocation: {
    // Sent before each request to the model. There is no hook for prompts: the first request after a stop is a prompt.
    edge: true,
    read(_fields, memory) {
      const requested: Reading = { event_type: 'Model.Requested', data: {} };
      if (memory.recall('turn', 'runs') !== undefined) return [requested];
      memory.remember('turn', 'runs', '1');
      return [{ event_type: 'Prompt.Submitted', data: {}, actor: 'user' }, requested];
    },
  },
  PostInvocation: {
    read: () => [{ event_type: 'Model.Responded', data: {} }],
  },
  PreToolUse: {
    // The output of this hook must be a decision, and empty output denies the call. otel-hooks never decides.
    register: false,
    read(fields, memory) {
      const call = callOf(fields);
      const { name, args } = fieldsOf(fields.toolCall);
      const tool = word(name) ?? 'unknown';
      memory.remember('tool', call, tool);
      return [
        {
          event_type: 'Action.Before',
          key: call,
          data: { action: { name: actionName(tool), input: inputOf(args) } },
          facts: { ...toolFacts(tool), call, launches: launchedBy(tool, args) },
        },
      ];
    },
  },
  PostToolUse: {
    // Newer builds repeat the call; older ones send only its step.
    read(fields, memory) {
      const call = callOf(fields);
      const { name, args } = fieldsOf(fields.toolCall);
      const tool = word(name) ?? memory.recall('tool', call) ?? 'unknown';
      memory.forget('tool', call);
      const error = word(fields.error);
      const exitCode = /\b(?:exit|exited with) code:? (\d{1,3})\b/.exec(error ?? '')?.[1];
      return [
        {
          event_type: 'Action.After',
          key: call,
          data: {
            action: {
              name: actionName(tool),
              input: inputOf(args),
              result: {
                success: error === undefined,
                exit_code: exitCode === undefined ? undefined : Number(exitCode),
                error_message: error,
              },
            },
          },
          facts: {
            ...toolFacts(tool),
            call,
            error_type: error === undefined ? undefined : exitCode === undefined ? 'tool_error' : 'exit_code',
            launches: launchedBy(tool, args),
          },
        },
      ];
    },
  },
  Stop: {
    edge: true,
    read(fields, memory) {
      memory.forget('turn', 'runs');
      const reason = word(fields.terminationReason);
      const error = text(fields.error);
      const failed = error !== undefined || /error|fail/i.test(reason ?? '');
      const response: Reading = {
        event_type: 'Agent.Response',
        data: { final: true },
        facts: { error_type: failed ? 'agent_error' : undefined },
      };
      if (!failed) return [response];
      return [
        {
          event_type: 'Agent.Error',
          data: { error_type: 'UnhandledException', error_message: error },
          facts: { error_type: 'agent_error' },
        },
        response,
      ];
    },
  },
};

export const antigravity: Agent = {
  id: 'antigravity',
  title: 'Google Antigravity',
  provider: 'gcp.gemini',
  source: { docs: 'https://antigravity.google/docs', version: '1.2.7', checked: '2026-11-18' },

  signs(fields) {
    if (word(fields.conversationId) === undefined) return 0;
    const path = text(fields.transcriptPath) ?? text(fields.artifactDirectoryPath) ?? '';
    if (/[\\/]\.gemini[\\/]antigravity/.test(path)) return 1;
    // camelCase and an artifact folder per conversation: no other agent has both.
    const own = ['artifactDirectoryPath', 'workspacePaths', 'transcriptPath'].filter(key => key in fields);
    return own.length === 0 ? 0.1 : 0.5 + own.length * 0.15;
  },
  eventName: fields => word(fields.hookEventName) ?? impliedEvent(fields),
  session: fields => word(fields.conversationId),
  cwd: fields => word(Array.isArray(fields.workspacePaths) ? fields.workspacePaths[0] : undefined),
  events,
  actions,
  truth,
  settles: { action: 'transcript', turn: 'transcript', subagent: 'transcript', session: 'transcript' },
  transcript,
  // These events accept empty output too; only PreToolUse would read it as a refusal, and it is not registered.
  reply: { stdout: '{}' },
  settings,
  interchange: absent('no registry of the format has it'),
  demo: absent('the demonstration plays another agent'),
};

/** Only the payload of Stop has a reason. For any other payload without a name, it returns undefined. */
const impliedEvent = (fields: Fields): string | undefined =>
  word(fields.terminationReason) === undefined ? undefined : 'Stop';

/** A call has no id, but the number of its step, which the transcript has too. */
const callOf = (fields: Fields): string => `step-${number(fields.stepIdx) ?? 0}`;
