/**
 * Every division of a session's hooks into rounds, and every order of the hooks of parallel calls, gives the same spans
 * and records.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resourceOf } from '../../src/telemetry/resource.ts';
import { bySize, seed } from '../obligations/size.ts';
import { readableRecordOf, writer } from '../otlp.ts';
import { limits, mapped, type Played, type PlayedHook, play, START_MS } from '../play.ts';

const runs = bySize({ quick: 12, ci: 1_000, full: 5_000 });
const session = { session_id: 's-1', transcript_path: '/home/dev/.claude/projects/x/s-1.jsonl', cwd: '/x' };

interface Hook extends PlayedHook {
  payload: { hook_event_name: string };
  /** Hooks of one call never overtake each other. */
  call: string | undefined;
}

const ways = [
  'works',
  'fails',
  'is asked about',
  'is refused',
  'is left',
  'is asked about and left',
  'launches',
] as const;
const turnsOf = (...how: (typeof ways)[number][]) => {
  const call = fc.record({
    before: fc.integer({ min: 0, max: 900 }),
    lasts: fc.integer({ min: 1, max: 900 }),
    how: fc.constantFrom(...how),
  });
  return fc.array(fc.array(call, { maxLength: 6 }), { minLength: 1, maxLength: 4 });
};
/**
 * Each turn has parallel calls without two equal ones, because the earlier calls decide whether a call is a repetition.
 */
const turns = turnsOf('works', 'fails');
const allTurns = turnsOf(...ways);

interface Call {
  before: number;
  lasts: number;
  how: (typeof ways)[number];
}

function hooksOf(all: Call[][]): Hook[] {
  const hooks: Hook[] = [];
  let atMs = START_MS;
  const add = (at: number, of: string | undefined, name: string, fields: object = {}): void => {
    hooks.push({ atMs: at, call: of, payload: { ...session, hook_event_name: name, ...fields } });
  };
  add(atMs, undefined, 'SessionStart', { source: 'startup' });
  all.forEach((calls, turn) => {
    const prompt_id = `p${turn}`;
    const now = { prompt_id, permission_mode: 'default' };
    atMs += 1_000;
    add(atMs, undefined, 'UserPromptSubmit', { ...now, prompt: `number ${turn}` });
    const inside = calls.flatMap((call, i) => hooksIn(call, `c${turn}-${i}`, now));
    const begun = inside.map(({ after, ...rest }) => ({ at: atMs + 1 + after, ...rest }));
    for (const { at, of, name, fields } of begun.sort((a, b) => a.at - b.at)) add(at, of, name, fields);
    atMs += 3_000;
    add(atMs, undefined, 'Stop', now);
  });
  add(atMs + 1_000, undefined, 'SessionEnd', { reason: 'other' });
  return hooks;
}

/** The hooks of one call, and their delays after the prompt. */
function hooksIn({ before, lasts, how }: Call, of: string, now: object) {
  const launch = { tool_name: 'Agent', tool_input: { subagent_type: `E${of}`, prompt: of } };
  const run = { tool_name: 'Bash', tool_input: { command: `ls ${of}` } };
  const about = { ...now, tool_use_id: of, ...(how === 'launches' ? launch : run) };
  const at = (share: number, name: string, fields: object) => ({
    after: before + Math.round(lasts * share),
    of,
    name,
    fields,
  });
  const ended = { ...about, duration_ms: lasts };
  const hooks = [at(0, 'PreToolUse', about)];
  if (how.startsWith('is asked') || how === 'is refused') hooks.push(at(0.5, 'PermissionRequest', about));
  if (how === 'launches') {
    const who = { ...now, agent_id: `a${of}`, agent_type: `E${of}` };
    const inner = { ...who, tool_name: 'Grep', tool_use_id: `i${of}`, tool_input: { pattern: of } };
    hooks.push(
      at(0.2, 'SubagentStart', who),
      at(0.4, 'PreToolUse', inner),
      at(0.6, 'PostToolUse', { ...inner, tool_response: {}, duration_ms: 1 }),
      at(0.8, 'SubagentStop', who),
      at(1, 'PostToolUse', { ...ended, tool_response: { status: 'completed', agentId: `a${of}` } }),
    );
  } else if (how === 'fails') hooks.push(at(1, 'PostToolUseFailure', { ...ended, error: 'Exit code 2' }));
  else if (how === 'is refused')
    hooks.push(at(1, 'PostToolUseFailure', { ...about, error: 'The tool use was rejected', is_interrupt: false }));
  else if (!how.endsWith('left')) hooks.push(at(1, 'PostToolUse', { ...ended, tool_response: {} }));
  return hooks;
}

/** Swaps neighbours that are less than 2 s apart: those of different calls, or all except the two of one call. */
function overtaken(hooks: readonly Hook[], dice: readonly number[], which: 'calls' | 'all' = 'calls'): Hook[] {
  const order = [...hooks];
  for (const number of dice) {
    const at = number % Math.max(1, order.length - 1);
    const [one, two] = [order[at], order[at + 1]];
    if (one === undefined || two === undefined || Math.abs(one.atMs - two.atMs) >= 2_000) continue;
    if (one.call === undefined || two.call === undefined ? which === 'calls' : one.call === two.call) continue;
    order.splice(at, 2, two, one);
  }
  return order;
}

/** Hooks of one call keep their order. */
const inTurn =
  (part: readonly Hook[]) =>
  (mixed: readonly Hook[]): Hook[] => {
    const next = new Map<string, Hook[]>();
    for (const hook of part) if (hook.call) next.set(hook.call, [...(next.get(hook.call) ?? []), hook]);
    return mixed.map(hook => (hook.call && next.get(hook.call)?.shift()) || hook);
  };

/** Closed spans are sent after all hooks. */
const inOneRound = (hooks: readonly Hook[]): Played =>
  play(hooks, false, undefined, undefined, undefined, 'in the end');

/** The sent spans and records as bytes, in a fixed order. */
function wire(played: Played): string[] {
  const from = { agent: 'claude-code', session: 's-1', provider: 'anthropic', denyAsError: false, limits };
  const spans = mapped(played.spans).map(span => writer.spans([span]));
  const records = played.records.map(record => writer.records([readableRecordOf(record, from, resourceOf({}))]));
  return [...spans, ...records].map(bytes => Buffer.from(bytes ?? []).toString('hex')).sort();
}

const gist = ({ spans }: Played): string[] =>
  spans
    .map(span => JSON.stringify([span.trace, span.key, span.parent, 'outcome' in span ? span.outcome : undefined]))
    .sort();

test(`rounds of any size: byte for byte the same spans and records (seed ${seed})`, () => {
  fc.assert(
    fc.property(turns, all => {
      const hooks = hooksOf(all);
      const once = play(hooks);
      expect(wire(play(hooks, true))).toEqual(wire(once));
      const again = play([...hooks, ...hooks.map(hook => ({ ...hook, atMs: hook.atMs + 600 }))]);
      const keys = (played: Played): string[] =>
        played.spans.flatMap(({ kind, key }) => (kind === 'action' ? [JSON.stringify(key)] : []));
      expect(keys(again).sort()).toEqual(keys(once).sort());
    }),
    { numRuns: runs, seed },
  );
});

test(`hooks of parallel calls that overtake each other: byte for byte the same spans and records (seed ${seed})`, () => {
  fc.assert(
    fc.property(turns, fc.array(fc.nat(), { maxLength: 40 }), (all, dice) => {
      const hooks = hooksOf(all);
      expect(wire(play(overtaken(hooks, dice)))).toEqual(wire(play(hooks)));
    }),
    { numRuns: runs, seed },
  );
});

test(`hooks that begin and end turns and sessions overtake those of calls, in one round: byte for byte the same (seed ${seed})`, () => {
  fc.assert(
    fc.property(allTurns, fc.array(fc.nat(), { maxLength: 40 }), (all, dice) => {
      const hooks = hooksOf(all);
      expect(wire(inOneRound(overtaken(hooks, dice, 'all')))).toEqual(wire(inOneRound(hooks)));
    }),
    { numRuns: runs, seed },
  );
});

test(`any disorder of a turn's calls: the same spans, parents and outcomes, no orphan, nothing lost (seed ${seed})`, () => {
  fc.assert(
    fc.property(
      turns.chain(all => {
        const hooks = hooksOf(all);
        const parts: Hook[][] = [[]];
        for (const hook of hooks) {
          if (hook.call === undefined) parts.push([hook], []);
          else parts.at(-1)?.push(hook);
        }
        const shuffled = parts.map(part => fc.shuffledSubarray(part, { minLength: part.length }));
        return fc.tuple(
          fc.constant(hooks),
          fc.tuple(...shuffled).map(each => each.flat()),
        );
      }),
      ([hooks, disordered]) => {
        expect(gist(play(disordered))).toEqual(gist(play(hooks)));
      },
    ),
    { numRuns: runs, seed },
  );
});

test(`any disorder within a turn, its ends too: the same spans, parents and outcomes, no orphan, nothing lost (seed ${seed})`, () => {
  fc.assert(
    fc.property(
      allTurns.chain(all => {
        const hooks = hooksOf(all);
        const parts = [hooks.slice(0, 1)];
        for (const hook of hooks.slice(1)) {
          const name = hook.payload.hook_event_name;
          if (name === 'UserPromptSubmit' || name === 'SessionEnd') parts.push([]);
          parts.at(-1)?.push(hook);
        }
        const shuffled = parts.map(part => fc.shuffledSubarray(part, { minLength: part.length }).map(inTurn(part)));
        return fc.tuple(
          fc.constant(hooks),
          fc.tuple(...shuffled).map(each => each.flat()),
        );
      }),
      ([hooks, disordered]) => {
        expect(gist(inOneRound(disordered))).toEqual(gist(inOneRound(hooks)));
      },
    ),
    { numRuns: runs, seed },
  );
});
