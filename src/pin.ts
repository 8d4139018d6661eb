/** A session is pinned to its configuration at its first event: files for its folder, then the variables its hook was given. */
import type { Destination } from './config/destinations.ts';
import { destinationsOf } from './config/destinations.ts';
import { loadConfig } from './config/files.ts';
import type { Opening } from './drain/drain.ts';
import type { Pinned } from './drain/session.ts';
import type { Fragment } from './hook/fragment.ts';
import type { Problem } from './problem.ts';
import { resourceAttributes } from './telemetry/resource.ts';

export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  platform: NodeJS.Platform;
  /** Run by hand, the process's own variables count below those of the hook; a kicked one has nobody's. */
  ownVariables: boolean;
  configFile: string | undefined;
  installation: string;
}

export interface Pin {
  pinned: Pinned;
  destinations: Destination[];
  problems: Problem[];
}

const TELEMETRY = /^(OTEL_|AGENT_HOOKS_LOG$)/;

export function pin(opening: Opening, fragment: Fragment, where: Surroundings): Pin {
  const given = Object.entries(fragment.header).filter(([name]) => TELEMETRY.test(name));
  const own = Object.entries(where.env).filter(([name]) => where.ownVariables || !TELEMETRY.test(name));
  const env = { ...Object.fromEntries(own), ...Object.fromEntries(given) };
  const config = loadConfig({
    env,
    home: where.home,
    platform: where.platform,
    cwd: opening.cwd ?? where.home,
    file: where.configFile,
    flags: fragment.header.provider === undefined ? undefined : { provider: fragment.header.provider },
  });
  const { destinations, problems } = destinationsOf(config);
  const { values } = config;
  return {
    pinned: {
      destinations: destinations.map(destination => destination.id),
      resource: resourceAttributes({
        agent: opening.agent.id,
        serviceName: values.service_name,
        attributes: config.attributes,
        installation: where.installation,
      }),
      denyAsError: values['trace.deny_as_error'] ?? false,
      sampler: config.sampler,
      limits: config.limits,
    },
    destinations,
    problems: [...config.problems, ...problems],
  };
}
