/** A small disk fills up while hooks run, and gets free space later: every recorded event is kept, and arrives once. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { decodeFragment } from '../../src/hook/fragment.ts';
import { VERSION } from '../../src/lib/version.ts';
import { takeLock } from '../../src/store/lock.ts';
import { commandsIn, delivered, type House, harmless, type Mouth, runHook, status } from '../wire/house.ts';
import { randomOf } from './load.ts';
import { notRun, row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { receivedBy, stage } from './stage.ts';

const { fillings, payloadKb, freeKb } = bySize({
  quick: { fillings: 1, payloadKb: 24, freeKb: 700 },
  ci: { fillings: 3, payloadKb: 16, freeKb: 1_200 },
  full: { fillings: 12, payloadKb: 4, freeKb: 3_000 },
});
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 120_000;
const env = { OTEL_HOOKS_LINGER: '300ms' };

it(`R9 a disk of 4 MB fills up and is freed (seed ${seed})`, { timeout: TIMEOUT_MS }, async context => {
  const { house, collector, leave } = await stage();
  rmSync(house.state, { recursive: true, force: true });
  mkdirSync(house.state, { recursive: true, mode: 0o700 });
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', house.state]).status === 0;
  try {
    if (!mounted) notRun(context, 'R9', 'a tmpfs of 4 MB', 'nothing may be mounted here');
    const random = randomOf(seed);
    const agent = { house, commands: commandsIn(house) };
    const call = async (id: string, mouth: Mouth): Promise<number> => {
      const text = { content: 'x'.repeat(payloadKb * 1_024) };
      const payload = {
        session_id: 'disk',
        hook_event_name: 'PreToolUse',
        tool_name: 'Write',
        tool_use_id: id,
        tool_input: text,
      };
      const startMs = performance.now();
      expect(await runHook(agent, { event: 'PreToolUse', mouth, env, payload: JSON.stringify(payload) })).toEqual(
        harmless,
      );
      return performance.now() - startMs;
    };
    let longestHookMs = 0;
    const obligations = new Set(['first']);
    let called = 1;
    longestHookMs = await call('first', 'node');
    await delivered(house);
    for (let filling = 0; filling < fillings; filling += 1) {
      const ballast = join(house.state, 'ballast');
      writeFileSync(ballast, Buffer.alloc(Math.max(0, roomIn(house) - freeKb * 1_024)));
      // No delivery runs, so the disk fills up with recorded hooks.
      const lock = await takeLock({ folder: house.state, version: VERSION, byHand: true, waitMs: 10_000 });
      expect(lock).toBeDefined();
      const touching = setInterval(() => lock?.touch(), 500);
      let refused = 0;
      while (refused < 6) {
        const before = complete(house).size;
        longestHookMs = Math.max(longestHookMs, await call(`call-${called++}`, random() < 0.5 ? 'sh' : 'node'));
        refused = complete(house).size > before ? 0 : refused + 1;
      }
      for (const id of complete(house)) obligations.add(id);
      clearInterval(touching);
      lock?.release();
      // While the disk is full, deliveries are started again and again, and deliver as much as they can.
      for (let i = 0; i < 3; i += 1) await deliverByHand(house, '2s');
      expect(status(house).balanced).toBe(true);
      rmSync(ballast);
      longestHookMs = Math.max(longestHookMs, await call(`after-${filling}`, 'sh'));
      obligations.add(`after-${filling}`);
      // The delivery ends when everything is sent.
      await deliverByHand(house, '600s');
    }
    const torn = readdirSync(join(house.state, 'inbox')).length;
    const ids = collector.records().map(record => String(record.plain['gen_ai.tool.call.id'] ?? ''));
    const arrived = new Set(ids.filter(id => id !== ''));
    const received = receivedBy(collector);
    row('R9', 'a tmpfs of 4 MB is full and freed', {
      faults: fillings,
      obligations: obligations.size,
      delivered: arrived.size,
      duplicated: received.repeatedItems,
      lost: [...obligations].filter(id => !arrived.has(id)).length,
      longestHookMs,
      note: `${called + fillings} hooks, ${torn} left a torn or empty file`,
    });
    expect([...obligations].filter(id => !arrived.has(id))).toEqual([]);
    expect([...arrived].filter(id => !obligations.has(id))).toEqual([]);
    expect(received.repeatedItems).toBe(0);
    expect(obligations.size).toBeGreaterThan(fillings * 5);
    const { balanced, fragments } = status(house);
    expect(balanced).toBe(true);
    expect(fragments.waiting).toBe(torn);
    expect(fragments.journaled).toBe(obligations.size);
  } finally {
    if (mounted) spawnSync('umount', ['-l', house.state]);
    await leave();
  }
});

/** Runs beside the collector, which answers from this process. */
async function deliverByHand(house: House, wait: string): Promise<void> {
  const words = [house.bin, 'deliver', '--wait', wait];
  const child = spawn(process.execPath, words, { cwd: house.project, env: house.env, stdio: 'ignore' });
  await new Promise(resolve => child.on('close', resolve));
}

/** Calls whose bytes are all in the inbox. */
function complete(house: House): Set<string> {
  const inbox = join(house.state, 'inbox');
  const ids = readdirSync(inbox).flatMap(name => {
    const decoded = decodeFragment(name, readFileSync(join(inbox, name)), statSync(join(inbox, name)).mtimeMs);
    if (!decoded.ok) return [];
    const { tool_use_id: id } = JSON.parse(decoded.fragment.payload.toString()) as { tool_use_id: string };
    return [id];
  });
  return new Set(ids);
}

function roomIn(house: House): number {
  const { stdout } = spawnSync('df', ['--output=avail', '-B1', house.state], { encoding: 'utf8' });
  return Number(stdout.split('\n')[1]);
}
