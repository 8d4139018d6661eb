/**
 * The places in which `enable` wrote hooks: a list in the data folder, so that `uninstall` also finds settings of
 * projects elsewhere on the disk, and settings that an environment variable named at that time.
 *
 * A place is listed before its settings are written, and removed from the list after they were restored. A kill in
 * between leaves a listed place without hooks, which does no harm.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isAbsent, type Places, type Scope } from '../agents/contract/contract.ts';
import { whileHeld } from '../lib/held-files.ts';
import { makeOwnPath } from '../lib/make-path.ts';
import { fieldsOf, isFields, text } from '../lib/read.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import { filesIn, type Setup } from './setup.ts';

export interface KnownPlace {
  /** The agent's id. */
  agent: string;
  scope: Scope;
  /** The folder in which `enable` ran. Only settings of a project depend on it. */
  project: string;
  /** The variables that determined the paths of the settings. */
  env: { readonly [name: string]: string };
}

export const placesFile = (data: string): string => join(data, 'places.json');

const LARGEST_BYTES = 16 * 1024 * 1024;

/** Returns an empty list if the file is missing or unreadable. */
export function knownPlaces(data: string): KnownPlace[] {
  let read: unknown;
  try {
    read = JSON.parse(readRegularFile(placesFile(data), LARGEST_BYTES).toString('utf8'));
  } catch {
    // No place was listed. `uninstall` checks the usual places in any case.
    return [];
  }
  const { places } = fieldsOf(read);
  return Array.isArray(places) ? places.flatMap(placeIn) : [];
}

function placeIn(value: unknown): KnownPlace[] {
  const { agent, scope, project, env } = fieldsOf(value);
  if (typeof agent !== 'string' || typeof project !== 'string') return [];
  if (scope !== 'global' && scope !== 'project' && scope !== 'local') return [];
  const variables = Object.entries(isFields(env) ? env : {}).flatMap(([name, each]): [string, string][] => {
    const found = text(each);
    return found === undefined ? [] : [[name, found]];
  });
  return [{ agent, scope, project, env: Object.fromEntries(variables) }];
}

export function notePlace(data: string, place: KnownPlace): void {
  const known = knownPlaces(data);
  if (!known.some(each => isSame(each, place))) writePlaces(data, [...known, place]);
}

export function forgetPlace(data: string, place: KnownPlace): void {
  const known = knownPlaces(data);
  const rest = known.filter(each => !isSame(each, place));
  if (rest.length < known.length) writePlaces(data, rest);
}

function writePlaces(data: string, places: readonly KnownPlace[]): void {
  const file = placesFile(data);
  if (places.length === 0) {
    rmSync(file, { force: true });
    return;
  }
  makeOwnPath(dirname(file));
  const beside = `${file}.${process.pid}`;
  rmSync(beside, { force: true });
  writeFileSync(beside, `${JSON.stringify({ v: 1, places }, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  whileHeld(() => renameSync(beside, file));
}

/** Returns the place of a setup, with the variables that determine the paths of the agent's files. */
export function placeOf(setup: Pick<Setup, 'agent' | 'scope' | 'places' | 'platform'>): KnownPlace {
  const { agent, scope, places } = setup;
  const looked = new Map<string, string>();
  const env: Places['env'] = new Proxy(places.env, {
    get(target, name) {
      const value = typeof name === 'string' ? target[name] : undefined;
      if (typeof name === 'string' && value) looked.set(name, value);
      return value;
    },
  });
  if (!isAbsent(agent.settings)) filesIn({ ...setup, places: { ...places, env } });
  return { agent: agent.id, scope, project: places.project, env: Object.fromEntries([...looked].sort()) };
}

/** Settings of a user are one place, independent of the folder in which `enable` ran. */
const isSame = (one: KnownPlace, other: KnownPlace): boolean =>
  one.agent === other.agent &&
  one.scope === other.scope &&
  (one.scope === 'global' || one.project === other.project) &&
  JSON.stringify(one.env) === JSON.stringify(other.env);
