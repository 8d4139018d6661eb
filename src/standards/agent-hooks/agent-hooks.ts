/**
 * Reads an event of Agent Hooks. The envelope must have a type and a session. Data fields that break the schema are
 * left out and the others stay. An event that otel-hooks wrote keeps its id and its facts, so that importing a journal
 * twice adds nothing.
 */
import * as z from 'zod';
import { type Body, type EventType, eventTypes, FACTS, type Fields, limitWindows } from '../../event/event.ts';
import { fieldsOf, isFields, own, text, word } from '../../lib/read.ts';
import type { ForeignEvent, ForeignReading, Unreadable } from '../foreign-event.ts';
import { actorTypes, agentModes, dataSchemas, envelopeSchema, isDateTime, riskLevels } from './schema.ts';

export const isAgentHooks = (fields: Fields): boolean =>
  typeof fields.spec_version === 'string' && typeof fields.event_type === 'string';

const envelope = z.looseObject({
  spec_version: envelopeSchema.shape.spec_version,
  event_type: z.string().min(1),
  session_id: z.string(),
  event_id: lenient(z.string().min(1)),
  timestamp: lenient(z.string().refine(isDateTime)),
  parent_session_id: lenient(z.string().min(1)),
  agent_mode: lenient(z.enum(agentModes)),
  risk: lenient(
    z.object({
      score: lenient(z.number().int().min(0).max(100)),
      level: lenient(z.enum(riskLevels)),
      factors: lenient(z.array(z.string())),
    }),
  ),
});

const name = lenient(z.string().min(1).max(256));
const traceRecord = z.object({ trace_record_id: name });
const duration = lenient(z.number().nonnegative());
const count = lenient(z.number().int().nonnegative());
const parts = {
  cache_read_tokens: count,
  cache_write_tokens: count,
  cache_write_1h_tokens: count,
  reasoning_tokens: count,
};

/** The facts at `metadata["dev.otel-hooks"]`. Any program can write this field, so only these fields are read. */
const ownFacts = z.object({
  native: name,
  root: name,
  turn: name,
  call: name,
  over: lenient(z.array(z.string().max(256)).max(128)),
  tool: name,
  mcp: lenient(z.object({ server: z.string().min(1).max(256) })),
  agent: name,
  depth: count,
  stated_budget: lenient(z.object({ used: z.number().nonnegative(), limit: z.number().positive() })),
  session_cost_usd: duration,
  rate_limits: lenient(
    z
      .array(
        z.object({
          window: z.enum(limitWindows),
          used: z.number().nonnegative(),
          resets_at: lenient(z.number().positive()),
        }),
      )
      .max(8),
  ),
  launches: lenient(z.object({ id: name, agent: name })),
  duration_ms: duration,
  error_type: name,
  exit_code: lenient(z.number().int()),
  skill: name,
  interrupted: lenient(z.boolean()),
  decision: lenient(
    z.object({
      source: z.enum(['config', 'hook', 'user', 'classifier', 'mode', 'policy', 'sandbox', 'unknown']),
      basis: z.enum(['observed', 'inferred']),
    }),
  ),
  phase: lenient(z.enum(['before', 'after'])),
  model: name,
  provider: name,
  usage: lenient(z.object(parts)),
  totals: lenient(z.object({ ...parts, input_tokens: count, output_tokens: count })),
  finish: name,
  is_error: lenient(z.literal(true)),
  is_attempt: lenient(z.literal(true)),
  no_turn_end: lenient(z.literal(true)),
  response: name,
  request: name,
  started_ms: count,
  cost_usd: duration,
  cost: lenient(z.object({ usd: duration, upper_usd: duration, prices: z.string().min(1).max(64) })),
  permission_mode: name,
  trace_record: name,
});

export function readAgentHooks(fields: Fields): ForeignEvent | Unreadable {
  const read = envelope.safeParse(fields);
  if (!read.success) return { unreadable: 'invalid-event' };
  const { event_type, event_id, session_id, parent_session_id, timestamp, agent_mode, risk } = read.data;
  if (session_id === '') return { unreadable: 'no-session-id' };
  const written = fieldsOf(fieldsOf(fields.metadata)[FACTS]);
  const isOurs = written.v === 1;
  const { root, native, ...stated } = ownFacts.parse(isOurs ? written : {});
  const facts: ForeignReading['facts'] = { ...stated, trace_record: stated.trace_record ?? traceRecordIn(fields) };
  // The standard calls this an error of one call, and has events for the retry. Our own journals state it themselves.
  if (event_type === 'Model.Failed' && !isOurs) facts.is_attempt = true;
  const parent = root ?? (parent_session_id === session_id ? undefined : parent_session_id);
  const atMs = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  const body = bodyOf(event_type, fields.data);
  const actor = actorOf(fields.actor);
  const reading: ForeignReading = {
    ...body,
    id: event_id,
    facts,
    ours: isOurs ? true : undefined,
    risk: risk && { ...risk, factors: risk.factors?.filter(factor => /^[\w.:-]{1,64}$/.test(factor)).slice(0, 16) },
    mode: agent_mode,
    actor,
    // Without a known type, the id could be the name of a person.
    actorId: actor && text(fieldsOf(fields.actor).id),
    metadata: fieldsOf(fields.metadata),
    subagent: parent === undefined ? undefined : session_id,
  };
  return {
    standard: 'agent-hooks',
    source: word(fieldsOf(fields.source).tool),
    version: text(fieldsOf(fields.source).version),
    user: text(fieldsOf(fields.user).id),
    session: parent ?? session_id,
    native: native ?? event_type,
    cwd: undefined,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    // Events that otel-hooks derives are left out, because this run derives them again.
    readings: body.event_type.startsWith('vendor.otel-hooks.') ? [] : [reading],
  };
}

/** The standard names the field but not its place: the event, its data, its metadata, or a vendor's part of these. */
function traceRecordIn(fields: Fields): string | undefined {
  const metadata = fieldsOf(fields.metadata);
  const places = [fields, fieldsOf(fields.data), metadata, ...Object.values(metadata)];
  for (const place of places) {
    const { trace_record_id: id } = traceRecord.parse(fieldsOf(place));
    if (id !== undefined) return id;
  }
  return undefined;
}

const isEventType = (type: string): type is EventType => (eventTypes as readonly string[]).includes(type);

function bodyOf(type: string, data: unknown): Body {
  if (isEventType(type)) return { event_type: type, data: conforming(type, fieldsOf(data)) } as Body;
  const vendor = /^vendor\.[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_.:-]{1,64}$/.test(type);
  const plain = /^[A-Za-z0-9_.:-]{1,64}$/.test(type);
  // Short texts can be content, so only numbers and truth values of unknown events are kept.
  const kept = Object.entries(fieldsOf(data)).filter(([, value]) => ['number', 'boolean'].includes(typeof value));
  return {
    event_type: vendor ? (type as `vendor.${string}`) : `vendor.agent-hooks.${plain ? type : 'unnamed'}`,
    data: Object.fromEntries(kept),
  };
}

/** The depth of the deepest field that can break the schema: `action.result.exit_code`. */
const MOST_BREACHES = 64;

/** Returns the data without the fields that break the schema. */
function conforming(type: EventType, data: Fields): Fields {
  const schema: z.ZodType = dataSchemas[type];
  // Action events of the model always have an action, which can be empty.
  const actionless = (type === 'Action.Before' || type === 'Action.After') && !isFields(data.action);
  const copy = structuredClone(actionless ? { ...data, action: {} } : data);
  for (let look = 0; look < MOST_BREACHES; look += 1) {
    const read = schema.safeParse(copy);
    if (read.success) return copy;
    for (const { path } of read.error.issues) remove(copy, path);
  }
  return actionless ? { action: {} } : {};
}

/** A missing field cannot be removed, so the object that lacks it is removed. */
function remove(from: Fields, path: readonly PropertyKey[]): void {
  let at: unknown = from;
  for (const part of path.slice(0, -1)) at = isFields(at) ? own(at, String(part)) : undefined;
  const last = String(path.at(-1));
  if (isFields(at) && Object.hasOwn(at, last)) delete (at as Record<string, unknown>)[last];
  else if (path.length > 1) remove(from, path.slice(0, -1));
}

/** The standard writes `agent` in its table of actors and `ai_agent` in its schema. */
function actorOf(actor: unknown): ForeignReading['actor'] {
  const type = text(fieldsOf(actor).type);
  return type === 'agent' ? 'ai_agent' : actorTypes.find(known => known === type);
}

/** A field of an unexpected type is ignored. */
function lenient<T extends z.ZodType>(type: T): z.ZodCatch<z.ZodOptional<T>> {
  return type.optional().catch(undefined);
}
