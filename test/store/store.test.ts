import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { documentFamily } from '../../src/store/document.ts';
import { StateRefused } from '../../src/store/folder.ts';
import { Inbox } from '../../src/store/inbox.ts';
import { accountsOf, type Ledger } from '../../src/store/ledger.ts';
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts';
import { needsRoot } from '../needs.ts';

const all = { fragments: 1_000, bytes: 1_000_000 };
let root: string;
let folder: string;
let laterMs: number;
const clock = { nowMs: () => Date.now() + laterMs, monotonicMs: () => laterMs };

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-store-'));
  folder = join(root, 'state');
  laterMs = 0;
});
afterEach(() => fs.rmSync(root, { recursive: true }));

const open = (more: Partial<StoreOptions> = {}): Store => openStore({ folder, access: 'own', clock, ...more });
const family = documentFamily<unknown>('d', 1, value => value);
const document = family.of;
const put = (name: string, bytes: string | Buffer): string => {
  fs.writeFileSync(join(folder, 'inbox', name), bytes, { mode: 0o600 });
  return name;
};
let counter = 0;
const fragment = (place: { boot?: string; up?: string; pid?: number; payload?: string } = {}): string => {
  const unique = `u${++counter}`;
  const name = fragmentName(place.boot ?? 'b0', place.up ?? '1.00', place.pid ?? 1, unique);
  return put(name, encodeFragment(unique, { tool: 't' }, Buffer.from(place.payload ?? '{}')));
};
const torn = (): string => {
  const unique = `u${++counter}`;
  const bytes = encodeFragment(unique, {}, Buffer.from('{}'));
  return put(fragmentName('b0', '1.00', 1, unique), bytes.subarray(0, bytes.length - 2));
};
const finish = (name: string, path: string): void => fs.appendFileSync(join(folder, path), `${name.slice(-1)}\n`);
const listed = (name: string): string[] => fs.readdirSync(join(folder, name)).sort();
const takenNames = (store: Store, limit = all): string[] => store.take(limit).fragments.map(({ name }) => name);
const quarantineAll = (store: Store) => {
  const { fragments, rejects } = store.take(all);
  const outcome = store.commit({ quarantine: rejects, eaten: fragments.map(({ name }) => name) });
  return { outcome, rejects: Object.fromEntries(rejects.map(({ name, reason }) => [name, reason])) };
};

describe('the folder', () => {
  const problemOf = (more: Partial<StoreOptions> = {}): string => {
    try {
      open(more);
    } catch (error) {
      if (error instanceof StateRefused) return error.problem.code;
    }
    return 'opened';
  };

  it('is made for its owner alone, with any umask', () => {
    const former = process.umask(0);
    try {
      open();
    } finally {
      process.umask(former);
    }
    for (const name of ['.', ...listed('.')]) {
      const stats = fs.statSync(join(folder, name));
      expect([name, stats.mode & 0o777]).toEqual([name, stats.isDirectory() ? 0o700 : 0o600]);
    }
  });

  it('is refused when it is a link, no folder, or missing for a reader', () => {
    fs.mkdirSync(join(root, 'elsewhere'));
    fs.symlinkSync(join(root, 'elsewhere'), folder);
    expect(problemOf()).toBe('state-symlink');
    expect(fs.readdirSync(join(root, 'elsewhere'))).toEqual([]);
    fs.unlinkSync(folder);
    expect(problemOf({ access: 'read' })).toBe('state-missing');
    fs.writeFileSync(folder, '');
    expect(problemOf()).toBe('state-not-a-folder');
  });

  it('is refused when an entry in it is a link', () => {
    fs.mkdirSync(folder, { mode: 0o700 });
    fs.symlinkSync(root, join(folder, 'journal'));
    expect(problemOf()).toBe('state-symlink');
    expect(listed('.')).toEqual(['journal']);
  });

  it("is refused when it is another user's", context => {
    needsRoot(context);
    fs.mkdirSync(folder, { mode: 0o700 });
    fs.chownSync(folder, 12_345, 12_345);
    expect(problemOf()).toBe('state-foreign');
    expect(listed('.')).toEqual([]);
  });

  it.each([
    ['version', '2\n'],
    ['ledger.json', '{"v":2,"n":7}'],
  ])('of a newer format is not changed (%s)', (name, text) => {
    fs.mkdirSync(folder, { mode: 0o700 });
    fs.writeFileSync(join(folder, name), text);
    expect(problemOf()).toBe('state-newer');
    expect(problemOf({ access: 'read' })).toBe('state-newer');
    expect(listed('.')).toEqual([name]);
  });

  it('refuses a name that is a path', () => {
    const store = open();
    for (const key of ['../../x', '/etc', 'a/b', 'A', '', 'x\0', 'x'.repeat(65)]) {
      expect(() => store.session(key)).toThrow(TypeError);
      expect(() => store.commit({ documents: [{ name: key, value: 1 }] })).toThrow(TypeError);
      expect(() => store.commit({ journal: [{ key, lines: 'x\n' }] })).toThrow(TypeError);
      expect(() => store.next(key)).toThrow(TypeError);
    }
    expect(fs.readdirSync(root)).toEqual(['state']);
  });
});

describe('the inbox', () => {
  it('is read by boot, then by its clock, then by pid', () => {
    const store = open();
    const names = [
      fragment({ boot: 'zz', up: '900.00' }),
      fragment({ boot: 'aa', up: '9.50' }),
      fragment({ boot: 'aa', up: '10.00', pid: 2 }),
      fragment({ boot: 'aa', up: '10.00', pid: 11 }),
    ];
    const [former = ''] = names;
    fs.utimesSync(join(folder, 'inbox', former), 1_000, 1_000);
    expect(takenNames(store)).toEqual(names);
  });

  it('keeps the order of a backlog that is listed piece by piece, for every order of the disk', () => {
    open().close();
    for (const step of [1, 7, 11, 39]) {
      const inOrder = Array.from({ length: 40 }, (_, i) => fragment({ up: `${100 + i}.00` }));
      const listing = inOrder.map((_, i) => inOrder[(i * step) % 40] ?? '');
      const entries = (path: string) => {
        const left = path.endsWith('/inbox') ? listing.filter(name => fs.existsSync(join(path, name))) : [];
        const readSync = () => {
          const name = left.shift();
          return name === undefined ? null : { name, isFile: () => true };
        };
        return { readSync, closeSync() {} };
      };
      const opendirSync = entries as unknown as typeof fs.opendirSync;
      const inbox = new Inbox({ fs: { ...fs, opendirSync }, folder, fsync: false, clock, nonce: () => '' }, 7);
      const taken: string[] = [];
      for (let more = true; more; ) {
        const found = inbox.take({ ...all, fragments: 3 });
        taken.push(...found.fragments.map(({ name }) => name));
        for (const { name } of found.fragments) fs.unlinkSync(join(folder, 'inbox', name));
        inbox.settle(found.fragments.map(({ name }) => name));
        more = found.more;
      }
      expect(taken).toEqual(inOrder);
      laterMs += 60_000;
    }
  });

  it('is read by time if the kernel has no clock', () => {
    const store = open();
    const names = [
      fragment({ boot: '0', up: '0' }),
      fragment({ boot: '0', up: '0' }),
      fragment({ boot: '0', up: '0' }),
    ];
    for (const [i, name] of names.entries()) fs.utimesSync(join(folder, 'inbox', name), 2_000 - i, 2_000 - i);
    expect(takenNames(store)).toEqual(names.reverse());
  });

  it('is read within the given bounds, but at least one fragment', () => {
    const store = open();
    for (let i = 0; i < 5; i++) fragment({ up: `${i + 1}.00`, payload: 'x'.repeat(1_000) });
    const some = store.take({ fragments: 2, bytes: 1_000_000 });
    expect([some.fragments.length, some.more]).toEqual([2, true]);
    expect(takenNames(store, { fragments: 9, bytes: 10 })).toHaveLength(1);
    const rest = store.take({ fragments: 9, bytes: 3_000 });
    expect([rest.fragments.length, rest.more]).toEqual([2, false]);
    expect(takenNames(store)).toEqual([]);
  });

  it('offers fragments again that an owner took before its restart', () => {
    const store = open();
    const name = fragment();
    expect(takenNames(store)).toEqual([name]);
    store.restart();
    expect(takenNames(store)).toEqual([name]);
    expect(takenNames(open())).toEqual([name]);
  });

  it('commits no fragments that were taken before a restart', () => {
    const store = open();
    const eaten = [fragment()];
    expect(takenNames(store)).toEqual(eaten);
    store.restart();
    expect(store.commit({ eaten })).toBe('lost');
    expect(store.books().fragments).toMatchObject({ received: 1, waiting: 1 });
  });

  it('does not set aside a young torn fragment, or one from the near future', () => {
    const store = open();
    const name = torn();
    expect(store.take(all)).toMatchObject({ fragments: [], rejects: [], young: 1, more: false });
    laterMs = -30_000;
    expect(store.take(all)).toMatchObject({ rejects: [], young: 1 });
    laterMs = 61_000;
    expect(store.take(all).rejects).toEqual([{ name, reason: 'torn' }]);
  });

  it('does not set aside a fragment that is being written, although the clock has jumped, as long as the kernel’s clock shows its age', () => {
    let upMs = 30_000;
    const store = open({ clock: { ...clock, sinceBoot: () => ({ boot: 'b0', upMs }) } });
    const name = torn();
    laterMs = -50 * 365 * 86_400_000;
    expect(store.take(all)).toMatchObject({ rejects: [], young: 1 });
    upMs = 61_001;
    expect(store.take(all).rejects).toEqual([{ name, reason: 'torn' }]);
  });

  it('checks a quarantined torn fragment again, and takes it when its writer has finished', () => {
    const store = open();
    const name = torn();
    laterMs = 61_000;
    quarantineAll(store);
    expect(listed('quarantine')).toEqual([`torn.${name}`]);
    expect(store.books().fragments).toMatchObject({ received: 1, waiting: 0, quarantined: 1 });

    laterMs += 11_000;
    expect(takenNames(store)).toEqual([]);
    finish(name, `quarantine/torn.${name}`);
    laterMs += 11_000;
    expect(takenNames(store)).toEqual([name]);
    store.commit({
      eaten: [name],
      tally: ledger => {
        ledger.fragments.journaled++;
      },
    });
    expect(store.books().fragments).toMatchObject({ received: 1, journaled: 1, quarantined: 0 });
    expect(listed('quarantine')).toEqual([]);
  });

  it('keeps fragments of a newer version, and reports them', () => {
    const store = open();
    put(fragmentName('b0', '1.00', 1, 'u0'), 'otel-hooks/2 something else');
    expect(store.take(all)).toMatchObject({ fragments: [], rejects: [], newer: 1 });
    expect(store.take(all)).toMatchObject({ newer: 1 });
    expect(store.books().fragments).toMatchObject({ waiting: 1 });
  });

  it('sets aside every entry that is not a fragment without opening it, and keeps its neighbours', () => {
    const store = open();
    const neighbor = fragment();
    const inbox = (name: string) => join(folder, 'inbox', name);
    const names = ['link', 'pipe', 'hard', 'folder', 'header', 'large'].map(unique => `b0-1.00-1-${unique}`);
    const [link = '', pipe = '', hard = '', directory = '', header = '', large = ''] = names;
    fs.writeFileSync(join(root, 'secret'), 'secret');
    fs.symlinkSync(join(root, 'secret'), inbox(link));
    mkfifo(inbox(pipe));
    fs.linkSync(join(root, 'secret'), inbox(hard));
    fs.mkdirSync(inbox(directory));
    put(header, 'otel-hooks/1 tool=999:x\n{}\nheader\n');
    fs.truncateSync(inbox(put(large, '')), 65 * 1024 * 1024);
    put('what is this?', 'x');
    put('.DS_Store', 'x');

    const taken = store.take(all);
    expect(taken.fragments.map(({ name }) => name)).toEqual([neighbor]);
    expect(Object.fromEntries(taken.rejects.map(({ name, reason }) => [name, reason]))).toEqual({
      [link]: 'not-a-file',
      [pipe]: 'not-a-file',
      [hard]: 'not-a-file',
      [directory]: 'not-a-file',
      [header]: 'header',
      [large]: 'too-large',
      'what is this?': 'name',
    });
    expect(store.commit({ quarantine: taken.rejects })).toBe('committed');
    expect(listed('inbox')).toEqual(['.DS_Store', neighbor]);
    expect(listed('quarantine')).toHaveLength(7);
    expect(fs.readFileSync(join(root, 'secret'), 'utf8')).toBe('secret');
  });

  it('tries an unreadable file again, and sets it aside when the error stays', () => {
    open();
    const name = fragment();
    let isBad = true;
    const openSync: typeof fs.openSync = (path, ...more) => {
      if (isBad && String(path).endsWith(name)) throw Object.assign(new Error('bad sector'), { code: 'EIO' });
      return fs.openSync(path, ...more);
    };
    const store = open({ fs: { ...fs, openSync } });
    expect(store.take(all)).toMatchObject({ fragments: [], rejects: [], young: 1 });
    isBad = false;
    expect(store.take(all).fragments).toHaveLength(1);
    store.restart();
    isBad = true;
    expect(store.take(all)).toMatchObject({ rejects: [], young: 1 });
    laterMs += 10_000;
    expect(store.take(all).rejects).toEqual([{ name, reason: 'unreadable' }]);
  });

  it('continues after an entry that cannot be moved, and sets it aside only once', () => {
    const store = open();
    const name = 'b0-1.00-1-folder';
    fs.mkdirSync(join(folder, 'inbox', name));
    fs.mkdirSync(join(folder, 'quarantine', `not-a-file.${name}`));
    fs.writeFileSync(join(folder, 'quarantine', `not-a-file.${name}`, 'x'), '');
    expect(quarantineAll(store)).toEqual({ outcome: 'committed', rejects: { [name]: 'not-a-file' } });
    expect(store.take(all)).toMatchObject({ rejects: [], more: false });
  });
});

describe('the quarantine', () => {
  it('is bounded in size and age, and removed files stay counted', () => {
    const store = open({ quarantine: { ageMs: 86_400_000, sizeBytes: 250, files: 9 } });
    for (const label of ['a', 'b', 'c']) {
      store.commit({ quarantine: [{ bytes: Buffer.alloc(100), reason: '400', label }] });
    }
    expect(listed('quarantine')).toEqual(['400.b-2-0', '400.c-3-0']);
    put('b0-1.00-1-u0', 'otel-hooks/1 damaged\n\nu0\n');
    expect(quarantineAll(store).rejects).toEqual({ 'b0-1.00-1-u0': 'header' });
    laterMs = 86_400_001;
    const later = open();
    expect(listed('quarantine')).toEqual([]);
    expect(later.books()).toMatchObject({ fragments: { received: 1, quarantined: 1 }, quarantine: { files: 0 } });
  });

  it('is emptied on request', () => {
    const store = open();
    store.commit({ quarantine: [{ bytes: Buffer.alloc(100), reason: '413', label: 'a' }] });
    expect(store.emptyQuarantine()).toEqual({ files: 1, sizeBytes: 100 });
    expect(store.books().quarantine).toEqual({ files: 0, sizeBytes: 0 });
  });
});

describe('a round', () => {
  it('keeps sessions, documents and journals', () => {
    open().commit({
      journal: [
        { key: 'k1', lines: 'one\n' },
        { key: 'k1', lines: 'two\n' },
      ],
      sessions: [{ key: 'k1', state: { open: 1 } }],
      documents: [{ name: 'd-1', value: [1] }],
    });
    for (const store of [open(), open({ access: 'read' })]) {
      expect(store.session('k1')).toEqual({ state: { open: 1 }, journalBytes: 8 });
      expect([store.sessions(), store.idsOf(family), store.journals()]).toEqual([['k1'], ['1'], ['k1']]);
      expect([store.read(document('1')), store.journal('k1'), store.journalTail('k1', 1)]).toEqual([
        [1],
        'one\ntwo\n',
        'two\n',
      ]);
      expect([store.session('k2'), store.read(document('2')), store.journal('k2')]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    }
  });

  it('continues a journal whose session state was removed, and starts a new one after pruning', () => {
    const store = open();
    const add = (lines: string) =>
      store.commit({ journal: [{ key: 'k1', lines }], sessions: [{ key: 'k1', state: lines }] });
    add('one\n');
    store.commit({ sessions: [{ key: 'k1', state: undefined }] });
    expect(store.session('k1')).toBeUndefined();
    add('two\n');
    expect(store.journal('k1')).toBe('one\ntwo\n');
    store.commit({ prune: ['k1'] });
    expect([store.journal('k1'), store.session('k1')?.state]).toEqual([undefined, 'two\n']);
    add('three\n');
    expect(store.journal('k1')).toBe('three\n');
  });

  it('does not follow a link that was put in place of a journal', () => {
    const store = open();
    store.commit({ journal: [{ key: 'k1', lines: 'one\n' }], sessions: [{ key: 'k1', state: 1 }] });
    fs.writeFileSync(join(root, 'victim'), 'victim');
    fs.unlinkSync(join(folder, 'journal/k1.jsonl'));
    fs.symlinkSync(join(root, 'victim'), join(folder, 'journal/k1.jsonl'));
    store.commit({ journal: [{ key: 'k1', lines: 'two\n' }] });
    expect(store.journal('k1')).toBe('two\n');
    expect(fs.readFileSync(join(root, 'victim'), 'utf8')).toBe('victim');
  });

  it('sets aside a folder at the path of a file', () => {
    const store = open();
    store.commit({ documents: [{ name: 'd-1', value: 1 }] });
    for (const name of ['ledger.json', 'documents/d-1.json']) {
      fs.unlinkSync(join(folder, name));
      fs.mkdirSync(join(folder, name, 'mine'), { recursive: true });
    }
    expect(open().commit({ documents: [{ name: 'd-1', value: 2 }] })).toBe('committed');
    expect(open().read(document('1'))).toBe(2);
    expect(listed('quarantine').filter(name => name.startsWith('not-a-file.'))).toHaveLength(2);
  });

  it('keeps the whole lines of a journal that was cut short', () => {
    const store = open();
    store.commit({ journal: [{ key: 'k1', lines: 'one\ntwo\n' }], sessions: [{ key: 'k1', state: 1 }] });
    fs.truncateSync(join(folder, 'journal/k1.jsonl'), 6);
    store.commit({ journal: [{ key: 'k1', lines: 'three\n' }] });
    expect(store.journal('k1')).toBe('one\nthree\n');
    expect(store.ledger().counters).toEqual({ 'damaged.journal': 1 });
  });

  it('lists bodies in the order in which they were made, and parts at the place of the divided body', () => {
    const store = open();
    const body = (text: string, inPlaceOf?: string) =>
      ({ destination: 'd1', signal: 'logs', items: text.length, bytes: Buffer.from(text), inPlaceOf }) as const;
    store.commit({ bodies: [body('aa'), body('bbbb')] });
    store.commit({ bodies: [body('c')] });
    const [, whole] = store.next('d1');
    const name = whole?.name ?? '';
    store.commit({ bodies: [body('b1', name), body('b2', name)], settled: [{ destination: 'd1', name }] });
    for (const view of [store, open(), open({ access: 'read' })]) {
      const texts = view.next('d1').map(it => view.body('d1', it.name)?.toString());
      expect(texts).toEqual(['aa', 'b1', 'b2', 'c']);
      expect(view.next('d1')[0]).toMatchObject({ signal: 'logs', items: 2, sizeBytes: 2 });
      expect(view.destinations()).toEqual(['d1']);
    }
  });

  it('writes only the provider and the address of a destination into the accounts', () => {
    const store = open();
    const destination = { provider: 'otlp', endpoint: 'http://h', headers: { authorization: 'secret' } };
    store.commit({ tally: ledger => accountsOf(ledger, 'd1', destination) });
    expect(fs.readFileSync(join(folder, 'ledger.json'), 'utf8')).not.toContain('secret');
    expect(store.books().destinations.d1).toMatchObject({ provider: 'otlp', endpoint: 'http://h' });
  });

  it('is lost when it settles files that another round settled, or was computed before a loss', () => {
    const [store, other] = [open(), open()];
    store.commit({ bodies: [{ destination: 'd1', signal: 'logs', items: 1, bytes: Buffer.from('x') }] });
    const settled = store.next('d1').map(({ name }) => ({ destination: 'd1', name }));
    const { epoch } = store;
    other.restart();
    expect(other.commit({ settled })).toBe('committed');
    expect(store.commit({ settled })).toBe('lost');
    expect(store.next('d1')).toEqual([]);
    expect(store.commit({ epoch })).toBe('lost');
    expect(store.commit({ epoch: store.epoch })).toBe('committed');
  });

  it('shows its caller copies of a state', () => {
    const store = open();
    store.commit({ sessions: [{ key: 'k1', state: { list: [1] } }] });
    const state = store.session('k1')?.state as { list: number[] } | undefined;
    state?.list.push(2);
    expect(store.session('k1')?.state).toEqual({ list: [1] });
  });

  it('syncs when asked to', () => {
    let synced = 0;
    const counting = { ...fs, fsyncSync: (file: number) => fs.fsyncSync(file + 0 * ++synced) };
    const store = open({ fsync: true, fs: counting });
    store.commit({ journal: [{ key: 'k1', lines: 'one\n' }], sessions: [{ key: 'k1', state: 1 }] });
    expect(synced).toBeGreaterThan(5);
    expect(store.journal('k1')).toBe('one\n');
  });

  it('offers fragments again after a restart, also to a reader', () => {
    open().close();
    const name = fragment();
    const reader = open({ access: 'read' });
    expect([takenNames(reader), takenNames(reader)]).toEqual([[name], []]);
    reader.restart();
    expect(takenNames(reader)).toEqual([name]);
  });

  it('throws for a write to a store for reading, which may list waiting files', () => {
    open();
    const reader = open({ access: 'read' });
    const name = torn();
    laterMs = 61_000;
    expect(reader.take(all).rejects).toEqual([{ name, reason: 'torn' }]);
    expect(() => reader.commit({})).toThrow(TypeError);
    expect([listed('inbox'), listed('quarantine')]).toEqual([[name], []]);
  });
});

describe('a full disk', () => {
  /** Writes only bytes that fit into the place of the reserve. */
  const fullDisk = () => {
    let isFull = true;
    let sent = 0;
    const refuse = (): never => {
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
    };
    const disk = {
      ...fs,
      writeSync: (...args: Parameters<typeof fs.writeSync>) => (isFull ? refuse() : fs.writeSync(...args)),
      unlinkSync(path: string) {
        fs.unlinkSync(path);
        if (path.endsWith('/reserve')) isFull = sent++ > 0;
      },
    } as unknown as NonNullable<StoreOptions['fs']>;
    return { disk, fill: () => (isFull = true), free: () => (isFull = false) };
  };

  it('commits one round that frees space, and reports that there is no space for another', () => {
    const { disk, fill, free } = fullDisk();
    free();
    const store = open({ fs: disk });
    store.commit({ bodies: [{ destination: 'd1', signal: 'logs', items: 1, bytes: Buffer.from('x') }] });
    expect(store.canSettle()).toBe(true);
    fill();
    const settled = store.next('d1').map(({ name }) => ({ destination: 'd1', name }));
    expect(() => store.commit({ documents: [{ name: 'd', value: 0 }] })).toThrow('ENOSPC');
    expect(store.commit({ settled, isUrgent: true })).toBe('committed');
    fill();
    expect(store.canSettle()).toBe(false);
    expect(() => store.commit({ documents: [{ name: 'd', value: 1 }] })).toThrow('ENOSPC');
    expect(listed('rounds')).toEqual([]);
    free();
    expect(store.canSettle()).toBe(true);
    expect(store.commit({ documents: [{ name: 'd', value: 1 }] })).toBe('committed');
    expect(open().books().destinations.d1?.logs.waiting ?? 0).toBe(0);
  });

  it('works with another entry at the path of the reserve', () => {
    const store = open();
    const place = join(folder, 'reserve');
    fs.writeFileSync(join(root, 'victim'), 'victim');
    fs.symlinkSync(join(root, 'victim'), place);
    expect(store.canSettle()).toBe(true);
    expect(fs.readFileSync(join(root, 'victim'), 'utf8')).toBe('victim');
    expect(fs.lstatSync(place).isFile()).toBe(true);
    fs.unlinkSync(place);
    fs.mkdirSync(place);
    fs.writeFileSync(join(place, 'mine'), '');
    expect(open().canSettle()).toBe(true);
    expect(open().commit({ documents: [{ name: 'd', value: 1 }], isUrgent: true })).toBe('committed');
    expect(fs.readdirSync(place)).toEqual(['mine']);
  });
});

describe('damage by a power cut', () => {
  it('to a session or a document affects only this file, and is counted', () => {
    open().commit({ sessions: [{ key: 'k1', state: 1 }], documents: [{ name: 'd-1', value: 1 }] });
    fs.writeFileSync(join(folder, 'sessions/k1.json'), '');
    fs.writeFileSync(join(folder, 'documents/d-1.json'), '{"v":1');
    const store = open();
    expect([store.session('k1'), store.read(document('1'))]).toEqual([undefined, undefined]);
    store.commit({});
    expect(store.ledger().counters).toEqual({ 'damaged.sessions': 1, 'damaged.documents': 1 });
  });

  it('to a body makes it a missing body', () => {
    const store = open();
    store.commit({ bodies: [{ destination: 'd1', signal: 'logs', items: 1, bytes: Buffer.from('xyz') }] });
    const name = store.next('d1')[0]?.name ?? '';
    fs.writeFileSync(join(folder, 'outbox/d1', name), '');
    expect(store.body('d1', name)).toBeUndefined();
    expect(store.commit({ settled: [{ destination: 'd1', name }] })).toBe('committed');
  });

  it.each<[string, () => void]>([
    ['emptied', () => fs.writeFileSync(join(folder, 'ledger.json'), '')],
    ['removed', () => fs.rmSync(join(folder, 'ledger.json'))],
  ])('to the ledger (%s) continues the numbers and counts waiting files', (_, spoil) => {
    const store = open();
    for (let i = 0; i < 3; i++) store.commit({ documents: [{ name: 'd-1', value: i }] });
    store.commit({
      bodies: [{ destination: 'd1', signal: 'logs', items: 5, bytes: Buffer.from('x') }],
      tally: ledger => {
        accountsOf(ledger, 'd1').logs.produced += 5;
      },
    });
    spoil();
    const next = open();
    expect(next.ledger()).toMatchObject({ n: 4, counters: { 'damaged.ledger': 1 } });
    const named = { provider: 'otlp', endpoint: 'http://c' };
    const tally = (ledger: Ledger) => void accountsOf(ledger, 'd1', named);
    expect(next.commit({ tally })).toBe('committed');
    const d1 = { ...named, logs: { produced: 5, waiting: 5 } };
    expect(next.books()).toMatchObject({ round: 5, destinations: { d1 } });
  });

  it('to a committed round makes it an empty one', () => {
    const store = open();
    store.commit({ documents: [{ name: 'd-1', value: 1 }] });
    fs.mkdirSync(join(folder, 'rounds/2'));
    fs.writeFileSync(join(folder, 'rounds/2/manifest.json'), '');
    const next = open();
    expect(next.ledger()).toMatchObject({ n: 2, counters: { 'damaged.round': 1 } });
    expect(next.read(document('1'))).toBe(1);
    expect(listed('rounds')).toEqual([]);
    expect(store.commit({})).toBe('lost');
    expect(store.commit({})).toBe('committed');
  });
});

it('returns the failures of front ends', () => {
  const store = open();
  fs.writeFileSync(join(folder, 'problems/hook-ENOSPC'), '');
  fs.writeFileSync(join(folder, 'problems/hook-kick-missing'), '12\n');
  expect(store.hookProblems()).toEqual([
    { code: 'hook-ENOSPC', atMs: expect.any(Number) },
    { code: 'hook-kick-missing', atMs: expect.any(Number), times: 12 },
  ]);
});

function mkfifo(path: string): void {
  execFileSync('mkfifo', [path]);
}
