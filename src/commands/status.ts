import { existsSync } from 'node:fs';
import { checkedVersions } from '../agents/checked-versions.ts';
import { addressKeys, type Destination, destinationsInUse, type Provider } from '../config/destinations.ts';
import { exposuresOf } from '../config/exposures.ts';
import type { LoadedConfig } from '../config/files.ts';
import type { Key } from '../config/schema.ts';
import { shownValue, writtenValue } from '../config/shown.ts';
import { damagedFiles, imbalances, readStatusBooks, type StatusBooks } from '../deliver/status-books.ts';
import { newerAgents } from '../doctor/newer-agents.ts';
import { silentHooks } from '../doctor/silent-hooks.ts';
import { documents } from '../documents/documents.ts';
import { own } from '../lib/read.ts';
import { unansweredIn } from '../openhook/project.ts';
import { isNote, merged, type Problem, type StateProblem } from '../problems/problem.ts';
import { contentNotice } from '../python/content-notice.ts';
import { type Found, filesText, providersNamed } from '../setup/standing.ts';
import type { Books } from '../store/books.ts';
import { StateRefused } from '../store/folder.ts';
import { isDelivering } from '../store/lock.ts';
import { openStore, type Store } from '../store/store.ts';
import type { Io, Words } from './command.ts';
import { type Folders, foldersOf } from './place.ts';
import { problemsNow } from './problems-now.ts';
import { standingsNamed, surroundingsOf } from './setup.ts';
import { countOf, problemText, table } from './text.ts';

export function run(words: Words, io: Io): number {
  const isJson = words.flags['--json'] !== undefined;
  if (words.flags['--short'] !== undefined) return printShort(foldersOf(words, io).state, isJson, io);
  const setUp = setUpOf(words, io);
  let store: Store;
  try {
    store = openStore({ folder: setUp.folders.state, access: 'read' });
  } catch (error) {
    if (!(error instanceof StateRefused)) throw error;
    return withoutState(setUp, error.problem, isJson, io);
  }
  try {
    return withState(setUp, store, isJson, io);
  } finally {
    store.close();
  }
}

/** The bin answers the usual form without this program (src/short.ts). */
function printShort(folder: string, isJson: boolean, io: Io): number {
  if (!existsSync(folder)) return 1;
  const store = openStore({ folder, access: 'read' });
  try {
    const found = store.read(documents.short);
    if (found === undefined) return 1;
    const { line, day, tokens, costUsd, unpricedTokens } = found;
    const document = { v: 1, line, day, tokens, cost_usd: costUsd, unpriced_tokens: unpricedTokens };
    io.out(isJson ? `${JSON.stringify(document)}\n` : `${line}\n`);
    return 0;
  } finally {
    store.close();
  }
}

/** The agents that call otel-hooks, the destinations, and the problems of the configuration. */
interface SetUp {
  folders: Folders;
  found: readonly Found[];
  agents: AgentRow[];
  providers: ProviderRow[];
  problems: readonly Problem[];
}

function setUpOf(words: Words, io: Io): SetUp {
  const folders = foldersOf(words, io);
  const { config } = folders;
  const found = standingsNamed(words, folders, io);
  const inUse = destinationsInUse(config, providersNamed(found));
  const unreadable = found.flatMap(each => ('problem' in each ? [each.problem] : []));
  return {
    folders,
    found,
    agents: found.map(rowOf),
    providers: inUse.destinations.map(each => providerRow(each, config)),
    problems: [...config.problems, ...inUse.problems, ...exposuresOf(inUse.destinations, io.env), ...unreadable],
  };
}

function withoutState(setUp: SetUp, refused: StateProblem, isJson: boolean, io: Io): number {
  const { folders, found, agents, providers } = setUp;
  const { state } = folders;
  // No hook has run yet.
  const isNew = refused.code === 'state-missing';
  const problems = [
    ...setUp.problems,
    ...(isNew ? silentIn(setUp, undefined, io) : [refused]),
    ...newerIn(setUp, undefined, io),
  ];
  if (isJson) {
    const quiet = isNew ? { balanced: true, delivering: false } : {};
    io.out(`${JSON.stringify({ v: 1, state, agents, providers, ...emptyBooks, ...quiet, problems }, null, 2)}\n`);
  } else {
    io.out(setText(found, providers));
    io.out(contentNotice(folders, io));
    if (isNew) io.out(newText(state, found.length > 0));
    for (const each of problems) io.err(problemText(each));
  }
  return problems.every(isNote) ? 0 : 1;
}

function withState(setUp: SetUp, store: Store, isJson: boolean, io: Io): number {
  const { folders, found, agents, providers } = setUp;
  const { state, config } = folders;
  const books = readStatusBooks(store);
  const place = { env: io.env, home: io.home, platform: io.platform, cwd: io.cwd };
  const unanswered = config.values['openhook.enabled'] ? unansweredIn(dispatchedIn(store), place) : [];
  const problems = [
    ...problemsNow(store, { folders, now: setUp.problems, io }),
    ...unanswered,
    ...silentIn(setUp, store, io),
    ...newerIn(setUp, store, io),
  ];
  const unbalanced = imbalances(books);
  const delivering = isDelivering(state);
  const last = lastsIn(store, problems);
  if (isJson) {
    const { quarantine, counters } = store.books();
    const facts = { ...books, quarantine, counters, balanced: unbalanced.length === 0, delivering, ...last, problems };
    io.out(`${JSON.stringify({ v: 1, state, agents, providers, ...facts }, null, 2)}\n`);
  } else {
    io.out(`${setText(found, providers)}${contentNotice(folders, io)}\n`);
    io.out(textOf({ books, state, delivering, last, nowMs: io.now(), hasProvider: providers.length > 0 }));
    io.out(quarantineText(store.books()));
    io.out(limitsText(store.books()));
    io.out(damagedText(store.books()));
    io.out(silencedText(store.books()));
    io.out(openHookText(store.books()));
    for (const account of unbalanced) io.err(problemText({ code: 'books-unbalanced', account }));
    for (const problem of merged(problems)) io.err(problemText(problem));
  }
  return problems.every(isNote) && unbalanced.length === 0 ? 0 : 1;
}

const silentIn = ({ found, folders }: SetUp, store: Store | undefined, io: Io): Problem[] =>
  silentHooks(found, store, { places: surroundingsOf(folders, io).places, nowMs: io.now() });

const newerIn = ({ found, folders }: SetUp, store: Store | undefined, io: Io): Problem[] =>
  newerAgents(found, store, surroundingsOf(folders, io));

/** If no agent is set up, the previous step is already shown. */
const newText = (state: string, isSetUp: boolean): string =>
  `\nNothing has been received yet: there is no ${state}.\n${isSetUp ? '  next: start a session of the agent\n' : ''}`;

interface AgentRow {
  agent: string;
  scope: string;
  files: string[];
  /** The version that the tests ran with; absent if no test ran the agent. */
  checked?: string | undefined;
  /** The number of its events for which our hooks are registered; absent if the file cannot be read. */
  events?: number;
  provider?: string | undefined;
  stale?: readonly string[];
  problem?: Problem;
}

function rowOf(found: Found): AgentRow {
  const { agent, scope, files } = found;
  const known = { agent: agent.id, scope, files, checked: own(checkedVersions, agent.id) };
  if ('problem' in found) return { ...known, problem: found.problem };
  const { events, provider, stale } = found.standing;
  return { ...known, events: new Set(events).size, provider, stale };
}

interface ProviderRow {
  provider: Provider;
  endpoint: string;
  signals: string[];
  /** The address and the credentials of a destination, secrets masked. */
  settings: { [K in Key]?: string };
}

const providerRow = ({ provider, endpoint, signals }: Destination, config: LoadedConfig): ProviderRow => ({
  provider,
  endpoint,
  signals: Object.keys(signals),
  settings: Object.fromEntries(
    addressKeys(provider)
      .filter(key => config.values[key] !== undefined)
      .map(key => [key, shownValue(key, writtenValue(config, key))]),
  ),
});

/** The setup: the agents that call otel-hooks, and the destinations. */
function setText(found: readonly Found[], providers: readonly ProviderRow[]): string {
  const rows = found.map(each => {
    const { agent, scope, files } = each;
    const how =
      'problem' in each
        ? 'cannot be read'
        : `${eventsText(new Set(each.standing.events).size)}${staleText(each.standing.stale)}`;
    return [agent.title, scope, how, filesText(files), own(checkedVersions, agent.id) ?? ''];
  });
  const places = providers.map(({ provider, endpoint, settings }) => [
    provider,
    endpoint,
    Object.entries(settings)
      .filter(([, value]) => value !== endpoint)
      .map(([key, value]) => `${key} ${value}`)
      .join(', '),
  ]);
  return `${rows.length === 0 ? 'No agent calls otel-hooks here.\n  next: otel-hooks enable\n' : table([['agent', 'scope', 'hooks', 'file', 'checked with'], ...rows])}${
    places.length === 0 ? '' : `\n${table([['provider', 'endpoint', ''], ...places])}`
  }`;
}

const eventsText = (events: number): string => (events === 1 ? '1 event' : `${events} events`);

const staleText = (stale: readonly string[]): string => (stale.length === 0 ? '' : ' (stale: otel-hooks doctor --fix)');

interface Lasts {
  /** The time of the last accepted request of each destination, by its id. */
  lastDelivery: Readonly<Record<string, string>>;
  lastProblem?: { at: string; problem: Problem };
}

/** `lastProblem` is the newest stored problem that still exists. */
function lastsIn(store: Store, problems: readonly Problem[]): Lasts {
  const times = Object.entries(store.read(documents.ship)?.taken ?? {});
  const present = new Set(problems.map(problem => JSON.stringify(problem)));
  const noted = Object.values(store.read(documents.problems) ?? {}).filter(each =>
    present.has(JSON.stringify(each.problem)),
  );
  const last = noted.sort((a, b) => a.lastMs - b.lastMs).at(-1);
  return {
    lastDelivery: Object.fromEntries(times.map(([id, atMs]) => [id, new Date(atMs).toISOString()])),
    ...(last ? { lastProblem: { at: new Date(last.lastMs).toISOString(), problem: last.problem } } : {}),
  };
}

const emptyBooks: StatusBooks = {
  fragments: { received: 0, waiting: 0, journaled: 0, quarantined: 0, dropped: {} },
  transcripts: { read: 0, journaled: 0, duplicate: 0 },
  destinations: [],
};

interface Shown {
  books: StatusBooks;
  state: string;
  delivering: boolean;
  last: Lasts;
  nowMs: number;
  hasProvider: boolean;
}

function textOf({ books, state, delivering, last, nowMs, hasProvider }: Shown): string {
  const { fragments, transcripts, destinations } = books;
  const { received, journaled, waiting, quarantined, dropped } = fragments;
  const counts = [received, journaled, waiting, quarantined].map(String);
  const lines = [
    table([
      ['state folder', state],
      ['delivery', delivering ? 'at work' : 'not running (a hook starts it)'],
      ...(last.lastProblem
        ? [['last problem', `${last.lastProblem.problem.code}, ${agoOf(last.lastProblem.at, nowMs)}`]]
        : []),
    ]),
    table([
      ['', 'received', 'journaled', 'waiting', 'quarantined', 'dropped'],
      ['hooks', ...counts, reasonsText(dropped)],
    ]),
  ];
  if (transcripts.read > 0)
    lines.push(
      table([
        ['', 'read', 'journaled', 'known already'],
        ['transcripts', ...[transcripts.read, transcripts.journaled, transcripts.duplicate].map(String)],
      ]),
    );
  if (destinations.length === 0 && !hasProvider)
    lines.push('No destination: sessions are kept in the journal only.\n  next: otel-hooks config\n');
  for (const each of destinations) lines.push(destinationText(each, last.lastDelivery[each.id], nowMs));
  return lines.join('\n');
}

function destinationText(
  destination: StatusBooks['destinations'][number],
  at: string | undefined,
  nowMs: number,
): string {
  const kinds = (['spans', 'logs', 'metrics', 'events'] as const).filter(kind => destination[kind].produced > 0);
  const rows = kinds.map(kind => {
    const { produced, accepted, waiting, rejected, dropped } = destination[kind];
    return [kind, String(produced), String(accepted), String(waiting), reasonsText(rejected), reasonsText(dropped)];
  });
  const { name, provider, endpoint } = destination;
  const head = `${name === undefined ? '' : `${name}: `}${provider} ${endpoint}${tookText(at, nowMs)}`;
  return `${head}\n${table([['', 'produced', 'accepted', 'waiting', 'rejected', 'dropped'], ...rows])}`;
}

function reasonsText(counts: Readonly<Record<string, number>>): string {
  const reasons = Object.entries(counts).map(([reason, count]) => `${count} ${reason}`);
  return reasons.length > 0 ? reasons.join(', ') : '0';
}

const tookText = (at: string | undefined, nowMs: number): string =>
  at === undefined ? '' : `, last took something ${agoOf(at, nowMs)}`;

/** Returns a duration in words. */
function agoOf(at: string, nowMs: number): string {
  const seconds = Math.round((nowMs - Date.parse(at)) / 1_000);
  if (seconds < 0) return `at ${at}`;
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h ago` : `${Math.round(seconds / 86_400)} days ago`;
}

/** Data that limits removed, by place and reason. The tables show losses of destinations. */
function limitsText({ counters, fragments, destinations }: Books): string {
  const accounts = Object.values(destinations).flatMap(each => [each.traces, each.logs, each.events]);
  const lost = [fragments, ...accounts].flatMap(({ dropped }) =>
    Object.entries(dropped).flatMap(([reason, count]) => (reason.startsWith('over-') ? [count] : [])),
  );
  const parts = Object.entries(counters).flatMap(([name, count]) => {
    const [, place, reason] = /^dropped\.(journal|quarantine)\.(.+)$/.exec(name) ?? [];
    if (place === undefined) return [];
    return [
      `${place === 'journal' ? countOf(count, 'journal', 'journals') : countOf(count, 'file of the quarantine', 'files of the quarantine')} ${reason}`,
    ];
  });
  const all = lost.reduce((sum, count) => sum + count, 0);
  if (all > 0) parts.unshift(all === 1 ? '1 hook, span or record' : `${all} hooks, spans and records`);
  return parts.length === 0
    ? ''
    : `\ndropped by limits: ${parts.join(', ')}\n  next: keep.* in docs/configuration.md\n`;
}

/** Files that a power cut or a disk changed, since the state folder exists. */
function damagedText({ counters }: Books): string {
  const text = damagedFiles(counters);
  return text === undefined ? '' : `\nfound damaged: ${text}\n  next: docs/reliability.md says what each kind loses\n`;
}

/** The number of sessions whose spans a project's file keeps on the machine, by its setting. */
function silencedText({ counters }: Books): string {
  const parts = Object.entries(counters).flatMap(([name, count]) =>
    name.startsWith('silenced.')
      ? [`${count === 1 ? '1 session' : `${count} sessions`} (${name.slice('silenced.'.length)})`]
      : [],
  );
  return parts.length === 0
    ? ''
    : `\nsilenced by project files: ${parts.join(', ')}\n  next: projects.may_silence in docs/configuration.md\n`;
}

/** The folders of sessions whose events go to commands of their projects. */
const dispatchedIn = (store: Store): string[] =>
  store.idsOf(documents.openhook).flatMap(key => store.read(documents.openhook.of(key))?.cwd ?? []);

/** The results of commands of projects. A command that started without an end still runs, or was killed. */
function openHookText({ counters }: Books): string {
  const parts = Object.entries(counters).flatMap(([name, count]) =>
    name.startsWith('openhook.') ? [`${count} ${name.slice('openhook.'.length).replace('.', ' ')}`] : [],
  );
  return parts.length === 0 ? '' : `\nopenhook: ${parts.join(', ')}\n`;
}

/** The reasons of the quarantine, with a warning that it holds full payloads. */
function quarantineText({ counters, quarantine }: Books): string {
  const reasons = Object.entries(counters).flatMap(([name, count]) =>
    name.startsWith('quarantined.') ? [`${count} ${name.slice('quarantined.'.length)}`] : [],
  );
  if (reasons.length === 0) return '';
  const kept =
    quarantine.files === 0
      ? ''
      : `; ${countOf(quarantine.files, 'file is', 'files are')} still in quarantine, until keep.quarantine_hours are over`;
  return `\nset aside: ${reasons.join(', ')}${kept}\n`;
}
