/**
 * What entries of the Python package of this name (0.15.0, checked 2026-11-18) add to payloads, or send in their place. They
 * stand in people's settings and go on working.
 */
import type { Fields } from '../event/event.ts';
import { fieldsOf, own, word } from '../lib/read.ts';
import type { Reading } from './contract.ts';

/** The agent by name, where the sender knew it. */
export const toldAgent = (fields: Fields): string | undefined => word(fields.source_tool);

export interface ToldMetric {
  readonly session: string | undefined;
  readonly native: string;
  /** Undefined for a name that has no place here. */
  readonly reading: Reading | undefined;
}

/** `kind: "metric"`: one step of a session, counted; there it became a span without length. */
export function toldMetric(fields: Fields): ToldMetric | undefined {
  const native = word(fields.metric_name);
  if (fields.kind !== 'metric' || native === undefined) return undefined;
  const attributes = fieldsOf(fields.metric_attributes);
  const tool = word(attributes.tool_name) ?? word(attributes['tool.name']) ?? word(fields.tool_name);
  return {
    session: sessionKeys.map(key => word(fields[key])).find(id => id !== undefined),
    native,
    reading: own(metrics, native)?.(tool),
  };
}

const sessionKeys = ['session_id', 'sessionId', 'conversation_id', 'taskId', 'thread-id'] as const;

const metrics: Readonly<Record<string, (tool: string | undefined) => Reading>> = {
  session_started: () => ({ event_type: 'Session.Start', data: { start_reason: 'new' } }),
  prompt_submitted: () => ({ event_type: 'Prompt.Submitted', data: {}, actor: 'user' }),
  tool_started: tool => ({ event_type: 'Action.Before', data: { action: { name: tool } }, facts: { tool } }),
  tool_completed: tool => ({ event_type: 'Action.After', data: { action: { name: tool } }, facts: { tool } }),
  session_ended: () => ({ event_type: 'Session.End', data: {} }),
};
