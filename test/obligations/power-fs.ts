/**
 * A file system that simulates a power cut. Processes see every change at once, as on a real one. The cut decides which
 * changes survive. After a sync the bytes of a file survive; before it all, some or only zeros may be left. A change of
 * names survives once a folder that it touches was synced; before that it may survive or not, independent of its order.
 * A rename is never half done. (Real file systems keep more of the order.)
 */
import * as fs from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { StoreFs } from '../../src/store/files.ts';
import type { Random } from './load.ts';

export class PowerCut extends Error {}

/** The content in memory, and the part of it that a sync saved. */
interface File {
  now: Buffer;
  sure: Buffer;
}

/** The file of a name, or a folder. */
type Entry = File | 'folder';

type Change = (tree: Map<string, Entry>) => void;

export interface PowerDisk {
  fs: StoreFs;
  /** Writes the state after the cut into `folder`. */
  restore(folder: string): void;
}

/** Works on a real folder, whose present content counts as synced. The power fails before the n-th change. */
export function powerDisk(root: string, cutAt: number, random: Random): PowerDisk {
  const sureTree = new Map<string, Entry>();
  const tree = new Map<string, Entry>();
  for (const entry of fs.readdirSync(root, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    const bytes = entry.isFile() ? fs.readFileSync(path) : undefined;
    const known: Entry = bytes === undefined ? 'folder' : { now: bytes, sure: bytes };
    sureTree.set(relative(root, path), known);
    tree.set(relative(root, path), known);
  }
  const changes: Change[] = [];
  let sureChanges = 0;
  const open = new Map<number, Entry | undefined>();
  let count = 0;
  const tick = (): void => {
    if (count >= cutAt) throw new PowerCut();
    count += 1;
  };
  const named = (path: fs.PathLike): string => relative(root, String(path));
  const change = (apply: Change): void => {
    apply(tree);
    changes.push(apply);
  };

  const wrapped: StoreFs = {
    ...fs,
    openSync(path, flags, mode) {
      tick();
      const name = named(path);
      const isNew = !tree.has(name) && name !== '';
      const file = fs.openSync(path, flags, mode);
      if (isNew) {
        const made: File = { now: Buffer.alloc(0), sure: Buffer.alloc(0) };
        change(into => into.set(name, made));
      }
      open.set(file, tree.get(name));
      return file;
    },
    closeSync(file) {
      open.delete(file);
      fs.closeSync(file);
    },
    writeSync: ((file: number, bytes: Uint8Array, offset: number, length: number, position: number) => {
      tick();
      const written = fs.writeSync(file, bytes, offset, length, position);
      const entry = open.get(file);
      if (entry !== undefined && entry !== 'folder') {
        const end = Math.max(entry.now.length, position + written);
        const next = Buffer.alloc(end);
        entry.now.copy(next);
        next.set(bytes.subarray(offset, offset + written), position);
        entry.now = next;
      }
      return written;
    }) as StoreFs['writeSync'],
    fsyncSync(file) {
      tick();
      const entry = open.get(file);
      if (entry !== undefined && entry !== 'folder') entry.sure = entry.now;
      else sureChanges = changes.length;
    },
    renameSync(from, to) {
      tick();
      fs.renameSync(from, to);
      const [source, target] = [named(from), named(to)];
      change(into => {
        const moved = [...into].filter(([name]) => name === source || name.startsWith(`${source}/`));
        for (const [name, entry] of moved) {
          into.delete(name);
          into.set(target + name.slice(source.length), entry);
        }
      });
    },
    unlinkSync(path) {
      tick();
      fs.unlinkSync(path);
      const name = named(path);
      change(into => into.delete(name));
    },
    mkdirSync: ((path: fs.PathLike, mode: number) => {
      tick();
      fs.mkdirSync(path, mode);
      const name = named(path);
      change(into => into.set(name, 'folder'));
    }) as StoreFs['mkdirSync'],
    rmdirSync: ((path: fs.PathLike) => {
      tick();
      fs.rmdirSync(path);
      const name = named(path);
      change(into => into.delete(name));
    }) as StoreFs['rmdirSync'],
  };

  return {
    fs: wrapped,
    restore(folder) {
      const left = new Map(sureTree);
      const isOrdered = random() < 0.5;
      const reached = sureChanges + Math.floor(random() * (changes.length - sureChanges + 1));
      for (const [i, apply] of changes.entries()) {
        if (i < sureChanges || (isOrdered ? i < reached : random() < 0.5)) apply(left);
      }
      for (const [name, entry] of [...left].sort(([a], [b]) => (a < b ? -1 : 1))) {
        const path = join(folder, name);
        fs.mkdirSync(entry === 'folder' ? path : dirname(path), { recursive: true, mode: 0o700 });
        if (entry !== 'folder') fs.writeFileSync(path, afterCut(entry, random), { mode: 0o600 });
      }
    },
  };
}

/** Bytes that no sync saved: the former ones, the new ones, a part, or zeros in the right length. */
function afterCut({ now, sure }: File, random: Random): Buffer {
  if (now === sure) return now;
  const dice = random();
  if (dice < 0.3) return sure;
  if (dice < 0.6) return now;
  if (dice < 0.8)
    return Buffer.concat([
      sure,
      now.subarray(sure.length, sure.length + Math.floor(random() * (now.length - sure.length))),
    ]);
  return Buffer.concat([sure, Buffer.alloc(Math.max(0, now.length - sure.length))]);
}
