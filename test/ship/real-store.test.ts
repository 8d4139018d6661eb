import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { roundOfOutcome } from '../../src/deliver/settlement.ts';
import { documents } from '../../src/documents/documents.ts';
import { appendToFile } from '../../src/ship/local.ts';
import { createShipper, type Shipper } from '../../src/ship/ship.ts';
import { noStanding } from '../../src/ship/standing.ts';
import { createHttpTransport } from '../../src/ship/transport.ts';
import { accountsOf } from '../../src/store/ledger.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { startCollector } from '../collector.ts';
import { destinationAt } from './memory-store.ts';
import { namedSpans, traces } from './samples.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-ship-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('ships from the real store to a real receiver, poison included, and the books balance', async () => {
  const collector = await startCollector({
    answer: ({ body }) => ({ status: body.includes('n77') ? 400 : 200 }),
  });
  const destination = destinationAt(collector.url);
  const http = createHttpTransport();
  const open = (): { store: Store; shipper: Shipper } => {
    const store = openStore({ folder, access: 'own' });
    const shipper = createShipper({
      store: {
        next: id => store.next(id),
        body: (id, name) => store.body(id, name),
        standing: () => store.read(documents.ship) ?? noStanding,
      },
      destinations: () => [destination],
      transports: { otlp: http.send, file: appendToFile() },
      commit: outcome => store.commit(roundOfOutcome(outcome)),
      clock: () => Date.now(),
      random: Math.random,
    });
    return { store, shipper };
  };
  let { store, shipper } = open();
  for (let i = 0; i < 30; i += 1) {
    store.commit({
      bodies: [{ destination: destination.id, signal: 'traces', items: 10, bytes: traces(namedSpans(10, i * 10)) }],
      tally: ledger => {
        accountsOf(ledger, destination.id, destination).traces.produced += 10;
      },
    });
  }
  let asked = 0;
  const half = await shipper.pass({
    leave: () => {
      asked += 1;
      return asked > 6;
    },
  });
  expect(half.waiting).toBeGreaterThan(0);
  store.close();
  ({ store, shipper } = open());
  expect(await shipper.pass()).toMatchObject({ waiting: 0 });
  const names = collector.spans().map(span => String(span.name));
  const all = Array.from({ length: 300 }, (_, i) => `n${i}`);
  expect([...names].sort()).toEqual(all.filter(name => name !== 'n77').sort());
  expect(store.ledger().destinations[destination.id]?.traces).toEqual({
    produced: 300,
    accepted: 299,
    rejected: { '400': 1 },
    dropped: {},
  });
  store.close();
  http.close();
  await collector.close();
});
