/**
 * Delivery within this process: the program that hooks start, as a thread, so that a sender never waits for a round.
 * The thread takes the lock like every delivery, with our process id, so front ends see a live owner. It releases the
 * lock when a person or a newer version asks for it, and is started again when they have ended.
 */
import { Worker } from 'node:worker_threads';
import { startYoungAt } from '../lib/garbage.ts';

export interface Delivery {
  isAtWork(): boolean;
  /** Incomplete work stays on the disk, as after a kill. */
  stop(withinMs: number): Promise<void>;
}

export interface DeliveryOptions {
  /** dist/deliver.js */
  program: string;
  stateFolder: string;
  env: Readonly<Record<string, string | undefined>>;
}

const AGAIN_MS = 500;
/** The pause while another process delivers, or after an error such as a full disk or a folder of another user. */
const LONGEST_AGAIN_MS = 10_000;
/** More makes collections rarer. */
const SEMI_SPACE_MB = 8;

export function startDelivery({ program, stateFolder, env }: DeliveryOptions): Delivery {
  let worker: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let againMs = AGAIN_MS;
  let isStopping = false;
  const start = (): void => {
    startYoungAt(SEMI_SPACE_MB);
    const started = new Worker(program, {
      argv: ['--kicked', '--state-dir', stateFolder],
      env: { ...env },
      resourceLimits: { maxYoungGenerationSizeMb: 3 * SEMI_SPACE_MB },
      stdout: true,
      stderr: true,
    });
    worker = started;
    started.on('error', () => undefined);
    started.once('exit', code => {
      worker = undefined;
      if (isStopping) return;
      againMs = code === 0 ? AGAIN_MS : Math.min(againMs * 2, LONGEST_AGAIN_MS);
      timer = setTimeout(start, againMs);
    });
  };
  start();
  return {
    isAtWork: () => worker !== undefined,
    async stop(withinMs) {
      isStopping = true;
      clearTimeout(timer);
      const last = worker;
      if (last === undefined) return;
      const ended = new Promise<void>(resolve => last.once('exit', () => resolve()));
      last.postMessage('stop');
      const late = setTimeout(() => void last.terminate(), withinMs);
      await ended;
      clearTimeout(late);
    },
  };
}
