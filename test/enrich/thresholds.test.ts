/** Budgets in the envelopes of Base Coat, and the use of the context window: what is reported at 70 % and at 80 %. */
import { expect, test } from 'vitest';
import { FACTS } from '../../src/event/event.ts';
import { fromEvent } from '../../src/telemetry/event-increments.ts';
import { type Played, play, START_MS } from '../play.ts';

const at = (i: number): number => START_MS + i * 1_000;

const played = (payloads: readonly object[]): Played =>
  play(
    payloads.map((payload, i) => ({ atMs: at(i), payload })),
    true,
  );

const envelope = (i: number, usedTokens: number, hook = 'PostToolUse'): object => ({
  ...{ hook, timestamp: new Date(at(i)).toISOString(), sessionId: 's', budget: { usedTokens, effectiveLimit: 1_000 } },
  ...(hook === 'PostToolUse' ? { tool: { name: `tool ${i}`, success: true } } : {}),
});

const budgetsOf = ({ events }: Played): unknown[] =>
  events
    .filter(event => event.event_type === 'Policy.Violation')
    .map(({ data, risk, metadata }) => [
      (data as { rule?: string }).rule,
      metadata?.[FACTS]?.budget?.used,
      risk?.level ?? 'no risk',
    ]);

const counted = ({ events }: Played, metric: string): unknown[] =>
  events.flatMap(event =>
    fromEvent(event, () => true).flatMap(each => (each.metric === metric ? Object.values(each.attributes) : [])),
  );

test('the budget of an envelope is reported at 70 % and at 80 %, each once', () => {
  const session = played([600, 700, 750, 820, 900].map((used, i) => envelope(i, used)));
  expect(budgetsOf(session)).toEqual([
    ['envelope_tokens.warning', 700, 'no risk'],
    ['envelope_tokens.exceeded', 820, 'high'],
  ]);
  expect(counted(session, 'budgets')).toEqual([
    ...['envelope', 'tokens', 'warning'],
    ...['envelope', 'tokens', 'exceeded'],
  ]);
});

test('a budget that is used less after a compaction is reported again', () => {
  const session = played([720, 300, 710].map((used, i) => envelope(i, used)));
  expect(budgetsOf(session).map(each => (each as unknown[])[1])).toEqual([720, 710]);
});

test('OnBudgetExceeded counts as a threshold, once also when an earlier envelope reached it', () => {
  const alone = played([envelope(0, 840, 'OnBudgetExceeded'), envelope(1, 850)]);
  expect(budgetsOf(alone)).toEqual([['envelope_tokens.exceeded', 840, 'no risk']]);
  expect(counted(alone, 'budgets')).toEqual(['envelope', 'tokens', 'exceeded']);
  const later = played([envelope(0, 840), envelope(1, 850, 'OnBudgetExceeded')]);
  expect(counted(later, 'budgets')).toEqual(['envelope', 'tokens', 'exceeded']);
});

test('envelopes without a limit, or with a limit of zero, report no threshold', () => {
  const budgets = [{ usedTokens: 900 }, { usedTokens: 900, effectiveLimit: 0 }, {}];
  expect(budgetsOf(played(budgets.map((budget, i) => ({ ...envelope(i, 0), budget }))))).toEqual([]);
});

test('each crossing of 70 % and 80 % of the context window is counted, for any agent, without a violation', () => {
  const head = { spec_version: '0.1.0', source: { tool: 'any' }, session_id: 's' };
  const use = (percentage_used: number, i: number): object => ({
    ...{ ...head, event_id: `e${i}`, event_type: 'Context.UntilCompaction', timestamp: new Date(at(i)).toISOString() },
    data: { percentage_used },
  });
  const session = played([50, 71, 75, 81, 30, 95].map(use));
  expect(counted(session, 'contextThresholds')).toEqual(['70', '80', '70', '80']);
  expect(budgetsOf(session)).toEqual([]);
});
