import { expect, test } from 'vitest';
import { step } from '../../src/assemble/assemble.ts';
import type { FinishedSpan } from '../../src/assemble/finished.ts';
import { openFold } from '../../src/assemble/state.ts';
import { type Cost, type Event, FACTS, type Facts } from '../../src/event/event.ts';
import { incrementsOf } from '../../src/telemetry/increments.ts';
import { resourceOf } from '../../src/telemetry/resource.ts';
import { readableSpanOf } from '../otlp.ts';
import { limits, START_MS } from '../play.ts';

let seq = 0;
const event = (type: string, data: object = {}, facts: Partial<Facts> = {}): Event => {
  seq += 1;
  return {
    spec_version: '0.1.0',
    event_id: `00000000-0000-8000-8000-${String(seq).padStart(12, '0')}`,
    event_type: type,
    timestamp: new Date(START_MS + seq * 1_000).toISOString(),
    source: { tool: 'a' },
    session_id: 's',
    data,
    metadata: { [FACTS]: { v: 1, seq, time: 'native', ...facts } },
  } as Event;
};
const response = (cost: Cost | undefined, reported?: number): Event =>
  event(
    'Model.Responded',
    { model_id: 'm-1', input_tokens: 100, output_tokens: 10 },
    { turn: 'p', cost, cost_usd: reported, provider: 'x' },
  );

function played(...responses: Event[]): { spans: FinishedSpan[]; events: Event[] } {
  const fold = openFold('a', 's', { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' });
  const events = [
    event('Session.Start', { start_reason: 'new' }),
    event('Prompt.Submitted', {}, { turn: 'p' }),
    ...responses,
    event('Agent.Response', { final: true }, { turn: 'p' }),
    event('Session.End', { end_reason: 'exit' }),
  ];
  return { spans: events.flatMap(each => step(fold, each).spans), events };
}

const costs = (spans: FinishedSpan[]): string[] =>
  spans.map(span => {
    const facts = { agent: 'a', session: 's', provider: undefined, denyAsError: false, limits };
    const { attributes } = readableSpanOf(span, facts, resourceOf({}));
    const entries = Object.entries(attributes).filter(([name]) => name.startsWith('agent_hooks.cost.'));
    return [span.kind, ...entries.map(([name, value]) => `${name.slice('agent_hooks.cost.'.length)}=${value}`)].join(
      ' ',
    );
  });

const prices = 'genai-prices 0.1.8';

test('a response has its cost and the list of prices, and its turn and session have the sum', () => {
  const { spans } = played(response({ usd: 0.1, prices }), response({ usd: 0.2, prices }, 0.25));
  expect(costs(spans)).toEqual([
    `chat usd=0.1 prices=${prices}`,
    `chat usd=0.2 prices=${prices} reported_usd=0.25`,
    'turn usd=0.3 reported_usd=0.25',
    'session usd=0.3 reported_usd=0.25',
  ]);
});

test('without a price there is no cost, but the tokens are counted', () => {
  const { spans, events } = played(response({ prices }), response({ usd: 0.2, prices }), response(undefined));
  expect(costs(spans)).toEqual([
    'chat',
    `chat usd=0.2 prices=${prices}`,
    'chat',
    'turn usd=0.2 unpriced_tokens=110',
    'session usd=0.2 unpriced_tokens=110',
  ]);
  const counted = incrementsOf(events, spans, 'a', () => true).filter(({ metric }) => metric.startsWith('cost'));
  expect(counted.map(({ metric, value }) => `${metric} ${value}`)).toEqual(['costUnpriced 110', 'cost 0.2']);
});
