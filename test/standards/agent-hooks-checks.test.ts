/** One case that each check of Agent Hooks rejects, and a neighbour that it accepts. */
import { describe, expect, it } from 'vitest';
import { validateAgentHooks } from '../../src/standards/agent-hooks/agent-hooks-validator.ts';
import { rules } from '../../src/standards/agent-hooks/rules.ts';
import type { Report } from '../../src/standards/validation.ts';

type Fields = Record<string, unknown>;

let count = 0;
const event = (type: string, data?: Fields, change: Fields = {}): Fields => {
  count += 1;
  return {
    spec_version: '0.1.0',
    event_id: `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`,
    event_type: type,
    timestamp: '2026-11-02T10:00:00.000Z',
    source: { tool: 'some-tool' },
    session_id: 's-1',
    data,
    ...change,
  };
};
const stream = (...events: unknown[]): string => `${events.map(each => JSON.stringify(each)).join('\n')}\n`;
const start = (reason = 'new') => event('Session.Start', { start_reason: reason });
const end = () => event('Session.End', { end_reason: 'exit' });
const acting = (name = 'shell', more: Fields = {}) => event('Action.Before', { action: { name }, ...more });
const acted = (name = 'shell', result: Fields = { success: true }) =>
  event('Action.After', { action: { name, result } });
const later = (what: Fields, seconds: number): Fields => ({
  ...what,
  timestamp: new Date(Date.parse('2026-11-02T10:00:00Z') + seconds * 1_000).toISOString(),
});
const nested = (levels: number): Fields => ({
  ...start(),
  data: { deep: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) },
});

interface Row {
  bad: string;
  good: string;
  /** The line, and the pointer into the event. */
  at: string;
}
const one = (bad: Fields, good: Fields, at: string): Row => ({
  bad: stream(bad),
  good: stream(good),
  at: `1 ${at}`.trim(),
});
/** The same value for one field of both events. */
const field = (name: string, bad: unknown, good: unknown, at = `/${name}`): Row =>
  one({ ...start(), [name]: bad }, { ...start(), [name]: good }, at);
const data = (type: string, bad: Fields, good: Fields, at: string): Row => one(event(type, bad), event(type, good), at);

const table: { readonly [rule in keyof typeof rules]: Row } = {
  'json/syntax': { bad: '{"a":1,}\n', good: stream(start()), at: '1' },
  'json/bom': { bad: `\uFEFF${stream(start())}`, good: stream(start()), at: '1' },
  'json/duplicate-key': {
    bad: stream(start()).replace('"data":', '"session_id":"s-1","data":'),
    good: stream(start()),
    at: '1 /session_id',
  },
  'limit/depth': one(nested(600), nested(400), ''),
  'limit/size': one({ ...start(), metadata: { 'dev.example': 'x '.repeat(1 << 23) } }, start(), ''),
  'stream/empty': { bad: '\n', good: stream(start()), at: '1' },
  'stream/duplicate-event-id': (() => {
    const again = start();
    return { bad: stream(again, again), good: stream(start(), start()), at: '2 /event_id' };
  })(),
  'stream/context': {
    bad: stream(event('Model.Responded', { model_id: 'a/b' })),
    good: stream(event('Model.Responded', { model_id: 'a/b' }), event('Context.UntilCompaction', { tokens_used: 1 })),
    at: '1 /event_type',
  },
  'envelope/type': field('session_id', 7, '7'),
  'envelope/required': field('session_id', undefined, 's-1'),
  'envelope/spec-version': field('spec_version', '0.1', '0.1.0'),
  'envelope/newer-version': field('spec_version', '1.0.0', '0.2.0'),
  'envelope/event-id': field('event_id', 'e-1', 'A0000000-0000-0000-0000-00000000000F'),
  'envelope/timestamp': field('timestamp', '2026-11-02T10:00:00', '2026-11-02T10:00:00+01:00'),
  'envelope/enum': field('actor', { type: 'agent' }, { type: 'ai_agent' }, '/actor/type'),
  'envelope/range': field('risk', { score: 101 }, { score: 100 }, '/risk/score'),
  'envelope/empty': field('source', { tool: '' }, { tool: 'x' }, '/source/tool'),
  'event-type/unknown': field('event_type', 'Session.Begin', 'Session.Start'),
  'event-type/vendor': field('event_type', 'vendor.begin', 'vendor.example.Begin'),
  'data/type': data('Prompt.Submitted', { prompt_length: '3' }, { prompt_length: 3 }, '/data/prompt_length'),
  'data/enum': data('Session.Start', { start_reason: 'begun' }, { start_reason: 'resume' }, '/data/start_reason'),
  'data/range': data(
    'Context.UntilCompaction',
    { percentage_used: 101 },
    { percentage_used: 99.5 },
    '/data/percentage_used',
  ),
  'data/placeholder': data(
    'Session.Start',
    { start_reason: 'new | resume' },
    { start_reason: 'new' },
    '/data/start_reason',
  ),
  'data/listed': data('Agent.Notification', { type: 'Weather' }, { type: 'IdleTimeout' }, '/data/type'),
  'data/expected': data('Action.Before', {}, { action: {} }, '/data/action'),
  'data/negative': data('Prompt.Submitted', { prompt_length: -3 }, { prompt_length: 0 }, '/data/prompt_length'),
  'data/consistent': data(
    'Context.UntilCompaction',
    { tokens_used: 5, tokens_limit: 10, percentage_used: 60 },
    { tokens_used: 5, tokens_limit: 10, percentage_used: 50 },
    '/data/percentage_used',
  ),
  'data/convention': data('Retry.Triggered', { attempt: 'second' }, { attempt: 2 }, '/data/attempt'),
  'metadata/key': field('metadata', { workspace: 1 }, { 'dev.example': 1 }, '/metadata/workspace'),
  'privacy/user': field('user', { id: 'ada@example.com' }, { id: 'u-17' }, '/user/id'),
  'privacy/name': field('actor', { type: 'user', name: 'Ada' }, { type: 'ai_agent', name: 'Agent' }, '/actor/name'),
  'privacy/prompt': data(
    'Prompt.Submitted',
    { prompt: 'Mend it' },
    { prompt_hash: 'sha256:00', prompt_length: 7 },
    '/data/prompt',
  ),
  'privacy/reasoning': data('Agent.Response', { response: 'Done.' }, { response_length: 5 }, '/data/response'),
  'privacy/output': {
    bad: stream(acted('shell', { output: 'x'.repeat(1_025) })),
    good: stream(acted('shell', { output: 'x'.repeat(1_024) })),
    at: '1 /data/action/result/output',
  },
  'privacy/email': {
    bad: stream(acting('shell', { decision: { outcome: 'ask', reason: 'mail to ada@example.com' } })),
    good: stream(
      acting('shell', { decision: { outcome: 'ask', reason: 'clone git@example.com:shop.git, left@1.2.3' } }),
    ),
    at: '1 /data/decision/reason',
  },
  'privacy/secret': {
    bad: stream(event('Agent.Notification', { message: `key AKIA${'IOSFODNN7EXAMPLQ'} is used` })),
    good: stream(event('Agent.Notification', { message: 'the key of the project is used' })),
    at: '1 /data/message',
  },
  'action/name': {
    bad: stream(acting('Bash'), acting('Bash')),
    good: stream(acting('shell'), acting('mcp:search')),
    at: '1 /data/action/name',
  },
  'model/id': data(
    'Model.Responded',
    { model_id: 'some-model' },
    { model_id: 'some-provider/some-model' },
    '/data/model_id',
  ),
  'sequence/without-start': {
    bad: stream(start(), acting('shell'), acted('read_file')),
    // A session whose start is missing may have begun earlier.
    good: stream(start(), acting('shell'), acted('shell')) + stream({ ...acted('read_file'), session_id: 's-2' }),
    at: '3 /event_type',
  },
  'sequence/start-unseen': {
    bad: stream(acted('shell'), acting('shell'), acted('shell'), acted('read_file')),
    good: stream(acting('shell'), acted('shell'), start('resume'), acting('shell'), acted('shell')),
    at: '1 /event_type',
  },
  'sequence/unfinished': {
    bad: stream(start(), acting('shell'), acting('shell'), acted('shell'), end()),
    good: stream(start(), acting('shell'), acted('shell'), acting('shell', { decision: { outcome: 'deny' } }), end()),
    at: '5 /event_type',
  },
  'sequence/start-late': {
    bad: stream(event('Prompt.Submitted', {}), start()),
    good: stream(event('Prompt.Submitted', {}), start('resume')),
    at: '2 /event_type',
  },
  'sequence/after-end': {
    bad: stream(start(), end(), later(event('Prompt.Submitted', {}), 5)),
    good: stream(start(), end(), later(start('resume'), 4), later(event('Prompt.Submitted', {}), 5)),
    at: '3 /event_type',
  },
  'sequence/source': {
    bad: stream(start(), { ...end(), source: { tool: 'another-tool' } }),
    good: stream(start(), { ...start(), session_id: 's-2', source: { tool: 'another-tool' } }),
    at: '2 /source',
  },
  'sequence/clock': {
    bad: stream(start(), later(end(), -2)),
    good: stream(start(), later(end(), -1)),
    at: '2 /timestamp',
  },
  'sequence/parent': {
    bad: stream(start(), { ...start(), session_id: 's-2', parent_session_id: 's-0' }),
    good: stream(start(), { ...start(), session_id: 's-2', parent_session_id: 's-1' }),
    at: '2 /parent_session_id',
  },
};

const found = (report: Report, rule: string): string[] =>
  report.findings.filter(each => each.rule === rule).map(({ line, field: pointer }) => `${line} ${pointer}`.trim());

describe('each check', () => {
  it.each(Object.entries(table))('%s has a case that it rejects and one that it accepts', (rule, { bad, good, at }) => {
    expect(found(validateAgentHooks(bad, 'x.jsonl'), rule)).toEqual([at]);
    expect(found(validateAgentHooks(good, 'x.jsonl'), rule)).toEqual([]);
  });

  it('has a row here', () => {
    expect(Object.keys(table).sort()).toEqual(Object.keys(rules).sort());
  });

  it('accepts a complete session without findings', () => {
    const text = stream(
      start(),
      event('Prompt.Submitted', { prompt_length: 7 }),
      acting(),
      acted(),
      event('Context.UntilCompaction', { tokens_used: 5, tokens_limit: 10 }),
      event('Model.Responded', { model_id: 'a/b', input_tokens: 1 }),
      event('Agent.Response', { response_length: 5 }),
      end(),
    );
    expect(validateAgentHooks(text, 'x.jsonl').findings).toEqual([]);
  });

  it('a session starts again only after its end', () => {
    expect(
      found(validateAgentHooks(stream(start(), start(), end(), start()), 'x.jsonl'), 'sequence/start-late'),
    ).toEqual(['2 /event_type']);
  });

  it('the definition of a context holds for both its types', () => {
    for (const type of ['Context.UntilCompaction', 'Context.Compaction']) {
      const report = validateAgentHooks(stream(event(type, { trigger: 'at noon', tokens_after: '1' })), 'x.jsonl');
      expect(report.findings.map(({ rule, field: pointer }) => [rule, pointer])).toEqual([
        ['data/enum', '/data/trigger'],
        ['data/type', '/data/tokens_after'],
      ]);
    }
  });

  it('of a session is not applied to a single event', () => {
    expect(validateAgentHooks(JSON.stringify(acted('shell')), 'x.json').findings).toEqual([]);
  });
});
