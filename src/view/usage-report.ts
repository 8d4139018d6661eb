/**
 * Sums up sessions, by day, repository, model and others. A session whose entry of the index has all that the grouping
 * needs is added by its entry; of other sessions the spans are added, by the times at which they began.
 */
import type { FinishedSpan } from '../assemble/finished.ts';
import { factsOf } from '../event/event.ts';
import { countSpan, modelOf } from '../journal/count-spans.ts';
import type { Replay } from '../journal/replay.ts';
import { countsOf, type IndexedSession } from '../journal/session-index.ts';
import { namedCounts, noCounts, type SpanCounts, sumOf } from '../journal/span-counts.ts';

export const groupings = [
  'day',
  'session',
  'repository',
  'branch',
  'agent',
  'model',
  'project',
  'user',
  'action',
  'subagent',
] as const;
export type Grouping = (typeof groupings)[number];

/** Groupings by a part of a session. The index has only sums of whole sessions. */
const byParts: readonly Grouping[] = ['model', 'action', 'subagent'];

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
export const MAIN_AGENT = 'main agent';

export interface Report {
  rows: Row[];
  total: Row;
}

export interface Question {
  by: readonly Grouping[];
  sinceMs: number;
  /** Exclusive. */
  untilMs: number;
  dayOf: (ms: number) => string;
}

type Place = { [grouping in 'session' | 'repository' | 'branch' | 'agent' | 'project' | 'user']: string };

export class UsageReport {
  private readonly question: Question;
  private readonly rows = new Map<string, OpenRow>();
  private readonly total = empty({});

  constructor(question: Question) {
    this.question = question;
  }

  /** Whether the session of this entry did something in the time of the report, as far as its entry shows. */
  concerns({ firstMs, lastMs }: IndexedSession): boolean {
    return lastMs >= this.question.sinceMs && firstMs < this.question.untilMs;
  }

  /** Adds a session by its entry. Returns false if the report needs its spans. `user`: the user of its first event. */
  addEntry(entry: IndexedSession, user: string | undefined): boolean {
    const { by, sinceMs, untilMs, dayOf } = this.question;
    const { firstMs, lastMs } = entry;
    if (by.some(grouping => byParts.includes(grouping)) || firstMs < sinceMs || lastMs >= untilMs) return false;
    const day = dayOf(firstMs);
    if (by.includes('day') && day !== dayOf(lastMs)) return false;
    const place = placeOf(entry, user);
    const counts = countsOf(entry);
    for (const row of [this.rowAt({ ...place, day }), this.total]) {
      row.sessions += 1;
      row.counts = sumOf([row.counts, counts]);
    }
    return true;
  }

  /** Adds the spans of a session that began in the time of the report. */
  addSpans(entry: IndexedSession, { events, finished, open }: Replay): void {
    const { by, sinceMs, untilMs, dayOf } = this.question;
    const place = placeOf(entry, events[0] && userOf(events[0]));
    const seen = new Set<OpenRow>();
    const count = (ms: number, parts: Partial<Record<Grouping, string>>, add: (counts: SpanCounts) => void): void => {
      if (ms < sinceMs || ms >= untilMs) return;
      for (const row of [this.rowAt({ ...place, ...parts, day: dayOf(ms) }), this.total]) {
        if (!seen.has(row)) row.sessions += 1;
        seen.add(row);
        add(row.counts);
      }
    };
    const isOf = (grouping: Grouping): boolean => by.includes(grouping);
    const addSpan = (span: FinishedSpan): void => {
      const model = modelOf(span);
      // Rows of a model hold only its responses, because actions belong to no model; rows of an action only its uses.
      if (isOf('model') && span.kind !== 'chat' && model === undefined) return;
      if (isOf('action') && span.kind !== 'action') return;
      const action = span.kind === 'action' ? span.tool : UNKNOWN;
      count(span.startMs, { model: model ?? UNKNOWN, action, subagent: subagentOf(span) }, counts =>
        countSpan(counts, span),
      );
    };
    for (const span of finished) addSpan(span);
    for (const span of open) addSpan(withoutEnd(span));
    if (isOf('model') || isOf('action')) return;
    for (const event of events) {
      if (event.event_type !== 'Retry.Loop.Detected') continue;
      const subagent = event.parent_session_id === undefined ? MAIN_AGENT : (factsOf(event)?.agent ?? UNKNOWN);
      count(Date.parse(event.timestamp), { subagent }, counts => {
        counts.loops += 1;
      });
    }
  }

  report(): Report {
    const rows = [...this.rows.values()].map(rowOf).sort((a, b) => inOrder(a, b, this.question.by));
    return { rows, total: rowOf(this.total) };
  }

  private rowAt(all: { readonly [grouping in Grouping]?: string }): OpenRow {
    const values = Object.fromEntries(this.question.by.map(grouping => [grouping, all[grouping] ?? UNKNOWN]));
    const key = JSON.stringify(values);
    const row = this.rows.get(key) ?? empty(values);
    this.rows.set(key, row);
    return row;
  }
}

const empty = (by: Row['by']): OpenRow => ({ by, sessions: 0, counts: noCounts() });

/** The user that the configuration allows to journal. */
export const userOf = ({ user }: { user?: { id?: string | undefined; name?: string | undefined } | undefined }) =>
  user?.id ?? user?.name;

function placeOf({ session, agent, repository = UNKNOWN, branch, cwd }: IndexedSession, user?: string): Place {
  const project = cwd ?? repository.slice(repository.lastIndexOf('/') + 1);
  return { session, agent, repository, branch: branch ?? UNKNOWN, project, user: user ?? UNKNOWN };
}

function subagentOf(span: FinishedSpan): string {
  if (span.kind === 'subagent') return span.agent ?? UNKNOWN;
  const isOfSubagent = 'subagent' in span && span.subagent !== undefined;
  return isOfSubagent ? (span.agent ?? UNKNOWN) : MAIN_AGENT;
}

/** An action that still runs has not failed; it is closed only for display. */
const withoutEnd = (span: FinishedSpan): FinishedSpan =>
  span.kind === 'action' && span.outcome === 'abandoned' ? { ...span, errorType: undefined } : span;

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
