import { existsSync } from 'node:fs';
import type { Destination, Signal } from '../config/destinations.ts';
import { destinationsNamed, namesOf } from '../deliver/destination-names.ts';
import {
  type Counts,
  drop,
  type FormerDestination,
  type Known,
  redirect,
  resendRefused,
  resendSession,
  type Waiting,
  waitingFor,
} from '../deliver/interventions.ts';
import { destinationsIn } from '../deliver/known-destinations.ts';
import { documents } from '../documents/documents.ts';
import { recorded } from '../journal/journal-events.ts';
import { replay } from '../journal/replay.ts';
import { asShown } from '../lib/shown.ts';
import { pinnedNow, worldOver } from '../pipeline/pin-now.ts';
import { recalled } from '../pipeline/rebuild.ts';
import { explain, merged } from '../problems/problem.ts';
import { configuredIn } from '../session/pin.ts';
import { newSession, type SessionState } from '../session/session-state.ts';
import { providersNamed } from '../setup/standing.ts';
import { heirOf, noStanding, shipProblems, signalsOf } from '../ship/standing.ts';
import { openStore, type Store } from '../store/store.ts';
import { named, unnamed } from '../view/named.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { isAgreed, withOwnState } from './own-state.ts';
import { type Folders, foldersOf, surroundingsOf } from './place.ts';
import { standingsNamed } from './setup.ts';
import { countOf, table } from './text.ts';

type Action = (asked: Asked) => Promise<number>;

export async function run(words: Words, io: Io): Promise<number> {
  const [action = 'list', ...rest] = words.rest;
  const folders = foldersOf(words, io);
  const asked: Asked = { words, io, folders, rest, isJson: words.flags['--json'] !== undefined };
  const actions: { readonly [word: string]: Action } = {
    list,
    redirect: askRedirect,
    drop: askDrop,
    resend: askResend,
  };
  const act = Object.hasOwn(actions, action) ? actions[action] : undefined;
  if (act === undefined) throw new UsageError(`takes list, redirect, drop or resend, not ${action}`);
  if (words.flags['--session'] !== undefined && action !== 'resend') throw new UsageError('--session is for resend');
  return await act(asked);
}

interface Asked {
  words: Words;
  io: Io;
  folders: Folders;
  rest: string[];
  isJson: boolean;
}

/** A destination that is configured, that sessions were pinned to, or that has waiting data. */
interface Row {
  name: string;
  destination: Known;
  isConfigured: boolean;
  waiting: Waiting;
}

function rowsIn(store: Store | undefined, { words, io, folders }: Asked): Row[] {
  const configured = configuredHere(words, io, folders);
  const all = new Map<string, Known>();
  for (const [id, { provider, endpoint, name }] of Object.entries(store?.ledger().destinations ?? {}))
    all.set(id, { id, provider: provider as Destination['provider'], endpoint, name });
  for (const id of store?.destinations() ?? [])
    if (!all.has(id)) all.set(id, { id, provider: '' as Destination['provider'], endpoint: '' });
  const remembered = store === undefined ? [] : destinationsIn(store);
  for (const each of [...configured, ...remembered]) all.set(each.id, each);
  const ids = new Set([...configured, ...remembered].map(({ id }) => id));
  const found = [...all.values()].flatMap((destination): Omit<Row, 'name'>[] => {
    const waiting = store === undefined ? nothing : waitingFor(store, destination.id);
    const isNeeded = ids.has(destination.id) || sum(waiting.items) > 0 || waiting.refused.length > 0;
    return isNeeded ? [{ destination, waiting, isConfigured: configured.some(({ id }) => id === destination.id) }] : [];
  });
  const names = namesOf(found.map(({ destination }) => destination));
  return found.map(each => ({ ...each, name: names.get(each.destination.id) ?? each.destination.id }));
}

/** Returns the destinations of a session from this folder, including those that hooks name. */
export function configuredHere(words: Words, io: Io, folders: Folders): Destination[] {
  const asked = [undefined, ...providersNamed(standingsNamed({ ...words, flags: {} }, folders, io))];
  const found = asked.flatMap(provider => configuredIn(folders.config, io.cwd, provider).destinations);
  return [...new Map(found.map(each => [each.id, each])).values()];
}

const nothing: Waiting = {
  items: { traces: 0, logs: 0, events: 0, metrics: 0 },
  bodies: 0,
  sizeBytes: 0,
  sessions: [],
  refused: [],
};

const sum = (counts: Counts): number => Object.values(counts).reduce((all, each) => all + each, 0);

// ---------------------------------------------------------------- list

async function list(asked: Asked): Promise<number> {
  const { io, folders, rest, isJson } = asked;
  if (rest.length > 0) throw new UsageError(`list takes no further word, and not ${rest[0]}`);
  const store = readStore(folders);
  try {
    const rows = rowsIn(store, asked);
    if (isJson) io.out(`${JSON.stringify({ v: 1, destinations: rows.map(row => rowJson(row, store)) }, null, 2)}\n`);
    else io.out(listText(rows, store));
    return 0;
  } finally {
    store?.close();
  }
}

const readStore = ({ state }: Folders): Store | undefined =>
  existsSync(state) ? openStore({ folder: state, access: 'read' }) : undefined;

/** The reason why its data waits, from its last answer. */
function problemsOf({ destination }: Row, store: Store | undefined) {
  if (store === undefined || destination.signals === undefined) return [];
  const all = destinationsIn(store);
  const standing = store.read(documents.ship) ?? noStanding;
  const known = all.find(({ id }) => id === destination.id);
  if (known === undefined) return [];
  const heir = heirOf(known, all, standing);
  return shipProblems(standing, heir === undefined ? [known] : [known, heir]);
}

function rowJson(row: Row, store: Store | undefined): object {
  const { name, destination, isConfigured, waiting } = row;
  const { traces, logs, events, metrics } = waiting.items;
  const takenMs = store?.read(documents.ship)?.taken[destination.id];
  return {
    name,
    id: destination.id,
    provider: destination.provider,
    endpoint: destination.endpoint,
    configured: isConfigured,
    signals: destination.signals === undefined ? [] : Object.keys(destination.signals),
    waiting: { spans: traces, logs, metrics, events, bodies: waiting.bodies, bytes: waiting.sizeBytes },
    refused: waiting.refused.length,
    sessions: waiting.sessions.length,
    ...(takenMs === undefined ? {} : { last_delivery: new Date(takenMs).toISOString() }),
    problems: problemsOf(row, store),
  };
}

function listText(rows: readonly Row[], store: Store | undefined): string {
  if (rows.length === 0) return 'No destination is configured, and nothing waits for one.\n  next: otel-hooks config\n';
  const cells = rows.map(({ name, destination, isConfigured, waiting }) => [
    name,
    destination.endpoint,
    isConfigured ? 'configured' : destination.signals === undefined ? 'forgotten' : 'of sessions',
    sum(waiting.items) === 0 ? 'nothing waits' : itemsText(waiting.items),
    waiting.refused.length === 0 ? '' : `${waiting.refused.length} refused`,
  ]);
  const next = rows.flatMap(row => {
    const { name, waiting } = row;
    const lines = merged(problemsOf(row, store)).map(each => `${name}: ${explain(each).what}`);
    if (waiting.refused.length > 0) lines.push(`next: otel-hooks destinations resend ${name}`);
    if (sum(waiting.items) > 0)
      lines.push(`next: otel-hooks deliver, or otel-hooks destinations redirect ${name} OTHER, or drop ${name}`);
    return lines.map(line => `  ${asShown(line)}\n`);
  });
  return `${table(cells)}${next.length === 0 ? '' : `\n${[...new Set(next)].join('')}`}`;
}

const signalWords: { readonly [S in Signal]: readonly [one: string, many: string] } = {
  traces: ['span', 'spans'],
  logs: ['record', 'records'],
  events: ['event', 'events'],
  metrics: ['state of the metrics', 'states of the metrics'],
};

export function itemsText(items: Counts): string {
  const lines = (Object.keys(signalWords) as Signal[]).flatMap(signal =>
    items[signal] === 0 ? [] : [countOf(items[signal], ...signalWords[signal])],
  );
  return lines.length === 0 ? 'nothing' : lines.join(', ');
}

// ---------------------------------------------------------------- redirect, drop, resend

async function askRedirect(asked: Asked): Promise<number> {
  const { io, rest } = asked;
  const [from, to] = twoWords(rest, 'redirect takes two destinations: redirect A B');
  return await change(asked, async store => {
    const rows = rowsIn(store, asked);
    const [former, target] = [rowNamed(rows, from, io, hasWaiting), rowNamed(rows, to, io, row => row.isConfigured)];
    if (former === undefined || target === undefined) return 1;
    const { destination, name } = target;
    if (former === target) throw new UsageError(`${name} cannot be redirected to itself`);
    if (!isWhole(destination)) {
      io.err(
        `otel-hooks: ${asShown(name)} was forgotten, so nothing can be sent to it.\n  next: otel-hooks destinations\n`,
      );
      return 1;
    }
    const { items } = former.waiting;
    const stays = (Object.keys(items) as Signal[]).filter(
      signal => items[signal] > 0 && destination.signals[signal] === undefined,
    );
    const heir = former.isConfigured ? undefined : destination;
    say(asked, `${itemsText(items)} of ${former.name} will be sent to ${name} (${destination.endpoint}).`);
    if (stays.length > 0)
      say(asked, `${name} takes no ${stays.map(signal => signalWords[signal][1]).join(' and no ')}: these stay.`);
    sayAboutSessions(asked, former, heir);
    if (!(await isAgreed(asked.words, io, 'Redirect?'))) return 0;
    const isForgotten = !former.isConfigured;
    const moved = redirect(store, { from: former.destination, isForgotten, heir }, destination, io.now());
    return done(asked, 'redirected', moved, { from: former.name, to: name });
  });
}

async function askDrop(asked: Asked): Promise<number> {
  const { io, rest } = asked;
  const [word] = oneWord(rest, 'drop takes one destination: drop A');
  return await change(asked, async store => {
    const row = rowNamed(rowsIn(store, asked), word, io, hasWaiting);
    if (row === undefined) return 1;
    const former = formerOf(row, asked);
    const { items } = row.waiting;
    say(asked, `${itemsText(items)} of ${row.name} (${row.destination.endpoint}) will be given up and never sent.`);
    sayAboutSessions(asked, row, former.heir);
    if (!(await isAgreed(asked.words, io, 'Give it up?'))) return 0;
    return done(asked, 'dropped', drop(store, former), { from: row.name });
  });
}

/**
 * Open sessions of a removed destination continue with the destination that the same place of the configuration names
 * now.
 */
function formerOf({ destination, isConfigured }: Row, { words, io, folders }: Asked): FormerDestination {
  const heir = isConfigured
    ? undefined
    : configuredHere(words, io, folders).find(
        ({ provider, source }) => provider === destination.provider && source === destination.source,
      );
  return { from: destination, isForgotten: !isConfigured, heir };
}

async function askResend(asked: Asked): Promise<number> {
  const { io, rest } = asked;
  const [word] = oneWord(rest, 'resend takes one destination: resend A [--session SESSION]');
  const session = flagText(asked.words, '--session');
  return await change(asked, async store => {
    const row = rowNamed(rowsIn(store, asked), word, io, session === undefined ? hasRefused : row => row.isConfigured);
    if (row === undefined) return 1;
    const { destination, name, waiting } = row;
    if (!isWhole(destination)) {
      io.err(
        `otel-hooks: ${asShown(name)} was forgotten, so nothing can be sent to it.\n  next: otel-hooks destinations\n`,
      );
      return 1;
    }
    if (session === undefined) {
      say(asked, `${countOf(waiting.refused.length, 'file', 'files')} that ${name} refused will be sent to it again.`);
      if (!(await isAgreed(asked.words, io, 'Send them again?'))) return 0;
      return done(asked, 'resent', resendRefused(store, destination), { to: name });
    }
    const state = stateToResend(store, session, asked);
    if (state === undefined) return 1;
    say(asked, `All spans and records of the session ${state.session} will be sent to ${name}, with the ids they had.`);
    if (!(await isAgreed(asked.words, io, 'Send it?'))) return 0;
    return done(asked, 'resent', resendSession(store, state, destination, io.now()), { to: name });
  });
}

/** Returns the session with its settings. If its state was removed, it gets the settings of a new session. */
function stateToResend(store: Store, word: string, { words, io, folders }: Asked): SessionState | undefined {
  const found = named(recorded(store), word);
  const [session] = found;
  const missed = unnamed(found, word);
  if (session === undefined || missed !== undefined) {
    io.err(`otel-hooks: ${missed}.\n  next: otel-hooks show\n`);
    return undefined;
  }
  const known = recalled(store, session.key);
  if (known !== undefined) return known;
  const replayed = replay(store.journal(session.key) ?? '');
  if (replayed === undefined) return undefined;
  const world = worldOver(store, { ...surroundingsOf(words, io, folders.config), nowMs: io.now() });
  const { opening, pinned } = pinnedNow(replayed, session.key, world);
  return newSession(opening, pinned);
}

// ---------------------------------------------------------------- common

async function change(asked: Asked, work: (store: Store) => Promise<number>): Promise<number> {
  const { folders, io, rest } = asked;
  if (!existsSync(folders.state)) {
    io.err('otel-hooks: nothing was received yet, so nothing waits.\n  next: otel-hooks status\n');
    return 1;
  }
  const command = ['destinations', asked.words.rest[0], ...rest].join(' ');
  return (await withOwnState(folders, io, command, work)) ?? 1;
}

/**
 * Returns the destination that a word names. `prefer` selects one of several destinations with the same address: after
 * a correction, the former and the present destination have one address.
 */
function rowNamed(rows: readonly Row[], word: string, io: Io, isPreferred: (row: Row) => boolean): Row | undefined {
  const all = destinationsNamed(
    rows.map(({ destination }) => destination),
    word,
  );
  const found = rows.filter(({ destination }) => all.includes(destination));
  const preferred = found.filter(isPreferred);
  const [row, ...others] = preferred.length === 1 ? preferred : found;
  if (row !== undefined && others.length === 0) return row;
  const list = (found.length === 0 ? rows : found).map(({ name }) => name).join(', ');
  io.err(
    found.length === 0
      ? `otel-hooks: there is no destination ${asShown(word)}. Destinations: ${asShown(list) || 'none'}.\n  next: otel-hooks destinations\n`
      : `otel-hooks: ${asShown(word)} names ${found.length} destinations: ${asShown(list)}.\n  next: otel-hooks destinations\n`,
  );
  return undefined;
}

const hasWaiting = ({ waiting }: Row): boolean => sum(waiting.items) > 0;
const hasRefused = ({ waiting }: Row): boolean => waiting.refused.length > 0;

const isWhole = (destination: Known): destination is Destination =>
  destination.signals !== undefined && signalsOf(destination as Destination).length > 0;

function sayAboutSessions(asked: Asked, { waiting, isConfigured, name }: Row, heir: Destination | undefined): void {
  const { length } = waiting.sessions;
  if (isConfigured) say(asked, `${name} is still configured: what sessions send later goes there again.`);
  else if (length > 0)
    say(
      asked,
      `${countOf(length, 'session', 'sessions')} will go on with ${heir?.endpoint ?? 'no destination in its place'}.`,
    );
}

const say = ({ io, isJson }: Asked, line: string): void => {
  if (!isJson) io.out(`${asShown(line)}\n`);
};

function done({ io, isJson }: Asked, what: string, items: Counts, names: { from?: string; to?: string }): number {
  const { traces, logs, events, metrics } = items;
  if (isJson)
    io.out(`${JSON.stringify({ v: 1, ...names, [what]: { spans: traces, logs, metrics, events } }, null, 2)}\n`);
  else {
    io.out(`${itemsText(items)} ${what}.\n`);
    if (names.to !== undefined && sum(items) > 0) io.out('  next: otel-hooks deliver\n');
  }
  return 0;
}

function oneWord(rest: readonly string[], usage: string): [string] {
  const [first, ...more] = rest;
  if (first === undefined || more.length > 0) throw new UsageError(usage);
  return [first];
}

function twoWords(rest: readonly string[], usage: string): [string, string] {
  const [first, second, ...more] = rest;
  if (first === undefined || second === undefined || more.length > 0) throw new UsageError(usage);
  return [first, second];
}
