/** The real program with `serve`: started, killed, started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { House } from '../wire/house.ts';
import { delivering } from './drive.ts';

export interface Serving {
  url: string;
  /** The headers of a sender with access. */
  welcome: Record<string, string>;
  child: ChildProcess;
  /** Stops it with SIGTERM, waits for its end, and returns its exit code. */
  stop(): Promise<number | null>;
  /** Stops it with SIGKILL. */
  kill(): Promise<void>;
}

export async function serving(
  house: House,
  words: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Serving> {
  const child = spawn(process.execPath, [house.bin, 'serve', '--listen', '127.0.0.1:0', '--json', ...words], {
    cwd: house.project,
    env: { ...house.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    void ended.then(code => reject(new Error(`serve ended with ${code}`)));
  });
  const { url, token } = JSON.parse(line) as { url: string; token: string };
  return {
    url,
    welcome: { authorization: `Bearer ${readFileSync(token, 'utf8').trim()}`, 'content-type': 'application/json' },
    child,
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Measures at intervals the memory of the server and its delivery; returns the maximum of their sum in MB. Pages of
 * files, such as the code of Node, count once: both processes share them.
 */
export function watchServer({ child }: Serving, house: House): () => number | undefined {
  let most: number | undefined;
  const timer = setInterval(() => {
    const [server, delivery] = [child.pid, delivering(house)].map(pid =>
      pid === undefined ? undefined : pagesOf(pid),
    );
    if (server === undefined || delivery === undefined) return;
    most = Math.max(most ?? 0, server.own + delivery.own + Math.max(server.files, delivery.files));
  }, 100);
  return () => {
    clearInterval(timer);
    return most;
  };
}

/** The memory of a process in MB. */
function pagesOf(pid: number): { own: number; files: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const mb = (name: string): number => Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1]) / 1024;
    return { own: mb('RssAnon') + mb('RssShmem'), files: mb('RssFile') };
  } catch {
    // The process has ended.
    return undefined;
  }
}
