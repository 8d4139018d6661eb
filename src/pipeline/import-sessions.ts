/**
 * Imports sessions in rounds, in their order. Where it pays, further processes read transcripts (import-part.ts), and
 * this process commits, and reads while it waits. It reads the sessions itself of which the state folder knows
 * something, and all of them if the other processes fail.
 */

import { documents } from '../documents/documents.ts';
import type { Problem } from '../problems/problem.ts';
import { isErased, noneErased } from '../receive/erased.ts';
import { sessionKey } from '../session/session-state.ts';
import type { DocumentChange } from '../store/document.ts';
import type { Round, Store } from '../store/store.ts';
import type { FoundTranscript } from './find-transcripts.ts';
import { type Entangled, type Part, type PartReader, PartsRound } from './import-part.ts';
import { ImportProcesses, type PartSource, ProcessFailed, partReader, processesFor, turn } from './import-processes.ts';
import { type ImportRound, type ImportWorld, importRound, type SessionSummary } from './import-round.ts';
import type { Selection } from './outgoing.ts';

/** The bytes between two checks for Ctrl-C. */
export const PART_BYTES = 4 * 1024 * 1024;
/** The bytes of the parts in one round. After a kill, at most these and the parts of the processes are read again. */
const ROUND_BYTES = 24 * 1024 * 1024;
/** A shorter time than a person waits for a sign of progress. */
const ROUND_MS = 500;
/** The tasks that this process reads before their turn. */
const MOST_READ_AHEAD = 4;
const MOST_FAILURES = 3;

/** The result of sessions that were committed. */
export interface Imported {
  summaries: readonly SessionSummary[];
  counts: ImportRound['counts'];
  problems: readonly Problem[];
  erased: number;
  bytes: number;
  /** The number of sessions that are done. */
  done: number;
}

export interface Importing {
  store: Store;
  found: readonly FoundTranscript[];
  world: (nowMs: number) => ImportWorld;
  now: () => number;
  selection: Selection;
  /** Changes that the first round makes as well. */
  documents: readonly DocumentChange[];
  /** The program of further processes. Absent: all sessions are read in this process. */
  program: string | undefined;
  /** The number of further processes. Absent: as many as are worth it. */
  processes?: number | undefined;
  isAsked: () => boolean;
  note: (imported: Imported) => void;
}

/** Returns false if it was stopped before the last session. */
export async function importSessions(importing: Importing): Promise<boolean> {
  const { store, found, selection, program } = importing;
  const run = new Run(importing);
  if (found.length === 0) store.commit({ epoch: store.epoch, documents: [...importing.documents] });
  // Metrics are sums over all sessions in their order.
  const count = selection.metrics ? 0 : (importing.processes ?? processesFor(found));
  for (
    let failures = 0;
    program !== undefined && count > 0 && failures < MOST_FAILURES && run.done < found.length;
    failures += 1
  ) {
    if (!(await run.byProcesses(program, count))) return false;
    // A process failed: its session may need more memory than a process has.
    if (!(await run.alone(found.slice(run.done, run.done + 1)))) return false;
  }
  return await run.alone(found.slice(run.done));
}

/** The round of another owner took effect instead. */
class RoundLost extends Error {}

class Run {
  /** The number of sessions that are committed. */
  done = 0;
  private readonly importing: Importing;
  private first: readonly DocumentChange[];
  private pending: PartsRound | undefined;
  private pendingSinceMs = 0;

  constructor(importing: Importing) {
    this.importing = importing;
    this.first = importing.documents;
  }

  /** Reads sessions in their turn, in the same tasks as further processes. Returns false if it was stopped. */
  async alone(found: readonly FoundTranscript[]): Promise<boolean> {
    for (const task of tasksOf(found, each => this.isNew(each))) if (!(await this.inRounds(task.found))) return false;
    return true;
  }

  private async inRounds(found: readonly FoundTranscript[]): Promise<boolean> {
    const { store, world, now, selection, note, isAsked } = this.importing;
    let left = found;
    while (left.length > 0) {
      if (isAsked()) return false;
      const imported = importRound(store, left, world(now()), PART_BYTES, selection);
      if (!this.commit(imported.round)) continue;
      this.done += imported.done;
      note(imported);
      left = left.slice(imported.done);
      // So the process notices Ctrl-C.
      await turn();
    }
    return true;
  }

  /** Returns false if it was stopped. If a process fails, or a round is lost, the rest is left. */
  async byProcesses(program: string, count: number): Promise<boolean> {
    const { found, world, now, selection } = this.importing;
    const { eyes, pins, nowMs, ...shared } = world(now());
    const processes = new ImportProcesses(program, { world: shared, bytes: PART_BYTES, selection }, count);
    const ahead = new TasksAhead(
      tasksOf(found.slice(this.done), each => this.isNew(each)),
      processes,
      partReader(shared, PART_BYTES, selection),
      { most: 2 * count + 1, now },
    );
    try {
      const isWhole = await this.tasks(ahead);
      this.commitPending();
      return isWhole;
    } catch (error) {
      if (!(error instanceof ProcessFailed || error instanceof RoundLost)) throw error;
      this.pending = undefined;
      return true;
    } finally {
      await processes.close();
    }
  }

  private async tasks(ahead: TasksAhead): Promise<boolean> {
    for (let task = ahead.next(); task !== undefined; task = ahead.next()) {
      const { found, parts } = task;
      const isDone = parts === undefined ? await this.inTurn(found) : await this.parts(parts, found, ahead);
      if (!isDone) return false;
    }
    return true;
  }

  private async parts(source: PartSource, found: readonly FoundTranscript[], ahead: TasksAhead): Promise<boolean> {
    const { isAsked, store, now } = this.importing;
    const next = async () => {
      while (!source.isReady() && ahead.readOn()) await turn();
      return await source.next();
    };
    /** The sessions before this one were read in their turn. */
    let read = 0;
    for (let part = await next(); part !== undefined; part = await next()) {
      if (isAsked()) return false;
      if (part.from < read) continue;
      if (this.pending === undefined) {
        this.pending = new PartsRound(store, now());
        this.pendingSinceMs = performance.now();
      }
      if ('isEntangled' in part || !this.pending.add(part)) {
        read = part.to + (part.isMore ? 1 : 0);
        if (!(await this.inTurn(found.slice(part.from, read)))) return false;
      } else if (this.pending.bytes >= ROUND_BYTES || performance.now() - this.pendingSinceMs > ROUND_MS)
        this.commitPending();
    }
    return true;
  }

  private async inTurn(found: readonly FoundTranscript[]): Promise<boolean> {
    this.commitPending();
    return await this.alone(found);
  }

  private commitPending(): void {
    const { pending } = this;
    this.pending = undefined;
    if (pending === undefined || pending.parts.length === 0) return;
    if (!this.commit(pending.round())) throw new RoundLost();
    for (const { from, to, summaries, counts, problems, bytes } of pending.parts) {
      this.done += to - from;
      this.importing.note({ summaries, problems, bytes, counts: counts.transcripts, erased: 0, done: to - from });
    }
  }

  private commit(round: Round): boolean {
    const committed = this.importing.store.commit({
      ...round,
      documents: [...(round.documents ?? []), ...this.first],
    });
    if (committed !== 'committed') return false;
    this.first = [];
    return true;
  }

  /** Returns true if a process can read the session without the state folder. */
  private isNew({ agent, session }: FoundTranscript): boolean {
    const { store } = this.importing;
    const key = sessionKey(agent.id, session);
    return (
      store.session(key) === undefined &&
      store.journalSize(key) === undefined &&
      !isErased(store.read(documents.erased) ?? noneErased, key)
    );
  }
}

/** The tasks that are given or read before their turn. */
class TasksAhead {
  private readonly tasks: Generator<Task, undefined>;
  private readonly processes: ImportProcesses;
  private readonly reader: PartReader;
  private readonly limits: { most: number; now: () => number };
  private readonly queue: GivenTask[] = [];
  /** The task that this process reads now. */
  private reading: OwnTask | undefined;

  constructor(
    tasks: Generator<Task, undefined>,
    processes: ImportProcesses,
    reader: PartReader,
    limits: TasksAhead['limits'],
  ) {
    this.tasks = tasks;
    this.processes = processes;
    this.reader = reader;
    this.limits = limits;
  }

  /** Returns the next task, after it has given tasks to the processes. */
  next(): GivenTask | undefined {
    while (this.queue.filter(({ isOwn }) => !isOwn).length < this.limits.most) {
      const { value: task } = this.tasks.next();
      if (task === undefined) break;
      this.give(task);
    }
    return this.queue.shift();
  }

  /**
   * Reads a session of a further task in this process, while another process still reads the present task. Returns false
   * if none is left.
   */
  readOn(): boolean {
    if (this.reading?.isReady() !== false) this.reading = this.nextOwn();
    return this.reading?.step() === true;
  }

  private nextOwn(): OwnTask | undefined {
    if (this.queue.filter(({ isOwn }) => isOwn).length >= MOST_READ_AHEAD) return undefined;
    const { value: task } = this.tasks.next();
    if (task === undefined) return undefined;
    const { isNew, found } = task;
    // A large session has many parts, which would be in memory together.
    if (!isNew || found.some(({ sizeBytes }) => sizeBytes > PART_BYTES)) {
      this.give(task);
      return undefined;
    }
    const own = new OwnTask(this.reader.partsOf(found, this.limits.now()));
    this.queue.push({ found, isOwn: true, parts: own });
    return own;
  }

  private give({ isNew, found }: Task): void {
    const parts = isNew ? this.processes.give(found, this.limits.now()) : undefined;
    this.queue.push({ found, isOwn: false, parts });
  }
}

/** A task that this process reads. */
class OwnTask implements PartSource {
  private readonly steps: ReturnType<PartReader['partsOf']>;
  private readonly parts: (Part | Entangled)[] = [];
  private isDone = false;

  constructor(steps: OwnTask['steps']) {
    this.steps = steps;
  }

  isReady(): boolean {
    return this.isDone;
  }

  async next(): Promise<Part | Entangled | undefined> {
    while (this.step()) await turn();
    return this.parts.shift();
  }

  /** Reads a session. Returns false if none is left. */
  step(): boolean {
    if (this.isDone) return false;
    const { done = false, value } = this.steps.next();
    if (value !== undefined) this.parts.push(value);
    this.isDone = done;
    return true;
  }
}

interface GivenTask {
  found: readonly FoundTranscript[];
  /** True if this process has read it. */
  isOwn: boolean;
  /** Absent: the task is read in its turn. */
  parts: PartSource | undefined;
}

interface Task {
  isNew: boolean;
  found: FoundTranscript[];
}

/** Yields the sessions in their order: tasks of small sessions, and a task for each large one. */
function* tasksOf(
  found: readonly FoundTranscript[],
  isNew: (found: FoundTranscript) => boolean,
): Generator<Task, undefined> {
  let task: Task | undefined;
  let bytes = 0;
  for (const each of found) {
    const isEachNew = isNew(each);
    if (task !== undefined && (task.isNew !== isEachNew || bytes + each.sizeBytes > PART_BYTES)) {
      yield task;
      task = undefined;
    }
    bytes = task === undefined ? each.sizeBytes : bytes + each.sizeBytes;
    task ??= { isNew: isEachNew, found: [] };
    task.found.push(each);
  }
  if (task !== undefined) yield task;
}
