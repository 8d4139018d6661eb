/**
 * `enable` and `disable`: select agents, plan the change, show it, ask once, and execute it. `enable` then runs the
 * written hooks and tries the destinations.
 */

import { type Agent, isAbsent, type Scope } from '../agents/contract/contract.ts';
import { agents } from '../agents/index.ts';
import type { Config } from '../config/config.ts';
import { destinationsInUse, providers } from '../config/destinations.ts';
import { wordsOf } from '../config/schema.ts';
import { nearest } from '../lib/nearest.ts';
import { pathIn } from '../lib/path-variable.ts';
import { discover } from '../openhook/project.ts';
import type { Problem } from '../problems/problem.ts';
import { whyNotLasting } from '../setup/lasting.ts';
import { forgetPlace, notePlace, placeOf } from '../setup/places.ts';
import type { Asked } from '../setup/registered-events.ts';
import { searchPath } from '../setup/search-path.ts';
import { applySetup, linesInstead, type Plan, planConfig, planSetup, programAt, type Setup } from '../setup/setup.ts';
import { type Found, foundStandings, isInstalled, type Standing, standingOf } from '../setup/standing.ts';
import { summaryOf } from '../setup/summary.ts';
import { agentOf } from './agent-word.ts';
import { askedIn, checkAsked } from './asked-events.ts';
import { flagText, type Interruptible, type Io, interruptible, NoTerminal, UsageError, type Words } from './command.ts';
import { distFolder, type Folders, foldersOf, proxiesOn } from './place.ts';
import { type Proof, prove } from './proof.ts';
import { askAgents, askDestination, isEndpoint, mayChange } from './questions.ts';
import { problemText, shownPath, table } from './text.ts';
import { type Trial, trialText, tryDestinations } from './trial.ts';

interface Planned {
  setup: Setup;
  plan: Plan;
  /** The state before the change. */
  standing: Standing | undefined;
  proof?: Proof;
}

/** The choices of the command line. */
interface Order {
  action: Setup['action'];
  words: Words;
  io: Io;
  folders: Folders;
  scope: Scope;
  endpoint: string | undefined;
  provider: string | undefined;
  asked: Asked | undefined;
  isJson: boolean;
  isDry: boolean;
  /** True if questions are asked. */
  asks: boolean;
}

/** The complete plan, before any change is made. */
interface Whole {
  planned: Planned[];
  config: { plan: Plan; says: string } | undefined;
  failed: boolean;
}

export async function setUp(action: Setup['action'], words: Words, io: Io): Promise<number> {
  const order = orderOf(action, words, io);
  const { isJson, isDry } = order;
  const chosen = await chosenAgents(order);
  if (chosen === undefined) return nothingChanged(io);
  if (order.asked !== undefined) checkAsked(order.asked, chosen, { ...order, platform: io.platform });
  if (order.asks && (await lacksDestination(order, chosen))) order.endpoint = await askDestination(io);
  const whole = planned(order, chosen);
  const warnings = warningsOf(order, whole);
  if (!isJson) show(order, whole, warnings);
  const changes = whole.config !== undefined || whole.planned.some(({ plan }) => plan.changed);
  if (!isDry && changes && !words.flags['--yes']) {
    if (isJson || !io.isTerminal) {
      if (isJson) io.out(jsonOf({ ...order, isDry: true }, whole, warnings, []));
      throw new NoTerminal('--yes');
    }
    if (!(await mayChange(io, () => diffOf(whole)))) return nothingChanged(io, whole.failed ? 1 : 0);
  }
  if (isDry) {
    if (isJson) io.out(jsonOf(order, whole, warnings, []));
    return whole.failed ? 1 : 0;
  }
  return await carryOut(order, whole, warnings);
}

function orderOf(action: Setup['action'], words: Words, io: Io): Order {
  const has = (flag: string): boolean => words.flags[flag] !== undefined;
  if (has('--attribution')) {
    io.err(
      'otel-hooks: --attribution was ignored: otel-hooks does not attribute lines of files.\n  next: leave it out.\n',
    );
  }
  const folders = foldersOf(words, io);
  return {
    action,
    words,
    io,
    folders,
    scope: scopeNamed(words) ?? 'global',
    endpoint: endpointIn(words),
    provider: providersIn(words, folders.config.named),
    asked: askedIn(words),
    isJson: has('--json'),
    isDry: has('--dry-run'),
    asks: io.isTerminal && !has('--yes') && !has('--json') && !has('--dry-run'),
  };
}

function nothingChanged(io: Io, code = 0): number {
  io.out('Nothing was changed.\n');
  return code;
}

const commonOf = ({ folders, io, scope, action, provider, asked }: Order): Omit<Setup, 'agent'> => ({
  ...surroundingsOf(folders, io),
  scope,
  action,
  provider,
  asked,
});

/** The question is asked only if a new agent is set up. Otherwise the user has answered it before. */
async function lacksDestination(order: Order, chosen: readonly Agent[]): Promise<boolean> {
  if (order.action !== 'enable' || order.endpoint !== undefined || order.words.flags['--openhook']) return false;
  const standings = chosen.map(agent => standingOf({ ...commonOf(order), agent }));
  if (standings.every(each => each !== undefined)) return false;
  const { destinations, problems } = destinationsInUse(order.folders.config, [order.provider]);
  return destinations.length === 0 && problems.length === 0;
}

function planned(order: Order, chosen: readonly Agent[]): Whole {
  const { action, scope, io, isJson, words } = order;
  const common = commonOf(order);
  const isNamed = !['all', undefined].includes(flagText(words, '--tool'));
  const whole: Whole = { planned: [], config: undefined, failed: false };
  const refuse = (problem: Problem): void => {
    whole.failed = true;
    io.err(problemText(problem));
  };
  for (const agent of chosen) {
    const { settings } = agent;
    if (!isNamed && (isAbsent(settings) || !settings.scopes.includes(scope))) {
      if (!isJson) io.out(`${agent.title}: it has no settings of the scope ${scope}.\n`);
      continue;
    }
    const found = standingOf({ ...common, agent });
    const standing = found && 'events' in found ? found : undefined;
    // Without --provider, renewed hooks keep the provider that they name.
    const setup = { ...common, agent, provider: common.provider ?? standing?.provider };
    const made = planSetup(setup);
    if (made.ok) whole.planned.push({ setup, plan: made.plan, standing });
    else refuse(made.problem);
  }
  const config = configChange(action, order);
  if (config?.ok === false) refuse(config.problem);
  if (config?.ok && config.plan.changed) whole.config = { plan: config.plan, says: config.says };
  return whole;
}

function warningsOf(order: Order, whole: Whole): readonly Problem[] {
  const temporary = temporaryProgram(order, whole);
  const replaced = order.action === 'enable' ? whole.planned.flatMap(({ setup }) => replacedLines(setup)) : [];
  return [...(temporary ? [temporary] : []), ...replaced];
}

const replacedLines = (setup: Setup): Problem[] =>
  linesInstead(setup).map(({ file }) => ({
    code: 'status-line-replaced',
    agent: setup.agent.title,
    id: setup.agent.id,
    file,
  }));

/** Hooks name the program by its path, unless their file is shared. */
function temporaryProgram({ action, scope, io }: Order, { planned }: Whole): Problem | undefined {
  if (action !== 'enable' || scope === 'project' || planned.length === 0) return undefined;
  const path = distFolder();
  const why = whyNotLasting(path, io.env);
  return why === undefined ? undefined : { code: 'program-temporary', path, why };
}

function show({ action, words, io }: Order, { planned, config }: Whole, warnings: readonly Problem[]): void {
  const rows: string[][] = [];
  for (const { plan, standing, setup } of planned) {
    const { title } = setup.agent;
    const stale = action === 'enable' && standing ? staleText(standing) : undefined;
    if (stale) io.out(`${title}: ${stale}\n`);
    const lines = summaryOf(plan);
    if (lines.length === 0 && plan.file !== '') rows.push([title, shownPath(plan.file, io.home), 'nothing to change']);
    for (const [at, { file, says }] of lines.entries())
      rows.push([at === 0 ? title : '', shownPath(file, io.home), says]);
  }
  if (config) rows.push(['Configuration', shownPath(config.plan.file, io.home), config.says]);
  io.out(table(rows));
  const providers = [...new Set(planned.flatMap(({ setup }) => setup.provider ?? []))];
  if (action === 'enable' && providers.length > 0) io.out(`These hooks send to ${providers.join(' or ')} only.\n`);
  if (words.flags['--diff']) for (const { plan } of planned) io.out(plan.diff);
  for (const warning of warnings) io.err(problemText(warning));
}

const diffOf = ({ planned }: Whole): string => planned.map(({ plan }) => plan.diff).join('');

/** Ctrl-C takes effect after a file is written, so that no change stays incomplete. */
async function carryOut(order: Order, whole: Whole, warnings: readonly Problem[]): Promise<number> {
  const stop = interruptible();
  try {
    const done = applyAll(order, whole);
    const trials = await tryAll(order, whole, done, stop);
    return finish(order, whole, { warnings, done, trials, stop });
  } finally {
    stop.end();
  }
}

/** The executed plans. */
function applyAll({ action, folders, io, isJson }: Order, whole: Whole): Planned[] {
  const done: Planned[] = [];
  const apply = (plan: Plan): boolean => {
    const applied = applySetup(plan);
    if (applied.ok) return true;
    whole.failed = true;
    io.err(problemText(applied.problem));
    return false;
  };
  for (const each of whole.planned) {
    const place = placeOf(each.setup);
    if (action === 'enable') notePlace(folders.data, place);
    if (!apply(each.plan)) continue;
    if (action === 'disable') forgetPlace(folders.data, place);
    done.push(each);
    if (!isJson) io.out(doneText(each, folders));
  }
  if (whole.config && !whole.failed) apply(whole.config.plan);
  return done;
}

/** Runs the written hooks, and checks that the destinations accept data. */
async function tryAll(
  order: Order,
  whole: Whole,
  done: readonly Planned[],
  stop: Interruptible,
): Promise<readonly Trial[]> {
  const { action, words, io, isJson } = order;
  if (action !== 'enable' || words.flags['--no-proof'] || (done.length === 0 && whole.config === undefined)) return [];
  for (const each of done) {
    if (stop.isAsked()) return [];
    each.proof = await prove(each.setup, io.cwd, { ...io.env }, io.now(), stop.isAsked);
    if (stop.isAsked()) return [];
    // A file that is shared in a project may be written on a machine on which otel-hooks is not installed.
    if (!each.proof.ok && each.proof.isTried !== false) whole.failed = true;
    if (!isJson) (each.proof.ok ? io.out : io.err)(proofText(each.setup.agent, each.proof));
  }
  const { config } = foldersOf(words, io);
  const { destinations } = destinationsInUse(
    config,
    done.map(({ setup }) => setup.provider),
  );
  const trials = await tryDestinations(destinations, { nowMs: io.now(), proxies: proxiesOn(words, io) });
  if (!isJson) for (const trial of trials) (trial.ok ? io.out : io.err)(trialText(trial));
  return trials;
}

interface Finish {
  warnings: readonly Problem[];
  done: readonly Planned[];
  trials: readonly Trial[];
  stop: Interruptible;
}

function finish(order: Order, whole: Whole, { warnings, done, trials, stop }: Finish): number {
  const { action, words, io, isJson } = order;
  if (isJson) io.out(jsonOf(order, whole, warnings, trials));
  else if (stop.isAsked()) io.out('Interrupted. The hooks are in place; otel-hooks doctor tries them.\n');
  else if (!whole.failed) {
    if (words.flags['--openhook']) io.out(openHookText(action, io));
    if (action === 'enable' && done.length > 0) io.out(whatNext(done, foldersOf(words, io)));
  }
  if (stop.isAsked()) return 130;
  return whole.failed ? 1 : 0;
}

function jsonOf(
  { action, isDry }: Order,
  { planned, config }: Whole,
  warnings: readonly Problem[],
  trials: readonly Trial[],
): string {
  const found = {
    v: 1,
    action,
    dryRun: isDry,
    plans: planned.map(rowOf),
    ...(config ? { config: { file: config.plan.file, changed: true } } : {}),
    ...(trials.length > 0 ? { destinations: trials } : {}),
    problems: warnings,
  };
  return `${JSON.stringify(found, null, 2)}\n`;
}

function rowOf({ setup, plan, standing, proof }: Planned): object {
  const { agent } = setup;
  return {
    agent: agent.id,
    file: plan.file,
    files: plan.changes.map(({ file }) => file),
    changed: plan.changed,
    summary: summaryOf(plan),
    events: plan.events,
    diff: plan.diff,
    ...(standing ? { stale: standing.stale } : {}),
    ...(setup.action === 'enable' && !isAbsent(agent.settings) ? { afterwards: agent.settings.afterwards } : {}),
    ...(proof ? { proof } : {}),
  };
}

/** The settings that are the same for all agents. */
export const surroundingsOf = (
  folders: Folders,
  io: Io,
): Pick<Setup, 'places' | 'platform' | 'program' | 'folders'> => ({
  places: { home: io.home, project: io.cwd, env: io.env },
  platform: io.platform,
  program: programAt(distFolder(), process.execPath, searchPath(pathIn(io.env), { home: io.home, project: io.cwd })),
  folders,
});

/** The places where our hooks are registered, among those that `--tool` and the scope's flag select. */
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

/** Returns the named agents, otherwise the installed ones, or those with our hooks. Undefined: the user chose none. */
async function chosenAgents(order: Order): Promise<readonly Agent[] | undefined> {
  const { action, words, io, scope, asks, isJson } = order;
  const named = flagText(words, '--tool');
  if (named === undefined && words.flags['--openhook']) return [];
  if (named === 'all') return agents;
  if (named !== undefined) return named.split(',').map(agentOf);
  const common = commonOf(order);
  const isFound = (agent: Agent): boolean =>
    action === 'enable'
      ? isInstalled(agent, common.places, common.platform)
      : standingOf({ ...common, agent }) !== undefined;
  const found = agents.filter(isFound);
  if (found.length === 0 && action === 'enable') {
    const ids = agents.map(agent => agent.id).join(', ');
    throw new UsageError(`no agent was found here; name one with --tool: ${ids}`);
  }
  if (found.length === 0) {
    if (!isJson) {
      const scopes = (['global', 'project', 'local'] as const).filter(each => each !== scope).map(each => `--${each}`);
      io.out(
        `Nothing to disable: no agent calls otel-hooks in the scope ${scope}. See also ${scopes.join(' and ')}.\n`,
      );
    }
    return [];
  }
  if (asks && action === 'enable' && found.length > 1) {
    const isSetUp = (agent: Agent): boolean => standingOf({ ...common, agent }) !== undefined;
    return await askAgents(io, found, isSetUp);
  }
  if (!isJson) io.out(`${action === 'enable' ? 'Found' : 'Enabled'}: ${found.map(agent => agent.title).join(', ')}.\n`);
  return found;
}

function endpointIn(words: Words): string | undefined {
  const endpoint = flagText(words, '--endpoint');
  if (endpoint !== undefined && !isEndpoint(endpoint))
    throw new UsageError(`--endpoint takes a URL such as http://127.0.0.1:4318, not ${endpoint}`);
  return endpoint;
}

/**
 * Switches OpenHook on or off. Writes the named endpoint, and the provider if it is named or the configuration has
 * none.
 */
function configChange(action: Setup['action'], { words, folders, endpoint, provider }: Order) {
  const { values: configured, named } = folders.config;
  const isOfNamed = wordsOf(provider).every(word => named.some(each => each.name === word || each.provider === word));
  const isMissing = configured.provider === undefined && !isOfNamed;
  const values: [path: string[], value: unknown][] = [];
  if (endpoint !== undefined || (provider !== undefined && isMissing)) {
    const several = provider?.split(',') ?? ['otlp'];
    values.push([['provider'], several.length > 1 ? several : several[0]]);
  }
  if (endpoint !== undefined) values.push([['otlp', 'endpoint'], endpoint]);
  if (words.flags['--openhook']) values.push([['openhook', 'enabled'], action === 'enable']);
  if (values.length === 0) return undefined;
  const says = values.map(([path, value]) => `${path.join('.')} = ${String(value)}`).join(', ');
  return { ...planConfig(folders.config.globalFile, values, folders.data), says };
}

/** The words of `--provider`: providers, or names of destinations. */
function providersIn(words: Words, destinations: Config['named']): string | undefined {
  const named = flagText(words, '--provider');
  if (named === undefined) return undefined;
  const asked = wordsOf(named);
  const known: readonly string[] = [...providers, ...destinations.map(({ name }) => name)];
  const odd = asked.find(word => !known.includes(word));
  if (odd === undefined && asked.length > 0) return asked.join(',');
  const meant = nearest(odd ?? '', known);
  throw new UsageError(
    `unknown provider ${odd ?? '""'}${meant ? `; did you mean ${meant}?` : `; known: ${known.join(', ')}`}`,
  );
}

function openHookText(action: Setup['action'], io: Io): string {
  if (action === 'disable') return 'OpenHook is off: no command of any .openhook.json is run any more.\n';
  const project = discover(io.cwd, { env: io.env, home: io.home, platform: io.platform, cwd: io.cwd });
  const asks = project?.found && project.why === undefined && project.answer !== 'yes';
  return `OpenHook is on for sessions that begin from now on.\n${asks ? `  next: see the commands of ${project.file}: otel-hooks openhook trust\n` : ''}`;
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

function doneText({ setup, plan }: Planned, folders: Folders): string {
  const { agent, action } = setup;
  if (!plan.changed) return `${agent.title}: nothing to change in ${plan.file}\n`;
  const where = plan.changes.length > 1 ? `${plan.file} and ${plan.changes.length - 1} more` : plan.file;
  if (action === 'disable') return `Disabled. ${where}\n`;
  return `Enabled. Hook: ${where}, Config: ${folders.config.globalFile}\n`;
}

function proofText({ title }: Agent, proof: Proof): string {
  if (!proof.ok) {
    const tried = proof.isTried === false ? 'the hooks were not tried:' : 'the hooks were tried, and';
    return `otel-hooks: ${title}: ${tried} ${proof.why}.\n  next: ${proof.next}\n`;
  }
  const { event, type, session, tookMs } = proof;
  return `Tried ${title}: ${event} went through the hook into the journal as ${type} in ${(tookMs / 1000).toFixed(1)} s; it stays on this machine: otel-hooks show ${session}\n`;
}

function whatNext(done: readonly Planned[], folders: Folders): string {
  const reviews = done.flatMap(({ setup: { agent } }) =>
    isAbsent(agent.settings) ? [] : [`${agent.title}: ${agent.settings.afterwards}\n`],
  );
  const named = done.map(({ setup }) => setup.provider);
  const { destinations, problems } = destinationsInUse(folders.config, named);
  const titles = done.map(({ setup: { agent } }) => agent.title);
  const last = titles.at(-1) ?? '';
  const agentsText = titles.length < 2 ? last : `${titles.slice(0, -1).join(', ')} or ${last}`;
  const goes =
    destinations.length > 0
      ? `It arrives at ${destinations.map(each => each.endpoint).join(' and ')} after each turn; \`otel-hooks status\` shows what was sent.`
      : 'Everything stays on this machine. To send it: otel-hooks enable --endpoint http://127.0.0.1:4318';
  return `${reviews.join('')}${problems.map(problemText).join('')}
See your first session:
  1. Start a new session of ${agentsText}, and give it something to do.
  2. otel-hooks tail    what it does, while it does it
     otel-hooks show    the sessions; with the first letters of an id, its trace
  3. ${goes}
`;
}
