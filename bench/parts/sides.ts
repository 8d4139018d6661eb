/** Sides of a comparison: processes of their own that do work on request and report its cost. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOM } from '../../src/hook/kick.ts';
import { type Limit, noteFigure } from './figures.ts';

export interface Done {
  cpuMs: number;
  wallMs: number;
  /** The maximum of memory that the process held. */
  memoryMb: number;
  /** The amount of work, to check that all sides did the same. */
  spans: number;
  records: number;
}

export type Counted = Pick<Done, 'spans' | 'records'>;

export const nothing: Done = { cpuMs: 0, wallMs: 0, memoryMb: 0, spans: 0, records: 0 };

export interface Stage {
  place: string;
  /** Starts another process of this program in that role; Node has the memory limit that hooks give to deliver. */
  start(role: string): ChildProcess;
}

/** Runs a comparison in a temporary folder; afterwards ends its processes and removes the folder in every case. */
export async function onStage<T>(play: (stage: Stage) => Promise<T>): Promise<T> {
  const place = mkdtempSync(join(tmpdir(), 'otel-hooks-bench-'));
  const children: ChildProcess[] = [];
  try {
    return await play({
      place,
      start(role) {
        const env = { PATH: process.env.PATH, HOME: place };
        const child = fork(process.argv[1] ?? '', [role, place], { env, execArgv: [ROOM] });
        children.push(child);
        return child;
      },
    });
  } finally {
    for (const child of children) child.kill();
    rmSync(place, { recursive: true, force: true });
  }
}

export function ask<Job extends { kind: string }>(child: ChildProcess, job: Job): Promise<Done> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error(`the process for ${job.kind} ended`));
    child.once('exit', gone);
    child.once('message', done => {
      child.off('exit', gone);
      resolve(done as Done);
    });
    child.send(job);
  });
}

/** The other end of `ask`. */
export function answer<Job>(work: (job: Job) => Promise<Done> | Done): void {
  process.on('message', async job => {
    process.send?.(await work(job as Job));
  });
}

export async function timed(run: () => Counted | Promise<Counted>): Promise<Done> {
  const wallBefore = performance.now();
  const before = process.cpuUsage();
  const counted = await run();
  const { user, system } = process.cpuUsage(before);
  const memoryMb = process.resourceUsage().maxRSS / 1024;
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() - wallBefore, memoryMb, ...counted };
}

type Sides = Readonly<Record<string, () => Promise<Done>>>;

/**
 * Runs each side once without counting, then `repeats` times in random order; returns the run with the median of CPU
 * time.
 */
export async function alternate(repeats: number, sides: Sides): Promise<Map<string, Done>> {
  const runs = new Map<string, Done[]>();
  for (let repeat = 0; repeat <= repeats; repeat++) {
    for (const [side, run] of shuffled(Object.entries(sides))) {
      const done = await run();
      if (repeat > 0) runs.set(side, [...(runs.get(side) ?? []), done]);
    }
  }
  return new Map(
    [...runs].map(([side, done]) => {
      const [middle = nothing] = [...done].sort((a, b) => a.cpuMs - b.cpuMs).slice(done.length >> 1);
      return [side, middle];
    }),
  );
}

/** The number behind a flag, or the default. */
export function numberAfter(words: readonly string[], flag: string, otherwise: number): number {
  const given = Number(words[words.indexOf(flag) + 1]);
  return words.includes(flag) && given > 0 ? Math.floor(given) : otherwise;
}

export const setting = (): string =>
  `node ${process.version}, ${process.platform}, ${cpus().length} cores, files on ${fileSystemOf(tmpdir())}`;

export const fileSystemOf = (folder: string): string => {
  const type = `0x${statfsSync(folder).type.toString(16)}`;
  return fileSystems[type] ?? type;
};

/** By the numbers that Linux gives them. */
const fileSystems: { readonly [type: string]: string } = {
  '0x1021994': 'tmpfs',
  '0xef53': 'ext4',
  '0x58465342': 'xfs',
  '0x9123683e': 'btrfs',
};

/** Returns the lines about a ratio and its gates, and notes the figure. */
export function judged(work: string, ratio: number, bars: readonly Limit[]): string {
  noteFigure({ work, value: ratio, unit: 'x', limits: bars });
  const lines = bars.map(({ name, most, least }) => {
    const isMet = (most === undefined || ratio <= most) && (least === undefined || ratio >= least);
    return `${name} ${most === undefined ? `>= ${least}x` : `<= ${most}x`} ${isMet ? 'met' : 'missed'}`;
  });
  return `${work.padEnd(46)} ${ratio.toFixed(3).padStart(7)}   ${lines.join(', ')}`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

export function quartile(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 2] ?? 0;
}

export function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map(item => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

/** The processes that a process has started and that still run. Only on Linux. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);
  } catch {
    // The process has ended.
    return [];
  }
}

/**
 * The memory of these processes together, in MB. Only on Linux. `mb`: pages of files, such as the code of Node, count once
 * for all processes. `residentMb`: they count for each.
 */
export function memoryOf(pids: readonly number[]): { mb: number; residentMb: number } {
  let [own, files, largestFiles] = [0, 0, 0];
  for (const pid of pids)
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      const mb = (name: string): number =>
        Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) / 1_024;
      own += mb('RssAnon') + mb('RssShmem');
      files += mb('RssFile');
      largestFiles = Math.max(largestFiles, mb('RssFile'));
    } catch {
      // The process has ended.
    }
  return { mb: own + largestFiles, residentMb: own + files };
}
