/**
 * A file that is entirely ours, in a folder where each file is a hook or a plugin. It is recognized by its content; a
 * file of another program under the same name is left alone.
 */
import type { Edit, Entry, HookCommand, SettingsFile } from '../contract/contract.ts';

interface WholeFile {
  path: string;
  isExecutable?: true;
  text(commands: ReadonlyMap<string, HookCommand>): string;
  isOurs(text: string): boolean;
  entries(text: string): readonly Entry[];
}

export function wholeFile(file: WholeFile): SettingsFile & Required<Pick<SettingsFile, 'add'>> {
  const { path, isExecutable, entries } = file;
  const eventsOf = (text: string) => entries(text).map(({ event }) => event);
  return {
    path,
    ...(isExecutable === undefined ? {} : { isExecutable }),
    entries: text => (file.isOurs(text) ? entries(text) : []),
    add(before, commands): Edit {
      if (before !== undefined && !file.isOurs(before)) {
        return { ok: false, line: 1, column: 1, why: 'a file of another program already has this name' };
      }
      const text = file.text(commands);
      return { ok: true, text, changed: text !== before, events: eventsOf(text) };
    },
    remove: before =>
      file.isOurs(before)
        ? { ok: true, text: undefined, changed: true, events: eventsOf(before) }
        : { ok: true, text: before, changed: false, events: [] },
  };
}
