/** The filters, groups and rows of the page of `otel-hooks view`. */
import { describe, expect, it } from 'vitest';
import { noCounts } from '../../src/journal/span-counts.ts';
import type { PageSpan, SessionRow } from '../../src/page/data.ts';
import { chosen, costByDay, grouped, noChoice, totalsOf } from '../../src/page/groups.ts';
import { rowsOf, timesOf } from '../../src/page/tree.ts';

const row = (key: string, more: Partial<SessionRow> = {}): SessionRow => ({
  ...{ key, session: `session-${key}`, agent: 'codex', firstMs: 1_000, lastMs: 2_000, state: 'ended', isTrial: false },
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
    const days = costByDay(rows, Date.parse('2026-03-31T12:00:00Z'));
    expect(days).toHaveLength(84);
    expect(new Set(days.map(({ day }) => day)).size).toBe(84);
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

  it('draws a tree of 10,000 levels', () => {
    const deep = Array.from({ length: 10_000 }, (_, i) => span(`s${i}`, i === 0 ? undefined : `s${i - 1}`, i));
    expect(rowsOf(deep, new Set())).toHaveLength(10_000);
  });

  it('has a length even if all spans are one instant, or there is none', () => {
    expect(timesOf([])).toEqual({ fromMs: 0, toMs: 1 });
    expect(timesOf([{ ...span('a', undefined, 5), endMs: 5 }])).toEqual({ fromMs: 5, toMs: 6 });
  });
});
