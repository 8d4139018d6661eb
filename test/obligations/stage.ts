/** The environment of the tests in this folder: a house with a collector, or a state folder with prepared fragments. */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Delivered, type DeliverOptions, deliver } from '../../src/deliver/deliver.ts';
import { readStatusBooks, type StatusBooks } from '../../src/deliver/status-books.ts';
import { documents } from '../../src/documents/documents.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { openStore } from '../../src/store/store.ts';
import { type Collector, type CollectorOptions, startCollector } from '../collector.ts';
import { AGENT, enable, furnish, type House, type Ran, status, vacate } from '../wire/house.ts';
import { type Expected, type HookCall, type Random, textOf } from './load.ts';
import { type Received, receivedIn, takenBy } from './received.ts';
import { bySize } from './size.ts';

export interface Stage {
  house: House;
  collector: Collector;
  leave(): Promise<void>;
}

export async function stage(options: CollectorOptions = {}): Promise<Stage> {
  const collector = await startCollector(options);
  const house = furnish('built', 'otel-hooks-obligations-');
  expect(enable(house, collector.url).status).toBe(0);
  return {
    house,
    collector,
    async leave() {
      await vacate(house);
      await collector.close();
    },
  };
}

/** As a person types it. This process keeps running, because the collector is in it. */
export function byHand(house: House, wait: string, env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((settled, failed) => {
    const child = spawn(process.execPath, [house.bin, 'deliver', '--wait', wait], {
      cwd: house.project,
      env: { ...house.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', part => {
      stdout += part;
    });
    child.stderr.on('data', part => {
      stderr += part;
    });
    child.on('error', failed);
    child.on('close', status => settled({ status, stdout, stderr }));
  });
}

/** A temporary folder, which is removed with its content. */
export function room(parent = tmpdir()): { folder: string; leave: () => void } {
  const folder = mkdtempSync(join(parent, 'otel-hooks-obligations-'));
  return { folder, leave: () => rmSync(folder, { recursive: true, force: true }) };
}

export const copyOf = (from: string, to: string): string => {
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
  return to;
};

const someInstallation = { id: 'a'.repeat(32), key: 'b'.repeat(64) };

/** A state folder of an installation with constant ids, so that two deliveries give the same bytes. */
export function founded(folder: string, installation: unknown = someInstallation): string {
  const store = openStore({ folder, access: 'own' });
  store.commit({ documents: [{ name: 'installation', value: installation }] });
  store.close();
  return folder;
}

export function installationIn(folder: string): unknown {
  const store = openStore({ folder, access: 'read' });
  try {
    return store.read(documents.installation);
  } finally {
    store.close();
  }
}

export interface Filling {
  env: Record<string, string>;
  random: Random;
  /** The time of the first fragment; the default is an hour ago. */
  startMs?: number;
  /** The number of fragments that were written to the same folder before. */
  after?: number;
}

/** Writes fragments as the Node front end does, in the given order. Returns their names. */
export function fill(
  folder: string,
  order: readonly HookCall[],
  { env, random, startMs, after = 0 }: Filling,
): string[] {
  const fromMs = startMs ?? Date.now() - 3_600_000;
  let upMs = 1_000_000 + after * 100;
  return order.map(({ event, payload }, place) => {
    const i = after + place;
    // Hooks come in bursts, many within one tick of the kernel's clock.
    if (random() < 0.3) upMs += 10 * Math.floor(random() * 20);
    const unique = `${String(i).padStart(8, '0')}-0000`;
    const header = { tool: AGENT, event, at: String(fromMs + upMs), ppid: '1', ...env };
    const name = fragmentName('abcdef01', (upMs / 1_000).toFixed(2), 1_000 + i, unique);
    const path = join(folder, 'inbox', name);
    writeFileSync(path, encodeFragment(unique, header, Buffer.from(textOf(payload))), { mode: 0o600 });
    utimesSync(path, fromMs / 1_000, fromMs / 1_000);
    return name;
  });
}

/** Gives the file a time before the last boot, so that no process can be writing it. */
export function makeOld(folder: string, name: string): void {
  const path = join(folder, name.replace(/^[^-]+/, 'earlier0'));
  renameSync(join(folder, name), path);
  utimesSync(path, 1, 1);
}

export const exporting = (url: string, more: Record<string, string> = {}): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  ...more,
});

/** One delivery by hand, in this process. `program`: another build of it. */
export function deliverHere(
  stateFolder: string,
  options: Partial<DeliverOptions> = {},
  program: typeof deliver = deliver,
): Promise<Delivered> {
  return program({
    stateFolder,
    byHand: true,
    // It ends when everything is sent; its speed depends only on the machine.
    waitMs: bySize({ quick: 60_000, ci: 60_000, full: 1_800_000 }),
    surroundings: {
      env: {},
      home: stateFolder,
      platform: process.platform,
      ownVariables: false,
      configFile: undefined,
    },
    ...options,
  });
}

export function booksOf(folder: string): StatusBooks {
  const store = openStore({ folder, access: 'read' });
  try {
    return readStatusBooks(store);
  } finally {
    store.close();
  }
}

export const receivedBy = (collector: Collector): Received => receivedIn(takenBy(collector));

/** The spans and records of all hooks, and no others. */
export function checkWhole(received: Received, expected: Expected): void {
  expect(received.records.size).toBe(expected.records);
  expect(received.spans.size).toBe(expected.spans.size);
  const odd = [...received.spans.values()].filter(({ id, parent, trace }) => {
    const known = expected.spans.get(id);
    return known === undefined || known.trace !== trace || known.parent !== parent;
  });
  expect(odd).toEqual([]);
  expect(
    [...received.spans.values()].filter(({ parent }) => parent !== undefined && !received.spans.has(parent)),
  ).toEqual([]);
  expect(received.counted).toBe(expected.records);
  expect(received.fallen).toEqual([]);
  expect(received.changed).toEqual([]);
}

export function checkBooks(house: House, expected: Expected): void {
  const found = status(house);
  expect(found.balanced).toBe(true);
  expect(found.fragments).toEqual({
    received: expected.hooks,
    journaled: expected.hooks,
    waiting: 0,
    quarantined: 0,
    dropped: {},
  });
  const all = { waiting: 0, rejected: {}, dropped: {} };
  expect(found.destinations).toMatchObject([
    {
      spans: { produced: expected.spans.size, accepted: expected.spans.size, ...all },
      logs: { produced: expected.records, accepted: expected.records, ...all },
      metrics: { waiting: 0, rejected: {} },
    },
  ]);
}

/** Ids that only one side has, or whose bytes differ. */
export function differences(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter(id => one.get(id) !== other.get(id));
}

/** The items of a load that the collector lacks. */
export function lostOf(received: Received, expected: Expected): number {
  const spans = [...expected.spans.keys()].filter(id => !received.spans.has(id)).length;
  return spans + Math.max(0, expected.records - received.records.size);
}
