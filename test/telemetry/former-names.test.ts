/**
 * `compat.span_names: "v0"`: spans with the names of the Python package of this name, and with its attributes beside
 * ours.
 */

import { expect, test } from 'vitest';
import { formerNameOf } from '../../src/agents/index.ts';
import { resourceOf } from '../../src/telemetry/resource.ts';
import { readableSpanOf } from '../otlp.ts';
import { limits, play, START_MS } from '../play.ts';

const session = { session_id: 's-1', transcript_path: '/home/dev/.claude/projects/x/s-1.jsonl', cwd: '/x' };
const hook = (second: number, name: string, fields: object = {}) => ({
  atMs: START_MS + second * 1000,
  payload: { ...session, hook_event_name: name, ...fields },
});
const bash = { prompt_id: 'p2', tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } };
const hooks = [
  hook(0, 'SessionStart', { source: 'startup' }),
  hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'one' }),
  hook(2, 'Stop', { prompt_id: 'p1' }),
  hook(3, 'UserPromptSubmit', { prompt_id: 'p2', prompt: 'two' }),
  hook(4, 'PreToolUse', bash),
  hook(5, 'PostToolUse', { ...bash, duration_ms: 400 }),
  hook(7, 'Stop', { prompt_id: 'p2' }),
  hook(8, 'SessionEnd', { reason: 'other' }),
];
const spansAs = (formerName: string | undefined) => {
  const facts = { agent: 'claude-code', session: 's-1', provider: 'anthropic', denyAsError: false, limits, formerName };
  return play(hooks).spans.map(span => readableSpanOf(span, facts, resourceOf({})));
};

test('turns, actions and responses have their former names; ids and times are the same', () => {
  const now = spansAs(undefined);
  const former = spansAs(formerNameOf('claude-code'));
  expect(former.map(({ name }) => name)).toEqual([
    'claude - Turn 1',
    'Tool: Bash',
    'claude - Turn 2',
    'session claude-code',
  ]);
  for (const [i, span] of former.entries()) {
    expect(span.spanContext()).toEqual(now[i]?.spanContext());
    expect(span.attributes).toMatchObject(now[i]?.attributes ?? {});
  }
});

test('the former attributes are beside the present ones, without content that is switched off', () => {
  const [first, action] = spansAs('claude');
  expect(first?.attributes).toMatchObject({
    'gen_ai.system': 'otel-hooks',
    source_tool: 'claude',
    'turn.duration_seconds': 1,
  });
  expect(first?.attributes).not.toHaveProperty(['gen_ai.prompt']);
  expect(action?.attributes).toMatchObject({
    'tool.name': 'Bash',
    'tool.id': 'c1',
    'tool.duration_seconds': 0.4,
  });
  expect(action?.attributes).not.toHaveProperty(['tool.input']);
});
