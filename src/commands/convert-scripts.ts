/** `convert --scripts`: the scripts that hooks name by a path, which an agent runs from another folder. */
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Manifest } from '../interchange/manifest.ts';
import { projectPath } from '../interchange/project-variables.ts';
import type { NativeFile, Target } from '../interchange/provider.ts';
import { quoted } from '../interchange/replacement-commands.ts';
import { readRegularFile } from '../lib/regular-file.ts';

export type Scripts = 'keep' | 'absolute' | 'copy';

/** The folder of copied scripts, in the project. */
export const SCRIPTS = '.hook-scripts';

export interface Placed {
  manifest: Manifest;
  /** The copies, with paths relative to the project. */
  files: NativeFile[];
  /** Scripts that were not found. */
  missing: string[];
}

const LARGEST_BYTES = 16 * 1024 * 1024;

/** Returns the manifest with the paths of scripts that the target finds. `base` is the folder of the manifest. */
export function placedScripts(
  manifest: Manifest,
  scripts: Scripts,
  base: string,
  folder: string,
  target: Target | undefined,
): Placed {
  const placed: Placed = { manifest, files: [], missing: [] };
  if (scripts === 'keep') return placed;
  const names = new Map<string, string>();
  const place = (command: string): string =>
    command.replace(scriptAtStart, (whole, ...groups: (string | undefined)[]) => {
      const [inProject, relative] = groups;
      const path = inProject === undefined ? resolve(base, relative ?? '') : resolve(projectOf(base), `.${inProject}`);
      if (!existsSync(path)) {
        placed.missing.push(path);
        return whole;
      }
      if (scripts === 'absolute') return wordOf(path);
      const name = nameFor(path, names);
      const text = readRegularFile(path, LARGEST_BYTES).toString('utf8');
      const isExecutable = (statSync(path).mode & 0o100) !== 0;
      if (!placed.files.some(each => each.path === join(SCRIPTS, name)))
        placed.files.push({ path: join(SCRIPTS, name), text, ...(isExecutable ? { isExecutable } : {}) });
      return projectPath(`${SCRIPTS}/${name}`, target?.provider) ?? wordOf(join(folder, SCRIPTS, name));
    });
  const hooks = manifest.hooks.map(hook => {
    const { command, platform } = hook.handler;
    if (command === undefined) return hook;
    const systems = Object.entries(platform ?? {}).map(([system, each]) => [system, place(each)]);
    const handler = { ...hook.handler, command: place(command) };
    return {
      ...hook,
      handler: platform === undefined ? handler : { ...handler, platform: Object.fromEntries(systems) },
    };
  });
  return { ...placed, manifest: { ...manifest, hooks } };
}

/** The first word of a command: a path from the folder of the project, or one from the folder of the manifest. */
const scriptAtStart =
  /^(?:"?\$\{?[A-Z][A-Z0-9]*_PROJECT_DIR\}?"?(\/[^\s'"|&;<>()$`\\]+)"?|(\.{1,2}\/[^\s'"|&;<>()$`\\]+))(?=$|\s)/;

/** The folder of the project: the one above the hidden folder of an agent. */
const projectOf = (base: string): string => (basename(base).startsWith('.') ? dirname(base) : base);

const wordOf = (path: string): string => (/^[\w/.@:+-]+$/.test(path) ? path : quoted(path));

/** Two scripts of one name get different names. */
function nameFor(path: string, names: Map<string, string>): string {
  const wanted = basename(path);
  let name = wanted;
  for (let n = 2; names.has(name) && names.get(name) !== path; n += 1) name = `${n}-${wanted}`;
  names.set(name, path);
  return name;
}
