/**
 * Imports sessions in rounds, in their order. Where it pays, other threads read the transcripts (import-part.ts), and
 * this thread commits. It reads the sessions itself of which the state folder knows something, and all of them if the
 * threads fail.
 */

import { documents } from '../documents/documents.ts';
import { collectAlone } from '../lib/garbage.ts';
import type { Problem } from '../problems/problem.ts';
import { isErased, noneErased } from '../receive/erased.ts';
import { sessionKey } from '../session/session-state.ts';
import type { DocumentChange } from '../store/document.ts';
import type { Round, Store } from '../store/store.ts';
import type { FoundTranscript } from './find-transcripts.ts';
import { PartsRound } from './import-part.ts';
import { type ImportRound, type ImportWorld, importRound, type SessionSummary } from './import-round.ts';
import { ImportThreads, ThreadFailed, threadsFor } from './import-threads.ts';
import type { Selection } from './outgoing.ts';

/** The bytes between two checks for Ctrl-C. */
export const PART_BYTES = 4 * 1024 * 1024;
/** The bytes of the parts in one round. After a kill, at most these and the parts of the threads are read again. */
const ROUND_BYTES = 8 * 1024 * 1024;
/** A shorter time than a person waits for a sign of progress. */
const ROUND_MS = 500;
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
  /** The program of the threads. Absent: all sessions are read in this thread. */
  program: string | undefined;
  /** The number of threads. Absent: as many as are worth it. */
  threads?: number | undefined;
  isAsked: () => boolean;
  note: (imported: Imported) => void;
}

/** Returns false if it was stopped before the last session. */
export async function importSessions(importing: Importing): Promise<boolean> {
  const { store, found, selection, program } = importing;
  const run = new Run(importing);
  if (found.length === 0) store.commit({ epoch: store.epoch, documents: [...importing.documents] });
  // Metrics are sums over all sessions in their order.
  const count = selection.metrics ? 0 : (importing.threads ?? threadsFor(found));
  for (
    let failures = 0;
    program !== undefined && count > 0 && failures < MOST_FAILURES && run.done < found.length;
    failures += 1
  ) {
    if (!(await run.byThreads(program, count))) return false;
    // A thread failed: its session may need more memory than a thread has.
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

  /** Reads sessions in this thread, in the same tasks as threads. Returns false if it was stopped. */
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
      // The event loop runs, so that Ctrl-C is noticed.
      await new Promise(resolve => setImmediate(resolve));
    }
    return true;
  }

  /** Returns false if it was stopped. If a thread fails, or a round is lost, the rest is left. */
  async byThreads(program: string, count: number): Promise<boolean> {
    const { world, now, selection } = this.importing;
    const { eyes, pins, nowMs, ...shared } = world(now());
    collectAlone();
    const threads = new ImportThreads(program, { world: shared, bytes: PART_BYTES, selection }, count);
    try {
      const isWhole = await this.tasks(threads, 2 * count);
      this.commitPending();
      return isWhole;
    } catch (error) {
      if (!(error instanceof ThreadFailed || error instanceof RoundLost)) throw error;
      this.pending = undefined;
      return true;
    } finally {
      threads.close();
    }
  }

  private async tasks(threads: ImportThreads, most: number): Promise<boolean> {
    const { found, now } = this.importing;
    const tasks = tasksOf(found.slice(this.done), each => this.isNew(each));
    const given: { number: number | undefined; found: readonly FoundTranscript[] }[] = [];
    for (;;) {
      while (given.length < most) {
        const { value: task } = tasks.next();
        if (task === undefined) break;
        given.push({ number: task.isNew ? threads.give(task.found, now()) : undefined, found: task.found });
      }
      const task = given.shift();
      if (task === undefined) return true;
      const isDone =
        task.number === undefined ? await this.inTurn(task.found) : await this.parts(threads, task.number, task.found);
      if (!isDone) return false;
    }
  }

  private async parts(threads: ImportThreads, task: number, found: readonly FoundTranscript[]): Promise<boolean> {
    const { isAsked, store, now } = this.importing;
    /** The sessions before this one were read in this thread. */
    let read = 0;
    for (let part = await threads.next(task); part !== undefined; part = await threads.next(task)) {
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

  /** Returns true if a thread can read the session without the state folder. */
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
