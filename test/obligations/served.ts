/** The real program serving a house: started, killed, started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { House } from '../wire/house.ts';

export interface Serving {
  url: string;
  /** Headers of a sender who may come in. */
  welcome: Record<string, string>;
  child: ChildProcess;
  /** With SIGTERM, and to its end; answers with its exit code. */
  stop(): Promise<number | null>;
  /** With SIGKILL. */
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
