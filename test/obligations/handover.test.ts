/**
 * The owner of the lock, when processes cannot see each other, when a pid was used again, and when two versions run at
 * once.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { VERSION } from '../../src/lib/version.ts';
import { commandsIn, delivered, type House, harmless, runHook, until } from '../wire/house.ts';
import { notRun, row } from './report.ts';
import { seed, size } from './size.ts';
import { byHand, type Stage, stage } from './stage.ts';

const TIMEOUT_MS = 120_000;
const env = { OTEL_HOOKS_LINGER: '60s' };

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A delivery that lingers for a minute, for every way to start it. */
function linger(house: House, program: string, deliver = house.deliver): ChildProcess {
  const [command = '', ...words] = program.split(' ').filter(word => word !== '');
  const all = [...words, process.execPath, deliver, '--kicked', '--state-dir', house.state];
  const child = spawn(command, all, { cwd: '/', stdio: 'ignore', env: { ...house.env, ...env } });
  children.push(child);
  return child;
}

interface Owner {
  pid: number;
  pidns: string;
  version: string;
  nonce: string;
}

function ownerOf(house: House): Owner | undefined {
  try {
    const text = readFileSync(join(house.state, 'lock'), 'utf8');
    return JSON.parse(text.slice(text.indexOf(' '))) as Owner;
  } catch {
    // No process owns the lock, or not yet.
    return undefined;
  }
}

async function call({ house }: Stage, id: string): Promise<void> {
  const payload = { session_id: 'handover', hook_event_name: 'PreToolUse', tool_name: 'Read', tool_use_id: id };
  const hook = { event: 'PreToolUse', mouth: 'sh' as const, env, payload: JSON.stringify(payload) };
  expect(await runHook({ house, commands: commandsIn(house) }, hook)).toEqual(harmless);
}

const callsAt = ({ collector }: Stage): string[] =>
  collector.records().flatMap(({ plain }) => String(plain['gen_ai.tool.call.id'] ?? '') || []);
const arrives = (at: Stage, id: string, withinMs: number): Promise<void> =>
  until(() => callsAt(at).includes(id), withinMs);

function noteFault(at: Stage, fault: string, ids: readonly string[], note: string): void {
  const arrived = callsAt(at);
  row('R12', fault, {
    obligations: ids.length,
    delivered: new Set(arrived).size,
    duplicated: arrived.length - new Set(arrived).size,
    lost: ids.filter(id => !arrived.includes(id)).length,
    note,
  });
  expect([...arrived].sort()).toEqual([...ids].sort());
}

it(`R12 two pid namespaces on one folder (seed ${seed})`, { timeout: TIMEOUT_MS }, async context => {
  const fault = 'two pid namespaces on one folder';
  const unshare = 'unshare --pid --fork --mount-proc --kill-child';
  if (spawnSync('unshare', ['--pid', '--fork', '--mount-proc', '--kill-child', 'true']).status !== 0)
    notRun(context, 'R12', fault, 'no other pid namespace can be made here');
  const at = await stage();
  const { house } = at;
  try {
    const inner = linger(house, unshare);
    await until(() => ownerOf(house) !== undefined, 10_000);
    const first = ownerOf(house);
    // A process that cannot see the owner leaves it the folder, even if both have the same pid.
    const outer = linger(house, '/usr/bin/env');
    await call(at, 'by-the-inner');
    await arrives(at, 'by-the-inner', 10_000);
    expect(ownerOf(house)?.nonce).toBe(first?.nonce);
    outer.kill('SIGKILL');

    const ran = await byHand(house, '10s');
    expect(ran.status).toBe(0);
    await until(() => inner.exitCode !== null, 10_000);
    const ids = ['by-the-inner'];
    if (size !== 'quick') {
      linger(house, unshare);
      await until(() => ownerOf(house) !== undefined, 10_000);
      const killed = ownerOf(house);
      // The owner was killed in a namespace that this process cannot see: its lock is stale after half a minute.
      for (const child of children) child.kill('SIGKILL');
      linger(house, '/usr/bin/env');
      await call(at, 'by-the-next');
      ids.push('by-the-next');
      await arrives(at, 'by-the-next', 60_000);
      expect(ownerOf(house)?.nonce).not.toBe(killed?.nonce);
    }
    noteFault(at, fault, ids, 'handed over to one who asks by hand');
  } finally {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await byHand(house, '60s');
    await at.leave();
  }
});

it(`R12 a dead owner whose pid another process has (seed ${seed})`, { timeout: TIMEOUT_MS }, async context => {
  const fault = 'a dead owner whose pid another process has';
  if (!existsSync('/proc/self/stat')) notRun(context, 'R12', fault, 'the start time of a process is unknown here');
  const at = await stage();
  const { house } = at;
  try {
    await call(at, 'first');
    await arrives(at, 'first', 10_000);
    const lock = readFileSync(join(house.state, 'lock'), 'utf8');
    expect((await byHand(house, '10s')).status).toBe(0);
    // The lock that the first owner leaves if it is killed and this process gets its pid.
    const owner = { ...(JSON.parse(lock.slice(lock.indexOf(' '))) as Owner), pid: process.pid, start: '1' };
    writeFileSync(join(house.state, 'lock'), `${process.pid} ${JSON.stringify(owner)}\n`, { mode: 0o600 });
    linger(house, '/usr/bin/env');
    await call(at, 'second');
    await arrives(at, 'second', 10_000);
    noteFault(at, fault, ['first', 'second'], 'taken over at once, by the time at which a process began');
  } finally {
    await byHand(house, '60s');
    await at.leave();
  }
});

it(`R12 a newer version comes while an older lingers (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
  const at = await stage();
  const { house } = at;
  try {
    const later = '99.0.0';
    const folder = join(house.folder, 'later');
    cpSync(join(house.deliver, '..'), folder, { recursive: true });
    // Both parts of the program state the version: the one that takes the lock and the one that delivers.
    const ofProgram = readdirSync(join(folder, 'chunks')).filter(name => name.startsWith('kicked-program-'));
    for (const name of ['deliver.js', ...ofProgram.map(chunk => join('chunks', chunk))]) {
      const text = readFileSync(join(folder, name), 'utf8');
      expect(text).toContain(JSON.stringify(VERSION));
      writeFileSync(join(folder, name), text.replaceAll(JSON.stringify(VERSION), JSON.stringify(later)));
    }

    const older = linger(house, '/usr/bin/env');
    await until(() => ownerOf(house)?.version === VERSION, 10_000);
    await call(at, 'by-the-older');
    await arrives(at, 'by-the-older', 10_000);
    linger(house, '/usr/bin/env', join(folder, 'deliver.js'));
    await until(() => ownerOf(house)?.version === later, 15_000);
    await until(() => older.exitCode !== null, 10_000);
    // The older version, started once more, does not take the lock back.
    linger(house, '/usr/bin/env');
    await call(at, 'by-the-newer');
    await arrives(at, 'by-the-newer', 10_000);
    await pause(300);
    expect(ownerOf(house)?.version).toBe(later);
    noteFault(
      at,
      'a newer version while an older lingers',
      ['by-the-older', 'by-the-newer'],
      'handed over within a round',
    );
  } finally {
    await byHand(house, '60s');
    await delivered(house);
    await at.leave();
  }
});
