/**
 * Writes fragments of the HTTP server into the inbox. A file takes three synchronous calls; asynchronous calls would
 * cost twice as much.
 *
 * Creating the file is most of the cost of a request. So events that arrive together go into one file, one event per
 * line: all that Node reads from the connections before it looks for more. The busier the server, the more events
 * share a file, and no event waits for others. No request is answered before the file is complete. A damaged line does
 * not affect the other lines.
 */
import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { encodeFragment, fragmentName } from '../hook/fragment.ts';
import { makeFolders } from '../hook/state-files.ts';

export interface Inbox {
  keep(entry: Entry): void;
}

export interface Entry {
  header: Readonly<Record<string, string>>;
  payload: Uint8Array;
  /** One event in one line. The file may hold further events with the same header. */
  isLine: boolean;
  /** Called when the fragment is complete, or with the error of the disk. */
  settled(error?: unknown): void;
}

/** Limited, so that the first of a thousand senders does not wait for the parsing of all other events. */
const MOST_LINES = 100;
const MOST_LINES_BYTES = 1024 * 1024;

export interface InboxOptions {
  stateFolder: string;
  /**
   * 32 secret hex characters, different in each process: a payload that contained them could forge the end of its
   * fragment.
   */
  nonce: string;
  fsync: boolean;
}

export function openInbox({ stateFolder, nonce, fsync }: InboxOptions): Inbox {
  const folder = `${stateFolder}/inbox`;
  const clock = bootClock();
  const settleFolder = groupSync(folder);
  let count = 0;

  function create(name: string): number {
    const path = `${folder}/${name}`;
    try {
      return fs.openSync(path, 'wx', 0o600);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
      // The state folder was emptied meanwhile.
      makeFolders(stateFolder);
      return fs.openSync(path, 'wx', 0o600);
    }
  }

  function write(header: Entry['header'], payload: Uint8Array): Promise<void> | undefined {
    count += 1;
    // Within one tick of the clock, names are in the order of arrival.
    const unique = `${String(count).padStart(12, '0')}-${nonce}`;
    const bytes = encodeFragment(unique, { ...header, at: String(Date.now()) }, payload);
    const name = fragmentName(clock.boot, clock.now(), process.pid, unique);
    const file = create(name);
    let isWhole = false;
    try {
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(file, bytes, at);
      isWhole = true;
    } finally {
      if (!isWhole) discard(file, `${folder}/${name}`);
      else if (!fsync) fs.closeSync(file);
    }
    return fsync ? synced(file).then(settleFolder) : undefined;
  }

  function settle(entries: readonly Entry[], payload: Uint8Array): void {
    const all = (error?: unknown): void => {
      for (const { settled } of entries) settled(error);
    };
    try {
      const waits = write(entries[0]?.header ?? {}, payload);
      if (waits === undefined) all();
      else waits.then(() => all(), all);
    } catch (error) {
      all(error);
    }
  }

  let lines: Entry[] = [];
  let linesBytes = 0;
  let planned: NodeJS.Immediate | undefined;
  const flush = (): void => {
    clearImmediate(planned);
    planned = undefined;
    const entries = lines;
    const [first] = entries;
    if (first === undefined) return;
    lines = [];
    linesBytes = 0;
    settle(entries, entries.length === 1 ? first.payload : joined(entries));
  };

  return {
    keep(entry) {
      // Earlier entries are written first.
      if (!entry.isLine) {
        flush();
        settle([entry], entry.payload);
        return;
      }
      lines.push(entry);
      linesBytes += entry.payload.length;
      if (lines.length >= MOST_LINES || linesBytes >= MOST_LINES_BYTES) flush();
      else planned ??= setImmediate(flush);
    },
  };
}

const newline = Buffer.from('\n');

const joined = (entries: readonly Entry[]): Buffer =>
  Buffer.concat(entries.flatMap(({ payload }, i) => (i === 0 ? [payload] : [newline, payload])));

/** The sender gets an error and sends the event again. The incomplete file would be counted as torn. */
function discard(file: number, path: string): void {
  fs.closeSync(file);
  fs.rmSync(path, { force: true });
}

const fsyncOf = promisify(fs.fsync);

async function synced(file: number): Promise<void> {
  try {
    await fsyncOf(file);
  } finally {
    fs.closeSync(file);
  }
}

/** One sync makes the entries of a folder durable for all senders that wait at that moment. */
function groupSync(folder: string): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const sync = async (): Promise<void> => {
    const file = fs.openSync(folder, 'r');
    await synced(file);
  };
  return () => {
    // A sync that already runs may have begun before this entry was created.
    next ??= (running ?? Promise.resolve())
      .catch(() => undefined)
      .then(() => {
        running = next;
        next = undefined;
        return sync();
      });
    return next;
  };
}

/**
 * The kernel's clock, by which fragments are ordered. It is read at intervals, and Node's own clock is added in
 * between; after a sleep of the machine both differ. It counts in hundredths of a second, so a new value may be
 * slightly before the last returned one.
 */
function bootClock(): { boot: string; now: () => string } {
  const boot = firstWord('/proc/sys/kernel/random/boot_id').slice(0, 8);
  let base = { upMs: 0, steadyMs: 0, wallMs: 0 };
  const read = (): void => {
    base = { upMs: Number(firstWord('/proc/uptime')) * 1000, steadyMs: performance.now(), wallMs: Date.now() };
  };
  read();
  let lastMs = 0;
  return {
    boot,
    now() {
      const steadyMs = performance.now() - base.steadyMs;
      const sleptMs = Math.abs(Date.now() - base.wallMs - steadyMs);
      if (steadyMs > 1_000 || sleptMs > 50) read();
      if (base.upMs === 0) return '';
      lastMs = Math.max(lastMs, base.upMs + performance.now() - base.steadyMs);
      return (lastMs / 1000).toFixed(3);
    },
  };
}

function firstWord(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8').trim().split(' ')[0] ?? '';
  } catch {
    // Not Linux, or a container without /proc: names have no boot time.
    return '';
  }
}
