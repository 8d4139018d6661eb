/**
 * OpenHook 0.1 as input. The key `openhook` alone makes an object an envelope; the published schema is held against it
 * as far as a consumer must: what is not stated or not of its type is unknown, and costs itself.
 *
 * `id` makes a repetition recognizable. `session.end` may be all that an agent ever sends, so it carries a whole
 * session.
 */
import * as z from 'zod';
import { type EndReason, FILE_WRITE, type Fields } from '../../event/event.ts';
import { fieldsOf, isFields, own, word } from '../../lib/read.ts';
import type { ToldEvent, ToldReading, Unreadable } from '../foreign-event.ts';
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
  // What the first text of this version had in the place of `context`.
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

/** What otel-hooks itself adds when it emits. */
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

export function readOpenHook(fields: Fields): ToldEvent | Unreadable {
  const read = envelope.safeParse(fields);
  if (!read.success) return { unreadable: 'invalid-event' };
  const { openhook, id, source, type, session_id, time, context, cwd } = read.data;
  if (session_id === '') return { unreadable: 'no-session-id' };
  const extensions = fieldsOf(fields.extensions);
  const added = additions.parse(fieldsOf(extensions['otel-hooks']));
  const says = reader(type)(fieldsOf(fields.data), added);
  if (says === undefined) return { unreadable: 'invalid-event' };
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
    says: says.map(said => ({
      ...said,
      // A reading that stands for several events of ours keeps them apart by its type.
      id,
      metadata: extensions,
      atMs: said.atMs === undefined || atMs === undefined ? atMs : atMs + said.atMs,
      subagent,
      facts: { turn: added.turn_id, agent: subagent === undefined ? undefined : added.agent_type, ...said.facts },
    })),
  };
}

type Read = (data: Fields, added: z.infer<typeof additions>) => ToldReading[] | undefined;

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
    const end: ToldReading = {
      event_type: 'Session.End',
      data: {
        end_reason: own(endReasons, reason ?? ''),
        usage: total === undefined && duration_ms === undefined ? undefined : { total_tokens: total, duration_ms },
      },
      facts: { ...modelOf(model), totals: total === undefined ? undefined : { input_tokens, output_tokens } },
    };
    if (duration_ms === undefined) return [end];
    const start: ToldReading = {
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
    // That it is over is concluded; no end of it was seen.
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
        // The path as an action has it: content, which goes unless it was asked for.
        data: { operation, start_line, end_line, action: { input: { path } } },
        facts: { ...modelOf(model), call: tool_call_id, fields: ['operation', 'start_line', 'end_line'] },
      },
    ];
  },
};

/** A type of a later version is kept under its name, without what it holds. */
const reader = (type: string): Read =>
  own(readers, type) ??
  (() => [{ event_type: `vendor.openhook.${/^[a-z0-9_.]{1,64}$/.test(type) ? type : 'unnamed'}`, data: {} }]);

/** `anthropic/claude-x` in file.write, bare elsewhere: the provider is what stands before the first slash. */
function modelOf(model: string | undefined): { model?: string | undefined; provider?: string | undefined } {
  const [, provider, name] = /^([a-z][a-z0-9_.-]{1,40})\/(.+)$/s.exec(model ?? '') ?? [];
  return name === undefined ? { model } : { model: name, provider };
}

/** Without a zone UTC is meant, most likely. */
function timeOf(time: string | undefined): { time: number | undefined; zoned: boolean } {
  const told = zonedTime(time ?? '');
  const zoned = time === undefined || told !== undefined || /[Zz]$|[+-]\d\d(:?\d\d)?$/.test(time.slice(10));
  const atMs = Date.parse(told ?? (zoned ? (time ?? '') : `${time}Z`));
  return { time: Number.isNaN(atMs) ? undefined : atMs, zoned };
}

/** The folder of a `file:` URI; what else an agent works in is no folder. */
function folderOf(context: string | undefined): string | undefined {
  if (context === undefined || !context.startsWith('file://')) return undefined;
  try {
    return word(decodeURIComponent(context.slice('file://'.length)));
  } catch {
    // A stray percent sign: then it was never encoded.
    return context.slice('file://'.length);
  }
}

/** A field of another type than the standard's says nothing. */
function lenient<T extends z.ZodType>(type: T): z.ZodCatch<z.ZodOptional<T>> {
  return type.optional().catch(undefined);
}
