/** Closed facts about an action's input: names, never arguments. */
import type { Action } from '../event/event.ts';

/** Shell words that do nothing visible by themselves but change what the next word means. */
const PREFIXED = /^[A-Za-z_][A-Za-z0-9_]*=/;
const SIMPLE_NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/;
/** As keys, tokens and numbers of cards look, which somebody may have pasted in a command's place. */
const SECRETIVE = /[A-Z].*[0-9]|[0-9].*[A-Z]|[0-9](?:.*[0-9]){4}/;
/** Anything that makes more than one command of a line, or hides one. */
const COMPOUND = /[;&|<>`\n(){}$\\"'*?[\]!#~]/;

/**
 * The program that a shell command runs, when it is one simple command and its name is nothing but a name. A path gives
 * its last part. Everything else has none: no guess, and no way for an argument to pass as a name.
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

/** The skill that an action loads; people choose its name. */
export function skillOf({ name, input }: Action): string | undefined {
  if (name !== 'skill') return undefined;
  const said = input?.skill ?? input?.skill_name ?? input?.name ?? input?.command;
  return typeof said === 'string' && SKILL_NAME.test(said) ? said : 'unnamed';
}

/** Where actions name the file that they are about, the likeliest first. */
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
