/** Plays native payloads through recognition, redaction and the fold in memory, as deliver does. */

import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { TranscriptReading } from '../src/agents/contract/contract.ts';
import { agents } from '../src/agents/index.ts';
import type { FinishedRecord, FinishedSpan } from '../src/assemble/finished.ts';
import type { Limits } from '../src/config/config.ts';
import type { Keeper } from '../src/enrich/content.ts';
import type { Event } from '../src/event/event.ts';
import type { Fragment } from '../src/hook/fragment.ts';
import type { Judge } from '../src/identify/enrichers.ts';
import { keyedHash } from '../src/lib/hash.ts';
import { noCounts, type RoundContext, type RoundCounts, SessionInRound } from '../src/pipeline/session-in-round.ts';
import { type TakenFragment, takeFragment } from '../src/pipeline/take-fragment.ts';
import { newSession, type Pinned, type SessionState } from '../src/session/session-state.ts';
import { resourceOf } from '../src/telemetry/resource.ts';
import { nodeOf } from '../src/view/span-node.ts';
import { drawTree } from '../src/view/tree.ts';
import { readableSpanOf } from './otlp.ts';

export interface PlayedHook {
  atMs: number;
  payload: object | string;
  header?: Record<string, string>;
  /** The kernel's clock, if the front end could read it. */
  upMs?: number;
}

export interface Played {
  events: Event[];
  spans: FinishedSpan[];
  records: FinishedRecord[];
  fates: string[];
  oddities: Record<string, number>;
  /** The problems of the drain, and the items of lists that it could not read. */
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

/** Sessions that take fragments as those of a round do, in memory. */
export interface Player {
  sessions: Map<string, SessionInRound>;
  counts: RoundCounts;
  take(fragment: Fragment): TakenFragment;
  /** A session of this player with a state that was stored. */
  session(state: SessionState): SessionInRound;
}

export function playerOf(more: Partial<RoundContext> = {}, pinnedTo: Pinned = pinned): Player {
  const counts = noCounts();
  const sessions = new Map<string, SessionInRound>();
  const context: RoundContext = { hash: content => keyedHash('test', content), nowMs: START_MS, counts, ...more };
  return {
    sessions,
    counts,
    session: state => new SessionInRound(state, context),
    take: fragment =>
      takeFragment(fragment, agents, opening => {
        const known = sessions.get(opening.key) ?? new SessionInRound(newSession(opening, pinnedTo), context);
        sessions.set(opening.key, known);
        return known;
      }),
  };
}

/** The events of a hook, without the events that a session adds. */
export const eventsFrom = (taken: TakenFragment): Event[] =>
  taken.fate === 'rejected'
    ? []
    : taken.sessions.flatMap(session =>
        session.events.splice(0).filter(({ event_type: type }) => !type.startsWith('vendor.otel-hooks.')),
      );

/** The events of one row of a transcript. */
export function eventsOfRow(state: SessionState, reading: TranscriptReading): Event[] {
  const session = playerOf().session(state);
  session.report(reading, { atMs: undefined, subagent: undefined, isAgain: false });
  return session.events;
}

/**
 * `stored`: the state goes through JSON between any two fragments, as between two rounds. `keep`: the content that
 * stays. `watch`: loops and budgets. `settles`: closed spans are sent at once, or after all fragments, as in one round.
 * `risk`: judges the actions.
 */
export function play(
  hooks: readonly PlayedHook[],
  stored = false,
  shape?: 'turn',
  keep?: Keeper,
  watch?: Pinned['watch'],
  settles: 'at once' | 'in the end' = 'at once',
  risk?: Judge,
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
  const context = { keep: () => keep, risk, settles: settles === 'at once' ? ('never waiting' as const) : undefined };
  const player = playerOf(context, { ...pinned, shape, watch });
  const { sessions } = player;
  const collect = (session: SessionInRound): void => {
    played.events.push(...session.events.splice(0));
    played.spans.push(...session.spans.splice(0));
    played.records.push(...session.records.splice(0));
    played.states.set(session.state.key, session.state);
  };
  for (const [i, each] of hooks.entries()) {
    const taken = player.take(fragmentOf(each, i));
    played.fates.push(taken.fate === 'rejected' ? taken.reason : taken.fate);
    if (taken.fate === 'rejected') continue;
    if (taken.fate === 'journaled') {
      played.odd.push(...taken.oddities);
      played.bad.push(...taken.bad);
    }
    for (const session of taken.sessions) {
      collect(session);
      const { state } = session;
      if (stored) sessions.set(state.key, player.session(JSON.parse(JSON.stringify(state))));
    }
  }
  for (const session of sessions.values()) {
    session.settleUnread(session.state.fold.lastMs);
    collect(session);
  }
  played.oddities = player.counts.oddities;
  return played;
}

export function fragmentOf(hook: PlayedHook, i = 0): Fragment {
  const payload = Buffer.from(typeof hook.payload === 'string' ? hook.payload : JSON.stringify(hook.payload));
  return {
    name: `0-0-${i}-test`,
    header: { ppid: '1', ...hook.header },
    payload,
    atMs: hook.atMs,
    sizeBytes: payload.length,
    ...(hook.upMs === undefined ? {} : { upMs: hook.upMs, boot: '0000beef' }),
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
