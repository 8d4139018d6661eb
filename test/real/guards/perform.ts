/** Runs the guards of one run of an agent in a network namespace of their own. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { cacheFolder, root } from '../perform.ts';
import type { Guard } from './cases.ts';
import type { GuardedRun, GuardOrders } from './stage.ts';

export interface PerformedGuards {
  folder: string;
  run: GuardedRun;
}

export async function performGuards(
  agent: string,
  version: string,
  guards: readonly Guard[],
): Promise<PerformedGuards> {
  const folder = mkdtempSync(join(tmpdir(), `guards-${agent}-`));
  const bundle = join(folder, 'stage.mjs');
  const orders: GuardOrders = { folder, guards, agent: join(cacheFolder(), `${agent}-${version}`), root };
  buildSync({
    stdin: {
      contents: `import { guardStage } from './stage.ts';
        import { targets } from './targets.ts';
        import { driver } from '../agents/${agent}.ts';
        await guardStage(driver, targets[${JSON.stringify(agent)}], JSON.parse(process.argv[2]));
        process.exit(0);`,
      resolveDir: import.meta.dirname,
      loader: 'ts',
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile: bundle,
    absWorkingDir: root,
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
  const child = spawn('unshare', [...(process.geteuid?.() === 0 ? [] : ['-r']), ...words], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder },
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
  return { folder, run: JSON.parse(readFileSync(join(folder, 'guarded.json'), 'utf8')) as GuardedRun };
}
