/** The real program with `serve`: started, killed, started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { House } from '../wire/house.ts';
import { delivering, memoryOf } from './drive.ts';

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

/** The maximum of memory that the server and its delivery held. Undefined if one of them has ended. */
export function memoryOfServer({ child }: Serving, house: House): number | undefined {
  const delivery = delivering(house);
  const [server, other] = [child.pid, delivery].map(pid => (pid === undefined ? undefined : memoryOf(pid)));
  return server === undefined || other === undefined ? undefined : server + other;
}
