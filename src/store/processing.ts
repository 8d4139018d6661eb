/**
 * Fragments whose processing ends the process: out of memory, or killed because it took too long. No code of ours runs
 * then, so the file `processing` names the fragments before a round is computed from them, and is removed before the
 * round is committed. A file that is still there tells the next owner which fragments were being processed when its
 * predecessor died.
 *
 * - A death alone proves nothing: any process may be killed at any moment, and a recorded event must survive that. So
 *   the fragments of a death are processed in small groups, at last one by one, in their order.
 * - A fragment is set aside (`crashed`) when it was being processed at two deaths and, at the last one, alone and for
 *   longer than any fragment takes. How long is told by the time of the file, which a thread of its own keeps up to
 *   date, because the main thread is busy. Deaths that come faster have to come more often.
 * - The file is never synced: it is about processes that die, not about machines. If it cannot be written, or is torn,
 *   everything is as it was without it.
 */
import { constants } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { at, type Disk, FILE_MODE, readBytes, unlinkIfThere } from './files.ts';

const FILE = 'processing';
/** So many are processed together that one group after a death is seldom more. */
const ONE_BY_ONE = 64;
const LONG_MS = 250;
const BEAT_MS = 50;
const MOST_FAST_DEATHS = 16;

interface Suspect {
  deaths: number;
  /** Deaths while it was processed alone. */
  alone: number;
  /** It was processed alone for long when the process died. */
  isSlow: boolean;
  /** At most so many are processed together. */
  group: number;
}

export interface Processing {
  /**
   * These are about to be processed. True when one of them was processed at a death: then nothing else belongs into
   * that round.
   */
  begin(names: readonly string[]): boolean;
  /** A round is about to be committed that settles these; without names the view was dropped. */
  end(settled?: readonly string[]): void;
  isCrashed(name: string): boolean;
  /** Whether a fragment may be taken into the round that begins with `first` and has so many already. */
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
      // On a full disk a death is not noticed, as without this file.
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
      // Of a round that failed, parts are committed one after the other.
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
    // Torn, or not ours: nothing is known of a death.
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
