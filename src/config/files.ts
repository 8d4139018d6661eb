/** Finds and reads the config files, and the consent to a project's file. No other file of config/ uses the disk. */
import { renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve as resolvePath } from 'node:path';
import { digest } from '../lib/hash.ts';
import { whileHeld } from '../lib/held-files.ts';
import { makeOwnPath } from '../lib/make-path.ts';
import { projectTop } from '../lib/project-top.ts';
import { fieldsOf, isFields, own, put } from '../lib/read.ts';
import { isInside, realPathOf } from '../lib/real-path.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import { readSmallFile } from '../lib/small-file.ts';
import { hasTrustedOwner } from '../lib/trusted-owner.ts';
import type { Problem } from '../problems/problem.ts';
import { pythonFolder } from '../python/folder.ts';
import { type Config, type ConfigInput, resolve } from './config.ts';
import { configFolder, type Surroundings } from './folders.ts';
import type { Lookup } from './references.ts';

export const PROJECT_FILE = '.otel-hooks.json';

export interface Place extends Surroundings {
  /** The folder of the session. The project's file is the nearest one from here upwards. */
  cwd: string;
  /** The folder in which its hook ran. It may differ from the folder that the session names. */
  hookCwd?: string | undefined;
  flags?: ConfigInput['flags'];
  /** False: the project's file is not read. */
  project?: boolean | undefined;
  /** The file of `--config`. */
  file?: string | undefined;
}

export interface LoadedConfig extends Config {
  globalFile: string;
  /** The file of the folder's project, if there is one. */
  projectFile: string | undefined;
  /** The text of that file as it was read. */
  projectText: string | undefined;
  /** The user agreed to exactly this text. */
  projectTrusted: boolean;
}

export function loadConfig(place: Place): LoadedConfig {
  const problems: Problem[] = [];
  const globalFile = globalFileOf(place, problems);
  const global = readText(globalFile, problems);
  const projectFile = place.project === false ? undefined : findProjectFile(place, globalFile, problems);
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
    lookup: base => lookupIn(base, place.home),
  });
  return {
    ...config,
    problems: [...problems, ...config.problems],
    globalFile,
    projectFile,
    projectText: project,
    projectTrusted,
  };
}

/**
 * Variables are those of this process, because a hook carries only the variables of OpenTelemetry and otel-hooks. Of a
 * file, the line breaks at its end do not count.
 */
const lookupIn =
  (base: string, home: string): Lookup =>
  (kind, name) => {
    if (kind === 'env') {
      const text = process.env[name];
      return text === undefined || text === '' ? { why: 'this variable is not set' } : { text };
    }
    const read = readSmallFile(name.startsWith('~/') ? join(home, name.slice(2)) : resolvePath(base, name));
    if (read === undefined) return { why: 'this file does not exist' };
    return 'why' in read
      ? { why: `this file cannot be read (${read.why})` }
      : { text: read.text.replace(/[\r\n]+$/, '') };
  };

function globalFileOf(place: Place, problems: Problem[]): string {
  const named = place.file ?? fileOfVariable(place, problems);
  if (named === undefined) {
    const usual = join(configFolder(place), 'config.json');
    const former = join(pythonFolder(place.home), 'config.json');
    const hasOther = !place.env.XDG_CONFIG_HOME && (place.platform === 'darwin' || place.platform === 'win32');
    return hasOther && !isFile(usual) && isFile(former) ? former : usual;
  }
  if (named.startsWith('~/')) return join(place.home, named.slice(2));
  return resolvePath(place.cwd, named);
}

/**
 * Settings of agents that come with a clone can set variables. So OTEL_HOOKS_CONFIG counts as the user's choice only if
 * it is an absolute path outside of the session's project.
 */
function fileOfVariable({ env, cwd, hookCwd, home }: Place, problems: Problem[]): string | undefined {
  const named = env.OTEL_HOOKS_CONFIG;
  if (!named) return undefined;
  const file = named.startsWith('~/') ? join(home, named.slice(2)) : named;
  if (!isAbsolute(file)) {
    problems.push({
      code: 'config-place',
      file,
      why: 'it is a relative path, which names another file in each folder',
    });
    return undefined;
  }
  const tops = [cwd, hookCwd ?? cwd].map(folder => (isAbsolute(folder) ? projectTop(folder, home) : undefined));
  const top = tops.find(each => each !== undefined && isInside(realPathOf(file), each));
  if (top === undefined) return file;
  problems.push({ code: 'config-place', file, why: `it is in the project ${top}, whose author is not the user` });
  return undefined;
}

/** The consent to this text of a project's file. After any change, otel-hooks asks again. */
export function trustProject(place: Place, file: string, text: string): void {
  noteConsent(place, 'projects', file, contentHash(text));
}

/** The user's answer to the commands of a discovery file, for one text of that file. */
export interface CommandsConsent {
  hash: string;
  answer: 'yes' | 'no';
  /** The commands also run if the variable CI is set. */
  ci?: true | undefined;
}

export function commandsConsents(place: Place): Map<string, CommandsConsent> {
  const found = new Map<string, CommandsConsent>();
  for (const [file, consent] of Object.entries(consents(trustFile(place), 'openhook'))) {
    if (!isFields(consent) || typeof consent.hash !== 'string' || (consent.answer !== 'yes' && consent.answer !== 'no'))
      continue;
    found.set(file, { hash: consent.hash, answer: consent.answer, ci: consent.ci === true ? true : undefined });
  }
  return found;
}

/** Undefined removes the answer, so that otel-hooks asks again. */
export const consentToCommands = (place: Place, file: string, consent: CommandsConsent | undefined): void =>
  noteConsent(place, 'openhook', file, consent);

function noteConsent(place: Place, to: 'projects' | 'openhook', file: string, consent: unknown): void {
  const list = trustFile(place);
  const all = { projects: consents(list, 'projects'), openhook: consents(list, 'openhook') };
  const entries: Record<string, unknown> = { ...all[to] };
  delete entries[file];
  if (consent === undefined) delete entries[canonical(file)];
  else put(entries, canonical(file), consent);
  replaceConfig(list, `${JSON.stringify({ v: 1, ...all, [to]: entries }, null, 2)}\n`);
}

/** Replaces a file of the configuration folder atomically. */
export function replaceConfig(file: string, text: string): void {
  makeOwnPath(dirname(file));
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, text, { mode: 0o600 });
  whileHeld(() => renameSync(beside, file));
}

const trustFile = (place: Place): string => join(configFolder(place), 'trusted.json');

function isTrusted(place: Place, file: string, text: string): boolean {
  const known = consents(trustFile(place), 'projects');
  return [canonical(file), file].some(name => own(known, name) === contentHash(text));
}

/**
 * A folder has several spellings: by links, and on Windows and macOS by upper and lower case. The last part stays: a
 * link to a trusted file of another project is not trusted.
 */
const canonical = (file: string): string => join(realPathOf(dirname(file)), basename(file));

function consents(list: string, to: 'projects' | 'openhook'): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(fieldsOf(JSON.parse(readRegularFile(list, LARGEST_LIST_BYTES).toString('utf8')))[to]);
  } catch {
    // The list is missing or unreadable: there is no consent.
    return {};
  }
}

export const contentHash = (text: string): string => digest('otel-hooks/trust/1', text).toString('hex');

const LARGEST_LIST_BYTES = 16 * 1024 * 1024;

/**
 * Searches from the folder upwards. The file of the home folder would belong to every project, so the search ends below
 * it. A file of another user is skipped: every user can put one into a shared folder, such as /tmp.
 */
function findProjectFile({ cwd, home }: Place, globalFile: string, problems: Problem[]): string | undefined {
  if (!isAbsolute(cwd)) return undefined;
  const homeId = identityOf(home);
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (folder === home || (homeId !== undefined && identityOf(folder) === homeId)) return undefined;
    const file = join(folder, PROJECT_FILE);
    if (file !== globalFile && isFile(file)) {
      if (hasTrustedOwner(file)) return file;
      problems.push({ code: 'config-owner', file });
    }
    if (folder === dirname(folder)) return undefined;
  }
}

/** Equal for all spellings of one folder. */
function identityOf(folder: string): string | undefined {
  try {
    const { dev, ino } = statSync(folder, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    // The folder is missing or not accessible.
    return undefined;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // The file is missing, is in a folder without access, or has an impossible path: it counts as missing.
    return false;
  }
}

function readText(file: string, problems: Problem[]): string | undefined {
  const read = readSmallFile(file);
  if (read !== undefined && 'text' in read) return read.text;
  if (read !== undefined) problems.push({ code: 'config-unreadable', file, why: read.why });
  return undefined;
}
