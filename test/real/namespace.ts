/** Runs a program of the tests in a network namespace of its own, in which only the loopback device exists. */
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const cacheFolder = (): string =>
  resolve(
    process.env.OTEL_HOOKS_AGENTS_CACHE ??
      join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'otel-hooks', 'agents'),
  );

/** The folder into which scripts/agents.mjs installed this version of an agent. */
export const installed = (agent: string, version: string): string => join(cacheFolder(), `${agent}-${version}`);

/** `program`: TypeScript whose imports are relative to this folder. It gets `orders` as JSON in its first argument. */
export async function inNamespace(of: {
  agent: string;
  folder: string;
  program: string;
  orders: object;
}): Promise<void> {
  const { agent, folder, program, orders } = of;
  const bundle = join(folder, 'stage.mjs');
  buildSync({
    stdin: { contents: program, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile: bundle,
    absWorkingDir: root,
    alias: { yaml: './node_modules/yaml/browser/index.js' },
    logLevel: 'warning',
  });
  const asUser = process.geteuid?.() === 0 ? [] : ['-r'];
  const run = ['sh', '-c', 'ip link set lo up; exec "$@"', 'sh', process.execPath, bundle, JSON.stringify(orders)];
  const child = spawn('unshare', [...asUser, '-n', ...run], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder, REAL_AGENTS_PTY: join(import.meta.dirname, 'in-terminal.py') },
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const status = await new Promise<number | null>((done, fail) => {
    child.on('error', fail);
    child.on('close', done);
  });
  if (status !== 0) throw new Error(`the stage of ${agent} failed (${status}), see ${folder}:\n${stderr}`);
}
