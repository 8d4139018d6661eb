/**
 * One story of a backlog. At its end the accounts balance, and no data waits without a command that can send or remove
 * it.
 */
import { expect, it } from 'vitest';
import type { Collector } from '../collector.ts';
import { accountAt, newHouse } from './house.ts';

const WRONG = 'http://127.0.0.1:9';
const GONE = 'http://127.0.0.1:19';

it('plays a session, an outage, a wrong address, its correction, a redirect, a drop and an erasure', async () => {
  const house = newHouse();
  try {
    const session = (id: string): void => house.hooked(id, 'SessionStart', 'SessionEnd');
    const sendTo = (endpoint: string): void => house.configure({ provider: 'otlp', otlp: { endpoint } });
    const sessionsAt = ({ spans }: Collector): string[] => [
      ...new Set(spans().map(({ plain }) => String(plain['session.id']))),
    ];
    const waitingAt = (endpoint: string): number => accountAt(house.books(), endpoint).spans.waiting;
    const first = await house.collector();
    const second = await house.collector();

    // A session arrives.
    sendTo(first.url);
    session('s-1');
    expect((await house.deliver()).code).toBe(0);
    expect(sessionsAt(first)).toEqual(['s-1']);

    // An outage: the data waits, and is sent when the collector is back.
    await first.stop();
    session('s-2');
    expect((await house.deliver()).err).toContain('ECONNREFUSED');
    expect(waitingAt(first.url)).toBeGreaterThan(0);
    await first.start();
    expect((await house.deliver()).code).toBe(0);
    expect(sessionsAt(first)).toEqual(['s-1', 's-2']);

    // A wrong address, and its correction: the account of the right one counts the items.
    sendTo(WRONG);
    session('s-3');
    expect((await house.deliver()).code).toBe(1);
    const wrong = waitingAt(WRONG);
    sendTo(first.url);
    await house.deliver();
    expect((await house.deliver()).code).toBe(0);
    expect(sessionsAt(first)).toEqual(['s-1', 's-2', 's-3']);
    expect(accountAt(house.books(), WRONG).spans).toMatchObject({ accepted: 0, dropped: { redirected: wrong } });

    // The collector moves. A person moves its data to the new address.
    await first.stop();
    session('s-4');
    await house.deliver();
    const moved = waitingAt(first.url);
    sendTo(second.url);
    expect((await house.run('destinations', 'redirect', first.url, second.url, '--yes')).code).toBe(0);
    expect((await house.deliver()).code).toBe(0);
    expect(sessionsAt(second)).toEqual(['s-4']);
    expect(accountAt(house.books(), first.url).spans.dropped).toEqual({ redirected: moved });

    // A destination whose data is dropped.
    house.configure({ provider: 'otlp', otlp: { endpoint: GONE, headers: 'authorization=x' } });
    session('s-5');
    await house.deliver();
    const given = waitingAt(GONE);
    expect((await house.run('destinations', 'drop', GONE, '--yes')).code).toBe(0);
    sendTo(second.url);
    expect((await house.run('destinations', 'drop', GONE, '--yes')).code).toBe(0);
    expect(accountAt(house.books(), GONE).spans).toMatchObject({ waiting: 0, dropped: { by_user: given } });

    // A session that is erased before it is sent.
    await second.stop();
    session('s-6');
    session('s-7');
    await house.deliver();
    expect((await house.run('erase', 's-6', '--yes')).code).toBe(0);
    await second.start();
    expect((await house.deliver()).code).toBe(0);
    expect(sessionsAt(second)).toEqual(['s-4', 's-7']);
    expect(accountAt(house.books(), second.url).spans.dropped).toEqual({ erased: expect.any(Number) });

    const { destinations, fragments } = house.books();
    expect(fragments.waiting).toBe(0);
    for (const each of destinations)
      for (const kind of ['spans', 'logs', 'metrics', 'events'] as const)
        expect([each.endpoint, kind, each[kind].waiting]).toEqual([each.endpoint, kind, 0]);
    expect(await house.run('status')).toMatchObject({ code: 0, err: '' });
    expect((await house.run('destinations')).out).not.toMatch(/next:/);
  } finally {
    await house.close();
  }
});
