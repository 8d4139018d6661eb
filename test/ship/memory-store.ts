/**
 * The store in memory, with the interface that the shipper uses, and with accounts that must balance after every
 * commit.
 */
import type { Destination, Signal } from '../../src/config/destinations.ts';
import type { Outcome, WaitingBody } from '../../src/ship/lanes.ts';
import type { ShipStore } from '../../src/ship/ship.ts';
import { noStanding, parseStanding, type Standing } from '../../src/ship/standing.ts';

export interface Account {
  produced: number;
  accepted: number;
  rejected: { [reason: string]: number };
  dropped: { [reason: string]: number };
}

export interface MemoryStore extends ShipStore {
  produce(destination: Destination, signal: Signal, items: number, bytes: Uint8Array): void;
  commit(outcome: Outcome): 'committed' | 'lost';
  account(destination: Destination, signal: Signal): Account & { waiting: number };
  quarantine: { reason: string; label: string; bytes: Uint8Array }[];
  /** Another owner took over: commits are lost. */
  isLost: boolean;
  commits: number;
  document(name: string): unknown;
  damage(name: string): void;
}

export function memoryStore(): MemoryStore {
  const bodies = new Map<string, { body: WaitingBody; bytes: Uint8Array | undefined }[]>();
  const documents = new Map<string, string>();
  /** Stored as JSON, because the next process reads nothing else. */
  let standing = JSON.stringify(noStanding);
  const accounts = new Map<string, Account>();
  let number = 0;

  const listOf = (id: string): { body: WaitingBody; bytes: Uint8Array | undefined }[] => {
    const list = bodies.get(id) ?? [];
    bodies.set(id, list);
    return list;
  };
  const accountOf = (id: string, signal: Signal): Account => {
    const account = accounts.get(`${id}/${signal}`) ?? { produced: 0, accepted: 0, rejected: {}, dropped: {} };
    accounts.set(`${id}/${signal}`, account);
    return account;
  };
  const made = (signal: Signal, items: number, bytes: Uint8Array) => {
    number += 1;
    return { body: { name: `b${number}`, signal, items, sizeBytes: bytes.length }, bytes: Buffer.from(bytes) };
  };
  const waitingIn = (id: string, signal: Signal): number =>
    listOf(id).reduce((sum, { body }) => sum + (body.signal === signal ? body.items : 0), 0);

  const store: MemoryStore = {
    quarantine: [],
    isLost: false,
    commits: 0,
    next: id => listOf(id).map(({ body }) => body),
    body: (id, name) => listOf(id).find(({ body }) => body.name === name)?.bytes,
    standing: (): Standing => parseStanding(JSON.parse(standing)),
    document: name => JSON.parse(documents.get(name) ?? 'null') ?? undefined,
    produce(destination, signal, items, bytes) {
      listOf(destination.id).push(made(signal, items, bytes));
      accountOf(destination.id, signal).produced += items;
    },
    commit(outcome) {
      const { id } = outcome.destination;
      const list = listOf(id);
      const gone = outcome.settled.some(name => !list.some(({ body }) => body.name === name));
      if (store.isLost || gone) return 'lost';
      store.commits += 1;
      const at = list.findIndex(({ body }) => body.name === outcome.settled[0]);
      const parts = outcome.parts.map(part => made(outcome.signal, part.items, part.bytes));
      list.splice(Math.max(at, 0), 0, ...parts);
      bodies.set(
        id,
        list.filter(({ body }) => !outcome.settled.includes(body.name)),
      );
      if (outcome.standing !== undefined) standing = JSON.stringify(outcome.standing);
      for (const { name, value } of outcome.documents) documents.set(name, JSON.stringify(value));
      store.quarantine.push(...outcome.quarantine.map(each => ({ ...each, bytes: Buffer.from(each.bytes) })));
      const account = accountOf(id, outcome.signal);
      account.accepted += outcome.accepted;
      for (const [reason, n] of Object.entries(outcome.rejected))
        account.rejected[reason] = (account.rejected[reason] ?? 0) + n;
      for (const [reason, n] of Object.entries(outcome.dropped))
        account.dropped[reason] = (account.dropped[reason] ?? 0) + n;
      return 'committed';
    },
    account: (destination, signal) => ({
      ...structuredClone(accountOf(destination.id, signal)),
      waiting: waitingIn(destination.id, signal),
    }),
    damage(name) {
      for (const list of bodies.values()) for (const each of list) if (each.body.name === name) each.bytes = undefined;
    },
  };
  return store;
}

export function balances(account: Account & { waiting: number }): boolean {
  const sum = (counts: { [reason: string]: number }): number => Object.values(counts).reduce((all, n) => all + n, 0);
  return account.produced === account.accepted + account.waiting + sum(account.rejected) + sum(account.dropped);
}

const target = { headers: {}, timeoutMs: 2_000, gzip: true, protocol: 'http/protobuf', tls: {} } as const;

export function destinationAt(url: string, more: Partial<Destination> = {}): Destination {
  return {
    v: 1,
    id: '0123456789abcdef',
    provider: 'otlp',
    endpoint: url,
    signals: {
      traces: { ...target, url: `${url}/v1/traces` },
      logs: { ...target, url: `${url}/v1/logs` },
      metrics: { ...target, url: `${url}/v1/metrics` },
    },
    temporality: 'cumulative',
    metricIntervalMs: 15_000,
    ...more,
  };
}
