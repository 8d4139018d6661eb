/** A home with hooks in its inbox, a configuration, and collectors: for tests of data that waits. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Io } from '../../src/commands/command.ts';
import { imbalances, readStatusBooks, type StatusBooks } from '../../src/deliver/status-books.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { openStore } from '../../src/store/store.ts';
import { type Collector, type CollectorOptions, startCollector } from '../collector.ts';
import { type Ran, ranIn } from '../commands/ran.ts';
import { START_MS } from '../play.ts';

export interface House {
  home: string;
  state: string;
  configFile: string;
  /** The clock of commands. Each command moves it by a minute. */
  nowMs: number;
  configure(config: object): void;
  /** Puts hooks of Claude Code into the inbox. */
  hooked(session: string, ...events: (string | object)[]): void;
  /** The same with variables and flags that the hooks pass on. */
  hookedWith(passed: Record<string, string>, session: string, ...events: (string | object)[]): void;
  run(...words: string[]): Promise<Ran>;
  runWith(change: Partial<Io>, ...words: string[]): Promise<Ran>;
  /** Delivers by hand. */
  deliver(): Promise<Ran>;
  /** The accounts, which must balance. */
  books(): StatusBooks;
  collector(answer?: CollectorOptions['answer'], tls?: CollectorOptions['tls']): Promise<Collector>;
  /** Texts of all files below the state folder, by path. */
  files(): Map<string, Buffer>;
  close(): Promise<void>;
}

export function newHouse(): House {
  const home = mkdtempSync(join(tmpdir(), 'otel-hooks-waiting-'));
  const state = join(home, '.local', 'state', 'otel-hooks');
  const configFile = join(home, '.config', 'otel-hooks', 'config.json');
  mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });
  const closing: (() => unknown)[] = [];
  let hooks = 0;
  const house: House = {
    home,
    state,
    configFile,
    nowMs: START_MS + 3_600_000,
    configure(config) {
      mkdirSync(join(configFile, '..'), { recursive: true, mode: 0o700 });
      writeFileSync(configFile, JSON.stringify(config), { mode: 0o600 });
      // By the clock of the commands.
      utimesSync(configFile, house.nowMs / 1_000, house.nowMs / 1_000);
    },
    hooked: (session, ...events) => house.hookedWith({}, session, ...events),
    hookedWith(passed, session, ...events) {
      for (const event of events) {
        hooks += 1;
        const unique = `00000000-0000-4000-8000-${String(hooks).padStart(12, '0')}`;
        const header = { tool: 'claude-code', ppid: '1', at: String(START_MS + hooks * 1_000), ...passed };
        const named = typeof event === 'string' ? { hook_event_name: event } : event;
        const payload = { session_id: session, cwd: home, source: 'startup', reason: 'other', ...named };
        const bytes = encodeFragment(unique, header, Buffer.from(JSON.stringify(payload)));
        const name = fragmentName('0000beef', String(1_000 + hooks), 100, unique);
        writeFileSync(join(state, 'inbox', name), bytes, { mode: 0o600 });
      }
    },
    run: (...words) => house.runWith({}, ...words),
    async runWith(change, ...words) {
      house.nowMs += 60_000;
      return await ranIn(home, words, { now: () => house.nowMs, ...change });
    },
    deliver: () => house.run('deliver', '--wait', '900ms'),
    books() {
      const store = openStore({ folder: state, access: 'read' });
      const books = readStatusBooks(store);
      store.close();
      expect(imbalances(books)).toEqual([]);
      return books;
    },
    async collector(answer, tls) {
      const collector = await startCollector({ answer, ...(tls === undefined ? {} : { tls }) });
      closing.push(() => collector.close());
      return collector;
    },
    files() {
      const found = new Map<string, Buffer>();
      for (const entry of readdirSync(state, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        if (entry.isFile() && existsSync(path)) found.set(path.slice(state.length + 1), readFileSync(path));
      }
      return found;
    },
    async close() {
      for (const close of closing.splice(0)) await close();
      rmSync(home, { recursive: true, force: true });
    },
  };
  return house;
}

/** The account of a destination by its address. */
export function accountAt({ destinations }: StatusBooks, endpoint: string) {
  const found = destinations.filter(each => `${each.endpoint}/`.startsWith(`${endpoint}/`));
  expect(found.map(each => each.endpoint)).toHaveLength(1);
  return found[0] as StatusBooks['destinations'][number];
}
