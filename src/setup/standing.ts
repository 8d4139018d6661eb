/**
 * The state of an agent's setup: whether the agent is installed, whether it has our hooks, and whether they are
 * current.
 */

import fs from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { type Agent, isAbsent, type Places, type Scope } from '../agents/contract/contract.ts';
import { jsonValue } from '../agents/files/json-edit.ts';
import { holdsOurs, providersOf } from '../agents/files/our-command.ts';
import { pathIn } from '../lib/path-variable.ts';
import { fieldsOf, text } from '../lib/read.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import { readSmallFile } from '../lib/small-file.ts';
import type { SetupProblem } from '../problems/problem.ts';
import { entriesOf, filesIn, namesIn, type Plan, planSetup, type Setup } from './setup.ts';

export interface Standing {
  /** The agent's events with our hooks; an event with several of them is repeated. */
  events: string[];
  /** The differences from the entries of this version. `planSetup` with the same provider repairs them. */
  stale: Stale[];
  /** The files with our hooks. */
  files: string[];
  /** The providers that our hooks name. */
  provider: string | undefined;
}

/**
 * `entries`: they name another path, or an older version or the Python package of this name wrote them. `script`: the
 * script is missing, belongs to another version, or names a Node that has moved. `twice`: an event has several of our
 * hooks.
 */
export type Stale = 'entries' | 'script' | 'twice';

/** Returns undefined if none of our hooks is registered. A file that cannot be read with certainty is a problem. */
export function standingOf(setup: Omit<Setup, 'action' | 'provider'>): Standing | undefined | SetupProblem {
  const entries = entriesOf(setup);
  const removal = planSetup({ ...setup, action: 'disable' });
  if (!removal.ok) return removal.problem.code === 'settings-absent' ? undefined : removal.problem;
  if (!removal.plan.changed) return undefined;
  const provider = providersOf(entries.map(({ command }) => command));
  const renewed = planSetup({ ...setup, action: 'enable', provider });
  if (!renewed.ok) return renewed.problem;
  const events = entries.map(({ event }) => event);
  const stale: Stale[] = [];
  if (renewed.plan.changed) stale.push('entries');
  if (!scriptsAreThere(renewed.plan)) stale.push('script');
  if (new Set(entries.map(({ event, file }) => `${file}\0${event}`)).size < entries.length) stale.push('twice');
  return { events, stale, files: removal.plan.changes.map(({ file }) => file), provider };
}

export type Found = { agent: Agent; scope: Scope; setup: Setup; files: string[] } & (
  | { standing: Standing }
  | { problem: SetupProblem }
);

/** An agent may have a file for each event. */
export const filesText = (files: readonly string[]): string =>
  files.length > 3 ? `${files[0]} and ${files.length - 1} more` : files.join(', ');

/** The providers that hooks name. */
export const providersNamed = (found: readonly Found[]): (string | undefined)[] =>
  found.flatMap(each => ('standing' in each ? [each.standing.provider] : []));

/**
 * Returns every agent and scope with our entries, or with a file that cannot be read with certainty. A file that two
 * scopes share counts once.
 */
export function foundStandings(agents: readonly Agent[], common: Omit<Setup, 'agent' | 'scope' | 'action'>): Found[] {
  return agents.flatMap(agent => {
    if (isAbsent(agent.settings)) return [];
    const seen = new Set<string>();
    return agent.settings.scopes.flatMap((scope): Found[] => {
      const setup: Setup = { ...common, agent, scope, action: 'enable' };
      const files = [...new Set(filesIn(setup))];
      if (files.some(file => seen.has(file))) return [];
      for (const file of files) seen.add(file);
      const standing = standingOf(setup);
      if (standing === undefined) return [];
      return [{ agent, scope, setup, ...('events' in standing ? ours(standing) : refused(files, standing)) }];
    });
  });
}

/**
 * Returns further files whose commands the agent runs: those that `runsToo` names, and the settings of the repository
 * if the folder is below its root.
 */
export function registeredElsewhere(agent: Agent, common: Omit<Setup, 'agent' | 'scope' | 'action'>): string[] {
  if (isAbsent(agent.settings)) return [];
  const { places, platform } = common;
  const more = agent.settings.runsToo?.({ ...places, platform }, textOf, namesIn) ?? [];
  const repository = repositoryAbove(places.project);
  const above =
    repository === undefined
      ? []
      : foundStandings([agent], { ...common, places: { ...places, project: repository } }).filter(
          ({ scope }) => scope !== 'global',
        );
  return [
    ...more.filter(file => holdsOurs(jsonValue(plainPaths(textOf(file) ?? '')))),
    ...above.flatMap(({ files }) => files.slice(0, 1)),
  ];
}

/** A plugin names its programs with a placeholder for its folder, such as `${CLAUDE_PLUGIN_ROOT}`. */
const plainPaths = (text: string): string => text.replace(/\$\{(\w+)\}/g, '/$1');

/** Returns the root of the repository, unless the folder is the root. */
function repositoryAbove(folder: string): string | undefined {
  if (lookedAt(join(folder, '.git')) !== undefined) return undefined;
  for (let at = dirname(folder); at !== dirname(at); at = dirname(at)) {
    if (lookedAt(join(at, '.git')) !== undefined) return at;
  }
  return undefined;
}

function textOf(path: string): string | undefined {
  const read = readSmallFile(path);
  return read && 'text' in read ? read.text : undefined;
}

const ours = (standing: Standing) => ({ files: standing.files, standing });
const refused = (files: string[], problem: SetupProblem) => ({ files, problem });

function scriptsAreThere({ scripts }: Plan): boolean {
  return scripts.every(({ path, text }) => {
    try {
      return readRegularFile(path, Buffer.byteLength(text)).toString('utf8') === text;
    } catch {
      return false;
    }
  });
}

/** Returns true if one of its programs is in PATH, or a folder that it creates exists. */
export function isInstalled({ settings }: Agent, places: Places, platform: string): boolean {
  if (isAbsent(settings)) return false;
  const { programs, folders } = settings.installed;
  return programs.some(name => isInPath(name, places, platform)) || folders(places).some(isFolder);
}

export const isInPath = (name: string, { env }: Pick<Places, 'env'>, platform: string): boolean =>
  findInPath(name, { env }, platform) !== undefined;

function findInPath(name: string, { env }: Pick<Places, 'env'>, platform: string): string | undefined {
  const endings = platform === 'win32' ? ['.exe', '.cmd', '.ps1'] : [''];
  const folders = (pathIn(env) ?? '').split(delimiter).filter(folder => isAbsolute(folder));
  return folders.flatMap(folder => endings.map(ending => join(folder, name + ending))).find(isFile);
}

export interface InstalledProgram {
  agent: Agent;
  path: string;
  /** Returns the version from the agent's package or folder. No program is run. */
  version: string | undefined;
}

export function installedPrograms(agents: readonly Agent[], places: Places, platform: string): InstalledProgram[] {
  return agents.flatMap(agent => {
    if (isAbsent(agent.settings)) return [];
    const [path] = agent.settings.installed.programs.flatMap(name => findInPath(name, places, platform) ?? []);
    return path === undefined ? [] : [{ agent, path, version: versionOf(path) }];
  });
}

/** An npm package contains its program. Other installers put the version into the name of the folder or the file. */
function versionOf(program: string): string | undefined {
  try {
    const real = fs.realpathSync(program);
    const folders = [1, 2, 3, 4].map(up => resolve(real, ...Array<string>(up).fill('..')));
    for (const folder of folders) {
      const read = readSmallFile(join(folder, 'package.json'));
      const version = read && 'text' in read ? text(fieldsOf(JSON.parse(read.text)).version) : undefined;
      if (version !== undefined) return version.slice(0, 40);
    }
    return [real, ...folders].flatMap(path => /^v?(\d+\.\d+[\w.+-]*)$/.exec(basename(path))?.[1] ?? [])[0];
  } catch {
    // A broken link or a damaged package: the version is unknown.
    return undefined;
  }
}

const isFile = (path: string): boolean => lookedAt(path)?.isFile() === true;
const isFolder = (path: string): boolean => lookedAt(path)?.isDirectory() === true;

function lookedAt(path: string): fs.Stats | undefined {
  try {
    return fs.statSync(path);
  } catch {
    // The path does not exist or is not readable.
    return undefined;
  }
}
