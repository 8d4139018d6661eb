/**
 * All faults at once, for a given time: agents at work, killed and suspended deliveries, killed hooks, a collector that
 * fails at random. Every event that a hook confirmed must arrive, complete and with the same bytes in each repetition.
 * Memory does not grow, and no leftover files stay.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Reply } from '../collector.ts';
import { books, commandsIn, harmless, runHook, status, until } from '../wire/house.ts';
import { counts, sessionOf } from '../wire/session.ts';
import { delivering, startDeliver } from './drive.ts';
import { type Random, randomOf } from './load.ts';
import { row } from './report.ts';
import { bySize, seed } from './size.ts';
import { byHand, receivedBy, stage } from './stage.ts';

const minutes = Number(process.env.OTEL_HOOKS_SOAK_MINUTES) || bySize({ quick: 0.03, ci: 0.5, full: 10 });
const AGENTS = 3;
const env = { OTEL_HOOKS_LINGER: '1s', OTEL_EXPORTER_OTLP_TIMEOUT: '3000' };

const moods: Reply[] = [
  { status: 200 },
  { status: 200 },
  { status: 503 },
  { status: 429, headers: { 'retry-after': '1' } },
  { status: 502 },
  'hang',
  'reset',
  { raw: 'what?' },
];

it(`R16 ${minutes} minutes of random faults (seed ${seed})`, { timeout: minutes * 60_000 + 240_000 }, async () => {
  const random = randomOf(seed);
  let mood: Reply = { status: 200 };
  const { house, collector, leave } = await stage({ answer: () => mood });
  const faults = { killed: 0, stopped: 0, hooks: 0, moods: 0 };
  const memory: number[] = [];
  try {
    const agent = { house, commands: commandsIn(house) };
    const endMs = performance.now() + minutes * 60_000;
    const isOver = (): boolean => performance.now() > endMs;
    const promised: string[] = [];
    const harmful: string[] = [];
    let longestHookMs = 0;
    let hooks = 0;

    const work = async (lane: number): Promise<void> => {
      for (let n = 0; !isOver(); n += 1) {
        const id = `soak-${seed}-${lane}-${n}`;
        for (const hook of sessionOf(id, house.project, random() < 0.5 ? ['sh', 'node'] : ['sh'])) {
          const beginMs = performance.now();
          const ran = await runHook(agent, { ...hook, env });
          hooks += 1;
          longestHookMs = Math.max(longestHookMs, performance.now() - beginMs);
          if (JSON.stringify(ran) !== JSON.stringify(harmless)) harmful.push(`${id} ${JSON.stringify(ran)}`);
        }
        promised.push(id);
      }
    };
    const killHooks = async (): Promise<void> => {
      for (let n = 0; !isOver(); n += 1) {
        await pause(random() * 400);
        await killedHook(commandsIn(house).get('PreToolUse') ?? '', `victim-${n}`, random, { ...house.env, ...env });
        faults.hooks += 1;
      }
    };
    const trouble = async (): Promise<void> => {
      while (!isOver()) {
        await pause(200 + random() * 800);
        mood = moods[Math.floor(random() * moods.length)] ?? mood;
        faults.moods += 1;
        const pid = delivering(house);
        if (pid === undefined) continue;
        memory.push(residentMb(pid) ?? memory.at(-1) ?? 0);
        const dice = random();
        if (dice < 0.15) {
          process.kill(pid, 'SIGKILL');
          faults.killed += 1;
        } else if (dice < 0.3) {
          process.kill(pid, 'SIGSTOP');
          await pause(random() * 500);
          process.kill(pid, 'SIGCONT');
          faults.stopped += 1;
        }
      }
    };
    await Promise.all([...Array.from({ length: AGENTS }, (_, lane) => work(lane)), killHooks(), trouble()]);
    mood = { status: 200 };
    const kicks = setInterval(() => startDeliver(house, env), 2_000);
    await byHand(house, '120s');
    await until(() => {
      const now = books(house)?.destinations.at(0);
      return now !== undefined && now.spans.waiting + now.logs.waiting === 0;
    }, 60_000).finally(() => clearInterval(kicks));
    // The last delivery removes the lock that a killed one left.
    await byHand(house, '20s');
    await until(() => !existsSync(join(house.state, 'lock')), 60_000);

    const received = receivedBy(collector);
    const arrived = new Map<string, { records: Set<string>; spans: Set<string> }>();
    const of = (session: unknown) => {
      const known = arrived.get(String(session)) ?? { records: new Set(), spans: new Set() };
      arrived.set(String(session), known);
      return known;
    };
    for (const span of collector.spans()) of(span.plain['session.id']).spans.add(String(span.spanId));
    for (const record of collector.records())
      of(record.plain['session.id']).records.add(String(record.plain['agent_hooks.event.id']));
    const whole = promised.filter(id => of(id).records.size === counts.records && of(id).spans.size === counts.spans);
    const after = status(house);
    row('R16', `${minutes} minutes: deliveries killed and stopped, hooks killed, a collector with moods`, {
      faults: faults.killed + faults.stopped + faults.hooks + faults.moods,
      obligations: promised.length * counts.records,
      delivered: whole.length * counts.records,
      duplicated: received.repeatedItems,
      lost: (promised.length - whole.length) * counts.records,
      quarantined: after.fragments.quarantined,
      longestHookMs,
      rssMb: Math.max(...memory),
      note: `${hooks} hooks, ${faults.killed} kills, ${faults.stopped} stops, ${faults.hooks} killed hooks, ${faults.moods} moods`,
    });
    expect(harmful).toEqual([]);
    expect(promised.filter(id => !whole.includes(id))).toEqual([]);
    expect(received.changed).toEqual([]);
    expect(received.repeatedRequests).toBeLessThanOrEqual(faults.killed);
    expect(after.balanced).toBe(true);
    expect(Math.max(...memory)).toBeLessThanOrEqual(256);
    // Flat: the last third needs no more memory than the first one, within the variation of the garbage collector.
    const third = Math.ceil(memory.length / 3);
    if (minutes >= 5) expect(median(memory.slice(-third))).toBeLessThanOrEqual(median(memory.slice(0, third)) * 1.3);
    for (const place of ['rounds', 'inbox']) expect(litterIn(join(house.state, place)), place).toEqual([]);
    const waiting = readdirSync(join(house.state, 'outbox')).flatMap(id =>
      readdirSync(join(house.state, 'outbox', id)),
    );
    expect(waiting).toEqual([]);
  } finally {
    await leave();
  }
});

/** Young torn fragments of killed hooks do not count as leftover files. */
function litterIn(folder: string): string[] {
  return readdirSync(folder).filter(name => {
    const text = readFileSync(join(folder, name), 'utf8');
    return text.endsWith(`\n${name.split('-').slice(3).join('-')}\n`);
  });
}

function killedHook(command: string, id: string, random: Random, env: Record<string, string>): Promise<void> {
  return new Promise((settled, failed) => {
    const child = spawn('/bin/sh', ['-c', command], { env, detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    child.on('error', failed);
    child.on('close', () => settled());
    child.stdin.on('error', () => undefined);
    const fields = {
      session_id: 'victims',
      cwd: '/',
      hook_event_name: 'PreToolUse',
      tool_name: 'Bash',
      tool_use_id: id,
    };
    child.stdin.end(JSON.stringify({ ...fields, tool_input: { command: 'x'.repeat(random() * 60_000) } }));
    setTimeout(() => {
      if (child.exitCode !== null || child.pid === undefined) return;
      try {
        process.kill(child.pid, 'SIGKILL');
      } catch {
        // The process ended in this moment.
      }
    }, random() * 20);
  });
}

function residentMb(pid: number): number | undefined {
  try {
    const [, kb] = /^VmRSS:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kb === undefined ? undefined : Number(kb) / 1024;
  } catch {
    // The process has ended.
    return undefined;
  }
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
