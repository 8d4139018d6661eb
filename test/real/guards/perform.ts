/** Runs the guards of one run of an agent in a network namespace of their own. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inNamespace, installed, root } from '../namespace.ts';
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
  const orders: GuardOrders = { folder, guards, agent: installed(agent, version), root };
  const program = `import { guardStage } from './guards/stage.ts';
    import { targets } from './guards/targets.ts';
    import { driver } from './agents/${agent}.ts';
    await guardStage(driver, targets[${JSON.stringify(agent)}], JSON.parse(process.argv[2]));
    process.exit(0);`;
  await inNamespace({ agent, folder, program, orders });
  return { folder, run: JSON.parse(readFileSync(join(folder, 'guarded.json'), 'utf8')) as GuardedRun };
}
