/**
 * What `enable` and `disable` have in common: which agents, the change shown, one question, the change made; and after enabling,
 * the proof that it works.
 */
import { type Agent, isAbsent, type Scope } from '../agents/contract/contract.ts';
import { agentNamed, agents } from '../agents/index.ts';
import { destinationsInUse, providers } from '../config/destinations.ts';
import { wordsOf } from '../config/schema.ts';
import { nearest } from '../lib/nearest.ts';
import { discover } from '../openhook/project.ts';
import { applySetup, type Plan, planConfig, planSetup, programAt, type Setup } from '../setup/setup.ts';
import { type Found, foundStandings, isInstalled, type Standing, standingOf } from '../setup/standing.ts';
import { flagText, type Io, NoTerminal, UsageError, type Words } from './command.ts';
import { distFolder, type Folders, foldersOf } from './place.ts';
import { type Proof, prove } from './proof.ts';
import { problemText } from './text.ts';

interface Planned {
  setup: Setup;
  plan: Plan;
  /** Before the change. */
  standing: Standing | undefined;
  proof?: Proof;
}

export async function setUp(action: Setup['action'], words: Words, io: Io): Promise<number> {
  const scope = scopeNamed(words) ?? 'global';
  const folders = foldersOf(words, io);
  const common = { ...surroundingsOf(folders, io), scope, action, provider: providersIn(words) };
  if (words.flags['--attribution']) {
    io.err(
      'otel-hooks: --attribution was ignored: lines of files are attributed to nobody here.\n  next: leave it out.\n',
    );
  }
  const { chosen, isNamed } = agentsOf(action, words, io, common);
  const json = words.flags['--json'] !== undefined;
  const isDry = words.flags['--dry-run'] !== undefined;
  const planned: Planned[] = [];
  let failed = false;
  for (const agent of chosen) {
    const { settings } = agent;
    if (!isNamed && (isAbsent(settings) || !settings.scopes.includes(scope))) {
      if (!json) io.out(`${agent.title}: it has no settings of the scope ${scope}.\n`);
      continue;
    }
    const found = standingOf({ ...common, agent });
    const standing = found && 'events' in found ? found : undefined;
    // Who renews their hooks has not asked for another provider.
    const setup = { ...common, agent, provider: common.provider ?? standing?.provider };
    const made = planSetup(setup);
    if (made.ok) {
      planned.push({ setup, plan: made.plan, standing });
    } else {
      failed = true;
      io.err(problemText(made.problem));
    }
  }
  const config = configChange(action, words, folders);
  if (config?.ok === false) {
    failed = true;
    io.err(problemText(config.problem));
  }
  const configPlan = config?.ok && config.plan.changed ? config.plan : undefined;
  const changes = planned.some(({ plan }) => plan.changed) || configPlan !== undefined;
  if (!json) {
    for (const { plan, standing, setup } of planned) {
      const stale = action === 'enable' && standing ? staleText(standing) : undefined;
      if (stale) io.out(`${setup.agent.title}: ${stale}\n`);
      io.out(plan.diff);
    }
    if (configPlan) io.out(`${configPlan.file}: ${config?.says}\n`);
  }
  if (!isDry && changes && !words.flags['--yes']) {
    if (json || !io.isTerminal) throw new NoTerminal('--yes');
    const answer = await io.ask('Change this? [y/N] ');
    if (!/^y(es)?$/i.test(answer.trim())) {
      io.out('Nothing was changed.\n');
      return failed ? 1 : 0;
    }
  }
  const done: Planned[] = [];
  if (!isDry) {
    for (const each of planned) {
      const applied = applySetup(each.plan);
      if (!applied.ok) {
        failed = true;
        io.err(problemText(applied.problem));
        continue;
      }
      done.push(each);
      if (!json) io.out(said(each, folders));
    }
    if (configPlan && !failed) {
      const applied = applySetup(configPlan);
      if (!applied.ok) {
        failed = true;
        io.err(problemText(applied.problem));
      }
    }
    if (action === 'enable' && !words.flags['--no-proof']) {
      for (const each of done) {
        each.proof = await prove(each.setup, io.cwd, { ...io.env }, io.now());
        if (!each.proof.ok) failed = true;
        if (!json) (each.proof.ok ? io.out : io.err)(proofText(each.setup.agent, each.proof));
      }
    }
  }
  if (json) io.out(`${JSON.stringify({ v: 1, action, dryRun: isDry, plans: planned.map(rowOf) }, null, 2)}\n`);
  else if (!isDry && !failed && words.flags['--openhook']) io.out(openHookText(action, io));
  if (!json && !isDry && action === 'enable' && done.length > 0 && !failed)
    io.out(whatNext(done, foldersOf(words, io)));
  return failed ? 1 : 0;
}

function rowOf({ setup, plan, standing, proof }: Planned): object {
  const { agent } = setup;
  return {
    agent: agent.id,
    file: plan.file,
    files: plan.changes.map(({ file }) => file),
    changed: plan.changed,
    events: plan.events,
    diff: plan.diff,
    ...(standing ? { stale: standing.stale } : {}),
    ...(setup.action === 'enable' && !isAbsent(agent.settings) ? { afterwards: agent.settings.afterwards } : {}),
    ...(proof ? { proof } : {}),
  };
}

/** What setting up any agent here has in common. */
export const surroundingsOf = (
  folders: Folders,
  io: Io,
): Pick<Setup, 'places' | 'platform' | 'program' | 'folders'> => ({
  places: { home: io.home, project: io.cwd, env: io.env },
  platform: io.platform,
  program: programAt(distFolder(), process.execPath, io.env),
  folders,
});

/** Where ours are registered, as far as `--tool` and a scope's flag ask for. */
export function standingsNamed(words: Words, folders: Folders, io: Io): Found[] {
  const scope = scopeNamed(words);
  return foundStandings(agentsNamed(words), surroundingsOf(folders, io)).filter(
    found => scope === undefined || found.scope === scope,
  );
}

export function agentsNamed(words: Words): readonly Agent[] {
  const named = flagText(words, '--tool');
  return named === undefined || named === 'all' ? agents : named.split(',').map(agentOf);
}

function scopeNamed(words: Words): Scope | undefined {
  const given = (['global', 'project', 'local'] as const).filter(scope => words.flags[`--${scope}`]);
  if (given.length > 1) throw new UsageError(`one scope, not ${given.map(scope => `--${scope}`).join(' and ')}`);
  return given[0];
}

/** By name; else, for a person at a terminal, those that are installed, or those that ours are registered with. */
function agentsOf(
  action: Setup['action'],
  words: Words,
  io: Io,
  common: Omit<Setup, 'agent'>,
): { chosen: readonly Agent[]; isNamed: boolean } {
  const named = flagText(words, '--tool');
  if (named === undefined && words.flags['--openhook']) return { chosen: [], isNamed: true };
  if (named === 'all') return { chosen: agents, isNamed: false };
  if (named !== undefined) return { chosen: named.split(',').map(agentOf), isNamed: true };
  if (!io.isTerminal) throw new NoTerminal('--tool');
  const chosen = agents.filter(agent =>
    action === 'enable'
      ? isInstalled(agent, common.places, common.platform)
      : standingOf({ ...common, agent }) !== undefined,
  );
  const ids = agents.map(agent => agent.id).join(', ');
  if (chosen.length === 0) {
    throw new UsageError(
      action === 'enable'
        ? `no agent was found here; name one with --tool: ${ids}`
        : 'no hooks of ours were found in this scope; see --global, --project and --local',
    );
  }
  io.out(`${action === 'enable' ? 'Found' : 'Enabled'}: ${chosen.map(agent => agent.title).join(', ')}.\n`);
  return { chosen, isNamed: false };
}

function agentOf(name: string): Agent {
  const agent = agentNamed(name);
  if (agent) return agent;
  const meant = nearest(
    name,
    agents.flatMap(each => [each.id, ...(each.aliases ?? [])]),
  );
  throw new UsageError(
    `unknown agent ${name}${meant ? `; did you mean ${meant}?` : `; known: ${agents.map(each => each.id).join(', ')}`}`,
  );
}

/** OpenHook is switched as asked for. The endpoint is written as it is named; the provider with it, or where the configuration has none. */
function configChange(action: Setup['action'], words: Words, folders: Folders) {
  const endpoint = flagText(words, '--endpoint');
  const provider = providersIn(words);
  const isMissing = folders.config.values.provider === undefined;
  const values: [path: string[], value: unknown][] = [];
  if (endpoint !== undefined || (provider !== undefined && isMissing)) {
    const several = provider?.split(',') ?? ['otlp'];
    values.push([['provider'], several.length > 1 ? several : several[0]]);
  }
  if (endpoint !== undefined) {
    if (!/^https?:/i.test(endpoint) || !URL.canParse(endpoint))
      throw new UsageError(`--endpoint takes a URL such as http://127.0.0.1:4318, not ${endpoint}`);
    values.push([['otlp', 'endpoint'], endpoint]);
  }
  if (words.flags['--openhook']) values.push([['openhook', 'enabled'], action === 'enable']);
  if (values.length === 0) return undefined;
  const says = values.map(([path, value]) => `${path.join('.')} = ${String(value)}`).join(', ');
  return { ...planConfig(folders.config.globalFile, values, folders.data), says };
}

function providersIn(words: Words): string | undefined {
  const named = flagText(words, '--provider');
  if (named === undefined) return undefined;
  const asked = wordsOf(named);
  const odd = asked.find(word => !(providers as readonly string[]).includes(word));
  if (odd === undefined && asked.length > 0) return asked.join(',');
  const meant = nearest(odd ?? '', providers);
  throw new UsageError(
    `unknown provider ${odd ?? '""'}${meant ? `; did you mean ${meant}?` : `; known: ${providers.join(', ')}`}`,
  );
}

function openHookText(action: Setup['action'], io: Io): string {
  if (action === 'disable') return 'OpenHook is off: no command of any .openhook.json is run any more.\n';
  const project = discover(io.cwd, { env: io.env, home: io.home, platform: io.platform, cwd: io.cwd });
  const asks = project?.found && project.why === undefined && project.answer !== 'yes';
  return `OpenHook is on for sessions that begin from now on.\n${asks ? `  next: see what ${project.file} would run: otel-hooks openhook trust\n` : ''}`;
}

const staleWords = {
  entries: 'its entries are not those that this version writes, and are replaced.',
  script: 'the script that its entries run is renewed.',
  twice: 'an event had more than one entry of ours.',
} as const;

function staleText({ stale }: Standing): string | undefined {
  const [first] = stale;
  return first && staleWords[stale.includes('twice') ? 'twice' : first];
}

function said({ setup, plan }: Planned, folders: Folders): string {
  const { agent, action } = setup;
  if (!plan.changed) return `${agent.title}: nothing to change in ${plan.file}\n`;
  const where = plan.changes.length > 1 ? `${plan.file} and ${plan.changes.length - 1} more` : plan.file;
  if (action === 'disable') return `Disabled. ${where}\n`;
  return `Enabled. Hook: ${where}, Config: ${folders.config.globalFile}\n`;
}

function proofText({ title }: Agent, proof: Proof): string {
  if (!proof.ok) return `otel-hooks: ${title}: the hooks were tried, and ${proof.why}.\n  next: ${proof.next}\n`;
  const { event, type, session, tookMs } = proof;
  return `Tried ${title}: ${event} went through the hook into the journal as ${type} in ${(tookMs / 1000).toFixed(1)} s; it stays on this machine: otel-hooks show ${session}\n`;
}

function whatNext(done: readonly Planned[], folders: Folders): string {
  const reviews = done.flatMap(({ setup: { agent } }) =>
    isAbsent(agent.settings) ? [] : [`${agent.title}: ${agent.settings.afterwards}\n`],
  );
  const named = done.map(({ setup }) => setup.provider);
  const { destinations, problems } = destinationsInUse(folders.config, named);
  const id = done[0]?.setup.agent.id;
  return `${reviews.join('')}${problems.map(problemText).join('')}${
    destinations.length === 0 && problems.length === 0
      ? `  next: say where data goes, for example otel-hooks enable --tool ${id} --endpoint http://127.0.0.1:4318\n        until then sessions are kept in the journal: otel-hooks show\n`
      : '  next: start a new session of the agent, then otel-hooks status\n'
  }`;
}
