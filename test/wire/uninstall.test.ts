/** `uninstall` while processes are at work, and `enable` with a destination: the installed program. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isDelivering } from '../../src/store/lock.ts';
import { type Collector, startCollector } from '../collector.ts';
import {
  commandsIn,
  enable,
  furnish,
  type House,
  harmless,
  otelHooks,
  payloadOf,
  quiet,
  type Ran,
  runHook,
  until,
  vacate,
} from './house.ts';

let house: House;
beforeEach(() => {
  house = furnish('built', 'otel-hooks-uninstall-');
});
afterEach(() => vacate(house));

const start = (cwd: string) =>
  payloadOf({ session_id: 's-1', hook_event_name: 'SessionStart', source: 'startup', cwd });

it('a delivery that waits for more fragments is ended, and no process creates the folders again', async () => {
  enable(house, undefined);
  const agent = { house, commands: commandsIn(house) };
  const hook = { event: 'SessionStart', payload: start(house.project), env: { OTEL_HOOKS_LINGER: '60s' } };
  expect(await runHook(agent, hook)).toEqual(harmless);
  await until(() => existsSync(join(house.state, 'lock')) && isDelivering(house.state), 15_000);
  const ran = otelHooks(house, ['uninstall', '--purge', '--yes']);
  expect([ran.status, ran.stderr]).toEqual([0, '']);
  expect(ran.stdout).toMatch(/Process \d+ delivers or serves; it is asked to end first\./);
  // A running agent still has its hooks in memory.
  expect(await runHook(agent, hook)).toEqual(harmless);
  expect(readdirSync(house.home, { recursive: true, withFileTypes: true }).filter(each => each.isFile())).toEqual([]);
  expect(existsSync(house.state)).toBe(false);
});

it('hooks that fire during the removal leave no files behind', async () => {
  enable(house, undefined);
  const agent = { house, commands: commandsIn(house) };
  const payload = payloadOf({
    session_id: 's-2',
    hook_event_name: 'UserPromptSubmit',
    prompt: 'x',
    cwd: house.project,
  });
  let isOver = false;
  let first = 0;
  const firing = [1, 2, 3].map(async () => {
    while (!isOver) {
      expect(await runHook(agent, { event: 'UserPromptSubmit', payload })).toEqual(harmless);
      first += 1;
    }
  });
  await until(() => first > 20, 20_000);
  const ran = await called(['uninstall', '--purge', '--yes']);
  isOver = true;
  await Promise.all(firing);
  expect([ran.status, ran.stderr]).toEqual([0, '']);
  await quiet(house);
  expect(existsSync(house.state)).toBe(false);
});

it('a server is ended', async () => {
  enable(house, undefined);
  const child = spawn(process.execPath, [house.bin, 'serve', '--listen', '127.0.0.1:0'], {
    cwd: house.project,
    env: house.env,
    stdio: 'ignore',
  });
  const ended = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)));
  await until(() => existsSync(join(house.state, 'lock')) && isDelivering(house.state), 15_000);
  const ran = await called(['uninstall', '--purge', '--yes']);
  expect([ran.status, ran.stderr]).toEqual([0, '']);
  expect(await ended).toBe(0);
  expect(existsSync(house.state)).toBe(false);
});

/** This process keeps running meanwhile. */
function called(words: string[]): Promise<Ran> {
  return new Promise(resolve => {
    const env = { ...house.env, OTEL_HOOKS_LINGER: '0s' };
    const child = spawn(process.execPath, [house.bin, ...words], { cwd: house.project, env });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', part => {
      stdout += part;
    });
    child.stderr.on('data', part => {
      stderr += part;
    });
    child.once('close', status => resolve({ status, stdout, stderr }));
  });
}

it('enable tries the destination with one empty request, and reports that it accepts data', async () => {
  const collector: Collector = await startCollector();
  try {
    const ran = await called(['enable', '--tool', 'cursor', '--yes', '--endpoint', collector.url]);
    expect(ran.status).toBe(0);
    expect(ran.stdout).toContain(`Tried ${collector.url}: it accepts data.`);
    expect(collector.spans()).toEqual([]);
    expect(collector.requests.length).toBe(1);
  } finally {
    await collector.close();
    await quiet(house);
  }
});

it('enable from a temporary folder reports it, and names the way to install', async () => {
  // The house of these tests is in such a folder.
  const ran = await called(['enable', '--tool', 'cursor', '--yes', '--no-proof']);
  expect(ran.status).toBe(0);
  expect(ran.stderr).toContain('the program is in a folder for temporary files');
  expect(ran.stderr).toContain('npm install && npm run build && npm i -g .');
  const { problems } = JSON.parse((await called(['enable', '--tool', 'cursor', '--json', '--dry-run'])).stdout) as {
    problems: { code: string }[];
  };
  expect(problems.map(({ code }) => code)).toEqual(['program-temporary']);
  // A shared file finds the program by PATH.
  const shared = await called(['enable', '--tool', 'cursor', '--project', '--json', '--dry-run']);
  expect(JSON.parse(shared.stdout)).toMatchObject({ problems: [] });
});

it('Ctrl-C during the trial of hooks leaves complete settings, and lists the changes', async () => {
  const child = spawn(process.execPath, [house.bin, 'enable', '--tool', 'cursor,claude-code', '--yes'], {
    cwd: house.project,
    env: { ...house.env, OTEL_HOOKS_LINGER: '0s' },
  });
  let stdout = '';
  child.stdout.on('data', part => {
    if (!stdout.includes('Enabled.') && String(part).includes('Enabled.')) child.kill('SIGINT');
    stdout += part;
  });
  const code = await new Promise(resolve => child.once('close', resolve));
  expect([code, stdout]).toEqual([130, expect.stringContaining('Interrupted. The hooks are in place')]);
  const again = await called(['enable', '--tool', 'cursor,claude-code', '--json', '--dry-run']);
  const { plans } = JSON.parse(again.stdout) as { plans: { changed: boolean }[] };
  expect(plans.map(({ changed }) => changed)).toEqual([false, false]);
});

it('enable succeeds while the destination is unreachable, and reports that data waits', async () => {
  const ran = await called(['enable', '--tool', 'cursor', '--yes', '--endpoint', 'http://127.0.0.1:9', '--json']);
  expect(ran.status).toBe(0);
  const { destinations } = JSON.parse(ran.stdout) as { destinations: unknown[] };
  expect(destinations).toEqual([
    expect.objectContaining({ endpoint: 'http://127.0.0.1:9', ok: false, problem: expect.anything() }),
  ]);
  const again = await called(['enable', '--tool', 'cursor', '--yes']);
  expect(again.status).toBe(0);
  expect(again.stderr).toContain('http://127.0.0.1:9 does not answer (ECONNREFUSED)');
  expect(again.stderr).toContain('Data waits on this machine until the destination accepts it.');
});
