/** After a pause of the machine, thousands of sessions may be due. No round visits all of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openFold } from '../../src/assemble/state.ts';
import { Schedule } from '../../src/deliver/schedule.ts';
import { takeLock } from '../../src/store/lock.ts';
import { openStore } from '../../src/store/store.ts';

const settles = { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' } as const;

it('a check that finds many sessions spreads them over several rounds', async () => {
  const root = mkdtempSync(join(tmpdir(), 'otel-hooks-due-'));
  const folder = join(root, 'state');
  const store = openStore({ folder, access: 'own' });
  const keys = Array.from({ length: 150 }, (_, i) => `k${String(i).padStart(3, '0')}`);
  const sessions = keys.map((key, i) => {
    const fold = { ...openFold('claude-code', key, settles), actions: { open: {} } };
    const undecided = i % 10 === 0 ? { cwd: undefined, header: {} } : undefined;
    return { key, state: { v: 1, key, fold, arrivedMs: 0, pinned: { destinations: [], undecided } } };
  });
  store.commit({ sessions });
  const lock = await takeLock({ folder, version: '1.0.0', byHand: false, waitMs: 0 });
  try {
    if (lock === undefined) throw new Error('the lock was not free');
    const surroundings = {
      env: {},
      home: root,
      platform: process.platform,
      ownVariables: false,
      configFile: undefined,
    };
    const options = { stateFolder: folder, byHand: false, waitMs: 0, surroundings };
    const schedule = new Schedule(store, lock, options, 0);
    const rounds = Array.from({ length: 5 }, () => schedule.dueSessions(Date.now()));
    expect(rounds.map(({ silent }) => silent.length)).toEqual([64, 64, 22, 0, 0]);
    expect(rounds.map(({ undecided }) => undecided.length)).toEqual([8, 7, 0, 0, 0]);
    expect(rounds.flatMap(({ silent }) => silent).sort()).toEqual(keys);
  } finally {
    lock?.release();
    store.close();
    rmSync(root, { recursive: true });
  }
});
