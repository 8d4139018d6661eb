/**
 * Agents or the kernel kill hooks at any moment. An event is complete, byte for byte, if its hook reported success.
 * Otherwise its fragment is complete or counted as torn, and no other event changes. Deliver does not run meanwhile:
 * the complete fragments in the inbox are the events that must arrive.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statfsSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { imbalances } from '../../src/deliver/status-books.ts';
import { decodeFragment } from '../../src/hook/fragment.ts';
import { startCollector } from '../collector.ts';
import { AGENT, books, commandsIn, enable, furnish, vacate } from '../wire/house.ts';
import { type Random, randomOf } from './load.ts';
import { notRun, row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { byHand, makeOld, receivedBy } from './stage.ts';

const kills = bySize({ quick: 8, ci: 100, full: 1_000 });
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 120_000;
const PARALLEL = 4;
const SIZES = [500, 60_000, 1_200_000];

interface Outcome {
  id: string;
  payload: string;
  status: number | null;
  wasKilled: boolean;
  ms: number;
}

it(`R2 ${kills} SIGKILLs of hooks, on disk (seed ${seed})`, { timeout: TIMEOUT_MS }, () => killHooks('disk', tmpdir()));

it(`R2 ${kills} SIGKILLs of hooks, on tmpfs (seed ${seed})`, { timeout: TIMEOUT_MS }, context => {
  const TMPFS = 0x01021994;
  if (!isOfType('/dev/shm', TMPFS)) notRun(context, 'R2', 'SIGKILLs of hooks, on tmpfs', '/dev/shm is no tmpfs');
  return killHooks('tmpfs', '/dev/shm');
});

function isOfType(path: string, type: number): boolean {
  try {
    return statfsSync(path).type === type;
  } catch {
    // This system has no such folder.
    return false;
  }
}

async function killHooks(where: string, parent: string): Promise<void> {
  const random = randomOf(seed + where.length);
  const collector = await startCollector();
  const house = furnish('built', 'otel-hooks-killed-', parent);
  try {
    expect(enable(house, collector.url).status).toBe(0);
    // The first hook makes the folders. The delivery that it started has ended when a delivery by hand is over. From
    // then on a living process has the lock, so no hook starts another one.
    expect(await hook('first', random, 'node', 500, undefined)).toMatchObject({ status: 0 });
    expect((await byHand(house, '60s')).status).toBe(0);
    const lock = join(house.state, 'lock');
    writeFileSync(lock, `${process.pid} {"v":1}\n`);
    const outcomes: Outcome[] = [];
    let killed = 0;
    while (killed < kills) {
      // A living owner touches its lock in this way; another process would take over an untouched lock, and the events
      // with it.
      utimesSync(lock, new Date(), new Date());
      const some = await Promise.all(
        Array.from({ length: PARALLEL }, () => {
          const bytes = SIZES[Math.floor(random() * SIZES.length)] ?? 500;
          const mouth = random() < 0.5 ? 'sh' : 'node';
          // Node spends most of its time with starting, a shell only some milliseconds.
          const afterMs = random() < 0.2 ? undefined : random() * (mouth === 'node' ? 60 : 25);
          return hook(`n${outcomes.length}-${Math.floor(random() * 1e9)}`, random, mouth, bytes, afterMs);
        }),
      );
      outcomes.push(...some);
      killed += some.filter(each => each.wasKilled).length;
    }

    const inbox = join(house.state, 'inbox');
    const found = new Map<string, string>();
    let torn = 0;
    for (const name of readdirSync(inbox)) {
      const path = join(inbox, name);
      const decoded = decodeFragment(name, readFileSync(path), statSync(path).mtimeMs);
      if (!decoded.ok) {
        torn += 1;
        makeOld(inbox, name);
        continue;
      }
      const text = decoded.fragment.payload.toString();
      found.set(String((JSON.parse(text) as { tool_use_id: string }).tool_use_id), text);
    }
    const promised = outcomes.filter(each => each.status === 0);
    const lost = promised.filter(each => found.get(each.id) !== each.payload);
    const damaged = [...found].filter(([id, text]) => outcomes.find(each => each.id === id)?.payload !== text);

    rmSync(lock);
    expect((await byHand(house, '60s')).status).toBe(0);
    const after = books(house);
    const arrived = new Set(
      collector
        .records()
        .filter(record => record.plain['agent_hooks.event.type'] === 'Action.Before')
        .map(record => String(record.plain['gen_ai.tool.call.id'])),
    );
    expect(arrived.delete('first')).toBe(true);
    const undelivered = [...found.keys()].filter(id => !arrived.has(id));
    row('R2', `SIGKILLs of hooks, on ${where}, 0.5 KB, 60 KB, 1.2 MB`, {
      faults: killed,
      obligations: found.size,
      delivered: arrived.size,
      duplicated: receivedBy(collector).repeatedItems,
      lost: lost.length + undelivered.length,
      quarantined: after?.fragments.quarantined ?? 0,
      longestHookMs: Math.max(...promised.map(each => each.ms)),
      note: `${promised.length} hooks were let live`,
    });
    expect(lost.map(each => each.id)).toEqual([]);
    expect(damaged).toEqual([]);
    expect(undelivered).toEqual([]);
    expect(arrived.size).toBe(found.size);
    expect(after?.fragments).toMatchObject({ waiting: 0, journaled: found.size + 1, quarantined: torn });
    expect(after && imbalances(after)).toEqual([]);
    expect(receivedBy(collector).repeatedItems).toBe(0);
  } finally {
    await vacate(house);
    await collector.close();
  }

  function hook(
    id: string,
    dice: Random,
    mouth: 'sh' | 'node',
    bytes: number,
    killAfterMs: number | undefined,
  ): Promise<Outcome> {
    const fields = {
      session_id: `killed-${seed}`,
      cwd: '/',
      hook_event_name: 'PreToolUse',
      tool_name: 'Bash',
      tool_use_id: id,
    };
    const payload = JSON.stringify({ ...fields, tool_input: { command: textOf(bytes, dice) } });
    const command = commandsIn(house).get('PreToolUse') ?? '';
    const [program, args] =
      mouth === 'sh'
        ? ['/bin/sh', ['-c', command]]
        : [process.execPath, [house.bin, 'hook', '--tool', AGENT, '--event', 'PreToolUse']];
    return new Promise((settled, failed) => {
      const startMs = performance.now();
      let wasKilled = false;
      // A process group of its own: the shell and its `cat` die at the same moment, or the shell dies alone.
      const child = spawn(program, args, {
        cwd: house.project,
        env: house.env,
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      child.on('error', failed);
      child.on('close', status => settled({ id, payload, status, wasKilled, ms: performance.now() - startMs }));
      child.stdin.on('error', () => undefined);
      child.stdin.end(payload);
      if (killAfterMs === undefined) return;
      setTimeout(() => {
        if (child.exitCode !== null || child.pid === undefined) return;
        wasKilled = true;
        try {
          process.kill(dice() < 0.5 ? -child.pid : child.pid, 'SIGKILL');
        } catch {
          // The process ended at this moment, so the test killed none.
          wasKilled = false;
        }
      }, killAfterMs);
    });
  }
}

/** A payload of this number of bytes, different each time, so that no two payloads are equal. */
function textOf(bytes: number, random: Random): string {
  const word = Math.floor(random() * 2 ** 32).toString(16);
  return word.repeat(Math.ceil(bytes / word.length)).slice(0, bytes);
}
