/**
 * A state folder that cannot be used: hooks end with 0, print nothing and change nothing, and `status` names the
 * visible cause.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Collector, startCollector } from '../collector.ts';
import { cannotRun, needsRoot } from '../needs.ts';
import {
  type Agent,
  commandsIn,
  enable,
  furnish,
  type House,
  harmless,
  type Mouth,
  payloadOf,
  quiet,
  runHook,
  status,
  until,
  vacate,
} from './house.ts';

const isRoot = process.geteuid?.() === 0;
const mouths: Mouth[] = ['sh', 'node'];
/**
 * A long limit, because a Node process alone takes a while on a busy machine. The test checks that no process hangs.
 */
const LONGEST_MS = 5_000;

let house: House;
let collector: Collector;
let agent: Agent;
const mounted: string[] = [];

beforeEach(async () => {
  collector = await startCollector();
  house = furnish('built', 'otel-hooks-state-');
  enable(house, collector.url);
  agent = { house, commands: commandsIn(house) };
});
afterEach(async () => {
  await quiet(house);
  for (const folder of mounted.splice(0)) spawnSync('umount', ['-l', folder]);
  await vacate(house);
  await collector.close();
});

async function bothMouths(uid?: number): Promise<void> {
  for (const mouth of mouths) {
    const startMs = performance.now();
    const payload = payloadOf({
      session_id: 's',
      hook_event_name: 'PreToolUse',
      tool_use_id: mouth,
      tool_name: 'Bash',
    });
    const hook = { event: 'PreToolUse', mouth, payload };
    expect(await runHook(agent, uid === undefined ? hook : { ...hook, uid })).toEqual(harmless);
    expect(performance.now() - startMs).toBeLessThan(LONGEST_MS);
  }
}

const statusCodes = (): string[] => status(house).problems.map(problem => problem.code);

describe('a state folder', () => {
  it('of another user is not changed, and status names the owner', async context => {
    needsRoot(context);
    rmSync(house.state, { recursive: true });
    mkdirSync(join(house.state, 'inbox'), { recursive: true });
    for (const folder of [house.state, join(house.state, 'inbox')]) {
      chmodSync(folder, 0o777);
      chownSync(folder, 12_345, 12_345);
    }
    await bothMouths();
    expect(readdirSync(house.state, { recursive: true })).toEqual(['inbox']);
    expect(statusCodes()).toEqual(['state-foreign']);
  });

  it('that is a link is not followed, and status reports it', async () => {
    rmSync(house.state, { recursive: true });
    const elsewhere = join(house.folder, 'elsewhere');
    mkdirSync(join(elsewhere, 'inbox'), { recursive: true });
    symlinkSync(elsewhere, house.state);
    await bothMouths();
    expect(readdirSync(elsewhere, { recursive: true })).toEqual(['inbox']);
    expect(statusCodes()).toEqual(['state-symlink']);
    rmSync(house.state);
  });

  it('that is a file stays that file, and status reports it', async () => {
    rmSync(house.state, { recursive: true });
    writeFileSync(house.state, 'mine');
    await bothMouths();
    expect(statSync(house.state).size).toBe(4);
    expect(statusCodes()).toEqual(['state-not-a-folder']);
    rmSync(house.state);
  });

  it('that is read-only stays unchanged; with restored rights the next event is delivered', async () => {
    // File modes do not restrict root, so the agent is another user here, and all files belong to that user.
    const uid = isRoot ? 12_345 : undefined;
    const names = ['', ...readdirSync(house.home, { recursive: true, encoding: 'utf8' })];
    if (uid !== undefined) for (const name of names) chownSync(join(house.home, name), uid, uid);
    const inbox = join(house.state, 'inbox');
    for (const folder of [inbox, house.state]) chmodSync(folder, 0o500);
    await bothMouths(uid);
    expect(readdirSync(inbox)).toEqual([]);
    for (const folder of [inbox, house.state]) chmodSync(folder, 0o700);
    await bothMouths(uid);
    const calls = (): unknown[] => collector.records().map(record => record.plain['gen_ai.tool.call.id']);
    await until(() => calls().length === 2, 10_000);
    expect(calls()).toEqual(mouths);
  });

  it('on a full disk loses only the event in hand, and works again when there is space', async context => {
    needsRoot(context);
    rmSync(house.state, { recursive: true });
    mkdirSync(house.state, { recursive: true, mode: 0o700 });
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', house.state]).status !== 0) {
      cannotRun(context, 'this container may not mount');
    }
    mounted.push(house.state);
    for (const folder of ['inbox', 'problems']) mkdirSync(join(house.state, folder), { mode: 0o700 });
    const ballast = join(house.state, 'ballast');
    spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k']);
    await bothMouths();
    expect(status(house).balanced).toBe(true);
    expect(statusCodes()).toEqual(expect.arrayContaining(['hook-failed', 'state-unusable']));
    rmSync(ballast);
    const torn = readdirSync(join(house.state, 'inbox')).length;
    for (const event of ['UserPromptSubmit', 'SessionEnd']) {
      const payload = payloadOf({ session_id: 's', hook_event_name: event, prompt_id: 'p' });
      expect(await runHook(agent, { event, payload })).toEqual(harmless);
    }
    // A torn fragment is left alone for a minute, because its writer might be at work.
    await until(() => collector.spans().length === 2, 10_000);
    expect(collector.spans().map(span => span.name)).toEqual(['invoke_agent claude-code', 'session claude-code']);
    const found = status(house);
    expect(found.balanced).toBe(true);
    expect(found.fragments).toMatchObject({ journaled: 2, waiting: torn });
  });
});
