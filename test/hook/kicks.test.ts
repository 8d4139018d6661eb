/**
 * The number of processes that hooks start while no deliver lives, and that their events are delivered. The hooks and
 * deliver are the built ones; a few lines around deliver note when it began and ended.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KICK_STEP_S } from '../../src/hook/kick.ts';
import { VERSION } from '../../src/lib/version.ts';
import { needs } from '../needs.ts';
import { size } from '../obligations/size.ts';
import { until } from '../wire/house.ts';
import {
  build,
  demolish,
  type FrontEnd,
  fragments,
  frontEnds,
  type House,
  harmless,
  node,
  run,
  shells,
} from './front-ends.ts';

const UNPRIVILEGED_UID = 65_534;
const houses: House[] = [];
afterEach(async () => {
  for (const each of houses.splice(0)) {
    // Its linger is short, so a delivery that is still there ends soon.
    await until(() => lives(each).every(({ endMs }) => endMs !== undefined), 20_000);
    await demolish(each);
  }
});

const program = pathToFileURL(fileURLToPath(new URL('../../dist/deliver.js', import.meta.url)));

/** `before` runs in the started process before the program does. */
const noting = (before = ''): string => `
const { mkdirSync, writeFileSync } = require('node:fs');
const lives = __dirname + '/lives';
mkdirSync(lives, { recursive: true });
const mark = (what, atMs) => writeFileSync(lives + '/' + process.pid + '.' + what, String(atMs));
mark('begun', performance.timeOrigin);
process.on('exit', () => mark('ended', performance.timeOrigin + performance.now()));
${before}
import(${JSON.stringify(program.href)});
`;

interface Life {
  pid: number;
  startMs: number;
  endMs: number | undefined;
}

function lives(at: House): Life[] {
  const folder = join(at.state, '..', 'lives');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const timeIn = (name: string): number | undefined =>
    names.includes(name) ? Number(readFileSync(join(folder, name), 'utf8')) : undefined;
  return names
    .filter(name => name.endsWith('.begun'))
    .map(name => Number.parseInt(name, 10))
    .map(pid => ({ pid, startMs: timeIn(`${pid}.begun`) ?? 0, endMs: timeIn(`${pid}.ended`) }));
}

function mostAtOnce(all: readonly Life[]): number {
  const isIn = (ms: number, { startMs, endMs = Number.POSITIVE_INFINITY }: Life): boolean =>
    startMs <= ms && ms < endMs;
  return Math.max(0, ...all.map(({ startMs }) => all.filter(each => isIn(startMs, each)).length));
}

function house(before?: string): House {
  const built = build({ deliver: noting(before) });
  houses.push(built);
  rmSync(join(built.state, 'lock'));
  return built;
}

const markers = (at: House): string[] => readdirSync(at.state).filter(name => name.startsWith('kick.'));
const around = { env: { OTEL_HOOKS_LINGER: '1s' } };
const quiet = (at: House): Promise<void> =>
  until(() => lives(at).length > 0 && lives(at).every(({ endMs }) => endMs !== undefined), 30_000);

/** `most` at once, `all` in total, started by one shell that has no other work. */
async function burst(
  at: House,
  command: string[],
  { most, all }: { most: number; all: number },
): Promise<number | null> {
  const payload = join(at.folder, 'payload');
  writeFileSync(payload, '{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash"}');
  const text = `lane() { j=0; while [ $j -lt ${all / most} ]; do "$@" <'${payload}' >/dev/null; j=$((j+1)); done; }
    i=0; while [ $i -lt ${most} ]; do lane "$@" & i=$((i+1)); done; wait`;
  const child = spawn('/bin/sh', ['-c', text, 'burst', ...command], {
    cwd: '/tmp',
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOME: at.folder, ...around.env },
  });
  return new Promise(resolve => child.once('exit', resolve));
}

const journaled = (at: House): number => {
  const folder = join(at.state, 'ledger.json');
  return existsSync(folder) ? JSON.parse(readFileSync(folder, 'utf8')).fragments.received : 0;
};

const [dash] = shells as [FrontEnd];
const step = (): number => Math.floor(Number.parseFloat(readFileSync('/proc/uptime', 'utf8')) / KICK_STEP_S);
const boot = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
const wallStep = (): number => Math.floor(Date.now() / 1_000 / KICK_STEP_S);
const put = (at: House, name: string): void => writeFileSync(join(at.state, name), '');

describe('hooks that find no deliver', () => {
  it.for([
    { front: dash, most: 64, all: 64, edge: false },
    { front: node, most: 64, all: 64, edge: false },
    { front: dash, most: 8, all: 160, edge: false },
    { front: dash, most: 64, all: 64, edge: true },
  ])(
    'start at most three processes at once: $front.name, $most at once, $all in all, edges: $edge',
    {
      timeout: 120_000,
    },
    async ({ front, most, all, edge }, context) => {
      if (front.missing !== undefined) needs(context, front.missing);
      const at = house();
      expect(await burst(at, front.command(at, { edge }), { most, all })).toBe(0);
      await quiet(at);
      expect(mostAtOnce(lives(at))).toBeLessThanOrEqual(3);
      expect(readdirSync(at.inbox)).toEqual([]);
      expect(journaled(at)).toBe(all);
      expect(markers(at)).toEqual([]);
    },
  );

  it('start at most three processes at once: one hook every 20 ms', { timeout: 60_000 }, async context => {
    if (dash.missing !== undefined) needs(context, dash.missing);
    const at = house();
    const runs: Promise<unknown>[] = [];
    for (let count = 0; count < 50; count++) {
      runs.push(run(dash.command(at, {}), '{}', around));
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    expect(new Set((await Promise.all(runs)).map(ran => JSON.stringify(ran)))).toEqual(
      new Set([JSON.stringify(harmless)]),
    );
    await quiet(at);
    expect(mostAtOnce(lives(at))).toBeLessThanOrEqual(3);
    expect(readdirSync(at.inbox)).toEqual([]);
    expect(journaled(at)).toBe(50);
  });

  it('start another process within 30 s of one that was killed before it had the lock', {
    timeout: 90_000,
  }, async () => {
    const once = `try { writeFileSync(__dirname + '/killed', '', { flag: 'wx' }); process.kill(process.pid, 'SIGKILL'); } catch {}`;
    const at = house(once);
    const startMs = performance.now();
    let hooks = 0;
    for (; lives(at).length < 2 && performance.now() - startMs < 60_000; hooks++) {
      expect(await run(node.command(at, {}), '{}', around)).toEqual(harmless);
      await new Promise(resolve => setTimeout(resolve, 200));
    }
    expect(performance.now() - startMs).toBeLessThan(30_000);
    await until(() => lives(at).filter(({ endMs }) => endMs !== undefined).length === 1, 30_000);
    expect(lives(at)).toHaveLength(2);
    expect(journaled(at)).toBe(hooks);
    // One start has no end: its process was killed.
    rmSync(join(at.state, '..', 'lives'), { recursive: true });
  });
});

describe('the started process', () => {
  const start = (file: string, at: House): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [file, '--kicked', '--state-dir', at.state], { env: { HOME: at.folder } });

  it('ends before it loads its program when another has the lock', () => {
    const at = house();
    const dist = join(at.folder, 'dist');
    mkdirSync(dist);
    copyFileSync(program, join(dist, 'deliver.js'));
    writeFileSync(join(dist, 'package.json'), '{ "type": "module" }');
    // Without the program beside it, the process can only do its first steps.
    const lock = `${process.pid} ${JSON.stringify(ownLock())}\n`;
    writeFileSync(join(at.state, 'lock'), lock);
    put(at, 'kick.0-1');
    expect(start(join(dist, 'deliver.js'), at).status).toBe(1);
    expect(readFileSync(join(at.state, 'lock'), 'utf8')).toBe(lock);
    expect(markers(at)).toEqual([]);

    // The same when an upgrade removes the program in between: the process does not leave the lock behind.
    rmSync(join(at.state, 'lock'));
    expect(start(join(dist, 'deliver.js'), at).status).toBe(1);
    expect(readdirSync(at.state)).not.toContain('lock');
  });
});

/** A lock in the form in which this process writes it. */
function ownLock(): object {
  const stat = readFileSync(`/proc/${process.pid}/stat`, 'latin1');
  return {
    v: 1,
    host: hostname(),
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    pidns: readlinkSync('/proc/self/ns/pid'),
    pid: process.pid,
    start: stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19],
    nonce: 'n',
    version: VERSION,
  };
}

const atAnySize = new Set(['dash', 'node']);
for (const front of frontEnds) {
  describe(`markers of ${front.name}`, () => {
    beforeEach(context => {
      if (front.missing !== undefined) needs(context, front.missing);
      if (size === 'quick' && !atAnySize.has(front.name)) context.skip('not at size quick');
    });
    const started = async (at: House): Promise<void> => {
      expect(await run(front.command(at, {}), '{}', around)).toEqual(harmless);
      await quiet(at);
      expect(lives(at)).toHaveLength(1);
      expect(markers(at)).toEqual([]);
    };

    it('hold back a second start until the started process removes them', async () => {
      const at = house('while (!require("node:fs").existsSync(__dirname + "/go")) ;');
      for (const edge of [false, true, false])
        expect(await run(front.command(at, { edge }), '{}', around)).toEqual(harmless);
      await until(() => lives(at).length > 0, 10_000);
      // Two if a step ended between the hooks.
      expect(lives(at).length).toBeLessThanOrEqual(2);
      writeFileSync(join(at.state, '..', 'go'), '');
      await quiet(at);
      expect(markers(at)).toEqual([]);
      expect(journaled(at)).toBe(3);
    });

    it('do not hold back a start when they are of an earlier step, an earlier boot or another clock', async () => {
      const at = house();
      for (const old of [step() - 1, step() - 2, step() + 2]) put(at, `kick.${boot()}-${old}`);
      for (const name of [`kick.00000000-${step()}`, `kick.0-${wallStep()}`, 'kick.', 'kick.x']) put(at, name);
      await started(at);
    });

    it('are named by the wall clock without /proc, and do not hold back a start after it jumped', async () => {
      const at = house();
      for (const file of [at.script, at.bin])
        writeFileSync(file, readFileSync(file, 'utf8').replaceAll('/proc/', '/nonexistent/'));
      for (const ahead of [-240, -1, 2, 240]) put(at, `kick.0-${wallStep() + ahead}`);
      for (const each of [step(), step() + 1]) put(at, `kick.${boot()}-${each}`);
      await started(at);

      const held = house();
      writeFileSync(held.script, readFileSync(at.script, 'utf8').replaceAll(at.folder, held.folder));
      writeFileSync(held.bin, readFileSync(at.bin));
      for (const each of [wallStep(), wallStep() + 1]) put(held, `kick.0-${each}`);
      expect(await run(front.command(held, {}), '{}', around)).toEqual(harmless);
      expect(await run(front.command(held, { edge: true }), '{}', around)).toEqual(harmless);
      expect(markers(held)).toHaveLength(2);
      expect(fragments(held)).toHaveLength(2);
    });

    it('do not pile up where the program cannot run', async () => {
      const at = house('process.exit(1);');
      const now = step();
      for (let old = Math.max(0, now - 50); old < now; old++) put(at, `kick.${boot()}-${old}`);
      for (let old = 1; old < 50; old++) put(at, `kick.00000000-${old}`);
      expect(await run(front.command(at, {}), '{}', around)).toEqual(harmless);
      await quiet(at);
      expect(markers(at).length).toBeLessThanOrEqual(2);
      expect(fragments(at)).toHaveLength(1);
    });

    it('do not follow or wait for another kind of file with their name', async () => {
      const outside = (at: House): string => join(at.folder, 'outside');
      const kinds: ((path: string, at: House) => void)[] = [
        path => mkdirSync(path),
        path => execFileSync('mkfifo', [path]),
        (path, at) => symlinkSync(outside(at), path),
        (path, at) => linkSync(outside(at), path),
        path => symlinkSync('/nonexistent/file', path),
      ];
      for (const make of kinds) {
        const at = house();
        writeFileSync(outside(at), 'mine');
        for (const each of [step(), step() + 1]) make(join(at.state, `kick.${boot()}-${each}`), at);
        for (const edge of [false, true])
          expect(await run(front.command(at, { edge }), '{}', around)).toEqual(harmless);
        expect(fragments(at)).toHaveLength(2);
        expect(readFileSync(outside(at), 'utf8')).toBe('mine');
      }
    });

    it('are not needed by an edge where none can be created', async () => {
      const at = house();
      const isRoot = process.geteuid?.() === 0;
      const home = join(at.state, '..');
      if (isRoot) execFileSync('chown', ['-R', String(UNPRIVILEGED_UID), home]);
      chmodSync(at.state, 0o500);
      const as = isRoot ? { ...around, uid: UNPRIVILEGED_UID } : around;
      expect(await run(front.command(at, {}), '{}', as)).toEqual(harmless);
      expect(await run(front.command(at, { edge: true }), '{}', as)).toEqual(harmless);
      await quiet(at);
      expect(lives(at)).toHaveLength(1);
      expect(fragments(at)).toHaveLength(2);
      expect(markers(at)).toEqual([]);
      chmodSync(at.state, 0o700);
    });
  });
}
