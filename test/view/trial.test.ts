/** A trial of the hooks is distinguished from a session of a person, for every agent. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { isTrial, trialSession } from '../../src/view/trial-sessions.ts';

const AT = Date.parse('2026-03-01T10:00:00.000Z');

describe.each(agents.map(agent => [agent.id, agent] as const))('%s', (_, agent) => {
  it('recognizes the id of a trial session', () => {
    if (isAbsent(agent.settings)) return;
    const { payload } = agent.settings.proof(trialSession(AT, 'a1b2c3'), '/shop', AT);
    expect(isTrial(agent.session(payload, {}) ?? '')).toBe(true);
  });
});

it('is a UUID of version 7 with its time', () => {
  expect(trialSession(AT, 'a1b2c3')).toMatch(/^019ca8d7-2d00-7a1b-82c3-[0-9a-f]{12}$/);
});

it('does not recognize other ids as trial sessions', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.string(), (id, text) => {
      expect([isTrial(id), isTrial(text)]).toEqual([false, false]);
    }),
  );
  expect(isTrial(`${trialSession(AT, 'a1b2c3')}0`)).toBe(false);
});
