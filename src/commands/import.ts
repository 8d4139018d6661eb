import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isAbsent } from '../agents/contract/contract.ts';
import { agents } from '../agents/index.ts';
import { destinationsOf, keepsFromDestinations } from '../config/destinations.ts';
import type { LoadedConfig } from '../config/files.ts';
import { deliver } from '../deliver/deliver.ts';
import { keepOf } from '../deliver/state-limits.ts';
import { waitingIn } from '../deliver/status-books.ts';
import { installationOf } from '../documents/installation.ts';
import { noted } from '../documents/problem-notes.ts';
import { compileBriefly } from '../lib/compile.ts';
import { durationMs } from '../lib/duration.ts';
import { collectAlone, keepYoungSmall } from '../lib/garbage.ts';
import { LINE_CLEARED, LINE_START } from '../lib/terminal.ts';
import { VERSION } from '../lib/version.ts';
import {
  type FoundTranscript as Found,
  findSessions,
  type Part,
  type PassedOver,
} from '../pipeline/find-transcripts.ts';
import { emptyStore, type ImportWorld, importRound, plus } from '../pipeline/import-round.ts';
import { type Imported, importSessions } from '../pipeline/import-sessions.ts';
import { unreadProblems } from '../pipeline/round-problems.ts';
import type { Problem } from '../problems/problem.ts';
import { configuredIn } from '../session/pin.ts';
import { takeLock } from '../store/lock.ts';
import { openStore, type Store } from '../store/store.ts';
import { diskEyes, type Eyes } from '../transcripts/eyes.ts';
import { agentOf } from './agent-word.ts';
import { flagText, type Io, interruptible, sinceOf, UsageError, type Words } from './command.ts';
import { distFolder, foldersOf, surroundingsOf } from './place.ts';
import { countOf, problemText, table } from './text.ts';

/** Back ends refuse older log records (Loki takes a week). */
const LOGS_MS = 7 * 24 * 3_600_000;
/** Not infinity, because the bytes that a round has read are computed as limit minus rest. */
const NO_LIMIT_BYTES = Number.MAX_SAFE_INTEGER;

/** The result of one session. */
interface Line {
  agent: string;
  session: string;
  path: string;
  events: number;
  spans: number;
  responses: number;
  input_tokens: number | undefined;
  output_tokens: number | undefined;
  cache_read_tokens: number | undefined;
  cache_write_tokens: number | undefined;
}

export async function run(words: Words, io: Io): Promise<number> {
  compileBriefly();
  collectAlone();
  keepYoungSmall();
  const order = orderOf(words, io);
  const { isJson, isDry, found, unread, more } = order;
  if (!isJson)
    io.out(partsText(more.parts) + announcement(found, isDry, order.which.metrics) + passedText(more.passed_over));
  if (found.length === 0 && (isDry || unread.length === 0)) {
    if (isJson) io.out(`${JSON.stringify({ v: 1, ...more, sessions: [], interrupted: false }, null, 2)}\n`);
    for (const problem of unread) io.err(problemText(problem));
    return order.isLess ? 1 : 0;
  }
  if (isDry) return showDryRun(order);
  return await importInto(order, progressOf(io, isJson, found));
}

/** The sessions that were found, and how they are imported. */
interface Order {
  io: Io;
  isJson: boolean;
  isDry: boolean;
  waitMs: number;
  state: string;
  config: LoadedConfig;
  surroundings: ReturnType<typeof surroundingsOf>;
  eyes: Eyes;
  pins: ImportWorld['pins'];
  found: readonly Found[];
  /** The problems of files that could not be read, for `status`. */
  unread: readonly Problem[];
  which: { metrics: boolean; logsSinceMs: number };
  /** True if a given path could not be imported. */
  isLess: boolean;
  /** More members of the output of `--json`. */
  more: { dry_run: boolean; passed_over: readonly PassedOver[]; parts: readonly Part[] };
}

function orderOf(words: Words, io: Io): Order {
  const isDry = words.flags['--dry-run'] !== undefined;
  const waitMs = waitOf(words);
  const eyes = diskEyes();
  const { found, without, parts, passed } = findSessions({ ...whichOf(words, io), eyes, places: placesOf(io) });
  const { state, config } = foldersOf(words, io);
  for (const path of without)
    io.err(`otel-hooks: ${path} holds no transcript of a session that an agent here knows; it was left out.\n`);
  return {
    io,
    isJson: words.flags['--json'] !== undefined,
    isDry,
    waitMs,
    state,
    config,
    surroundings: surroundingsOf(words, io, config),
    eyes,
    pins: new Map(),
    found,
    unread: unreadProblems(eyes),
    which: { metrics: words.flags['--metrics'] !== undefined, logsSinceMs: io.now() - LOGS_MS },
    isLess: without.length > 0 || (words.rest.length > 0 && passed.length > 0),
    more: { dry_run: isDry, passed_over: passed, parts },
  };
}

function showDryRun(order: Order): number {
  const { io, isJson, unread, isLess, more } = order;
  const progress = progressOf(io, isJson, order.found);
  const done = dryRun(order, progress);
  progress.end();
  io.out(isJson ? jsonOf(done, more) : linesOf(done));
  for (const problem of unread) io.err(problemText(problem));
  return isLess ? 1 : 0;
}

/** Imports all transcripts, for a caller that shows the progress itself. Errors are written to `err`. */
export function importOfAll(words: Words, io: Io) {
  const order = orderOf({ flags: { ...words.flags, '--all': true, '--json': true }, rest: [] }, io);
  return {
    transcripts: order.found.length,
    bytes: order.found.reduce((sum, each) => sum + each.sizeBytes, 0),
    start: (progress: Progress): Promise<number> => importInto(order, progress),
  };
}

async function importInto(order: Order, progress: Progress): Promise<number> {
  const { io, config } = order;
  const mistakes = mistakesIn(config);
  if (mistakes.length === 0) return await importAndDeliver(order, progress);
  // Each event is imported only once, so an import without a destination would never send them.
  for (const problem of mistakes) io.err(problemText(problem));
  io.err('otel-hooks: no destination could be read off the configuration; nothing was imported.\n');
  return 1;
}

async function importAndDeliver(order: Order, progress: Progress): Promise<number> {
  const { io, isJson, state, config, surroundings, unread, more } = order;
  const delivery = {
    stateFolder: state,
    byHand: true,
    surroundings,
    fsync: config.values.fsync,
    keep: keepOf(config.values),
    configured: configuredIn(config, io.cwd).destinations,
    print: isJson ? undefined : io.out,
    now: io.now,
  };
  // Events of hooks come first. The transcripts then add only events that no hook reported.
  await deliver({ ...delivery, waitMs: 1_000 });
  const done = await importAlone(order, progress);
  if (done === undefined) {
    io.err(
      'otel-hooks: another delivery is at work and did not hand over in time; nothing was done.\n  next: otel-hooks status\n',
    );
    return 1;
  }
  const delivered = await deliver({ ...delivery, waitMs: done.isInterrupted ? 1_000 : order.waitMs });
  const waiting = delivered.books === undefined ? 0 : waitingIn(delivered.books);
  if (isJson) io.out(jsonOf(done, { ...more, sent: delivered.sent, waiting }));
  else
    io.out(
      linesOf(done) +
        table([
          ['items sent', String(delivered.sent)],
          ['waiting', String(waiting)],
        ]),
    );
  // Several sessions may have the same problem.
  const texts = new Set([...unread, ...done.problems, ...delivered.problems].map(problemText));
  for (const text of texts) io.err(text);
  if (done.isInterrupted)
    io.err('otel-hooks: stopped; the sessions read so far are kept.\n  next: run the same command again to continue\n');
  return done.isInterrupted || waiting > 0 || order.isLess ? 1 : 0;
}

/** Imports under the lock. Returns undefined if another process has the lock. */
async function importAlone(order: Order, progress: Progress): Promise<Done | undefined> {
  const { state, config } = order;
  const lock = await takeLock({ folder: state, version: VERSION, byHand: true, waitMs: 10_000 });
  if (lock === undefined) return undefined;
  const store = openStore({ folder: state, access: 'own', fsync: config.values.fsync ?? false });
  const stop = interruptible();
  try {
    return await committed(order, store, progress, () => stop.isAsked() || lock.wanted() || !lock.touch());
  } finally {
    stop.end();
    store.close();
    lock.release();
    progress.end();
  }
}

/** Returns the errors in the configuration that leave the import without a destination. */
export function mistakesIn(config: LoadedConfig): Problem[] {
  const { destinations, problems } = destinationsOf(config);
  if (destinations.length > 0 || config.values.enabled === false) return [];
  return [...config.problems, ...problems].filter(keepsFromDestinations);
}

export interface Progress {
  add(bytes: number, sessions: number): void;
  end(): void;
}

interface Done {
  /** By the keys of the sessions. */
  lines: Map<string, Line>;
  read: number;
  duplicate: number;
  /** Sessions that were left out because a person erased them. */
  erased: number;
  problems: Problem[];
  isInterrupted: boolean;
}

/** Imports in rounds, until `isAsked`. */
async function committed(order: Order, store: Store, progress: Progress, isAsked: () => boolean): Promise<Done> {
  const done = nothing();
  const { installation, changes } = installationOf(store);
  const { found, unread, io, which } = order;
  const isWhole = await importSessions({
    ...{ store, found, isAsked, now: io.now, selection: which },
    world: nowMs => ({ ...worldOf(order, installation), nowMs }),
    documents: [...changes, ...noted(store, unread, io.now())],
    program: `${distFolder()}/import-process.js`,
    note(imported) {
      note(done, imported);
      progress.add(imported.bytes, imported.done);
    },
  });
  return { ...done, isInterrupted: !isWhole };
}

/** Computes the same rounds over the same state, and commits none. */
function dryRun(order: Order, progress: Progress): Done {
  const done = nothing();
  const store = existsSync(order.state) ? openStore({ folder: order.state, access: 'read' }) : undefined;
  const from = store ?? emptyStore;
  try {
    const { installation } = installationOf(from);
    for (const each of order.found) {
      const imported = importRound(from, [each], worldOf(order, installation), NO_LIMIT_BYTES, order.which);
      note(done, imported);
      progress.add(imported.bytes, 1);
    }
  } finally {
    store?.close();
  }
  return done;
}

const nothing = (): Done => ({
  lines: new Map(),
  read: 0,
  duplicate: 0,
  erased: 0,
  problems: [],
  isInterrupted: false,
});

const worldOf = ({ io, surroundings, eyes, pins }: Order, { id, key }: { id: string; key: string }): ImportWorld => ({
  ...surroundings,
  installation: id,
  hashKey: key,
  nowMs: io.now(),
  eyes,
  pins,
});

/** Adds a round to the result. A long session takes several rounds. */
function note(done: Done, { summaries, counts, erased, problems }: Imported): void {
  done.read += counts.read;
  done.duplicate += counts.duplicate;
  done.erased += erased;
  done.problems.push(...problems);
  for (const { key, agent, session, path, ...more } of summaries) {
    const line = done.lines.get(key);
    done.lines.set(key, {
      agent,
      session,
      path: line?.path ?? path,
      events: (line?.events ?? 0) + more.events,
      spans: (line?.spans ?? 0) + more.spans,
      responses: (line?.responses ?? 0) + more.responses,
      input_tokens: plus(line?.input_tokens, more.input),
      output_tokens: plus(line?.output_tokens, more.output),
      cache_read_tokens: plus(line?.cache_read_tokens, more.cacheRead),
      cache_write_tokens: plus(line?.cache_write_tokens, more.cacheWrite),
    });
  }
}

const jsonOf = ({ lines, read, duplicate, erased, isInterrupted }: Done, more: object): string =>
  `${JSON.stringify({ v: 1, ...more, sessions: [...lines.values()], read, duplicate, erased, interrupted: isInterrupted }, null, 2)}\n`;

function linesOf({ lines, read, duplicate, erased }: Done): string {
  const fresh = [...lines.values()].filter(line => line.events > 0);
  const rows = fresh.map(line => [
    line.agent,
    line.session.slice(0, 12),
    `${line.events} events`,
    `${line.spans} spans`,
    `${line.responses} responses`,
    line.input_tokens === undefined ? 'tokens unknown' : `${line.input_tokens} in, ${line.output_tokens ?? 0} out`,
  ]);
  return `${table(rows)}${fresh.length} of ${lines.size} sessions had something new; ${read} events read, ${duplicate} of them known already.\n${erased === 0 ? '' : `${countOf(erased, 'session was', 'sessions were')} erased and not imported again.\n`}`;
}

// ---------------------------------------------------------------- words

function whichOf(words: Words, io: Io) {
  const named = flagText(words, '--tool');
  const one = named === undefined ? undefined : agentOf(named);
  if (one && isAbsent(one.transcript)) throw new UsageError(`${one.title} keeps none: ${one.transcript.absent}`);
  const isAll = words.flags['--all'] !== undefined;
  if (!isAll && words.rest.length === 0) throw new UsageError('name files or folders, or use --all');
  if (isAll && words.rest.length > 0) throw new UsageError('--all looks everywhere; with it no paths are named');
  return {
    agents: one ? [one] : agents,
    paths: words.rest.map(path => resolve(io.cwd, path)),
    sinceMs: sinceOf(flagText(words, '--since'), io.now()),
  };
}

function waitOf(words: Words): number {
  const wait = flagText(words, '--wait') ?? '30s';
  const waitMs = durationMs(wait);
  if (waitMs === undefined) throw new UsageError(`--wait takes a time such as 10s or 500ms, not ${wait}`);
  return waitMs;
}

const placesOf = ({ home, cwd, env }: Io) => ({ home, project: cwd, env });

function announcement(found: readonly Found[], isDry: boolean, metrics: boolean): string {
  if (found.length === 0) return 'No transcripts were found.\n';
  const bytes = found.reduce((sum, each) => sum + each.sizeBytes, 0);
  const counters = metrics
    ? 'Counters and histograms take them in as of today: they will jump.'
    : 'Counters and histograms stay as they are (--metrics counts them as of today).';
  const [first] = found;
  const [last] = found.slice(-1);
  const day = (atMs: number | undefined): string => new Date(atMs ?? 0).toISOString().slice(0, 10);
  return [
    `${found.length} sessions, ${sizeText(bytes)}, ${day(first?.atMs)} to ${day(last?.atMs)}.`,
    'Traces leave with their true times; log records only where they are no older than a week, since back ends take no older ones.',
    counters,
    isDry ? 'A dry run: nothing is kept, nothing leaves.\n' : '',
  ].join('\n');
}

const partsText = (parts: readonly Part[]): string =>
  parts
    .map(({ path, session, main }) => `${path} belongs to session ${session}: all of it is read, from ${main}.\n`)
    .join('');

const passedText = (passed: readonly PassedOver[]): string =>
  passed
    .map(
      ({ agent, why, files, path }) =>
        `Passed over: ${files === 1 ? path : `${files} files such as ${path}`} (${agent === undefined ? '' : `${agent}: `}${why}).\n`,
    )
    .join('');

const sizeText = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;

// ---------------------------------------------------------------- the bar, and Ctrl-C

function progressOf(io: Io, json: boolean, found: readonly Found[]): Progress {
  const total = found.reduce((sum, each) => sum + each.sizeBytes, 0);
  const startMs = performance.now();
  let bytes = 0;
  let sessions = 0;
  const isShown = io.isTerminal && !json;
  return {
    add(more, done) {
      bytes += more;
      sessions += done;
      if (!isShown) return;
      const share = total === 0 ? 1 : Math.min(1, bytes / total);
      const seconds = (performance.now() - startMs) / 1000;
      const rate = bytes / Math.max(seconds, 0.001);
      const left = Math.max(0, total - bytes) / Math.max(rate, 1);
      const width = Math.max(10, Math.min(30, io.columns - 60));
      const full = Math.round(share * width);
      const bar = (io.unicode ? '█' : '#').repeat(full) + (io.unicode ? '░' : '.').repeat(width - full);
      io.err(
        `${LINE_START}${bar} ${Math.round(share * 100)} %  ${sessions}/${found.length} sessions  ${sizeText(rate)}/s  ${Math.ceil(left)} s left   `,
      );
    },
    end() {
      if (isShown) io.err(LINE_CLEARED);
    },
  };
}
