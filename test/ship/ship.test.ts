import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Destination, Signal } from '../../src/config/destinations.ts';
import type { Answer } from '../../src/ship/answer.ts';
import { countItems, joinBodies } from '../../src/ship/otlp-body.ts';
import { createShipper, type MetricSource, type Passed, type PassOptions } from '../../src/ship/ship.ts';
import { shipProblems } from '../../src/ship/standing.ts';
import { decodeRequest } from '../../src/telemetry/otlp-decode.ts';
import { balances, destinationAt, type MemoryStore, memoryStore } from './memory-store.ts';
import { logs, metrics, namedSpans, record, sums, traces } from './samples.ts';

type Server = (signal: Signal, body: Buffer, index: number) => Answer;
const ok: Answer = { status: 200, body: new Uint8Array() };
const status = (code: number, retryAfter?: string): Answer => ({ status: code, retryAfter, body: new Uint8Array() });

/** A shipper, its store, and a server that is a function. */
function shipping(serve: Server, more: { destination?: Destination; metrics?: MetricSource } = {}) {
  const store = memoryStore();
  const destination = more.destination ?? destinationAt('http://collector:4318');
  const sent: { signal: Signal; items: number; body: Buffer }[] = [];
  const world = { nowMs: 1_760_000_000_000, serve };
  const start = () =>
    createShipper({
      store,
      destinations: () => [destination],
      transports: {
        otlp: async (_, signal, bytes) => {
          const body = Buffer.from(bytes);
          sent.push({ signal, items: countItems(body) ?? -1, body });
          return world.serve(signal, body, sent.length - 1);
        },
      },
      commit: outcome => store.commit(outcome),
      metrics: more.metrics,
      clock: () => world.nowMs,
      random: () => 0.5,
    });
  let shipper = start();
  return {
    store,
    destination,
    sent,
    world,
    pass: async (options?: PassOptions): Promise<Passed> => {
      const passed = await shipper.pass(options);
      // Metrics are counted where they are made, which is not here.
      for (const signal of ['traces', 'logs', 'events'] as const) {
        expect(balances(store.account(destination, signal)), `books of ${signal}`).toBe(true);
      }
      return passed;
    },
    /** The process ends and another one starts. */
    restart: () => {
      shipper = start();
    },
  };
}

/** Bodies of `size` spans each, named n0, n1, ... */
function produce(store: MemoryStore, destination: Destination, bodies: number, size: number): void {
  for (let i = 0; i < bodies; i += 1) store.produce(destination, 'traces', size, traces(namedSpans(size, i * size)));
}

function namesIn(body: Uint8Array): string[] {
  return [...JSON.stringify(decodeRequest('traces', body)).matchAll(/"name":"(n\d+)"/g)].map(match => match[1] ?? '');
}
const refusing =
  (code: number, ...poison: string[]): Server =>
  (_, body) =>
    namesIn(body).some(name => poison.includes(name)) ? status(code) : ok;

describe('requests', () => {
  it('join neighbours up to 512 items', async () => {
    const { store, destination, sent, pass } = shipping(() => ok);
    produce(store, destination, 120, 10);
    expect(await pass()).toMatchObject({ sent: 1_200, waiting: 0, nextTryMs: undefined, problems: [] });
    expect(sent.map(({ items }) => items)).toEqual([510, 510, 180]);
    expect(sent.flatMap(({ body }) => namesIn(body)).sort()).toEqual(
      Array.from({ length: 1_200 }, (_, i) => `n${i}`).sort(),
    );
  });

  it('join no more than 4 MB', async () => {
    const { store, destination, sent, pass } = shipping(() => ok);
    const large = logs([record('x', { body: 'x'.repeat(1_500_000) })]);
    for (let i = 0; i < 5; i += 1) store.produce(destination, 'logs', 1, large);
    await pass();
    expect(sent.map(({ items }) => items)).toEqual([2, 2, 1]);
  });

  it('of two signals take turns', async () => {
    const { store, destination, sent, pass } = shipping(() => ok);
    produce(store, destination, 3, 512);
    for (let i = 0; i < 2; i += 1) store.produce(destination, 'logs', 1, logs([record('x')]));
    await pass();
    expect(sent.map(({ signal }) => signal)).toEqual(['traces', 'logs', 'traces', 'traces']);
  });

  it('hold the bodies of the outbox, in its order', async () => {
    const { store, destination, sent, pass } = shipping(() => ok);
    produce(store, destination, 2, 5);
    await pass();
    expect(sent[0]?.body.equals(joinBodies([traces(namedSpans(5)), traces(namedSpans(5, 5))]))).toBe(true);
  });

  it('are not made when the process is asked to stop', async () => {
    const { store, destination, sent, pass } = shipping(() => ok);
    produce(store, destination, 4, 512);
    let asked = 0;
    const leave = (): boolean => {
      asked += 1;
      return asked > 2;
    };
    expect(await pass({ leave })).toMatchObject({ sent: 1_024, waiting: 1_024 });
    expect(sent).toHaveLength(2);
  });
});

describe('a refused request', () => {
  it.each([400, 413, 500, 422])('of 512 with one poisonous span loses only that span (%i)', async code => {
    for (const poison of [0, 1, 255, 256, 511]) {
      const { store, destination, sent, pass } = shipping(refusing(code, `n${poison}`));
      produce(store, destination, 1, 512);
      const passed = await pass();
      expect(passed.waiting).toBe(0);
      expect(store.account(destination, 'traces')).toMatchObject({ accepted: 511, rejected: { [code]: 1 } });
      expect(store.quarantine.map(({ bytes, reason }) => [namesIn(bytes), reason])).toEqual([
        [[`n${poison}`], String(code)],
      ]);
      expect(sent.length).toBeLessThanOrEqual(2 * Math.log2(512) + 1);
      expect(passed.problems).toContainEqual({
        code: 'delivery-rejected',
        endpoint: destination.endpoint,
        signal: 'traces',
        reason: String(code),
        items: 1,
      });
    }
  });

  it('is never sent again unchanged', async () => {
    const { store, destination, sent, pass } = shipping(refusing(400, 'n3', 'n77'));
    produce(store, destination, 10, 10);
    await pass();
    const texts = sent.map(({ body }) => body.toString('base64'));
    // The rest of a refused request may be sent whole once, if the part that was cut off before it was accepted.
    const refused = sent
      .filter(({ body }) => refusing(400, 'n3', 'n77')('traces', body, 0) !== ok)
      .map(({ body }) => body.toString('base64'));
    for (const text of refused) expect(texts.filter(each => each === text)).toHaveLength(1);
    expect(store.account(destination, 'traces')).toMatchObject({ accepted: 98, rejected: { '400': 2 } });
  });

  it('delivers each span once, for all poisonous items and orders of bodies', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }),
        fc.uniqueArray(fc.nat(60), { maxLength: 4 }),
        async (sizes, poison) => {
          const { store, destination, world, sent, pass } = shipping(() => ok);
          const names = poison.map(i => `n${i}`);
          world.serve = refusing(400, ...names);
          let from = 0;
          for (const size of sizes) {
            store.produce(destination, 'traces', size, traces(namedSpans(size, from)));
            from += size;
          }
          await pass();
          const arrived = sent
            .filter(({ body }) => world.serve('traces', body, 0) === ok)
            .flatMap(({ body }) => namesIn(body));
          const all = Array.from({ length: from }, (_, i) => `n${i}`);
          expect(arrived.sort()).toEqual(all.filter(name => !names.includes(name)).sort());
          expect(store.quarantine.flatMap(({ bytes }) => namesIn(bytes)).sort()).toEqual(
            all.filter(name => names.includes(name)).sort(),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it('that is too large is sent in parts', async () => {
    const { store, destination, pass } = shipping((_, body) => ((countItems(body) ?? 0) > 100 ? status(413) : ok));
    produce(store, destination, 1, 512);
    await pass();
    expect(store.account(destination, 'traces')).toMatchObject({ accepted: 512, rejected: {} });
  });

  it('does not empty the outbox into quarantine when the server refuses everything', async () => {
    const { store, destination, sent, world, pass } = shipping(() => status(400));
    produce(store, destination, 40, 512);
    const passed = await pass();
    expect(store.account(destination, 'traces')).toMatchObject({
      accepted: 0,
      rejected: { '400': 16 },
      waiting: 40 * 512 - 16,
    });
    expect(sent.length).toBeLessThan(60);
    expect(passed.problems.map(({ code }) => code)).toContain('delivery-all-refused');
    const before = sent.length;
    await pass();
    expect(sent.length).toBe(before);
    // The server is corrected; the next try delivers the rest.
    world.serve = () => ok;
    expect(await pass({ byHand: true })).toMatchObject({ waiting: 0, problems: [] });
    expect(store.account(destination, 'traces').accepted).toBe(40 * 512 - 16);
  });

  it('of events is halved between lines', async () => {
    const path = '/somewhere/log.jsonl';
    const target = { headers: {}, timeoutMs: 1, gzip: false, protocol: 'http/json', tls: {}, path } as const;
    const destination = destinationAt('x', { signals: { events: target } });
    const { store, sent, pass } = shipping((_, body) => (body.includes('poison') ? status(400) : ok), { destination });
    store.produce(destination, 'events', 4, Buffer.from('{"a":1}\n{"poison":1}\n{"c":1}\n{"d":1}\n'));
    await pass();
    expect(store.account(destination, 'events')).toMatchObject({ accepted: 3, rejected: { '400': 1 } });
    expect(sent.at(-1)?.body.toString()).toBe('{"c":1}\n{"d":1}\n');
  });
});

describe('a destination that does not answer', () => {
  it.each<[string, Answer]>([
    ['refuses connections', { failure: 'ECONNREFUSED' }],
    ['times out', { failure: 'timeout' }],
    ['answers 429', status(429)],
    ['answers 502', status(502)],
    ['answers 503', status(503)],
    ['answers 504', status(504)],
  ])('is tried again later when it %s', async (_, answer) => {
    const { store, destination, sent, world, pass } = shipping(() => answer);
    produce(store, destination, 3, 10);
    const first = await pass();
    expect(first).toMatchObject({ sent: 0, waiting: 30, nextTryMs: 1_000 });
    expect(first.problems[0]).toMatchObject({ code: 'delivery-failing', signal: 'traces', failures: 1 });
    await pass();
    expect(sent).toHaveLength(1);
    world.nowMs += first.nextTryMs ?? 0;
    expect((await pass()).nextTryMs).toBe(2_000);
    expect(sent).toHaveLength(2);
    world.serve = () => ok;
    world.nowMs += 2_000;
    expect(await pass()).toMatchObject({ sent: 30, waiting: 0, nextTryMs: undefined, problems: [] });
    expect(store.account(destination, 'traces')).toMatchObject({ accepted: 30, rejected: {}, dropped: {} });
  });

  it('is tried at growing intervals of at most five minutes', async () => {
    const { store, destination, sent, world, pass } = shipping(() => ({ failure: 'ECONNREFUSED' }));
    produce(store, destination, 1, 1);
    const waits: number[] = [];
    for (let i = 0; i < 12; i += 1) {
      const { nextTryMs = 0 } = await pass();
      waits.push(nextTryMs);
      world.nowMs += nextTryMs;
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 150, 150, 150, 150].map(s => s * 1_000));
    expect(sent).toHaveLength(12);
  });

  it.each([
    ['seconds', '7', 7_000],
    ['a date', new Date(1_760_000_000_000 + 30_000).toUTCString(), 30_000],
    ['an absurd number', '99999999999', 3_600_000],
    ['an absurd date', 'Fri, 31 Dec 9999 23:59:59 GMT', 3_600_000],
    ['zero', '0', 1_000],
    ['a date in the past', 'Thu, 01 Jan 1970 00:00:00 GMT', 1_000],
    ['rubbish', 'soon', 1_000],
  ])('gets no request for the time that it asks for, within bounds: %s', async (_, retryAfter, expected) => {
    const { store, destination, world, sent, pass } = shipping(() => status(503, retryAfter));
    produce(store, destination, 1, 1);
    expect((await pass()).nextTryMs).toBe(expected);
    world.nowMs += expected - 1;
    await pass();
    expect(sent).toHaveLength(1);
    world.nowMs += 1;
    await pass();
    expect(sent).toHaveLength(2);
  });

  it('is not tried sooner by the next process', async () => {
    const { store, destination, sent, restart, pass } = shipping(() => status(503, '60'));
    produce(store, destination, 1, 1);
    await pass();
    restart();
    expect((await pass()).nextTryMs).toBe(60_000);
    expect(sent).toHaveLength(1);
    await pass({ byHand: true });
    expect(sent).toHaveLength(2);
  });

  it('is tried again even if the clock was set back', async () => {
    const { store, destination, sent, world, pass } = shipping(() => status(503, '60'));
    produce(store, destination, 1, 1);
    await pass();
    world.nowMs -= 365 * 24 * 3_600_000;
    await pass();
    expect(sent).toHaveLength(2);
  });

  it('for one signal does not hold up the others', async () => {
    const { store, destination, pass } = shipping(signal => (signal === 'logs' ? { failure: 'ECONNRESET' } : ok));
    produce(store, destination, 3, 512);
    store.produce(destination, 'logs', 1, logs([record('x')]));
    expect(await pass()).toMatchObject({ sent: 1_536, waiting: 1 });
  });
});

describe('a destination that refuses the credentials', () => {
  it.each([401, 403])('gets one request, and all data is kept (%i)', async code => {
    const { store, destination, sent, restart, world, pass } = shipping(() => status(code));
    produce(store, destination, 3, 512);
    store.produce(destination, 'logs', 1, logs([record('x')]));
    const passed = await pass();
    expect(passed).toMatchObject({ sent: 0, waiting: 1_537 });
    const { endpoint } = destination;
    expect(passed.problems).toEqual([{ code: 'delivery-refused', endpoint, status: code, keys: ['otlp.headers'] }]);
    await pass();
    restart();
    await pass();
    expect(sent).toHaveLength(1);
    await pass({ byHand: true });
    expect(sent).toHaveLength(2);
    world.serve = () => ok;
    expect(await pass({ byHand: true })).toMatchObject({ sent: 1_537, waiting: 0, problems: [] });
  });

  it.each([301, 307, 404, 405])('for one signal keeps that signal and takes the others (%i)', async code => {
    const { store, destination, sent, pass } = shipping(signal => (signal === 'logs' ? status(code) : ok));
    produce(store, destination, 2, 10);
    store.produce(destination, 'logs', 1, logs([record('x')]));
    const passed = await pass();
    expect(passed).toMatchObject({ sent: 20, waiting: 1 });
    expect(passed.problems).toEqual([
      { code: 'delivery-endpoint', endpoint: destination.endpoint, signal: 'logs', status: code },
    ]);
    expect(shipProblems(store.standing(), [destination])).toEqual(passed.problems);
    await pass();
    expect(sent.filter(({ signal }) => signal === 'logs')).toHaveLength(1);
  });
});

it('counts the items that a partial success rejects, and never sends them again', async () => {
  const body = Buffer.from(JSON.stringify({ partialSuccess: { rejectedSpans: '100', errorMessage: 'too old' } }));
  const { store, destination, sent, pass } = shipping(() => ({ status: 200, isJson: true, body }));
  produce(store, destination, 1, 512);
  const passed = await pass();
  expect(store.account(destination, 'traces')).toMatchObject({ accepted: 412, rejected: { partial: 100 } });
  expect(passed.problems).toEqual([
    { code: 'delivery-partial', endpoint: destination.endpoint, signal: 'traces', items: 100, message: 'too old' },
  ]);
  await pass({ byHand: true });
  expect(sent).toHaveLength(1);
});

it('ignores a count of rejected items that is larger than the number of sent items', async () => {
  const body = Buffer.from(JSON.stringify({ partialSuccess: { rejectedSpans: 1e9 } }));
  const { store, destination, pass } = shipping(() => ({ status: 200, isJson: true, body }));
  produce(store, destination, 1, 5);
  await pass();
  expect(store.account(destination, 'traces')).toMatchObject({ accepted: 0, rejected: { partial: 5 } });
});

it('drops a body that the disk has damaged, counts it, and sends its neighbours', async () => {
  const { store, destination, pass } = shipping(() => ok);
  produce(store, destination, 3, 5);
  store.damage('b2');
  await pass();
  expect(store.account(destination, 'traces')).toMatchObject({ accepted: 10, dropped: { damaged: 5 } });
});

it('keeps bodies whose destination may not be tried now', async () => {
  const destination = destinationAt('stdout', { provider: 'console' });
  const { store, sent, pass } = shipping(() => ok, { destination });
  produce(store, destination, 1, 5);
  expect(await pass()).toMatchObject({ sent: 0, waiting: 5, nextTryMs: undefined });
  expect(sent).toHaveLength(0);
});

it('stops when another owner has taken the folder', async () => {
  const { store, destination, sent, pass } = shipping(() => ok);
  produce(store, destination, 4, 512);
  store.isLost = true;
  expect(await pass()).toMatchObject({ sent: 0 });
  expect(sent).toHaveLength(1);
});

it('repeats one request at most for each kill, and loses nothing', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 }),
      fc.array(fc.nat(12), { maxLength: 6 }),
      fc.uniqueArray(fc.nat(100), { maxLength: 3 }),
      async (sizes, kills, poison) => {
        const { store, destination, sent, world, pass, restart } = shipping(() => ok);
        const names = poison.map(i => `n${i}`);
        world.serve = refusing(400, ...names);
        let from = 0;
        for (const size of sizes) {
          store.produce(destination, 'traces', size, traces(namedSpans(size, from)));
          from += size;
        }
        const commit = store.commit;
        for (const after of kills) {
          let left = after;
          store.commit = outcome => {
            left -= 1;
            if (left < 0) throw new Error('killed between the answer and the commit');
            return commit(outcome);
          };
          await pass().catch(() => undefined);
          restart();
        }
        store.commit = commit;
        await pass();
        const arrived = sent.filter(({ body }) => world.serve('traces', body, 0) === ok);
        const counts = new Map<string, number>();
        for (const { body } of arrived) for (const name of namesIn(body)) counts.set(name, (counts.get(name) ?? 0) + 1);
        const bad = Array.from({ length: from }, (_, i) => `n${i}`).filter(name => names.includes(name));
        expect(counts.size).toBe(from - bad.length);
        expect(store.account(destination, 'traces')).toMatchObject({ accepted: from - bad.length, waiting: 0 });
        const seen = new Set<string>();
        const repeated = arrived.filter(({ body }) => {
          const already = namesIn(body).some(name => seen.has(name));
          for (const name of namesIn(body)) seen.add(name);
          return already;
        });
        expect(repeated.length).toBeLessThanOrEqual(kills.length);
      },
    ),
    { numRuns: 40 },
  );
});

describe('metrics', () => {
  function meter() {
    const state = { version: 0, accepted: 0 };
    const isWaiting = (): boolean => state.accepted < state.version;
    const source: MetricSource = {
      isWaiting,
      encoded: () =>
        !isWaiting()
          ? undefined
          : {
              bodies: [
                metrics(
                  sums([
                    ['zero', 0],
                    ['zero2', 0],
                  ]),
                ),
                metrics(
                  sums([
                    ['a', state.version],
                    ['b', state.version],
                  ]),
                ),
              ],
              superseded: state.version - state.accepted - 1,
              settled: (() => {
                const encoded = state.version;
                return () => {
                  state.accepted = encoded;
                  return [{ name: 'metrics-x', value: encoded }];
                };
              })(),
            },
    };
    return { state, source };
  }

  it('are sent as the newest state, not more often than the interval, unless it is the last chance', async () => {
    const { state, source } = meter();
    const { store, sent, world, pass } = shipping(() => ok, { metrics: source });
    state.version = 3;
    const count = async (options?: PassOptions): Promise<number> => {
      await pass(options);
      return sent.length;
    };
    expect(await count()).toBe(2);
    expect(store.document('metrics-x')).toBe(3);
    state.version = 4;
    expect(await count()).toBe(2);
    world.nowMs += 14_999;
    expect(await count()).toBe(2);
    world.nowMs += 1;
    expect(await count()).toBe(4);
    state.version = 5;
    expect(await count({ final: true })).toBe(6);
    expect(store.document('metrics-x')).toBe(5);
  });

  const books = async (serve: Server) => {
    const { state, source } = meter();
    const store = memoryStore();
    const destination = destinationAt('http://collector:4318');
    const sent: number[] = [];
    const shipper = createShipper({
      store,
      destinations: () => [destination],
      transports: {
        otlp: async (_, signal, bytes) => {
          sent.push(countItems(bytes) ?? -1);
          return serve(signal, Buffer.from(bytes), sent.length - 1);
        },
      },
      commit: outcome => store.commit(outcome),
      metrics: source,
      clock: () => 1_760_000_000_000,
      random: () => 0,
    });
    state.version = 5;
    const passed = await shipper.pass();
    return { account: store.account(destination, 'metrics'), sent, state, passed };
  };

  it('count in versions of the state; older ones are superseded', async () => {
    const { account } = await books(() => ok);
    expect(account).toMatchObject({ accepted: 1, rejected: {}, dropped: { superseded: 4 } });
  });

  it('stay when the second body reaches no server', async () => {
    const { account, state, passed } = await books((_, __, index) => (index === 0 ? ok : { failure: 'ECONNRESET' }));
    expect(account).toMatchObject({ accepted: 0, dropped: {} });
    expect(state.accepted).toBe(0);
    expect(passed.nextTryMs).toBe(1_000);
  });

  it('that are refused are not divided: the next state contains all values', async () => {
    const { account, sent, state } = await books(() => status(400));
    expect(account).toMatchObject({ accepted: 0, rejected: { '400': 1 } });
    expect(sent).toEqual([2, 2]);
    expect(state.accepted).toBe(5);
  });

  it('that are too large go in parts', async () => {
    const { account, sent } = await books((_, body) => ((countItems(body) ?? 0) > 1 ? status(413) : ok));
    expect(sent).toEqual([2, 1, 1, 2, 1, 1]);
    expect(account).toMatchObject({ accepted: 1, rejected: {} });
  });

  it('count as rejected after a partial success', async () => {
    const body = Buffer.from(JSON.stringify({ partialSuccess: { rejectedDataPoints: 1 } }));
    const { account } = await books(() => ({ status: 200, isJson: true, body }));
    expect(account).toMatchObject({ accepted: 0, rejected: { partial: 1 } });
  });
});
