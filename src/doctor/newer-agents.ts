/** Finds agents that are newer than the version that the tests ran with, and the hooks of agents that are unknown. */
import { checkedVersions } from '../agents/checked-versions.ts';
import { UNKNOWN_EVENT } from '../agents/shared/unknown-event.ts';
import { isNewer } from '../lib/newer.ts';
import { own } from '../lib/read.ts';
import type { Problem } from '../problems/problem.ts';
import type { Setup } from '../setup/setup.ts';
import { type Found, installedPrograms } from '../setup/standing.ts';
import type { Store } from '../store/store.ts';

/** `store` is undefined if no hook has ever written to the state folder. */
export function newerAgents(
  found: readonly Found[],
  store: Pick<Store, 'books'> | undefined,
  { places, platform }: Pick<Setup, 'places' | 'platform'>,
): Problem[] {
  const agents = [...new Set(found.map(({ agent }) => agent))];
  const programs = installedPrograms(agents, places, platform);
  const counters = store?.books().counters ?? {};
  return agents.flatMap((agent): Problem[] => {
    const version = programs.find(each => each.agent === agent)?.version;
    const checked = own(checkedVersions, agent.id);
    const isUnchecked = version !== undefined && checked !== undefined && isNewer(version, checked);
    const prefix = `odd.${UNKNOWN_EVENT}${agent.id}.`;
    const unknown = Object.entries(counters).flatMap(([name, count]) =>
      name.startsWith(prefix) ? [`${name.slice(prefix.length)} (${count})`] : [],
    );
    if (!isUnchecked && unknown.length === 0) return [];
    return [
      { code: 'agent-newer', agent: agent.title, ...(isUnchecked ? { newer: { version, checked } } : {}), unknown },
    ];
  });
}
