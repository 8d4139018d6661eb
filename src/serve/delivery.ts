/**
 * Delivery beside the server: the program that hooks start, as a child process with a low priority. As a thread, it
 * would delay answers: V8's helper threads would collect its garbage with the priority of the server.
 *
 * The child takes the lock like every delivery, and releases it when a person or a newer version asks for it. The server
 * then starts another child. A child that finds the lock taken ends, and the server tries again.
 */
import type { ChildProcess } from 'node:child_process';
import { forkSilently } from '../lib/fork.ts';

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
/** Without helper threads of V8: they exist before the child lowers its priority, and would keep that of the server. */
const FLAGS = ['--single-threaded', '--max-semi-space-size=4'];

export function startDelivery({ program, stateFolder, env }: DeliveryOptions): Delivery {
  let child: ChildProcess | undefined;
  let timer: NodeJS.Timeout | undefined;
  let againMs = AGAIN_MS;
  let isStopping = false;
  const start = (): void => {
    const words = ['--kicked', '--for-server', String(process.pid), '--state-dir', stateFolder];
    const started = forkSilently(program, words, { flags: FLAGS, env });
    child = started;
    const ended = (code: number | null): void => {
      if (child !== started) return;
      child = undefined;
      if (isStopping) return;
      againMs = code === 0 ? AGAIN_MS : Math.min(againMs * 2, LONGEST_AGAIN_MS);
      timer = setTimeout(start, againMs);
    };
    started.once('exit', ended);
    // A process that could not be started has no exit.
    started.on('error', () => started.pid === undefined && ended(null));
  };
  start();
  return {
    isAtWork: () => child !== undefined,
    async stop(withinMs) {
      isStopping = true;
      clearTimeout(timer);
      const last = child;
      if (last === undefined) return;
      const ended = new Promise<void>(resolve => last.once('exit', () => resolve()));
      if (last.connected) last.disconnect();
      const late = setTimeout(() => last.kill('SIGKILL'), withinMs);
      await ended;
      clearTimeout(late);
    },
  };
}
