/**
 * Content that the configuration asks for: structured values on records, JSON text on spans, as the conventions
 * require. The sizes fit the back ends: Tempo cuts attribute values of spans at 2,048 bytes. Loki refuses a record with
 * more than 64 KB of attributes or with more than 128 attributes, and counts each field of an object.
 */
import type { Attributes, AttributeValue } from '@opentelemetry/api';
import type { AnyValueMap } from '@opentelemetry/api-logs';
import type { SpanContent } from '../assemble/finished.ts';
import { type Event, type Facts, type Fields, isVendor } from '../event/event.ts';
import { fitted, type Json } from '../lib/fitted.ts';
import { isFields, put } from '../lib/read.ts';
import { development, ours, stable } from './names.ts';
import { isHash } from './resource.ts';

/** The content that is sent, and the signals that carry it. */
export interface ContentFacts {
  modes: { readonly [of: string]: string };
  on: 'both' | 'spans' | 'events';
}

const usual: ContentFacts = { modes: { prompt: 'hash', response: 'hash' }, on: 'both' };

const SPAN_BYTES = 2_048;
const MESSAGE_BYTES = 32_000;
/** Half of the limit, as the record of an action carries two such values. */
const CALL_BYTES = 16_000;
const CALL_LEAVES = 40;

export function userAttributes(user: string | undefined): Attributes {
  if (user === undefined) return {};
  return { [isHash(user) ? development.userHash : development.userId]: user };
}

/** The vendor metadata that the configuration names, by path. */
export function metadataAttributes(metadata: Fields | undefined): Attributes {
  if (metadata === undefined) return none;
  const named: Attributes = {};
  nameAll(metadata, ours.metadataPrefix, named);
  return named;
}
const none: Attributes = {};

function nameAll(fields: Fields, prefix: string, named: Attributes): void {
  for (const [key, value] of Object.entries(fields)) {
    if (isFields(value)) nameAll(value, `${prefix}${key}.`, named);
    else if (typeof value !== 'object' || Array.isArray(value)) put(named, prefix + key, value as AttributeValue);
  }
}

/** Hashes and short content. */
export function contentAttributes(event: Event, facts: Partial<Facts>, content: ContentFacts = usual): Attributes[] {
  const { modes, on } = content;
  const hashed = (of: string, hash: string | undefined): string | undefined =>
    modes[of] === 'hash' ? hash : undefined;
  const shown = (text: string | undefined): string | undefined => (on === 'spans' ? undefined : text);
  const { content: sizes } = facts;
  if (isVendor(event)) return [{ [development.filePath]: shown(facts.path), [ours.pathHash]: sizes?.path?.hash }];
  switch (event.event_type) {
    case 'Session.Start':
      return [{ [development.processWorkingDirectory]: shown(facts.cwd), [ours.contextUri]: shown(facts.context_uri) }];
    case 'Prompt.Submitted':
      return [
        {
          [ours.promptHash]: hashed('prompt', event.data.prompt_hash),
          [ours.decisionReason]: shown(event.data.decision?.reason),
        },
      ];
    case 'Agent.Response':
      return [{ [ours.responseHash]: hashed('response', event.data.response_hash) }];
    case 'Agent.Decision':
      return [{ [ours.decisionReason]: shown(event.data.decision?.reason) }];
    case 'Action.Before':
    case 'Action.After':
      return [
        {
          [ours.argumentsHash]: hashed('arguments', sizes?.input?.hash),
          [ours.resultHash]: hashed('results', sizes?.output?.hash),
          [ours.pathHash]: sizes?.path?.hash,
          [ours.commandHash]: sizes?.command?.hash,
          [development.filePath]: shown(facts.path),
          [development.processCommandLine]: shown(facts.command),
          [stable.exceptionMessage]: shown(event.data.action.result?.error_message),
          [ours.decisionReason]: shown(event.data.decision?.reason),
        },
      ];
    case 'Policy.Violation':
    case 'Policy.Blocked':
    case 'Policy.Override':
      return [
        {
          [ours.policyReason]: shown(event.data.reason),
          [ours.policyOverrideBy]: modes.user === 'off' ? undefined : sizes?.override_by?.hash,
        },
      ];
    case 'Retry.Triggered':
      // A single word, such as `rate_limit`, is a class and not content.
      return [{ [ours.retryReason]: isClass(event.data.reason) ? event.data.reason : shown(event.data.reason) }];
    case 'Agent.Notification':
      return [{ [ours.notificationMessage]: shown(event.data.message) }];
    case 'Agent.Error':
    case 'Model.Failed':
      return [{ [stable.exceptionMessage]: shown(event.data.error_message) }];
    default:
      return [];
  }
}

const isClass = (reason: string | undefined): boolean => /^[\w-]{1,32}$/.test(reason ?? '');

/** Content that may be long, as structured values. */
export function contentValues(event: Event, content: ContentFacts = usual, longest?: number): AnyValueMap {
  const values: { [name: string]: Json } = {};
  if (isVendor(event) || content.on === 'spans') return values;
  const add = (name: string, value: unknown, bytes: number): void => {
    const fits = value === undefined ? undefined : fitted(value, { bytes, leaves: CALL_LEAVES, text: cutAt(longest) });
    if (fits !== undefined) values[name] = fits;
  };
  switch (event.event_type) {
    case 'Prompt.Submitted':
      add(development.inputMessages, messages('user', event.data.prompt), MESSAGE_BYTES);
      break;
    case 'Agent.Response':
      add(development.outputMessages, messages('assistant', event.data.response), MESSAGE_BYTES);
      break;
    case 'Action.Before':
    case 'Action.After':
      add(development.toolArguments, event.data.action.input, CALL_BYTES);
      add(development.toolResult, event.data.action.result?.output, CALL_BYTES);
      break;
    default:
      break;
  }
  return values as AnyValueMap;
}

/** Returns JSON text, because attributes of spans cannot contain objects. */
export function spanContentAttributes(
  content: SpanContent | undefined,
  { on }: ContentFacts = usual,
  longest = SPAN_BYTES,
): Attributes {
  if (content === undefined || on === 'events') return {};
  const bytes = Math.min(SPAN_BYTES, longest);
  const json = (value: unknown): string | undefined => {
    const fits = value === undefined ? undefined : fitted(value, { bytes });
    return fits === undefined ? undefined : JSON.stringify(fits);
  };
  return {
    [development.inputMessages]: json(messages('user', content.prompt)),
    [development.outputMessages]: json(messages('assistant', content.response)),
    [development.toolArguments]: json(content.input),
    [development.toolResult]: content.output,
    [development.filePath]: content.path,
    [development.processCommandLine]: content.command,
    [ours.decisionReason]: content.reason,
  };
}

const messages = (role: 'user' | 'assistant', content: string | undefined): Json | undefined =>
  content === undefined
    ? undefined
    : [{ role, parts: [{ type: 'text', content }], ...(role === 'user' ? {} : { finish_reason: 'stop' }) }];

const cutAt = (longest: number | undefined): ((text: string) => string) | undefined =>
  longest === undefined ? undefined : text => text.slice(0, longest);
