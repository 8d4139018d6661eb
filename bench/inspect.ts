/**
 * The cost of reading content: risk and redaction, as a share of the CPU time of draining. The input is the session of
 * the demonstration, repeated with a different folder each time, so that no action has been judged before.
 *
 *     drain     fragments to journal lines and session states, in the default modes of content
 *     inspect   of this time, risk and redaction alone
 *     drain-all, inspect-all   the same with every class of content kept, without its secrets
 *
 * Sides are separate processes; repeats alternate in random order after one that is not counted; medians.
 *
 *     node scripts/bench.mjs inspect [--sessions 300] [--repeats 3]
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAbsent, type Reading } from '../src/agents/contract/contract.ts';
import { agents, exampleAgent } from '../src/agents/index.ts';
import { memoryOver } from '../src/agents/shared/memory.ts';
import { withContent } from '../src/enrich/content.ts';
import { redact } from '../src/enrich/redact.ts';
import { contentClasses } from '../src/event/content-classes.ts';
import type { Body, Fields } from '../src/event/event.ts';
import { encodeFragment } from '../src/hook/fragment.ts';
import { keyedHash } from '../src/lib/hash.ts';
import { computeRound } from '../src/pipeline/round.ts';
import { keeperOf } from '../src/session/own-content.ts';
import { judgeRisk } from '../src/session/own-rules.ts';
import type { ContentSettings } from '../src/session/session-state.ts';
import { newSession, sessionKey } from '../src/session/session-state.ts';
import { openStore } from '../src/store/store.ts';
import { pinned, ROUND, worldIn } from './parts/sessions.ts';
import {
  alternate,
  answer,
  ask,
  type Counted,
  judged,
  nothing,
  numberAfter,
  onStage,
  type Stage,
  setting,
  timed,
} from './parts/sides.ts';

const BAR = 0.15;

interface Job {
  kind: 'drain' | 'inspect';
  sessions: number;
  isAll: boolean;
}

const [role, folder = ''] = process.argv.slice(2);
if (role === 'worker') work();
else process.exitCode = await onStage(stage => main(stage, process.argv.slice(2)));

async function main({ start }: Stage, words: readonly string[]): Promise<number> {
  const sessions = numberAfter(words, '--sessions', 300);
  const repeats = numberAfter(words, '--repeats', 3);
  console.log(
    `${setting()}, ${hooksOf(0).length} hooks in each of ${sessions} sessions, ${repeats} repeats, medians of CPU time`,
  );
  const side = (kind: Job['kind'], isAll: boolean) => {
    const child = start('worker');
    return () => ask<Job>(child, { kind, sessions, isAll });
  };
  const done = await alternate(repeats, {
    drain: side('drain', false),
    inspect: side('inspect', false),
    'drain-all': side('drain', true),
    'inspect-all': side('inspect', true),
  });
  const cpuMs = (name: string): number => (done.get(name) ?? nothing).cpuMs;
  for (const [name, { cpuMs: ms, records }] of done)
    console.log(`${name.padEnd(12)}${((ms / records) * 1000).toFixed(1).padStart(8)} us each`);
  console.log(
    judged('risk and redaction, of draining', cpuMs('inspect') / cpuMs('drain'), [{ name: 'bar', most: BAR }]),
  );
  console.log(`the same with all content kept ${(cpuMs('inspect-all') / cpuMs('drain-all')).toFixed(3)}`);
  return 0;
}

function work(): void {
  answer<Job>(async ({ kind, sessions, isAll }) => {
    const hooks = Array.from({ length: sessions }, (_, i) => hooksOf(i)).flat();
    if (kind === 'inspect') {
      const readings = readingsOf(hooks);
      return timed(() => inspect(readings, hooks.length, isAll));
    }
    const state = join(folder, `drain-${isAll}`);
    write(join(state, 'inbox'), hooks, isAll);
    const done = await timed(() => drainAll(state, hooks.length));
    rmSync(state, { recursive: true });
    return done;
  });
}

/** The demonstration's session, in its own folder. */
function hooksOf(number: number): Fields[] {
  const { demo } = exampleAgent;
  if (isAbsent(demo)) throw new Error('the demonstration plays no agent');
  return demo(`d1a2b3c4-0000-4000-8000-${String(number).padStart(12, '0')}`, `/home/dev/shop-${number}`).map(
    ({ payload }) => payload,
  );
}

function write(inbox: string, hooks: readonly Fields[], isAll: boolean): void {
  mkdirSync(inbox, { recursive: true, mode: 0o700 });
  for (const [i, hook] of hooks.entries()) {
    const unique = `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
    const name = `0000abcd-${(1_000 + i / 100).toFixed(2)}-${1_000 + i}-${unique}`;
    const header: Record<string, string> = { tool: exampleAgent.id, ppid: '4711' };
    if (isAll)
      for (const of of Object.keys(contentClasses)) header[`OTEL_HOOKS_CONTENT_${of.toUpperCase()}`] = 'redacted';
    writeFileSync(join(inbox, name), encodeFragment(unique, header, Buffer.from(JSON.stringify(hook))), {
      mode: 0o600,
    });
  }
}

/** Fragments become journal lines and states; the sessions have no destination. */
function drainAll(state: string, count: number): Counted {
  const store = openStore({ folder: state, access: 'own' });
  let records = 0;
  for (let taken = store.take(ROUND); taken.fragments.length > 0; taken = store.take(ROUND)) {
    const { round, journaled } = computeRound(store, taken, {}, worldIn(folder));
    if (store.commit(round) !== 'committed') throw new Error('a round was lost');
    records += journaled;
  }
  store.close();
  if (records !== count) throw new Error(`${records} of ${count} fragments were journaled`);
  return { spans: 0, records };
}

interface PlacedReading {
  reading: Reading;
  cwd: string;
}

function readingsOf(hooks: readonly Fields[]): PlacedReading[] {
  return hooks.flatMap(hook => {
    const event = exampleAgent.events[String(hook.hook_event_name)];
    const read =
      event?.read(
        hook,
        memoryOver({}, content => content),
      ) ?? [];
    return read.map(reading => ({ reading, cwd: String(hook.cwd) }));
  });
}

const all: ContentSettings = {
  modes: Object.fromEntries(Object.keys(contentClasses).map(of => [of, 'redacted'])) as ContentSettings['modes'],
  on: 'both',
  longest: 20_000,
  patterns: [],
  allow: [],
};

function inspect(readings: readonly PlacedReading[], records: number, isAll: boolean): Counted {
  const agent = agents.find(({ id }) => id === exampleAgent.id) ?? exampleAgent;
  const state = newSession({ agent, session: 's', key: sessionKey(agent.id, 's') }, pinned(''));
  const hash = (content: string): string => keyedHash('bench', content);
  const keeper = isAll ? keeperOf({ content: all }) : undefined;
  for (const { reading, cwd } of readings) {
    const { data, facts } = reading;
    if ('action' in data && data.action !== undefined)
      judgeRisk(state, {
        action: data.action,
        cwd,
        mode: facts?.permission_mode,
        server: facts?.mcp?.server,
      } as Parameters<typeof judgeRisk>[1]);
    const { body } = redact(reading, hash);
    if (keeper) withContent(body, withOutput(reading), keeper, hash);
  }
  return { spans: 0, records };
}

/** A reading in the form in which draining passes it to the keeper. */
function withOutput(reading: Reading): Body {
  if (reading.output === undefined || reading.event_type !== 'Action.After') return reading;
  const output = typeof reading.output === 'string' ? reading.output : JSON.stringify(reading.output);
  const { action } = reading.data;
  return { ...reading, data: { ...reading.data, action: { ...action, result: { ...action.result, output } } } };
}
