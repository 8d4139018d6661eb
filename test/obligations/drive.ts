/**
 * Runs the hooks of a load in a limited number of parallel processes, and kills deliver meanwhile if the test asks for
 * it.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Agent, commandsIn, type House, harmless, runHook } from '../wire/house.ts';
import { type Load, type Phase, type Random, textOf } from './load.ts';

export interface Drive {
  parallel: number;
  random: Random;
  env: Record<string, string>;
  /** The number of SIGKILLs for the delivery, spread over the run. */
  kills?: number;
}

export interface Driven {
  hooks: { sh: number; node: number };
  /** Hooks that printed something or did not end with 0. */
  harmful: string[];
  kills: number;
  wallMs: number;
  longestHookMs: number;
}

export async function drive(house: House, load: Load, options: Drive): Promise<Driven> {
  const { random, env, parallel, kills = 0 } = options;
  const startMs = performance.now();
  const agent: Agent = { house, commands: commandsIn(house) };
  const driven: Driven = { hooks: { sh: 0, node: 0 }, harmful: [], kills: 0, wallMs: 0, longestHookMs: 0 };
  const all = load.expected.hooks;
  let free = parallel;
  let begun = 0;
  const waiting: (() => void)[] = [];
  const next = (): void => {
    // Kills are spread over all of the run: hooks do not run ahead of them.
    while (free > 0 && waiting.length > 0 && begun <= (all * (driven.kills + 1)) / (kills || 1e-9)) {
      free -= 1;
      begun += 1;
      waiting.shift()?.();
    }
  };
  const turn = (): Promise<void> =>
    new Promise(resolve => {
      waiting.push(resolve);
      next();
    });

  const lane = async (hooks: Phase[number]): Promise<void> => {
    for (const { event, payload } of hooks) {
      await turn();
      const mouth = random() < 0.5 ? 'sh' : 'node';
      driven.hooks[mouth] += 1;
      const beginMs = performance.now();
      const ran = await runHook(agent, { event, mouth, env, payload: textOf(payload) });
      driven.longestHookMs = Math.max(driven.longestHookMs, performance.now() - beginMs);
      if (JSON.stringify(ran) !== JSON.stringify(harmless)) driven.harmful.push(`${event} ${JSON.stringify(ran)}`);
      free += 1;
      next();
    }
  };
  const session = async (phases: Phase[]): Promise<void> => {
    for (const lanes of phases) await Promise.all(lanes.map(lane));
  };
  let isOver = false;
  const killing = kill(
    house,
    options,
    () => isOver,
    () => {
      driven.kills += 1;
      next();
    },
  );
  await Promise.all(load.sessions.map(session));
  isOver = true;
  await killing;
  driven.wallMs = performance.now() - startMs;
  return driven;
}

async function kill(
  house: House,
  { kills = 0, random, env }: Drive,
  isOver: () => boolean,
  killed: () => void,
): Promise<void> {
  let last = 0;
  let idleSinceMs = performance.now();
  for (let done = 0; done < kills; ) {
    const pid = delivering(house);
    if (pid !== undefined && pid !== last) {
      await pause(random() * 400);
      if (delivering(house) === pid) {
        process.kill(pid, 'SIGKILL');
        last = pid;
        done += 1;
        killed();
      }
      idleSinceMs = performance.now();
    } else if (isOver() || performance.now() - idleSinceMs > 300) {
      // No hook starts delivery now: all hooks have ended, or wait for the next kill.
      startDeliver(house, env);
      idleSinceMs = performance.now();
      await pause(100);
    }
    await pause(5);
  }
}

/** Starts delivery as a hook does. It ends without a signal. */
export function startDeliver(house: House, env: Record<string, string>): void {
  const words = [house.deliver, '--kicked', '--state-dir', house.state];
  spawn(process.execPath, words, { cwd: '/', detached: true, stdio: 'ignore', env: { ...house.env, ...env } }).unref();
}

/** Measures at intervals the memory of the delivery; returns the maximum in MB. */
export function watchMemory(house: House): () => number | undefined {
  let most: number | undefined;
  const look = (): void => {
    const pid = delivering(house);
    const mb = pid === undefined ? undefined : memoryOf(pid);
    if (mb !== undefined) most = Math.max(most ?? 0, mb);
  };
  const timer = setInterval(look, 50);
  return () => {
    clearInterval(timer);
    return most;
  };
}

/** The maximum of memory that a process held. */
export function memoryOf(pid: number): number | undefined {
  try {
    const [, kb] = /^VmHWM:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kb === undefined ? undefined : Number(kb) / 1024;
  } catch {
    // The process has ended.
    return undefined;
  }
}

/** The process that has the lock, if it belongs to this test: the test never kills another process. */
export function delivering(house: House): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(house.state, 'lock'), 'utf8'), 10);
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return command.includes(house.deliver) && command.includes(house.state) ? pid : undefined;
  } catch {
    // No process has the lock, or the process has released it.
    return undefined;
  }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
