/** Plays native payloads through recognition, redaction and the fold in memory, as deliver does. */

import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { agents } from '../src/agents/index.ts';
import { step, unread } from '../src/assemble/assemble.ts';
import type { FinishedRecord, FinishedSpan } from '../src/assemble/finished.ts';
import type { Limits } from '../src/config/config.ts';
import type { Keeper } from '../src/enrich/content.ts';
import { type Event, SETTLED } from '../src/event/event.ts';
import type { Fragment } from '../src/hook/fragment.ts';
import { conclude } from '../src/identify/identify.ts';
import { keyedHash } from '../src/lib/hash.ts';
import { drain } from '../src/receive/drain.ts';
import { newSession, type Pinned, type SessionState } from '../src/session/session-state.ts';
import { resourceOf } from '../src/telemetry/resource.ts';
import { nodeOf } from '../src/view/span-node.ts';
import { drawTree } from '../src/view/tree.ts';
import { readableSpanOf } from './otlp.ts';

export interface Told {
  atMs: number;
  payload: object | string;
  header?: Record<string, string>;
  /** The kernel's clock, where the front end could read one. */
  upMs?: number;
}

export interface Played {
  events: Event[];
  spans: FinishedSpan[];
  records: FinishedRecord[];
  fates: string[];
  oddities: Record<string, number>;
  /** What drain found odd, and the items of lists that it could not read. */
  odd: string[];
  bad: { reason: string; text: string }[];
  states: Map<string, SessionState>;
}

export const limits: Limits = {
  span: { attributes: 128, events: 128, links: 128 },
  spanEvent: { attributes: 128 },
  spanLink: { attributes: 128 },
  log: { attributes: 128 },
};

export const pinned: Pinned = {
  destinations: [],
  resource: {},
  denyAsError: false,
  caller: undefined,
  sampler: { kind: 'always_on', ratio: 1 },
  limits,
};

export const START_MS = Date.parse('2026-03-02T09:00:00.000Z');

/**
 * `stored`: the state goes through JSON between any two fragments, as between two rounds. `keep`: which content stays.
 * `watch`: loops and budgets. `settles`: what is closed leaves at once, or when all was told, as in one round.
 */
export function play(
  told: readonly Told[],
  stored = false,
  shape?: 'turn',
  keep?: Keeper,
  watch?: Pinned['watch'],
  settles: 'at once' | 'in the end' = 'at once',
): Played {
  const played: Played = {
    events: [],
    spans: [],
    records: [],
    fates: [],
    oddities: {},
    odd: [],
    bad: [],
    states: new Map(),
  };
  const take = (event: Event, state: SessionState): void => {
    played.events.push(event);
    const out = step(state.fold, event);
    played.spans.push(...out.spans);
    played.records.push(...out.records);
    for (const [kind, count] of Object.entries(out.oddities))
      played.oddities[kind] = (played.oddities[kind] ?? 0) + count;
    if (settles === 'at once') settle(state, Date.parse(event.timestamp));
  };
  const settle = (state: SessionState, atMs: number): void => {
    for (const of of unread(state.fold)) {
      if (!unread(state.fold).includes(of)) continue;
      const settled = conclude(state, { event_type: SETTLED, data: { of, reason: 'absent' } }, of, atMs);
      take(settled, state);
    }
  };
  for (const [i, each] of told.entries()) {
    const result = drain(fragmentOf(each, i), {
      agents,
      hash: content => keyedHash('test', content),
      keep: () => keep,
      session: ({ agent, session, key }) => {
        const known = played.states.get(key) ?? newSession({ agent, session, key }, { ...pinned, shape, watch });
        played.states.set(key, known);
        return known;
      },
    });
    played.fates.push(result.fate === 'rejected' ? result.reason : result.fate);
    if (result.fate === 'rejected') continue;
    if (result.fate === 'journaled') {
      played.odd.push(...result.odd);
      played.bad.push(...result.bad);
    }
    for (const { state, events } of result.parts) for (const event of events) take(event, state);
    if (!stored) continue;
    for (const { state } of result.parts) {
      played.states.set(state.key, JSON.parse(JSON.stringify(state)) as SessionState);
    }
  }
  for (const state of played.states.values()) settle(state, state.fold.lastMs);
  return played;
}

export function fragmentOf(told: Told, i = 0): Fragment {
  const payload = Buffer.from(typeof told.payload === 'string' ? told.payload : JSON.stringify(told.payload));
  return {
    name: `0-0-${i}-test`,
    header: { ppid: '1', ...told.header },
    payload,
    atMs: told.atMs,
    sizeBytes: payload.length,
    ...(told.upMs === undefined ? {} : { upMs: told.upMs, boot: '0000beef' }),
  };
}

export function mapped(spans: readonly FinishedSpan[]): ReadableSpan[] {
  return spans.map(span =>
    readableSpanOf(
      span,
      { agent: span.trace.agent, session: span.trace.session, provider: 'anthropic', denyAsError: false, limits },
      resourceOf({ 'service.name': span.trace.agent }),
    ),
  );
}

const millis = ([seconds, nanos]: [number, number]): number => seconds * 1000 + nanos / 1e6;

export function treeOf(spans: readonly FinishedSpan[]): string {
  const traces = new Map<string, ReadableSpan[]>();
  for (const span of mapped(spans)) {
    const id = span.spanContext().traceId;
    traces.set(id, [...(traces.get(id) ?? []), span]);
  }
  return [...traces.values()]
    .map(trace =>
      drawTree(
        trace.map(span => {
          const node = nodeOf({
            spanId: span.spanContext().spanId,
            parentSpanId: span.parentSpanContext?.spanId,
            name: span.name,
            startMs: millis(span.startTime),
            endMs: millis(span.endTime),
            isError: span.status.code === 2,
            attributes: span.attributes,
          });
          return {
            ...node,
            notes: [...node.notes, ...span.links.map(link => `link ${link.attributes?.['agent_hooks.link.type']}`)],
          };
        }),
        { color: false, columns: 110, unicode: false },
      ),
    )
    .join('--\n');
}
