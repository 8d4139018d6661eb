/**
 * Base Coat's event envelope as input: `{hook, timestamp, sessionId, agent, repository, branch, budget, tool}`. It has
 * no ids: calls and subagents are paired by name, in order. `agent` is the name of an agent definition, not of the
 * product; repository and branch stay out. A failed tool is told by `PostToolUse` and by `OnError`, and is one failure.
 *
 * Beside the event may stand, as `response`, what hooks answered to it: our runner tells it so. Of that stay what it
 * does, by whom, and how many warnings and failures there were.
 */
import * as z from 'zod';
import type { Fields } from '../../event/event.ts';
import { text } from '../../lib/read.ts';
import type { ToldEvent, ToldReading, Unreadable } from '../foreign-event.ts';
import { endsTurn, type HookPoint, hookPointOf } from './hook-points.ts';
import { responseSchema } from './schema.ts';

const count = z.number().int().nonnegative().optional().catch(undefined);

const answer = z.object({
  action: responseSchema.shape.action,
  reason: z.string().optional().catch(undefined),
  additionalContext: z.array(z.unknown()).catch([]),
  warnings: z.array(z.unknown()).catch([]),
  metadata: z
    .object({
      hookId: z
        .string()
        .regex(/^[\w.:/-]{1,64}$/)
        .optional()
        .catch(undefined),
      failures: z.array(z.unknown()).catch([]),
    })
    .catch({ failures: [] }),
});

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
  response: answer.optional().catch(undefined),
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
    says: [...says.map(said => (isBlocked(read.data) ? denied(said) : said)), ...answered(read.data)],
  };
}

const isBlocked = ({ response }: Envelope): boolean => response?.action === 'block';

const byHook = { source: 'hook', basis: 'observed' } as const;

/** What was stopped before it ran is over. */
function denied(said: ToldReading): ToldReading {
  if (said.event_type !== 'Action.Before') return said;
  return {
    ...said,
    data: { ...said.data, decision: { outcome: 'deny' } },
    facts: { ...said.facts, decision: byHook },
  };
}

/** What the chain of hooks did, where it did anything. */
function answered({ response, tool }: Envelope): ToldReading[] {
  if (response === undefined) return [];
  const { action, reason, metadata, warnings, additionalContext } = response;
  const counts = { contexts: additionalContext.length, warnings: warnings.length, failed: metadata.failures.length };
  const blocked: ToldReading = {
    event_type: 'Policy.Blocked',
    data: { policy_name: metadata.hookId ?? 'hook', reason, action: tool && { name: tool.name } },
    actor: 'system',
    facts: { tool: tool?.name, decision: byHook },
  };
  const told: ToldReading = {
    event_type: 'vendor.base-coat.response',
    data: { action, ...counts },
    facts: { fields: ['action', ...Object.keys(counts)] },
  };
  const isSilent = action === 'passThrough' && warnings.length === 0;
  return [...(action === 'block' ? [blocked] : []), ...(isSilent ? [] : [told])];
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
