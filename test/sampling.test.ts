/** Head sampling by session over a real receiver, with rounds of different sizes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Delivered, deliver } from '../src/deliver/deliver.ts';
import { imbalances } from '../src/deliver/status-books.ts';
import { encodeFragment, fragmentName } from '../src/hook/fragment.ts';
import { isSampled } from '../src/pipeline/sampling.ts';
import { type Collected, type Collector, startCollector } from './collector.ts';
import { founded, room } from './obligations/stage.ts';

let home = '';
let state = '';
let leave: () => void;
let nowMs = 0;
let count = 0;
const collectors: Collector[] = [];

beforeEach(() => {
  const made = room();
  home = made.folder;
  leave = made.leave;
  state = founded(join(home, 'state'));
  nowMs = Date.parse('2026-03-02T10:00:00Z');
  count = 0;
});
afterEach(async () => {
  await Promise.all(collectors.splice(0).map(each => each.close()));
  leave();
});

async function receiver(): Promise<Collector> {
  const collector = await startCollector();
  collectors.push(collector);
  return collector;
}

function configure(config: object): void {
  mkdirSync(join(home, '.config/otel-hooks'), { recursive: true });
  writeFileSync(join(home, '.config/otel-hooks/config.json'), JSON.stringify(config));
}

function arrive(session_id: string, event: object, header: Record<string, string> = {}): void {
  count += 1;
  const unique = String(count).padStart(12, '0');
  const all = { tool: 'claude-code', at: String(nowMs - 600_000 + count * 100), ppid: '1', ...header };
  const name = fragmentName('abcdef01', `${1_000 + count}.00`, 100 + count, unique);
  const bytes = encodeFragment(unique, all, Buffer.from(JSON.stringify({ session_id, cwd: '/nowhere', ...event })));
  writeFileSync(join(state, 'inbox', name), bytes, { mode: 0o600 });
}

async function delivered(): Promise<Delivered> {
  nowMs += 20_000;
  const found = await deliver({
    ...{ stateFolder: state, byHand: true, waitMs: 30_000, now: () => nowMs },
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
  });
  expect(found.books && imbalances(found.books)).toEqual([]);
  return found;
}

const prompt = (n: number) => ({ hook_event_name: 'UserPromptSubmit', prompt_id: `p${n}`, prompt: `${n}` });
const stop = (n: number) => ({ hook_event_name: 'Stop', prompt_id: `p${n}` });
const bash = (id: string, more: object = {}, command = 'ls') =>
  ['PreToolUse', 'PostToolUse'].map(hook_event_name => ({
    ...{ hook_event_name, tool_name: 'Bash', tool_use_id: id, tool_input: { command }, ...more },
  }));
const failing = (id: string, more: object = {}) => [
  { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: id, tool_input: { command: 'x' }, ...more },
  {
    hook_event_name: 'PostToolUseFailure',
    tool_name: 'Bash',
    tool_use_id: id,
    tool_input: { command: 'x' },
    error: 'Exit code 1',
    ...more,
  },
];
const inside = { agent_id: 'a1', agent_type: 'Explore', prompt_id: 'p3' };
const session = [
  { hook_event_name: 'SessionStart', source: 'startup' },
  prompt(1),
  ...bash('quiet-1', { prompt_id: 'p1' }),
  stop(1),
  prompt(2),
  ...bash('quiet-2', { prompt_id: 'p2' }),
  ...failing('failed', { prompt_id: 'p2' }),
  stop(2),
  prompt(3),
  // A background subagent: its call and its turn end before its action fails.
  ...['PreToolUse', 'PostToolUse'].map(hook_event_name => ({
    ...{ hook_event_name, tool_name: 'Agent', tool_use_id: 'launch', prompt_id: 'p3' },
    tool_input: { subagent_type: 'Explore', run_in_background: true },
    ...(hook_event_name === 'PostToolUse' ? { tool_response: { status: 'async_launched', agentId: 'a1' } } : {}),
  })),
  { hook_event_name: 'SubagentStart', ...inside },
  stop(3),
  ...bash('quiet-3', inside),
  ...failing('below', inside),
  { hook_event_name: 'SubagentStop', ...inside },
  prompt(4),
  ...bash('dangerous', { prompt_id: 'p4' }, 'rm -rf / --no-preserve-root'),
  stop(4),
  prompt(5),
  ...bash('quiet-5', { prompt_id: 'p5' }),
  stop(5),
  { hook_event_name: 'SessionEnd', reason: 'logout' },
];

const idOf = ({ traceId, spanId }: Collected): string => `${traceId}/${spanId}`;
const sorted = (spans: readonly Collected[]): string[] => spans.map(idOf).sort();

/** The spans that fit, with all spans above them, found in a whole trace. */
function withAncestors(all: readonly Collected[], fits: (span: Collected) => boolean): string[] {
  const byId = new Map(all.map(span => [idOf(span), span]));
  const kept = new Set<string>();
  for (const span of all.filter(fits))
    for (let at: Collected | undefined = span; at !== undefined; ) {
      kept.add(idOf(at));
      at = byId.get(`${at.traceId}/${at.parentSpanId}`);
    }
  return [...kept].sort();
}
const failed = ({ status }: Collected): boolean => (status as { code?: number } | undefined)?.code === 2;
const risky = ({ plain }: Collected): boolean =>
  ['high', 'critical'].includes(String(plain['agent_hooks.risk.level'])) && plain['gen_ai.tool.name'] !== undefined;

describe('spans that are kept', () => {
  it.each<[string, number]>([
    ['in one round', 100],
    ['in rounds of three hooks', 3],
    ['in a round for each hook', 1],
  ])('have the spans above them and no siblings, %s', async (_, size) => {
    const [all, failures] = [await receiver(), await receiver()];
    configure({
      trace: { keep: ['failures'] },
      destinations: { all: { endpoint: all.url }, few: { endpoint: failures.url, sampler: 'always_off' } },
    });
    for (const [i, event] of session.entries()) {
      arrive('s-1', event);
      if ((i + 1) % size === 0) await delivered();
    }
    const { books } = await delivered();
    expect(all.spans().length).toBe(15);
    const expected = withAncestors(all.spans(), failed);
    expect(expected.length).toBe(7);
    expect(sorted(failures.spans())).toEqual(expected);
    const few = books?.destinations.find(({ name }) => name === 'few');
    expect(few?.spans).toMatchObject({ produced: 15, accepted: 7, dropped: { sampled: 8 } });
  });

  it.each<[string[], (span: Collected) => boolean, number]>([
    [['risk'], risky, 3],
    [['failures', 'risk'], span => failed(span) || risky(span), 9],
    [['denials'], ({ plain }) => plain['agent_hooks.action.outcome'] === 'denied', 3],
  ])('are of the kinds %j', async (keep, fits, size) => {
    const [all, few] = [await receiver(), await receiver()];
    configure({
      trace: { keep, sampler: 'always_off' },
      destinations: { all: { endpoint: all.url, sampler: 'always_on' }, few: { endpoint: few.url } },
    });
    for (const event of session.slice(0, -1)) arrive('s-1', event);
    arrive('s-1', prompt(6));
    const denied = { tool_name: 'Bash', tool_use_id: 'no', tool_input: { command: 'ls' }, prompt_id: 'p6' };
    arrive('s-1', { hook_event_name: 'PreToolUse', ...denied });
    arrive('s-1', { hook_event_name: 'PermissionDenied', ...denied, reason: 'no' });
    arrive('s-1', stop(6));
    arrive('s-1', session.at(-1) ?? {});
    await delivered();
    expect(sorted(few.spans())).toEqual(withAncestors(all.spans(), fits));
    expect(few.spans().length).toBe(size);
  });
});

describe('the share of sessions', () => {
  it('is decided by the first trace of a session, for all of its segments', async () => {
    const [all, half] = [await receiver(), await receiver()];
    configure({
      trace: { sampler: 'traceidratio', sampler_arg: 0.5 },
      destinations: { all: { endpoint: all.url, sampler: 'always_on' }, half: { endpoint: half.url } },
    });
    const names = Array.from({ length: 24 }, (_, i) => `s-${i}`);
    for (let segment = 0; segment < 3; segment += 1)
      for (const name of names) {
        arrive(name, { hook_event_name: 'SessionStart', source: segment === 0 ? 'startup' : 'resume' });
        arrive(name, { hook_event_name: 'SessionEnd', reason: 'other' });
      }
    await delivered();
    const perSession = (collector: Collector): Map<unknown, number> => {
      const counts = new Map<unknown, number>();
      for (const { plain } of collector.spans())
        counts.set(plain['session.id'], (counts.get(plain['session.id']) ?? 0) + 1);
      return counts;
    };
    expect([...perSession(all).values()]).toEqual(names.map(() => 3));
    const kept = perSession(half);
    expect([...kept.values()].every(each => each === 3)).toBe(true);
    expect(kept.size).toBeGreaterThan(4);
    expect(kept.size).toBeLessThan(20);
    const sampler = { kind: 'traceidratio', ratio: 0.5 } as const;
    const expected = names.filter(session => isSampled(sampler, { agent: 'claude-code', session }));
    expect([...kept.keys()].sort()).toEqual(expected.sort());
  });

  it('the variables of the standard follow the same rule', async () => {
    const collector = await receiver();
    configure({ otlp: { endpoint: collector.url } });
    const env = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
    const names = Array.from({ length: 16 }, (_, i) => `s-${i}`);
    for (const source of ['startup', 'resume'])
      for (const name of names) {
        arrive(name, { hook_event_name: 'SessionStart', source }, env);
        arrive(name, { hook_event_name: 'SessionEnd', reason: 'other' }, env);
      }
    await delivered();
    const seen = collector.spans().map(({ plain }) => String(plain['session.id']));
    const sampler = { kind: 'traceidratio', ratio: 0.5 } as const;
    const expected = names.filter(session => isSampled(sampler, { agent: 'claude-code', session }));
    expect(seen.sort()).toEqual(expected.flatMap(name => [name, name]).sort());
    expect(new Set(collector.records().map(({ plain }) => plain['session.id'])).size).toBe(16);
  });

  it.each([0.01, 0.1, 0.5, 0.9])('of %d is kept', ratio => {
    const sampler = { kind: 'traceidratio', ratio } as const;
    const kept = Array.from({ length: 20_000 }, (_, i) => isSampled(sampler, { agent: 'codex', session: `id-${i}` }));
    expect(Math.abs(kept.filter(Boolean).length / 20_000 - ratio)).toBeLessThan(0.015);
  });
});

describe('levels of records', () => {
  it('can be set by the type of the event', async () => {
    const collector = await receiver();
    configure({
      otlp: { endpoint: collector.url },
      logs: { level: 'info', levels: { 'Action.*': 'warn', 'Action.Before': 'off', 'Prompt.Submitted': 'off' } },
    });
    for (const event of session) arrive('s-1', event);
    await delivered();
    const types = collector.records().map(({ plain }) => plain['agent_hooks.event.type']);
    const counts = Object.fromEntries(
      [...new Set(types)].map(type => [type, types.filter(each => each === type).length]),
    );
    expect(counts).toMatchObject({ 'Action.After': 2, 'Session.Start': 2, 'Agent.Response': 6 });
    expect(types).not.toContain('Action.Before');
    expect(types).not.toContain('Prompt.Submitted');
  });
});
