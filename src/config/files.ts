/** Finding and reading the config files, and the consent to a project's. The only file of config/ that touches the disk. */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve as resolvePath } from 'node:path';
import { digest } from '../lib/hash.ts';
import { fieldsOf } from '../lib/read.ts';
import type { Problem } from '../problem.ts';
import { type Config, type ConfigInput, resolve } from './config.ts';
import { configFolder, type Surroundings } from './folders.ts';

export const PROJECT_FILE = '.otel-hooks.json';
const LARGEST_BYTES = 1024 * 1024;

export interface Place extends Surroundings {
  /** Where the session runs; the project's file is the nearest from here upwards. */
  cwd: string;
  flags?: ConfigInput['flags'];
  /** Of `--config`. */
  file?: string | undefined;
}

export interface LoadedConfig extends Config {
  globalFile: string;
  /** Of the project that the folder belongs to, where it has one. */
  projectFile: string | undefined;
  /** Consent was given to this very text. */
  projectTrusted: boolean;
}

export function loadConfig(place: Place): LoadedConfig {
  const problems: Problem[] = [];
  const globalFile = globalFileOf(place);
  const global = readText(globalFile, problems);
  const projectFile = findProjectFile(place, globalFile);
  const project = projectFile === undefined ? undefined : readText(projectFile, problems);
  const projectTrusted = projectFile !== undefined && project !== undefined && isTrusted(place, projectFile, project);
  const config = resolve({
    global: global === undefined ? undefined : { file: globalFile, text: global },
    project:
      projectFile === undefined || project === undefined
        ? undefined
        : { file: projectFile, text: project, trusted: projectTrusted },
    env: place.env,
    flags: place.flags,
    home: place.home,
    cwd: place.cwd,
  });
  return { ...config, problems: [...problems, ...config.problems], globalFile, projectFile, projectTrusted };
}

export function globalFileOf(place: Place): string {
  const named = place.file ?? (place.env.OTEL_HOOKS_CONFIG || undefined);
  if (named === undefined) return join(configFolder(place), 'config.json');
  if (named.startsWith('~/')) return join(place.home, named.slice(2));
  return resolvePath(place.cwd, named);
}

/** Consent to a project's file as it stands: any change of it asks anew. */
export function trustProject(place: Place, file: string): void {
  const text = readFileSync(file, 'utf8');
  const list = trustFile(place);
  const projects = { ...trusted(list), [file]: contentHash(text) };
  replaceConfig(list, `${JSON.stringify({ v: 1, projects }, null, 2)}\n`);
}

/** A file of the configuration folder, whole or not at all. */
export function replaceConfig(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, text, { mode: 0o600 });
  renameSync(beside, file);
}

const trustFile = (place: Place): string => join(configFolder(place), 'trusted.json');

function isTrusted(place: Place, file: string, text: string): boolean {
  return trusted(trustFile(place))[file] === contentHash(text);
}

function trusted(list: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(fieldsOf(JSON.parse(readFileSync(list, 'utf8'))).projects);
  } catch {
    // No list, or none that can be read: nobody consented to anything.
    return {};
  }
}

const contentHash = (text: string): string => digest('otel-hooks/trust/1', text).toString('hex');

/** Upwards from the folder; the home folder's own file would be every project's, so the search ends below it. */
function findProjectFile({ cwd, home }: Place, globalFile: string): string | undefined {
  if (!isAbsolute(cwd)) return undefined;
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (folder === home) return undefined;
    const file = join(folder, PROJECT_FILE);
    if (file !== globalFile && isFile(file)) return file;
    if (folder === dirname(folder)) return undefined;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Missing, behind a folder that we may not enter, or a path that no disk could hold: there is no file for us.
    return false;
  }
}

function readText(file: string, problems: Problem[]): string | undefined {
  try {
    const facts = statSync(file);
    // A pipe or a device in its place would hold up the reader for ever.
    const why = facts.isFile() ? (facts.size > LARGEST_BYTES ? 'it is larger than 1 MB' : undefined) : 'it is no file';
    if (why === undefined) return readFileSync(file, 'utf8');
    problems.push({ code: 'config-unreadable', file, why });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    if (code !== 'ENOENT' && code !== 'ENOTDIR') problems.push({ code: 'config-unreadable', file, why: code });
  }
  return undefined;
}
