/**
 * Several deliveries on one folder, and one that is suspended and continues: one owner at a time, and nothing is sent
 * twice.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { skipFor } from '../needs.ts';
import { delivered, type House, until } from '../wire/house.ts';
import { delivering, drive, startDeliver, watchMemory } from './drive.ts';
import { loadOf, randomOf } from './load.ts';
import { row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { byHand, checkBooks, checkWhole, lostOf, receivedBy, stage } from './stage.ts';

const { hooks, parallel, stopS } = bySize({
  quick: { hooks: 40, parallel: 8, stopS: 0 },
  ci: { hooks: 400, parallel: 16, stopS: 45 },
  full: { hooks: 4_000, parallel: 32, stopS: 60 },
});
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 180_000;
const env = { OTEL_HOOKS_LINGER: '500ms' };

it(`R12 deliveries without number on one folder (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  const { house, collector, leave } = await stage();
  try {
    const load = loadOf(hooks, randomOf(seed), `crowd-${seed}`);
    let started = 0;
    const crowd = setInterval(() => {
      startDeliver(house, env);
      startDeliver(house, env);
      started += 2;
    }, 400);
    const rss = watchMemory(house);
    const driven = await drive(house, load, { parallel, random: randomOf(seed + 1), env });
    const typed = await byHand(house, '30s');
    clearInterval(crowd);
    await delivered(house);
    const received = receivedBy(collector);
    row('R12', 'deliveries started twice each 0.4 s, and one by hand', {
      faults: started,
      obligations: load.expected.records,
      delivered: received.records.size,
      duplicated: received.repeatedItems,
      lost: lostOf(received, load.expected),
      longestHookMs: driven.longestHookMs,
      rssMb: rss(),
    });
    expect(started).toBeGreaterThan(0);
    expect(driven.harmful).toEqual([]);
    // Everything was sent, or another process took over before this one could report it.
    expect([0, 1]).toContain(typed.status);
    checkWhole(received, load.expected);
    checkBooks(house, load.expected);
    expect(received.repeatedItems).toBe(0);
  } finally {
    await leave();
  }
});

it(`R12 an owner is suspended for ${stopS} s and continues (seed ${seed})`, {
  timeout: TIMEOUT_MS,
}, async context => {
  if (stopS === 0) skipFor(context, 'not at size quick');
  const random = randomOf(seed + 5);
  const slowly = () => pause(random() * 30, { status: 200 });
  const { house, collector, leave } = await stage({ answer: slowly });
  try {
    const load = loadOf(hooks, randomOf(seed + 2), `stopped-${seed}`);
    const half = { sessions: load.sessions.map(phases => phases.slice(0, 2)), expected: load.expected };
    const rest = { sessions: load.sessions.map(phases => phases.slice(2)), expected: load.expected };
    // The delivery lingers, so that there is a process to stop.
    const first = await drive(house, half, {
      parallel,
      random: randomOf(seed + 3),
      env: { OTEL_HOOKS_LINGER: '30s' },
    });
    // The first hooks may all have ended before the process that they started has the lock.
    const stopped = await firstToDeliver(house);
    process.kill(stopped, 'SIGSTOP');
    const driving = drive(house, rest, { parallel, random: randomOf(seed + 4), env });
    // A process that a hook starts does not wait half a minute for an idle owner; a person's delivery does.
    const byPerson = byHand(house, `${stopS * 2}s`);
    await pause(stopS * 1_000);
    const heir = ownerOf(house);
    process.kill(stopped, 'SIGCONT');
    const second = await driving;
    await byPerson;
    const kicks = setInterval(() => startDeliver(house, env), 2_000);
    await delivered(house, 60_000).finally(() => clearInterval(kicks));
    await delivered(house, 60_000);
    const received = receivedBy(collector);
    row('R12', `the owner stopped for ${stopS} s`, {
      faults: 1,
      obligations: load.expected.records,
      delivered: received.records.size,
      duplicated: received.repeatedItems,
      lost: lostOf(received, load.expected),
      longestHookMs: Math.max(first.longestHookMs, second.longestHookMs),
      note: heir === stopped ? 'no process took over' : 'another process took over',
    });
    expect(heir).not.toBe(stopped);
    expect([...first.harmful, ...second.harmful]).toEqual([]);
    checkWhole(received, load.expected);
    checkBooks(house, load.expected);
    expect(received.repeatedRequests).toBeLessThanOrEqual(1);
  } finally {
    await leave();
  }
});

async function firstToDeliver(house: House): Promise<number> {
  await until(() => delivering(house) !== undefined, 60_000);
  return delivering(house) ?? firstToDeliver(house);
}

function ownerOf(house: House): number | undefined {
  try {
    return Number.parseInt(readFileSync(join(house.state, 'lock'), 'utf8'), 10);
  } catch {
    // The new owner has finished.
    return undefined;
  }
}
