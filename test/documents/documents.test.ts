import * as nodeFs from 'node:fs';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChangedDocuments } from '../../src/documents/changed-documents.ts';
import { documents } from '../../src/documents/documents.ts';
import { changeOf } from '../../src/store/document.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { noMetrics } from '../../src/telemetry/metric-state.ts';
import { destinationAt } from '../ship/memory-store.ts';

let folder = '';
let opened: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-documents-'));
  opened = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function open(): Store {
  const openSync: typeof nodeFs.openSync = (path, ...rest) => {
    opened.push(String(path));
    return nodeFs.openSync(path, ...rest);
  };
  return openStore({ folder, access: 'own', fs: { ...nodeFs, openSync } });
}

const metrics = documents.metrics.of('d1');

describe('a document', () => {
  it('is read once, until a commit replaces it', () => {
    open().commit({ documents: [changeOf(metrics, noMetrics())] });
    const store = open();
    opened = [];
    const first = store.read(metrics);
    expect(store.read(metrics)).toBe(first);
    expect(opened.filter(path => path.endsWith('metrics-d1.json'))).toHaveLength(1);
    store.commit({ documents: [changeOf(metrics, { ...noMetrics(), version: 7 })] });
    opened = [];
    expect(store.read(metrics)?.version).toBe(7);
    expect(opened).toEqual([]);
  });

  it('is read again after the view was dropped', () => {
    const store = open();
    store.commit({ documents: [changeOf(metrics, noMetrics())] });
    store.restart();
    opened = [];
    expect(store.read(metrics)).toEqual(noMetrics());
    expect(opened.filter(path => path.endsWith('metrics-d1.json'))).toHaveLength(1);
  });

  it('cannot be changed by a caller', () => {
    const store = open();
    store.commit({
      documents: [changeOf(metrics, { ...noMetrics(), resources: { r: { attributes: {}, series: {} } } })],
    });
    const state = store.read(metrics);
    expect(() => {
      if (state !== undefined) state.version = 1;
    }).toThrow(TypeError);
    expect(() => {
      delete state?.resources.r;
    }).toThrow(TypeError);
  });

  it('is the committed value, even if the caller changes its object afterwards', () => {
    const store = open();
    const value = { ...noMetrics(), version: 3 };
    store.commit({ documents: [changeOf(metrics, value)] });
    value.version = 99;
    expect(store.read(metrics)?.version).toBe(3);
    expect(open().read(metrics)?.version).toBe(3);
  });

  it('of another version, or of another shape, counts as damaged', () => {
    const store = open();
    store.commit({ documents: [changeOf(metrics, noMetrics())] });
    store.commit({
      documents: [
        { name: 'metrics-d2', value: 'text' },
        { name: 'metrics-d3', version: 2, value: noMetrics() },
      ],
    });
    expect(store.read(documents.metrics.of('d2'))).toBeUndefined();
    expect(store.read(documents.metrics.of('d3'))).toBeUndefined();
    store.commit({});
    expect(store.ledger().counters).toEqual({ 'damaged.documents': 2 });
  });

  it('of a family is found by its id', () => {
    const store = open();
    const destination = destinationAt('http://collector:4318');
    store.commit({ documents: [changeOf(documents.destinations.of(destination.id), destination)] });
    expect(store.idsOf(documents.destinations)).toEqual([destination.id]);
    expect(store.idsOf(documents.metrics)).toEqual([]);
    expect(store.read(documents.destinations.of(destination.id))).toEqual(destination);
  });

  it('that is torn is missing, and counted', () => {
    open().commit({ documents: [changeOf(metrics, noMetrics())] });
    writeFileSync(join(folder, 'documents', 'metrics-d1.json'), '{"v":1,"n":1,"va');
    const store = open();
    expect(store.read(metrics)).toBeUndefined();
    store.commit({});
    expect(store.ledger().counters).toEqual({ 'damaged.documents': 1 });
  });
});

describe('the changes of a round', () => {
  it('are copies: a round that is not committed has changed nothing', () => {
    const store = open();
    store.commit({ documents: [changeOf(metrics, noMetrics())] });
    const round = new ChangedDocuments(store);
    const state = round.own(metrics);
    if (state !== undefined) state.version = 5;
    round.write(metrics, state);
    expect([round.read(metrics)?.version, store.read(metrics)?.version]).toEqual([5, 0]);
    expect(new ChangedDocuments(store).own(metrics)?.version).toBe(0);
  });

  it('are each written once, the last value counts, and an undefined value removes the document', () => {
    const store = open();
    store.commit({ documents: [changeOf(metrics, noMetrics())] });
    const round = new ChangedDocuments(store);
    round.write(metrics, { ...noMetrics(), version: 1 });
    round.write(metrics, undefined);
    expect(round.read(metrics)).toBeUndefined();
    store.commit({ documents: round.changes() });
    expect(store.idsOf(documents.metrics)).toEqual([]);
  });
});

describe('a parse function accepts documents of earlier versions', () => {
  it.each([
    [documents.installation, { id: 'a', key: 'b' }],
    [documents.ship, { v: 1, lanes: {}, pauses: {}, metrics: {}, taken: { d1: 5 } }],
    [documents.problems, { x: { problem: { code: 'config-json' }, count: 1, firstMs: 1, lastMs: 2 } }],
    [documents.processes, [['boot 1', 'agent', 'session']]],
    [documents.origins.of('agent'), { row: ['key', 'session'] }],
    [documents.calendar, [[1, 1_760_000_000_000]]],
    [documents.leftAlone, 3],
  ])('%o', (document, value) => {
    expect(document.parse(value)).toEqual(value);
    expect(document.parse(null) ?? undefined).not.toEqual(value);
  });
});
