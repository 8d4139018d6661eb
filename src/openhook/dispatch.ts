/**
 * Dispatches envelopes to the commands of `.openhook.json`. Dispatch runs beside rounds and sending, and no hook waits
 * for it.
 *
 * The journal is the queue. Each dispatched session has a document that records how many bytes of its journal are done;
 * the round that opens the session creates it. The dispatcher reads on from there, makes envelopes, and commits the
 * document *before* it starts their commands. A kill in between loses these envelopes, and no envelope is dispatched
 * twice. Events that are journaled while the user has not agreed to the commands are skipped, also after the user
 * agrees. A delivery that hands over to another one writes its jobs that did not start back into the documents.
 *
 * A session has one batch at a time: its commands run in the order of its events, and each is awaited unless it is
 * `async`. A few sessions run in parallel. A command that times out repeatedly is skipped until the next delivery, so
 * that it delays no other command.
 */
import { documents as stored } from '../documents/documents.ts';
import type { Problem } from '../problems/problem.ts';
import type { SessionState } from '../session/session-state.ts';
import { changeOf, type DocumentChange } from '../store/document.ts';
import type { Round, Store } from '../store/store.ts';
import { CommandBooks } from './command-books.ts';
import { type CommandLimits, CommandRunner } from './command-runner.ts';
import type { Job } from './jobs.ts';
import { type BatchWorld, nextBatch, type SessionBatch } from './next-batch.ts';

export interface DispatchWorld {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  platform: NodeJS.Platform;
  recalled(key: string): SessionState | undefined;
  noted(problems: readonly Problem[]): NonNullable<Round['documents']>;
  limits?: CommandLimits | undefined;
}

export interface Dispatcher {
  /** A round changed these sessions and wrote these documents. */
  look(keys: readonly string[], documents: NonNullable<Round['documents']>): void;
  /** Starts the jobs that can start now; never waits. */
  pass(): void;
  isBusy(): boolean;
  /**
   * Starts no more jobs, waits at most this long for awaited commands, and returns the other jobs to their sessions.
   * Commands continue.
   */
  handOver(withinMs: number): Promise<void>;
  /** After `handOver`: resolves when all commands have ended. Another process may deliver meanwhile. */
  finish(): Promise<void>;
  /** Waits at most this long for commands, then ends those that still run. */
  stop(withinMs: number): Promise<void>;
}

const LIMITS: CommandLimits = { syncMs: 30_000, asyncMs: 600_000 };
const MOST_LANES = 16;
const FAILED_REST_MS = 2_000;
const MOST_FAILURES = 30;
/** The jobs that are returned to a session are stored in one document. */
const MOST_LEFT = 1_000;
const MOST_TRIES = 5;

export const createDispatcher = (store: Store, world: DispatchWorld): Dispatcher => new JournalDispatcher(store, world);

class JournalDispatcher implements Dispatcher {
  readonly #store: Store;
  readonly #world: BatchWorld;
  readonly #books: CommandBooks;
  readonly #runner: CommandRunner;
  /** Sessions that have a document. */
  readonly #known: Set<string>;
  /** Sessions whose journal may have new events. */
  readonly #due: Set<string>;
  /** The jobs of running batches that did not start yet, by session. */
  readonly #lanes = new Map<string, Job[]>();
  /** The jobs of batches that `stopStarting` cut short, by session. */
  readonly #unstarted = new Map<string, Job[]>();
  #failures = 0;
  #restUntilMs = 0;

  constructor(store: Store, { env, home, platform, recalled, noted, limits = LIMITS }: DispatchWorld) {
    this.#store = store;
    this.#books = new CommandBooks(store, noted);
    this.#world = { env, home, platform, recalled, count: name => this.#books.count(name) };
    this.#runner = new CommandRunner(this.#world, this.#books, limits);
    this.#known = new Set(store.idsOf(stored.openhook));
    this.#due = new Set(this.#known);
  }

  look(keys: readonly string[], documents: NonNullable<Round['documents']>): void {
    for (const { name, value } of documents) {
      const key = stored.openhook.idOf(name);
      if (key === undefined) continue;
      if (value === undefined) this.#known.delete(key);
      else this.#known.add(key);
    }
    for (const key of keys) if (this.#known.has(key)) this.#due.add(key);
  }

  pass(): void {
    if (this.#runner.isStopping || performance.now() < this.#restUntilMs) return;
    try {
      this.#start();
      this.#failures = 0;
    } catch {
      // For example a full disk. No command was started, and the rest of the delivery continues.
      this.#failures += 1;
      this.#restUntilMs = performance.now() + FAILED_REST_MS;
      if (this.#failures >= MOST_FAILURES) this.#due.clear();
    }
  }

  isBusy(): boolean {
    return this.#due.size + this.#runner.running + this.#lanes.size > 0;
  }

  async handOver(withinMs: number): Promise<void> {
    await this.#settle(() => this.#lanes.size === 0, withinMs);
    this.#bestEffort(() => this.#giveBack());
  }

  async finish(): Promise<void> {
    while (this.#runner.running > 0) await this.#runner.allEnded();
    await this.#settle(() => this.#lanes.size === 0, 0);
    this.#bestEffort(() => this.#commitOutcomes());
  }

  async stop(withinMs: number): Promise<void> {
    await this.#settle(() => this.#runner.running === 0, withinMs);
    this.#bestEffort(() => this.#giveBack());
    this.#runner.stopAll();
    // The time limit is for a process that the system cannot end.
    await within(1_000, this.#runner.allEnded());
    this.#bestEffort(() => this.#commitOutcomes());
  }

  /** Commits the next batches of sessions as started, then starts them. */
  #start(): void {
    const before = this.#books.counters();
    const claimed = this.#claim();
    const hasNews = this.#books.hasCounters() && this.#lanes.size === 0;
    if (claimed.length === 0 && !hasNews) return;
    const documents = claimed.map(({ key, document }) => changeOf(stored.openhook.of(key), document));
    if (!this.#books.commit(documents, claimed.flatMap(({ jobs }) => jobs).length)) {
      // The next attempt reads the same events and increments their counters again.
      this.#books.restore(before);
      return;
    }
    for (const { key, jobs } of claimed) {
      if (jobs.length === 0) continue;
      this.#lanes.set(key, jobs);
      void this.#runner.runAll(jobs).finally(() => {
        this.#lanes.delete(key);
        if (jobs.length > 0) this.#unstarted.set(key, jobs);
      });
    }
  }

  #claim(): (SessionBatch & { key: string })[] {
    const claimed: (SessionBatch & { key: string })[] = [];
    for (const key of [...this.#due]) {
      if (this.#lanes.size + claimed.length >= MOST_LANES) break;
      if (this.#lanes.has(key)) continue;
      const next = nextBatch(this.#store, key, this.#world);
      if (next === undefined) this.#due.delete(key);
      else claimed.push({ key, ...next });
    }
    return claimed;
  }

  /** Resolves when no job starts any more and `isQuiet`, or when the time is over. */
  async #settle(isQuiet: () => boolean, withinMs: number): Promise<void> {
    this.#runner.stopStarting();
    const untilMs = performance.now() + withinMs;
    while (!isQuiet() && performance.now() < untilMs) await pause(20);
  }

  /** Writes the jobs that did not start into the sessions' documents. */
  #giveBack(): void {
    const given = [...this.#unstarted, ...this.#lanes].flatMap(([key, jobs]) =>
      jobs.length === 0 ? [] : [{ key, jobs }],
    );
    const rests = given.map(({ key, jobs }) => ({ key, jobs: jobs.splice(0, MOST_LEFT), over: jobs.splice(0).length }));
    this.#unstarted.clear();
    for (const { over } of rests) for (let n = 0; n < over; n += 1) this.#books.count('openhook.stopped');
    for (let tries = 0; rests.length > 0 && tries < MOST_TRIES; tries += 1) {
      const documents = rests.flatMap(({ key, jobs }) => this.#documentWith(key, jobs));
      const jobs = rests.reduce((sum, rest) => sum + rest.jobs.length, 0);
      if (this.#books.commit(documents, -jobs)) return;
    }
    for (const { jobs } of rests) for (const _ of jobs) this.#books.count('openhook.stopped');
  }

  /** Returns the session's document with these jobs in front of those that it already holds. */
  #documentWith(key: string, jobs: readonly Job[]): DocumentChange[] {
    const mark = stored.openhook.of(key);
    const document = this.#store.read(mark);
    if (document === undefined) return [];
    const left = jobs.map(({ hash, hook, input }) => ({ hash, hook: hook.number, input }));
    return [changeOf(mark, { ...document, left: [...left, ...(document.left ?? [])] })];
  }

  #commitOutcomes(): void {
    for (let tries = 0; this.#books.hasCounters() && tries < MOST_TRIES; tries += 1) if (this.#books.commit([])) return;
  }

  /** On a full disk, commands that were started stay without an outcome, as after a kill. */
  #bestEffort(act: () => void): void {
    try {
      act();
    } catch {
      // The outcome is not stored, so the next delivery counts the command as killed. This is the only effect.
    }
  }
}

/** The timer ends with the wait, because it would keep the process alive. */
async function within(ms: number, ended: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([ended, late]);
  clearTimeout(timer);
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
