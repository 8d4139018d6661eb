/** Rules that the fold keeps for every input. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FinishedSpan } from '../../src/assemble/finished.ts';
import { mapped, type PlayedHook, play, START_MS } from '../play.ts';

const session = { session_id: 's-1', transcript_path: '/home/dev/.claude/projects/x/s-1.jsonl', cwd: '/x' };
const seed = Number(process.env.OTEL_HOOKS_SEED ?? Date.now() % 100_000);
const runs = process.env.OTEL_HOOKS_TEST_SIZE === 'full' ? 5_000 : 150;

/** Any hook at any time: no agent would send most of these sequences. */
const anyHook = fc.record({
  gap: fc.integer({ min: 0, max: 4_000 }),
  name: fc.constantFrom(
    'SessionStart',
    'SessionEnd',
    'UserPromptSubmit',
    'PreToolUse',
    'PostToolUse',
    'PostToolUseFailure',
    'PostToolBatch',
    'PermissionRequest',
    'PermissionDenied',
    'SubagentStart',
    'SubagentStop',
    'Stop',
    'StopFailure',
    'PreCompact',
    'Notification',
    'Nobody',
  ),
  prompt: fc.constantFrom(undefined, 'p1', 'p2', 'p3'),
  call: fc.constantFrom(undefined, 'c1', 'c2', 'c3', 'c4', 'c5'),
  tool: fc.constantFrom('Bash', 'Agent', 'mcp__a__b'),
  subagent: fc.constantFrom(undefined, undefined, 'a1', 'a2'),
  source: fc.constantFrom('startup', 'resume', 'compact'),
  duration: fc.constantFrom(undefined, 0, 12, 90_000),
});

const payloadsOf = (hooks: readonly (typeof anyHook extends fc.Arbitrary<infer T> ? T : never)[]): PlayedHook[] => {
  let atMs = START_MS;
  return hooks.map((hook, i) => {
    atMs += hook.gap;
    return {
      atMs,
      payload: {
        ...session,
        hook_event_name: hook.name,
        prompt_id: hook.prompt,
        tool_name: hook.tool,
        tool_use_id: hook.call,
        tool_input: { subagent_type: 'Explore', i: i % 3 },
        tool_response: hook.tool === 'Agent' ? { agentId: 'a1' } : {},
        tool_calls: [{ tool_use_id: hook.call }],
        agent_id: hook.subagent,
        agent_type: hook.subagent && 'Explore',
        source: hook.source,
        duration_ms: hook.duration,
        reason: 'other',
        error: 'Exit code 1',
      },
    };
  });
};

const idsOf = (spans: readonly FinishedSpan[]): string[] => spans.map(span => JSON.stringify([span.trace, span.key]));

test(`any sequence of hooks: no span twice, none negative, no orphan after the end of the session (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.array(anyHook, { minLength: 1, maxLength: 60 }), hooks => {
      const payloads = payloadsOf(hooks);
      const end = {
        atMs: (payloads.at(-1)?.atMs ?? START_MS) + 5_000,
        payload: { ...session, hook_event_name: 'SessionEnd', reason: 'other' },
      };
      const played = play([...payloads, end]);
      const ids = idsOf(played.spans);
      expect(new Set(ids).size).toBe(ids.length);
      const left = new Set(ids);
      for (const span of played.spans) {
        expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
        if (span.parent) expect(left.has(JSON.stringify([span.trace, span.parent])), JSON.stringify(span)).toBe(true);
      }
      const [state] = played.states.values();
      expect(Object.keys(state?.fold.actions ?? {})).toEqual([]);
      expect(state?.fold.held).toEqual([]);
    }),
    { numRuns: runs, seed },
  );
});

test(`the state survives being written and read between any two events (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.array(anyHook, { minLength: 1, maxLength: 40 }), hooks => {
      const payloads = payloadsOf(hooks);
      const once = play(payloads);
      const again = play(payloads, true);
      expect(again.spans).toEqual(once.spans);
      expect(JSON.stringify(mapped(again.spans))).toBe(JSON.stringify(mapped(once.spans)));
    }),
    { numRuns: runs, seed },
  );
});

test('repeated hooks with native ids add nothing', () => {
  const payloads: PlayedHook[] = [
    {
      atMs: START_MS,
      payload: {
        ...session,
        hook_event_name: 'PreToolUse',
        tool_name: 'Bash',
        tool_use_id: 'c1',
        tool_input: {},
        prompt_id: 'p1',
      },
    },
    {
      atMs: START_MS + 9,
      payload: {
        ...session,
        hook_event_name: 'PostToolUse',
        tool_name: 'Bash',
        tool_use_id: 'c1',
        tool_input: {},
        prompt_id: 'p1',
      },
    },
  ];
  const played = play([...payloads, ...payloads.map(each => ({ ...each, atMs: each.atMs + 60_000 }))]);
  expect(played.fates).toEqual(['journaled', 'journaled', 'duplicate', 'duplicate']);
  expect(played.spans.length).toBe(1);
});
