/** `otel-hooks erase`: one session is removed, the others stay unchanged, and every removal is counted. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { beginErasure, finishErasures } from '../../src/deliver/erasure.ts';
import { sessionKey } from '../../src/session/session-state.ts';
import { openStore, type StoreOptions } from '../../src/store/store.ts';
import { breakableFs, Crash } from '../store/breakable-fs.ts';
import { accountAt, type House, newHouse } from './house.ts';

let house: House;
let log: string;
beforeEach(() => {
  house = newHouse();
  log = join(house.home, 'agent-hooks.jsonl');
});
afterEach(() => house.close());

const GONE = 'http://127.0.0.1:9';
const [SECRET, OTHER] = ['5ec2e7-session', '07e3-session'];

/** Two sessions wait in common bodies; their events are in a log, and one has a torn hook in quarantine. */
async function twoSessions(): Promise<void> {
  house.configure({ provider: 'otlp', otlp: { endpoint: GONE }, agent_hooks_log: log });
  for (const session of [SECRET, OTHER])
    house.hooked(session, 'SessionStart', { hook_event_name: 'UserPromptSubmit', prompt: 'x' }, 'SessionEnd');
  await house.deliver();
  mkdirSync(join(house.state, 'quarantine'), { recursive: true, mode: 0o700 });
  writeFileSync(join(house.state, 'quarantine', 'header.abc'), `damaged {"session_id":"${SECRET}"}`);
}

/** Paths of the files below the home folder that contain a text. */
function holding(text: string): string[] {
  const found = [...house.files()].filter(([, bytes]) => bytes.includes(text)).map(([path]) => path);
  return existsSync(log) && readFileSync(log, 'utf8').includes(text) ? [...found, 'log'] : found;
}

describe('erase', () => {
  it('removes journal, state, waiting items, quarantine and lines of the log, and keeps the other session', async () => {
    await twoSessions();
    expect(holding(SECRET).length).toBeGreaterThan(4);
    const [before, other] = [
      house.books(),
      readFileSync(log, 'utf8')
        .split('\n')
        .filter(line => line.includes(OTHER)),
    ];
    const { code, out } = await house.run('erase', '5ec2', '--yes', '--json');
    expect(code).toBe(0);
    const { erased } = JSON.parse(out);
    expect(erased).toMatchObject({
      session: SECRET,
      agent: 'claude-code',
      quarantine: 1,
      files: ['~/agent-hooks.jsonl'],
    });
    expect(holding(SECRET)).toEqual([]);
    expect(
      readFileSync(log, 'utf8')
        .split('\n')
        .filter(line => line !== ''),
    ).toEqual(other);

    const [was, is] = [accountAt(before, GONE), accountAt(house.books(), GONE)];
    for (const kind of ['spans', 'logs'] as const) {
      expect(erased[kind]).toBeGreaterThan(0);
      expect(is[kind].dropped).toEqual({ erased: erased[kind] });
      expect(is[kind].waiting).toBe(was[kind].waiting - erased[kind]);
    }
    const { counters } = JSON.parse((await house.run('status', '--json')).out);
    expect(counters).toMatchObject({ 'dropped.journal.erased': 1, 'dropped.quarantine.erased': 1 });

    const back = await house.collector();
    house.configure({ provider: 'otlp', otlp: { endpoint: back.url } });
    await house.deliver();
    expect(new Set(back.spans().map(({ plain }) => plain['session.id']))).toEqual(new Set([OTHER]));
    expect(new Set(back.records().map(({ plain }) => plain['session.id']))).toEqual(new Set([OTHER]));
  });

  it('removes waiting hooks from the inbox, and drops later hooks of the session', async () => {
    house.configure({ provider: 'otlp', otlp: { endpoint: GONE } });
    house.hooked(SECRET, 'SessionStart');
    expect((await house.run('erase', SECRET, '--yes')).code).toBe(0);
    expect(holding(SECRET)).toEqual([]);
    house.hooked(SECRET, 'SessionEnd');
    await house.deliver();
    expect(holding(SECRET)).toEqual([]);
    expect(house.books().fragments.dropped).toEqual({ erased: 1 });
    expect((await house.run('show')).out).not.toContain(SECRET);
  });

  it('keeps imports from bringing the session back', async () => {
    const file = join(house.home, '.claude', 'projects', '-work', `${SECRET}.jsonl`);
    const row = {
      ...{ type: 'user', uuid: 'u-1', parentUuid: null, sessionId: SECRET, version: '2.1.3', cwd: house.home },
      ...{ timestamp: '2026-03-02T09:00:00.000Z', message: { role: 'user', content: 'hello' } },
    };
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, `${JSON.stringify(row)}\n`);
    house.configure({ agent_hooks_log: log });
    const first = JSON.parse((await house.run('import', file, '--json')).out);
    expect(first).toMatchObject({ erased: 0, sessions: [{ session: SECRET }] });
    expect((await house.run('erase', SECRET, '--yes')).code).toBe(0);
    const again = await house.run('import', file);
    expect(again.out).toContain('1 session was erased and not imported again');
    expect(holding(SECRET)).toEqual([]);
  });

  it('shows the planned removals and asks; without a terminal it needs --yes', async () => {
    await twoSessions();
    expect(await house.run('erase', SECRET)).toMatchObject({ code: 2, err: expect.stringContaining('Use --yes') });
    const refused = await house.runWith({ isTerminal: true, ask: async () => 'n' }, 'erase', SECRET);
    expect(refused.out).toMatch(
      /journal and its state\n.*\d+ spans? that waits?\n.*records that wait\n.*1 file in quarantine/s,
    );
    expect(refused.out).toContain('Nothing was changed.');
    expect(holding(SECRET).length).toBeGreaterThan(4);
  });

  it.each([
    [['nothing'], 1, 'no session begins with nothing; nothing was erased'],
    [[], 2, 'takes a session'],
  ])('%j is refused with the reason', async (words, code, why) => {
    await twoSessions();
    expect(await house.run('erase', ...words)).toMatchObject({ code, err: expect.stringContaining(why) });
  });
});

describe('an erasure that a kill interrupts', () => {
  /** Erases in a copy of the state folder; the process dies at one system call. Returns the number of calls. */
  function eraseUntil(folder: string, deathAt: number): number {
    let calls = 0;
    const fs = breakableFs(() => {
      calls += 1;
      return calls === deathAt ? 'crash' : undefined;
    });
    const options: StoreOptions = { folder, access: 'own', fs };
    try {
      const store = openStore(options);
      beginErasure(store, sessionKey('claude-code', SECRET), SECRET, house.nowMs);
      finishErasures(store);
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
    return calls;
  }

  it('is completed by the next delivery, for every system call at which the process died', async () => {
    await twoSessions();
    const [whole, lines] = [join(house.home, 'whole'), readFileSync(log)];
    cpSync(house.state, whole, { recursive: true });
    const all = eraseUntil(join(house.home, 'dry'), 0) && eraseUntil(copyOf(whole, 'count'), 0);
    writeFileSync(log, lines);
    let begun = 0;
    for (let deathAt = 1; deathAt <= all; deathAt += 23) {
      const folder = copyOf(whole, 'killed');
      writeFileSync(log, lines);
      eraseUntil(folder, deathAt);
      const store = openStore({ folder, access: 'own' });
      finishErasures(store);
      const isErased = store.read({ name: 'erased', version: 1, parse: value => value }) !== undefined;
      store.close();
      begun += Number(isErased);
      const left = filesWith(folder, SECRET);
      // Before the first commit the session is unchanged; after it, no part of the session may be left.
      if (isErased) expect([deathAt, left]).toEqual([deathAt, []]);
      else expect(left.length).toBeGreaterThan(4);
      if (isErased) expect(readFileSync(log, 'utf8')).not.toContain(SECRET);
      rmSync(folder, { recursive: true });
    }
    expect(begun).toBeGreaterThan(5);
  });

  it('is completed by the repeated command', async () => {
    await twoSessions();
    const store = openStore({ folder: house.state, access: 'own' });
    beginErasure(store, sessionKey('claude-code', SECRET), SECRET, house.nowMs);
    store.close();
    expect(holding(SECRET).length).toBeGreaterThan(1);
    expect(await house.run('erase', SECRET, '--yes')).toMatchObject({
      code: 0,
      out: expect.stringContaining('complete now'),
    });
    expect(holding(SECRET)).toEqual([]);
    house.books();
  });

  const copyOf = (whole: string, name: string): string => {
    const folder = join(house.home, name);
    cpSync(whole, folder, { recursive: true });
    return folder;
  };

  const filesWith = (folder: string, text: string): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap(entry => {
      const path = join(entry.parentPath, entry.name);
      return entry.isFile() && readFileSync(path).includes(text) ? [path] : [];
    });
});
