/**
 * One session of a million events: the CPU time of an event at the end compared with one at the start, from fragments
 * to acknowledged bodies. The speed of a machine changes during so long a run, so a short session runs completely
 * beside each part of the long one, and each part is measured in units of that short session.
 *
 *     node scripts/bench.mjs session [--events 1000000] [--gate]
 *
 * `--gate`: 100,000 events; exits 1 when the gate is missed in each of three runs.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { destinationsIn } from '../src/deliver/known-destinations.ts';
import { computeRound } from '../src/pipeline/round.ts';
import { openStore } from '../src/store/store.ts';
import { fragmentOf, hooksOf, ROUND, worldIn } from './parts/sessions.ts';
import {
  answer,
  ask,
  type Done,
  judged,
  median,
  nothing,
  numberAfter,
  onStage,
  type Stage,
  setting,
  timed,
} from './parts/sides.ts';
import { receive, shipping } from './parts/way.ts';

const BAR = 1.2;
const PARTS = 10;

type Job = { kind: 'open'; name: string; url: string } | { kind: 'live'; name: string; events: number } | Closing;
interface Closing {
  kind: 'close';
  name: string;
}

const [role, folder = ''] = process.argv.slice(2);
if (role === 'receiver') receive();
else if (role === 'worker') work();
else process.exitCode = await onStage(stage => main(stage, process.argv.slice(2)));

async function main(stage: Stage, words: readonly string[]): Promise<number> {
  const isGate = words.includes('--gate');
  const events = numberAfter(words, '--events', isGate ? 100_000 : 1_000_000);
  console.log(`${setting()}, a session of ${events} events`);
  const receiver = stage.start('receiver');
  const url = await new Promise<string>(resolve => receiver.once('message', each => resolve(String(each))));
  for (let attempt = 1; attempt <= (isGate ? 3 : 1); attempt++) {
    if ((await compare(stage, url, events)) <= BAR) return 0;
  }
  return isGate ? 1 : 0;
}

async function compare({ start }: Stage, url: string, events: number): Promise<number> {
  const worker = start('worker');
  const costUs = async (name: string, count: number): Promise<number> => {
    const { cpuMs } = await ask<Job>(worker, { kind: 'live', name, events: count });
    return (cpuMs / count) * 1000;
  };
  const whole = async (name: string): Promise<number> => {
    await ask<Job>(worker, { kind: 'open', name, url });
    const cost = await costUs(name, Math.max(ROUND.fragments * 2, events / PARTS / 5));
    await ask<Job>(worker, { kind: 'close', name });
    return cost;
  };
  // The first events must not include the time for compiling.
  await whole('warm-up');
  await whole('warm-up-again');
  await ask<Job>(worker, { kind: 'open', name: 'long', url });
  const parts: number[] = [];
  let memoryMb = 0;
  console.log(
    `\n${'part'.padEnd(6)}${'us per event'.padStart(14)}${'beside it'.padStart(12)}${'ratio'.padStart(8)}${'MB'.padStart(8)}`,
  );
  for (let part = 1; part <= PARTS; part++) {
    const before = await whole(`short-${part}`);
    const done = await ask<Job>(worker, { kind: 'live', name: 'long', events: events / PARTS });
    const after = await whole(`short-${part}-again`);
    const cost = (done.cpuMs / (events / PARTS)) * 1000;
    const beside = (before + after) / 2;
    parts.push(cost / beside);
    memoryMb = done.memoryMb;
    console.log(
      `${String(part).padEnd(6)}${cost.toFixed(1).padStart(14)}${beside.toFixed(1).padStart(12)}${(cost / beside).toFixed(2).padStart(8)}${memoryMb.toFixed(0).padStart(8)}`,
    );
  }
  worker.kill();
  const ratio = median(parts.slice(-3)) / median(parts.slice(0, 3));
  console.log(judged(`a session of ${events} events, end beside start`, ratio, [{ name: 'bar', most: BAR }]));
  return ratio;
}

interface Life {
  live(events: number): Promise<Done>;
  close(): void;
}

function work(): void {
  const lives = new Map<string, Life>();
  answer<Job>(async job => {
    if (job.kind === 'open') lives.set(job.name, begin(job.name, job.url));
    else if (job.kind === 'live') return (await lives.get(job.name)?.live(job.events)) ?? nothing;
    else lives.get(job.name)?.close();
    return nothing;
  });
}

/** A session that can continue for this number of events. The time to make its hooks does not count. */
function begin(name: string, url: string): Life {
  const state = join(folder, name);
  const store = openStore({ folder: state, access: 'own' });
  const { ship, flush, close } = shipping(store, () => destinationsIn(store));
  const hooks = hooksOf(name, 500);
  return {
    async live(events) {
      let sum = nothing;
      for (let at = 0; at < events; at += ROUND.fragments) {
        const count = Math.min(ROUND.fragments, events - at);
        const fragments = Array.from({ length: count }, () => fragmentOf(hooks.next().value, url));
        const isLast = at + count >= events;
        const done = await timed(async () => {
          const { round } = computeRound(
            store,
            { fragments, rejects: [] },
            {},
            worldIn(folder, fragments.at(-1)?.atMs),
          );
          // These fragments were never in the inbox.
          if (store.commit({ ...round, eaten: [] }) !== 'committed') throw new Error('a round was lost');
          ship();
          await new Promise(resolve => setImmediate(resolve));
          if (isLast) await flush();
          return { spans: 0, records: 0 };
        });
        sum = { ...done, cpuMs: sum.cpuMs + done.cpuMs };
      }
      return sum;
    },
    close() {
      close();
      store.close();
      rmSync(state, { recursive: true });
    },
  };
}
