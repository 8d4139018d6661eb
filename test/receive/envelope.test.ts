/** The fields of an Agent Hooks envelope beside its data: the actor, a vendor's metadata, the agent's version. */
import { describe, expect, test } from 'vitest';
import type { Keeper } from '../../src/enrich/content.ts';
import { withoutSecretsOf } from '../../src/enrich/secrets.ts';
import { type ContentMode, defaultModes } from '../../src/event/content-classes.ts';
import { encodeBatches } from '../../src/telemetry/batch.ts';
import { decodeRequest } from '../../src/telemetry/otlp-decode.ts';
import { limits, mapped, play, START_MS } from '../play.ts';

const AGENT = 'goose';
const eventsOf = (...events: object[]) =>
  events.map((event, i) => ({
    atMs: START_MS + i * 1000,
    payload: {
      spec_version: '0.1.0',
      event_id: `${String(i).padStart(8, '0')}-0000-4000-8000-000000000000`,
      timestamp: new Date(START_MS + i * 1000).toISOString(),
      source: { tool: AGENT },
      session_id: 's',
      ...event,
    },
  }));
const keeper = (user: ContentMode, metadata: string[] = []): Keeper => ({
  modes: { ...defaultModes, user },
  metadata,
  longest: 20_000,
  clean: (text, name) => withoutSecretsOf(name, text),
});
const played = (events: object[], keep?: Keeper) => play(eventsOf(...events), false, undefined, keep);

/** All sent attributes: those of the resource, and those of each item. */
function wire({ spans, records }: ReturnType<typeof played>): { [place: string]: { [name: string]: unknown } } {
  const batches = encodeBatches([
    {
      ...{ spans, records, resource: { 'service.name': AGENT } },
      facts: { agent: AGENT, session: 's', provider: undefined, denyAsError: false, limits },
    },
  ]);
  const found: { [place: string]: { [name: string]: unknown } } = {};
  for (const { signal, bytes } of batches) {
    const request = decodeRequest(signal, bytes) as unknown as { [name: string]: Resource[] };
    for (const of of request[signal === 'traces' ? 'resourceSpans' : 'resourceLogs'] ?? []) {
      for (const { spans = [], logRecords = [] } of of.scopeSpans ?? of.scopeLogs ?? []) {
        for (const item of [...spans, ...logRecords])
          found[item.name ?? item.eventName ?? ''] = plain([...of.resource.attributes, ...item.attributes]);
      }
    }
  }
  return found;
}
interface Named {
  attributes: { key: string; value: { [type: string]: unknown } }[];
}
interface Resource {
  resource: Named;
  scopeSpans?: Items[];
  scopeLogs?: Items[];
}
interface Items {
  spans?: (Named & { name?: string; eventName?: string })[];
  logRecords?: (Named & { name?: string; eventName?: string })[];
}
const plain = (attributes: Named['attributes']) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

const EMAIL = 'kim@example.com';
const start = { event_type: 'Session.Start', data: { start_reason: 'new' }, actor: { type: 'system', id: 'launcher' } };
const prompt = { event_type: 'Prompt.Submitted', data: { prompt_length: 4 }, actor: { type: 'user', id: EMAIL } };
const before = {
  event_type: 'Action.Before',
  data: { action: { name: 'shell' } },
  actor: { type: 'ai_agent', id: 'a-1' },
};
const after = {
  event_type: 'Action.After',
  data: { action: { name: 'shell', result: { success: true } } },
  actor: { type: 'ai_agent', id: 'a-2' },
};
const end = { event_type: 'Session.End', data: {}, actor: { type: 'user', id: EMAIL } };
const session = [start, prompt, before, after, { event_type: 'Agent.Response', data: { final: true } }, end];

describe('the actor of an event', () => {
  test('is on each record, and on a span as in the event that opened it', () => {
    const of = wire(played(session));
    expect(of['execute_tool shell']).toMatchObject({
      'agent_hooks.actor.type': 'ai_agent',
      'agent_hooks.actor.id': 'a-1',
    });
    expect(of['invoke_agent goose']?.['agent_hooks.actor.type']).toBe('user');
    expect(of['session goose']).toMatchObject({
      'agent_hooks.actor.type': 'system',
      'agent_hooks.actor.id': 'launcher',
    });
    expect(of['agent_hooks.action.after']).toMatchObject({ 'agent_hooks.actor.id': 'a-2' });
  });

  test('is the prompt of a turn and the start of a session, though other hooks overtake them', () => {
    const timed = (event: object, seconds: number) => ({
      ...event,
      timestamp: new Date(START_MS + seconds * 1000).toISOString(),
    });
    const turn = { metadata: { 'dev.otel-hooks': { v: 1, turn: 't1' } } };
    const { spans } = played([
      { ...timed(before, 3), ...turn },
      timed(start, 0),
      { ...timed(prompt, 2), ...turn },
      timed(end, 4),
    ]);
    expect(spans.filter(({ kind }) => kind === 'turn')).toHaveLength(1);
    const actors = Object.fromEntries(spans.map(span => [span.kind, span.actor?.type]));
    expect(actors).toMatchObject({ session: 'system', turn: 'user' });
  });

  test('has the id of a person only if the mode of users allows it; another id that is not a word is not sent', () => {
    const idIn = (keep?: Keeper) =>
      wire(played(session, keep))['agent_hooks.prompt.submitted']?.['agent_hooks.actor.id'];
    expect(idIn()).toBeUndefined();
    expect(idIn(keeper('off'))).toBeUndefined();
    expect(idIn(keeper('hash'))).toMatch(/^hmac-sha256:/);
    expect(idIn(keeper('full'))).toBe(EMAIL);
    for (const keep of [undefined, keeper('off'), keeper('hash')]) {
      const event = { ...before, actor: { type: 'ai_agent', id: EMAIL } };
      const { events, spans } = played([start, prompt, event, end], keep);
      expect(JSON.stringify([events, mapped(spans).map(span => span.attributes)])).not.toContain('example.com');
    }
  });

  test.each(['human', 'User', 5, undefined])(
    'has no id if its type, %s, is invalid, because it may be a person',
    type => {
      const { events } = played([start, { ...prompt, actor: { type, id: 'kim.smith' } }, end]);
      expect(events.map(({ event_type }) => event_type)).toContain('Prompt.Submitted');
      expect(JSON.stringify(events)).not.toContain('kim');
    },
  );

  test('is recognized by its hash, if another program made it with the same key', () => {
    const { events } = played(session, keeper('hash'));
    const again = play(
      [{ atMs: START_MS, payload: events.map(event => JSON.stringify(event)).join('\n') }],
      false,
      undefined,
      keeper('hash'),
    );
    expect(again.events.find(({ event_type }) => event_type === 'Prompt.Submitted')?.actor).toEqual(
      events.find(({ event_type }) => event_type === 'Prompt.Submitted')?.actor,
    );
  });
});

describe('metadata of a vendor', () => {
  const metadata = {
    'dev.example': {
      workspace: 'shop',
      seats: 3,
      beta: true,
      labels: ['a', 'b', 7],
      nested: { ticket: 'AB-12' },
      secret: 'x',
    },
    'com.other': { note: `token ghp_${'a1B2'.repeat(9)}, mail ${EMAIL}` },
    'dev.otel-hooks': { v: 1, tool: 'Shell' },
    flat: 'yes',
  };
  const events = [start, { ...prompt, metadata }, before, end];
  const names = [
    'dev.example.workspace',
    'dev.example.seats',
    'dev.example.labels',
    'dev.example.nested.ticket',
    'com.other.note',
    'flat',
    'dev.otel-hooks.tool',
    'dev.example',
    'not.there',
  ];

  test('is neither kept nor sent unless it was requested by its name', () => {
    for (const keep of [undefined, keeper('full')]) {
      const { events: journaled } = played(events, keep);
      expect(journaled.flatMap(event => Object.keys(event.metadata ?? {}))).toEqual(
        journaled.map(() => 'dev.otel-hooks'),
      );
    }
  });

  test('stays at its place, without secrets, and is sent on its record and on the span that it opened', () => {
    const result = played(events, keeper('off', names));
    const metadata = result.events.find(({ event_type }) => event_type === 'Prompt.Submitted')?.metadata ?? {};
    expect(metadata['dev.example']).toEqual({
      workspace: 'shop',
      seats: 3,
      labels: ['a', 'b'],
      nested: { ticket: 'AB-12' },
    });
    expect(metadata).toMatchObject({ flat: 'yes', 'dev.otel-hooks': { v: 1 } });
    const of = wire(result);
    for (const place of ['agent_hooks.prompt.submitted', 'invoke_agent goose']) {
      expect(of[place]).toMatchObject({
        'agent_hooks.metadata.dev.example.workspace': 'shop',
        'agent_hooks.metadata.dev.example.nested.ticket': 'AB-12',
        'agent_hooks.metadata.com.other.note': 'token [redacted:github], mail [redacted:email]',
      });
      expect(of[place]).not.toHaveProperty(['agent_hooks.metadata.dev.example.secret']);
      expect(of[place]).not.toHaveProperty(['agent_hooks.metadata.dev.otel-hooks.tool']);
    }
    expect(of['execute_tool shell']).not.toHaveProperty(['agent_hooks.metadata.flat']);
  });

  test('is a label: long texts and lists are cut', () => {
    const long = { 'dev.example': { workspace: 'é'.repeat(5_000), labels: Array.from({ length: 99 }, () => 'a') } };
    const { events: journaled } = played([{ ...start, metadata: long }], keeper('off', names));
    const metadata = journaled[0]?.metadata?.['dev.example'] as { workspace: string; labels: string[] };
    expect([metadata.workspace.length, metadata.labels.length]).toEqual([256, 16]);
  });
});

describe("the agent's version", () => {
  const source = { tool: AGENT, version: '2.3.41' };

  test('is on records and actions as in their events, on turns and sessions as known then', () => {
    const of = wire(played([start, prompt, before, { ...after, source }, session[4] ?? {}, end]));
    const versions = Object.fromEntries(
      Object.entries(of).map(([place, resource]) => [place, resource['service.version']]),
    );
    expect(versions).toEqual({
      'agent_hooks.session.start': undefined,
      'agent_hooks.prompt.submitted': undefined,
      'agent_hooks.action.before': undefined,
      'agent_hooks.action.after': '2.3.41',
      'agent_hooks.agent.response': undefined,
      'agent_hooks.session.end': undefined,
      'execute_tool shell': '2.3.41',
      'invoke_agent goose': '2.3.41',
      'session goose': '2.3.41',
    });
  });

  test('stays the same for the part of a session before an upgrade', () => {
    const newer = { source: { tool: AGENT, version: '2.4.0' } };
    const resumed = { ...start, data: { start_reason: 'resume' }, ...newer };
    const { spans } = played([{ ...start, source }, { ...prompt, source }, resumed, { ...end, ...newer }]);
    expect(spans.map(span => [span.kind, span.trace.segment, span.version])).toEqual([
      ['turn', 0, '2.3.41'],
      ['session', 0, '2.3.41'],
      ['session', 1, '2.4.0'],
    ]);
  });

  test('is one word, or absent', () => {
    for (const version of ['a sentence of words', EMAIL, 'x'.repeat(65), '/home/kim/bin', 'home/kim/bin'])
      expect(played([{ ...start, source: { tool: AGENT, version } }]).events[0]?.source).toEqual({ tool: AGENT });
  });
});

test('the choice of an agent is recorded in numbers and words, never in names of files, sentences or addresses', () => {
  const decision = {
    decision_type: 'plan',
    selected: 'option-2',
    options_count: 3,
    confidence: 0.5,
    summary_length: 40,
  };
  const decided = (data: object) => played([start, { event_type: 'Agent.Decision', data }]).events.at(-1)?.data;
  expect(decided({ ...decision, summary: 'a thought', options: ['a', 'b'] })).toEqual(decision);
  for (const selected of ['src/clock.ts', 'clock.ts', EMAIL, 'two words', 'x'.repeat(33)])
    expect(decided({ selected, confidence: 'high', options_count: '3' })).toEqual({});
});
