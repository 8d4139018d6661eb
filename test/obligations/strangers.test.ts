/**
 * Foreign entries in the place of every file and folder of the state folder: links, pipes, devices, files with a second
 * name, folders. Hooks and deliver end normally and in time, and they do not read, change or wait for anything outside.
 * The quick size tries some of the combinations, different ones in each run.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { StateRefused } from '../../src/store/folder.ts';
import { type Collector, startCollector } from '../collector.ts';
import {
  AGENT,
  commandsIn,
  enable,
  furnish,
  type House,
  harmless,
  type Mouth,
  payloadOf,
  type Ran,
  vacate,
} from '../wire/house.ts';
import { inSomeOrder, loadOf, type Random, randomOf } from './load.ts';
import { notRun, row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { booksOf, copyOf, deliverHere, exporting, fill, founded } from './stage.ts';

const isRoot = process.geteuid?.() === 0;
const TIMEOUT_MS = size === 'full' ? 3_600_000 : 300_000;
/** The longest wait; a busy machine gets more time. */
const PATIENCE_MS = 20_000;
const most = bySize({ quick: 6, ci: 100, full: 10_000 });

let house: House;
let collector: Collector;
let template: string;
let deliverer: string;
let commands: ReadonlyMap<string, string>;

beforeAll(async () => {
  // At first bodies must wait in the outbox.
  let status = 503;
  collector = await startCollector({ answer: () => ({ status }) });
  house = furnish('built', 'otel-hooks-strangers-');
  expect(enable(house, undefined).status).toBe(0);
  commands = commandsIn(house);
  fs.rmSync(house.state, { recursive: true });
  // Hooks cannot start deliver and leave a marker; delivery is started below.
  deliverer = `${house.deliver}.mjs`;
  fs.renameSync(house.deliver, deliverer);
  template = await furnished(join(house.folder, 'template'));
  status = 200;
}, TIMEOUT_MS);
afterAll(async () => {
  await vacate(house);
  await collector.close();
});

/** A state folder with a file of every kind. */
async function furnished(folder: string): Promise<string> {
  const random = randomOf(seed);
  founded(folder);
  fill(folder, inSomeOrder(loadOf(40, random, 'strangers'), random), { env: exporting(collector.url), random });
  const put = (name: string, text: string | Uint8Array): void =>
    fs.writeFileSync(join(folder, name), text, { mode: 0o600 });
  put(`inbox/${fragmentName('abcdef01', '1.00', 1, 'u1')}`, encodeFragment('u1', { tool: AGENT }, Buffer.from('no')));
  await deliverHere(folder, { waitMs: 1_000 });
  const { n } = JSON.parse(fs.readFileSync(join(folder, 'ledger.json'), 'utf8')) as { n: number };
  for (const name of ['hook-write-sh', 'hook-kick-missing']) put(`problems/${name}`, '');
  put(`inbox/${fragmentName('abcdef01', '9999.00', 1, 'u2')}`, 'otel-hooks/1 tool=');
  for (const name of [`rounds/${n + 1}`, `rounds/${n + 1}.0123456789abcdef`, `rounds/gone.0123456789abcdef`]) {
    fs.mkdirSync(join(folder, name), { mode: 0o700 });
    put(`${name}/manifest.json`, 'otel-hooks-round 1 ');
  }
  return folder;
}

type Kind = (path: string, outside: string) => void;

const kinds: Record<string, Kind> = {
  'a link to a file': (path, outside) => fs.symlinkSync(join(outside, 'file'), path),
  'a link to a folder': (path, outside) => fs.symlinkSync(join(outside, 'folder'), path),
  'a link to nothing': (path, outside) => fs.symlinkSync(join(outside, 'nothing'), path),
  'a link to a link to itself': path => fs.symlinkSync(path, path),
  'a pipe': path => void execFileSync('mkfifo', [path]),
  'a file with another name outside': (path, outside) => fs.linkSync(join(outside, 'file'), path),
  'an empty file with another name outside': (path, outside) => fs.linkSync(join(outside, 'empty'), path),
  'a folder of the user': path => {
    fs.mkdirSync(path);
    fs.writeFileSync(join(path, 'mine'), 'mine');
  },
  'a file': path => fs.writeFileSync(path, 'mine'),
  "another user's folder": path => {
    fs.mkdirSync(path, { mode: 0o777 });
    fs.chownSync(path, 54_321, 54_321);
  },
  "another user's file": path => {
    fs.writeFileSync(path, 'theirs');
    fs.chownSync(path, 54_321, 54_321);
  },
  // A read of this file never ends.
  'an endless device': path => void execFileSync('mknod', [path, 'c', '1', '5']),
};
const ofRoot = ['an endless device', "another user's folder", "another user's file"];

interface Case {
  kind: string;
  name: string;
}

describe('S1 strangers in the state folder', () => {
  it(`S1 are not followed, waited for or changed (seed ${seed})`, { timeout: TIMEOUT_MS }, async context => {
    const names = [...oneOfEach(fs.readdirSync(template, { recursive: true, encoding: 'utf8' })), ...passing];
    const usable = Object.keys(kinds).filter(kind => isRoot || !ofRoot.includes(kind));
    const all = names.flatMap(name => usable.map(kind => ({ name, kind })));
    const tried = someOf(all, most, randomOf(seed));
    const faults: string[] = [];
    let longestHookMs = 0;
    const work = async (): Promise<void> => {
      for (let each = tried.pop(); each !== undefined; each = tried.pop()) {
        const met = await meet(each, `case-${tried.length}`);
        longestHookMs = Math.max(longestHookMs, met.longestHookMs);
        faults.push(...met.faults.map(fault => `${each?.name} is ${each?.kind}: ${fault}`));
      }
    };
    const count = tried.length;
    await Promise.all([work(), work(), work()]);
    row('S1', 'something else in the place of every file', {
      faults: count,
      longestHookMs,
      note: `${count} of ${all.length} combinations`,
    });
    expect(faults).toEqual([]);
    if (!isRoot) notRun(context, 'S1', 'devices in the place of every file', 'only root makes devices');
  });
});

/** Names that appear and vanish while delivery runs. */
const passing = ['lock', 'lock.wanted', 'lock.watch', 'lock.stale'];

/** One of the files that differ only by their session or number. */
function oneOfEach(names: string[]): string[] {
  const shapes = new Map(names.map(name => [name.replace(/[0-9a-f]{32}|\d{12}-\d{5}|\d+-\d+$/g, '*'), name]));
  return [...shapes.values()];
}

/** The most important ones are always included. */
function someOf(all: Case[], count: number, random: Random): Case[] {
  const always = all.filter(
    ({ name, kind }) =>
      (name === 'lock' && kind === 'a pipe') ||
      (name === 'problems/hook-kick-missing' && kind === 'a link to a file') ||
      (/^outbox\/[^/]+$/.test(name) && kind === 'a link to a folder'),
  );
  const others = all.filter(each => !always.includes(each));
  while (always.length < count && others.length > 0)
    always.push(...others.splice(Math.floor(random() * others.length), 1));
  return always;
}

async function meet({ name, kind }: Case, tag: string): Promise<{ faults: string[]; longestHookMs: number }> {
  const folder = join(house.folder, tag);
  const state = copyOf(template, join(folder, 'state'));
  const outside = join(folder, 'outside');
  fs.mkdirSync(join(outside, 'folder'), { recursive: true });
  for (const [file, text] of Object.entries({ file: 'mine', empty: '', 'folder/file': 'mine' }))
    fs.writeFileSync(join(outside, file), text, { mode: 0o640 });
  const path = join(state, name);
  fs.rmSync(path, { recursive: true, force: true });
  kinds[kind]?.(path, outside);
  const before = factsOf(outside);
  const faults: string[] = [];
  let longestHookMs = 0;
  for (const mouth of ['sh', 'node'] as const) {
    const { ran, tookMs } = await hook(mouth, state);
    longestHookMs = Math.max(longestHookMs, tookMs);
    if (JSON.stringify(ran) !== JSON.stringify(harmless)) faults.push(`the ${mouth} hook: ${JSON.stringify(ran)}`);
  }
  // An owner that cannot be read may still live, so the others wait for half a minute: test/store/lock.test.ts.
  if (name !== 'lock' || !fs.lstatSync(path, { throwIfNoEntry: false })?.isFile()) {
    const { ran } = await start(process.execPath, [deliverer, '--wait', '10s', '--state-dir', state], '', {});
    if (ran.status !== 0 && ran.status !== 1) faults.push(`deliver: ${JSON.stringify(ran)}`);
  }
  try {
    // The torn fragment may be too young to be set aside. Events wait behind a lock without content and behind a
    // refused inbox.
    const { waiting } = booksOf(state).fragments;
    if (waiting > 1 && name !== 'lock' && !name.startsWith('inbox')) faults.push(`${waiting} fragments wait`);
  } catch (error) {
    if (!(error instanceof StateRefused)) faults.push(`status: ${error}`);
  }
  if (JSON.stringify(factsOf(outside)) !== JSON.stringify(before))
    faults.push(`outside is ${JSON.stringify(factsOf(outside))}`);
  fs.rmSync(folder, { recursive: true });
  return { faults, longestHookMs };
}

function hook(mouth: Mouth, state: string): Promise<{ ran: Ran; tookMs: number }> {
  const payload = payloadOf({ session_id: mouth, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: 'c' });
  const command = commands.get('PreToolUse') ?? '';
  const env = { OTEL_HOOKS_STATE_DIR: state, OTEL_HOOKS_LINGER: '0s' };
  return mouth === 'sh'
    ? start('/bin/sh', ['-c', command], payload, env)
    : start(process.execPath, [house.bin, 'hook', '--tool', AGENT, '--event', 'PreToolUse'], payload, env);
}

/** A process that does not end in time is killed. */
function start(
  program: string,
  words: string[],
  input: string,
  env: Record<string, string>,
): Promise<{ ran: Ran; tookMs: number }> {
  const startMs = performance.now();
  return new Promise((settled, failed) => {
    const child = spawn(program, words, { cwd: house.project, env: { ...house.env, ...env }, timeout: PATIENCE_MS });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].on('data', part => {
        output[stream] += part;
      });
    child.on('error', failed);
    child.on('close', status => settled({ ran: { status, ...output }, tookMs: performance.now() - startMs }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** Every visible property that a change would affect. */
function factsOf(folder: string): Record<string, string> {
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    names.map(name => {
      const path = join(folder, name);
      const { mode, uid, size, mtimeMs } = fs.lstatSync(path);
      const isFile = fs.lstatSync(path).isFile();
      const hash = isFile ? createHash('sha256').update(fs.readFileSync(path)).digest('hex').slice(0, 8) : '';
      return [name, `${mode.toString(8)} ${uid} ${size} ${isFile ? mtimeMs : ''} ${hash}`];
    }),
  );
}
