import { expect, test } from 'vitest';
import type { FinishedSpan } from '../../src/assemble/finished.ts';
import type { Event } from '../../src/event/event.ts';
import { judgeRisk } from '../../src/session/own-rules.ts';
import type { SessionState } from '../../src/session/session-state.ts';
import { incrementsOf } from '../../src/telemetry/increments.ts';
import { addTo, noMetrics } from '../../src/telemetry/metric-state.ts';
import { eventsFrom, fragmentOf, playerOf, START_MS } from '../play.ts';

const CANARY = 'canary-7f3a';

function played(commands: readonly string[]) {
  let state: SessionState | undefined;
  const events: Event[] = [];
  const spans: FinishedSpan[] = [];
  const session = { session_id: 's-1', cwd: '/home/ana/app', permission_mode: 'default' };
  const payloads = [
    { ...session, hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'go' },
    ...commands.flatMap((command, i) => {
      const call = { ...session, tool_name: 'Bash', tool_use_id: `c${i}`, tool_input: { command } };
      return [
        { ...call, hook_event_name: 'PreToolUse' },
        { ...call, hook_event_name: 'PostToolUse', tool_response: { stdout: '' } },
      ];
    }),
    { ...session, hook_event_name: 'Stop' },
    { ...session, hook_event_name: 'SessionEnd', reason: 'other' },
  ];
  const player = playerOf({ hash: () => 'h', risk: judgeRisk });
  for (const [i, payload] of payloads.entries()) {
    const taken = player.take(fragmentOf({ atMs: START_MS + i * 1000, payload }, i));
    events.push(...eventsFrom(taken));
  }
  for (const session of player.sessions.values()) {
    spans.push(...session.spans);
    state = session.state;
  }
  return { events, spans, state };
}

test('the risk of an action is computed before redaction, and only the result stays', () => {
  const { events } = played([`rm -rf /srv/${CANARY}`, `ls ${CANARY}`]);
  const risks = events.filter(event => event.event_type === 'Action.Before').map(event => event.risk);
  expect(risks).toEqual([
    { score: 90, level: 'critical', factors: ['DESTRUCTIVE_OP'] },
    { score: 5, level: 'low' },
  ]);
  expect(JSON.stringify(events)).not.toContain(CANARY);
});

test('a turn and a session are as risky as the riskiest of their actions', () => {
  const { state } = played(['sudo ls', 'cat ~/.ssh/id_rsa', 'git push -f origin x']);
  const held = JSON.stringify(state?.fold);
  expect(held).toContain('SECRET_FILE');
  const risks = Object.values(state?.fold.held ?? {}).map(({ span }) => [span.kind, span.risk?.score]);
  expect(risks.filter(([kind]) => kind === 'turn' || kind === 'session')).toEqual([
    ['turn', 70],
    ['session', 70],
  ]);
});

test('the score is a histogram, by tool; commands and factors are on no metric', () => {
  const { spans, state } = played(['cat ~/.ssh/id_rsa']);
  const all = [...spans, ...Object.values(state?.fold.held ?? {}).map(({ span }) => span)];
  const increments = incrementsOf([], all, 'a', () => true);
  expect(increments.filter(({ metric }) => metric === 'riskScore')).toMatchObject([
    {
      metric: 'riskScore',
      attributes: { 'gen_ai.tool.name': 'Bash', 'agent_hooks.decision.outcome': 'allow' },
      value: 70,
    },
  ]);
  expect(JSON.stringify(increments)).not.toContain('SECRET_FILE');
});

test('200 commands of low risk are counted in the two series of one such command', () => {
  const seriesOf = (commands: readonly string[]): string[] => {
    const { events, spans, state } = played(commands);
    const all = [...spans, ...Object.values(state?.fold.held ?? {}).map(({ span }) => span)];
    const metrics = noMetrics();
    addTo(
      metrics,
      {},
      incrementsOf(events, all, 'a', () => true),
      START_MS,
    );
    const series = Object.values(metrics.resources).flatMap(each => Object.values(each.series));
    const ofRisk = series.filter(({ metric }) => metric === 'riskScore' || metric === 'decisions');
    expect(ofRisk.map(({ metric, now }) => [metric, now.sum]).sort()).toEqual([
      ['decisions', commands.length],
      ['riskScore', commands.length * 5],
    ]);
    return ofRisk.map(({ metric, attributes }) => JSON.stringify([metric, attributes])).sort();
  };
  const many = Array.from({ length: 200 }, (_, i) => `ls folder-${i}`);
  expect(seriesOf(many)).toEqual(seriesOf(['ls']));
});

test('a decision about an action of low risk states this level on its counter', () => {
  const { spans, state } = played(['ls']);
  const all = [...spans, ...Object.values(state?.fold.held ?? {}).map(({ span }) => span)];
  const decisions = incrementsOf([], all, 'a', () => true).filter(({ metric }) => metric === 'decisions');
  expect(decisions.map(({ attributes }) => attributes['agent_hooks.risk.level'])).toEqual(['low']);
});
