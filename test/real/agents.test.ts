/** Scenarios with real agents: `npm run test:agents` (scripts/agents.mjs explains it). */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { parseDocument, Scalar } from 'yaml';
import { cannotRun, needs } from '../needs.ts';
import type { Driver } from './contract.ts';
import { judge } from './judge.ts';
import { installed } from './namespace.ts';
import { perform, scenariosOf } from './perform.ts';
import { checksOf, record, shownBy } from './results.ts';
import { recordShapes, shapesOf, unknownIn } from './shapes.ts';

const { env } = process;
const manifest = JSON.parse(readFileSync(join(import.meta.dirname, 'agents.json'), 'utf8')) as Record<
  string,
  { version: string }
>;
const chosen = (env.OTEL_HOOKS_AGENTS ?? '').split(',').filter(word => word !== '');
const wanted = (env.OTEL_HOOKS_SCENARIOS ?? '').split(',').filter(word => word !== '');
const versions = JSON.parse(env.OTEL_HOOKS_AGENT_VERSIONS ?? '{}') as Record<string, string>;
const repeats = Number(env.OTEL_HOOKS_REPEAT ?? 1);

const agents = readdirSync(join(import.meta.dirname, 'agents'))
  .map(name => name.replace(/\.ts$/, ''))
  .filter(agent => chosen.length === 0 || chosen.includes(agent));

for (const agent of agents) {
  const version = versions[agent] ?? manifest[agent]?.version ?? '';
  const scenarios = scenariosOf(agent).filter(({ name, scenario }) =>
    wanted.length > 0 ? wanted.includes(name) : env.OTEL_HOOKS_ALL === '1' || scenario.ci === true,
  );
  describe.concurrent(`${agent} ${version}`, () => {
    for (const each of scenarios) {
      for (let i = 1; i <= repeats; i += 1) {
        const name = `${each.name}: ${each.scenario.about}${repeats === 1 ? '' : ` (${i})`}`;
        test(name, async context => {
          needs(context, 'unshare', 'ip', 'git', 'python3');
          if (!existsSync(join(installed(agent, version), 'node_modules', '.bin'))) {
            cannotRun(context, `${agent} ${version} is not installed: npm run test:agents installs it`);
          }
          const { driver } = (await import(`./agents/${agent}.ts`)) as { driver: Driver };
          const fromMs = Date.now();
          const tries = (context.task.result?.retryCount ?? 0) + 1;
          const keep = (result: 'passed' | 'failed'): void => {
            if (env.OTEL_HOOKS_RECORD !== '1') return;
            const { about, ci = false } = each.scenario;
            const made = { checks: checksOf(driver, each.scenario), shows: shownBy(driver, each.scenario) };
            record({ agent, scenario: each.name, about, ci, result, version, tries, ...made });
          };
          // A run that cannot be judged failed, too.
          keep('failed');
          const performed = await perform(agent, version, each, repeats > 1);
          const { tree, faults, perHookMs } = judge(driver, performed);
          const shapes = shapesOf(performed.folder, driver.transcripts);
          if (env.OTEL_HOOKS_RECORD === '1') recordShapes(agent, version, shapes);
          const unknown = unknownIn(agent, shapes);
          if (env.OTEL_HOOKS_UPDATE === '1') writeTree(each.path, tree);
          const isRight = faults.length === 0 && tree.trim() === each.scenario.expect.tree.trim();
          if (env.OTEL_HOOKS_RESULTS !== undefined) {
            const row = {
              agent,
              version,
              scenario: each.name,
              about: each.scenario.about,
              isRight,
              faults,
              tree,
              perHookMs,
              unknown,
            };
            appendFileSync(env.OTEL_HOOKS_RESULTS, `${JSON.stringify({ ...row, tookMs: Date.now() - fromMs })}\n`);
          }
          if (isRight) keep('passed');
          if (isRight && env.OTEL_HOOKS_KEEP !== '1') rmSync(performed.folder, { recursive: true, force: true });
          else console.log(`${agent}/${each.name}: ${performed.folder}`);
          context
            .expect({ faults, tree: `\n${tree.trim()}\n` }, `see ${performed.folder}`)
            .toEqual({ faults: [], tree: `\n${each.scenario.expect.tree.trim()}\n` });
        });
      }
    }
  });
}

/** Replaces the expected tree in the file and keeps the rest. The author of the scenario reads it before the commit. */
function writeTree(path: string, tree: string): void {
  const document = parseDocument(readFileSync(path, 'utf8'));
  const literal = new Scalar(`${tree.trim()}\n`);
  literal.type = Scalar.BLOCK_LITERAL;
  document.setIn(['expect', 'tree'], literal);
  writeFileSync(path, document.toString({ lineWidth: 0, singleQuote: true }));
}
