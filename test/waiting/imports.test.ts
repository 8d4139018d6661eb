/** A backlog of imported sessions can be moved, sent and dropped like that of hooks. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Collector } from '../collector.ts';
import { START_MS } from '../play.ts';
import { accountAt, type House, newHouse } from './house.ts';

let house: House;
beforeEach(() => {
  house = newHouse();
});
afterEach(() => house.close());

const GONE = 'http://127.0.0.1:9';
const otlp = (endpoint: string, more: object = {}) => ({ provider: 'otlp', otlp: { endpoint, ...more } });

/** Imports the transcript of a session of Claude Code. */
async function imported(session: string): Promise<void> {
  const file = join(house.home, '.claude', 'projects', 'shop', `${session}.jsonl`);
  const row = (n: number, type: string, message: object) => ({
    ...{ type, message, uuid: `${session}-${n}`, parentUuid: n === 1 ? null : `${session}-${n - 1}` },
    ...{ sessionId: session, cwd: house.home, timestamp: new Date(START_MS + n * 1_000).toISOString() },
  });
  const rows = [
    row(1, 'user', { role: 'user', content: 'go on' }),
    row(2, 'assistant', {
      ...{ id: `msg-${session}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' },
      ...{ content: [{ type: 'text', text: 'done' }], stop_reason: 'end_turn' },
      usage: { input_tokens: 10, output_tokens: 2 },
    }),
  ];
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, rows.map(each => `${JSON.stringify(each)}\n`).join(''));
  const { out } = await house.run('import', file, '--wait', '900ms', '--json');
  expect(JSON.parse(out)).toMatchObject({ sessions: [{ session }] });
}

const sessionsAt = ({ spans }: Collector): string[] => [
  ...new Set(spans().map(({ plain }) => String(plain['session.id']))),
];
const spansAt = (endpoint: string) => accountAt(house.books(), endpoint).spans;

/** At the end nothing waits, and `status` has no message. */
async function expectQuiet(): Promise<void> {
  for (const each of house.books().destinations)
    for (const kind of ['spans', 'logs', 'metrics', 'events'] as const)
      expect([each.endpoint, kind, each[kind].waiting]).toEqual([each.endpoint, kind, 0]);
  expect(await house.run('status')).toMatchObject({ code: 0, err: '' });
}

it('an imported session follows the correction of an address that never accepted data', async () => {
  house.configure(otlp(GONE));
  await imported('i-1');
  const { waiting } = spansAt(GONE);
  expect(waiting).toBeGreaterThan(0);
  const right = await house.collector();
  house.configure(otlp(right.url));
  await house.deliver();
  expect((await house.deliver()).code).toBe(0);
  expect(sessionsAt(right)).toEqual(['i-1']);
  expect(spansAt(GONE)).toMatchObject({ accepted: 0, dropped: { redirected: waiting } });
  expect(spansAt(right.url)).toMatchObject({ produced: waiting, accepted: waiting });
  await expectQuiet();
});

it('an imported session is sent with the corrected key', async () => {
  const { url, ...collector } = await house.collector(({ headers }) => ({
    status: headers.authorization === 'right' ? 200 : 401,
  }));
  house.configure(otlp(url, { headers: 'authorization=wrong' }));
  await imported('i-1');
  expect((await house.run('status')).err).toContain('refuses our credentials (401)');
  house.configure(otlp(url, { headers: 'authorization=right' }));
  await house.deliver();
  expect((await house.deliver()).code).toBe(0);
  expect(sessionsAt({ url, ...collector })).toEqual(['i-1']);
  expect((await house.run('status')).err).toBe('');
});

it('an imported session moves with a redirect, once, and is sent again by resend', async () => {
  const old = await house.collector();
  house.configure(otlp(old.url));
  await imported('i-1');
  expect(sessionsAt(old)).toEqual(['i-1']);
  await old.stop();
  await imported('i-2');
  const { waiting } = spansAt(old.url);
  expect(waiting).toBeGreaterThan(0);

  const next = await house.collector();
  house.configure(otlp(next.url));
  expect(await house.run('destinations', 'redirect', old.url, next.url, '--yes')).toMatchObject({ code: 0 });
  expect((await house.deliver()).code).toBe(0);
  expect(sessionsAt(next)).toEqual(['i-2']);
  expect(spansAt(old.url)).toMatchObject({ waiting: 0, dropped: { redirected: waiting } });
  expect(spansAt(next.url)).toMatchObject({ produced: waiting, accepted: waiting });

  const ids = next.spans().map(({ spanId }) => spanId);
  expect(await house.run('destinations', 'resend', next.url, '--session', 'i-2', '--yes')).toMatchObject({ code: 0 });
  expect((await house.deliver()).code).toBe(0);
  expect(next.spans().map(({ spanId }) => spanId)).toEqual([...ids, ...ids]);
  await expectQuiet();
});

it('an imported session is dropped with its destination, and is not imported again', async () => {
  house.configure(otlp(GONE));
  await imported('i-1');
  const { waiting } = spansAt(GONE);
  expect(await house.run('destinations', 'drop', GONE, '--yes')).toMatchObject({ code: 0 });
  expect(spansAt(GONE)).toMatchObject({ waiting: 0, accepted: 0, dropped: { by_user: waiting } });
  const right = await house.collector();
  house.configure(otlp(right.url));
  await house.run('import', '--all');
  expect((await house.deliver()).code).toBe(0);
  expect(right.spans()).toEqual([]);
  await house.run('destinations', 'drop', GONE, '--yes');
  await expectQuiet();
});

it('refused data of an imported session is sent again by resend', async () => {
  let status = 413;
  const collector = await house.collector(({ signal }) => ({ status: signal === 'traces' ? status : 200 }));
  house.configure(otlp(collector.url));
  await imported('i-1');
  expect((await house.run('status')).err).toContain('in quarantine for 24 hours');
  status = 200;
  expect(await house.run('destinations', 'resend', 'otlp', '--yes')).toMatchObject({ code: 0 });
  expect((await house.deliver()).code).toBe(0);
  expect(sessionsAt(collector)).toEqual(['i-1']);
  await expectQuiet();
});
