/**
 * Rounds: how the state folder changes. Each decision of deliver about some fragments or about an answer of a collector
 * takes effect as one round, completely or not at all.
 *
 * Constraints
 * - Any process may be killed between two system calls, or in the middle of a write.
 * - Any process may be suspended at any point for any time, and then continue. The lock makes two owners rare, but not
 *   impossible. So no step here relies on the lock.
 * - A call may fail (disk full, I/O error). Rounds that were committed before stay committed.
 * - A file system has no compare-and-swap. It guarantees this: rename is atomic; a folder cannot be renamed onto one that
 *   is not empty; a missing name cannot be renamed; an open file stays the file that was opened.
 * - Readers hold no lock, and the books that they see must balance at every instant.
 *
 * Format (version 1)
 *
 *     ledger.json                     number n and nonce of the last round, and the books as of it
 *     rounds/<n+1>.<nonce>/           a round being staged; belongs to its maker only
 *     rounds/<n+1>/                   a committed round, until it is applied
 *         manifest.json               first line: `otel-hooks-round 1 <sha256 of the rest>`; then one JSON object
 *         <nonce>.lines               all bytes for journals
 *         <nonce>.<i>                 a new file: a body, a session's state, a document, a poison item, a journal that
 *                                     has to begin as a new file
 *         <nonce>.ledger              the next ledger
 *         <nonce>.gone/               removed files whose names may be used again; exists only if there are any
 *     rounds/gone.<nonce>/            a discarded round that is being removed
 *
 * A nonce is 16 random hex characters, one for each attempt. Numbers count up by one and are never used twice.
 *
 * Operations
 * - stage: write everything to rounds/<n+1>.<nonce>/, manifest last, where n is the number of the ledger with which the
 *   maker's view of the folder began.
 * - commit: rename it to rounds/<n+1>. ENOTEMPTY: another owner's round has that number. ENOENT: a starting owner removed
 *   our staging folder. In both cases the round is lost and the maker begins again from the disk. Then read the ledger:
 *   if it has passed n, our rename came too late, into a free name; discard the round, it is lost.
 * - apply: (1) write the journals' bytes at their offsets, (2) rename the staged files to their places, (3) rename the
 *   removed files to <nonce>.gone/, (4) rename fragments to the quarantine, (5) unlink settled bodies, (6) unlink eaten
 *   fragments, (7) rename the ledger, (8) discard rounds/<n+1>. In steps 2 to 7 a missing file counts as done.
 * - discard: rename rounds/<m> to rounds/gone.<nonce>, then remove that.
 * - adopt (at start, and after a loss): read the ledger, n. If rounds/<n+1> exists: read it, read the ledger again, and
 *   if it is still n, apply the round and begin anew. Otherwise discard rounds/<n> and other numbers that are left. A
 *   starting owner also removes staging folders.
 *
 * Why every crash is harmless
 * - While staging: no process reads a staging folder. It is removed later.
 * - After the rename: the round is complete, and the next adopter applies it. Applying it twice, or the rest after a
 *   part, has the same result as once: the same bytes at the same offsets, and removed names stay removed.
 * - Between ledger and discard: the number has passed, so the round is not applied again; the next adopter discards it.
 * - In the middle of a journal's bytes: they are beyond the committed length until the session's file (2) has the new
 *   length, and the round still exists and writes them again.
 *
 * Why a suspended owner that continues late is harmless, at each point
 * - Before its rename. Another owner committed n+1. While that round is in rounds/<n+1>, the rename fails. After it was
 *   applied and discarded, the rename succeeds. But "applied" means that the ledger had reached n+1 before the name
 *   became free, and the ledger never goes back: the check finds this. Other owners cannot mistake the late round for
 *   theirs: they read the manifest first and the ledger afterwards. So a manifest is only applied if it existed while the
 *   ledger was below its number, which is before the name could have become free.
 * - Between rename and check. If the name became free too early, see above. Otherwise the round is committed, another
 *   owner applies it, and we find the ledger at n+1 with our nonce, or further on. In the latter case we cannot know, and
 *   report a loss: this means only "begin again from the disk", and the disk has the round.
 * - Before applying, or in the middle of it. Another owner applies number n+1, and many rounds follow.
 *   (1) A journal is opened, then the ledger is read, then bytes are written. If the ledger has passed, we stop. If it had
 *   not, the open file is the one that the round meant, and its bytes at that place are these bytes for ever: a journal
 *   only grows, and a pruned or replaced journal is another file, to which this descriptor does not lead.
 *   (2) and (7) Sources carry our nonce inside rounds/<n+1>, and were renamed before the ledger passed.
 *   (3) The target folder is inside rounds/<n+1> and carries our nonce. It is gone before any later round can exist,
 *   because each adopter of n+1 discards rounds/<n+1> first. So we cannot move a session's newer file.
 *   (4), (5), (6) Names of fragments and bodies are never used twice.
 *   (8) The ledger never returns to a number. So the folder that we discard is ours or a round that came too late.
 * - Before a discard or a sweep. For numbers that passed, see (8). A staging folder is removed with one rename, so its
 *   maker loses the whole round (ENOENT at its commit), never a part of it.
 *
 * Why the books balance at every instant: the commit is that instant. A reader that finds rounds/<n+1> computes the books
 * as if it were applied: the staged ledger, and the listing without the files that the round removes and with those that
 * it adds (books.ts). All files are added and removed before the ledger changes, so without such a folder the listing is
 * that of the ledger.
 *
 * Not covered: a power cut without the fsync option may leave committed rounds without content. Such a round is closed as
 * an empty one under its number (`damaged.round` counts it), by a ledger renamed from inside its folder, so the argument
 * above holds for it as well. With the option, files and folders are synced before each of the two renames that count.
 */
import { createHash } from 'node:crypto';
import {
  at,
  codeOf,
  createFile,
  type Disk,
  exists,
  FOLDER_MODE,
  isFolder,
  isMissing,
  names,
  readBytes,
  renameIfThere,
  syncFolder,
  UPDATE,
  UPDATE_OR_CREATE,
  unlinkIfThere,
  withFile,
  writeAll,
} from './files.ts';
import { makeFolder } from './folder.ts';
import { increase, type Ledger, noteStaged, parseLedger, readLedger, readRoundId, serializeLedger } from './ledger.ts';
import { quarantinePath } from './quarantine.ts';

/** The effect of a round on the folder. All paths are relative to it. */
export interface Effect {
  ledger: Ledger;
  /** `offset` is the place of the bytes in the journal. A missing journal is created only for offset 0. */
  lines: { path: string; offset: number; bytes: Uint8Array }[];
  /** `writtenMs`: the file keeps this time. `isCold`: the owner is not expected to read it soon. */
  files: { path: string; bytes: Uint8Array; writtenMs?: number | undefined; isCold?: boolean }[];
  /** Removed files whose names may be used again. */
  gone: string[];
  quarantine: Move[];
  settled: string[];
  eaten: string[];
}

/** `isOdd`: the entry is no fragment, and moving it may fail. */
export interface Move {
  from: string;
  to: string;
  isOdd?: boolean;
}

export interface Manifest {
  v: 1;
  n: number;
  nonce: string;
  lines: { path: string; offset: number; length: number }[];
  /** Target paths; the i-th staged file is `<nonce>.<i>`. */
  files: string[];
  gone: string[];
  quarantine: Move[];
  settled: string[];
  eaten: string[];
}

/** done: we applied our round. overtaken: committed, and another owner works here too. lost: begin again. */
export type Outcome = 'done' | 'overtaken' | 'lost';

/** The effect's ledger has the number that the round asks for: one more than the ledger of the maker's view. */
export function commitRound(disk: Disk, effect: Effect): Outcome {
  const { n, nonce } = effect.ledger;
  const staged = `rounds/${n}.${nonce}`;
  const lines = Buffer.concat(effect.lines.map(journal => journal.bytes));
  const manifest = stage(disk, staged, effect, lines);
  try {
    disk.fs.renameSync(at(disk, staged), at(disk, roundFolder(n)));
  } catch (error) {
    const isTaken = ['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(codeOf(error) ?? '');
    // Windows returns EPERM where other systems return ENOTEMPTY.
    if (!isTaken && !(process.platform === 'win32' && exists(disk, roundFolder(n)))) throw error;
    discard(disk, staged);
    return 'lost';
  }
  syncFolder(disk, 'rounds');
  const roundId = readRoundId(disk);
  if (roundId.n >= n) {
    discard(disk, roundFolder(n));
    return roundId.n === n && roundId.nonce === nonce ? 'overtaken' : 'lost';
  }
  return apply(disk, manifest, lines);
}

/** Returns the ledger of the view. No round before it is left to apply. */
export function adoptLedger(disk: Disk, isStart: boolean): Ledger {
  for (;;) {
    // The rounds are listed before the ledger is read: a number above the next one can then only be the rest of a lost
    // ledger.
    const found = names(disk, 'rounds');
    const ledger = readLedger(disk);
    const pending = readPending(disk, ledger.n + 1);
    if (pending !== undefined) {
      if (readLedger(disk).n !== ledger.n) continue;
      if (pending === 'damaged') closeDamaged(disk, ledger);
      else apply(disk, pending.manifest, pending.lines);
      continue;
    }
    // By name, not by the listing: it may be newer than the listing. No later round may begin before it is gone.
    discard(disk, roundFolder(ledger.n));
    for (const name of found)
      if (isLitter(name, ledger.n, isStart) || !isFolder(disk, `rounds/${name}`)) discard(disk, `rounds/${name}`);
    return ledger;
  }
}

/** The parts of a committed round that applying it and computing the books need. */
export interface Pending {
  manifest: Manifest;
  lines: Buffer;
  ledger: Ledger;
}

/**
 * Returns the round of a number, if one is committed. The caller reads the ledger afterwards: if it has passed, the
 * round belongs to another owner or came too late, and the result is invalid.
 */
export function readPending(disk: Disk, n: number): Pending | 'damaged' | undefined {
  const folder = roundFolder(n);
  // In this order: a folder that is made between the two reads already has its manifest.
  if (!isFolder(disk, folder)) return undefined;
  const manifest = parseManifest(readBytes(disk, `${folder}/manifest.json`));
  if (manifest?.n !== n) return 'damaged';
  const lines = readBytes(disk, `${folder}/${manifest.nonce}.lines`) ?? Buffer.alloc(0);
  const ledger = parseLedger(readBytes(disk, `${folder}/${manifest.nonce}.ledger`) ?? Buffer.alloc(0));
  const isWhole = lines.length === manifest.lines.reduce((sum, { length }) => sum + length, 0);
  return isWhole && ledger !== undefined ? { manifest, lines, ledger } : 'damaged';
}

export const roundFolder = (n: number): string => `rounds/${n}`;

function stage(disk: Disk, folder: string, effect: Effect, lines: Uint8Array): Manifest {
  const { n, nonce } = effect.ledger;
  const manifest: Manifest = {
    v: 1,
    n,
    nonce,
    lines: effect.lines.map(({ path, offset, bytes }) => ({ path, offset, length: bytes.length })),
    files: effect.files.map(file => file.path),
    gone: effect.gone,
    quarantine: effect.quarantine,
    settled: effect.settled,
    eaten: effect.eaten,
  };
  disk.fs.mkdirSync(at(disk, folder), FOLDER_MODE);
  try {
    if (effect.gone.length > 0) disk.fs.mkdirSync(at(disk, folder, `${nonce}.gone`), FOLDER_MODE);
    if (effect.lines.length > 0) createFile(disk, `${folder}/${nonce}.lines`, lines);
    for (const [i, { bytes, writtenMs }] of effect.files.entries()) {
      const path = `${folder}/${nonce}.${i}`;
      createFile(disk, path, bytes);
      if (writtenMs !== undefined) disk.fs.utimesSync(at(disk, path), writtenMs / 1_000, writtenMs / 1_000);
    }
    const ledger = serializeLedger(effect.ledger);
    createFile(disk, `${folder}/${nonce}.ledger`, ledger);
    noteStaged(disk, ledger, effect.ledger);
    createFile(disk, `${folder}/manifest.json`, serializeManifest(manifest));
    syncFolder(disk, folder);
  } catch (error) {
    // Another owner removed the folder; the commit finds this and reports it.
    if (isMissing(error) && !exists(disk, folder)) return manifest;
    // A failed attempt must not use more space of a full disk.
    removeIfPossible(disk, folder);
    throw error;
  }
  return manifest;
}

const HEAD = 'otel-hooks-round 1 ';

function serializeManifest(manifest: Manifest): Buffer {
  const json = JSON.stringify(manifest);
  return Buffer.from(`${HEAD}${checksum(json)}\n${json}`);
}

function parseManifest(bytes: Buffer | undefined): Manifest | undefined {
  const text = bytes?.toString() ?? '';
  const end = text.indexOf('\n');
  const json = text.slice(end + 1);
  return end > 0 && text.slice(0, end) === HEAD + checksum(json) ? (JSON.parse(json) as Manifest) : undefined;
}

const checksum = (text: string): string => createHash('sha256').update(text).digest('hex');

function apply(disk: Disk, manifest: Manifest, lines: Uint8Array): 'done' | 'overtaken' {
  const folder = roundFolder(manifest.n);
  const staged = `${folder}/${manifest.nonce}`;
  let start = 0;
  for (const { path, offset, length } of manifest.lines) {
    const bytes = lines.subarray(start, start + length);
    if (!writeLines(disk, manifest.n, path, offset, bytes)) return 'overtaken';
    start += length;
  }
  for (const [i, path] of manifest.files.entries()) place(disk, `${staged}.${i}`, path);
  for (const [i, path] of manifest.gone.entries()) renameIfThere(disk, path, `${staged}.gone/${i}`);
  for (const move of manifest.quarantine) setAside(disk, move);
  for (const path of manifest.settled) unlinkIfThere(disk, path);
  for (const path of manifest.eaten) unlinkIfThere(disk, path);
  if (disk.fsync) for (const touched of foldersOf(manifest)) syncFolder(disk, touched);
  const isOurs = renameOver(disk, `${staged}.ledger`, 'ledger.json');
  syncFolder(disk, '');
  discard(disk, folder);
  return isOurs ? 'done' : 'overtaken';
}

/** False when another owner is further on. */
function writeLines(disk: Disk, n: number, path: string, offset: number, bytes: Uint8Array): boolean {
  // The file was pruned, and its committed part with it.
  const written = withFile(disk, path, offset === 0 ? UPDATE_OR_CREATE : UPDATE, file => {
    if (readRoundId(disk).n !== n - 1) return false;
    writeAll(disk, file, bytes, offset);
    if (disk.fsync) disk.fs.fsyncSync(file);
    return true;
  });
  return written ?? true;
}

/** A missing staged file was placed before. A staged file with a missing target folder was not. */
function place(disk: Disk, from: string, to: string): void {
  while (!renameOver(disk, from, to) && exists(disk, from)) makeFolder(disk, parent(to));
}

/** A folder in the place of a file would block every round: it is set aside. */
function renameOver(disk: Disk, from: string, to: string): boolean {
  try {
    return renameIfThere(disk, from, to);
  } catch (error) {
    if (!isFolder(disk, to) || isFolder(disk, from)) throw error;
    renameIfThere(disk, to, quarantinePath('not-a-file', `${to}.${disk.nonce()}`));
    return renameIfThere(disk, from, to);
  }
}

function setAside(disk: Disk, { from, to, isOdd }: Move): void {
  try {
    renameIfThere(disk, from, to);
  } catch (error) {
    // A folder without write permission, or a mount point. It stays, and must not block the files behind it.
    if (!isOdd) throw error;
  }
}

function foldersOf(manifest: Manifest): Set<string> {
  const moved = [...manifest.quarantine.flatMap(({ from, to }) => [from, to]), ...manifest.gone];
  const paths = [...manifest.lines.map(({ path }) => path), ...manifest.files, ...moved, ...manifest.settled];
  // A destination's first body brings its folder.
  return new Set([...[...paths, ...manifest.eaten].map(parent), 'outbox']);
}

const parent = (path: string): string => path.slice(0, path.lastIndexOf('/'));

/** The round's number is spent without effect; see the end of the header. */
function closeDamaged(disk: Disk, ledger: Ledger): void {
  const nonce = disk.nonce();
  const next: Ledger = { ...ledger, n: ledger.n + 1, nonce, counters: { ...ledger.counters } };
  increase(next.counters, 'damaged.round');
  const staged = `${roundFolder(next.n)}/${nonce}.ledger`;
  try {
    createFile(disk, staged, serializeLedger(next));
  } catch (error) {
    // Another owner closed and discarded it.
    if (isMissing(error)) return;
    throw error;
  }
  renameIfThere(disk, staged, 'ledger.json');
}

function isLitter(name: string, n: number, isStart: boolean): boolean {
  if (/^\d+$/.test(name)) return Number(name) !== n + 1;
  return isStart;
}

/** The rename hides it at once from all readers; then its content is removed. */
function discard(disk: Disk, folder: string): void {
  const litter = `rounds/gone.${disk.nonce()}`;
  if (renameIfThere(disk, folder, litter)) removeIfPossible(disk, litter);
}

function removeIfPossible(disk: Disk, folder: string): void {
  try {
    // A link is removed itself, not its target.
    if (!isFolder(disk, folder)) {
      disk.fs.unlinkSync(at(disk, folder));
      return;
    }
    for (const name of names(disk, folder)) {
      const path = `${folder}/${name}`;
      if (name.endsWith('.gone')) removeIfPossible(disk, path);
      else unlinkIfThere(disk, path);
    }
    disk.fs.rmdirSync(at(disk, folder));
  } catch {
    // Another owner removes it too, or it holds a file of another program. No process reads it, and every start tries
    // again.
  }
}
