/** The shapes of native files. The layout of a provider selects one of them and states its differences. */
import { createScanner, stripComments } from 'jsonc-parser';
import { jsonPointer, parseJson, positionsIn, skipBlank } from '../lib/json-position.ts';
import { isObject, kindOf, plain, type Values } from '../standards/wording.ts';
import type { Entry, Layout, NativeFile, Read } from './provider.ts';
import { jsonText, MOST_CHARACTERS } from './source.ts';

type Shape = Pick<Layout, 'read' | 'write'>;

interface Hooks {
  readonly entries: readonly Entry[];
  readonly odd: readonly string[];
}

/** Settings files in which events hold groups of handlers: `{hooks: {Event: [{matcher, hooks: [handler]}]}}`. */
export function grouped(path: string, together: (group: Values) => boolean = () => false): Shape {
  return {
    read: text => readFile(text, hooks => eventsIn(hooks, groupedEntries)),
    write(entries, file) {
      const events: Record<string, Values[]> = Object.create(null);
      for (const { event, matcher, group = {}, handler } of entries) {
        events[event] ??= [];
        const head = { ...(matcher === undefined ? {} : { matcher }), ...group };
        const last = events[event].at(-1);
        // Writes a group only if it has keys beside its handlers.
        if (last && together(group) && same({ ...last, hooks: undefined }, { ...head, hooks: undefined }))
          (last.hooks as Values[]).push(handler);
        else events[event].push({ ...head, hooks: [handler] });
      }
      return [jsonFile(path, { ...file, hooks: events })];
    },
  };
}

const same = (some: Values, others: Values): boolean => JSON.stringify(some) === JSON.stringify(others);

/**
 * Files in which events hold handlers: `{version, hooks: {event: [handler]}}`. Groups are read as well, because some
 * agents write them.
 */
export function flat(path: string, version?: number): Shape {
  return {
    read: text => readFile(text, hooks => eventsIn(hooks, flatEntries), version === undefined ? [] : ['version']),
    write(entries, file) {
      const events: Record<string, Values[]> = Object.create(null);
      for (const { event, matcher, handler } of entries) {
        events[event] ??= [];
        events[event].push({ ...handler, ...(matcher === undefined ? {} : { matcher }) });
      }
      return [jsonFile(path, { ...file, ...(version === undefined ? {} : { version }), hooks: events })];
    },
  };
}

/**
 * As in published examples, an event with one handler holds the handler, and an event with several handlers holds a
 * list.
 */
export function loose(path: string): Shape {
  const { read } = flat(path);
  return {
    read,
    write(entries, file) {
      const [written] = flat(path).write(entries, file);
      const value = JSON.parse(written?.text ?? '{}') as { hooks: Record<string, unknown[]> };
      const hooks = Object.fromEntries(
        Object.entries(value.hooks).map(([event, list]) => [event, list.length === 1 ? list[0] : list]),
      );
      return [jsonFile(path, { ...value, hooks })];
    },
  };
}

/** Files whose members are events with groups: `{Event: [{matcher, hooks: [handler]}]}`. */
export function groupedAtTop(path: string): Shape {
  const { write } = grouped(path);
  return {
    read(text) {
      const read = readNative(text);
      if (!read.ok) return read;
      const found = eventsIn(read.value, groupedEntries);
      return typeof found === 'string' ? { ok: false, why: found } : { ok: true, ...found, file: {} };
    },
    write(entries, file) {
      const [written] = write(entries, file);
      return [jsonFile(path, (JSON.parse(written?.text ?? '{}') as Values).hooks)];
    },
  };
}

/** One list, in which each handler names its event: `{hooks: [{trigger, command}]}`. */
export function listed(path: string, keys: { readonly event: string; readonly matcher: string }): Shape {
  return {
    read: text =>
      readFile(text, hooks => {
        if (!Array.isArray(hooks)) return `hooks is ${kindOf(hooks)}, not an array`;
        const odd: string[] = [];
        const entries = hooks.flatMap((item, i): Entry[] => {
          const event = isObject(item) ? item[keys.event] : undefined;
          if (!isObject(item) || typeof event !== 'string') {
            odd.push(`${jsonPointer(['hooks', i])} names no event: left out`);
            return [];
          }
          const { [keys.event]: _, [keys.matcher]: matcher, ...handler } = item;
          return [{ event, handler, ...(typeof matcher === 'string' ? { matcher } : {}) }];
        });
        return { entries, odd };
      }),
    write: (entries, file) => [
      jsonFile(path, {
        ...file,
        hooks: entries.map(({ event, matcher, handler }) => ({
          [keys.event]: event,
          ...(matcher === undefined ? {} : { [keys.matcher]: matcher }),
          ...handler,
        })),
      }),
    ],
  };
}

export const jsonFile = (path: string, value: unknown): NativeFile => ({ path, text: jsonText(value) });

/** Reads a native file. `passed`: keys that are dropped, because `write` always sets them. */
export function readFile(
  text: string,
  hooksIn: (hooks: unknown) => Hooks | string,
  passed: readonly string[] = [],
): Read {
  const read = readNative(text);
  if (!read.ok) return read;
  const { hooks, ...file } = read.value;
  if (hooks === undefined) return { ok: false, why: 'it has no hooks' };
  const found = hooksIn(hooks);
  if (typeof found === 'string') return { ok: false, why: found };
  for (const key of passed) delete (file as Record<string, unknown>)[key];
  return { ok: true, ...found, file };
}

/** Reads a JSON object with comments. */
export function readNative(
  text: string,
): { ok: true; value: Values } | { ok: false; why: string; line?: number; column?: number } {
  // A native file can be many times as long as its manifest.
  const most = 16 * MOST_CHARACTERS;
  if (text.length > most) return { ok: false, why: `longer than ${most} characters` };
  const bare = withoutTrailingCommas(/\/[/*]/.test(text) ? stripComments(text, ' ') : text);
  const read = parseJson(bare, { start: bare.charCodeAt(0) === 0xfeff ? 1 : 0 });
  const at = positionsIn(text);
  if (!read.ok) return { ok: false, why: `not JSON: ${read.why}`, ...at(read.offset) };
  const [twice] = read.duplicates;
  if (twice !== undefined)
    return { ok: false, why: `'${plain(String(twice.path.at(-1)), 60)}' occurs twice`, ...at(twice.offset) };
  const rest = skipBlank(bare, read.end);
  if (rest < bare.length) return { ok: false, why: 'more text after the JSON', ...at(rest) };
  return isObject(read.value)
    ? { ok: true, value: read.value }
    : { ok: false, why: `it is ${kindOf(read.value)}, not an object` };
}

// The const enums of jsonc-parser cannot be imported under isolatedModules.
const token = { closingBrace: 2, closingBracket: 4, comma: 5, lineBreak: 14, blank: 15, end: 17 };

/** Replaces commas before a closing bracket by blanks, as editors and agents allow them. All offsets stay. */
function withoutTrailingCommas(text: string): string {
  if (!/,\s*[}\]]/.test(text)) return text;
  const scanner = createScanner(text, false);
  const commas: number[] = [];
  let last = token.end;
  let commaAt = 0;
  for (let kind: number = scanner.scan(); kind !== token.end; kind = scanner.scan()) {
    if (kind === token.lineBreak || kind === token.blank) continue;
    if (last === token.comma && (kind === token.closingBrace || kind === token.closingBracket)) commas.push(commaAt);
    if (kind === token.comma) commaAt = scanner.getTokenOffset();
    last = kind;
  }
  const pieces = commas.map((at, i) => text.slice(i === 0 ? 0 : (commas[i - 1] ?? 0) + 1, at));
  return [...pieces, text.slice(commas.length === 0 ? 0 : (commas.at(-1) ?? 0) + 1)].join(' ');
}

type EntriesOf = (event: string, item: Values) => Entry[];

export function eventsIn(hooks: unknown, entriesOf: EntriesOf): Hooks | string {
  if (!isObject(hooks)) return `hooks is ${kindOf(hooks)}, not an object`;
  const odd: string[] = [];
  const entries = Object.entries(hooks).flatMap(([event, list]) => {
    if (event.startsWith('_')) return [];
    // Published examples have a single handler instead of a list.
    const items = Array.isArray(list) ? list : [list];
    return items.flatMap((item, i) => {
      const found = isObject(item) ? entriesOf(event, item) : [];
      if (found.length === 0) odd.push(`${jsonPointer(['hooks', event, i])} holds no hook: left out`);
      return found;
    });
  });
  return { entries, odd };
}

function groupedEntries(event: string, item: Values): Entry[] {
  const { matcher, hooks, ...group } = item;
  if (!Array.isArray(hooks)) return [];
  return hooks
    .filter(isObject)
    .map(handler => ({ event, handler, group, ...(typeof matcher === 'string' ? { matcher } : {}) }));
}

export function flatEntries(event: string, item: Values): Entry[] {
  if (Array.isArray(item.hooks) && !('type' in item)) return groupedEntries(event, item);
  const { matcher, ...handler } = item;
  return [{ event, handler, ...(typeof matcher === 'string' ? { matcher } : {}) }];
}
