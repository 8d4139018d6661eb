/**
 * Reads event envelopes of Base Coat: `{hook, timestamp, sessionId, agent, repository, branch, budget, tool}`. Base
 * Coat has no ids, so calls and subagents are paired by name, in order. `agent` is the name of an agent definition and
 * not of the product. `PostToolUse` and `OnError` both report a failed tool, which
 * is one failure.
 *
 * Our hook runner adds the input and the output of the action, which loops and risks are detected by; they are redacted
 * like those of all agents. It also adds the answer of the hooks as `response`. The reader keeps its action, the hook's id, and the
 * numbers of warnings and failures.
 */
import * as z from 'zod';
import type { Fields } from '../../event/event.ts';
import { isFields, text } from '../../lib/read.ts';
import type { ForeignEvent, ForeignReading, Unreadable } from '../foreign-event.ts';
import { endsTurn, type HookPoint, hookPointOf } from './hook-points.ts';
import { responseSchema } from './schema.ts';

const count = z.number().int().nonnegative().optional().catch(undefined);

const hookId = z.string().regex(/^[\w.:/-]{1,64}$/);

/** A change that our hook runner reports of a handler. A name in another form is not recorded. */
const change = z.object({
  hookId: hookId.optional().catch(undefined),
  what: z.enum(['input', 'output', 'context', 'replaced_context']),
});

/** Above this number, the changes of one event are not recorded one by one. */
const MOST_CHANGES = 32;

/** The class of an error. The document has no field for it; senders write a word or an object with a type. */
const CLASS = /^[A-Za-z][\w.-]{0,63}$/;
const errorClass = z.union([
  z.string().regex(CLASS),
  z.object({ class: z.string().regex(CLASS) }).transform(each => each.class),
  z.object({ type: z.string().regex(CLASS) }).transform(each => each.type),
  z.object({ name: z.string().regex(CLASS) }).transform(each => each.name),
]);

const answer = z.object({
  action: responseSchema.shape.action,
  reason: z.string().optional().catch(undefined),
  additionalContext: z.array(z.unknown()).catch([]),
  warnings: z.array(z.unknown()).catch([]),
  metadata: z
    .object({
      hookId: hookId.optional().catch(undefined),
      failures: z.array(z.unknown()).catch([]),
      // An odd entry does not cost the others.
      changes: z
        .array(z.unknown())
        .transform(all => all.flatMap(each => change.safeParse(each).data ?? []))
        .catch([]),
    })
    .catchall(z.unknown())
    .catch({ failures: [], changes: [] }),
});

const envelope = z.looseObject({
  hook: z.string().min(1),
  sessionId: z.string(),
  timestamp: z.string().optional().catch(undefined),
  agent: z.string().min(1).optional().catch(undefined),
  repository: z.string().optional().catch(undefined),
  branch: z.string().optional().catch(undefined),
  error: errorClass.optional().catch(undefined),
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
  // Not fields of the standard: our hook runner gives them to its observers.
  input: z.unknown().optional(),
  output: z.unknown().optional(),
});
type Envelope = z.infer<typeof envelope>;

/** No other format has both `hook` and `sessionId` with a text as timestamp. */
export const isBaseCoat = (fields: Fields): boolean =>
  text(fields.hook) !== undefined && text(fields.sessionId) !== undefined && text(fields.timestamp) !== undefined;

export function readBaseCoat(fields: Fields): ForeignEvent | Unreadable {
  const read = envelope.safeParse(fields);
  if (!read.success) return { unreadable: 'invalid-event' };
  const { hook, sessionId, timestamp } = read.data;
  if (sessionId === '') return { unreadable: 'no-session-id' };
  const point = hookPointOf(hook);
  const atMs = Date.parse(timestamp ?? '');
  const readings: ForeignReading[] = endsTurn(hook)
    ? [{ event_type: 'Agent.Response', data: { final: true } }]
    : point === undefined
      ? [{ event_type: `vendor.base-coat.${/^[A-Za-z]{1,64}$/.test(hook) ? hook : 'unnamed'}`, data: {} }]
      : readers[point](read.data);
  const { usedTokens: used, effectiveLimit: limit } = read.data.budget ?? {};
  const [first, ...others] = readings;
  // OnBudgetExceeded states its budget as a violation.
  const isStated = used !== undefined && limit !== undefined && limit > 0 && point !== 'OnBudgetExceeded';
  const about =
    isStated && first !== undefined
      ? [{ ...first, facts: { ...first.facts, stated_budget: { used, limit } } }, ...others]
      : readings;
  return {
    standard: 'base-coat',
    source: undefined,
    session: sessionId,
    native: hook,
    cwd: undefined,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    repository: repositoryOf(read.data),
    readings: [...about.map(each => (isBlocked(read.data) ? denied(each) : each)), ...answered(read.data)].map(
      each => ({
        ...each,
        facts: { agent: read.data.agent, ...each.facts },
      }),
    ),
  };
}

/** `owner/name`, without characters that no host allows in them. */
const REPOSITORY = /^(?:([\w.-]{1,100}(?:\/[\w.-]{1,100}){0,3})\/)?([\w.-]{1,100})$/;
const BRANCH = /^[^\s\p{Cc}~^:?*[\\]{1,250}$/u;

function repositoryOf({ repository, branch }: Envelope): ForeignEvent['repository'] {
  const [, owner, name] = REPOSITORY.exec(repository ?? '') ?? [];
  const head = BRANCH.test(branch ?? '') ? branch : undefined;
  return name === undefined && head === undefined ? undefined : { owner, name, branch: head };
}

const isBlocked = ({ response }: Envelope): boolean => response?.action === 'block';

const byHook = { source: 'hook', basis: 'observed' } as const;

/** A blocked action never runs, so its Action.Before is also its end. */
function denied(reading: ForeignReading): ForeignReading {
  if (reading.event_type !== 'Action.Before') return reading;
  return {
    ...reading,
    data: { ...reading.data, decision: { outcome: 'deny' } },
    facts: { ...reading.facts, decision: byHook },
  };
}

/** Returns readings of the hooks' answer, unless the hooks passed the event unchanged. */
function answered({ response, tool }: Envelope): ForeignReading[] {
  if (response === undefined) return [];
  const { action, reason, metadata, warnings, additionalContext } = response;
  const counts = { contexts: additionalContext.length, warnings: warnings.length, failed: metadata.failures.length };
  const measured = measurementsIn(metadata);
  const blocked: ForeignReading = {
    event_type: 'Policy.Blocked',
    data: { policy_name: metadata.hookId ?? 'hook', reason, action: tool && { name: tool.name } },
    actor: 'system',
    facts: { tool: tool?.name, decision: byHook },
  };
  const answer: ForeignReading = {
    event_type: 'vendor.base-coat.response',
    data: { action, ...measured, ...counts },
    facts: { fields: ['action', ...Object.keys(measured), ...Object.keys(counts)] },
  };
  const isSilent = action === 'passThrough' && warnings.length === 0 && Object.keys(measured).length === 0;
  const changes = metadata.changes.slice(0, MOST_CHANGES).map(
    ({ hookId: by, what }): ForeignReading => ({
      event_type: 'vendor.base-coat.change',
      data: { ...(by === undefined ? {} : { hook: by }), what },
      facts: { tool: tool?.name, fields: ['hook', 'what'] },
    }),
  );
  return [...(action === 'block' ? [blocked] : []), ...(isSilent ? [] : [answer]), ...changes];
}

const MOST_MEASUREMENTS = 16;

/** Numbers that a hook states for diagnosis, such as the memories that it found. They are never content. */
function measurementsIn(metadata: Fields): Fields {
  const found = Object.entries(metadata).filter(
    ([name, value]) => /^[A-Za-z]\w{0,31}$/.test(name) && (typeof value === 'number' || typeof value === 'boolean'),
  );
  return Object.fromEntries(found.slice(0, MOST_MEASUREMENTS));
}

const readers: Readonly<Record<HookPoint, (event: Envelope) => ForeignReading[]>> = {
  SessionStart: () => [{ event_type: 'Session.Start', data: { start_reason: 'new' } }],
  SessionEnd: () => [{ event_type: 'Session.End', data: { end_reason: 'completed' } }],
  UserPromptSubmitted: () => [
    { event_type: 'Prompt.Submitted', data: {}, actor: 'user', facts: { no_turn_end: true } },
  ],
  PreToolUse: ({ tool, input }) => [
    {
      event_type: 'Action.Before',
      data: { action: { name: tool?.name, input: inputOf(input) } },
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
      ? [{ event_type: 'Agent.Error', data: { error_type: event.error ?? 'UnhandledException' } }]
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
      {
        event_type: 'Policy.Violation',
        data: { policy_name: 'budget', rule: 'envelope_tokens.exceeded' },
        actor: 'system',
        facts: known ? { budget: { of: 'envelope', unit: 'tokens', state: 'exceeded', used, limit } } : {},
      },
    ];
  },
};

/** A text is a command line. */
const inputOf = (input: unknown): Fields | undefined =>
  isFields(input) ? input : typeof input === 'string' && input !== '' ? { command: input } : undefined;

const outcome = ({ tool, input, output, error }: Envelope, success: boolean | undefined): ForeignReading => ({
  event_type: 'Action.After',
  data: {
    action: {
      name: tool?.name,
      input: inputOf(input),
      result: success === undefined ? undefined : { success, error_message: success ? undefined : text(output) },
    },
  },
  output,
  facts: {
    tool: tool?.name,
    duration_ms: tool?.durationMs,
    error_type: success === false ? (error ?? 'tool_error') : undefined,
    is_error: success === false ? true : undefined,
  },
});
