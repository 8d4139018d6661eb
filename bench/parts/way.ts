/** The path from bodies to the answers of a receiver, as deliver uses it, and such a receiver. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Destination } from '../../src/config/destinations.ts';
import { roundOfOutcome } from '../../src/deliver/settlement.ts';
import { documents } from '../../src/documents/documents.ts';
import { createShipper } from '../../src/ship/ship.ts';
import { noStanding } from '../../src/ship/standing.ts';
import { createHttpTransport } from '../../src/ship/transport.ts';
import type { Store } from '../../src/store/store.ts';

/** A receiver that accepts everything and answers so. It runs in a process of its own. */
export function receive(): void {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  server.listen(0, '127.0.0.1', () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
}

export interface Shipping {
  ship(): void;
  /** Runs until no body waits. */
  flush(): Promise<void>;
  close(): void;
}

export function shipping(store: Store, destinations: () => readonly Destination[]): Shipping {
  const http = createHttpTransport();
  const shipper = createShipper({
    store: {
      next: id => store.next(id),
      body: (id, name) => store.body(id, name),
      standing: () => store.read(documents.ship) ?? noStanding,
    },
    destinations,
    transports: { otlp: http.send },
    commit: outcome => store.commit(roundOfOutcome(outcome)),
    clock: Date.now,
    random: Math.random,
  });
  return {
    ship() {
      void shipper.pass();
    },
    async flush() {
      for (let waiting = 1; waiting > 0; ) waiting = (await shipper.pass()).waiting;
    },
    close: () => http.close(),
  };
}
