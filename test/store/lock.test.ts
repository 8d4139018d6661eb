import { execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isDelivering as seemsAlive } from '../../src/hook/kick.ts';
import { type Lock, type LockOptions, type LockSystem, type ProcessId, takeLock } from '../../src/store/lock.ts';

let root: string;
let folder: string;
let nowMs: number;
let nonces = 0;
let alive: (process: ProcessId) => boolean;
/** Events that happen while a process sleeps. */
let during: (ms: number) => void;

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-lock-'));
  folder = join(root, 'state');
  nowMs = 0;
  alive = () => true;
  during = () => {};
});
afterEach(() => fs.rmSync(root, { recursive: true }));

const machine = (self: Partial<ProcessId> = {}): LockSystem => ({
  fs,
  clock: { nowMs: () => 1_700_000_000_000 + nowMs, monotonicMs: () => nowMs },
  nonce: () => `n${++nonces}`,
  sleep: async ms => {
    nowMs += ms;
    during(ms);
  },
  self: { host: 'h', boot: 'b', pidns: 'p', pid: 7, start: '1', ...self },
  isAlive: process => alive(process),
});
const take = (more: Partial<LockOptions> = {}): Promise<Lock | undefined> =>
  takeLock({ folder, version: '1.0.0', byHand: false, waitMs: 0, system: machine(), ...more });
const elsewhere = { system: machine({ boot: 'other' }) };
const touching = (lock: Lock | undefined) => () => {
  lock?.touch();
};

it('belongs to one process, and after its release to the next process', async () => {
  const lock = await take();
  expect(await take()).toBeUndefined();
  lock?.release();
  expect(await take()).toBeDefined();
});

it('begins with a pid that a shell can read', async () => {
  await take();
  const pid = execFileSync('sh', ['-c', `read -r pid rest < '${folder}/lock'; printf %s "$pid"`], { encoding: 'utf8' });
  expect(pid).toBe('7');
});

it('is taken at once from a process that has ended', async () => {
  await take();
  alive = () => false;
  expect(await take()).toBeDefined();
  expect(nowMs).toBe(0);
});

it('is taken from an invisible owner if it did not change for half a minute', async () => {
  await take(elsewhere);
  expect(await take()).toBeDefined();
  expect(nowMs).toBeGreaterThanOrEqual(30_000);
  expect(fs.readdirSync(folder).filter(name => name.startsWith('lock'))).toEqual(['lock']);
});

it('is left to an invisible owner that updates it', async () => {
  during = touching(await take(elsewhere));
  expect(await take()).toBeUndefined();
  expect(nowMs).toBeLessThan(31_000);
});

it.each([365 * 86_400_000, -365 * 86_400_000, -1_700_000_000_000])(
  'is not lost or kept for ever after a jump of the clock by %i ms',
  async jumpMs => {
    let wallMs = 1_700_000_000_000;
    const system = (self: Partial<ProcessId>): LockSystem => ({
      ...machine(self),
      clock: { nowMs: () => wallMs + nowMs, monotonicMs: () => nowMs },
    });
    const owner = await take({ system: system({ boot: 'other' }) });
    let isTouching = true;
    during = () => {
      if (nowMs > 5_000 && nowMs < 5_200) wallMs += jumpMs;
      if (isTouching) expect(owner?.touch()).toBe(true);
    };
    expect(await take({ system: system({}) })).toBeUndefined();
    isTouching = false;
    const fromMs = nowMs;
    expect(await take({ system: system({}) })).toBeDefined();
    expect(nowMs - fromMs).toBeGreaterThanOrEqual(30_000);
    expect(nowMs - fromMs).toBeLessThan(31_000);
  },
);

it('is watched by one process at a time', async () => {
  const owner = await take(elsewhere);
  let second: Promise<Lock | undefined> | undefined;
  during = () => {
    touching(owner)();
    second ??= take({ system: machine({ pid: 8 }) });
  };
  await take();
  expect(await second).toBeUndefined();
});

it('is taken from an empty file, and from an entry that is not a file', async () => {
  const lock = await take();
  lock?.release();
  fs.writeFileSync(join(folder, 'lock'), '');
  (await take())?.release();
  fs.symlinkSync('/nowhere', join(folder, 'lock'));
  expect(await take()).toBeDefined();
});

it.each([
  { asking: { byHand: true, version: '1.0.0' }, isHandedOver: true },
  { asking: { byHand: false, version: '1.0.1' }, isHandedOver: true },
  { asking: { byHand: false, version: '1.10.0' }, isHandedOver: true },
  { asking: { byHand: false, version: '2.0.0', waitMs: 0 }, isHandedOver: true },
  { asking: { byHand: true, version: '2.0.0', waitMs: 0 }, isHandedOver: false },
  { asking: { byHand: false, version: '1.0.0' }, isHandedOver: false },
  { asking: { byHand: false, version: '0.9.9' }, isHandedOver: false },
])('is handed over on request: $asking -> $isHandedOver', async ({ asking, isHandedOver }) => {
  const owner = await take();
  during = () => {
    if (owner?.wanted()) owner.release();
  };
  const next = await take({ waitMs: 5_000, ...asking });
  expect(next !== undefined).toBe(isHandedOver);
  expect(next?.wanted() ?? false).toBe(false);
  expect(fs.existsSync(join(folder, 'lock.wanted'))).toBe(false);
});

it('is not handed over to a process that asked and died', async () => {
  const owner = await take();
  alive = ({ pid }) => pid !== 9;
  const asking = (who: Partial<ProcessId>): void =>
    fs.writeFileSync(
      join(folder, 'lock.wanted'),
      JSON.stringify({ v: 1, version: '9.0.0', nonce: 'x', byHand: true, ...machine(who).self }),
    );
  asking({ pid: 9 });
  expect(owner?.wanted()).toBe(false);
  asking({ pid: 10 });
  expect(owner?.wanted()).toBe(true);
  // It is unknown whether this process lives, so only the owner releases the lock.
  asking({ pid: 9, boot: 'other' });
  expect(owner?.wanted()).toBe(true);
  owner?.release();
  expect((await take())?.wanted()).toBe(false);
});

it('is requested again if another process was quicker', async () => {
  const owner = await take();
  let quicker: Lock | undefined;
  during = () => {
    if (quicker?.wanted()) quicker.release();
    else if (owner?.wanted()) owner.release();
  };
  const waiting = take({ byHand: true, waitMs: 5_000 });
  owner?.release();
  quicker = await take();
  expect(quicker).toBeDefined();
  const next = await waiting;
  expect(next).toBeDefined();
  expect(next?.wanted()).toBe(false);
});

it('reports to a former owner that another process has it', async () => {
  const owner = await take();
  expect(owner?.touch()).toBe(true);
  alive = () => false;
  const next = await take();
  nowMs += 3_000;
  expect(owner?.touch()).toBe(false);
  owner?.release();
  expect(next?.touch()).toBe(true);
});

it('recognizes real processes', async () => {
  const child = spawn('sleep', ['60']);
  const real = { folder, version: '1.0.0', byHand: false, waitMs: 0 };
  const lock = await takeLock(real);
  expect(await takeLock(real)).toBeUndefined();
  // A lock as if the child had taken it: first the child lives, then not.
  const text = fs.readFileSync(join(folder, 'lock'), 'utf8');
  const owner = { ...JSON.parse(text.slice(text.indexOf(' '))), pid: child.pid, start: '' };
  fs.writeFileSync(join(folder, 'lock'), `${child.pid} ${JSON.stringify(owner)}\n`);
  expect(await takeLock(real)).toBeUndefined();
  fs.writeFileSync(join(folder, 'lock'), `${child.pid} ${JSON.stringify({ ...owner, start: 'another' })}\n`);
  const hasStart = fs.existsSync('/proc/self/stat');
  if (!hasStart) child.kill();
  else expect(await takeLock(real)).toBeDefined();
  fs.writeFileSync(join(folder, 'lock'), `${child.pid} ${JSON.stringify(owner)}\n`);
  await new Promise(resolve => {
    child.once('exit', resolve);
    child.kill();
  });
  expect(await takeLock(real)).toBeDefined();
  lock?.release();
});

it('that another process creates between two checks is not removed', async () => {
  const owner = await take();
  let hasLeft = false;
  const openSync = (path: string, flags: number, mode: number): number => {
    if (path !== join(folder, 'lock') || flags & fs.constants.O_CREAT || hasLeft) return fs.openSync(path, flags, mode);
    hasLeft = true;
    owner?.release();
    try {
      return fs.openSync(path, flags, mode);
    } finally {
      // The lock file exists, and is not written yet.
      fs.writeFileSync(path, '');
    }
  };
  await take({ system: { ...machine(), fs: { ...fs, openSync: openSync as typeof fs.openSync } } });
  expect(hasLeft).toBe(true);
  expect(nowMs).toBeGreaterThanOrEqual(30_000);
});

describe('markers of front ends that started a process', () => {
  const marked = (): string[] => fs.readdirSync(folder).filter(name => name.startsWith('kick.'));
  const mark = (): void => {
    for (const name of ['kick.0-1', 'kick.abcdef01-12']) fs.writeFileSync(join(folder, name), '');
    fs.mkdirSync(join(folder, 'kick.folder'), { recursive: true });
  };

  it('are removed by the process that takes the lock, and by one that does not get it', async () => {
    fs.mkdirSync(folder, { mode: 0o700 });
    mark();
    const lock = await take();
    expect(lock).toBeDefined();
    expect(marked()).toEqual(['kick.folder']);
    mark();
    expect(await take()).toBeUndefined();
    expect(marked()).toEqual(['kick.folder']);
  });

  /**
   * A process asks for the lock of an owner that leaves, while a hook ends, at any two of the calls that look at the lock or
   * at markers. The fragment is listed by one of the two processes, or the hook starts another one.
   */
  it.each([
    { isEdge: false, outcomes: ['marker, owner', 'owner lives, owner', 'owner lives, refused', 'starts, owner'] },
    { isEdge: true, outcomes: ['marker, owner', 'marker, refused', 'starts, owner', 'starts, refused'] },
  ])('hold back a hook only if another process lists its fragment (edge: $isEdge)', async ({ isEdge, outcomes }) => {
    const found = new Set<string>();
    for (let leaving = 0; leaving < MOMENTS; leaving++) {
      for (let ending = 0; ending < MOMENTS; ending++) {
        const { why, isListed, isOwner } = await meeting(isEdge, leaving, ending);
        found.add(`${why}, ${isOwner ? 'owner' : 'refused'}`);
        expect([leaving, ending, why, isListed || why === 'starts']).toEqual([leaving, ending, why, true]);
      }
    }
    expect([...found].sort()).toEqual(expect.arrayContaining(outcomes));
  });

  const MARKER = 'kick.abcdef01-7';
  /** More calls than taking the lock makes here. */
  const MOMENTS = 16;

  async function meeting(
    isEdge: boolean,
    leaving: number,
    ending: number,
  ): Promise<{ why: string; isListed: boolean; isOwner: boolean }> {
    const me: Partial<ProcessId> = { pid: process.pid };
    const owner = await take({ system: machine(me) });
    fs.rmSync(join(folder, 'inbox/f'), { force: true });
    fs.writeFileSync(join(folder, MARKER), '');
    let isListed = false;
    let why = '';
    const list = (): void => {
      isListed ||= fs.existsSync(join(folder, 'inbox/f'));
    };
    const leave = (): void => {
      owner?.release();
      list();
    };
    const end = (): void => {
      fs.writeFileSync(join(folder, 'inbox/f'), '');
      why = outcomeOf(isEdge);
    };
    const steps = [
      { at: leaving, run: leave },
      { at: ending, run: end },
    ];
    let moment = 0;
    const pass = (now: number): void => {
      for (const step of steps) if (step.at === now) step.run();
    };
    const interrupted = new Proxy(fs, {
      get(target, name: keyof typeof fs) {
        const original = target[name];
        if (typeof original !== 'function') return original;
        return (...words: unknown[]) => {
          if (words[0] === folder || /\/(?:lock|kick\.[^/]*)$/.test(String(words[0]))) pass(moment++);
          return (original as (...all: unknown[]) => unknown)(...words);
        };
      },
    });
    const lock = await take({ system: { ...machine({ ...me, start: '2' }), fs: interrupted } });
    // The moments that did not come during the call come after it.
    while (moment < MOMENTS) pass(moment++);
    if (lock !== undefined) {
      list();
      lock.release();
    }
    return { why, isListed, isOwner: lock !== undefined };
  }

  /** As src/hook/hook.ts decides after it wrote its fragment. */
  function outcomeOf(isEdge: boolean): 'owner lives' | 'marker' | 'starts' {
    if (!isEdge && seemsAlive(folder)) return 'owner lives';
    try {
      fs.closeSync(fs.openSync(join(folder, MARKER), 'wx'));
      return 'starts';
    } catch {
      return 'marker';
    }
  }
});
