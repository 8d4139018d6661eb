/** Sums up sessions by day, agent, model, project or repository, from the spans of the fold. */
import type { FinishedSpan } from '../assemble/finished.ts';
import { factsOf } from '../event/event.ts';
import type { Replay } from '../journal/replay.ts';

export const groupings = ['day', 'agent', 'model', 'project', 'repository'] as const;
export type Grouping = (typeof groupings)[number];

/** A field is undefined if none of the spans of the row has it. */
export interface Row {
  by: { [grouping in Grouping]?: string };
  sessions: number;
  turns: number;
  actions: number;
  failed: number;
  denied: number;
  asked: number;
  /** Actions of high or critical risk. */
  risky: number;
  loops: number;
  responses: number;
  input_tokens?: number;
  output_tokens?: number;
  cache_read_tokens?: number;
  cache_write_tokens?: number;
  reasoning_tokens?: number;
  /** The cost by price lists, and the tokens without a price. */
  cost_usd?: number;
  unpriced_tokens?: number;
  /** The cost that the agents report. */
  stated_cost_usd?: number;
}

export const UNKNOWN = 'unknown';

export interface Report {
  rows: Row[];
  total: Row;
}

export function report(
  sessions: Iterable<Replay>,
  by: readonly Grouping[],
  sinceMs: number,
  dayOf: (ms: number) => string,
): Report {
  const rows = new Map<string, Row>();
  const total = empty({});
  for (const session of sessions) {
    const own = { agent: session.agent, ...placeOf(session) };
    const seen = new Set<Row>();
    const rowAt = (ms: number, model: string | undefined): Row => {
      const all = { ...own, day: dayOf(ms), model: model ?? UNKNOWN };
      const values = Object.fromEntries(by.map(grouping => [grouping, all[grouping]]));
      const key = JSON.stringify(values);
      const row = rows.get(key) ?? empty(values);
      rows.set(key, row);
      return row;
    };
    const count = (ms: number, model: string | undefined, add: (row: Row) => void): void => {
      if (ms < sinceMs) return;
      for (const row of [rowAt(ms, model), total]) {
        if (!seen.has(row)) row.sessions += 1;
        seen.add(row);
        add(row);
      }
    };
    const isByModel = by.includes('model');
    for (const span of [...session.finished, ...session.open]) {
      const model = modelOf(span);
      // Rows of a model hold only its responses, because actions belong to no model.
      if (isByModel && span.kind !== 'chat' && model === undefined) continue;
      count(span.startMs, model, row => addSpan(row, span));
    }
    if (isByModel) continue;
    for (const event of session.events) {
      if (event.event_type !== 'Retry.Loop.Detected') continue;
      count(Date.parse(event.timestamp), undefined, row => {
        row.loops += 1;
      });
    }
  }
  for (const row of [...rows.values(), total]) roundCosts(row);
  return { rows: [...rows.values()].sort((a, b) => inOrder(a, b, by)), total };
}

function empty(by: Row['by']): Row {
  const counts = {
    sessions: 0,
    turns: 0,
    actions: 0,
    failed: 0,
    denied: 0,
    asked: 0,
    risky: 0,
    loops: 0,
    responses: 0,
  };
  return { by, ...counts };
}

function placeOf({ events, finished, open }: Replay): { project: string; repository: string } {
  let repository = UNKNOWN;
  for (const span of [...finished, ...open]) {
    if (span.kind !== 'session' || span.repository === undefined) continue;
    const { owner, name } = span.repository;
    if (name !== undefined) repository = owner === undefined ? name : `${owner}/${name}`;
  }
  const cwd = events.map(event => factsOf(event)?.cwd).find(each => each !== undefined);
  return { project: cwd ?? repository.slice(repository.lastIndexOf('/') + 1), repository };
}

const modelOf = (span: FinishedSpan): string | undefined =>
  span.kind === 'chat' ? span.model : span.kind === 'session' ? span.stated?.model : undefined;

function addSpan(row: Row, span: FinishedSpan): void {
  if (span.kind === 'turn') row.turns += 1;
  if (span.kind === 'action') {
    row.actions += 1;
    if (span.errorType !== undefined) row.failed += 1;
    if (span.decision?.outcome === 'deny') row.denied += 1;
    if (span.decision?.outcome === 'ask' || span.waitMs !== undefined) row.asked += 1;
    if (span.risk?.level === 'high' || span.risk?.level === 'critical') row.risky += 1;
  }
  // The totals at the end of a session count only if no single responses are known.
  const used = span.kind === 'chat' ? span : span.kind === 'session' ? span.stated?.usage : undefined;
  if (used === undefined) return;
  row.responses += span.kind === 'chat' ? (span.sum === undefined && span.errorType === undefined ? 1 : 0) : 0;
  add(row, 'input_tokens', used.input);
  add(row, 'output_tokens', used.output);
  add(row, 'cache_read_tokens', used.cacheRead);
  add(row, 'cache_write_tokens', used.cacheWrite);
  add(row, 'reasoning_tokens', used.reasoning);
  add(row, 'cost_usd', used.pricedUsd);
  add(row, 'unpriced_tokens', used.unpricedTokens);
  add(row, 'stated_cost_usd', used.costUsd);
}

type Sum = { [K in keyof Row]-?: undefined extends Row[K] ? K : never }[keyof Row];

function add(row: Row, sum: Sum, value: number | undefined): void {
  if (value !== undefined) row[sum] = (row[sum] ?? 0) + value;
}

/** Rounds to a millionth of a dollar; smaller digits come from binary fractions. */
function roundCosts(row: Row): void {
  for (const sum of ['cost_usd', 'stated_cost_usd'] as const) {
    if (row[sum] !== undefined) row[sum] = Number(row[sum].toFixed(6));
  }
}

/** Sorts days by date, and other rows by cost. */
function inOrder(a: Row, b: Row, by: readonly Grouping[]): number {
  const days = (a.by.day ?? '').localeCompare(b.by.day ?? '');
  const names = by.map(grouping => (a.by[grouping] ?? '').localeCompare(b.by[grouping] ?? '')).find(each => each !== 0);
  const tokens = (row: Row): number => (row.input_tokens ?? 0) + (row.output_tokens ?? 0);
  return (
    days ||
    (b.cost_usd ?? b.stated_cost_usd ?? 0) - (a.cost_usd ?? a.stated_cost_usd ?? 0) ||
    tokens(b) - tokens(a) ||
    b.actions - a.actions ||
    (names ?? 0)
  );
}
