/** A session of very many actions: traces of a size that back ends take, linked, and nothing lost between them. */

import { expect, test } from 'vitest';
import { step } from '../../src/assemble/assemble.ts';
import type { FinishedSpan } from '../../src/assemble/finished.ts';
import { openFold } from '../../src/assemble/state.ts';
import { type Event, FACTS, SPEC_VERSION } from '../../src/event/event.ts';
import { uuidOf } from '../../src/lib/hash.ts';
import { bySize } from '../obligations/size.ts';
import { writer } from '../otlp.ts';
import { mapped, START_MS } from '../play.ts';

const MOST_BYTES = 2_500_000;
const actions = bySize({ quick: 5_500, ci: 100_000, full: 100_000 });
const hooks = { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' } as const;

/** The spans of a session with this number of actions, `perTurn` in each turn, each with texts of `chars`. */
function lived(perTurn: number, chars: number): { spans: FinishedSpan[]; stateBytes: number } {
  const fold = openFold('claude-code', 's-1', hooks);
  const spans: FinishedSpan[] = [];
  let seq = 0;
  const add = (event_type: string, data: object, facts: object = {}): void => {
    seq += 1;
    const event = {
      spec_version: SPEC_VERSION,
      event_id: uuidOf('long', String(seq)),
      event_type,
      timestamp: new Date(START_MS + seq * 10).toISOString(),
      source: { tool: 'claude-code' },
      session_id: 's-1',
      data,
      metadata: { [FACTS]: { v: 1, seq, time: 'arrival', ...facts } },
    } as Event;
    spans.push(...step(fold, event).spans);
  };
  let most = 0;
  const mcp = chars === 0 ? {} : { mcp: { server: 'x'.repeat(chars) } };
  add('Session.Start', { start_reason: 'new' });
  for (let made = 0; made < actions; made += 1) {
    const turn = `p${Math.floor(made / perTurn)}`;
    const facts = { turn, call: `c${made}`, tool: 'Bash', ...mcp };
    if (made % perTurn === 0) add('Prompt.Submitted', {}, { turn });
    add('Action.Before', { action: { name: 'shell' } }, facts);
    add('Action.After', { action: { name: 'shell', result: { success: true } } }, { ...facts, duration_ms: 5 });
    if (made % 1_000 === 0) most = Math.max(most, JSON.stringify(fold).length);
    if ((made + 1) % perTurn === 0) add('Agent.Response', { final: true }, { turn });
  }
  add('Session.End', { end_reason: 'exit' });
  return { spans, stateBytes: most };
}

function check(spans: readonly FinishedSpan[]): FinishedSpan[][] {
  expect(spans.filter(span => span.kind === 'action').length).toBe(actions);
  const ids = spans.map(span => JSON.stringify(span.key));
  expect(new Set(ids).size, 'no span leaves twice').toBe(ids.length);
  const traces = new Map<number, FinishedSpan[]>();
  for (const span of spans) traces.set(span.trace.segment, [...(traces.get(span.trace.segment) ?? [])]);
  for (const span of spans) traces.get(span.trace.segment)?.push(span);
  const segments = [...traces.keys()].sort((a, b) => a - b);
  expect(segments).toEqual(segments.map((_, i) => i));
  for (const [segment, trace] of traces) {
    expect(writer.spans(mapped(trace))?.length).toBeLessThan(MOST_BYTES);
    const here = new Set(trace.map(span => JSON.stringify(span.key)));
    for (const span of trace) if (span.parent) expect(here.has(JSON.stringify(span.parent))).toBe(true);
    const [root, ...others] = trace.filter(span => span.parent === undefined);
    expect(others).toEqual([]);
    expect(root?.kind).toBe('session');
    expect(root?.links.map(link => [link.type, link.trace.segment])).toEqual(
      segment === 0 ? [] : [['previous_segment', segment - 1]],
    );
  }
  return [...traces.values()];
}

test(`${actions} actions in turns: a new trace at a turn's start, linked to the one before`, () => {
  const { spans, stateBytes } = lived(250, 0);
  const traces = check(spans);
  expect(traces.length).toBeGreaterThanOrEqual(Math.floor(actions / 2_300));
  expect(spans.filter(span => span.kind === 'turn').length).toBe(Math.ceil(actions / 250));
  expect(stateBytes, 'what is remembered does not grow with the session').toBeLessThan(100_000);
});

test(`${actions} actions in one turn: the turn continues in the next trace`, () => {
  const { spans } = lived(actions, 0);
  check(spans);
  const parts = spans.flatMap(span => (span.kind === 'turn' ? [span] : []));
  expect(parts.map(({ outcome }) => outcome)).toEqual([...parts.slice(1).map(() => 'continued'), 'completed']);
  expect(parts.map(({ ordinal }) => ordinal)).toEqual(parts.map((_, i) => i));
  for (const { links } of parts.slice(1)) expect(links.map(({ type }) => type)).toEqual(['continued_turn']);
});

test('actions with long texts: a trace is cut by its size before it has many spans', () => {
  const traces = check(lived(40, 2_000).spans);
  for (const trace of traces) expect(trace.length).toBeLessThan(2_000);
});
