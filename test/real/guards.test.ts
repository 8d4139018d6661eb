/**
 * Guards of all dialects inside real agents, part of `npm run test:agents`. A guard passes when its call did not run, or
 * ran with the other input, and the agent showed the reason.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { dialects } from '../../src/agents/dialects.ts';
import { cannotRun, needs } from '../needs.ts';
import { guardsOf, RUNS } from './guards/cases.ts';
import { performGuards } from './guards/perform.ts';
import { type GuardResult, recordGuards, resultOf } from './guards/results.ts';
import { targets } from './guards/targets.ts';
import { installed } from './namespace.ts';

const { env } = process;
const manifest = JSON.parse(readFileSync(join(import.meta.dirname, 'agents.json'), 'utf8')) as Record<
  string,
  { version: string }
>;
const words = (list: string | undefined): string[] => (list ?? '').split(',').filter(word => word !== '');
const chosen = words(env.OTEL_HOOKS_AGENTS);
const wanted = words(env.OTEL_HOOKS_SCENARIOS);
const versions = JSON.parse(env.OTEL_HOOKS_AGENT_VERSIONS ?? '{}') as Record<string, string>;
const slugs = dialects.map(({ slug }) => slug);
const isWanted = wanted.length === 0 || wanted.includes('guards');

for (const [agent, target] of Object.entries(targets)) {
  if (!isWanted || (chosen.length > 0 && !chosen.includes(agent))) continue;
  const version = versions[agent] ?? manifest[agent]?.version ?? '';
  describe.concurrent(`guards in ${agent} ${version}`, () => {
    for (let run = 0; run < RUNS; run += 1) {
      const guards = guardsOf(target.slug, slugs, run);
      const names = guards.map(({ way, thing, source }) => `${way} of ${source} at ${thing}`).join('; ');
      test(`${run + 1}: ${names}`, async context => {
        needs(context, 'unshare', 'ip', 'git', 'python3');
        if (!existsSync(join(installed(agent, version), 'node_modules', '.bin'))) {
          cannotRun(context, `${agent} ${version} is not installed: npm run test:agents installs it`);
        }
        const { folder, run: performed } = await performGuards(agent, version, guards);
        const results = performed.guarded.map(
          (each): GuardResult => resultOf(agent, version, target.slug, each, performed.requests <= guards.length),
        );
        if (env.OTEL_HOOKS_RECORD === '1') recordGuards(results);
        const failed = results.filter(({ result }) => result === 'failed');
        const refused = performed.conversions.filter(({ exit }) => exit !== 0);
        if (failed.length === 0 && env.OTEL_HOOKS_KEEP !== '1') rmSync(folder, { recursive: true, force: true });
        context.expect({ failed, refused }, `see ${folder}`).toEqual({ failed: [], refused: [] });
      });
    }
  });
}
