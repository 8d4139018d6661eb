/** The filters, groups and rows of the page of `otel-hooks view`. */
import { describe, expect, it } from 'vitest';
import { noCounts } from '../../src/journal/span-counts.ts';
import { denials, failureCounts, failures, longest, modelUses, timeUse } from '../../src/page/answers.ts';
import { axisOf } from '../../src/page/axis.ts';
import type { PageSpan, SessionRow } from '../../src/page/data.ts';
import { chosen, costByDay, grouped, noChoice, totalsOf } from '../../src/page/groups.ts';
import { ancestorsOf, rowsOf, withTurnNumbers } from '../../src/page/tree.ts';

const row = (key: string, more: Partial<SessionRow> = {}): SessionRow => ({
  ...{
    key,
    session: `session-${key}`,
    agent: 'codex',
    firstMs: 1_000,
    lastMs: 2_000,
    lengthMs: 1_000,
    state: 'ended',
    isTrial: false,
  },
  ...{ ...noCounts(), models: ['m-1'], turns: 1, actions: 2 },
  ...more,
});

describe('the list', () => {
  const rows = [
    row('a', { repository: 'acme/shop', costUsd: 2, failed: 1 }),
    row('b', { agent: 'cursor', costUsd: 3, firstMs: 500 }),
    row('c', { isTrial: true }),
    row('d', { risk: 'critical', lastMs: 9_000 }),
  ];
  const keys = (choice: object): string[] => chosen(rows, { ...noChoice, ...choice }).map(({ key }) => key);

  it('leaves out trials, and sorts by start', () => expect(keys({})).toEqual(['a', 'd', 'b']));
  it('searches all words in id, repository and model', () => expect(keys({ search: 'ACME m-1' })).toEqual(['a']));
  it('filters by agent', () => expect(keys({ agent: 'cursor' })).toEqual(['b']));
  it('filters by time', () => expect(keys({ sinceMs: 5_000 })).toEqual(['d']));
  it('finds failed and risky sessions', () => expect(keys({ isTroubled: true })).toEqual(['a', 'd']));
  it.each([{ failedResponses: 2, failedTurns: 1 }, { failedTurns: 1 }])(
    'finds a session in which %o failed',
    failed => {
      const all = [row('a'), row('b', failed)];
      expect(chosen(all, { ...noChoice, isTroubled: true }).map(({ key }) => key)).toEqual(['b']);
      expect(chosen(all, { ...noChoice, sortBy: 'failed' }).map(({ key }) => key)).toEqual(['b', 'a']);
    },
  );

  it('sorts by cost, with unknown costs last', () => expect(keys({ sortBy: 'costUsd' })).toEqual(['b', 'a', 'd']));
  it('sorts in both directions', () => expect(keys({ sortBy: 'costUsd', isAscending: true })).toEqual(['d', 'a', 'b']));

  it('sums known costs and leaves unknown tokens absent', () => {
    const totals = totalsOf(rows);
    expect([totals.costUsd, totals.counts.failed, totals.counts.input]).toEqual([5, 1, undefined]);
  });

  it('groups by repository, with a group for unknown ones', () => {
    expect([...grouped(rows, 'repository')].map(([name, group]) => [name, group.length])).toEqual([
      ['acme/shop', 1],
      ['unknown', 3],
    ]);
  });

  it('has a day without a gap for twelve weeks', () => {
    const days = costByDay(rows);
    expect(days).toHaveLength(84);
    expect(new Set(days.map(({ day }) => day)).size).toBe(84);
    expect(days.at(-1)).toMatchObject({ costUsd: 5, sessions: 4 });
  });
});

describe('the waterfall', () => {
  const span = (id: string, parent: string | undefined, startMs: number): PageSpan => ({
    ...{ id, parent, trace: 't', kind: 'action', name: id, startMs, endMs: startMs + 10, notes: [] },
  });
  const names = (spans: PageSpan[], ...collapsed: string[]): string[] =>
    rowsOf(spans, new Set(collapsed)).map(({ span: { id }, level }) => `${level} ${id}`);

  it('puts children below their parent in order of time', () => {
    const spans = [span('b', 'root', 5), span('root', undefined, 0), span('a', 'root', 1), span('a1', 'a', 2)];
    expect(names(spans)).toEqual(['1 root', '2 a', '3 a1', '2 b']);
  });

  it('hides the children of a collapsed span', () => {
    expect(names([span('root', undefined, 0), span('a', 'root', 1), span('a1', 'a', 2)], 'a')).toEqual([
      '1 root',
      '2 a',
    ]);
  });

  it('shows a span whose parent is unknown, or is itself, as a root', () => {
    expect(names([span('a', 'gone', 0), span('b', 'b', 1)])).toEqual(['1 a', '1 b']);
  });

  it('knows the spans above a span, also if they form a circle', () => {
    const spans = [span('root', undefined, 0), span('a', 'root', 1), span('a1', 'a', 2), span('b', 'root', 3)];
    expect([...ancestorsOf(spans, 'a1')]).toEqual(['a', 'root']);
    expect([...ancestorsOf([span('x', 'y', 0), span('y', 'x', 0)], 'x')]).toEqual(['y', 'x']);
  });

  it('numbers the turns in order of time', () => {
    const turn = (id: string, startMs: number): PageSpan => ({ ...span(id, undefined, startMs), kind: 'turn' });
    const named = withTurnNumbers([turn('late', 9), span('act', 'late', 9), turn('early', 1)]);
    expect(named.map(({ name }) => name)).toEqual(['turn 2: late', 'act', 'turn 1: early']);
  });

  it('draws a tree of 10,000 levels', () => {
    const deep = Array.from({ length: 10_000 }, (_, i) => span(`s${i}`, i === 0 ? undefined : `s${i - 1}`, i));
    expect(rowsOf(deep, new Set())).toHaveLength(10_000);
  });
});

describe('the time axis', () => {
  const span = (kind: PageSpan['kind'], startMs: number, endMs: number): PageSpan => ({
    ...{ id: `${kind}${startMs}`, trace: 't', kind, name: kind, startMs, endMs, notes: [] },
  });
  const HOUR = 3_600_000;

  it('has a length even if all spans are one instant, or there is none', () => {
    expect(axisOf([]).length).toBe(1);
    expect(axisOf([span('action', 5, 5)]).length).toBe(1);
  });

  it('is linear without long pauses', () => {
    const axis = axisOf([span('session', 0, 100_000), span('turn', 10_000, 60_000), span('turn', 70_000, 100_000)]);
    expect([axis.length, axis.hiddenMs, axis.at(0), axis.at(25_000), axis.at(100_000)]).toEqual([
      100_000, 0, 0, 25_000, 100_000,
    ]);
  });

  it('shortens a night between two turns to a fiftieth of the work', () => {
    const axis = axisOf([span('session', 0, 10 * HOUR), span('turn', 0, HOUR), span('turn', 9 * HOUR, 10 * HOUR)]);
    expect(axis.length).toBe(2.04 * HOUR);
    expect(axis.hiddenMs).toBe(7.96 * HOUR);
    expect(axis.at(9 * HOUR)).toBe(1.04 * HOUR);
    expect(axis.at(5 * HOUR)).toBe(1.02 * HOUR);
    expect(axis.at(9.5 * HOUR)).toBe(1.54 * HOUR);
  });
});

describe('the answers', () => {
  const span = (kind: PageSpan['kind'], startMs: number, endMs: number, more: Partial<PageSpan> = {}): PageSpan => ({
    ...{ id: `${kind}${startMs}`, trace: 't', kind, name: kind, startMs, endMs, notes: [], ...more },
  });

  it('divide the time so that the classes add up, the wait for a person first', () => {
    const spans = [
      span('session', 0, 100),
      span('turn', 10, 80, { id: 'turn' }),
      span('chat', 10, 30, { parent: 'turn' }),
      span('action', 25, 60, { parent: 'turn', askedMs: 30, waitMs: 20 }),
      span('action', 61, 79, { id: 'launch', parent: 'turn' }),
      span('subagent', 62, 78, { id: 'sub', parent: 'launch' }),
      span('chat', 62, 70, { parent: 'sub' }),
    ];
    expect(timeUse([spans])).toEqual({ person: 20, actions: 15, model: 23, other: 12, idle: 30 });
  });

  it('count the time between two segments of a journal as time between turns, but not the time between journals', () => {
    const first = [span('session', 0, 10), span('turn', 0, 10), span('session', 50, 60), span('turn', 50, 60)];
    const second = [span('session', 1_000, 1_010), span('turn', 1_000, 1_005)];
    expect(timeUse([first, second])).toEqual({ person: 0, actions: 0, model: 0, other: 25, idle: 45 });
  });

  it('sum the use of each model, and leave unknown numbers absent', () => {
    const used = (model: string, usage: object) => span('chat', 0, 1, { model, usage });
    const uses = modelUses([used('a', { input: 5 }), used('b', { costUsd: 2 }), used('a', { input: 7, output: 1 })]);
    expect(uses).toEqual([
      { model: 'b', responses: 1, costUsd: 2 },
      { model: 'a', responses: 2, input: 12, output: 1 },
    ]);
  });

  it('list denials apart from failures, and a failed response once', () => {
    const spans = [
      span('action', 3, 4, { error: 'tool_error', isDenied: true }),
      span('turn', 0, 9, { id: 'turn', error: 'model_error' }),
      span('chat', 2, 3, { parent: 'turn', error: 'model_error' }),
      span('action', 1, 2, { error: 'exit_code' }),
    ];
    expect(failures(spans).map(({ id }) => id)).toEqual(['action1', 'chat2']);
    expect(denials(spans).map(({ id }) => id)).toEqual(['action3']);
  });

  it('count failed actions apart from responses, and name interrupted ones', () => {
    const spans = [
      span('action', 0, 1, { error: 'interrupted' }),
      span('action', 1, 2, { error: 'exit_code' }),
      span('chat', 2, 3, { error: 'rate_limit' }),
      span('turn', 3, 4, { error: 'interrupted' }),
    ];
    expect(failureCounts(spans)).toBe('2 actions (1 interrupted), 1 response, 1 turn (1 interrupted)');
    expect(failureCounts([])).toBe('nothing');
  });

  it('name the longest work, with the wait of an action, without the action that only holds a subagent', () => {
    const spans = [
      span('action', 0, 90, { id: 'launch' }),
      span('subagent', 1, 89, { parent: 'launch' }),
      span('chat', 5, 15),
      span('action', 20, 21, { askedMs: 16, waitMs: 40 }),
    ];
    expect(longest(spans, 2).map(({ id }) => id)).toEqual(['action20', 'chat5']);
  });
});
