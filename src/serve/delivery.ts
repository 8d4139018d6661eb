/**
 * Delivery within this process: the program that hooks start, as a thread, so that a round never keeps a sender
 * waiting. It has the lock like any other, under our process id: front ends see it and start none. It gives it up to a
 * person or to a newer version, and is started again when they are done.
 */
import { Worker } from 'node:worker_threads';

export interface Delivery {
  isAtWork(): boolean;
  /** Unfinished work stays on the disk, as after a kill. */
  stop(withinMs: number): Promise<void>;
}

export interface DeliveryOptions {
  /** dist/deliver.js */
  program: string;
  stateFolder: string;
  env: Readonly<Record<string, string | undefined>>;
}

const AGAIN_MS = 500;
/** While another delivers, or after an end that is no handover: a full disk, a folder that is not ours. */
const LONGEST_AGAIN_MS = 10_000;
/** The young generation that `ROOM` gives to the process that hooks start is three of these. */
const YOUNG_MB = 96;

export function startDelivery({ program, stateFolder, env }: DeliveryOptions): Delivery {
  let worker: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let againMs = AGAIN_MS;
  let isStopping = false;
  const start = (): void => {
    const started = new Worker(program, {
      argv: ['--kicked', '--state-dir', stateFolder],
      env: { ...env },
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
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
