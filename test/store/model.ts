/**
 * Compares the store with a very simple model. Owners take fragments and commit rounds; each is killed, refused or
 * stopped at any call, and while it is stopped the others continue for any time. After each step, and at any call in
 * between, a reader checks the accounts.
 *
 * The model is a list of the intended changes of each round. The ledger states which rounds took effect, and in which
 * order, because each round's tally leaves its id there. The test checks that the rest of the disk agrees with that
 * list.
 */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { number } from '../../src/lib/read.ts';
import { documentNamed } from '../../src/store/document.ts';
import { accountsOf, increase } from '../../src/store/ledger.ts';
import type { Excess, Limits } from '../../src/store/limits.ts';
import type { openStore, Round, Store } from '../../src/store/store.ts';
import { type Breakage, breakableFs, Crash } from './breakable-fs.ts';

const sumDocument = documentNamed('sum', 1, number);

export type Step =
  | { do: 'write'; count: number; session: number }
  | { do: 'write newer' }
  | { do: 'begin torn'; session: number }
  | { do: 'end torn' }
  | { do: 'wait' }
  | { do: 'day' }
  | { do: 'restart'; owner: number; breaks: Break[] }
  | { do: 'round'; owner: number; most: number; forget: 'state' | 'journal' | 'document' | undefined; breaks: Break[] }
  | { do: 'settle'; owner: number; isSplit: boolean; breaks: Break[] }
  | { do: 'limit'; owner: number; breaks: Break[] }
  | { do: 'pack'; owner: number; breaks: Break[] };

/**
 * The fault at the n-th call of an owner, or before the first call of that form (`renameSync inbox/...
 * quarantine/...`): the call fails, a reader looks, or the owner is stopped while the others continue.
 */
export interface Break {
  atCall: number | RegExp;
  what: Breakage | 'look' | Step[];
}

const OWNERS = 3;
const SESSIONS = ['0a', '0b', '0c'];
const DESTINATION = 'd0';
/** Limits that are so low that some items of each kind are dropped. */
const LIMITS: Limits = {
  inbox: { files: 1, sizeBytes: 1_000, days: 1 },
  outbox: { files: 3, sizeBytes: 60, days: 1 },
  journal: { files: 2, sizeBytes: 60, days: 1 },
};

export const steps = (depth: number): fc.Arbitrary<Step[]> => {
  const owner = fc.nat(OWNERS - 1);
  const session = fc.nat(SESSIONS.length - 1);
  const what: fc.Arbitrary<Break['what']> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom<Break['what']>('crash', 'tear', 'short', 'ENOSPC', 'EMFILE', 'look', 'look'),
    },
    ...(depth > 0 ? [{ weight: 4, arbitrary: steps(depth - 1) }] : []),
  );
  const breaks = fc.array(fc.record({ atCall: fc.nat(90), what }), { maxLength: 2 });
  const forget = fc.constantFrom(undefined, undefined, undefined, 'state', 'journal', 'document');
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('write'), count: fc.integer({ min: 1, max: 3 }), session }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('begin torn'), session }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('end torn') }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('wait', 'day', 'write newer') }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart'), owner, breaks }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('round'),
        owner,
        most: fc.integer({ min: 1, max: 4 }),
        forget,
        breaks,
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('settle'), owner, isSplit: fc.boolean(), breaks }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('limit', 'pack'), owner, breaks }) },
  ) as fc.Arbitrary<Step>;
  return fc.array(step, { minLength: 1, maxLength: depth > 0 ? 6 : 4 });
};

/** The intended changes of a round. */
interface Meant {
  by: 'round' | 'settle' | 'limit' | 'pack';
  ids: number[];
  lines: { session: string; ids: number[] }[];
  duplicates: number[];
  rejects: number[];
  bodies: { items: number; text: string; replaces?: string }[];
  settled: { name: string; accepted: number; rejected: number }[];
  forgets: { what: 'state' | 'journal'; session: string } | { what: 'document' } | undefined;
  excess: Excess;
}

const meantBy = (by: Meant['by']): Meant => ({
  by,
  ids: [],
  lines: [],
  duplicates: [],
  rejects: [],
  bodies: [],
  settled: [],
  forgets: undefined,
  excess: { bodies: [], fragments: [], journals: [] },
});

/** Runs the steps; throws where store and model differ. */
export function runModel(open: typeof openStore, script: Step[]): void {
  const folder = fs.mkdtempSync(join(fs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'otel-hooks-model-'));
  try {
    const world = new World(open, join(folder, 'state'));
    for (const step of script) {
      world.run(step);
      world.look();
    }
    world.end();
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

class World {
  readonly open: typeof openStore;
  readonly folder: string;
  readonly owners: (Store | undefined)[] = Array.from({ length: OWNERS }, () => undefined);
  readonly busy = new Set<number>();
  readonly breaks: Break[][] = Array.from({ length: OWNERS }, () => []);
  readonly calls: number[] = Array.from({ length: OWNERS }, () => 0);
  readonly rounds: Meant[] = [];
  readonly promised = new Set<number>();
  readonly fragments: { name: string; session: string }[] = [];
  readonly torn: { file: number; rest: Buffer }[] = [];
  laterMs = 0;
  nonces = 0;
  lastRound = 0;

  constructor(open: typeof openStore, folder: string) {
    this.open = open;
    this.folder = folder;
    this.open(this.options(undefined)).close();
  }

  options(owner: number | undefined) {
    return {
      folder: this.folder,
      access: 'own',
      reserveBytes: 64,
      // The quarantine must keep its items until the end.
      quarantine: { ageMs: Number.POSITIVE_INFINITY, sizeBytes: 1_000_000, files: 1_000 },
      clock: { nowMs: () => Date.now() + this.laterMs, monotonicMs: () => this.laterMs },
      nonce: () => String(++this.nonces).padStart(16, '0'),
      fs: owner === undefined ? fs : breakableFs(call => this.beforeCall(owner, call)),
    } as const;
  }

  beforeCall(owner: number, call: string): Breakage | undefined {
    const count = (this.calls[owner] ?? 0) + 1;
    this.calls[owner] = count;
    const text = call.replaceAll(`${this.folder}/`, '');
    const breaks = this.breaks[owner] ?? [];
    const due = breaks.filter(({ atCall }) => (typeof atCall === 'number' ? atCall === count : atCall.test(text)));
    this.breaks[owner] = breaks.filter(it => !due.includes(it));
    for (const { what } of due) {
      if (what === 'look') this.look();
      else if (typeof what === 'string') return what;
      else for (const step of what) this.run(step);
    }
    return undefined;
  }

  run(step: Step): void {
    if (step.do === 'write') for (let i = 0; i < step.count; i++) this.write(step.session, 'whole');
    else if (step.do === 'write newer') this.write(0, 'newer');
    else if (step.do === 'begin torn') this.write(step.session, 'torn');
    else if (step.do === 'end torn') this.endTorn();
    else if (step.do === 'wait') this.laterMs += 61_000;
    else if (step.do === 'day') this.laterMs += 86_400_000;
    else if (!this.busy.has(step.owner)) this.runOwner(step);
  }

  runOwner(step: Extract<Step, { owner: number }>): void {
    const { owner } = step;
    this.busy.add(owner);
    this.calls[owner] = 0;
    this.breaks[owner] = step.breaks;
    try {
      if (step.do === 'restart') this.owners[owner] = undefined;
      const store = this.owners[owner] ?? this.open(this.options(owner));
      this.owners[owner] = store;
      if (step.do === 'round') this.round(store, step.most, step.forget);
      else if (step.do === 'settle') this.settle(store, step.isSplit);
      else if (step.do === 'limit') this.limit(store);
      else if (step.do === 'pack') this.pack(store);
    } catch (error) {
      if (error instanceof Crash) this.owners[owner] = undefined;
      else if (!isRefusedCall(error)) throw error;
    } finally {
      this.busy.delete(owner);
      this.breaks[owner] = [];
    }
  }

  write(session: number, what: 'whole' | 'torn' | 'newer'): void {
    const id = this.fragments.length;
    const unique = `u${id}`;
    const name = fragmentName('b0', String(id + 1), 1, unique);
    const key = SESSIONS[session] ?? '';
    const encoded = encodeFragment(unique, { tool: 't' }, Buffer.from(JSON.stringify({ id, key })));
    const bytes = what === 'newer' ? Buffer.from('otel-hooks/2 of a later version') : encoded;
    this.fragments.push({ name, session: key });
    const file = fs.openSync(join(this.folder, 'inbox', name), 'wx', 0o600);
    const whole = what === 'torn' ? bytes.length - 3 : bytes.length;
    fs.writeSync(file, bytes, 0, whole);
    if (what === 'torn') this.torn.push({ file, rest: bytes.subarray(whole) });
    else fs.closeSync(file);
  }

  endTorn(): void {
    const torn = this.torn.shift();
    if (torn === undefined) return;
    fs.writeSync(torn.file, torn.rest);
    fs.closeSync(torn.file);
    // Makes owners read their knowledge again.
    this.laterMs += 11_000;
  }

  round(store: Store, most: number, forget: 'state' | 'journal' | 'document' | undefined): void {
    const taken = store.take({ fragments: most, bytes: 1_000_000 });
    const meant = meantBy('round');
    const round: Round = { journal: [], sessions: [], documents: [], bodies: [], quarantine: [] };
    for (const fragment of taken.fragments) {
      const { id, key } = JSON.parse(fragment.payload.toString()) as { id: number; key: string };
      meant.ids.push(id);
      // One in five is a duplicate: eaten without a line.
      if (id % 5 === 4) meant.duplicates.push(id);
      else if (meant.lines.find(({ session }) => session === key)?.ids.push(id) === undefined)
        meant.lines.push({ session: key, ids: [id] });
    }
    for (const { name, reason } of taken.rejects) {
      meant.rejects.push(this.fragments.findIndex(fragment => fragment.name === name));
      round.quarantine?.push({ name, reason });
    }
    for (const { session, ids } of meant.lines) {
      const state = store.session(session)?.state as { chain: string } | undefined;
      round.journal?.push({ key: session, lines: linesOf(ids) });
      round.sessions?.push({ key: session, state: { chain: (state?.chain ?? '') + linesOf(ids) } });
    }
    const journaled = meant.lines.flatMap(({ ids }) => ids);
    if (forget === 'document') {
      meant.forgets = { what: 'document' };
      round.documents?.push({ name: 'sum', value: undefined });
    } else {
      const sum = store.read(sumDocument) ?? 0;
      round.documents?.push({ name: 'sum', value: sum + journaled.length });
      const session = SESSIONS.find(key => !meant.lines.some(line => line.session === key));
      if (forget !== undefined && session !== undefined) {
        meant.forgets = { what: forget, session };
        if (forget === 'state') round.sessions?.push({ key: session, state: undefined });
        else round.prune = [session];
      }
    }
    if (journaled.length > 0) {
      const text = linesOf(journaled);
      meant.bodies.push({ items: journaled.length, text });
      round.bodies?.push({
        destination: DESTINATION,
        signal: 'logs',
        items: journaled.length,
        bytes: Buffer.from(text),
      });
    }
    this.commit(store, meant, {
      ...round,
      eaten: taken.fragments.map(fragment => fragment.name),
      tally: ledger => {
        ledger.fragments.journaled += journaled.length;
        increase(ledger.fragments.dropped, 'duplicate', meant.duplicates.length);
        accountsOf(ledger, DESTINATION).logs.produced += journaled.length;
      },
    });
  }

  settle(store: Store, isSplit: boolean): void {
    const body = store.next(DESTINATION)[0];
    if (body === undefined || !store.canSettle()) return;
    const meant = meantBy('settle');
    const bodies: Round['bodies'] = [];
    const rejected = isSplit ? 1 : 0;
    if (isSplit && body.items > 1) {
      const text = `part of ${body.name}`;
      const items = body.items - 1;
      meant.bodies.push({ items, text, replaces: body.name });
      bodies.push({ destination: DESTINATION, signal: 'logs', items, bytes: Buffer.from(text), inPlaceOf: body.name });
    }
    const accepted = isSplit ? 0 : body.items;
    meant.settled.push({ name: body.name, accepted, rejected });
    this.commit(store, meant, {
      bodies,
      settled: [{ destination: DESTINATION, name: body.name }],
      tally: ledger => {
        const { logs } = accountsOf(ledger, DESTINATION);
        logs.accepted += accepted;
        increase(logs.rejected, '400', rejected);
      },
    });
  }

  limit(store: Store): void {
    const found = store.within(LIMITS);
    if (found !== undefined) this.commit(store, { ...meantBy('limit'), excess: found.excess }, found.round);
  }

  /** Packs all journals, of any age. No text changes. */
  pack(store: Store): void {
    const packed = store.journals().flatMap(key => {
      const text = Buffer.from(store.journal(key) ?? '');
      return text.length === 0 ? [] : [{ key, bytes: gzipSync(text), textBytes: text.length }];
    });
    if (packed.length > 0) this.commit(store, meantBy('pack'), { packed });
  }

  commit(store: Store, meant: Meant, round: Round): void {
    const id = this.rounds.push(meant) - 1;
    const outcome = store.commit({
      ...round,
      tally(ledger) {
        round.tally?.(ledger);
        ledger.counters[`r${id}`] = ledger.n;
      },
    });
    if (outcome === 'committed') this.promised.add(id);
  }

  /** The state that any reader may see at any moment. */
  look(): void {
    const books = this.open({ folder: this.folder, access: 'read' }).books();
    const { received, waiting, journaled, quarantined, dropped } = books.fragments;
    same('received', received, this.fragments.length);
    same('fragments', waiting + journaled + quarantined + sum(dropped), received);
    const logs = books.destinations[DESTINATION]?.logs;
    if (logs !== undefined)
      same('logs', logs.accepted + logs.waiting + sum(logs.rejected) + sum(logs.dropped), logs.produced);
    same('round goes forward', books.round >= this.lastRound, true);
    this.lastRound = books.round;
    const numbers = Object.entries(books.counters).flatMap(([id, n]) => (/^r\d/.test(id) ? [n] : []));
    same('rounds without a gap', numbers.sort(byNumber), range(1, books.round));
    for (const id of this.promised) same(`round r${id} was promised`, books.counters[`r${id}`] === undefined, false);
  }

  /** All owners have ended; a last owner starts, and the disk must match the committed rounds. */
  end(): void {
    for (const { file } of this.torn) fs.closeSync(file);
    const store = this.open(this.options(undefined));
    this.look();
    same('litter', fs.readdirSync(join(this.folder, 'rounds')), []);
    const { counters } = store.ledger();
    const committed = this.rounds
      .map((meant, id) => ({ meant, n: counters[`r${id}`] ?? 0 }))
      .filter(({ n }) => n > 0)
      .sort((a, b) => a.n - b.n)
      .map(({ meant }) => meant);

    const fates = new Map<number, string>();
    for (const round of committed) {
      for (const id of round.ids) {
        same(`f${id} is eaten once`, fates.get(id) !== 'eaten', true);
        fates.set(id, 'eaten');
      }
      for (const id of round.rejects) {
        same(`f${id} is set aside once`, fates.get(id), undefined);
        fates.set(id, 'quarantine');
      }
      for (const { name } of round.excess.fragments) {
        const id = this.fragments.findIndex(fragment => fragment.name === name);
        same(`f${id} is dropped once`, fates.get(id), undefined);
        fates.set(id, 'dropped');
      }
    }
    const lying = (folder: string): string[] => fs.readdirSync(join(this.folder, folder)).sort();
    const named = (fate: string | undefined): string[] =>
      this.fragments.filter((_, id) => fates.get(id) === fate).map(fragment => fragment.name);
    same('inbox', lying('inbox'), named(undefined).sort());
    same(
      'quarantine',
      lying('quarantine'),
      named('quarantine')
        .map(name => `torn.${name}`)
        .sort(),
    );

    for (const key of SESSIONS) {
      let journal = '';
      let chain: string | undefined;
      for (const { lines, forgets, excess } of committed) {
        const added = linesOf(lines.find(({ session }) => session === key)?.ids ?? []);
        journal += added;
        if (added !== '') chain = (chain ?? '') + added;
        if (forgets?.what === 'state' && forgets.session === key) chain = undefined;
        if (forgets?.what === 'journal' && forgets.session === key) journal = '';
        if (excess.journals.some(gone => gone.key === key)) journal = '';
      }
      same(`journal ${key}`, store.journal(key) ?? '', journal);
      same(`state ${key}`, (store.session(key)?.state as { chain: string } | undefined)?.chain, chain);
    }
    const sums = committed.filter(({ by }) => by === 'round');
    const total = sums.reduce<number | undefined>(
      (sum, { lines, forgets }) =>
        forgets?.what === 'document' ? undefined : (sum ?? 0) + lines.flatMap(({ ids }) => ids).length,
      undefined,
    );
    same('document', store.read(sumDocument), total);

    const settled = new Set(
      committed.flatMap(round => [...round.settled, ...round.excess.bodies].map(({ name }) => name)),
    );
    const waiting = store.next(DESTINATION);
    same('settled bodies are gone', waiting.filter(body => settled.has(body.name)).length, 0);
    const texts = waiting.map(body => store.body(DESTINATION, body.name)?.toString()).sort();
    const replaced = committed.flatMap(round => round.bodies).length - settled.size;
    same('bodies', texts.length, replaced);
    const meantTexts = committed.flatMap(round => round.bodies.map(({ text }) => text));
    same(
      'bodies are whole',
      texts.every(text => text !== undefined && meantTexts.includes(text)),
      true,
    );

    store.take({ fragments: 1_000, bytes: 1_000_000 });
    const over = store.within(LIMITS);
    if (over !== undefined) same('the last limit', store.commit(over.round), 'committed');
    same('within the limits', store.within(LIMITS), undefined);
    for (const place of ['outbox', 'journal'] as const) {
      const files = lying(place === 'outbox' && lying('outbox').length > 0 ? `outbox/${DESTINATION}` : place);
      const items = new Set(files.map(name => name.replace(/\.gz$/, '')));
      same(`files in ${place}`, items.size <= LIMITS[place].files, true);
    }
  }
}

/** Not a fault of the store: the call that the test made fail, as a commit or an opening reports it. */
function isRefusedCall(error: unknown): boolean {
  return error instanceof Error && /ENOSPC|EMFILE/.test(JSON.stringify({ ...error }));
}

const linesOf = (ids: number[]): string => ids.map(id => `{"id":${id}}\n`).join('');
const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((a, b) => a + b, 0);
const byNumber = (a: number, b: number): number => a - b;
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

function same(what: string, found: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: ${a}, expected ${b}`);
}
