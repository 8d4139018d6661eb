/**
 * Finds fragments whose processing ends the process: out of memory, or killed because it took too long. No code can run
 * at that moment. So the file `processing` names the fragments before a round is computed from them, and is removed
 * before the round is committed. If the file exists at the start of the next owner, it names the fragments that were
 * processed when its predecessor died.
 *
 * - A death alone proves nothing: any process may be killed at any moment, and a recorded event must survive that. So
 *   the fragments of a death are processed in small groups, at last one by one, in their order.
 * - A fragment is set aside (`crashed`) when it was being processed at two deaths and, at the last one, alone and for
 *   longer than any fragment takes. The time of the file shows how long. A separate thread updates it, because the main
 *   thread is busy. If the time was shorter, more deaths are needed.
 * - The file is never synced: it is about processes that die, not about machines. If it cannot be written, or is torn,
 *   the store behaves as without it.
 */
import { constants } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { at, type Disk, FILE_MODE, readBytes, unlinkIfThere } from './files.ts';

const FILE = 'processing';
/** The size of a group after a death. One such group is usually enough. */
const ONE_BY_ONE = 64;
const LONG_MS = 250;
const BEAT_MS = 50;
const MOST_FAST_DEATHS = 16;

interface Suspect {
  deaths: number;
  /** The number of deaths while it was processed alone. */
  alone: number;
  /** At the death, it had been processed alone for a long time. */
  isSlow: boolean;
  /** The largest number of fragments that are processed together. */
  group: number;
}

export interface Processing {
  /**
   * Must be called before the fragments are processed. Returns true if one of them was processed at a death: the round
   * then holds no other fragments.
   */
  begin(names: readonly string[]): boolean;
  /**
   * Must be called before a round that settles these fragments is committed. It is called without names when the view
   * was dropped.
   */
  end(settled?: readonly string[]): void;
  isCrashed(name: string): boolean;
  /** Whether a fragment may join the round that begins with `first` and has a number of fragments already. */
  fits(name: string, first: string | undefined, count: number): boolean;
}

export function createProcessing(disk: Disk): Processing {
  const suspects = suspectsIn(disk);
  let open: readonly string[] = [];
  let isWritten = suspects.size > 0;
  let beat: Worker | undefined;

  const write = (): void => {
    const text = JSON.stringify({ v: 1, atMs: Date.now(), open, suspects: Object.fromEntries(suspects) });
    try {
      const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW = 0 } = constants;
      const file = disk.fs.openSync(at(disk, FILE), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, FILE_MODE);
      try {
        disk.fs.writeSync(file, Buffer.from(text));
      } finally {
        disk.fs.closeSync(file);
      }
      isWritten = true;
    } catch {
      // On a full disk, a death is not detected.
    }
  };

  return {
    begin(names) {
      open = names;
      if (names.length === 0) return false;
      write();
      const isSuspected = names.some(name => suspects.has(name));
      if (isSuspected) beat ??= startBeat(at(disk, FILE));
      return isSuspected;
    },
    end(settled) {
      void beat?.terminate();
      beat = undefined;
      const gone = new Set(settled);
      // The parts of a failed round are committed one after the other.
      open = settled === undefined ? [] : open.filter(name => !gone.has(name));
      for (const name of gone) suspects.delete(name);
      if (suspects.size + open.length > 0) write();
      else if (isWritten) {
        isWritten = false;
        unlinkIfThere(disk, FILE);
      }
    },
    isCrashed(name) {
      const suspect = suspects.get(name);
      return suspect !== undefined && suspect.deaths > 1 && (suspect.isSlow || suspect.alone >= MOST_FAST_DEATHS);
    },
    fits(name, first, count) {
      if (suspects.size === 0 || first === undefined) return true;
      const group = suspects.get(first)?.group;
      return suspects.has(name) ? group !== undefined && count < group : group === undefined;
    },
  };
}

function suspectsIn(disk: Disk): Map<string, Suspect> {
  try {
    const text = readBytes(disk, FILE)?.toString();
    if (text === undefined) return new Map();
    const noted = JSON.parse(text) as { atMs: number; open: string[]; suspects: { [name: string]: Suspect } };
    const suspects = new Map(Object.entries(noted.suspects));
    const isAlone = noted.open.length === 1;
    const tookMs = disk.fs.lstatSync(at(disk, FILE)).mtimeMs - noted.atMs;
    for (const name of noted.open) {
      const { deaths, alone } = suspects.get(name) ?? { deaths: 0, alone: 0 };
      suspects.set(name, {
        deaths: deaths + 1,
        alone: isAlone ? alone + 1 : alone,
        isSlow: isAlone && tookMs >= LONG_MS,
        group: noted.open.length <= ONE_BY_ONE ? 1 : Math.ceil(Math.sqrt(noted.open.length)),
      });
    }
    return suspects;
  } catch {
    // The file is torn or not ours: no death is known.
    return new Map();
  }
}

/**
 * Keeps the file's time up to date until the process ends. The thread ignores errors: without the beat, a later process
 * sees a shorter life of this one and needs more deaths before it sets a fragment aside.
 */
function startBeat(path: string): Worker {
  const code = `const { utimesSync } = require('node:fs');
    const { workerData } = require('node:worker_threads');
    setInterval(() => { try { const now = Date.now() / 1000; utimesSync(workerData, now, now); } catch { /* the file is gone: the note was removed */ } }, ${BEAT_MS});`;
  const worker = new Worker(code, { eval: true, workerData: path, execArgv: [], env: {} });
  worker.unref();
  worker.on('error', () => undefined);
  return worker;
}
