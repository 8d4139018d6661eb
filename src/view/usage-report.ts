/** Sums up sessions by day, agent, model, project or repository, from the spans of the fold. */
import { factsOf } from '../event/event.ts';
import { countSpan, modelOf } from '../journal/count-spans.ts';
import type { Replay } from '../journal/replay.ts';
import { namedCounts, noCounts, type SpanCounts } from '../journal/span-counts.ts';

export const groupings = ['day', 'agent', 'model', 'project', 'repository'] as const;
export type Grouping = (typeof groupings)[number];

/** A number of tokens or dollars is undefined if none of the spans of the row has it. */
export type Row = { by: { [grouping in Grouping]?: string }; sessions: number } & ReturnType<typeof namedCounts>;

/** A row while spans are added to it. */
interface OpenRow {
  by: Row['by'];
  sessions: number;
  counts: SpanCounts;
}

const rowOf = ({ by, sessions, counts }: OpenRow): Row => ({ by, sessions, ...namedCounts(counts) });

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
  const rows = new Map<string, OpenRow>();
  const total = empty({});
  for (const session of sessions) {
    const own = { agent: session.agent, ...placeOf(session) };
    const seen = new Set<OpenRow>();
    const rowAt = (ms: number, model: string | undefined): OpenRow => {
      const all = { ...own, day: dayOf(ms), model: model ?? UNKNOWN };
      const values = Object.fromEntries(by.map(grouping => [grouping, all[grouping]]));
      const key = JSON.stringify(values);
      const row = rows.get(key) ?? empty(values);
      rows.set(key, row);
      return row;
    };
    const count = (ms: number, model: string | undefined, add: (counts: SpanCounts) => void): void => {
      if (ms < sinceMs) return;
      for (const row of [rowAt(ms, model), total]) {
        if (!seen.has(row)) row.sessions += 1;
        seen.add(row);
        add(row.counts);
      }
    };
    const isByModel = by.includes('model');
    for (const span of [...session.finished, ...session.open]) {
      const model = modelOf(span);
      // Rows of a model hold only its responses, because actions belong to no model.
      if (isByModel && span.kind !== 'chat' && model === undefined) continue;
      count(span.startMs, model, counts => countSpan(counts, span));
    }
    if (isByModel) continue;
    for (const event of session.events) {
      if (event.event_type !== 'Retry.Loop.Detected') continue;
      count(Date.parse(event.timestamp), undefined, counts => {
        counts.loops += 1;
      });
    }
  }
  return { rows: [...rows.values()].map(rowOf).sort((a, b) => inOrder(a, b, by)), total: rowOf(total) };
}

const empty = (by: Row['by']): OpenRow => ({ by, sessions: 0, counts: noCounts() });

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
