/** docs/real-agents.md, and what the scenarios with real agents show about each fact. */
import type { Agent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { type Fact, facts } from '../../src/agents/shared/truth.ts';
import { driver as claudeCode } from '../real/agents/claude-code.ts';
import { driver as cline } from '../real/agents/cline.ts';
import { driver as codex } from '../real/agents/codex.ts';
import { driver as copilot } from '../real/agents/copilot.ts';
import { driver as droid } from '../real/agents/droid.ts';
import { driver as geminiCli } from '../real/agents/gemini-cli.ts';
import { driver as openCode } from '../real/agents/opencode.ts';
import { scenariosOf } from '../real/perform.ts';
import { checks, limitsOf, type Result, readResults } from '../real/results.ts';
import { withTable } from './agents-tables.ts';

const drivers = [claudeCode, cline, codex, copilot, droid, geminiCli, openCode];
const results = readResults();
const rowsOf = (agent: string): Result[] => results.filter(each => each.agent === agent);
const passedOf = (agent: string): Result[] => rowsOf(agent).filter(({ result }) => result === 'passed');

/** The versions of the agent that the scenarios ran with. */
export const ranWith = (agent: string): string[] => [...new Set(rowsOf(agent).flatMap(({ version }) => version ?? []))];

/** src/agents/checked-versions.ts */
export const checkedVersionsSource = (): string => {
  const lines = agents.flatMap(({ id }) => {
    const version = ranWith(id).at(-1);
    return version === undefined ? [] : [`  ${/^\w+$/.test(id) ? id : `'${id}'`}: '${version}',\n`];
  });
  return `/** Written by \`npm run docs\`: the version of each agent that the scenarios with real agents ran with. */
export const checkedVersions: Readonly<Record<string, string>> = {\n${lines.join('')}};\n`;
};

/** The names of the agent's scenarios that passed and compare the fact with the truth. */
export const shownIn = (agent: string, fact: Fact): Result[] =>
  passedOf(agent).filter(({ shows }) => shows?.includes(fact));

const tokens: readonly Fact[] = ['input', 'cacheRead', 'cacheWrite', 'output', 'reasoning'];

/** How a fact is known, never more than a scenario shows. */
export function knownBy({ id, truth }: Agent, fact: Fact): string {
  const { known } = truth[fact];
  if (known === 'unknown') return known;
  const shown = shownIn(id, fact);
  if (shown.length === 0) return `${known} (samples)`;
  const isSum = tokens.includes(fact) && shown.every(each => !each.checks?.includes('responses'));
  return isSum ? `${known} (sums)` : known;
}

export const meaningOfKnown = [
  '* *exact*: the agent states the fact, and otel-hooks reports it unchanged.',
  '* *derived*: otel-hooks computes the fact from other statements of the agent.',
  '* *unknown*: the agent does not state the fact. otel-hooks reports nothing; an unknown number is absent, never 0.',
  '* *(samples)*: recordings and documented payloads of the agent show the fact. No [scenario with the real',
  '  agent](real-agents.md) compares it with the truth.',
  '* *(sums)*: the scenarios compare the sums of sessions and metrics, not each response.',
];

/** README.md with its short table of agents. */
export const withAgents = (page: string): string => {
  const titles = (fact: Fact, isWanted: (known: string) => boolean): string =>
    agents
      .filter(agent => isWanted(knownBy(agent, fact)))
      .map(({ title }) => title)
      .join(', ');
  return withTable(page, 'agents', [
    row('', 'exact', 'derived', 'by samples only', 'missing'),
    row('---', '---', '---', '---', '---'),
    ...shortFacts.map(([name, fact]) =>
      row(
        name,
        titles(fact, known => /^exact( \(sums\))?$/.test(known)),
        titles(fact, known => /^derived( \(sums\))?$/.test(known)),
        titles(fact, known => known.endsWith('(samples)')),
        titles(fact, known => known === 'unknown'),
      ),
    ),
  ]);
};

const shortFacts: [string, Fact][] = [
  ['tokens', 'output'],
  ['cost', 'cost'],
  ['decisions', 'decisions'],
  ['subagents', 'subagents'],
];

export function realAgentsPage(): string {
  const ran = agents.filter(({ id }) => rowsOf(id).length > 0);
  return `${[
    '<!-- Written by `npm run docs` from test/real/results.json; edits are overwritten. -->',
    '',
    '# Scenarios with real agents',
    '',
    'The harness of `npm run test:agents` runs the real agents against a scripted model server, and compares the traces with',
    'the responses that the server gave and with the tree that the scenario expects. This page has the results of the last',
    'recorded run. `npm run test:agents -- --all --record` runs all scenarios and records their results.',
    '',
    row('agent', 'checked with', 'scenarios', 'passed', 'failed', 'not run'),
    row('---', '---', '---', '---', '---', '---'),
    ...ran.map(({ id, title }) => {
      const of = (result: Result['result']): string => String(rowsOf(id).filter(each => each.result === result).length);
      return row(title, ranWith(id).join(', '), String(rowsOf(id).length), of('passed'), of('failed'), of('not run'));
    }),
    '',
    `There are no scenarios for ${agents
      .filter(agent => !ran.includes(agent))
      .map(({ title }) => title)
      .join(', ')}.`,
    '',
    '## Checks',
    '',
    'Each scenario makes these checks, except those that its row names as left out.',
    '',
    ...Object.entries(checks).map(([name, text]) => `* *${name}*: ${text}.`),
    '',
    '## Facts',
    '',
    'The number of passed scenarios that compare a fact with the truth. No scenario compares the facts that are not listed.',
    '',
    row('', ...ran.map(({ title }) => title)),
    row('---', ...ran.map(() => '---')),
    ...(Object.keys(facts) as Fact[])
      .filter(fact => ran.some(({ id }) => shownIn(id, fact).length > 0))
      .map(fact => row(facts[fact], ...ran.map(({ id }) => String(shownIn(id, fact).length || '')))),
    '',
    ...ran.flatMap(({ id, title }) => [
      `## ${title}`,
      '',
      row('scenario', 'result', 'version', 'in CI', 'left out', 'about'),
      row('---', '---', '---', '---', '---', '---'),
      ...rowsOf(id).map(each =>
        row(
          `\`${each.scenario}\``,
          `${each.result}${(each.tries ?? 1) > 1 ? ` at try ${each.tries}` : ''}`,
          each.version ?? '',
          each.ci ? 'yes' : '',
          each.checks === undefined ? '' : leftOut(each.checks),
          each.about,
        ),
      ),
      '',
      ...limitsText(id, title),
    ]),
  ]
    .join('\n')
    .trimEnd()}\n`;
}

/** The facts that the agent does not state, so its scenarios expect less. */
function limitsText(id: string, title: string): string[] {
  const driver = drivers.find(each => each.id === id);
  const limits =
    driver === undefined
      ? []
      : limitsOf(
          driver,
          scenariosOf(id).map(({ scenario }) => scenario),
        );
  if (limits.length === 0) return [];
  return [
    `The scenarios expect less where ${title} does not state a fact:`,
    '',
    ...limits.map(each => `* ${each}`),
    '',
  ];
}

const leftOut = (made: readonly string[]): string =>
  Object.keys(checks)
    .filter(name => !made.includes(name))
    .join(', ');

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
