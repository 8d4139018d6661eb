/** The end of a delivery: it must not end while an event arrives that it can deliver, and it must end at some point. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type DeliverOptions, deliver } from '../../src/deliver/deliver.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { AGENT, until } from './house.ts';

let home: string;
let state: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'otel-hooks-leaving-'));
  state = join(home, 'state');
  mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function arrive(prompt: string, spoil: (bytes: Buffer) => Buffer = bytes => bytes): void {
  const unique = randomUUID();
  const payload = { session_id: 's', hook_event_name: 'UserPromptSubmit', prompt_id: prompt, prompt };
  const bytes = encodeFragment(unique, { tool: AGENT, cwd: home }, Buffer.from(JSON.stringify(payload)));
  writeFileSync(join(state, 'inbox', fragmentName('0', '0', 1, unique)), spoil(bytes), { mode: 0o600 });
}

const run = (more: Partial<DeliverOptions>) =>
  deliver({
    stateFolder: state,
    byHand: true,
    waitMs: 5_000,
    surroundings: { env: {}, home, platform: process.platform, ownVariables: false, configFile: undefined },
    ...more,
  });

it('a delivery by hand delivers an event that arrives at any moment of it', async () => {
  // At each call of the clock another hook may end.
  for (let moment = 1; moment <= 12; moment += 1) {
    arrive(`before ${moment}`);
    let asked = 0;
    const { books } = await run({
      now() {
        asked += 1;
        if (asked === moment) arrive(`meanwhile ${moment}`);
        return Date.now();
      },
    });
    expect(books?.fragments.waiting, `arrived at moment ${moment} of ${asked}`).toBe(0);
  }
});

it.each([
  [
    'written by a later version',
    (bytes: Buffer) => Buffer.from(bytes.toString().replace('otel-hooks/1', 'otel-hooks/9')),
  ],
  ['that is being written', (bytes: Buffer) => bytes.subarray(0, -10)],
])('a started delivery does not wait for ever for an event %s', async (_, spoil) => {
  arrive('whole');
  arrive('left alone', spoil);
  const { outcome, books } = await run({ byHand: false, waitMs: 100 });
  expect(outcome).toBe('done');
  expect(books?.fragments).toMatchObject({ journaled: 1, waiting: 1 });
});

it('a killed delivery that is a zombie does not count as running', {
  skip: process.platform !== 'linux',
}, async () => {
  // The second process never reads the exit code of the first one; in containers no process may do so.
  const parent = spawn('/bin/sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 20'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const pid = Number(await new Promise(resolve => parent.stdout.once('data', resolve)));
    const stat = (): string[] => readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
    await until(() => stat()[2] === 'Z', 5_000);
    const owner = {
      v: 1,
      host: hostname(),
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      pidns: readlinkSync('/proc/self/ns/pid'),
      pid,
      start: stat()[21],
      nonce: '0123456789abcdef',
      version: '0.0.1',
    };
    writeFileSync(join(state, 'lock'), `${pid} ${JSON.stringify(owner)}\n`);
    arrive('whole');
    const { outcome, journaled } = await run({ byHand: false, waitMs: 100 });
    expect({ outcome, journaled }).toEqual({ outcome: 'done', journaled: 1 });
  } finally {
    parent.kill();
  }
});
