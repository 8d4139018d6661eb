/** Restores the settings of all agents: in the places that `enable` listed, and in the usual places. */
import fs from 'node:fs';
import { basename, join } from 'node:path';
import { type Agent, isAbsent, type Scope } from '../agents/contract/contract.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import type { SetupProblem } from '../problems/problem.ts';
import { scriptPath, statusLinePath } from './commands.ts';
import { type KnownPlace, placesFile } from './places.ts';
import { filesIn, type Plan, planSetup, type Setup } from './setup.ts';

export interface Restoration {
  agent: Agent;
  scope: Scope;
  plan: Plan;
}

export interface Restorations {
  planned: Restoration[];
  /** Settings that hold or may hold our hooks, and cannot be edited. */
  refused: { agent: Agent; scope: Scope; problem: SetupProblem }[];
}

export function planRestorations(
  agents: readonly Agent[],
  common: Omit<Setup, 'agent' | 'scope' | 'action'>,
  known: readonly KnownPlace[],
): Restorations {
  const found: Restorations = { planned: [], refused: [] };
  const seen = new Set<string>();
  const look = (setup: Setup, isNoted: boolean): void => {
    const { agent, scope } = setup;
    const made = planSetup(setup);
    if (!made.ok) {
      const { problem } = made;
      if (!seen.has(JSON.stringify(problem)) && mayHoldOurs(problem, isNoted))
        found.refused.push({ agent, scope, problem });
      seen.add(JSON.stringify(problem));
      return;
    }
    // Several scopes may share a file.
    const changes = made.plan.changes.filter(({ target }) => !seen.has(target));
    for (const { target } of changes) seen.add(target);
    if (changes.length > 0)
      found.planned.push({ agent, scope, plan: { ...made.plan, file: changes[0]?.file ?? '', changes } });
  };
  for (const { agent: id, scope, project, env } of known) {
    const agent = agents.find(each => each.id === id);
    const places = { home: common.places.home, project, env };
    if (agent !== undefined) look({ ...common, agent, scope, places, action: 'disable' }, true);
  }
  for (const agent of agents) {
    if (isAbsent(agent.settings)) continue;
    for (const scope of agent.settings.scopes) {
      const setup: Setup = { ...common, agent, scope, action: 'disable' };
      if (filesIn(setup).length > 0) look(setup, false);
    }
  }
  return found;
}

/** A damaged file matters only if it contains the name otel-hooks. */
function mayHoldOurs(problem: SetupProblem, isNoted: boolean): boolean {
  if (problem.code === 'settings-absent') return false;
  if (problem.code === 'settings-file') return isNoted || /permission|permitted/.test(problem.why);
  try {
    return /otel[-_]hooks/.test(readRegularFile(problem.file, 16 * 1024 * 1024).toString('utf8'));
  } catch {
    // The file was removed meanwhile.
    return false;
  }
}

/** Returns the files that `enable` wrote into the data folder. */
export function scriptsIn(data: string): string[] {
  try {
    const names = fs.readdirSync(data).filter(name => /^otel-hooks-[a-z-]+\.sh$/.test(name));
    const sourced = [scriptPath(data), statusLinePath(data)].filter(path => fs.existsSync(path));
    return [...sourced, ...names.map(name => join(data, name))];
  } catch {
    // The data folder does not exist.
    return [];
  }
}

/**
 * Removes the scripts, and the lists of places and folders. Settings that could not be restored still run the program
 * of their agent, and the agent would report an error if it were missing. So this program stays; without `hook.sh` it
 * records nothing.
 */
export function removeScripts(data: string, refused: readonly Agent[]): void {
  const kept = refused.map(({ id }) => `otel-hooks-${id}.sh`);
  for (const script of scriptsIn(data)) if (!kept.includes(basename(script))) fs.rmSync(script, { force: true });
  if (refused.length > 0) return;
  for (const notes of [placesFile(data), join(data, 'folders.json')]) fs.rmSync(notes, { force: true });
  try {
    fs.rmdirSync(data);
  } catch {
    // The folder has other files, or does not exist.
  }
}
