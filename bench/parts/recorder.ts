/** Records what a piece of work costs: CPU and allocations by V8's profilers, system calls by strace. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type HeapProfiler, type Profiler, Session } from 'node:inspector';
import { basename } from 'node:path';

/** `plain` records nothing, so its time is the true one. */
export type Mode = 'plain' | 'cpu' | 'heap' | 'calls';

/** One sample in this time, and one in so many allocated bytes. */
const CPU_STEP_US = 200;
const HEAP_STEP_BYTES = 16 * 1024;
/** Files that do not exist: in the list of system calls, looking for them marks the recorded part. */
const MARKS = { begin: '/otel-hooks-profile-begin', end: '/otel-hooks-profile-end' };

export async function recorded<T>(mode: Mode, file: string, work: () => Promise<T> | T): Promise<T> {
  if (mode === 'plain') return work();
  if (mode === 'calls') {
    existsSync(MARKS.begin);
    const result = await work();
    existsSync(MARKS.end);
    return result;
  }
  const stop = startProfiler(mode, file);
  try {
    return await work();
  } finally {
    stop();
  }
}

/** Returns the function that ends the recording and writes it. */
function startProfiler(mode: 'cpu' | 'heap', file: string): () => void {
  const session = new Session();
  session.connect();
  if (mode === 'cpu') {
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: CPU_STEP_US });
    session.post('Profiler.start');
    return () => session.post('Profiler.stop', (_, { profile }) => writeFileSync(file, JSON.stringify(profile)));
  }
  // Garbage is included: the cost of an allocation does not depend on how long the object lives.
  const options = {
    samplingInterval: HEAP_STEP_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  };
  session.post('HeapProfiler.startSampling', options);
  return () =>
    session.post('HeapProfiler.stopSampling', (_, { profile }) => writeFileSync(file, JSON.stringify(profile)));
}

/**
 * A program to load before the command of a whole stage: it records each process from its start to its end. `%p` in the
 * file becomes the id of the process.
 */
export const PRELOAD = `'use strict';
const { Session } = require('node:inspector');
const { writeFileSync } = require('node:fs');
const { PROFILE_MODE: mode, PROFILE_FILE: file } = process.env;
const session = new Session();
session.connect();
if (mode === 'cpu') {
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: ${CPU_STEP_US} });
  session.post('Profiler.start');
} else {
  session.post('HeapProfiler.startSampling', {
    samplingInterval: ${HEAP_STEP_BYTES},
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
}
process.on('exit', () =>
  session.post(mode === 'cpu' ? 'Profiler.stop' : 'HeapProfiler.stopSampling', (_, { profile }) =>
    writeFileSync(file.replace('%p', process.pid), JSON.stringify(profile)),
  ),
);
`;

export interface Share {
  name: string;
  amount: number;
}

/** Microseconds by function, largest first, without idle time. */
export function cpuByFunction(files: readonly string[]): Share[] {
  const sums = new Map<string, number>();
  for (const file of files) {
    const { nodes, samples = [], timeDeltas = [] } = JSON.parse(readFileSync(file, 'utf8')) as Profiler.Profile;
    const names = new Map(nodes.map(node => [node.id, nameOf(node.callFrame)]));
    for (const [i, id] of samples.entries()) {
      const name = names.get(id) ?? '';
      if (name !== '(idle)') sums.set(name, (sums.get(name) ?? 0) + (timeDeltas[i] ?? 0));
    }
  }
  return sorted(sums);
}

/** Allocated bytes by function, largest first. */
export function bytesByFunction(files: readonly string[]): Share[] {
  const sums = new Map<string, number>();
  const add = (node: HeapProfiler.SamplingHeapProfileNode): void => {
    const name = nameOf(node.callFrame);
    sums.set(name, (sums.get(name) ?? 0) + node.selfSize);
    for (const child of node.children) add(child);
  };
  for (const file of files) add((JSON.parse(readFileSync(file, 'utf8')) as HeapProfiler.SamplingHeapProfile).head);
  return sorted(sums);
}

/** System calls by name, most frequent first: those between the marks, or all where there are no marks. */
export function callsByName(file: string): Share[] {
  const sums = new Map<string, number>();
  const lines = readFileSync(file, 'utf8').split('\n');
  const lineOf = (mark: string): number => lines.findIndex(line => line.includes(mark));
  const [begin, end] = [lineOf(MARKS.begin), lineOf(MARKS.end)];
  for (const line of lines.slice(begin + 1, end < 0 ? undefined : end)) {
    // `<... read resumed>` is the second half of a call that another thread interrupted.
    const [, name] = /^(?:\d+ +)?(?:[\d:.]+ )?(\w+)\(/.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + 1);
  }
  return sorted(sums);
}

const sorted = (sums: ReadonlyMap<string, number>): Share[] =>
  [...sums]
    .filter(([name]) => !OWN.includes(name))
    .map(([name, amount]) => ({ name, amount }))
    .sort((a, b) => b.amount - a.amount);

/** What the profiler itself does: it ends inside of the recorded part. */
const OWN = ['dispatch', 'post (inspector)'];

/** A function of Node has the name of its module behind it. The bundler puts a number behind a name that occurs twice. */
function nameOf({ functionName, url }: { functionName: string; url: string }): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url.startsWith('node:')) return `${name} (${basename(url.slice('node:'.length))})`;
  return url === '' ? name : name.replace(/\d+$/, '');
}
