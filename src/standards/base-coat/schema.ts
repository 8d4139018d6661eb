/** Zod schemas of the envelopes of `envelope.ts`. Unknown fields are allowed. */
import * as z from 'zod';
import type { BaseCoatEvent, BaseCoatResponse } from './envelope.ts';
import { hookPoints } from './hook-points.ts';

const count = z.int().nonnegative();

export const responseSchema = z.looseObject({
  action: z.enum(['passThrough', 'injectContext', 'block', 'modify']),
  priority: z.number().optional(),
  additionalContext: z.array(z.string()).optional(),
  overwriteContext: z.boolean().optional(),
  warnings: z.array(z.string()).optional(),
  reason: z.string().min(1).optional(),
  modifiedInput: z.unknown().optional(),
  modifiedOutput: z.unknown().optional(),
  metadata: z.looseObject({ hookId: z.string().optional() }).optional(),
}) satisfies z.ZodType<BaseCoatResponse>;

export const eventSchema = z.looseObject({
  hook: z.enum(hookPoints),
  timestamp: z.iso.datetime({ offset: true }),
  sessionId: z.string().min(1),
  agent: z.string().min(1).optional(),
  repository: z
    .string()
    .regex(/^[^/\s]+\/[^/\s]+$/)
    .optional(),
  branch: z.string().min(1).optional(),
  budget: z.looseObject({ usedTokens: count.optional(), effectiveLimit: count.optional() }).optional(),
  tool: z
    .looseObject({
      name: z.string().min(1),
      success: z.boolean().optional(),
      durationMs: z.number().nonnegative().optional(),
    })
    .optional(),
  response: responseSchema.optional(),
}) satisfies z.ZodType<BaseCoatEvent>;
