/**
 * Changes of the files of agents that `convert --out` makes: hooks are written, merged or removed. A merge and a removal
 * edit the text with the same care as `enable`: all other bytes stay, and a removal restores the former file.
 */

import {
  addMarked,
  appendTo,
  cut,
  cutLast,
  duplicateKey,
  getNodeValue,
  isMarked,
  kindOf,
  members,
  type Node,
  readJson,
} from '../agents/files/json-edit.ts';
import type { Entry, Layout, NativeFile } from '../interchange/provider.ts';
import { isObject, type Values } from '../standards/wording.ts';

export type Edited = { ok: true; text: string | undefined } | { ok: false; why: string };

/** Adds the hooks of a written file to the text that is there. Hooks that are there already are not added again. */
export function merged(before: string | undefined, file: NativeFile, layout: Layout): Edited {
  if (!file.path.endsWith('.json')) return mergedProgram(before, file, layout);
  const written = JSON.parse(file.text) as Values;
  const why = before === undefined ? undefined : whyNot(before, written);
  if (why !== undefined) return { ok: false, why };
  let text = before;
  const { version } = written;
  if ((typeof version === 'string' || typeof version === 'number') && lacksVersion(text))
    text = addMarked(text, 'version', version);
  for (const { path, item } of itemsIn(written))
    if (placesOf(text, path, item).length === 0) text = appendTo(text, path, item);
  return { ok: true, text };
}

/** Removes the hooks of a written file from the text. `undefined` if nothing of the file is left. */
export function removed(before: string, file: NativeFile, layout: Layout): Edited {
  if (!file.path.endsWith('.json')) return removedProgram(before, file, layout);
  const written = JSON.parse(file.text) as Values;
  const why = whyNot(before, written);
  if (why !== undefined) return { ok: false, why };
  const found: (string | number)[][] = [];
  for (const { path, item } of itemsIn(written)) {
    const free = placesOf(before, path, item).map(index => [...path, index]);
    const place = free.find(each => !found.some(taken => taken.join('\0') === each.join('\0')));
    if (place !== undefined) found.push(place);
  }
  // The last hooks first, so that the indexes of the others stay.
  found.sort((a, b) => Number(b.at(-1)) - Number(a.at(-1)));
  let text: string | undefined = before;
  for (const [i, path] of found.entries()) {
    if (text === undefined) break;
    text = i < found.length - 1 ? cut(text, path) : withoutLast(text, path);
  }
  return { ok: true, text };
}

function withoutLast(text: string, path: (string | number)[]): string | undefined {
  if (!isMarked(text, 'version')) return cutLast(text, path);
  const rest = cut(text, path);
  return hasHooks(rest) ? rest : cutLast(rest, ['version']);
}

interface Item {
  readonly path: string[];
  readonly item: unknown;
}

/** The hooks of a written file, each with the path of its array. */
function itemsIn(written: Values): Item[] {
  const { hooks } = written;
  if (Array.isArray(hooks)) return hooks.map(item => ({ path: ['hooks'], item }));
  const [head, events] = isObject(hooks) ? [['hooks'], hooks] : [[], written];
  return Object.entries(events).flatMap(([event, list]) =>
    Array.isArray(list) ? list.map(item => ({ path: [...head, event], item })) : [],
  );
}

/** Returns the reason why a text cannot be edited safely. */
function whyNot(before: string, written: Values): string | undefined {
  const read = readJson(before);
  if (!read.ok) return `cannot be edited: ${read.why} (line ${read.line}, column ${read.column})`;
  if (read.root === undefined) return undefined;
  const twice = duplicateKey(read.root);
  if (twice) return `cannot be edited: "${twice.children?.[0]?.value}" occurs twice`;
  for (const { path } of itemsIn(written)) {
    const nodes = path.map((_, depth) => nodeAt(read.root, path.slice(0, depth + 1)));
    for (const [depth, node] of nodes.entries()) {
      const kind = depth === path.length - 1 ? 'array' : 'object';
      if (node !== undefined && node.type !== kind)
        return `cannot be edited: ${path.slice(0, depth + 1).join('.')} is ${kindOf(node)}, not an ${kind}`;
      const second = node?.type === 'object' ? duplicateKey(node) : undefined;
      if (second) return `cannot be edited: "${second.children?.[0]?.value}" occurs twice`;
    }
  }
  return undefined;
}

const nodeAt = (root: Node | undefined, path: readonly string[]): Node | undefined =>
  path.reduce<Node | undefined>((node, key) => members(node).find(([name]) => name === key)?.[1], root);

/** The indexes of equal items in the array at a path, the last one first. */
function placesOf(text: string | undefined, path: readonly string[], item: unknown): number[] {
  const read = readJson(text ?? '');
  const list = read.ok ? nodeAt(read.root, path) : undefined;
  const key = canonical(item);
  return (list?.children ?? []).flatMap((node, i) => (canonical(getNodeValue(node)) === key ? [i] : [])).reverse();
}

/** JSON with sorted keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each,
  );

function lacksVersion(text: string | undefined): boolean {
  const read = readJson(text ?? '');
  const root = read.ok ? read.root : undefined;
  return !members(root).some(([key]) => key === 'version') && !hasHooks(text ?? '');
}

function hasHooks(text: string): boolean {
  const read = readJson(text);
  const hooks = read.ok ? nodeAt(read.root, ['hooks']) : undefined;
  if (hooks?.type === 'array') return hooks.children?.length !== 0;
  return members(hooks).some(([, list]) => list.type !== 'array' || list.children?.length !== 0);
}

/** A program that this converter wrote is written anew with the hooks of both. */
function mergedProgram(before: string | undefined, file: NativeFile, layout: Layout): Edited {
  if (before === undefined || before === file.text) return { ok: true, text: file.text };
  const entries = entriesIn(before, file, layout);
  if (typeof entries === 'string') return { ok: false, why: entries };
  const added = entriesIn(file.text, file, layout);
  const keys = new Set(entries.map(keyOf));
  const more = typeof added === 'string' ? [] : added.filter(each => !keys.has(keyOf(each)));
  return { ok: true, text: textOf([...entries, ...more], file, layout) };
}

function removedProgram(before: string, file: NativeFile, layout: Layout): Edited {
  if (before === file.text) return { ok: true, text: undefined };
  const entries = entriesIn(before, file, layout);
  if (typeof entries === 'string') return { ok: false, why: entries };
  const gone = entriesIn(file.text, file, layout);
  const keys = new Set(typeof gone === 'string' ? [] : gone.map(keyOf));
  const rest = entries.filter(each => !keys.has(keyOf(each)));
  if (rest.length === entries.length) return { ok: true, text: before };
  return { ok: true, text: rest.length === 0 ? undefined : textOf(rest, file, layout) };
}

/** Only a program of this converter can be edited; any other one is a program of the user. */
function entriesIn(text: string, file: NativeFile, layout: Layout): readonly Entry[] | string {
  const read = layout.read(text, file.path);
  if (!read.ok) return `cannot be edited: ${read.why}`;
  return textOf(read.entries, file, layout) === text
    ? read.entries
    : 'is a program that `otel-hooks convert` did not write, or that was changed since';
}

const keyOf = ({ event, matcher, handler, blocking }: Entry): string =>
  canonical([event, matcher ?? null, handler, blocking === true]);

const textOf = (entries: readonly Entry[], { path }: NativeFile, layout: Layout): string | undefined =>
  layout.write(entries, {}).find(each => each.path === path)?.text;
