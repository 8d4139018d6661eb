/**
 * The content that the user asked for: the fields that stay despite redaction, by class and mode. The default is none.
 * It is added after the event has its id, so that no id depends on it.
 */
import type { ContentClass, ContentMode, Modes } from '../event/content-classes.ts';
import { type Action, type Body, type Decision, FACTS, type Facts, FILE_WRITE, type Fields } from '../event/event.ts';
import { cutText, fitted, wellFormed } from '../lib/fitted.ts';
import { fieldsOf, isFields, own, put } from '../lib/read.ts';
import { pathFields, skillOf } from './action-facts.ts';
import type { Hash } from './redact.ts';

export interface Keeper {
  modes: Modes;
  /** Classes of which hashes are kept beside the text, for a destination that gets hashes only. */
  hashes?: readonly ContentClass[] | undefined;
  /** Names of vendors' metadata that stay, as paths with dots. */
  metadata?: readonly string[] | undefined;
  /** Longest text, in characters. */
  longest: number;
  /** Removes secrets. The name of a field may mark the whole text as a secret. */
  clean(text: string, name?: string): string;
}

/** The search for secrets goes this many characters beyond the cut, since the cut may split a secret. */
const OVERHANG = 4_096;

/** The limit of an action's input in bytes of JSON, per character of the longest text. */
const BYTES_PER_CHARACTER = 3;

export interface Kept {
  body: Body;
  facts: {
    path?: string | undefined;
    command?: string | undefined;
    skill?: string | undefined;
    content: NonNullable<Facts['content']>;
  };
}

/** Adds to the redacted event the content of `from` that the user asked for. */
export function withContent(redacted: Body, from: Body, keeper: Keeper, hash: Hash): Kept {
  const { modes } = keeper;
  const facts: Kept['facts'] = { content: {} };
  const body = { ...redacted, data: { ...redacted.data } } as Body;
  const kept = (of: ContentClass, text: string | undefined): string | undefined => textInMode(modes[of], text, keeper);
  if (isVendorBody(from) || isVendorBody(body)) {
    if (from.event_type === FILE_WRITE)
      note('path', 'paths', firstText(fieldsOf(fieldsOf(from.data).action).input as Action['input'], pathFields));
    return { body, facts };
  }
  if (body.event_type === 'Prompt.Submitted' && from.event_type === 'Prompt.Submitted') {
    body.data.prompt = kept('prompt', from.data.prompt);
  } else if (body.event_type === 'Agent.Response' && from.event_type === 'Agent.Response') {
    body.data.response = kept('response', from.data.response);
  } else if (body.event_type === 'Agent.Notification' && from.event_type === 'Agent.Notification') {
    body.data.message = kept('response', from.data.message);
  } else if ('error_message' in from.data && from.data.error_message !== undefined) {
    (body.data as { error_message?: string }).error_message = kept('results', from.data.error_message);
  } else if ('reason' in from.data && from.data.reason !== undefined) {
    const data = body.data as { reason?: string | undefined };
    data.reason = kept('response', from.data.reason) ?? data.reason;
  }
  if ('decision' in from.data) reasoned(body, from.data.decision, reason => kept('response', reason));
  if ('action' in from.data && from.data.action !== undefined && 'action' in body.data && body.data.action) {
    body.data.action = actionWith(body.data.action, from.data.action, keeper);
    const { name, input, result } = from.data.action;
    if (keepsHash('results', keeper) && result?.output !== undefined)
      facts.content.output = { length: result.output.length, hash: hash(result.output) };
    note('path', 'paths', firstText(input, pathFields));
    note('command', 'commands', name === 'shell' ? commandOf(input) : undefined);
    facts.skill = kept('arguments', skillOf(from.data.action));
  }
  return { body, facts };

  function note(field: 'path' | 'command', of: ContentClass, text: string | undefined): void {
    if (text === undefined) return;
    if (keepsHash(of, keeper)) facts.content[field] = { length: text.length, hash: hash(text) };
    facts[field] = kept(of, text);
  }
}

export const keepsHash = (of: ContentClass, { modes, hashes }: Pick<Keeper, 'modes' | 'hashes'>): boolean =>
  modes[of] === 'hash' || hashes?.includes(of) === true;

/** Returns a text in the form of a mode; undefined if the mode removes it. */
export function textInMode(mode: ContentMode, text: string | undefined, keeper: Keeper): string | undefined {
  if (text === undefined || mode === 'off' || mode === 'hash') return undefined;
  return wellFormed(mode === 'full' ? cutText(text, keeper.longest) : cleanHead(text, keeper.longest, keeper.clean));
}

/**
 * The beginning of a text, without secrets. The last characters of a cut text are removed, since half of a secret does
 * not look like one. The text before the last removed secret is complete.
 */
function cleanHead(text: string, longest: number, clean: Keeper['clean'], field?: string): string {
  const near = text.slice(0, longest + OVERHANG);
  const cleaned = clean(near, field);
  if (near.length === text.length) return cutText(cleaned, longest);
  const mark = cleaned.lastIndexOf('[redacted:');
  const end = mark < 0 ? 0 : cleaned.indexOf(']', mark) + 1;
  return cutText(cleaned, Math.min(longest, Math.max(cleaned.length - OVERHANG, end + 1)));
}

/**
 * Cleans each text of a value before the value becomes JSON, whose escapes would hide secrets. All texts together are
 * limited to a number of characters.
 */
function cleanTexts({ longest, clean }: Keeper, most: number): (text: string, field?: string) => string {
  let left = most;
  return (text, field) => {
    const room = Math.min(longest, left);
    left -= Math.min(text.length, room);
    return room === 0 && text !== '' ? '…' : cleanHead(text, room, clean, field);
  };
}

/** Returns a result as text, as Agent Hooks requires. */
export function outputText(output: unknown, keeper: Keeper): string {
  if (typeof output === 'string') return output;
  const text =
    keeper.modes.results === 'redacted' ? cleanTexts(keeper, keeper.longest * BYTES_PER_CHARACTER) : undefined;
  return JSON.stringify(fitted(output, { bytes: LONGEST_OUTPUT, ...(text === undefined ? {} : { text }) }));
}

const LONGEST_OUTPUT = 262_144;

/** A value of a vendor's metadata is a label and not a document. */
const LONGEST_LABEL = 256;

const MOST_LABELS = 16;

/** Returns the vendor metadata that the user named, without secrets, under the same path. */
export function chosenOf(fields: Fields, { metadata = [], clean }: Pick<Keeper, 'metadata' | 'clean'>): Fields {
  let kept: Fields = {};
  for (const name of metadata) {
    const path = pathTo(fields, name);
    const value = path?.reduce<unknown>((at, part) => fieldsOf(at)[part], fields);
    const label = labelOf(value, name, clean);
    if (path !== undefined && label !== undefined) kept = withAt(kept, path, label);
  }
  return kept;
}

function labelOf(value: unknown, name: string, clean: Keeper['clean']): unknown {
  if (typeof value === 'boolean' || Number.isFinite(value)) return value;
  if (Array.isArray(value))
    return value.slice(0, MOST_LABELS).flatMap(each => (isText(each) ? labelOf(each, name, clean) : []));
  if (!isText(value)) return undefined;
  return wellFormed(cleanHead(value, LONGEST_LABEL, clean, name.slice(name.lastIndexOf('.') + 1)));
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** Returns a copy of the table with the value at this path. */
function withAt(table: Fields, [first = '', ...rest]: readonly string[], value: unknown): Fields {
  const changed = { ...table };
  put(changed, first, rest.length === 0 ? value : withAt(fieldsOf(own(table, first)), rest, value));
  return changed;
}

/** Returns the keys that lead to a name with dots. Keys may contain dots as well. */
function pathTo(fields: Fields, name: string): string[] | undefined {
  if (name.startsWith(FACTS)) return undefined;
  if (Object.hasOwn(fields, name)) return [name];
  for (const key in fields) {
    const inner = fields[key];
    const rest = name.startsWith(`${key}.`) && isFields(inner) ? pathTo(inner, name.slice(key.length + 1)) : undefined;
    if (rest !== undefined) return [key, ...rest];
  }
  return undefined;
}

const isVendorBody = (body: Body): body is Extract<Body, { event_type: `vendor.${string}` }> =>
  body.event_type.startsWith('vendor.');

function reasoned(
  body: Body,
  decision: Decision | undefined,
  kept: (text: string | undefined) => string | undefined,
): void {
  const data = body.data as { decision?: Decision | undefined };
  const reason = kept(decision?.reason);
  if (reason !== undefined && data.decision !== undefined) data.decision = { ...data.decision, reason };
}

function actionWith(redacted: Action, from: Action, keeper: Keeper): Action {
  const { modes, longest } = keeper;
  const { result } = from;
  const mode = modes.arguments;
  const isKept = (mode === 'redacted' || mode === 'full') && from.input !== undefined;
  const most = longest * BYTES_PER_CHARACTER;
  const text = mode === 'full' ? (each: string) => cutText(each, longest) : cleanTexts(keeper, most);
  const input = isKept ? fitted(from.input, { bytes: most, text }) : undefined;
  const output = textInMode(modes.results, result?.output, keeper);
  const message = textInMode(modes.results, result?.error_message, keeper);
  return {
    ...redacted,
    ...(isFields(input) ? { input } : {}),
    ...(output === undefined && message === undefined
      ? {}
      : { result: { ...redacted.result, error_message: message, output } }),
  };
}

function firstText(input: Action['input'], names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = input?.[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

function commandOf(input: Action['input']): string | undefined {
  const command = input?.command ?? input?.cmd ?? input?.script;
  if (typeof command === 'string') return command;
  return Array.isArray(command) ? command.filter(word => typeof word === 'string').join(' ') : undefined;
}
