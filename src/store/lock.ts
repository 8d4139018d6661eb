/**
 * The lock of the process that delivers. The lock saves work but does not protect data: two owners would do the work
 * twice, and rounds (rounds.ts) make sure that it counts once. So the lock may be inexact, but it must recover without
 * manual help.
 *
 * Constraints: an owner may be killed; its pid may be given to another process; the folder may be shared by containers
 * that cannot see each other's processes, and by machines whose clocks differ. Clocks of two machines are never
 * compared.
 *
 * Format: `lock` is `<pid> <json>\n`, made with O_EXCL, so that a shell reads the pid with `read -r pid rest`. The
 * owner updates the file's time every 2 s. `lock.wanted` is the JSON of a process that asks for the lock. It is meant
 * for the present owner: the next owner removes it, and a process that still waits asks again, so that no owner leaves
 * for a process that was killed while it asked. `lock.watch` belongs to a process that waits for an owner that it
 * cannot see, so that only one of many started processes waits. `kick.*` are markers of front ends that started a
 * process (hook/kick.ts). The process that takes the lock removes them, and a process that does not get it removes them
 * before its last try: a hook that a marker held back relies on one of the two.
 *
 * A lock is taken over at once when its owner lived in this boot and pid namespace and has ended. Otherwise it is taken
 * over when it did not change for 30 s of the watcher's own clock.
 */
import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import { hostname } from 'node:os';
import { isNewer } from '../lib/newer.ts';
import {
  at,
  type Clock,
  CREATE,
  codeOf,
  createFile,
  type Disk,
  exists,
  FILE_MODE,
  isMissing,
  names,
  patientFs,
  READ,
  readAll,
  readBytes,
  renameIfThere,
  type StoreFs,
  unlinkIfThere,
  withFile,
  writeAll,
} from './files.ts';
import { openFolder } from './folder.ts';
import { isFull, spendReserve } from './reserve.ts';

export interface Lock {
  /** Updates the lock's time when it is due. False: another process has the lock. */
  touch(): boolean;
  /**
   * Returns true if a process with precedence asks for the lock: a person started it, or it is a newer version. The
   * owner checks it every 200 ms or after each round.
   */
  wanted(): boolean;
  release(): void;
}

export interface LockOptions {
  folder: string;
  version: string;
  /** A person started this process: it asks the owner for the lock. */
  byHand: boolean;
  /**
   * The time to wait for a live owner. An owner of an older version is asked to release the lock, and gets enough time
   * for that. An owner that this process cannot see is watched until its state is known, by one process at a time.
   */
  waitMs: number;
  /** The pid of the server that started this process, and starts another one when this one ends. */
  server?: number | undefined;
  system?: LockSystem;
}

/** The facts about the machine that a lock needs. */
export interface LockSystem {
  fs: StoreFs;
  clock: Clock;
  nonce: () => string;
  sleep: (ms: number) => Promise<void>;
  self: ProcessId;
  isAlive: (process: ProcessId) => boolean;
}

/** boot and pidns are '' where there is no /proc. */
export interface ProcessId {
  host: string;
  boot: string;
  pidns: string;
  pid: number;
  start: string;
}

const TOUCH_MS = 2_000;
const STALE_MS = 30_000;
const LOOK_MS = 100;
/** An owner that is asked for the lock releases it after its round and its present request. */
const HANDOVER_MS = 15_000;

/** Returns undefined if another process keeps the lock. Throws StateRefused if the folder belongs to another user. */
export async function takeLock(options: LockOptions): Promise<Lock | undefined> {
  const { folder, version, server, system = thisSystem() } = options;
  const { clock, self } = system;
  const serverId = server === undefined ? {} : { server: { pid: server, start: startOf(server) } };
  const disk: Disk = { fs: system.fs, folder, fsync: false, clock, nonce: system.nonce };
  openFolder(disk, 'own');
  const attempt = new Attempt(disk, system, { v: 1, ...self, nonce: system.nonce(), version, ...serverId }, options);
  try {
    for (let result = attempt.next(); ; result = attempt.next()) {
      if (typeof result === 'object') return result;
      if (result === 'kept') return undefined;
      if (result === 'wait') await system.sleep(LOOK_MS);
    }
  } finally {
    attempt.end();
  }
}

/** The tries of one process to take the lock. */
class Attempt {
  private readonly disk: Disk;
  private readonly system: LockSystem;
  private readonly own: Owner;
  private readonly options: LockOptions;
  private readonly startMs: number;
  private seen: Seen | undefined;
  private seenSinceMs: number;
  private isAsking = false;
  private isWatcher = false;
  private isLastTry = false;

  constructor(disk: Disk, system: LockSystem, own: Owner, options: LockOptions) {
    this.disk = disk;
    this.system = system;
    this.own = own;
    this.options = options;
    this.startMs = system.clock.monotonicMs();
    this.seenSinceMs = this.startMs;
  }

  /** Returns the lock, or a word. `kept`: another process keeps it; `again`: try at once; `wait`: try after a pause. */
  next(): Lock | 'kept' | 'again' | 'wait' {
    const { disk, own, system } = this;
    if (createLock(disk, own)) {
      unlinkIfThere(disk, 'lock.wanted');
      removeKickMarkers(disk);
      return heldLock(disk, own, system);
    }
    const now = readLock(disk) ?? (isNoFile(disk, 'lock') ? noLock : undefined);
    if (now === undefined) return 'again';
    this.look(now);
    const isVisible = now.owner !== undefined && canSee(system.self, now.owner);
    if (this.isStale(now, isVisible)) {
      removeStale(disk, now);
      return 'again';
    }
    if (!isVisible && !this.isWatcher && this.options.waitMs < STALE_MS) {
      this.isWatcher = becomeWatcher(disk, system, own);
      if (!this.isWatcher) return this.tryLast();
    }
    const isNext = isEntitled(this.options, now.owner?.version);
    if (system.clock.monotonicMs() - this.startMs >= this.patienceMs(isVisible, isNext)) return this.tryLast();
    if (isNext && !(this.isAsking && exists(disk, 'lock.wanted'))) {
      this.isAsking = true;
      ask(disk, { ...own, byHand: this.options.byHand });
    }
    return 'wait';
  }

  end(): void {
    if (this.isAsking) withdraw(this.disk, this.own.nonce);
    if (this.isWatcher) unlinkIfThere(this.disk, 'lock.watch');
  }

  private look(now: Seen): void {
    if (now.text !== this.seen?.text || now.mtimeMs !== this.seen.mtimeMs)
      this.seenSinceMs = this.system.clock.monotonicMs();
    this.seen = now;
  }

  private isStale(now: Seen, isVisible: boolean): boolean {
    if (now === noLock || this.system.clock.monotonicMs() - this.seenSinceMs >= STALE_MS) return true;
    return isVisible && now.owner !== undefined && !this.system.isAlive(now.owner);
  }

  private patienceMs(isVisible: boolean, isNext: boolean): number {
    const { waitMs, byHand } = this.options;
    if (this.isWatcher && !isVisible) return Math.max(waitMs, STALE_MS + 2 * LOOK_MS);
    return isNext && !byHand ? Math.max(waitMs, HANDOVER_MS) : waitMs;
  }

  /**
   * The markers are removed first, so that a hook after the last try starts a process of its own (src/hook/kick.ts).
   */
  private tryLast(): 'kept' | 'again' {
    if (this.isLastTry) return 'kept';
    this.isLastTry = true;
    removeKickMarkers(this.disk);
    return 'again';
  }
}

/**
 * Returns the process that delivers now, for `status`: a live process of this machine, or one of another machine that
 * updated the lock recently. It does not take the lock.
 */
export function isDelivering(folder: string, system: LockSystem = thisSystem()): boolean {
  const { fs, clock, nonce, self } = system;
  const seen = readLock({ fs, folder, fsync: false, clock, nonce });
  if (seen === undefined) return false;
  if (seen.owner !== undefined && canSee(self, seen.owner)) return system.isAlive(seen.owner);
  return clock.nowMs() - seen.mtimeMs < STALE_MS;
}

/** Returns the live process of this machine that has the lock, or the server that would start it again. */
export function lockOwner(folder: string, system: LockSystem = thisSystem()): ProcessId | undefined {
  const { fs, clock, nonce, self } = system;
  const owner = readLock({ fs, folder, fsync: false, clock, nonce })?.owner;
  if (owner === undefined || !canSee(self, owner)) return undefined;
  return [{ ...owner, ...owner.server }, owner].find(system.isAlive);
}

interface Owner extends ProcessId {
  v: 1;
  nonce: string;
  version: string;
  server?: Pick<ProcessId, 'pid' | 'start'>;
}
interface Seen {
  text: string;
  mtimeMs: number;
  owner: Owner | undefined;
}
interface Wanted extends Owner {
  byHand: boolean;
}

function heldLock(disk: Disk, own: Owner, system: LockSystem): Lock {
  let touchedMs = disk.clock.monotonicMs();
  const isOurs = (): boolean => readLock(disk)?.owner?.nonce === own.nonce;
  return {
    touch() {
      const nowMs = disk.clock.monotonicMs();
      if (nowMs - touchedMs < TOUCH_MS) return true;
      if (!isOurs()) return false;
      touchedMs = nowMs;
      const seconds = disk.clock.nowMs() / 1000;
      try {
        disk.fs.utimesSync(at(disk, 'lock'), seconds, seconds);
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
      return true;
    },
    wanted() {
      const text = readBytes(disk, 'lock.wanted')?.toString();
      const wanted = text === undefined ? undefined : parse<Wanted>(text);
      if (wanted === undefined || !isEntitled(wanted, own.version)) return false;
      // A process that was killed while it asked would never take the lock.
      return !canSee(own, wanted) || system.isAlive(wanted);
    },
    release() {
      if (isOurs()) unlinkIfThere(disk, 'lock');
    },
  };
}

/** The entry at the path of the lock is not a file. No owner updates it, so this process does not wait for it. */
const noLock: Seen = { text: '', mtimeMs: 0, owner: undefined };

const isEntitled = (asking: { byHand: boolean; version: string }, owner: string | undefined): boolean =>
  asking.byHand || (owner !== undefined && isNewer(asking.version, owner));

function removeKickMarkers(disk: Disk): void {
  try {
    const markers = names(disk, '').filter(name => name.startsWith('kick.'));
    for (const marker of markers) {
      try {
        unlinkIfThere(disk, marker);
      } catch {
        // For example, a folder has this name.
      }
    }
  } catch {
    // A remaining marker holds hooks back for only some seconds.
  }
}

function createLock(disk: Disk, own: Owner): boolean {
  return createOnce(disk, 'lock', Buffer.from(`${own.pid} ${JSON.stringify(own)}\n`));
}

function createOnce(disk: Disk, name: string, bytes: Buffer): boolean {
  let file: number;
  try {
    file = disk.fs.openSync(at(disk, name), CREATE, FILE_MODE);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    writeAll(disk, file, bytes, 0);
    return true;
  } catch (error) {
    // An empty lock would block every process for 30 s.
    unlinkIfThere(disk, name);
    // Only a delivery can free space on a full disk.
    if (!isFull(error) || !spendReserve(disk)) throw error;
  } finally {
    disk.fs.closeSync(file);
  }
  return createOnce(disk, name, bytes);
}

function readLock(disk: Disk, name = 'lock'): Seen | undefined {
  const seen = withFile(disk, name, READ, file => {
    const { size, mtimeMs } = disk.fs.fstatSync(file);
    return { text: readAll(disk, file, 0, Math.min(size, 4096)).toString(), mtimeMs };
  });
  if (seen === undefined) return undefined;
  return { ...seen, owner: parse<Owner>(seen.text.slice(seen.text.indexOf(' ') + 1)) };
}

/** The entry is no regular file. An entry that was made just after a failed read counts as a lock. */
function isNoFile(disk: Disk, name: string): boolean {
  return exists(disk, name) && !disk.fs.lstatSync(at(disk, name)).isFile();
}

function parse<T extends { v: 1; nonce: string }>(text: string | undefined): T | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    const isOurs = typeof value === 'object' && value !== null && 'v' in value && value.v === 1 && 'nonce' in value;
    return isOurs ? (value as T) : undefined;
  } catch {
    // The lock is half written, or of another version: only its time shows whether its owner lives.
    return undefined;
  }
}

/** Returns true if a missing pid proves that the process has ended. */
const canSee = (self: ProcessId, owner: ProcessId): boolean =>
  self.boot === owner.boot && self.pidns === owner.pidns && (self.boot !== '' || self.host === owner.host);

/** Moves the lock and reads it again. The lock of a quicker process is moved back. */
function removeStale(disk: Disk, stale: Seen): void {
  const moved = `lock.stale.${disk.nonce()}`;
  if (!renameIfThere(disk, 'lock', moved)) return;
  const found = readLock(disk, moved) ?? noLock;
  if (found.text !== stale.text) renameIfThere(disk, moved, 'lock');
  // A folder of another program was at this path and is moved away now.
  else if (found !== noLock || !disk.fs.lstatSync(at(disk, moved)).isDirectory()) unlinkIfThere(disk, moved);
}

/** Returns false if another process of this user already watches. */
function becomeWatcher(disk: Disk, system: LockSystem, own: Owner): boolean {
  const bytes = Buffer.from(`${own.pid} ${JSON.stringify(own)}\n`);
  if (createOnce(disk, 'lock.watch', bytes)) return true;
  const watcher = readLock(disk, 'lock.watch')?.owner;
  if (watcher !== undefined && canSee(system.self, watcher) && system.isAlive(watcher)) return false;
  unlinkIfThere(disk, 'lock.watch');
  return createOnce(disk, 'lock.watch', bytes);
}

function ask(disk: Disk, wanted: Wanted): void {
  const fresh = `lock.wanted.${wanted.nonce}`;
  createFile(disk, fresh, Buffer.from(`${JSON.stringify(wanted)}\n`));
  disk.fs.renameSync(at(disk, fresh), at(disk, 'lock.wanted'));
}

function withdraw(disk: Disk, nonce: string): void {
  if (parse<Wanted>(readBytes(disk, 'lock.wanted')?.toString())?.nonce === nonce) unlinkIfThere(disk, 'lock.wanted');
}

function thisSystem(): LockSystem {
  return {
    fs: patientFs(),
    clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
    nonce: () => randomBytes(8).toString('hex'),
    sleep: ms => new Promise(resolve => setTimeout(resolve, ms)),
    self: {
      host: hostname(),
      boot: fromProc(() => nodeFs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
      pidns: fromProc(() => nodeFs.readlinkSync('/proc/self/ns/pid')),
      pid: process.pid,
      start: startOf(process.pid),
    },
    isAlive,
  };
}

export function isAlive({ pid, start }: ProcessId): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if (codeOf(error) === 'ESRCH') return false;
  }
  const stat = statOf(pid);
  // A killed process whose parent has not waited for it yet accepts signals, but never runs again.
  if (stat[0] === 'Z' || stat[0] === 'X') return false;
  // The pid may have been given to another process since.
  const found = stat[19] ?? '';
  return start === '' || found === '' || found === start;
}

/** In clock ticks since boot. */
const startOf = (pid: number): string => statOf(pid)[19] ?? '';

/** Fields from number 3, the state. The parse starts behind the name, which may contain any character. */
const statOf = (pid: number): string[] =>
  fromProc(() => {
    const stat = nodeFs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2);
  }).split(' ');

function fromProc(read: () => string): string {
  try {
    return read();
  } catch {
    // Not Linux, or the process has ended.
    return '';
  }
}
