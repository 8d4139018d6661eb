/** When a delivery repairs the index of sessions. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IndexRepair } from '../../src/deliver/index-repair.ts';
import { documents } from '../../src/documents/documents.ts';
import { shardOf } from '../../src/journal/session-index.ts';
import { changeOf } from '../../src/store/document.ts';
import { openStore, type Store } from '../../src/store/store.ts';

const key = 'ab'.repeat(16);
const shard = documents.index.of(shardOf(key));
const line = (n: number): string =>
  `${JSON.stringify({
    spec_version: '0.1.0',
    event_id: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`,
    event_type: 'Prompt.Submitted',
    timestamp: '2026-03-01T10:00:00.000Z',
    source: { tool: 'acme' },
    session_id: 's-1',
    data: {},
  })}\n`;

describe('the repair of the index', () => {
  let folder = '';
  let store: Store;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'index-repair-'));
    store = openStore({ folder, access: 'own' });
    store.commit({ journal: [{ key, lines: line(1) }], documents: [changeOf(documents.calendar, [[1, 0]])] });
  });
  afterEach(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const passed = (): number | undefined => {
    const repair = new IndexRepair(store);
    for (let n = 0; n < 3; n += 1) repair.pass();
    return store.read(shard)?.[key]?.bytes;
  };

  it('makes the entries of journals that have no index', () => expect(passed()).toBe(line(1).length));

  it('does not compare the index with the journals again on the same day', () => {
    passed();
    store.commit({ journal: [{ key, lines: line(2) }] });
    expect(passed()).toBe(line(1).length);
  });

  it('compares the index with the journals when a day begins', () => {
    passed();
    const repair = new IndexRepair(store);
    store.commit({
      journal: [{ key, lines: line(2) }],
      documents: [changeOf(documents.calendar, [[1, 0] as const, [9, 1] as const])],
    });
    repair.pass();
    expect(store.read(shard)?.[key]?.bytes).toBe(line(1).length * 2);
  });

  it('makes an index of another version again', () => {
    passed();
    store.close();
    writeFileSync(join(folder, 'documents', `${shard.name}.json`), '{"v":2,"n":1,"value":{}}');
    store = openStore({ folder, access: 'own' });
    expect(store.read(shard)).toBeUndefined();
    expect(passed()).toBe(line(1).length);
  });
});
