import { describe, expect, it } from 'vitest';
import { resolve } from '../src/config/config.ts';
import { judgeRisk, riskSettings } from '../src/session/own-rules.ts';
import type { SessionState } from '../src/session/session-state.ts';

const config = (risk: unknown) =>
  resolve({ global: { file: 'config.json', text: JSON.stringify({ risk }) }, env: {}, home: '/h', cwd: '/h' });

function judge(risk: unknown, command: string) {
  const { settings } = riskSettings(config(risk));
  const state = { pinned: { risk: settings } } as unknown as SessionState;
  return judgeRisk(state, { action: { name: 'shell', input: { command } } });
}

const rule = {
  id: 'acme.prod',
  on: 'command',
  when: { line: '/--env[ =]prod/' },
  score: 66,
  factor: 'PRODUCTION',
  why: 'it is live',
};

describe('risk by settings', () => {
  it('adds nothing to a session without settings', () => expect(riskSettings(config({})).settings).toBeUndefined());

  it("adds the user's rules to the built-in ones", () => {
    expect(judge({ rules: [rule] }, 'deploy --env=prod')).toEqual({
      score: 66,
      level: 'high',
      factors: ['PRODUCTION'],
    });
    expect(judge({ rules: [rule] }, 'deploy --env=test')).toEqual({ score: 5, level: 'low' });
    expect(judge({ rules: [rule] }, 'deploy --env=prod; rm -rf /')).toEqual({
      score: 100,
      level: 'critical',
      factors: ['DESTRUCTIVE_OP', 'PRODUCTION'],
    });
  });

  it('changes the score of built-in rules, or removes them', () => {
    expect(judge({}, 'sudo ls')?.score).toBe(35);
    expect(judge({ overrides: { 'privilege.sudo': 61 } }, 'sudo ls')).toMatchObject({ score: 61, level: 'high' });
    expect(judge({ overrides: { 'privilege.sudo': 'off' } }, 'sudo ls')?.level).toBe('low');
  });

  it('states no risk when it is off', () => expect(judge({ enabled: false }, 'rm -rf /')).toBeUndefined());

  it('runs patterns in a time proportional to the text', () => {
    // A backtracking engine would never finish this pattern.
    const slow = { ...rule, when: { line: '/^x (a+)+b$/' } };
    expect(judge({ rules: [slow] }, `x ${'a'.repeat(400)}`)?.level).toBe('low');
    expect(judge({ rules: [slow] }, `x ${'a'.repeat(400)}b`)?.factors).toEqual(['PRODUCTION']);
  });

  it('ignores only the rule that cannot be used', () => {
    const bad = { ...rule, id: 'acme.bad', when: { line: '/(?=a)/' } };
    const { settings, problems } = riskSettings(config({ rules: [bad, rule], overrides: { 'privilege.sud': 3 } }));
    expect(settings?.rules.map(({ id }) => id)).toEqual(['acme.prod']);
    expect(problems).toMatchObject([
      {
        code: 'config-value',
        key: 'risk.overrides',
        value: 'privilege.sud',
        why: 'there is no such rule; privilege.sudo is one',
      },
      { code: 'config-value', key: 'risk.rules', value: 'acme.bad' },
    ]);
  });

  it("ignores the rules of a project's file, because its author is untrusted", () => {
    const { values, problems } = resolve({
      project: { file: '.otel-hooks.json', text: '{"risk":{"enabled":false}}', trusted: false },
      env: {},
      home: '/h',
      cwd: '/h',
    });
    expect(values['risk.enabled']).toBe(true);
    expect(problems.map(({ code }) => code)).toEqual(['config-untrusted']);
  });

  it.each([
    ['no object', 'null'],
    ['no text', '{"command":{"toString":1}}'],
    ['a list of anything', '{"command":["bash",{"toString":1},null,7]}'],
    ['nested deeply', `{"command":"ls","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ])('finds no match in an input that is %s, and continues', (_what, text) => {
    const state = { pinned: {} } as unknown as SessionState;
    expect(judgeRisk(state, { action: { name: 'shell', input: JSON.parse(text) } })?.factors).toBeUndefined();
  });
});
