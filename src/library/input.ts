/** Checks an input before the pipeline, with the same checks as `serve`. */
import { agents } from '../agents/index.ts';
import type { Fields } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { isFields, own } from '../lib/read.ts';
import { recognize } from '../receive/recognize.ts';
import { type Fault, type Form, intakeOf } from '../serve/intake.ts';
import { isAgentHooks } from '../standards/agent-hooks/agent-hooks.ts';
import { isBaseCoat } from '../standards/base-coat/base-coat.ts';
import { isCloudEvent } from '../standards/cloudevents/cloudevents.ts';
import { isOpenHook } from '../standards/openhook/openhook.ts';
import type { IngestMeta, Refusal, RefusalReason } from './input-types.ts';

export const refusal = (reason: RefusalReason, message: string): { status: 'refused' } & Refusal => ({
  status: 'refused',
  reason,
  message,
});

export type Checked = { fragment: Fragment; refused: Refusal[] } | { refusal: { status: 'refused' } & Refusal };

/** Makes a fragment of an input. Refuses the same inputs as `serve`. */
export function check(input: unknown, meta: IngestMeta, nowMs: number): Checked {
  const { timeMs = nowMs } = meta;
  if (!Number.isFinite(timeMs)) return { refusal: refusal('invalid-time', '`timeMs` is no time in Unix ms') };
  const read = textOf(input);
  if ('why' in read) return { refusal: refusal('invalid-value', read.why) };
  const header = headerOf(meta);
  const form = formOf(read.value, header.tool);
  const { payload, verdicts } = intakeOf(Buffer.from(read.text), { form, header });
  const refused = verdicts.flatMap(fault => (fault === undefined ? [] : [refusalBy(fault)]));
  const [first] = refused;
  if (payload === undefined) {
    const { reason, message, ...more } = first ?? refusal('empty', 'there is no event');
    return { refusal: { ...more, status: 'refused', reason, message } };
  }
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  return { fragment: { name: 'bridge', header, payload: bytes, atMs: timeMs, sizeBytes: bytes.length }, refused };
}

function textOf(input: unknown): { text: string; value: unknown } | { why: string } {
  if (typeof input === 'string') return { text: input, value: parsed(input) };
  try {
    const text = JSON.stringify(input) as string | undefined;
    return text === undefined ? { why: `${typeof input} is no JSON value` } : { text, value: input };
  } catch (error) {
    return { why: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The check of the intake names the position.
    return undefined;
  }
}

function headerOf({ tool, event, cwd, traceparent }: IngestMeta): Record<string, string> {
  const given = Object.entries({ tool, event, cwd, TRACEPARENT: traceparent });
  return Object.fromEntries(given.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

const isStandard = (fields: Fields): boolean =>
  isOpenHook(fields) || isCloudEvent(fields) || isAgentHooks(fields) || isBaseCoat(fields);

/** Returns the form that is checked: that of the agent's hooks for its payloads, otherwise that of the standard. */
function formOf(value: unknown, tool: string | undefined): Form {
  if (!isFields(value) || isStandard(value)) return 'any';
  return recognize(value, { flag: tool, variable: undefined }, agents) === undefined ? 'any' : 'hook';
}

const reasonOfRule: { readonly [rule: string]: RefusalReason } = {
  'body/empty': 'empty',
  'json/syntax': 'not-json',
  'event/object': 'not-an-object',
  'event/session': 'bad-session-id',
  'event/name': 'no-event-name',
  'event/unknown': 'unknown-agent',
  'limit/events': 'too-many-events',
  'limit/values': 'too-many-values',
};

function refusalBy({ rule, line, column, field, why }: Fault): Refusal {
  const reason = own(reasonOfRule, rule) ?? (rule.startsWith('limit/') ? 'too-large' : 'invalid-event');
  return { reason, rule, message: why, line, column, ...(field === undefined ? {} : { field }) };
}
