/**
 * If the processing of a fragment ends the process, it must not end every delivery: after two deaths the fragment is
 * set aside, and delivery continues with all others.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { status } from '../wire/house.ts';
import { byHand, stage } from './stage.ts';

const MARK = 'deadly-3b7e';

/** A delivery that dies when it reads the mark: it is busy for a while, then the kernel kills it. */
const lethal = `
const parse = JSON.parse;
JSON.parse = function (text, ...more) {
  if (typeof text === 'string' && text.includes('${MARK}')) {
    const end = Date.now() + 800;
    while (Date.now() < end);
    process.kill(process.pid, 'SIGKILL');
  }
  return parse.call(this, text, ...more);
};`;

it('S3 a fragment whose processing ended two processes is set aside with a problem, and no other fragment is', {
  timeout: 120_000,
}, async () => {
  const { house, leave } = await stage();
  try {
    const preload = join(house.home, 'lethal.cjs');
    writeFileSync(preload, lethal);
    const env = { NODE_OPTIONS: `--require=${preload}` };
    expect((await byHand(house, '10s')).status).toBe(0);
    const hook = (i: number, prompt: string): void => {
      const payload = { session_id: 's-1', cwd: '/w', hook_event_name: 'UserPromptSubmit', prompt_id: `p${i}`, prompt };
      const header = { tool: 'claude-code', at: String(Date.now()), ppid: String(i) };
      const name = fragmentName('abcdef01', `${1_000 + i}.00`, 7, `u${i}`);
      writeFileSync(
        join(house.state, 'inbox', name),
        encodeFragment(`u${i}`, header, Buffer.from(JSON.stringify(payload))),
        {
          mode: 0o600,
        },
      );
    };
    for (let i = 0; i < 9; i += 1) hook(i, i === 5 ? MARK : 'fine');
    // A process that was killed has no status.
    expect((await byHand(house, '10s', env)).status).toBeNull();
    expect((await byHand(house, '10s', env)).status).toBeNull();
    const third = await byHand(house, '10s', env);
    expect(third.status).not.toBeNull();
    const { fragments } = status(house);
    expect(fragments).toMatchObject({ received: 9, journaled: 8, quarantined: 1, waiting: 0 });
    expect(readdirSync(join(house.state, 'quarantine')).map(name => name.split('.')[0])).toEqual(['crashed']);
    expect(JSON.stringify(status(house))).toContain('fragment-failed');
    expect(readdirSync(house.state)).not.toContain('processing');
  } finally {
    await leave();
  }
});
