/**
 * OpenHook 0.1 as zod schemas: the envelope, and the data of each type, which the published schema of the envelope does
 * not include.
 */
import * as z from 'zod';
import { type OpenHookType, openHookTypes } from './to-openhook.ts';

export const OPENHOOK_VERSION = '0.1';

/** Types that the standard reserves for a later version. */
export const reservedTypes: readonly string[] = ['doc.write', 'message.send', 'record.update'];

const fields = z.custom<object>(value => typeof value === 'object' && value !== null && !Array.isArray(value), {
  params: { wants: 'object' },
});
const text = z.string().optional();
const from = (least: number) =>
  z
    .number()
    .refine(Number.isInteger, { params: { wants: 'integer' } })
    .min(least)
    .optional();

/** The fields at the top. `judgeStrings` checks the format of strings. */
export const envelopeSchema = z.looseObject({
  openhook: z.string(),
  id: z.string(),
  source: z.string(),
  type: z.string(),
  time: z.string(),
  session_id: z.string(),
  data: fields.optional(),
  context: text,
  extensions: fields.optional(),
});

const tool = { tool_name: text, tool_call_id: text };

export const dataSchemas: Readonly<Record<OpenHookType, z.ZodType>> = {
  'session.start': z.looseObject({ model: text }),
  'session.end': z.looseObject({
    transcript_path: text,
    reason: z.enum(['user_exit', 'timeout', 'error', 'completed']).optional(),
    model: text,
    duration_ms: from(0),
    input_tokens: from(0),
    output_tokens: from(0),
  }),
  'prompt.submit': z.looseObject({ prompt_length: from(0) }),
  'tool.start': z.looseObject(tool),
  'tool.end': z.looseObject({ ...tool, status: z.enum(['success', 'error']).optional(), duration_ms: from(0) }),
  'file.write': z.looseObject({
    path: z.string(),
    operation: z.enum(['create', 'update', 'delete']).optional(),
    start_line: from(1),
    end_line: from(1),
    model: text,
    tool_call_id: text,
  }),
};

export const types: readonly string[] = openHookTypes;
