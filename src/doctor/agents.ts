/** Checks the registrations of our hooks: up to date, registered once, and not disabled by the agent. */
import { type Agent, isAbsent } from '../agents/contract/contract.ts';
import { unifiedDiff } from '../lib/diff.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import type { Problem } from '../problems/problem.ts';
import { applySetup, planSetup, type Setup } from '../setup/setup.ts';
import { type Found, filesText, installedPrograms, isInstalled, registeredElsewhere } from '../setup/standing.ts';
import { type Finding, fine, type Mend, problem, unknown } from './finding.ts';

/** Returns the agents whose programs are installed, with the versions that are stored beside them. */
export const findingsOfPrograms = (
  agents: readonly Agent[],
  { places, platform }: Pick<Setup, 'places' | 'platform'>,
): Finding[] =>
  installedPrograms(agents, places, platform).map(({ agent, path, version }) =>
    fine('program', agent.id, `${agent.title} ${version ?? 'of an unknown version'}, ${path}`),
  );

export function findingsOfAgents(
  agents: readonly Agent[],
  found: readonly Found[],
  common: Omit<Setup, 'agent' | 'scope' | 'action'>,
): Finding[] {
  return agents.flatMap(agent => {
    const own = found.filter(each => each.agent === agent);
    if (own.length === 0) {
      if (!isInstalled(agent, common.places, common.platform)) return [];
      return [
        unknown(
          'agents',
          agent.id,
          `${agent.title} is installed and does not call otel-hooks.`,
          `otel-hooks enable --tool ${agent.id}`,
        ),
      ];
    }
    const troubles = [...own.flatMap(each => ofScope(each)), ...twice(agent, own, common), ...obstacles(agent, common)];
    if (troubles.length > 0) return troubles;
    const files = own.flatMap(each => each.files);
    return [fine('agents', agent.id, `${agent.id}: No issues found. ${filesText(files)}`)];
  });
}

function ofScope(found: Found): Finding[] {
  const { agent, scope, files } = found;
  if ('problem' in found) return [problem('agents', agent.id, found.problem)];
  const { stale } = found.standing;
  if (stale.length === 0) return [];
  const outdated: Problem = { code: 'hooks-stale', agent: agent.title, scope, file: files[0] ?? '', stale: [...stale] };
  return [problem('agents', agent.id, outdated, renewal(found.setup, found.standing.provider))];
}

/** Returns the setup that `enable` would apply, with the provider of the entries. */
function renewal(setup: Setup, provider: string | undefined): Mend | undefined {
  const planned = planSetup({ ...setup, action: 'enable', provider });
  if (!planned.ok) return undefined;
  const { plan } = planned;
  return {
    diffs: [plan.diff, ...plan.scripts.map(({ path, text }) => scriptDiff(path, text))],
    apply: () => {
      const applied = applySetup(plan);
      return applied.ok ? undefined : applied.problem;
    },
  };
}

function scriptDiff(path: string, text: string): string {
  const former = textOf(path);
  // Missing entries are restored completely, so no diff is shown.
  return former === undefined ? `${path}: written anew\n` : unifiedDiff(former, text, { from: path, to: path });
}

/**
 * An agent merges its scopes and plugins, so each event fires once per registration. Only places that register the same
 * event are duplicates: two scopes can divide the events between them.
 */
function twice(agent: Agent, own: readonly Found[], common: Omit<Setup, 'agent' | 'scope' | 'action'>): Finding[] {
  const set = own.filter(each => 'standing' in each && each.standing.events.length > 0);
  const elsewhere = registeredElsewhere(agent, common).filter(file => !set.some(({ files }) => files.includes(file)));
  const isShared = set.some((each, i) => set.slice(0, i).some(other => shareAnEvent(each, other)));
  if (set.length === 0 || (!isShared && elsewhere.length === 0)) return [];
  const files = [...set.map(each => filesText(each.files)), ...elsewhere];
  const scopes = set.map(each => each.scope);
  return [problem('agents', agent.id, { code: 'hooks-twice', agent: agent.title, id: agent.id, files, scopes })];
}

const shareAnEvent = (a: Found, b: Found): boolean =>
  'standing' in a && 'standing' in b && a.standing.events.some(event => b.standing.events.includes(event));

function obstacles(agent: Agent, common: Pick<Setup, 'places' | 'platform'>): Finding[] {
  const { settings } = agent;
  if (isAbsent(settings) || settings.obstacles === undefined) return [];
  return settings
    .obstacles({ ...common.places, platform: common.platform }, textOf)
    .map(({ file, why, next }) =>
      problem('agents', agent.id, { code: 'hooks-silent', agent: agent.title, file, why, advice: next }),
    );
}

const MOST_BYTES = 16 * 1024 * 1024;

function textOf(path: string): string | undefined {
  try {
    return readRegularFile(path, MOST_BYTES).toString('utf8');
  } catch {
    // The file is missing or unreadable, so it has no entries.
    return undefined;
  }
}
