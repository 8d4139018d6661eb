/**
 * The results of the scenarios, in results.json: one row for each scenario. `npm run test:agents -- --record` writes the
 * rows of the scenarios that it ran. `npm run docs` writes docs/real-agents.md and the tables of agents from them.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fact } from '../../src/agents/shared/truth.ts';
import type { Driver, Scenario } from './contract.ts';
import { scenariosOf } from './perform.ts';

export interface Result {
  agent: string;
  scenario: string;
  about: string;
  ci: boolean;
  result: 'passed' | 'failed' | 'not run';
  /** The version of the agent that ran. */
  version?: string;
  /** How often the scenario was tried until this result. */
  tries?: number;
  /** The names of the checks that were made. */
  checks?: string[];
  /** The facts about the agent that these checks compare with the truth. */
  shows?: Fact[];
}

/** The checks of judge.ts by name. */
export const checks = {
  tree: 'the spans form the expected tree, with outcomes, exit codes and decisions',
  roots: 'each trace has its root, and no span or link points to a span that is missing',
  times: 'no duration is missing or negative, and children are inside their parents',
  responses: 'the tokens of each response',
  sums: 'the sums of tokens on sessions, turns and metrics',
  calls: 'each call has one action',
  records: 'no log record comes twice or without its span, and no event is unknown',
  accounts: 'the figures of `status`, and the findings of `doctor`',
  show: '`show` has the spans of the wire',
  import: 'an import gives the same spans as hooks, and adds nothing beside them',
  output: "the agent's output and requests are the same without hooks",
  settings: '`disable` restores the settings',
  content: 'no prompt leaves the machine',
} as const;

export function checksOf(driver: Driver, { expect }: Scenario): string[] {
  const left = [
    driver.sumsOnly === undefined ? '' : 'responses',
    expect.notImported === undefined ? '' : 'import',
    expect.notCompared === undefined ? '' : 'output',
  ];
  return Object.keys(checks).filter(name => !left.includes(name));
}

/** No scenario compares cost, latency, or how full the context is. */
export function shownBy(driver: Driver, { dialect, model, expect }: Scenario): Fact[] {
  const thinks = Object.values(model).some(replies => replies.some(({ thinking }) => thinking !== undefined));
  const answers = Object.values(model).some(replies =>
    replies.some(({ error }) => error === undefined || error.times !== undefined),
  );
  const shown: Record<string, boolean> = {
    input: answers,
    cacheRead: answers,
    // The other dialects do not state them.
    cacheWrite: answers && (dialect ?? driver.dialect) === 'anthropic',
    output: answers,
    reasoning: thinks,
    decisions: /, (allow|deny) by (?!unknown)/.test(expect.tree),
    subagents: /^ +subagent /m.test(expect.tree),
  };
  return Object.keys(shown).filter(fact => shown[fact]) as Fact[];
}

const file = join(import.meta.dirname, 'results.json');
const folder = join(import.meta.dirname, 'scenarios');

export const readResults = (): Result[] =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { rows: Result[] }).rows : [];

/** The reasons for which the driver and the scenarios expect less: facts that the agent does not state. */
export const limitsOf = (driver: Driver, scenarios: readonly Scenario[]): string[] => [
  ...new Set([
    ...(driver.sumsOnly === undefined ? [] : [driver.sumsOnly]),
    ...Object.values(driver.importDiffers ?? {}),
    ...scenarios.flatMap(({ expect }) => [
      ...Object.values({ ...expect.uncounted, ...expect.withoutSpan, ...expect.importDiffers }),
      ...(expect.notImported === undefined ? [] : [expect.notImported]),
      ...(expect.silent === undefined ? [] : [expect.silent]),
    ]),
  ]),
];

/** All scenarios of the tree, in the order of the file. */
export const allScenarios = (): { agent: string; name: string; scenario: Scenario }[] =>
  readdirSync(folder)
    .sort()
    .flatMap(agent => scenariosOf(agent).map(({ name, scenario }) => ({ agent, name, scenario })));

/** Replaces the row of one scenario. Scenarios without a row get one, and rows without a scenario go. */
export function record(fresh?: Result): void {
  const before = fresh === undefined ? readResults() : [fresh, ...readResults()];
  const rows = allScenarios().map(({ agent, name, scenario }): Result => {
    const known = before.find(row => row.agent === agent && row.scenario === name);
    const own = { agent, scenario: name, about: scenario.about, ci: scenario.ci === true };
    return { ...own, result: 'not run', ...known, ...own };
  });
  writeFileSync(file, `{\n"v": 1,\n"rows": [\n${rows.map(row => JSON.stringify(row)).join(',\n')}\n]\n}\n`);
}
