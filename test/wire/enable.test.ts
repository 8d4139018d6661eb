/** Sets agents up as a new user does, with the installed program: the plan, the change, the trial and the removal. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startCollector } from '../collector.ts';
import { furnish, type House, otelHooks, quiet, status, vacate } from './house.ts';

let house: House;
beforeEach(() => {
  house = furnish('built', 'otel-hooks-enable-');
});
afterEach(() => vacate(house));

/** One agent for each way in which agents run hooks. */
const ways = ['claude-code', 'codex', 'opencode', 'cline', 'antigravity', 'cursor'];

it('every way of running hooks is tried and arrives in the journal, nothing is sent, and every file is restored', async () => {
  const collector = await startCollector();
  try {
    const own = '{\n  // mine\n  "model": "x",\n}\n';
    mkdirSync(join(house.home, '.claude'), { recursive: true });
    writeFileSync(join(house.home, '.claude/settings.json'), own);
    const words = ['enable', '--tool', ways.join(','), '--yes', '--json', '--endpoint', collector.url];
    const ran = otelHooks(house, words, { OTEL_HOOKS_LINGER: '0s', NODE_OPTIONS: '' });
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    const { plans } = JSON.parse(ran.stdout) as {
      plans: { agent: string; changed: boolean; afterwards: string; proof: { ok: boolean; type: string } }[];
    };
    expect(plans.map(({ agent, changed, proof }) => [agent, changed, proof.ok, proof.type])).toEqual([
      ['claude-code', true, true, 'Session.Start'],
      ['codex', true, true, 'Session.Start'],
      ['opencode', true, true, 'Session.Start'],
      ['cline', true, true, 'Session.Start'],
      ['antigravity', true, true, 'Prompt.Submitted'],
      ['cursor', true, true, 'Session.Start'],
    ]);
    expect(plans.find(({ agent }) => agent === 'codex')?.afterwards).toMatch(/\/hooks/);

    const again = otelHooks(house, ['enable', '--tool', ways.join(','), '--yes', '--json', '--no-proof']);
    expect((JSON.parse(again.stdout) as { plans: typeof plans }).plans.map(each => each.changed)).toEqual(
      ways.map(() => false),
    );

    const gone = otelHooks(house, ['disable', '--tool', 'all', '--yes']);
    expect([gone.status, gone.stderr]).toEqual([0, '']);
    expect(readFileSync(join(house.home, '.claude/settings.json'), 'utf8')).toBe(own);
    for (const path of ['.codex/hooks.json', '.cursor/hooks.json', '.config/opencode/plugins', 'Documents/Cline/Hooks'])
      expect(existsSync(join(house.home, path)), path).toBe(false);
    expect(readdirSync(join(house.home, '.claude'))).toEqual(['settings.json']);

    expect(status(house).fragments).toMatchObject({ received: ways.length, journaled: ways.length });
    await quiet(house);
    expect(collector.requests).toEqual([]);
  } finally {
    await collector.close();
  }
});
