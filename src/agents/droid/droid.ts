/**
 * Factory Droid. Facts: Factory's hooks reference and telemetry documentation of 2026-07-24, recordings of version 0.215;
 * checked 2026-11-19.
 *
 * Its hooks have the form of Claude Code's hooks, but calls have no ids, a failing call has no closing hook, and `droid
 * exec` sends no hook for the prompt. Its transcript has all of these events, with ids. So in a session with a
 * transcript, hooks only report its start and end and trigger the reading of the transcript. Without a transcript,
 * calls pair first in, first out.
 *
 * The hooks of a subagent have the id of the subagent's session; only its SessionStart names the session that launched
 * it.
 */
import type { EndReason, Fields, StartReason } from '../../event/event.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Memory, type Reading } from '../contract/contract.ts';
import { closeCall, openCall } from '../shared/pairing.ts';
import { readingsWith } from '../shared/readings.ts';
import { settings } from './settings.ts';
import { actionName, actions, endingOf, toolFacts } from './tools.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';

const startReasons: Record<string, StartReason> = { startup: 'new', clear: 'new', resume: 'resume' };

const endReasons: Record<string, EndReason> = { clear: 'manual_reset', logout: 'exit', prompt_input_exit: 'exit' };

const events: Record<string, HookEvent> = {
  SessionStart: {
    edge: true,
    read(fields, memory) {
      if (word(fields.calling_session_id) !== undefined) {
        memory.remember('session', 'is', 'subagent');
        return [];
      }
      // `compact` continues the running session: nothing starts.
      if (fields.source === 'compact') return [];
      const reason = own(startReasons, text(fields.source) ?? 'startup');
      const previous = word(fields.previous_session_id);
      const facts = previous === undefined && fields.source !== 'clear' ? {} : { previous: { session: previous } };
      return [reading(fields, { event_type: 'Session.Start', data: { start_reason: reason }, facts })];
    },
  },
  SessionEnd: {
    edge: true,
    read(fields, memory) {
      if (isSubagent(memory)) return [];
      return [
        reading(fields, {
          event_type: 'Session.End',
          data: { end_reason: own(endReasons, text(fields.reason) ?? '') },
        }),
      ];
    },
  },
  UserPromptSubmit: {
    edge: true,
    read: fields =>
      hasTranscript(fields)
        ? []
        : [reading(fields, { event_type: 'Prompt.Submitted', data: { prompt: text(fields.prompt) }, actor: 'user' })],
  },
  PreToolUse: {
    read(fields, memory) {
      if (hasTranscript(fields)) return [];
      const tool = toolOf(fields);
      const input = fieldsOf(fields.tool_input);
      const call = openCall({ id: word(fields.tool_use_id), tool, input }, memory);
      const launched = tool === 'Task' ? { id: childOf(fields, call), agent: word(input.subagent_type) } : undefined;
      const before = reading(fields, {
        event_type: 'Action.Before',
        key: call,
        data: { action: { name: actionName(tool), input } },
        facts: { ...toolFacts(tool), call, launches: launched },
      });
      if (launched === undefined) return [before];
      memory.remember('children', launched.id, launched.agent ?? '');
      return [before, ofChild(fields, launched.id, launched.agent, 'Session.Start')];
    },
  },
  PostToolUse: {
    read(fields, memory) {
      if (hasTranscript(fields)) return [];
      const tool = toolOf(fields);
      const input = fieldsOf(fields.tool_input);
      const call = closeCall({ id: word(fields.tool_use_id), tool, input }, memory, 'oldest of its tool');
      const response = fieldsOf(fields.tool_response);
      const stated = endingOf(tool, { content: fields.tool_response }).result;
      const exitCode = number(response.exitCode) ?? stated.exit_code;
      // Sent when a tool has completed. The response shows a failure.
      const success = response.success !== false && (exitCode ?? 0) === 0;
      const child = tool === 'Task' && call !== undefined ? childOf(fields, call) : undefined;
      const after = reading(fields, {
        event_type: 'Action.After',
        key: call,
        data: { action: { name: actionName(tool), input, result: { success, exit_code: exitCode } } },
        output: fields.tool_response,
        facts: {
          ...toolFacts(tool),
          call,
          error_type: success ? undefined : exitCode === undefined ? 'tool_error' : 'exit_code',
          launches: child === undefined ? undefined : { id: child, agent: word(input.subagent_type) },
        },
      });
      const ended = child === undefined ? [] : endChild(fields, child, memory);
      return [...ended, after];
    },
  },
  Notification: {
    read: (fields, memory) =>
      isSubagent(memory)
        ? []
        : [
            reading(fields, {
              event_type: 'Agent.Notification',
              data: { message: text(fields.message) },
              actor: 'system',
            }),
          ],
  },
  Stop: {
    edge: true,
    read: fields =>
      hasTranscript(fields) ? [] : [reading(fields, { event_type: 'Agent.Response', data: { final: true } })],
  },
  SubagentStop: {
    edge: true,
    read(fields, memory) {
      if (hasTranscript(fields)) return [];
      const [oldest] = memory.list('children');
      if (oldest !== undefined) return endChild(fields, oldest[0], memory);
      return [reading(fields, { event_type: 'vendor.droid.SubagentStop', data: {} })];
    },
  },
  PreCompact: {
    read(fields) {
      const trigger = text(fields.trigger);
      return [
        reading(fields, {
          event_type: 'Context.Compaction',
          data: { trigger: trigger === 'auto' || trigger === 'manual' ? trigger : undefined },
          actor: 'system',
          facts: { phase: 'before' },
        }),
      ];
    },
  },
};

/** Droid's levels of autonomy. No other agent uses these words. */
const modes = ['off', 'spec', 'auto-low', 'auto-medium', 'auto-high'];

export const droid: Agent = {
  id: 'droid',
  title: 'Factory Droid',
  source: { docs: 'https://docs.factory.ai/reference/hooks-reference', version: '0.215.0', checked: '2026-11-19' },

  signs(fields) {
    const name = text(fields.hook_event_name);
    if (name === undefined || word(fields.session_id) === undefined) return 0;
    const known = Object.hasOwn(events, name);
    if (/[\\/]\.factory[\\/]/.test(text(fields.transcript_path) ?? '')) return known ? 1 : 0.9;
    if (modes.includes(text(fields.permission_mode) ?? '')) return known ? 0.9 : 0.6;
    return 0;
  },
  eventName: fields => word(fields.hook_event_name),
  session: fields => word(fields.session_id),
  cwd: fields => word(fields.cwd),
  events,
  actions,
  truth,
  settles: { action: 'transcript', turn: 'transcript', subagent: 'transcript', session: 'transcript' },
  transcript,
  // The output of SessionStart and UserPromptSubmit is sent to the model.
  reply: { stdout: '' },
  settings,
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: absent('the demonstration plays another agent'),
};

const reading = readingsWith(({ permission_mode }) => {
  const mode = word(permission_mode);
  return {
    facts: { permission_mode: mode },
    mode: mode === undefined ? undefined : mode === 'spec' ? 'plan' : 'agent',
  };
});

const toolOf = (fields: Fields): string => text(fields.tool_name) ?? 'unknown';

const hasTranscript = (fields: Fields): boolean => word(fields.transcript_path) !== undefined;

const isSubagent = (memory: Memory): boolean => memory.recall('session', 'is') === 'subagent';

/** A subagent has no id in hooks; the call that launched it identifies it. */
const childOf = (fields: Fields, call: string): string => `${word(fields.session_id) ?? ''}.${call}`;

const ofChild = (
  fields: Fields,
  child: string,
  agent: string | undefined,
  type: 'Session.Start' | 'Session.End',
): Reading => ({
  ...reading(
    fields,
    type === 'Session.Start'
      ? { event_type: type, key: child, data: { start_reason: 'new' }, facts: { agent } }
      : { event_type: type, key: child, data: { end_reason: 'completed' }, facts: { agent } },
  ),
  subagent: child,
});

/** Ends a subagent once: at its own hook, or at the end of its call if that comes first. */
function endChild(fields: Fields, child: string, memory: Memory): Reading[] {
  const agent = memory.recall('children', child);
  if (agent === undefined) return [];
  memory.forget('children', child);
  return [ofChild(fields, child, agent === '' ? undefined : agent, 'Session.End')];
}
