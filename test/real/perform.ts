/** Runs the stage of one scenario in a network namespace of its own, and reads the results. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Scenario, Seen } from './contract.ts';
import { inNamespace, installed, root } from './namespace.ts';
import type { Item } from './receiver.ts';

export interface Performed {
  folder: string;
  scenario: Scenario;
  seen: Seen;
  otlp: Item[];
}

/** The scenarios of an agent, by name. */
export function scenariosOf(agent: string): { name: string; path: string; scenario: Scenario }[] {
  const folder = join(import.meta.dirname, 'scenarios', agent);
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
  const orders = { folder, scenario: scenario.path, agent: installed(agent, version), root, isRepeated };
  const program = `import { stage } from './stage.ts';
    import { driver } from './agents/${agent}.ts';
    await stage(driver, JSON.parse(process.argv[2]));`;
  await inNamespace({ agent, folder, program, orders });
  const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  return {
    folder,
    scenario: parse(readFileSync(scenario.path, 'utf8')) as Scenario,
    seen: read('seen.json') as Seen,
    otlp: read('otlp.json') as Item[],
  };
}
