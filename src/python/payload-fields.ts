/**
 * Fields that hook entries of the Python package (0.15.0, checked 2026-11-18) add to payloads, or send instead of
 * payloads. Users' settings hold such entries, and they continue to work.
 */

import type { Agent, Memory, Reading } from '../agents/contract/contract.ts';
import { closeCall, openCall } from '../agents/shared/pairing.ts';
import { PYTHON_EVENT_FIELD } from '../agents/shared/python-fields.ts';
import type { Fields } from '../event/event.ts';
import { fieldsOf, own, word } from '../lib/read.ts';

/** The agent, if the payload names it. */
export const statedAgent = (fields: Fields): string | undefined => word(fields.source_tool);

/** The event, in payloads whose only other field is a transcript. */
export const statedEvent = (fields: Fields): string | undefined => word(fields[PYTHON_EVENT_FIELD]);

export interface StatedMetric {
  readonly session: string | undefined;
  readonly native: string;
  /** Undefined for a step without a matching event. */
  readonly read: ((actions: Agent['actions'], memory: Memory) => Reading) | undefined;
}

/** `kind: "metric"`: one step of a session. The package made a span without length of it. */
export function statedMetric(fields: Fields): StatedMetric | undefined {
  const native = word(fields.metric_name);
  if (fields.kind !== 'metric' || native === undefined) return undefined;
  const attributes = fieldsOf(fields.metric_attributes);
  const tool = word(attributes.tool_name) ?? word(attributes['tool.name']) ?? word(fields.tool_name) ?? 'unknown';
  const step = own(steps, native);
  return {
    session: sessionKeys.map(key => word(fields[key])).find(id => id !== undefined),
    native,
    read: step && ((actions, memory) => step(tool, own(actions, tool) ?? tool, memory)),
  };
}

const sessionKeys = ['session_id', 'sessionId', 'conversation_id', 'taskId', 'thread-id'] as const;

const steps: Readonly<Record<string, (tool: string, name: string, memory: Memory) => Reading>> = {
  session_started: () => ({ event_type: 'Session.Start', data: { start_reason: 'new' } }),
  prompt_submitted: () => ({ event_type: 'Prompt.Submitted', data: {}, actor: 'user' }),
  tool_started: (tool, name, memory) => {
    const call = openCall({ tool, input: undefined }, memory);
    return { event_type: 'Action.Before', key: call, data: { action: { name } }, facts: { tool, call } };
  },
  tool_completed: (tool, name, memory) => ended(tool, name, memory, true),
  tool_failed: (tool, name, memory) => ended(tool, name, memory, false),
  session_idle: () => ({ event_type: 'Agent.Response', data: { final: true } }),
  session_ended: () => ({ event_type: 'Session.End', data: {} }),
};

function ended(tool: string, name: string, memory: Memory, success: boolean): Reading {
  const call = closeCall({ tool, input: undefined }, memory);
  return {
    event_type: 'Action.After',
    key: call,
    data: { action: { name, result: { success } } },
    facts: { tool, call, error_type: success ? undefined : 'tool_error' },
  };
}
