/** Events about calls and about the questions that a user is asked. */
import type { ActionResult, Fields } from '../../event/event.ts';
import { fieldsOf, word } from '../../lib/read.ts';
import type { Memory, Reading } from '../contract/contract.ts';
import { permitted } from '../shared/permitted.ts';
import { actionName, launchOf } from './messages.ts';
import type { Happened } from './turns.ts';

/** Reports that the user is asked about a call. */
export function askedAbout({ data, atMs, memory }: Happened): Reading[] {
  const request = word(data.id);
  const call = word(fieldsOf(data.tool).callID) ?? callOf(fieldsOf(data.source)) ?? word(data.callID);
  if (request !== undefined) memory.remember('request', request, JSON.stringify([call, atMs]));
  const facts = { call, tool: toolOf(call, memory), decision: { source: 'unknown', basis: 'observed' } as const };
  return [
    { event_type: 'Agent.Notification', key: request, data: { type: 'ToolPermission' }, actor: 'system', facts },
    {
      event_type: 'Agent.Decision',
      key: request && `asked:${request}`,
      data: { decision: { outcome: 'ask' }, action_name: actionName(facts.tool) },
      facts,
    },
  ];
}

/** Betas of V2 use the name `structured`. */
export const metadataOf = (data: Fields): Fields => fieldsOf(data.metadata ?? data.structured);

export function called(
  { data, atMs, memory }: Happened,
  result: ActionResult,
  facts: NonNullable<Reading['facts']>,
): Reading {
  const call = callOf(data);
  const tool = toolOf(call, memory);
  const calledMs = Number((call && memory.recall('called', call)) ?? Number.NaN);
  const durationMs = atMs === undefined ? Number.NaN : atMs - calledMs - waitedMs(call, memory);
  // A failed call may not have run; the answer of the user was reported before.
  const isUnasked =
    call !== undefined && result.error_message === undefined && memory.recall('waited', call) === undefined;
  if (call !== undefined) for (const kind of ['called', 'waited', 'tool']) memory.forget(kind, call);
  return {
    event_type: 'Action.After',
    key: call,
    data: { action: { name: actionName(tool), result }, decision: isUnasked ? { outcome: 'allow' } : undefined },
    facts: {
      call,
      tool,
      decision: isUnasked ? permitted(false, false) : undefined,
      launches: launchOf(tool, {}, metadataOf(data)),
      duration_ms: Number.isNaN(durationMs) ? undefined : Math.max(0, durationMs),
      ...facts,
    },
  };
}

export const questioned = (key: string | undefined, call: string | undefined): Reading => ({
  event_type: 'Agent.Notification',
  key,
  data: { type: 'Question' },
  actor: 'system',
  facts: { call },
});

/** Betas of V2 use the name `callID`. */
export const callOf = (data: Fields): string | undefined => word(data.id) ?? word(data.callID);

export const toolOf = (call: string | undefined, memory: Memory): string | undefined =>
  call === undefined ? undefined : word(memory.recall('tool', call));

/** Returns how long the user was asked about a call. */
export const waitedMs = (call: string | undefined, memory: Memory): number =>
  Number((call && memory.recall('waited', call)) ?? '0');
