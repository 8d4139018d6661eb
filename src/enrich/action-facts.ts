/**
 * Facts about the input of an action from closed sets: names, never arguments.
 */
import type { Action } from '../event/event.ts';

/** An assignment before the name of a program. */
const PREFIXED = /^[A-Za-z_][A-Za-z0-9_]*=/;
const SIMPLE_NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/;
/** Matches a word that may be a key, a token or a card number that was pasted instead of a command. */
const SECRETIVE = /[A-Z].*[0-9]|[0-9].*[A-Z]|[0-9](?:.*[0-9]){4}/;
/** Characters that separate commands, or hide one. */
const COMPOUND = /[;&|<>`\n(){}$\\"'*?[\]!#~]/;

/**
 * Returns the program of a shell command, if the line is one simple command with a plain name. Of a path, only the last
 * part stays. For all other lines it returns undefined, so that it never returns an argument as a name.
 */
export function executableOf(action: Action): string | undefined {
  if (action.name !== 'shell') return undefined;
  const command = action.input?.command;
  if (typeof command !== 'string' || command.length > 4_096) return undefined;
  const line = command.trim();
  const first = line.split(/[ \t]+/, 1)[0] ?? '';
  if (COMPOUND.test(line) || PREFIXED.test(first)) return undefined;
  const name = first.slice(first.lastIndexOf('/') + 1);
  return SIMPLE_NAME.test(name) && !SECRETIVE.test(name) ? name : undefined;
}

const SKILL_NAME = /^[\w:./-]{1,128}$/;

/** The name of the skill that an action loads; users choose these names. */
export function skillOf({ name, input }: Action): string | undefined {
  if (name !== 'skill') return undefined;
  const skill = input?.skill ?? input?.skill_name ?? input?.name ?? input?.command;
  return typeof skill === 'string' && SKILL_NAME.test(skill) ? skill : 'unnamed';
}

/** Fields of an input that name the file of an action, the most likely first. */
export const pathFields: readonly string[] = [
  'file_path',
  'filePath',
  'path',
  'absolute_path',
  'target_file',
  'notebook_path',
  'filename',
  'file',
  'uri',
];
