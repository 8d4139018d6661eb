/**
 * Hooks in a JSON or JSONC file, as almost all agents have them: an object of events, each with an array of handlers or
 * of groups of handlers; or one array of handlers that each name their event. A `Shape` holds the differences between
 * agents.
 */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, text as textOf, word } from '../../lib/read.ts';
import type { Edit, Entry, HookCommand, SettingsFile } from '../contract/contract.ts';
import {
  addMarked,
  appendTo,
  cut,
  cutLast,
  duplicateKey,
  getNodeValue,
  isMarked,
  type JsonPath,
  kindOf,
  members,
  type Node,
  type Refusal,
  readJson,
  refusal,
} from './json-edit.ts';
import { commandOf, isOurHandler } from './our-command.ts';

export interface Shape {
  /** The member that holds the events; no other member has hooks. Without `root`, events are members of the file. */
  readonly root?: string;
  /** Returns our entry for an event. */
  entry(command: HookCommand, event: string): Fields;
  /** The events that this file supports; all if omitted. */
  readonly events?: readonly string[];
  /** Returns true if an event belongs into this file; every event if omitted. */
  isFor?(event: string): boolean;
  /** Members that the agent requires beside the hooks. */
  readonly version?: string | number;
  /** The hooks are one array; the event is a field of each entry. */
  readonly eventField?: string;
}

/**
 * Each removal parses the file again, so thousands of entries in a clone's file would take minutes. Real files have far
 * fewer.
 */
const MOST_OURS = 128;

type Commands = ReadonlyMap<string, HookCommand>;

export function jsonHooks(path: string, shape: Shape): SettingsFile & Required<Pick<SettingsFile, 'add'>> {
  return {
    path,
    add: (text, commands) => add(shape, text, wanted(shape, commands)),
    remove: text => remove(shape, text),
    entries(text) {
      const read = readHooks(shape, text, []);
      return read.ok
        ? read.handlers.map(
            ({ event, command, matcher }): Entry => ({ event, command: { ...command, files: matcher } }),
          )
        : [];
    },
    others(text) {
      const read = readHooks(shape, text, []);
      return read.ok ? handlersInFile(shape, text) - read.handlers.length : 0;
    },
  };
}

function wanted({ events, isFor }: Shape, commands: Commands): Commands {
  return new Map([...commands].filter(([event]) => (events?.includes(event) ?? true) && (isFor?.(event) ?? true)));
}

function add(shape: Shape, text: string | undefined, commands: Commands): Edit {
  const events = [...commands.keys()];
  const read = readHooks(shape, text ?? '', events);
  if (!read.ok) return read;
  if (text !== undefined && isComplete(shape, text, read.handlers, commands)) {
    return { ok: true, text, changed: false, events };
  }
  let edited = text === undefined ? undefined : removeOurs(shape, text);
  if (shape.version !== undefined && needsVersion(shape, edited)) edited = addMarked(edited, 'version', shape.version);
  for (const [event, command] of commands) {
    edited = appendTo(edited, pathOf(shape, event), shape.entry(command, event));
  }
  return { ok: true, text: edited, changed: edited !== text, events };
}

function remove(shape: Shape, text: string): Edit {
  const read = readHooks(shape, text, []);
  if (!read.ok) return read;
  const events = [...new Set(read.handlers.map(({ event }) => event))];
  if (events.length === 0) return { ok: true, text, changed: false, events };
  return { ok: true, text: removeOurs(shape, text), changed: true, events };
}

const pathOf = ({ root, eventField }: Shape, event: string): string[] => [
  ...(root === undefined ? [] : [root]),
  ...(eventField === undefined ? [event] : []),
];

/** Returns the object or array that holds the hooks. */
const hooksNode = (shape: Shape, file: Node | undefined): Node | undefined =>
  shape.root === undefined ? file : members(file).find(([key]) => key === shape.root)?.[1];

/** A handler of ours with its place, and the path of the part that a removal removes. */
interface Ours {
  event: string;
  command: HookCommand;
  /** The matcher of its group. */
  matcher: string | undefined;
  /** The array of the event, the index of the group in it, and the index of the handler in the group. */
  list: JsonPath;
  index: number;
  path: JsonPath;
  /** Its group holds only handlers of ours. */
  isAlone: boolean;
  value: unknown;
}

type Hooks = { ok: true; handlers: Ours[] } | Refusal;

function readHooks(shape: Shape, text: string, events: readonly string[]): Hooks {
  const hooks = hooksIn(shape, text, events);
  if (!hooks.ok || hooks.handlers.length <= MOST_OURS) return hooks;
  return refusal(text, 0, `more than ${MOST_OURS} entries of otel-hooks`);
}

/** Refuses a file whose structure makes an edit ambiguous. Parts that an edit does not change are not checked. */
function hooksIn(shape: Shape, text: string, events: readonly string[]): Hooks {
  const read = readJson(text);
  if (!read.ok) return read;
  if (!read.root) return { ok: true, handlers: [] };
  const named = shape.root === undefined ? [] : [shape.root];
  for (const name of [...named, ...(shape.version === undefined ? [] : ['version'])]) {
    const second = members(read.root).filter(([key]) => key === name)[1];
    if (second) return refusal(text, second[1].parent?.offset ?? 0, `"${name}" occurs twice`);
  }
  const root = hooksNode(shape, read.root);
  if (!root) return { ok: true, handlers: [] };
  const place = shape.root === undefined ? 'the file' : `"${shape.root}"`;
  const kind = shape.eventField === undefined ? 'object' : 'array';
  if (root.type !== kind) return refusal(text, root.offset, `${place} is ${kindOf(root)}, not an ${kind}`);
  if (shape.eventField !== undefined) return handlersIn(text, root, named, shape.eventField, '');

  const twice = duplicateKey(root);
  if (twice) return refusal(text, twice.offset, `"${twice.children?.[0]?.value}" occurs twice in ${place}`);
  const handlers: Ours[] = [];
  for (const [event, list] of members(root)) {
    if (list.type !== 'array') {
      if (!events.includes(event)) continue;
      const path = pathOf(shape, event).map(name => `"${name}"`);
      return refusal(text, list.offset, `${path.join('.')} is ${kindOf(list)}, not an array`);
    }
    const found = handlersIn(text, list, pathOf(shape, event), undefined, event);
    if (!found.ok) return found;
    handlers.push(...found.handlers);
  }
  return { ok: true, handlers };
}

function handlersIn(text: string, list: Node, path: JsonPath, field: string | undefined, event: string): Hooks {
  const handlers: Ours[] = [];
  for (const [index, item] of (list.children ?? []).entries()) {
    const twice = duplicateIn(item);
    if (twice) return refusal(text, twice.offset, `"${twice.children?.[0]?.value}" occurs twice in one hook`);
    handlers.push(...oursIn(item, path, index, field, event));
  }
  return { ok: true, handlers };
}

function duplicateIn(item: Node): Node | undefined {
  const inner = groupOf(item) ?? [];
  return [item, ...inner].filter(each => each.type === 'object').flatMap(each => duplicateKey(each) ?? [])[0];
}

function oursIn(item: Node, list: JsonPath, index: number, field: string | undefined, event: string): Ours[] {
  const group = groupOf(item);
  const nodes = group ?? [item];
  const values = nodes.map(node => fieldsOf(getNodeValue(node)));
  const isAlone = values.every(isOurHandler);
  return values.flatMap((value, at) =>
    isOurHandler(value)
      ? [
          {
            event: field === undefined ? event : (word(value[field]) ?? ''),
            command: commandOf(value),
            matcher: group === undefined ? undefined : textOf(fieldsOf(getNodeValue(item)).matcher),
            list,
            index,
            path: group ? [...list, index, 'hooks', at] : [...list, index],
            isAlone,
            value: isAlone ? getNodeValue(item) : value,
          },
        ]
      : [],
  );
}

/** Returns the handlers of a group; undefined if the item is a handler itself. */
function groupOf(item: Node): Node[] | undefined {
  const handlers = members(item).find(([key]) => key === 'hooks')?.[1];
  return handlers?.type === 'array' ? (handlers.children ?? []) : undefined;
}

/** Returns the number of all handlers in a file that `readHooks` accepts. */
function handlersInFile(shape: Shape, text: string): number {
  const read = readJson(text);
  const root = read.ok ? hooksNode(shape, read.root) : undefined;
  const lists = root?.type === 'array' ? [root] : members(root).map(([, list]) => list);
  const items = lists.flatMap(list => (list.type === 'array' ? (list.children ?? []) : []));
  return items.reduce((sum, item) => sum + (groupOf(item)?.length ?? 1), 0);
}

/** Returns true if there is one handler for each event, as we write it, and no other of ours. */
function isComplete(shape: Shape, text: string, handlers: Ours[], commands: Commands): boolean {
  if (handlers.length !== commands.size || (shape.version !== undefined && needsVersion(shape, text))) return false;
  return [...commands].every(([event, command]) => {
    const found = handlers.find(handler => handler.event === event);
    return JSON.stringify(found?.value) === JSON.stringify(shape.entry(command, event));
  });
}

/** A missing version is added only if the file has no hooks of others; with them, the agent works without it. */
function needsVersion(shape: Shape, text: string | undefined): boolean {
  const read = readJson(text ?? '');
  if (!read.ok || !read.root) return true;
  return !members(read.root).some(([key]) => key === 'version') && !hasOthers(shape, text ?? '');
}

function hasOthers(shape: Shape, text: string): boolean {
  const read = readJson(text);
  const root = read.ok ? hooksNode(shape, read.root) : undefined;
  if (root?.type === 'array') return root.children?.length !== 0;
  return members(root).some(([, list]) => list.type !== 'array' || list.children?.length !== 0);
}

/** Returns undefined if the file was created for our entries: the caller then deletes the file. */
function removeOurs(shape: Shape, text: string): string | undefined {
  let edited = text;
  for (;;) {
    const read = readHooks(shape, edited, []);
    const [ours, ...others] = read.ok ? read.handlers : [];
    if (!ours) return edited;
    // A group without handlers has no effect. So our handlers are removed with their group, unless it has a handler of
    // the user.
    const path = ours.isAlone ? [...ours.list, ours.index] : ours.path;
    const together = others.filter(
      other => other.isAlone && other.index === ours.index && other.list.join('\0') === ours.list.join('\0'),
    );
    if (others.length > together.length) edited = cut(edited, path);
    else return removeLast(shape, edited, path);
  }
}

function removeLast(shape: Shape, text: string, path: JsonPath): string | undefined {
  if (shape.version === undefined || !isMarked(text, 'version')) return cutLast(text, path);
  const rest = cut(text, path);
  return hasOthers(shape, rest) ? rest : cutLast(rest, ['version']);
}
