/** Runs the stage of one scenario in a network namespace of its own, and reads the results. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { parse } from 'yaml';
import type { Scenario, Seen } from './contract.ts';
import type { Item } from './receiver.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const here = import.meta.dirname;

export interface Performed {
  folder: string;
  scenario: Scenario;
  seen: Seen;
  otlp: Item[];
}

export const cacheFolder = (): string =>
  resolve(
    process.env.OTEL_HOOKS_AGENTS_CACHE ??
      join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'otel-hooks', 'agents'),
  );

/** The scenarios of an agent, by name. */
export function scenariosOf(agent: string): { name: string; path: string; scenario: Scenario }[] {
  const folder = join(here, 'scenarios', agent);
  return readdirSync(folder)
    .filter(name => name.endsWith('.yaml'))
    .sort()
    .map(name => {
      const path = join(folder, name);
      return { name: name.replace(/\.yaml$/, ''), path, scenario: parse(readFileSync(path, 'utf8')) as Scenario };
    });
}

/** `isRepeated`: only the run with hooks, without the commands and imports after it. */
export async function perform(
  agent: string,
  version: string,
  scenario: { path: string },
  isRepeated = false,
): Promise<Performed> {
  const folder = mkdtempSync(join(tmpdir(), `real-${agent}-`));
  const bundle = join(folder, 'stage.mjs');
  const orders = {
    folder,
    scenario: scenario.path,
    agent: join(cacheFolder(), `${agent}-${version}`),
    root,
    isRepeated,
  };
  buildSync({
    stdin: {
      contents: `import { stage } from './stage.ts';
        import { driver } from './agents/${agent}.ts';
        await stage(driver, JSON.parse(process.argv[2]));`,
      resolveDir: here,
      loader: 'ts',
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile: bundle,
    absWorkingDir: root,
    alias: { yaml: './node_modules/yaml/browser/index.js' },
    logLevel: 'warning',
  });
  const words = [
    '-n',
    'sh',
    '-c',
    'ip link set lo up; exec "$@"',
    'sh',
    process.execPath,
    bundle,
    JSON.stringify(orders),
  ];
  const asUser = process.geteuid?.() === 0 ? [] : ['-r'];
  const child = spawn('unshare', [...asUser, ...words], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder, REAL_AGENTS_PTY: join(here, 'in-terminal.py') },
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
  const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  return {
    folder,
    scenario: parse(readFileSync(scenario.path, 'utf8')) as Scenario,
    seen: read('seen.json') as Seen,
    otlp: read('otlp.json') as Item[],
  };
}
