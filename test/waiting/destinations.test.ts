/** `otel-hooks destinations`: waiting data is listed, moved, dropped and sent again, and every step is counted. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accountAt, type House, newHouse } from './house.ts';

let house: House;
beforeEach(() => {
  house = newHouse();
});
afterEach(() => house.close());

const GONE = 'http://127.0.0.1:9';
const otlp = (endpoint: string, more: object = {}) => ({ provider: 'otlp', otlp: { endpoint }, ...more });

interface Listed {
  name: string;
  id: string;
  endpoint: string;
  configured: boolean;
  waiting: { spans: number; logs: number; metrics: number; events: number };
  refused: number;
}

async function listed(): Promise<Listed[]> {
  const { out, code } = await house.run('destinations', '--json');
  expect(code).toBe(0);
  return JSON.parse(out).destinations;
}

/** One session that ended waits for an address where no server listens. */
async function waitingSession(): Promise<void> {
  house.configure(otlp(GONE));
  house.hooked('w-1', 'SessionStart', 'SessionEnd');
  expect((await house.deliver()).code).toBe(1);
}

describe('the list of destinations', () => {
  it('is empty before anything is configured, and names the next step', async () => {
    const { code, out } = await house.run('destinations');
    expect([code, out]).toEqual([0, expect.stringContaining('next: otel-hooks config')]);
  });

  it('names each destination by provider and address, with its waiting data and the reason', async () => {
    await waitingSession();
    const { out } = await house.run('destinations');
    expect(out).toMatch(/^otlp-127\.0\.0\.1:9 {2}http:\/\/127\.0\.0\.1:9 {2}configured {2}\d+ spans?, \d+ records?/m);
    // Once, for all signals.
    expect(out.match(/ECONNREFUSED/g)).toHaveLength(1);
    expect(out).toContain('has not accepted traces, logs and metrics in ');
    expect(out).toContain('next: otel-hooks deliver, or otel-hooks destinations redirect otlp-127.0.0.1:9 OTHER');
    const [only] = await listed();
    expect(only).toMatchObject({ name: 'otlp-127.0.0.1:9', configured: true, refused: 0 });
    expect(only?.waiting.spans).toBeGreaterThan(0);
    expect(only?.waiting.metrics).toBeGreaterThan(0);
  });

  it('distinguishes a former key from the present one by the beginning of its id', async () => {
    const { url } = await house.collector(() => ({ status: 401 }));
    for (const key of ['a', 'b']) {
      house.configure({ provider: 'otlp', otlp: { endpoint: url, headers: `authorization=${key}` } });
      house.hooked(`k-${key}`, 'SessionStart', 'SessionEnd');
      await house.deliver();
    }
    const rows = await listed();
    const host = `otlp-${new URL(url).host}`;
    const former = rows.find(({ configured }) => !configured);
    expect(rows.map(({ name }) => name).sort()).toEqual([host, `${host}-${former?.id.slice(0, 6)}`]);
    expect(rows.find(({ configured }) => configured)?.name).toBe(host);
  });
});

describe('destinations redirect', () => {
  it('moves the waiting data, counts it at both ends, and removes a destination that is not configured any more', async () => {
    const old = await house.collector();
    // It worked once, so a corrected address does not take over its data.
    house.configure(otlp(old.url));
    house.hooked('w-0', 'SessionStart', 'SessionEnd');
    expect((await house.deliver()).code).toBe(0);
    await old.stop();
    house.hooked('w-1', 'SessionStart', 'SessionEnd');
    house.hooked('w-2', 'SessionStart');
    await house.deliver();
    const next = await house.collector();
    house.configure(otlp(next.url));
    expect((await house.deliver()).code).toBe(1);
    const [from, to] = [`otlp-${new URL(old.url).host}`, `otlp-${new URL(next.url).host}`];
    const before = accountAt(house.books(), old.url).spans;
    expect(before.waiting).toBeGreaterThan(0);

    const { code, out } = await house.run('destinations', 'redirect', from, to, '--yes');
    expect([code, out]).toEqual([0, expect.stringMatching(/3 sessions will go on with .*\n.* redirected\.\n/s)]);
    const moved = accountAt(house.books(), old.url).spans;
    expect(moved).toMatchObject({ waiting: 0, dropped: { redirected: before.waiting }, accepted: before.accepted });
    expect(accountAt(house.books(), next.url).spans).toMatchObject({
      produced: before.waiting,
      waiting: before.waiting,
    });

    house.hooked('w-2', 'SessionEnd');
    expect((await house.deliver()).code).toBe(0);
    const sessions = next.spans().map(({ plain }) => plain['session.id']);
    expect(new Set(sessions)).toEqual(new Set(['w-1', 'w-2']));
    expect(next.metrics().length).toBeGreaterThan(0);
    expect((await listed()).map(({ name }) => name)).toEqual([to]);
    const { waiting } = accountAt(house.books(), old.url).metrics;
    expect(waiting).toBe(0);
  });

  it('keeps a signal that the other destination does not accept', async () => {
    await waitingSession();
    const traces = await house.collector();
    house.configure({
      ...otlp(GONE),
      otlp: { endpoint: GONE },
      provider: ['otlp', 'langfuse'],
      langfuse: { public_key: 'p', secret_key: 's', host: traces.url },
    });
    const { code, out } = await house.run('destinations', 'redirect', 'otlp', 'langfuse', '--yes');
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/takes no records and no states of the metrics: these stay/),
    ]);
    const left = (await listed()).find(({ endpoint }) => `${endpoint}/`.startsWith(`${GONE}/`));
    expect(left?.waiting).toMatchObject({ spans: 0 });
    expect(left?.waiting.logs).toBeGreaterThan(0);
  });

  it('shows the change and asks; without a terminal it needs --yes', async () => {
    await waitingSession();
    const next = await house.collector();
    house.configure(otlp(next.url));
    const words = ['destinations', 'redirect', GONE, next.url];
    expect(await house.run(...words)).toMatchObject({ code: 2, err: expect.stringContaining('Use --yes') });
    const refused = await house.runWith({ isTerminal: true, ask: async () => 'n' }, ...words);
    expect(refused).toMatchObject({ code: 0, out: expect.stringMatching(/will be sent to .*Nothing was changed/s) });
    expect(accountAt(house.books(), GONE).spans.waiting).toBeGreaterThan(0);
  });

  it.each([
    [['redirect', 'otlp'], 2, 'redirect takes two destinations'],
    [['redirect', 'otlp', 'otlp', '--yes'], 2, 'cannot be redirected to itself'],
    [['drop', 'zipkin', '--yes'], 1, 'there is no destination zipkin. Destinations: otlp-127.0.0.1:9'],
    [['sell'], 2, 'takes list, redirect, drop or resend, not sell'],
    [['drop', 'otlp', '--session', 'x'], 2, '--session is for resend'],
  ])('%j is refused with the reason', async (words, code, why) => {
    await waitingSession();
    expect(await house.run('destinations', ...words)).toMatchObject({ code, err: expect.stringContaining(why) });
  });
});

describe('destinations drop', () => {
  it('drops the waiting data and counts it as dropped by the user, so that nothing waits any more', async () => {
    await waitingSession();
    const before = accountAt(house.books(), GONE);
    house.configure({});
    const { code, out } = await house.run('destinations', 'drop', 'otlp', '--yes', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out).dropped.spans).toBe(before.spans.waiting);
    const after = accountAt(house.books(), GONE);
    for (const kind of ['spans', 'logs', 'metrics'] as const)
      expect(after[kind]).toMatchObject({ waiting: 0, dropped: { by_user: before[kind].waiting } });
    expect((await house.deliver()).code).toBe(0);
    expect(await listed()).toEqual([]);
  });

  it('keeps a destination that is still configured, and sends later data to it', async () => {
    const back = await house.collector(() => ({ status: 503 }));
    house.configure(otlp(back.url));
    house.hooked('w-1', 'SessionStart', 'SessionEnd');
    await house.deliver();
    const { out } = await house.run('destinations', 'drop', 'otlp', '--yes');
    expect(out).toContain('is still configured: what sessions send later goes there again');
    expect((await listed())[0]?.waiting).toMatchObject({ spans: 0, logs: 0, metrics: 0 });
    expect((await house.run('status')).err).toBe('');
  });
});

describe('destinations resend', () => {
  it('sends refused data again, byte for byte, when the destination accepts it', async () => {
    let isPicky = true;
    const picky = await house.collector(({ signal }) => ({ status: isPicky && signal === 'traces' ? 400 : 200 }));
    house.configure(otlp(picky.url));
    house.hooked('w-1', 'SessionStart', 'SessionEnd');
    const delivered = await house.deliver();
    const quarantine = (): string[] => readdirSync(join(house.state, 'quarantine'));
    const refused = quarantine().length;
    expect(refused).toBeGreaterThan(0);
    expect(delivered.err).toContain(`otel-hooks destinations resend`);
    const bodies = picky.requests.filter(({ signal }) => signal === 'traces').map(({ body }) => body.toString('hex'));

    isPicky = false;
    expect((await listed())[0]?.refused).toBe(refused);
    expect((await house.run('destinations', 'resend', 'otlp', '--yes')).code).toBe(0);
    expect(quarantine()).toEqual([]);
    expect((await house.deliver()).code).toBe(0);
    expect(picky.spans()).toHaveLength(refused);
    const again = picky.requests.filter(({ signal, status }) => signal === 'traces' && status === 200);
    expect(bodies).toContain(again[0]?.body.toString('hex'));
    expect(accountAt(house.books(), picky.url).spans).toMatchObject({
      produced: 2 * refused,
      accepted: refused,
      waiting: 0,
      rejected: { 400: refused },
    });
    expect((await house.run('status')).err).toBe('');
  });

  it('sends one journaled session again, with the same ids', async () => {
    const back = await house.collector();
    house.configure(otlp(back.url));
    house.hooked('w-1', 'SessionStart', 'SessionEnd');
    house.hooked('w-2', 'SessionStart', 'SessionEnd');
    expect((await house.deliver()).code).toBe(0);
    const ids = () => back.spans().map(({ spanId }) => spanId);
    const before = ids();
    const { code, out } = await house.run('destinations', 'resend', 'otlp', '--session', 'w-2', '--yes');
    expect([code, out]).toEqual([0, expect.stringMatching(/\d+ spans?, \d+ records? resent/)]);
    expect((await house.deliver()).code).toBe(0);
    const again = ids().slice(before.length);
    expect(again.length).toBeGreaterThan(0);
    expect(again.every(id => before.includes(id))).toBe(true);
    expect(
      back
        .spans()
        .slice(before.length)
        .map(({ plain }) => plain['session.id']),
    ).toEqual(again.map(() => 'w-2'));
    expect(await house.run('destinations', 'resend', 'otlp', '--session', 'w', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('2 sessions begin with w'),
    });
  });
});
