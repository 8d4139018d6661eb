/**
 * Claude Code's settings files (hook documentation, checked 2026-11-18). Settings of all scopes are merged. Our
 * entries have no matcher (everything matches, and a matcher that fails blocks actions since 2.1.288) and are not
 * asynchronous: an asynchronous hook is killed at the end of a headless run. The timeout is in seconds.
 */
import { join } from 'node:path';
import { fieldsOf } from '../../lib/read.ts';
import type { Edit, Places, Scope, SettingsFile } from '../contract.ts';
import {
  appendTo,
  cut,
  cutLast,
  duplicateKey,
  getNodeValue,
  type JsonPath,
  kindOf,
  members,
  type Node,
  type Refusal,
  readJson,
  refusal,
} from '../json-edit.ts';
import { isOurHandler } from '../our-command.ts';

const TIMEOUT_S = 10;

export const settings: SettingsFile = {
  scopes: ['global', 'project', 'local'],
  path(scope: Scope, { home, project, env }: Places): string {
    if (scope === 'global') return join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json');
    return join(project, '.claude', scope === 'project' ? 'settings.json' : 'settings.local.json');
  },

  add(text, commands): Edit {
    const events = [...commands.keys()];
    const read = readHooks(text ?? '', events);
    if (!read.ok) return read;
    if (text !== undefined && isComplete(read.handlers, commands)) return { ok: true, text, changed: false, events };
    let edited = text === undefined ? undefined : removeOurs(text);
    for (const [event, command] of commands) edited = appendTo(edited, ['hooks', event], group(command));
    return { ok: true, text: edited, changed: edited !== text, events };
  },

  remove(text): Edit {
    const read = readHooks(text, []);
    if (!read.ok) return read;
    const events = [...new Set(read.handlers.map(({ event }) => event))];
    if (events.length === 0) return { ok: true, text, changed: false, events };
    return { ok: true, text: removeOurs(text), changed: true, events };
  },
};

const group = (command: string) => ({ hooks: [{ type: 'command', command, timeout: TIMEOUT_S }] });

/** A handler of ours, where it stands, and whether its group is for ours alone. */
interface Ours {
  event: string;
  path: JsonPath;
  isAlone: boolean;
  value: unknown;
}

type Hooks = { ok: true; handlers: Ours[] } | Refusal;

/** Refuses what we could not edit without guessing; what is not on our way is not looked at. */
function readHooks(text: string, wanted: readonly string[]): Hooks {
  const read = readJson(text);
  if (!read.ok) return read;
  if (!read.root) return { ok: true, handlers: [] };
  const hooks = members(read.root).filter(([key]) => key === 'hooks');
  const [first, second] = hooks;
  if (second) return refusal(text, second[1].parent?.offset ?? 0, '"hooks" stands twice');
  const object = first?.[1];
  if (!object) return { ok: true, handlers: [] };
  if (object.type !== 'object') return refusal(text, object.offset, `"hooks" is ${kindOf(object)}, not an object`);
  const twice = duplicateKey(object);
  if (twice) return refusal(text, twice.offset, `"${twice.children?.[0]?.value}" stands twice in "hooks"`);

  const handlers: Ours[] = [];
  for (const [event, groups] of members(object)) {
    if (groups.type !== 'array') {
      if (!wanted.includes(event)) continue;
      return refusal(text, groups.offset, `"hooks"."${event}" is ${kindOf(groups)}, not an array`);
    }
    for (const [index, node] of (groups.children ?? []).entries()) {
      const twiceInGroup = duplicateIn(node);
      if (twiceInGroup) {
        return refusal(text, twiceInGroup.offset, `"${twiceInGroup.children?.[0]?.value}" stands twice in one hook`);
      }
      handlers.push(...oursIn(node, event, index));
    }
  }
  return { ok: true, handlers };
}

function duplicateIn(node: Node): Node | undefined {
  const inner = handlerNodes(node);
  return [node, ...inner].filter(each => each.type === 'object').flatMap(each => duplicateKey(each) ?? [])[0];
}

function oursIn(node: Node, event: string, index: number): Ours[] {
  const nodes = handlerNodes(node);
  const ours = nodes.map(handler => isOurHandler(fieldsOf(getNodeValue(handler))));
  const isAlone = ours.every(Boolean);
  return nodes.flatMap((handler, at) =>
    ours[at]
      ? [{ event, path: ['hooks', event, index, 'hooks', at], isAlone, value: getNodeValue(isAlone ? node : handler) }]
      : [],
  );
}

function handlerNodes(group: Node): Node[] {
  const handlers = members(group).find(([key]) => key === 'hooks')?.[1];
  return handlers?.type === 'array' ? (handlers.children ?? []) : [];
}

/** One handler for each event, each in a group as we write it, and none elsewhere. */
function isComplete(handlers: Ours[], commands: ReadonlyMap<string, string>): boolean {
  if (handlers.length !== commands.size) return false;
  return [...commands].every(([event, command]) => {
    const found = handlers.find(handler => handler.event === event);
    return JSON.stringify(found?.value) === JSON.stringify(group(command));
  });
}

/** Undefined: the file was made for our entries and goes with them. */
function removeOurs(text: string): string | undefined {
  let edited = text;
  for (;;) {
    const read = readHooks(edited, []);
    const [ours, ...others] = read.ok ? read.handlers : [];
    if (!ours) return edited;
    // A group without handlers does nothing, so ours go with their group, unless a person's handler is in it.
    const path = ours.isAlone ? ours.path.slice(0, 3) : ours.path;
    const inGroup = others.filter(
      other => other.isAlone && other.path[2] === ours.path[2] && other.event === ours.event,
    );
    if (others.length > inGroup.length) edited = cut(edited, path);
    else return cutLast(edited, path);
  }
}
