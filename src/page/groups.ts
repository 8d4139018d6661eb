/** The filters, order, groups and totals of the list of sessions. */
import { failuresOf, type SpanCounts, sumOf } from '../journal/span-counts.ts';
import type { SessionRow } from './data.ts';
import { day } from './format.ts';

export interface Choice {
  search: string;
  agent: string;
  state: string;
  /** Only sessions with failures, denials or risk. */
  isTroubled: boolean;
  sinceMs: number;
  groupBy: Grouping;
  sortBy: SortKey;
  isAscending: boolean;
}

export const groupings = ['none', 'repository', 'agent', 'day', 'model'] as const;
export type Grouping = (typeof groupings)[number];

export type SortKey = 'firstMs' | 'length' | 'turns' | 'actions' | 'failed' | 'denied' | 'tokens' | 'costUsd';

export const noChoice: Choice = {
  search: '',
  agent: '',
  state: '',
  isTroubled: false,
  sinceMs: Number.NEGATIVE_INFINITY,
  groupBy: 'none',
  sortBy: 'firstMs',
  isAscending: false,
};

function tokensOf({ input, output }: SessionRow): number | undefined {
  return input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0);
}

/** The cost by price lists, or as the agent states it if no price is known. */
export const costOf = ({ costUsd, statedCostUsd }: SessionRow): number | undefined => costUsd ?? statedCostUsd;

const values: { readonly [key in SortKey]: (row: SessionRow) => number | undefined } = {
  firstMs: row => row.firstMs,
  length: row => row.lengthMs,
  turns: row => row.turns,
  actions: row => row.actions,
  failed: failuresOf,
  denied: row => row.denied,
  tokens: tokensOf,
  costUsd: costOf,
};

export function chosen(rows: readonly SessionRow[], choice: Choice): SessionRow[] {
  const words = choice.search.toLowerCase().split(/\s+/).filter(Boolean);
  const value = values[choice.sortBy];
  const sign = choice.isAscending ? 1 : -1;
  return rows
    .filter(row => {
      if (row.isTrial && words.length === 0) return false;
      if (choice.agent !== '' && row.agent !== choice.agent) return false;
      if (choice.state !== '' && row.state !== choice.state) return false;
      if (row.lastMs < choice.sinceMs) return false;
      const isRisky = row.risk === 'high' || row.risk === 'critical';
      if (choice.isTroubled && failuresOf(row) + row.denied + row.loops === 0 && !isRisky) return false;
      if (words.length === 0) return true;
      const text = [
        row.session,
        ...(row.resumedAs ?? []),
        row.agent,
        row.repository,
        row.branch,
        row.cwd,
        ...row.models,
      ]
        .join(' ')
        .toLowerCase();
      return words.every(word => text.includes(word));
    })
    .sort((a, b) => sign * ((value(a) ?? -1) - (value(b) ?? -1)) || (a.key < b.key ? -1 : 1));
}

export interface Totals {
  sessions: number;
  counts: SpanCounts;
  costUsd?: number | undefined;
  /** Sessions with tokens that have no price. */
  unpriced: number;
}

export function totalsOf(rows: readonly SessionRow[]): Totals {
  const costs = rows.map(costOf).filter(cost => cost !== undefined);
  return {
    sessions: rows.length,
    counts: sumOf(rows),
    costUsd: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0),
    unpriced: rows.filter(({ unpricedTokens = 0 }) => unpricedTokens > 0).length,
  };
}

const UNKNOWN = 'unknown';

const nameIn: { readonly [grouping in Grouping]: (row: SessionRow) => string } = {
  none: () => '',
  repository: row => row.repository ?? UNKNOWN,
  agent: row => row.agent,
  day: row => day(row.firstMs),
  model: row => row.models[0] ?? UNKNOWN,
};

export function grouped(rows: readonly SessionRow[], by: Grouping): Map<string, SessionRow[]> {
  const groups = new Map<string, SessionRow[]>();
  for (const row of rows) {
    const name = nameIn[by](row);
    if (!groups.get(name)?.push(row)) groups.set(name, [row]);
  }
  return groups;
}

/** The cost of each day, oldest first, without gaps: the twelve weeks up to the newest of these sessions. */
export function costByDay(rows: readonly SessionRow[]): { day: string; costUsd: number; sessions: number }[] {
  const lastMs = rows.reduce((last, { firstMs }) => Math.max(last, firstMs), 0);
  const days = new Map<string, { costUsd: number; sessions: number }>();
  for (const row of rows) {
    const found = days.get(day(row.firstMs)) ?? { costUsd: 0, sessions: 0 };
    days.set(day(row.firstMs), { costUsd: found.costUsd + (costOf(row) ?? 0), sessions: found.sessions + 1 });
  }
  return Array.from({ length: CALENDAR_DAYS }, (_, i) => {
    const at = new Date(lastMs);
    at.setDate(at.getDate() - (CALENDAR_DAYS - 1 - i));
    const name = day(at.getTime());
    return { day: name, ...(days.get(name) ?? { costUsd: 0, sessions: 0 }) };
  });
}

const CALENDAR_DAYS = 84;
