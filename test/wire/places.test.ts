/** The search of the program for its folders and files, when they have unusual names or places. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { homeOf } from '../../src/config/folders.ts';
import { type Collector, startCollector } from '../collector.ts';
import { cannotRun, needsRoot } from '../needs.ts';
import {
  AGENT,
  commandsIn,
  delivered,
  furnish,
  type House,
  harmless,
  otelHooks,
  payloadOf,
  type Ran,
  runHook,
  status,
  vacate,
} from './house.ts';

let house: House;
let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
  house = furnish('built', 'otel-hooks-places-');
});
afterEach(async () => {
  await vacate(house);
  await collector.close();
});

/** Waits until all is sent. */
async function hook(words: readonly string[], env: NodeJS.ProcessEnv, uid?: number): Promise<Ran> {
  const payload = { session_id: 's', hook_event_name: 'SessionEnd', cwd: '/nowhere/at/all', reason: 'other' };
  const child = spawn(process.execPath, [house.bin, 'hook', '--tool', AGENT, '--flush', '20s', ...words], {
    cwd: house.project,
    env,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  child.stdin.end(payloadOf(payload));
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { status: code, stdout, stderr };
}
const names = (): unknown[] => collector.spans().map(({ name }) => name);

it('a hook uses the configuration that its flag names, with all its settings', async () => {
  mkdirSync(join(house.project, 'my settings'));
  writeFileSync(
    join(house.project, 'my settings', 'ours.json'),
    `{ // kept beside it
      "state_dir": "kept here", "otlp": { "endpoint": "${collector.url}" }, }`,
  );
  expect(await hook(['--config', 'my settings/ours.json'], house.env)).toEqual(harmless);
  expect(names()).toEqual(['session claude-code']);
  expect(readdirSync(join(house.project, 'my settings')).toSorted()).toEqual(['kept here', 'ours.json']);
  // A variable may not name a file of the project; a flag may.
  const { stdout } = otelHooks(house, [
    'status',
    '--json',
    '--config',
    join(house.project, 'my settings', 'ours.json'),
  ]);
  expect(JSON.parse(stdout)).toMatchObject({ balanced: true, fragments: { received: 1, journaled: 1 } });
});

it.each([
  ['sh', 'absolute'],
  ['node', 'absolute'],
  ['node', 'relative'],
] as const)('a variable that names a file of the project counts nowhere: hook by %s, %s path', async (mouth, how) => {
  const theirs = await startCollector();
  try {
    const config = join(house.project, 'theirs.json');
    const evil = join(house.folder, 'evil');
    writeFileSync(config, JSON.stringify({ state_dir: evil, otlp: { endpoint: theirs.url } }));
    mkdirSync(join(house.project, '.git'));
    const own = join(house.home, '.config', 'otel-hooks');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'config.json'), JSON.stringify({ otlp: { endpoint: collector.url } }));
    expect(otelHooks(house, ['enable', '--tool', AGENT, '--global', '--yes', '--no-proof']).status).toBe(0);
    const env = { OTEL_HOOKS_CONFIG: how === 'absolute' ? config : 'theirs.json' };
    // The payload names another folder as its working folder, but the hook runs in the project.
    for (const cwd of ['/nowhere/at/all', house.project]) {
      const payload = payloadOf({ session_id: cwd, hook_event_name: 'SessionEnd', cwd, reason: 'other' });
      const agent = { house, commands: commandsIn(house) };
      expect(await runHook(agent, { event: 'SessionEnd', payload, mouth, env })).toEqual(harmless);
    }
    await delivered(house);
    expect(collector.spans()).toHaveLength(2);
    expect(theirs.requests).toEqual([]);
    expect(existsSync(evil)).toBe(false);
    // The commands do not depend on the front end of the hook.
    if (mouth === 'sh') return;
    for (const words of [['status'], ['config'], ['deliver'], ['doctor', '--offline', '--no-proof']]) {
      const child = spawn(process.execPath, [house.bin, ...words, '--json'], {
        cwd: house.project,
        env: { ...house.env, ...env },
      });
      const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
      expect([words[0], code, stdout.includes('"config-place"')]).toEqual([
        words[0],
        words[0] === 'deliver' ? 0 : 1,
        true,
      ]);
    }
    for (const words of [['show', '--json'], ['export']])
      expect(otelHooks(house, words, env).stdout).toContain('/nowhere/at/all');
    expect(theirs.requests).toEqual([]);
    expect(existsSync(evil)).toBe(false);
  } finally {
    await theirs.close();
  }
});

it('events of a user without a home and a name are delivered, if the folder is named', async context => {
  needsRoot(context);
  const uid = 54_321;
  const state = join(house.folder, 'state');
  mkdirSync(state, { mode: 0o700 });
  chownSync(state, uid, uid);
  const env = { OTEL_HOOKS_STATE_DIR: state, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  expect(await hook([], env, uid)).toEqual(harmless);
  expect(names()).toEqual(['session claude-code']);
  const ran = spawnSync(process.execPath, [house.bin, 'status', '--json'], { env, uid, gid: uid, encoding: 'utf8' });
  expect(ran.stderr).toBe('');
  expect(JSON.parse(ran.stdout)).toMatchObject({ balanced: true, fragments: { journaled: 1 } });
});

it('status and doctor report that no folder can be made', async context => {
  needsRoot(context);
  const uid = 54_321;
  chmodSync(house.home, 0o555);
  const env = { ...house.env, PATH: `${house.env.PATH}:/root` };
  expect(await hook([], env, uid)).toEqual(harmless);
  for (const words of [['status'], ['doctor', '--offline', '--no-proof']]) {
    const command = [house.bin, ...words, '--json'];
    const ran = spawnSync(process.execPath, command, { env, uid, gid: uid, encoding: 'utf8' });
    expect(ran.stderr).toBe('');
    expect({
      status: ran.status,
      unusable: ran.stdout.match(/"code": "state-unusable",\s+"folder": "[^"]+",\s+"error": "EACCES"/) !== null,
    }).toEqual({ status: 1, unusable: true });
  }
});

it('a place without room for a folder does not block hooks or delivery', async context => {
  if (process.platform !== 'linux') cannotRun(context, 'needs /proc');
  expect(await hook([], { ...house.env, OTEL_HOOKS_STATE_DIR: '/proc/none/state' })).toEqual(harmless);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, AGENT_HOOKS_LOG: '/proc/none/log.jsonl' };
  expect(await hook([], { ...house.env, ...env })).toEqual(harmless);
  expect(names()).toEqual(['session claude-code']);
  expect(status(house).problems).toMatchObject([{ code: 'delivery-failing', signal: 'events', why: 'ENOENT' }]);
});

it('an empty HOME counts as missing', () => {
  expect(homeOf({ HOME: '' })).toBe(process.env.HOME ? homedir() : userInfo().homedir);
  expect(homeOf({ HOME: '/h' })).toBe('/h');
});

it('a dangling link in place of the state folder is reported, because no hook can write there', async () => {
  mkdirSync(join(house.state, '..'), { recursive: true });
  symlinkSync(join(house.folder, 'gone'), house.state);
  expect(await hook([], house.env)).toEqual(harmless);
  expect(status(house).problems).toMatchObject([{ code: 'state-symlink' }]);
});
