/** The text that an operator reads for each type of event, in Loki or in another store of records. */

import { expect, it } from 'vitest';
import { type Event, eventTypes, FACTS, type Facts } from '../../src/event/event.ts';
import { subMillisecondNanos } from '../../src/telemetry/ids.ts';
import { lineOf } from '../../src/telemetry/line.ts';
import { severities } from '../../src/telemetry/logs.ts';
import { eventNameOf } from '../../src/telemetry/names.ts';
import { resourceOf } from '../../src/telemetry/resource.ts';
import { readableRecordOf } from '../otlp.ts';
import { limits } from '../play.ts';

const ID = '3f2a9b1c-4d5e-8f70-8192-a3b4c5d6e7f8';

function line(type: string, data: object, facts: Partial<Facts> = {}, more: object = {}): string {
  const event = { event_type: type, event_id: ID, session_id: 's', data, ...more } as unknown as Event;
  return lineOf(event, facts);
}

const cases: Record<string, [data: object, facts: Partial<Facts>, line: string, more?: object]> = {
  'Session.Start': [{ start_reason: 'resume' }, { model: 'claude-sonnet-4-5' }, 'resume claude-sonnet-4-5'],
  'Session.End': [{ end_reason: 'exit', usage: { total_tokens: 1200 } }, {}, 'exit 1200 tokens'],
  'Session.Abort': [{ end_reason: 'idle_timeout' }, {}, 'idle_timeout'],
  'Prompt.Submitted': [
    { prompt_length: 52, decision: { outcome: 'deny' } },
    { decision: { source: 'hook', basis: 'observed' } },
    '52 characters deny by hook',
  ],
  'Agent.Plan.Start': [{ plan_type: 'plan' }, {}, 'plan'],
  'Agent.Plan.End': [{ plan_type: 'plan', step_count: 4 }, {}, 'plan 4 steps'],
  'Agent.Decision': [
    { decision: { outcome: 'ask' }, action_name: 'shell' },
    { tool: 'Bash', executable: 'git', decision: { source: 'unknown', basis: 'observed' } },
    'Bash git ask',
  ],
  'Agent.Response': [{ response_length: 210, final: true }, { interrupted: true }, '210 characters interrupted'],
  'Model.Requested': [{ model_id: 'gpt-5.5' }, {}, 'gpt-5.5'],
  'Model.Responded': [
    { model_id: 'gpt-5.5', input_tokens: 5020, output_tokens: 180 },
    { finish: 'end_turn' },
    'gpt-5.5 5020 in 180 out end_turn',
  ],
  'Model.Failed': [{ model_id: 'gpt-5.5' }, { error_type: 'rate_limit' }, 'gpt-5.5 rate_limit'],
  'Action.Before': [
    { action: { name: 'shell' } },
    { tool: 'Bash', executable: 'rm' },
    'Bash rm risk critical DESTRUCTIVE_OP',
    { risk: { score: 90, level: 'critical', factors: ['DESTRUCTIVE_OP'] } },
  ],
  'Action.After': [
    { action: { name: 'shell', result: { success: false, exit_code: 2 } } },
    { tool: 'Bash', executable: 'npm', error_type: 'exit_code', duration_ms: 4210 },
    'Bash npm failed exit 2 4210ms',
  ],
  'Retry.Triggered': [{ attempt: 2 }, { error_type: '529' }, 'attempt 2 529'],
  'Retry.Loop.Detected': [{ action_name: 'shell', iteration_count: 5 }, {}, 'shell 5 times'],
  'Retry.Loop.Aborted': [{ action_name: 'shell', iteration_count: 9 }, {}, 'shell 9 times'],
  'Context.UntilCompaction': [
    { percentage_used: 71.6, tokens_used: 143_200, tokens_limit: 200_000 },
    {},
    '72% 143200 of 200000 tokens',
  ],
  'Context.Compaction': [
    { trigger: 'auto', tokens_removed: 90_000 },
    { phase: 'after' },
    'auto after 90000 tokens removed',
  ],
  'Policy.Violation': [{ policy_name: 'no-prod', rule: 'db' }, { tool: 'Bash' }, 'no-prod db Bash'],
  'Policy.Blocked': [{ policy_name: 'permission', action: { name: 'shell' } }, {}, 'permission shell'],
  'Policy.Override': [{ policy_name: 'permission' }, { tool: 'Edit' }, 'permission Edit'],
  'Agent.Notification': [{ type: 'ToolPermission' }, { tool: 'Bash' }, 'ToolPermission Bash'],
  'Agent.Error': [{ error_type: 'HookError', origin_event: 'Action.Before' }, {}, 'HookError in Action.Before'],
};

it.each(eventTypes)('%s', type => {
  const [data, facts, words, more] = cases[type] ?? [{}, {}, ''];
  expect(line(type, data, facts, more)).toBe(`${type} ${words} 3f2a9b1c`);
  expect(line(type, {} as object, {}, type.startsWith('Action') ? { data: { action: {} } } : {})).toBe(
    `${type} 3f2a9b1c`,
  );
});

it('names the subagent, and keeps any name on one line of bounded length', () => {
  const more = { parent_session_id: 's' };
  expect(line('Agent.Response', {}, { agent: 'Explore' }, more)).toBe('Agent.Response by subagent Explore 3f2a9b1c');
  const odd = line('Policy.Blocked', { policy_name: `a\nb\u001b[31m\u2028${'漢'.repeat(5_000)}` });
  expect(odd).not.toMatch(/[\n\u001b\u2028]/);
  expect(Buffer.byteLength(odd)).toBeLessThanOrEqual(1_024);
  expect(line('vendor.x.Y', { a: 1 })).toBe('vendor.x.Y 3f2a9b1c');
});

it('every record has a name, a severity, its span, and a place of its own within the millisecond', () => {
  const from = { agent: 'a', session: 's', provider: undefined, denyAsError: false, limits };
  const resource = resourceOf({});
  const trace = { agent: 'a', session: 's', segment: 0 };
  const span = { kind: 'turn' as const, session: 's', parts: ['1'] };
  for (const [i, type] of eventTypes.entries()) {
    const [data] = cases[type] ?? [{}];
    const event = {
      ...{ spec_version: '0.1.0', event_type: type, session_id: 's', source: { tool: 'a' }, data },
      event_id: `${ID.slice(0, -2)}${String(i).padStart(2, '0')}`,
      timestamp: '2026-03-02T09:00:00.123Z',
      metadata: { [FACTS]: { v: 1, seq: 1, time: 'native' } },
    } as unknown as Event;
    const record = readableRecordOf({ event, trace, span }, from, resource);
    expect(record.eventName).toBe(eventNameOf(type));
    expect(record.attributes['event.name']).toBe(eventNameOf(type));
    expect(['DEBUG', 'INFO', 'WARN', 'ERROR']).toContain(record.severityText);
    expect(severities[type]).toBeDefined();
    expect(record.spanContext?.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(record.spanContext?.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(record.hrTime[1]).toBe(123_000_000 + subMillisecondNanos(event.event_id));
    expect(readableRecordOf({ event, trace, span }, from, resource)).toEqual(record);
  }
  const places = eventTypes.map((_, i) => subMillisecondNanos(`${ID.slice(0, -2)}${String(i).padStart(2, '0')}`));
  expect(new Set(places).size).toBe(eventTypes.length);
});
