/**
 * Base Coat's event envelope as input: `{hook, timestamp, sessionId, agent, repository, branch, budget, tool}`. It has no ids: calls
 * and subagents are paired by name, in order. `agent` is the name of an agent definition, not of the product; repository
 * and branch stay out. A failed tool is told by `PostToolUse` and by `OnError`, and is one failure.
 */
import * as z from 'zod';
import type { Fields } from '../../event/event.ts';
import { text } from '../../lib/read.ts';
import type { ToldEvent, ToldReading, Unreadable } from '../told.ts';
import { endsTurn, type HookPoint, hookPointOf } from './hook-points.ts';

const count = z.number().int().nonnegative().optional().catch(undefined);

const envelope = z.looseObject({
  hook: z.string().min(1),
  sessionId: z.string(),
  timestamp: z.string().optional().catch(undefined),
  agent: z.string().min(1).optional().catch(undefined),
  budget: z
    .object({
      usedTokens: count,
      effectiveLimit: count,
    })
    .optional()
    .catch(undefined),
  tool: z
    .object({
      name: z.string().min(1),
      success: z.boolean().optional().catch(undefined),
      durationMs: z.number().nonnegative().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});
type Envelope = z.infer<typeof envelope>;

/** `hook` is nobody else's name for the event, and `sessionId` with a text as time goes with it. */
export const isBaseCoat = (fields: Fields): boolean =>
  text(fields.hook) !== undefined && text(fields.sessionId) !== undefined && text(fields.timestamp) !== undefined;

export function readBaseCoat(fields: Fields): ToldEvent | Unreadable {
  const read = envelope.safeParse(fields);
  if (!read.success) return { unreadable: 'invalid-event' };
  const { hook, sessionId, timestamp } = read.data;
  if (sessionId === '') return { unreadable: 'no-session-id' };
  const point = hookPointOf(hook);
  const atMs = Date.parse(timestamp ?? '');
  const says: ToldReading[] = endsTurn(hook)
    ? [{ event_type: 'Agent.Response', data: { final: true } }]
    : point === undefined
      ? [{ event_type: `vendor.base-coat.${/^[A-Za-z]{1,64}$/.test(hook) ? hook : 'unnamed'}`, data: {} }]
      : readers[point](read.data);
  return {
    standard: 'base-coat',
    source: undefined,
    session: sessionId,
    native: hook,
    cwd: undefined,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    says,
  };
}

const readers: Readonly<Record<HookPoint, (event: Envelope) => ToldReading[]>> = {
  SessionStart: () => [{ event_type: 'Session.Start', data: { start_reason: 'new' } }],
  SessionEnd: () => [{ event_type: 'Session.End', data: { end_reason: 'completed' } }],
  UserPromptSubmitted: () => [{ event_type: 'Prompt.Submitted', data: {}, actor: 'user' }],
  PreToolUse: ({ tool }) => [
    {
      event_type: 'Action.Before',
      data: { action: { name: tool?.name } },
      facts: { tool: tool?.name },
    },
  ],
  PostToolUse: event => [outcome(event, event.tool?.success)],
  SubagentStart: ({ agent }) => [
    { event_type: 'Session.Start', data: { start_reason: 'new' }, facts: { agent }, pairs: 'opens' },
  ],
  SubagentStop: ({ agent }) => [
    { event_type: 'Session.End', data: { end_reason: 'completed' }, facts: { agent }, pairs: 'closes' },
  ],
  PreCompact: ({ budget }) => [
    {
      event_type: 'Context.Compaction',
      data: { tokens_before: budget?.usedTokens },
      actor: 'system',
      facts: { phase: 'before' },
    },
  ],
  PostCompact: ({ budget }) => [
    {
      event_type: 'Context.Compaction',
      data: { tokens_after: budget?.usedTokens },
      actor: 'system',
      facts: { phase: 'after' },
    },
  ],
  OnError: event =>
    event.tool === undefined
      ? [{ event_type: 'Agent.Error', data: { error_type: 'UnhandledException' } }]
      : [outcome(event, false)],
  OnBudgetExceeded: ({ budget }) => {
    const { usedTokens: used, effectiveLimit: limit } = budget ?? {};
    const known = used !== undefined && limit !== undefined && limit > 0;
    return [
      {
        event_type: 'Context.UntilCompaction',
        data: {
          tokens_used: used,
          tokens_limit: limit,
          percentage_used: known ? Math.min(100, (used / limit) * 100) : undefined,
          tokens_remaining: known ? Math.max(0, limit - used) : undefined,
        },
        actor: 'system',
      },
      { event_type: 'Policy.Violation', data: { policy_name: 'budget' }, actor: 'system' },
    ];
  },
};

const outcome = ({ tool }: Envelope, success: boolean | undefined): ToldReading => ({
  event_type: 'Action.After',
  data: { action: { name: tool?.name, result: success === undefined ? undefined : { success } } },
  facts: {
    tool: tool?.name,
    duration_ms: tool?.durationMs,
    error_type: success === false ? 'tool_error' : undefined,
  },
});
