/** Runs the jobs of sessions: in order, each awaited unless it is `async`, until `stopStarting`. */
import type { CommandBooks } from './command-books.ts';
import { agreedIn, type Job, type JobWorld } from './jobs.ts';
import { type How, type Outcome, type Running, runCommand } from './run.ts';

export interface CommandLimits {
  syncMs: number;
  asyncMs: number;
}

const MOST_ASYNC = 16;
/** After this many timeouts in a row, a command is skipped until the next delivery. */
const MOST_TIMEOUTS = 3;

export class CommandRunner {
  readonly #world: JobWorld;
  readonly #books: CommandBooks;
  readonly #limits: CommandLimits;
  readonly #running = new Set<Running>();
  readonly #waiters: (() => void)[] = [];
  readonly #timeouts = new Map<string, number>();
  #asyncs = 0;
  #isStopping = false;

  constructor(world: JobWorld, books: CommandBooks, limits: CommandLimits) {
    this.#world = world;
    this.#books = books;
    this.#limits = limits;
  }

  get running(): number {
    return this.#running.size;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Starts no more jobs. Commands that run continue. */
  stopStarting(): void {
    this.#isStopping = true;
    this.#wake();
  }

  /** Removes each job from `jobs` when it starts, so that the caller can return the others. */
  async runAll(jobs: Job[]): Promise<void> {
    for (let next = jobs[0]; next !== undefined; next = jobs[0]) {
      while (next.hook.isAsync && this.#asyncs >= MOST_ASYNC && !this.#isStopping)
        await new Promise<void>(resolve => this.#waiters.push(resolve));
      // After `stopStarting`, another delivery owns the remaining jobs.
      const job = this.#isStopping ? undefined : jobs.shift();
      if (job === undefined) return;
      if (!job.hook.isAsync) {
        await this.#run(job);
        continue;
      }
      this.#asyncs += 1;
      void this.#run(job).finally(() => {
        this.#asyncs -= 1;
        this.#wake();
      });
    }
  }

  async allEnded(): Promise<void> {
    await Promise.all([...this.#running].map(each => each.ended));
  }

  stopAll(): void {
    for (const each of this.#running) each.stop();
  }

  async #run({ cwd, config, root, file, hash, hook, input }: Job): Promise<void> {
    // The user can withdraw the agreement while the job waits for other jobs.
    const agreed = agreedIn({ cwd, config }, this.#world);
    if ('withheld' in agreed || agreed.hash !== hash) return this.#books.count('openhook.revoked');
    const finish = ({ how, why }: Outcome, counter: string): void => {
      this.#books.count(counter);
      if (isProblem(how)) this.#books.report({ code: 'openhook-failed', file, hook: hook.number, why: why ?? how });
    };
    const name = `${file}\0${hook.number}\0${hook.command}`;
    const timeouts = this.#timeouts.get(name) ?? 0;
    if (timeouts >= MOST_TIMEOUTS) return finish({ how: 'stopped' }, 'openhook.left-out');
    const started = runCommand({
      command: hook.command,
      folder: root,
      env: { ...this.#world.env, OTEL_HOOKS_CONFIG: config },
      platform: this.#world.platform,
      input,
      limitMs: hook.isAsync ? this.#limits.asyncMs : this.#limits.syncMs,
    });
    this.#running.add(started);
    const outcome = await started.ended;
    this.#running.delete(started);
    this.#timeouts.set(name, outcome.how === 'timeout' ? (this.#timeouts.get(name) ?? 0) + 1 : 0);
    finish(outcome, `openhook.${outcome.how}`);
  }

  #wake(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }
}

const isProblem = (how: How): boolean => how === 'failed' || how === 'timeout' || how === 'unstarted';
