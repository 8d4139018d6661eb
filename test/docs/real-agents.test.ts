/** The results of the scenarios with real agents agree with the scenarios. */
import { expect, it } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { allScenarios, checks, readResults } from '../real/results.ts';

const results = readResults();

it('each scenario has one row in test/real/results.json, and each row a scenario', () => {
  const scenarios = allScenarios().map(({ agent, name, scenario }) => `${agent}/${name}${scenario.ci ? ' ci' : ''}`);
  expect(results.map(({ agent, scenario, ci }) => `${agent}/${scenario}${ci ? ' ci' : ''}`)).toEqual(scenarios);
});

it('a row names the version and the checks of its run, and a row without a run names none', () => {
  const ids = agents.map(({ id }) => id);
  for (const { agent, result, version, checks: made, shows, tries } of results) {
    expect(ids).toContain(agent);
    if (result === 'not run')
      expect([version, made, shows, tries]).toEqual([undefined, undefined, undefined, undefined]);
    else expect(version).toMatch(/^\d/);
    expect(Object.keys(checks)).toEqual(expect.arrayContaining(made ?? []));
  }
});
