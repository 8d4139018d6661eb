/** Answers to the questions that bring a reader to a session: its cost, its time, its failures and its denials. */
import type { PageSpan } from './data.ts';
import { count, counted } from './format.ts';

export interface ModelUse {
  model: string;
  responses: number;
  input?: number | undefined;
  cacheRead?: number | undefined;
  output?: number | undefined;
  costUsd?: number | undefined;
}

export const UNKNOWN = 'unknown';

/** The use of each model, the most expensive first. */
export function modelUses(spans: readonly PageSpan[]): ModelUse[] {
  const uses = new Map<string, ModelUse>();
  for (const { kind, model = UNKNOWN, usage = {} } of spans) {
    if (kind !== 'chat') continue;
    const use = uses.get(model) ?? { model, responses: 0 };
    uses.set(model, use);
    use.responses += 1;
    for (const name of ['input', 'cacheRead', 'output', 'costUsd'] as const) {
      const value = usage[name];
      if (value !== undefined) use[name] = (use[name] ?? 0) + value;
    }
  }
  return [...uses.values()].sort((a, b) => (b.costUsd ?? 0) - (a.costUsd ?? 0) || b.responses - a.responses);
}

export const timeClasses = ['person', 'actions', 'model', 'other', 'idle'] as const;
export type TimeClass = (typeof timeClasses)[number];

/**
 * Divides the time between the first and the last span of each journal into classes that add up to it. The time
 * between two journals of a resumed session is in no class, as in the length of the session. Where spans overlap, the time
 * belongs to the first class that fits: an action waits for a person, an action runs, a model responds, a turn runs.
 * The rest is the time between turns. A span with children is no work of its own, apart from the turn.
 */
export function timeUse(journals: readonly (readonly PageSpan[])[]): { [name in TimeClass]: number } {
  const spans = journals.flat();
  const parents = new Set(spans.map(({ parent }) => parent));
  const edges: [ms: number, name: TimeClass, change: 1 | -1][] = [];
  const add = (name: TimeClass, fromMs: number, toMs: number): void => {
    if (toMs > fromMs) edges.push([fromMs, name, 1], [toMs, name, -1]);
  };
  for (const { id, kind, startMs, endMs, askedMs = startMs, waitMs } of spans) {
    if (kind === 'turn' || kind === 'subagent') add('other', startMs, endMs);
    else if (kind === 'chat') add('model', startMs, endMs);
    else if (kind === 'action' && !parents.has(id)) add('actions', startMs, endMs);
    if (waitMs !== undefined) add('person', askedMs, askedMs + waitMs);
  }
  for (const each of journals) {
    const startMs = each.reduce((first, span) => Math.min(first, span.startMs), Number.POSITIVE_INFINITY);
    const endMs = each.reduce((last, span) => Math.max(last, span.endMs), startMs);
    if (each.length > 0) add('idle', startMs, endMs);
  }
  edges.sort(([a], [b]) => a - b);
  const running = { person: 0, actions: 0, model: 0, other: 0, idle: 0 };
  const use = { ...running };
  let lastMs = edges[0]?.[0] ?? 0;
  for (const [ms, name, change] of edges) {
    const current = timeClasses.find(each => running[each] > 0);
    if (current !== undefined) use[current] += ms - lastMs;
    running[name] += change;
    lastMs = ms;
  }
  return use;
}

/** The responses and actions that took the most time, the waiting for people included. */
export function longest(spans: readonly PageSpan[], most: number): PageSpan[] {
  const parents = new Set(spans.map(({ parent }) => parent));
  return spans
    .filter(({ id, kind }) => kind === 'chat' || (kind === 'action' && !parents.has(id)))
    .sort((a, b) => lengthOf(b) - lengthOf(a) || a.startMs - b.startMs)
    .slice(0, most);
}

/** The wait of an action can be outside of the time that the agent states for it. */
export const lengthOf = ({ startMs, endMs, askedMs, waitMs = 0 }: PageSpan): number =>
  Math.max(endMs, (askedMs ?? startMs) + waitMs) - Math.min(startMs, askedMs ?? startMs);

/** Failed actions and responses. A turn counts only if it failed without a failed response. */
export function failures(spans: readonly PageSpan[]): PageSpan[] {
  const failed = spans.filter(({ error, isDenied }) => error !== undefined && !isDenied);
  const turns = new Set(failed.filter(({ kind }) => kind === 'chat').map(({ parent }) => parent));
  return inOrder(
    failed.filter(({ kind, id }) => kind === 'action' || kind === 'chat' || (kind === 'turn' && !turns.has(id))),
  );
}

/** `10 actions (1 interrupted), 2 responses`. The actions are those that the list of sessions counts as failed. */
export function failureCounts(failed: readonly PageSpan[]): string {
  const kinds = { action: 'action', chat: 'response', turn: 'turn' } as const;
  const parts = (['action', 'chat', 'turn'] as const).flatMap(kind => {
    const these = failed.filter(span => span.kind === kind);
    const interrupted = these.filter(({ error }) => error === 'interrupted').length;
    if (these.length === 0) return [];
    return [`${counted(these.length, kinds[kind])}${interrupted === 0 ? '' : ` (${count(interrupted)} interrupted)`}`];
  });
  return parts.join(', ') || 'nothing';
}

export const denials = (spans: readonly PageSpan[]): PageSpan[] => inOrder(spans.filter(({ isDenied }) => isDenied));

const inOrder = (spans: readonly PageSpan[]): PageSpan[] => [...spans].sort((a, b) => a.startMs - b.startMs);
