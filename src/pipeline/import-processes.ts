/**
 * The processes that read transcripts for an import. Each reads one task after the other, and waits when the import has
 * not yet taken the parts that it sent: so few parts are in memory, however long a session is.
 *
 * They are processes and not threads, because V8 takes its flags for a whole process. Its helper threads, which collect
 * garbage and compile, took a quarter of the CPU time of an import, from the threads that they helped.
 */
import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { agentNamed } from '../agents/index.ts';
import { forkSilently } from '../lib/fork.ts';
import { VERSION } from '../lib/version.ts';
import { diskEyes } from '../transcripts/eyes.ts';
import type { FoundTranscript } from './find-transcripts.ts';
import { type Entangled, type Part, PartReader } from './import-part.ts';
import type { ImportWorld } from './import-round.ts';
import type { Selection } from './outgoing.ts';

/** The values that a process gets at its start. */
export interface ProcessData {
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

/** The parts that a process sends before the import takes one. */
const MOST_AHEAD = 3;
/**
 * The young generation stays small, and the garbage of the old one at most as large as its live values, of which a
 * process has 25 MB. The limit of the old generation ends a process that needs more than 96 MB: the import itself reads
 * such a session.
 */
const FLAGS = [
  '--single-threaded',
  '--min-semi-space-size=4',
  '--max-semi-space-size=4',
  '--heap-growing-percent=60',
  '--max-inlined-bytecode-size-cumulative=100',
  '--max-old-space-size=96',
];
/** With more, the import itself is the slowest: committing takes a fifth of the time. Each takes 60 to 80 MB. */
const MOST_PROCESSES = 4;
/** The import asks its processes to exit, and kills those that still run after this time. */
const END_MS = 1_000;
/**
 * With fewer bytes, one process is as fast: each further one has to load and to compile the program, which takes 0.3 s.
 */
const LEAST_BYTES = 24 * 1024 * 1024;
const LEAST_SESSIONS = 4;

/** Returns the number of further processes for these transcripts; 0 if the import reads all of them itself. */
export function processesFor(found: readonly FoundTranscript[]): number {
  const cores = availableParallelism();
  const bytes = found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (cores < 2 || bytes < LEAST_BYTES || found.length < LEAST_SESSIONS) return 0;
  // The import itself writes and sends, and reads while it waits.
  return Math.min(cores - 1, MOST_PROCESSES);
}

/** A process ended: its program is missing or of another version, or its memory was not enough. */
export class ProcessFailed extends Error {}

export class ImportProcesses {
  private readonly processes: ImportProcess[];
  private given = 0;

  constructor(program: string, data: Omit<ProcessData, 'version'>, count: number) {
    this.processes = Array.from({ length: count }, () => new ImportProcess(program, { ...data, version: VERSION }));
  }

  /** Gives a task to the process with the fewest. Its parts must be taken in the order of tasks. */
  give(found: readonly FoundTranscript[], nowMs: number): PartSource {
    const [least, ...others] = this.processes;
    if (least === undefined) throw new ProcessFailed('the import has no process');
    const chosen = others.reduce((a, b) => (b.tasks < a.tasks ? b : a), least);
    const task = this.given;
    this.given += 1;
    chosen.give({ task, nowMs, found: found.map(({ agent, ...each }) => ({ ...each, agent: agent.id })) });
    return chosen;
  }

  /** Ends the processes, and waits for their ends. */
  async close(): Promise<void> {
    await Promise.all(this.processes.map(each => each.close()));
  }
}

/** The parts of a task. */
export interface PartSource {
  /** Returns true if `next` does not wait. */
  isReady(): boolean;
  /** Returns the next part of the task; undefined if it has no more. Throws `ProcessFailed`. */
  next(): Promise<Part | Entangled | undefined>;
}

class ImportProcess implements PartSource {
  /** The tasks that were given and are not taken completely. */
  tasks = 0;
  private readonly child: ChildProcess;
  private readonly answers: Answer[] = [];
  private failure: Error | undefined;
  private wake: (() => void) | undefined;

  constructor(program: string, data: ProcessData) {
    this.child = forkSilently(program, [], { flags: FLAGS, serialization: 'advanced' });
    this.child.on('message', answer => {
      this.answers.push(answer as Answer);
      this.wake?.();
    });
    this.child.on('error', error => this.fail(error));
    this.child.on('exit', (code, signal) => this.fail(new Error(`a process of the import ended: ${signal ?? code}`)));
    this.send(data);
  }

  isReady(): boolean {
    return this.answers.length > 0 || this.failure !== undefined;
  }

  give(order: Order): void {
    this.tasks += 1;
    this.send(order);
  }

  async next(): Promise<Part | Entangled | undefined> {
    while (this.answers.length === 0) {
      if (this.failure !== undefined) throw new ProcessFailed('a process of the import ended', { cause: this.failure });
      await new Promise<void>(resolve => {
        this.wake = resolve;
      });
    }
    const part = this.answers.shift()?.part;
    if (part === undefined) this.tasks -= 1;
    else this.send('taken');
    return part;
  }

  /** The process ends after the part that it reads. It changes nothing on the disk, so it may be killed as well. */
  async close(): Promise<void> {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const late = setTimeout(() => child.kill('SIGKILL'), END_MS);
    const ended = new Promise(resolve => child.once('exit', resolve));
    if (child.connected) child.disconnect();
    await ended;
    clearTimeout(late);
  }

  private send(message: ProcessData | Order | 'taken'): void {
    // If the process has ended, `next` throws.
    this.child.send(message, error => {
      if (error !== null) this.fail(error);
    });
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.wake?.();
  }
}

/** Lets the event loop run. */
export const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** Sends the parts of the tasks that it gets. */
export function readTasks({ world, bytes, selection }: ProcessData, send: (answer: Answer) => void) {
  const reader = partReader(world, bytes, selection);
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
        // The event loop sends the parts, which are larger than the buffer of a socket, and notices the end of the import.
        await turn();
        if (part === undefined) continue;
        send({ task, part });
        ahead += 1;
        while (ahead >= MOST_AHEAD)
          await new Promise<void>(resolve => {
            wake = resolve;
          });
      }
      send({ task, part: undefined });
    }
  };
  return {
    work,
    take(message: unknown): void {
      if (message === 'taken') ahead -= 1;
      else orders.push(message as Order);
      wake?.();
    },
  };
}

export const partReader = (world: ProcessData['world'], bytes: number, selection: Selection): PartReader =>
  new PartReader({ ...world, eyes: diskEyes(), pins: new Map(), nowMs: 0 }, bytes, selection);
