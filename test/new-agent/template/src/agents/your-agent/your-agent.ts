/**
 * Your Agent. Facts: the page of its hooks for 1.0; checked 2026-11-18.
 *
 * State here which facts about the agent decide how its payloads are read: which ids they carry, and which events are missing.
 */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent } from '../contract/contract.ts';
import { type Call, closeCall, openCall } from '../shared/pairing.ts';
import { readingsWith } from '../shared/readings.ts';
import { timeOf } from '../shared/times.ts';
import { settings } from './settings.ts';
import { truth } from './truth.ts';

/** Its built-in tools, with their Agent Hooks names. */
const actions: Readonly<Record<string, string>> = { command: 'shell', edit: 'code_edit' };

const events: Record<string, HookEvent> = {
  session_started: {
    edge: true,
    read: fields => [reading(fields, { event_type: 'Session.Start', data: { start_reason: 'new' } })],
  },
  prompt: {
    edge: true,
    read: fields => [
      reading(fields, { event_type: 'Prompt.Submitted', data: { prompt: text(fields.prompt) }, actor: 'user' }),
    ],
  },
  call_started: {
    read(fields, memory) {
      const call = openCall(callOf(fields), memory);
      return [
        reading(fields, {
          event_type: 'Action.Before',
          key: call,
          data: { action: actionOf(fields) },
          facts: { tool: word(fields.tool_name), call },
        }),
      ];
    },
  },
  call_ended: {
    read(fields, memory) {
      const call = closeCall(callOf(fields), memory);
      const exitCode = number(fields.exit_code);
      const success = exitCode === undefined ? undefined : exitCode === 0;
      return [
        reading(fields, {
          event_type: 'Action.After',
          key: call,
          data: { action: { ...actionOf(fields), result: { success, exit_code: exitCode } } },
          output: fields.output,
          facts: { tool: word(fields.tool_name), call, error_type: success === false ? 'exit_code' : undefined },
        }),
      ];
    },
  },
  answered: {
    edge: true,
    read: fields => [
      reading(fields, { event_type: 'Agent.Response', data: { response: text(fields.answer), final: true } }),
    ],
  },
  session_ended: {
    edge: true,
    read: fields => [reading(fields, { event_type: 'Session.End', data: { end_reason: 'exit' } })],
  },
};

export const yourAgent: Agent = {
  id: 'your-agent',
  title: 'Your Agent',
  source: { docs: 'https://your-agent.example/hooks', version: '1.0', checked: '2026-11-18' },
  signs(fields) {
    if (word(fields.your_agent_session) === undefined) return 0;
    return Object.hasOwn(events, word(fields.event) ?? '') ? 1 : 0.6;
  },
  eventName: fields => word(fields.event),
  session: fields => word(fields.your_agent_session),
  cwd: fields => word(fields.cwd),
  events,
  actions,
  truth,
  settles: { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' },
  transcript: absent('it writes no transcripts'),
  reply: { stdout: '' },
  settings,
  interchange: absent('no registry of the format has it'),
  demo: absent('the demonstration plays another agent'),
};

const reading = readingsWith(fields => ({ facts: { model: word(fields.model) }, atMs: timeOf(fields.at) }));

const callOf = (fields: Fields): Call => ({
  id: word(fields.call_id),
  tool: word(fields.tool_name) ?? 'unknown',
  input: fields.input,
});

function actionOf(fields: Fields): { name: string; input: Fields } {
  const tool = word(fields.tool_name) ?? 'unknown';
  return { name: own(actions, tool) ?? tool, input: fieldsOf(fields.input) };
}
