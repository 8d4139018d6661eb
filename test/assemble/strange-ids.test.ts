/** Ids and words are untrusted: a word that every JavaScript object inherits must work like any other word. */
import { describe, expect, it } from 'vitest';
import { mapped, type PlayedHook, play, START_MS } from '../play.ts';

const words = Object.getOwnPropertyNames(Object.prototype);

function session(word: string, stored: boolean) {
  const base = { session_id: word, prompt_id: word, permission_mode: 'default', agent_type: word };
  const call = { tool_use_id: word, tool_name: 'Bash' };
  const inner = { ...call, tool_use_id: `${word} `, agent_id: word };
  const hooks: [string, object][] = [
    ['SessionStart', { source: word }],
    ['UserPromptSubmit', {}],
    ['PreToolUse', call],
    ['Notification', { notification_type: word }],
    ['PostToolUse', call],
    ['SubagentStart', { agent_id: word }],
    ['PreToolUse', inner],
    ['PostToolUse', { ...inner, tool_response: { agentId: word } }],
    ['PreCompact', { trigger: word }],
    ['SubagentStop', { agent_id: word }],
    ['StopFailure', { error: word }],
    ['SessionEnd', { reason: word }],
  ];
  const payloads: PlayedHook[] = hooks.map(([name, fields], i) => ({
    atMs: START_MS + i * 10,
    header: { tool: 'claude-code' },
    payload: { ...base, ...fields, hook_event_name: name },
  }));
  const { fates, spans, oddities } = play(payloads, stored);
  return {
    fates,
    oddities,
    spans: mapped(spans).map(span => ({
      name: span.name.replace(word, 'WORD'),
      start: span.startTime,
      end: span.endTime,
      attributes: Object.keys(span.attributes).toSorted(),
      outcome: span.attributes['agent_hooks.action.outcome'],
      ended: span.attributes['agent_hooks.session.end_reason'],
    })),
  };
}

describe.each(words)('%s', word => {
  it.each([false, true])('is an id and a word like any other (state kept in memory or stored: %s)', stored => {
    expect(session(word, stored)).toEqual(session('something', stored));
  });
});

it('an impossible duration is ignored: the times of the hooks give the duration', () => {
  for (const duration of [1e300, 1e15, -5]) {
    const call = { session_id: 's', prompt_id: 'p', permission_mode: 'default', tool_use_id: 'c', tool_name: 'Bash' };
    const { spans } = play([
      { atMs: START_MS, payload: { ...call, hook_event_name: 'PreToolUse' } },
      { atMs: START_MS + 50, payload: { ...call, hook_event_name: 'PostToolUse', duration_ms: duration } },
      { atMs: START_MS + 60, payload: { ...call, hook_event_name: 'SessionEnd' } },
    ]);
    expect(spans.map(span => [span.kind, span.startMs - START_MS, span.endMs - START_MS, span.duration])).toEqual([
      ['action', 0, 50, 'events'],
      ['turn', 0, 60, 'arrival'],
      ['session', 0, 60, 'arrival'],
    ]);
  }
});
