/** Recorded transcripts, if they are beside this repository: their sums, to the token, by an independent count. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import type { FinishedSpan } from '../../src/assemble/finished.ts';
import type { Event } from '../../src/event/event.ts';
import { findSessions } from '../../src/pipeline/find-transcripts.ts';
import { emptyStore, importRound } from '../../src/pipeline/import-round.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { overShared, sharedPath } from '../shared.ts';

const recordings = 'fixtures/claude-code';
const shared = sharedPath(recordings);

interface Usage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}
interface Expected {
  responses: number;
  usage: Usage;
  usage_by_model: { [model: string]: Usage };
  tool_use: number;
  tool_result: number;
  compactions: number;
}

const expected: { [file: string]: Expected } = existsSync(shared)
  ? (JSON.parse(readFileSync(join(shared, 'expected-usage.json'), 'utf8')) as { [file: string]: Expected })
  : {};
const home = mkdtempSync(join(tmpdir(), 'recorded-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A main file with its expected values and those of its subagents' files, which are beside it. */
const mains = Object.keys(expected).filter(file => !/agent-[\w-]+\.jsonl$/.test(file));
const partsOf = (main: string): Expected[] =>
  Object.entries(expected)
    .filter(([file]) => file === main || (main.endsWith('/main.jsonl') && file.startsWith(main.slice(0, -10))))
    .map(([, each]) => each);

const add = (sums: Map<string, Usage>, model: string, more: Usage): void => {
  const sum = sums.get(model) ?? {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
  };
  for (const name of Object.keys(sum) as (keyof Usage)[]) sum[name] += more[name];
  sums.set(model, sum);
};

function imported(main: string) {
  const path = join(home, main);
  cpSync(join(shared, 'transcripts', main), path);
  if (main.endsWith('/main.jsonl'))
    cpSync(join(shared, 'transcripts', main, '..'), join(path, '..'), { recursive: true });
  const eyes = diskEyes();
  const world = {
    env: {},
    home,
    platform: 'linux' as const,
    ownVariables: false,
    configFile: undefined,
    installation: 'i',
    hashKey: 'k',
    nowMs: Date.UTC(2027, 0),
    eyes,
    pins: new Map(),
  };
  const { found } = findSessions({ agents, paths: [path], places: { home, project: home, env: {} }, eyes, sinceMs: 0 });
  expect(found).toHaveLength(1);
  const { outputs } = importRound(emptyStore, found, world, Number.POSITIVE_INFINITY, {
    metrics: false,
    logsSinceMs: 0,
  });
  const { lines = '', spans = [] } = outputs[0] ?? {};
  const events = lines
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Event);
  return { events, spans, lines };
}

const nameOf = (span: FinishedSpan): string => JSON.stringify([span.trace, span.key]);

overShared(recordings, 'recorded transcripts', () => {
  test.each(mains)('%s: to the token, call by call, each under its parent', main => {
    const { events, spans, lines } = imported(main);
    const sums = new Map<string, Usage>();
    let responses = 0;
    for (const span of spans) {
      if (span.kind !== 'chat' || span.errorType !== undefined) continue;
      responses += 1;
      const [written, read] = [span.cacheWrite ?? 0, span.cacheRead ?? 0];
      add(sums, span.model ?? '', {
        input_tokens: (span.input ?? 0) - written - read,
        cache_creation_input_tokens: written,
        cache_read_input_tokens: read,
        output_tokens: span.output ?? 0,
      });
    }
    const wanted = new Map<string, Usage>();
    for (const part of partsOf(main)) {
      for (const [model, usage] of Object.entries(part.usage_by_model)) add(wanted, model, usage);
    }
    expect(sums).toEqual(wanted);
    const total = (of: (each: Expected) => number): number => partsOf(main).reduce((sum, each) => sum + of(each), 0);
    expect(responses).toBe(total(each => each.responses));

    const actions = spans.filter(span => span.kind === 'action');
    expect(actions).toHaveLength(total(each => each.tool_use));
    expect(actions.filter(action => action.outcome === 'abandoned')).toEqual([]);
    expect(events.filter(event => event.event_type === 'Action.After')).toHaveLength(total(each => each.tool_result));
    const compactions = events.filter(event => event.event_type === 'Context.Compaction');
    expect(compactions).toHaveLength(2 * total(each => each.compactions));

    const names = spans.map(nameOf);
    expect(new Set(names).size, 'no span leaves twice').toBe(names.length);
    const byName = new Map(spans.map(span => [JSON.stringify(span.key), span]));
    for (const span of spans) {
      expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
      expect(span.clamped, `${span.kind} the wrong way round`).toBe(false);
      if (span.kind === 'session') continue;
      expect(byName.has(JSON.stringify(span.parent)), `parent of ${nameOf(span)}`).toBe(true);
    }
    const [ended] = spans.filter(span => span.kind === 'session').slice(-1);
    expect(ended).toBeDefined();
    const sumOf = (kind: string): number =>
      spans.reduce((sum, span) => sum + (span.kind === kind && 'usage' in span ? (span.usage.output ?? 0) : 0), 0);
    expect(sumOf('session')).toBe(total(each => each.usage.output_tokens));
    expect(lines).not.toContain('"prompt":');
  });
});
