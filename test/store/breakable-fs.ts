import * as fs from 'node:fs';
import type { StoreFs } from '../../src/store/files.ts';

/** Thrown at the point where a process dies. */
export class Crash extends Error {}

export type Breakage = 'crash' | 'tear' | 'short' | 'ENOSPC' | 'EMFILE';

/** Called before each call of one owner, with its name and paths; its result decides the fate of that call. */
export type Hook = (call: string) => Breakage | undefined;

const real: StoreFs = fs;
const calls: readonly (keyof StoreFs)[] = [
  'openSync',
  'closeSync',
  'readSync',
  'writeSync',
  'fsyncSync',
  'fstatSync',
  'lstatSync',
  'opendirSync',
  'renameSync',
  'unlinkSync',
  'mkdirSync',
  'rmdirSync',
  'utimesSync',
  'chmodSync',
];

/** The real file system, seen by one process that can be stopped, killed, or refused a call, before any call. */
export function breakableFs(hook: Hook): StoreFs {
  const open = new Set<number>();
  let isDead = false;
  const die = (): never => {
    isDead = true;
    for (const file of open) fs.closeSync(file);
    open.clear();
    throw new Crash();
  };
  const wrap =
    (name: keyof StoreFs) =>
    (...args: never[]) => {
      if (isDead) throw new Crash();
      const breakage = hook([name, ...args.filter(arg => typeof arg === 'string')].join(' '));
      if (breakage === 'crash') die();
      if (name === 'writeSync' && (breakage === 'tear' || breakage === 'short')) {
        const [file, bytes, offset, length, position] = args as unknown as [number, Buffer, number, number, number];
        const written = fs.writeSync(file, bytes, offset, Math.ceil(length / 2), position);
        return breakage === 'tear' ? die() : written;
      }
      if (breakage === 'tear') die();
      // A file is closed even when closing reports an error.
      if (name === 'closeSync') open.delete(args[0] as unknown as number);
      if (breakage === 'ENOSPC' || breakage === 'EMFILE') {
        if (name === 'closeSync') fs.closeSync(args[0] as unknown as number);
        throw Object.assign(new Error(breakage), { code: breakage });
      }
      const result: unknown = (real[name] as (...args: never[]) => unknown)(...args);
      if (name === 'openSync') open.add(result as number);
      return result;
    };
  return Object.fromEntries(calls.map(name => [name, wrap(name)])) as unknown as StoreFs;
}
