/**
 * The command of a status line in a JSON file: a member with an object, whose field `command` a shell runs. Our command
 * contains the command that the user had, so a removal restores the file byte for byte without any other record.
 */
import { isFields, text as textOf } from '../../lib/read.ts';
import type { Edit, SettingsFile } from '../contract/contract.ts';
import {
  addMember,
  cut,
  cutLast,
  getNodeValue,
  kindOf,
  members,
  type Node,
  readJson,
  refusal,
  replaceNode,
  sourceOf,
} from './json-edit.ts';

/** The user's own part of our command. */
export interface UsersLine {
  /** The command that the user had before; empty if there was none. */
  command: string;
  /**
   * How to restore the file, if not by the command in its usual spelling: `added` if the member was not there, else the
   * JSON text of the command as the user had written it.
   */
  was?: 'added' | { json: string } | undefined;
}

const FORM =
  /^otel_hooks_line='((?:[^']|'\\'')*)'; (?:otel_hooks_was='(-|[A-Za-z0-9+/]+=*)'; )?otel_hooks='[\w.:,/ -]+'; if \[ -r ('\/(?:[^']|'\\'')*\/status-line\.sh') \]; then \. ('\/(?:[^']|'\\'')*'); else eval "\$otel_hooks_line"; fi$/;

const MAX_LENGTH = 64 * 1024;

/** Returns the user's part of a command of ours; undefined for any other command. */
export function usersLineIn(command: string): UsersLine | undefined {
  if (command.length > MAX_LENGTH) return undefined;
  const [, line, was, path, same] = FORM.exec(command) ?? [];
  if (line === undefined || path !== same) return undefined;
  return {
    command: line.replaceAll("'\\''", "'"),
    was: was === undefined ? undefined : was === '-' ? 'added' : { json: Buffer.from(was, 'base64').toString('utf8') },
  };
}

/** Puts the user's part into a command of ours that has none yet. */
export function withUsersLine(command: string, { command: line, was }: UsersLine): string {
  const note = was === undefined ? '' : `otel_hooks_was='${was === 'added' ? '-' : base64(was.json)}'; `;
  const quoted = `'${line.replaceAll("'", "'\\''")}'`;
  return command.replace(/^otel_hooks_line=''; /, () => `otel_hooks_line=${quoted}; ${note}`);
}

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

export interface StatusLineMember {
  /** The member of the file. */
  member: string;
  /** The name of the event whose command belongs there. */
  event: string;
  /** The status line that files of wider scopes set, which this file would replace. */
  inherited?: unknown;
}

type Whole = SettingsFile & Required<Pick<SettingsFile, 'add'>>;

/** Adds a status line to a file of hooks. The command of its event goes into the status line. */
export function withStatusLine(hooks: Whole, of: StatusLineMember): Whole {
  return {
    path: hooks.path,
    add(text, commands) {
      const wanted = commands.get(of.event)?.posix;
      const others = new Map([...commands].filter(([event]) => event !== of.event));
      const events = [...commands.keys()];
      const bare = text === undefined ? undefined : removed(of, text);
      if (bare?.ok === false) return bare;
      const now = hooks.add(text, others);
      if (!now.ok) return now;
      if (!now.changed && text !== undefined && lineIn(of, text) === expected(of, bare?.text, wanted))
        return { ok: true, text, changed: false, events };
      const made = hooks.add(bare?.text, others);
      if (!made.ok || wanted === undefined) return made.ok ? { ...made, changed: made.text !== text } : made;
      const edited = added(of, made.text ?? '', wanted);
      return edited.ok ? { ...edited, changed: edited.text !== text, events } : edited;
    },
    remove(text) {
      const bare = removed(of, text);
      if (!bare.ok || bare.text === undefined) return bare;
      const rest = hooks.remove(bare.text);
      if (!rest.ok) return rest;
      return { ...rest, changed: rest.changed || bare.changed, events: [...bare.events, ...rest.events] };
    },
    entries(text) {
      const command = lineIn(of, text);
      const isOurs = command !== undefined && usersLineIn(command) !== undefined;
      return [...hooks.entries(text), ...(isOurs ? [{ event: of.event, command: { posix: command } }] : [])];
    },
    others: text => hooks.others?.(text) ?? 0,
  };
}

/** Returns the node of the command, if the file has a status line that a command prints. */
function commandNode({ member }: StatusLineMember, text: string): Node | undefined {
  const read = readJson(text);
  const object = read.ok ? members(read.root).find(([key]) => key === member)?.[1] : undefined;
  const value: unknown = object && getNodeValue(object);
  if (!isFields(value) || value.type !== 'command') return undefined;
  const node = members(object).find(([key]) => key === 'command')?.[1];
  return node?.type === 'string' ? node : undefined;
}

const lineIn = (of: StatusLineMember, text: string): string | undefined => textOf(commandNode(of, text)?.value);

/** Returns the command that the file must have, given its text without ours. */
function expected(of: StatusLineMember, bare: string | undefined, wanted: string | undefined): string | undefined {
  if (wanted === undefined) return lineIn(of, bare ?? '');
  return withUsersLine(wanted, usersLine(of, bare ?? ''));
}

/** Returns the user's part for a file without ours. */
function usersLine(of: StatusLineMember, text: string): UsersLine {
  const node = commandNode(of, text);
  if (node === undefined) {
    const { command } = isFields(of.inherited) ? of.inherited : {};
    return { command: textOf(command) ?? '', was: 'added' };
  }
  const command = String(node.value);
  const json = sourceOf(text, node);
  return { command, was: json === JSON.stringify(command) ? undefined : { json } };
}

function added(of: StatusLineMember, text: string, wanted: string): Edit {
  const read = readJson(text);
  if (!read.ok) return read;
  const [first, second] = members(read.root).filter(([key]) => key === of.member);
  if (second) return refusal(text, second[1].offset, `"${of.member}" occurs twice`);
  const node = commandNode(of, text);
  if (first && node === undefined)
    return refusal(
      text,
      first[1].offset,
      `"${of.member}" is ${kindOf(first[1])} without a command that prints the line`,
    );
  const command = withUsersLine(wanted, usersLine(of, text));
  const inherited = isFields(of.inherited) ? of.inherited : {};
  const edited =
    node === undefined
      ? addMember(text, of.member, { type: 'command', ...inherited, command })
      : replaceNode(text, node, JSON.stringify(command));
  return { ok: true, text: edited, changed: true, events: [of.event] };
}

/** Returns the text without our status line; undefined if the file was made for it. */
function removed(of: StatusLineMember, text: string): Edit {
  const node = commandNode(of, text);
  const users = node === undefined ? undefined : usersLineIn(String(node.value));
  if (node === undefined || users === undefined) return { ok: true, text, changed: false, events: [] };
  const events = [of.event];
  if (users.was !== 'added') {
    const json = users.was?.json ?? JSON.stringify(users.command);
    return { ok: true, text: replaceNode(text, node, json), changed: true, events };
  }
  const read = readJson(text);
  const isAlone = read.ok && members(read.root).length === 1;
  return { ok: true, text: (isAlone ? cutLast : cut)(text, [of.member]), changed: true, events };
}
