/**
 * Envelopes for the commands of `.openhook.json`, beside rounds and sending, never in a hook's way.
 *
 * The journal is the queue. For each session that is dispatched a document says up to which byte of its journal that was done;
 * it is made in the round that opens the session. What is read on from there becomes envelopes, and the document moves on
 * *before* their commands are started: a kill in between costs these envelopes, and none ever comes twice. What is settled while
 * nobody agreed to the commands is passed over in the same way, and is not made up for later. A delivery that makes room for
 * another gives back what it has not started, in the document.
 *
 * Of one session one batch is under way at a time: commands in the order of its events, each waited for unless it is `async`.
 * Sessions go beside each other, a few at a time. A command that overran its time again and again is left out until the next
 * delivery, so that one that hangs costs its own events and keeps nothing else waiting.
 */
import { awaited } from '../assemble/assemble.ts';
import { loadConfig, type Place } from '../config/files.ts';
import type { Event } from '../event/event.ts';
import { own } from '../lib/read.ts';
import type { Problem } from '../problems/problem.ts';
import { type SessionState, transcriptOf } from '../session/session-state.ts';
import { type Subscription, wants } from '../standards/openhook/subscriptions.ts';
import {
  type Beyond,
  type Envelope,
  type OpenHookState,
  openHookTypes,
  restOfOpenHook,
  toOpenHook,
} from '../standards/openhook/to-openhook.ts';
import { increase, type Ledger } from '../store/ledger.ts';
import type { Round, Store } from '../store/store.ts';
import { type Left, type Mark, openHookDocument, PREFIX } from './mark.ts';
import { type Discovery, discover, isInCi } from './project.ts';
import { type How, type Outcome, type Running, runCommand } from './run.ts';

export interface DispatchWorld {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  platform: NodeJS.Platform;
  recalled(key: string): SessionState | undefined;
  noted(problems: readonly Problem[]): NonNullable<Round['documents']>;
  /** How long a command may take. */
  limits?: { syncMs: number; asyncMs: number } | undefined;
}

export interface Dispatcher {
  /** A round has touched these sessions, and made these documents. */
  look(keys: readonly string[], documents: NonNullable<Round['documents']>): void;
  /** Starts what can be started; never waits. */
  pass(): void;
  isBusy(): boolean;
  /** Starts nothing more and gives back the rest, once what is waited for had so long to end. What runs goes on. */
  handOver(withinMs: number): Promise<void>;
  /** After `handOver`: fulfilled when what runs has ended. Another may deliver meanwhile. */
  finish(): Promise<void>;
  /** Ends what runs, once it had so long to end by itself. */
  stop(withinMs: number): Promise<void>;
}

const LIMITS = { syncMs: 30_000, asyncMs: 600_000 };
/** One mark is for so many commands at most: what a kill may cost. */
const BATCH = 8;
const CHUNK_BYTES = 256 * 1024;
const LONGEST_LINE = 64 * 1024 * 1024;
const MOST_LANES = 16;
const MOST_ASYNC = 16;
/** So often in a row, and it is left out. */
const MOST_TIMEOUTS = 3;
const FAILED_REST_MS = 2_000;
const MOST_FAILURES = 30;
/** What is given back lies in one document. */
const MOST_LEFT = 1_000;
const MOST_TRIES = 5;
/** What happened longer before the session was seen here first is its past, which a transcript tells. */
const PAST_MS = 3_600_000;

type Agreed = Pick<Extract<Discovery, { hash: string }>, 'root' | 'file' | 'hash' | 'hooks'>;

/** Where a session works, and the configuration that it was pinned to. */
type Whose = Pick<Mark, 'cwd' | 'config'>;

interface Job extends Whose {
  root: string;
  file: string;
  hash: string;
  hook: Subscription;
  input: string;
}

export function createDispatcher(store: Store, world: DispatchWorld): Dispatcher {
  const limits = world.limits ?? LIMITS;
  const isCi = isInCi(world.env);
  const place = ({ cwd, config }: Whose): Place => ({
    env: { XDG_CONFIG_HOME: world.env.XDG_CONFIG_HOME, APPDATA: world.env.APPDATA },
    home: world.home,
    platform: world.platform,
    cwd,
    file: config,
  });
  const known = new Set(
    store.documents().flatMap(name => (name.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : [])),
  );
  const due = new Set(known);
  /** Of sessions at work, what they have not started yet. */
  const lanes = new Map<string, Job[]>();
  /** Of sessions that stopped before their end. */
  const unstarted = new Map<string, Job[]>();
  const running = new Set<Running>();
  let asyncs = 0;
  const waiters: (() => void)[] = [];
  const timeouts = new Map<string, number>();
  /** Outcomes that the books do not have yet. */
  let counts: { [name: string]: number } = {};
  const problems: Problem[] = [];
  let isStopping = false;
  let failures = 0;
  let restMs = 0;

  const count = (name: string): void => increase(counts, name);

  /** Documents with the books' news; false: lost, and the news is kept. */
  const commit = (documents: NonNullable<Round['documents']>, started = 0): boolean => {
    const told = Object.entries(counts);
    const committed = store.commit({
      epoch: store.epoch,
      documents: [...documents, ...world.noted(problems)],
      tally(ledger: Ledger) {
        if (started !== 0) increase(ledger.counters, 'openhook.started', started);
        for (const [name, by] of told) increase(ledger.counters, name, by);
      },
    });
    if (committed !== 'committed') return false;
    for (const [name] of told) delete counts[name];
    problems.length = 0;
    return true;
  };

  /** The next commands of a session, and where its document then stands; undefined: there is nothing to do. */
  const claim = (key: string): { jobs: Job[]; document: Mark } | undefined => {
    const document = store.document(openHookDocument(key)) as Mark | undefined;
    if (document?.v !== 1) return undefined;
    const { state, left = [] } = document;
    if (left.length > 0) return { jobs: jobsLeft(document, left), document: { ...document, left: undefined } };
    const session = world.recalled(key);
    const chunk = chunkOf(key, document.at);
    const mayEnd = session === undefined || awaited(session.fold).length === 0;
    if (chunk === undefined && !(mayEnd && state.ended !== undefined)) return undefined;
    const beyond = { cwd: document.cwd, transcript: session && transcriptOf(session) };
    const jobsFor = jobsIn(document);
    const jobs: Job[] = [];
    let rest = chunk?.lines ?? '';
    while (rest !== '' && jobs.length < BATCH) {
      const end = rest.indexOf('\n') + 1;
      const { atMs, envelopes } = envelopesIn(rest.slice(0, end), state, beyond);
      rest = rest.slice(end);
      if (atMs >= document.sinceMs - PAST_MS) jobs.push(...envelopes.flatMap(jobsFor));
    }
    const at = chunk === undefined ? document.at : chunk.endBytes - Buffer.byteLength(rest);
    if (rest === '' && mayEnd && state.ended !== undefined && chunkOf(key, at) === undefined)
      jobs.push(...restOfOpenHook(state, beyond).flatMap(jobsFor));
    return { jobs, document: { ...document, at } };
  };

  /** Whole lines from there on; a line that is longer than a chunk comes alone. */
  const chunkOf = (key: string, at: number): { lines: string; endBytes: number } | undefined => {
    for (const most of [CHUNK_BYTES, LONGEST_LINE]) {
      const chunk = store.journalFrom(key, at, most);
      if (chunk !== undefined && chunk.lines !== '') return chunk;
    }
    return undefined;
  };

  /** What its user agreed to be run for it, as things stand now; else why nothing is. */
  const agreedIn = (whose: Whose): Agreed | { withheld: string | undefined } => {
    const isOn = loadConfig(place(whose)).values['openhook.enabled'] === true;
    const project = isOn ? discover(whose.cwd, place(whose)) : undefined;
    if (project === undefined || !project.found) return { withheld: undefined };
    if (project.why !== undefined) return { withheld: 'invalid' };
    if (project.answer !== 'yes') return { withheld: 'not-agreed' };
    return isCi && !project.ci ? { withheld: 'ci' } : project;
  };

  /** What a session's project is asked once for a batch. */
  const jobsIn = ({ cwd, config }: Whose): ((envelope: Envelope) => Job[]) => {
    const agreed = agreedIn({ cwd, config });
    return envelope => {
      // One that came in is not sent round again.
      if (own(types, envelope.extensions?.['otel-hooks'].native_event ?? '')) return [];
      if ('withheld' in agreed) {
        if (agreed.withheld !== undefined) count(`openhook.withheld.${agreed.withheld}`);
        return [];
      }
      const { root, file, hash, hooks } = agreed;
      const input = `${JSON.stringify(envelope)}\n`;
      return hooks
        .filter(hook => wants(hook, envelope.type))
        .map(hook => ({ cwd, config, root, file, hash, hook, input }));
    };
  };

  /** What another delivery gave back, as far as the yes still holds. */
  const jobsLeft = ({ cwd, config }: Whose, left: readonly Left[]): Job[] => {
    const agreed = agreedIn({ cwd, config });
    return left.flatMap(({ hash, hook: number, input }) => {
      const hook = 'withheld' in agreed ? undefined : agreed.hooks.find(each => each.number === number);
      if ('withheld' in agreed || hook === undefined || agreed.hash !== hash) {
        count(`openhook.withheld.${('withheld' in agreed ? agreed.withheld : undefined) ?? 'not-agreed'}`);
        return [];
      }
      const { root, file } = agreed;
      return [{ cwd, config, root, file, hash, hook, input }];
    });
  };

  const run = async ({ cwd, config, root, file, hash, hook, input }: Job): Promise<void> => {
    // It may have waited for others, and the yes may have been taken back.
    const agreed = agreedIn({ cwd, config });
    if ('withheld' in agreed || agreed.hash !== hash) return count('openhook.revoked');
    const name = `${file}\0${hook.number}\0${hook.command}`;
    if ((timeouts.get(name) ?? 0) >= MOST_TIMEOUTS) return finish({ how: 'stopped' }, 'openhook.left-out');
    const started = runCommand({
      command: hook.command,
      folder: root,
      env: { ...world.env, OTEL_HOOKS_CONFIG: config },
      platform: world.platform,
      input,
      limitMs: hook.isAsync ? limits.asyncMs : limits.syncMs,
    });
    running.add(started);
    const outcome = await started.ended;
    running.delete(started);
    timeouts.set(name, outcome.how === 'timeout' ? (timeouts.get(name) ?? 0) + 1 : 0);
    finish(outcome, `openhook.${outcome.how}`);

    function finish({ how, why }: Outcome, counter: string): void {
      count(counter);
      if (isNews(how)) problems.push({ code: 'openhook-failed', file, hook: hook.number, why: why ?? how });
    }
  };

  const runAll = async (rest: Job[]): Promise<void> => {
    for (let next = rest[0]; next !== undefined; next = rest[0]) {
      while (next.hook.isAsync && asyncs >= MOST_ASYNC && !isStopping)
        await new Promise<void>(resolve => waiters.push(resolve));
      // It may be another's by now.
      const job = isStopping ? undefined : rest.shift();
      if (job === undefined) return;
      if (!job.hook.isAsync) {
        await run(job);
        continue;
      }
      asyncs += 1;
      void run(job).finally(() => {
        asyncs -= 1;
        for (const wake of waiters.splice(0)) wake();
      });
    }
  };

  /** Marks the next commands of sessions as started, and starts them. */
  const start = (): void => {
    const before = { ...counts };
    const claimed: { key: string; jobs: Job[]; document: Mark }[] = [];
    for (const key of [...due]) {
      if (lanes.size + claimed.length >= MOST_LANES) break;
      if (lanes.has(key)) continue;
      const next = claim(key);
      if (next === undefined) due.delete(key);
      else claimed.push({ key, ...next });
    }
    const hasNews = Object.keys(counts).length > 0 && lanes.size === 0;
    if (claimed.length === 0 && !hasNews) return;
    const documents = claimed.map(({ key, document }) => ({ name: openHookDocument(key), value: document }));
    if (!commit(documents, claimed.flatMap(({ jobs }) => jobs).length)) {
      // What was withheld is withheld once more.
      counts = before;
      return;
    }
    for (const { key, jobs } of claimed) {
      if (jobs.length === 0) continue;
      lanes.set(key, jobs);
      void runAll(jobs).finally(() => {
        lanes.delete(key);
        if (jobs.length > 0) unstarted.set(key, jobs);
      });
    }
  };

  /** Fulfilled when nothing more is started and it is quiet, or the time is over. */
  const settle = async (isQuiet: () => boolean, withinMs: number): Promise<void> => {
    isStopping = true;
    for (const wake of waiters.splice(0)) wake();
    const untilMs = performance.now() + withinMs;
    while (!isQuiet() && performance.now() < untilMs) await pause(20);
  };

  /** To the sessions' documents, as they are now. */
  const giveBack = (): void => {
    const given = [...unstarted, ...lanes].flatMap(([key, jobs]) => (jobs.length === 0 ? [] : [{ key, jobs }]));
    const rests = given.map(({ key, jobs }) => ({ key, jobs: jobs.splice(0, MOST_LEFT), over: jobs.splice(0).length }));
    unstarted.clear();
    for (const { over } of rests) for (let n = 0; n < over; n += 1) count('openhook.stopped');
    for (let tries = 0; rests.length > 0 && tries < MOST_TRIES; tries += 1) {
      const documents = rests.flatMap(({ key, jobs }) => {
        const name = openHookDocument(key);
        const document = store.document(name) as Mark | undefined;
        const left = jobs.map(({ hash, hook, input }) => ({ hash, hook: hook.number, input }));
        return document === undefined
          ? []
          : [{ name, value: { ...document, left: [...left, ...(document.left ?? [])] } satisfies Mark }];
      });
      const count = rests.reduce((sum, { jobs }) => sum + jobs.length, 0);
      if (commit(documents, -count)) return;
    }
    for (const { jobs } of rests) for (const _ of jobs) count('openhook.stopped');
  };

  const tryTo = (act: () => void): void => {
    try {
      act();
    } catch {
      // A full disk: what was started stays without an outcome, as after a kill.
    }
  };

  /** How what ran has ended. */
  const noteOutcomes = (): void => {
    for (let tries = 0; Object.keys(counts).length > 0 && tries < MOST_TRIES; tries += 1) if (commit([])) return;
  };

  return {
    look(keys, documents) {
      for (const { name, value } of documents) {
        if (!name.startsWith(PREFIX)) continue;
        if (value === undefined) known.delete(name.slice(PREFIX.length));
        else known.add(name.slice(PREFIX.length));
      }
      for (const key of keys) if (known.has(key)) due.add(key);
    },
    pass() {
      if (isStopping || performance.now() < restMs) return;
      try {
        start();
        failures = 0;
      } catch {
        // A full disk, or something that cannot be borne: nothing was started, and the rest of the delivery goes on.
        failures += 1;
        restMs = performance.now() + FAILED_REST_MS;
        if (failures >= MOST_FAILURES) due.clear();
      }
    },
    isBusy: () => due.size + running.size + lanes.size > 0,
    async handOver(withinMs) {
      await settle(() => lanes.size === 0, withinMs);
      tryTo(giveBack);
    },
    async finish() {
      while (running.size > 0) await Promise.all([...running].map(each => each.ended));
      await settle(() => lanes.size === 0, 0);
      tryTo(noteOutcomes);
    },
    async stop(withinMs) {
      await settle(() => running.size === 0, withinMs);
      tryTo(giveBack);
      for (const each of running) each.stop();
      // One that not even the system can end is not waited for.
      await Promise.race([Promise.all([...running].map(each => each.ended)), pause(1_000)]);
      tryTo(noteOutcomes);
    },
  };
}

const types: Readonly<Record<string, true>> = Object.fromEntries(openHookTypes.map(type => [type, true]));

const isNews = (how: How): boolean => how === 'failed' || how === 'timeout' || how === 'unstarted';

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** A line that is damaged or holds what nobody foresaw costs itself. */
function envelopesIn(line: string, state: OpenHookState, beyond: Beyond): { atMs: number; envelopes: Envelope[] } {
  try {
    const event = JSON.parse(line) as Event;
    return { atMs: Date.parse(event.timestamp), envelopes: toOpenHook(state, event, beyond) };
  } catch {
    return { atMs: 0, envelopes: [] };
  }
}
