/**
 * Reads envelopes of OpenHook 0.1. The key `openhook` alone makes an object an envelope. The reader applies the
 * published schema only as far as a consumer must: a field that is missing or of another type is unknown, and the other
 * fields stay.
 *
 * The `id` makes a repetition recognizable. An agent may send only `session.end`, so its reading holds a whole session.
 */
import * as z from 'zod';
import { type EndReason, FILE_WRITE, type Fields } from '../../event/event.ts';
import { fieldsOf, isFields, own, word } from '../../lib/read.ts';
import type { ForeignEvent, ForeignReading, Unreadable } from '../foreign-event.ts';
import { zonedTime } from './time.ts';

export const isOpenHook = (fields: Fields): boolean => Object.hasOwn(fields, 'openhook');

const VERSION = '0.1';

const envelope = z.looseObject({
  openhook: z.string().regex(/^\d+\.\d+$/),
  type: z.string().min(1),
  session_id: z.string(),
  id: lenient(z.string().min(1)),
  source: lenient(z.string().regex(/^[a-z][a-z0-9-]*$/)),
  time: lenient(z.string()),
  context: lenient(z.string()),
  // The first text of this version had `cwd` in the place of `context`.
  cwd: lenient(z.string()),
});

const count = lenient(z.number().int().nonnegative());
const text = lenient(z.string().min(1));

const sessionStart = z.object({ model: text });
const sessionEnd = z.object({
  transcript_path: text,
  reason: text,
  model: text,
  duration_ms: count,
  input_tokens: count,
  output_tokens: count,
});
const promptSubmit = z.object({ prompt_length: count });
const tool = z.object({ tool_name: text, tool_call_id: text, status: text, duration_ms: count });
const line = lenient(z.number().int().min(1));
const fileWrite = z.object({
  path: z.string().min(1),
  operation: lenient(z.enum(['create', 'update', 'delete'])),
  start_line: line,
  end_line: line,
  model: text,
  tool_call_id: text,
});

/** The fields that otel-hooks adds when it writes envelopes. */
const additions = z.object({
  parent_session_id: text,
  agent_id: text,
  agent_type: text,
  turn_id: text,
  decision: text,
  outcome: text,
});

const endReasons: Readonly<Record<string, EndReason>> = {
  user_exit: 'exit',
  timeout: 'idle_timeout',
  error: 'error',
  completed: 'completed',
};

export function readOpenHook(fields: Fields): ForeignEvent | Unreadable {
  const read = envelope.safeParse(fields);
  if (!read.success) return { unreadable: 'invalid-event' };
  const { openhook, id, source, type, session_id, time, context, cwd } = read.data;
  if (session_id === '') return { unreadable: 'no-session-id' };
  const extensions = fieldsOf(fields.extensions);
  const added = additions.parse(fieldsOf(extensions['otel-hooks']));
  const readings = reader(type)(fieldsOf(fields.data), added);
  if (readings === undefined) return { unreadable: 'invalid-event' };
  const { time: atMs, zoned } = timeOf(time);
  const child = added.parent_session_id !== undefined && added.parent_session_id !== session_id;
  const subagent = child ? session_id : added.agent_id;
  return {
    standard: 'openhook',
    source,
    session: child ? (added.parent_session_id ?? session_id) : session_id,
    native: type,
    cwd: folderOf(context) ?? cwd,
    address: context?.startsWith('file://') ? undefined : context,
    atMs,
    transcript: type === 'session.end' ? sessionEnd.parse(fieldsOf(fields.data)).transcript_path : undefined,
    payload: isFields(extensions.legacy_payload) ? extensions.legacy_payload : undefined,
    odd: [
      ...(openhook === VERSION ? [] : ['openhook_version']),
      ...(cwd === undefined ? [] : ['openhook_cwd']),
      ...(zoned ? [] : ['openhook_time']),
    ],
    readings: readings.map(reading => ({
      ...reading,
      // Several readings of one envelope share its id and differ in their type.
      id,
      metadata: extensions,
      atMs: reading.atMs === undefined || atMs === undefined ? atMs : atMs + reading.atMs,
      subagent,
      facts: { turn: added.turn_id, agent: subagent === undefined ? undefined : added.agent_type, ...reading.facts },
    })),
  };
}

type Read = (data: Fields, added: z.infer<typeof additions>) => ForeignReading[] | undefined;

const readers: Readonly<Record<string, Read>> = {
  'session.start': data => [
    { event_type: 'Session.Start', data: { start_reason: 'new' }, facts: modelOf(sessionStart.parse(data).model) },
  ],
  'session.end': data => {
    const { reason, model, duration_ms, input_tokens, output_tokens } = sessionEnd.parse(data);
    const total =
      input_tokens === undefined && output_tokens === undefined
        ? undefined
        : (input_tokens ?? 0) + (output_tokens ?? 0);
    const end: ForeignReading = {
      event_type: 'Session.End',
      data: {
        end_reason: own(endReasons, reason ?? ''),
        usage: total === undefined && duration_ms === undefined ? undefined : { total_tokens: total, duration_ms },
      },
      facts: { ...modelOf(model), totals: total === undefined ? undefined : { input_tokens, output_tokens } },
    };
    if (duration_ms === undefined) return [end];
    const start: ForeignReading = {
      event_type: 'Session.Start',
      data: { start_reason: 'new' },
      facts: modelOf(model),
      atMs: -duration_ms,
      onlyFirst: true,
    };
    return [start, end];
  },
  'prompt.submit': data => [
    {
      event_type: 'Prompt.Submitted',
      data: { prompt_length: promptSubmit.parse(data).prompt_length },
      actor: 'user',
      facts: { no_turn_end: true },
    },
  ],
  'tool.start': data => {
    const { tool_name, tool_call_id } = tool.parse(data);
    return [
      {
        event_type: 'Action.Before',
        key: tool_call_id,
        data: { action: { name: tool_name } },
        facts: { call: tool_call_id, tool: tool_name },
      },
    ];
  },
  'tool.end': (data, { decision, outcome }) => {
    const { tool_name, tool_call_id, status, duration_ms } = tool.parse(data);
    // The sender derived the end of the call from the end of the session; no event reported it.
    if (outcome === 'unknown' && tool_call_id !== undefined)
      return [{ event_type: 'vendor.openhook.tool.end', data: {}, facts: { over: [tool_call_id] } }];
    const denied = decision === 'deny';
    const success = status === 'success' ? true : status === 'error' ? false : undefined;
    return [
      {
        event_type: 'Action.After',
        key: tool_call_id,
        data: {
          action: { name: tool_name, result: denied || success === undefined ? undefined : { success } },
          decision: denied ? { outcome: 'deny' } : undefined,
        },
        facts: {
          call: tool_call_id,
          tool: tool_name,
          duration_ms,
          error_type: success === false && !denied ? 'tool_error' : undefined,
        },
      },
    ];
  },
  'file.write': data => {
    const read = fileWrite.safeParse(data);
    if (!read.success) return undefined;
    const { path, operation, start_line, end_line, model, tool_call_id } = read.data;
    return [
      {
        event_type: FILE_WRITE,
        // The path of an action is content, which is left out unless the configuration asks for it.
        data: { operation, start_line, end_line, action: { input: { path } } },
        facts: { ...modelOf(model), call: tool_call_id, fields: ['operation', 'start_line', 'end_line'] },
      },
    ];
  },
};

/** A type of a later version keeps its name and loses its data. */
const reader = (type: string): Read =>
  own(readers, type) ??
  (() => [{ event_type: `vendor.openhook.${/^[a-z0-9_.]{1,64}$/.test(type) ? type : 'unnamed'}`, data: {} }]);

/**
 * `file.write` has `provider/model`, other types have the bare model. The provider is the part before the first slash.
 */
function modelOf(model: string | undefined): { model?: string | undefined; provider?: string | undefined } {
  const [, provider, name] = /^([a-z][a-z0-9_.-]{1,40})\/(.+)$/s.exec(model ?? '') ?? [];
  return name === undefined ? { model } : { model: name, provider };
}

/** A time without a zone is probably UTC. */
function timeOf(time: string | undefined): { time: number | undefined; zoned: boolean } {
  const read = zonedTime(time ?? '');
  const zoned = time === undefined || read !== undefined || /[Zz]$|[+-]\d\d(:?\d\d)?$/.test(time.slice(10));
  const atMs = Date.parse(read ?? (zoned ? (time ?? '') : `${time}Z`));
  return { time: Number.isNaN(atMs) ? undefined : atMs, zoned };
}

/** Returns the folder of a `file:` URI; other URIs are not folders. */
function folderOf(context: string | undefined): string | undefined {
  if (context === undefined || !context.startsWith('file://')) return undefined;
  try {
    return word(decodeURIComponent(context.slice('file://'.length)));
  } catch {
    // The path was never percent-encoded, because it holds a lone percent sign.
    return context.slice('file://'.length);
  }
}

/** A field of an unexpected type is ignored. */
function lenient<T extends z.ZodType>(type: T): z.ZodCatch<z.ZodOptional<T>> {
  return type.optional().catch(undefined);
}
