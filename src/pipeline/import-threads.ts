/**
 * The threads of an import. Each reads one task after the other, and waits when the import has not yet taken the parts
 * that it sent: so few parts are in memory, however long a session is.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { agentNamed } from '../agents/index.ts';
import { VERSION } from '../lib/version.ts';
import { diskEyes } from '../transcripts/eyes.ts';
import type { FoundTranscript } from './find-transcripts.ts';
import { type Entangled, type Part, PartReader } from './import-part.ts';
import type { ImportWorld } from './import-round.ts';
import type { Selection } from './outgoing.ts';

/** The values that a thread gets at its start. */
export interface ThreadData {
  version: string;
  world: Omit<ImportWorld, 'eyes' | 'pins' | 'nowMs'>;
  /** The bytes of transcripts in one part. */
  bytes: number;
  selection: Selection;
}

interface Order {
  task: number;
  nowMs: number;
  found: (Omit<FoundTranscript, 'agent'> & { agent: string })[];
}

type Answer = { task: number; part: Part | Entangled | undefined };

/** The parts that a thread sends before the import takes one. */
const MOST_AHEAD = 2;
/**
 * Keeps two threads and the import near 200 MB together. Some 22 MB live in a thread. A session that needs more memory
 * is read by the import itself.
 */
const MEMORY = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 36 };
const MOST_THREADS = 7;
/**
 * With fewer bytes, one thread is as fast: each further one has to load and to compile the program, which takes 0.3 s.
 */
const LEAST_BYTES = 24 * 1024 * 1024;
const LEAST_SESSIONS = 4;

/** Returns the number of threads for these transcripts; 0 if the import reads them itself. */
export function threadsFor(found: readonly FoundTranscript[]): number {
  const cores = availableParallelism();
  const bytes = found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (cores < 2 || bytes < LEAST_BYTES || found.length < LEAST_SESSIONS) return 0;
  // The import itself writes and sends, which is less work than that of one thread.
  return Math.min(Math.max(2, cores - 1), MOST_THREADS);
}

/** A thread ended: its program is missing or of another version, or its memory was not enough. */
export class ThreadFailed extends Error {}

export class ImportThreads {
  private readonly threads: Thread[];
  private readonly owners = new Map<number, Thread>();
  private given = 0;

  constructor(program: string, data: Omit<ThreadData, 'version'>, count: number) {
    this.threads = Array.from({ length: count }, () => new Thread(program, { ...data, version: VERSION }));
  }

  /** Returns the number of the task. Tasks must be taken in this order. */
  give(found: readonly FoundTranscript[], nowMs: number): number {
    const [least, ...others] = this.threads;
    const thread = others.reduce((a, b) => ((b?.tasks ?? 0) < (a?.tasks ?? 0) ? b : a), least);
    const task = this.given;
    this.given += 1;
    if (thread === undefined) return task;
    this.owners.set(task, thread);
    thread.give({ task, nowMs, found: found.map(({ agent, ...each }) => ({ ...each, agent: agent.id })) });
    return task;
  }

  /** Returns the next part of a task; undefined if it has no more. Throws `ThreadFailed`. */
  async next(task: number): Promise<Part | Entangled | undefined> {
    const part = await this.owners.get(task)?.next();
    if (part === undefined) this.owners.delete(task);
    return part;
  }

  close(): void {
    for (const thread of this.threads) thread.close();
  }
}

class Thread {
  /** The tasks that were given and are not taken completely. */
  tasks = 0;
  private readonly worker: Worker;
  private readonly answers: Answer[] = [];
  private failure: Error | undefined;
  private wake: (() => void) | undefined;

  constructor(program: string, data: ThreadData) {
    this.worker = new Worker(program, { workerData: data, resourceLimits: MEMORY });
    this.worker.on('message', (answer: Answer) => {
      this.answers.push(answer);
      this.wake?.();
    });
    const fail = (error: Error): void => {
      this.failure ??= error;
      this.wake?.();
    };
    this.worker.on('error', fail);
    this.worker.on('exit', code => fail(new Error(`a thread of the import ended with ${code}`)));
  }

  give(order: Order): void {
    this.tasks += 1;
    this.worker.postMessage(order);
  }

  async next(): Promise<Part | Entangled | undefined> {
    while (this.answers.length === 0) {
      if (this.failure !== undefined) throw new ThreadFailed('a thread of the import ended', { cause: this.failure });
      await new Promise<void>(resolve => {
        this.wake = resolve;
      });
    }
    const part = this.answers.shift()?.part;
    if (part === undefined) this.tasks -= 1;
    else this.worker.postMessage('taken');
    return part;
  }

  close(): void {
    void this.worker.terminate();
  }
}

/** Sends the parts of the tasks that it gets. */
export function readTasks(data: ThreadData, send: (answer: Answer, owned: ArrayBuffer[]) => void) {
  const { world, bytes, selection } = data;
  const reader = new PartReader({ ...world, eyes: diskEyes(), pins: new Map(), nowMs: 0 }, bytes, selection);
  const orders: Order[] = [];
  let ahead = 0;
  let wake: (() => void) | undefined;
  const work = async (): Promise<never> => {
    for (;;) {
      const order = orders.shift();
      if (order === undefined) {
        await new Promise<void>(resolve => {
          wake = resolve;
        });
        continue;
      }
      const { task, found, nowMs } = order;
      const known = found.flatMap(({ agent: id, ...each }) => {
        const agent = agentNamed(id);
        return agent === undefined ? [] : [{ ...each, agent }];
      });
      for (const part of reader.partsOf(known, nowMs)) {
        send({ task, part }, 'sessions' in part ? buffersOf(part) : []);
        ahead += 1;
        while (ahead >= MOST_AHEAD)
          await new Promise<void>(resolve => {
            wake = resolve;
          });
      }
      send({ task, part: undefined }, []);
    }
  };
  return {
    work,
    take(message: Order | 'taken'): void {
      if (message === 'taken') ahead -= 1;
      else orders.push(message);
      wake?.();
    },
  };
}

/** The buffers that move to the other thread without a copy. Small ones share the memory of a pool. */
function buffersOf({ lines, bodies }: Part): ArrayBuffer[] {
  const all = [lines, ...bodies.map(({ bytes }) => bytes)];
  const whole = all.filter(({ buffer, byteLength }) => byteLength > 0 && buffer.byteLength === byteLength);
  return [...new Set(whole.map(({ buffer }) => buffer as ArrayBuffer))];
}
