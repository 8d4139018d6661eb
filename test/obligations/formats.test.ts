/**
 * A state folder of an older version is delivered, one of a newer version is left unchanged. The texts in this file are
 * what versions have written to users' disks: add to them, and never change them.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { imbalances } from '../../src/deliver/status-books.ts';
import { StateRefused } from '../../src/store/folder.ts';
import { openStore } from '../../src/store/store.ts';
import { startCollector } from '../collector.ts';
import { furnish, harmless, otelHooks, runHook, status, vacate } from '../wire/house.ts';
import { row } from './report.ts';
import { seed } from './size.ts';
import { deliverHere, receivedBy, room } from './stage.ts';

type Files = { [path: string]: string | Buffer };

/** A request with one record each, by event id. */
const bodies = {
  'kept-1':
    'CoIBCiEKHQoMc2VydmljZS5uYW1lEg0KC2NsYXVkZS1jb2RlEAASXQoTCgpvdGVsLWhvb2tzEgUwLjEuMBJGCQAAKjb+nJcXEAkaBElORk8qBgoEa2VwdDIgChRhZ2VudF9ob29rcy5ldmVudC5pZBIICgZrZXB0LTE4AFkAACo2/pyXFw==',
  'kept-2':
    'CoIBCiEKHQoMc2VydmljZS5uYW1lEg0KC2NsYXVkZS1jb2RlEAASXQoTCgpvdGVsLWhvb2tzEgUwLjEuMBJGCQAAKjb+nJcXEAkaBElORk8qBgoEa2VwdDIgChRhZ2VudF9ob29rcy5ldmVudC5pZBIICgZrZXB0LTI4AFkAACo2/pyXFw==',
};

/** Format 1, of version 0.1.0: both front ends, a waiting body, a round that was committed and not applied. */
function formatOne(url: string): Files {
  const destination = {
    v: 1,
    id: '00112233445566ff',
    provider: 'otlp',
    endpoint: url,
    signals: Object.fromEntries(
      ['traces', 'metrics', 'logs'].map(signal => [
        signal,
        { url: `${url}/v1/${signal}`, headers: {}, timeoutMs: 10_000, gzip: true, protocol: 'http/protobuf', tls: {} },
      ]),
    ),
    temporality: 'cumulative',
    metricIntervalMs: 15_000,
  };
  const account = (produced: number) => ({ produced, accepted: 0, rejected: {}, dropped: {} });
  const ledger = (n: number, nonce: string, produced: number) => ({
    v: 1,
    n,
    nonce,
    fragments: { received: n, journaled: n, quarantined: 0, dropped: {} },
    transcripts: { read: 0, journaled: 0, duplicate: 0 },
    destinations: {
      '00112233445566ff': {
        provider: 'otlp',
        endpoint: url,
        traces: account(0),
        logs: account(produced),
        metrics: account(0),
        events: account(0),
      },
    },
    counters: {},
  });
  /** The last field is a checksum of the others. */
  const summed = (books: object): string => {
    const json = JSON.stringify(books);
    const sum = createHash('sha256').update(json).digest('hex').slice(0, 32);
    return `${json.slice(0, -1)},"sum":"${sum}"}`;
  };
  const manifest = JSON.stringify({
    v: 1,
    n: 5,
    nonce: '0123456789abcdef',
    lines: [{ path: 'journal/0000000000000000000000000000000a.jsonl', offset: 11, length: 11 }],
    files: ['outbox/00112233445566ff/000000000005-00000-logs-1-133'],
    gone: [],
    quarantine: [],
    settled: [],
    eaten: ['inbox/0badb007-90.00-8-33333333-0000-4000-8000-000000000000'],
  });
  const checksum = createHash('sha256').update(manifest).digest('hex');
  const payload = (call: string, session: string): string =>
    `{"hook_event_name":"PreToolUse","session_id":"${session}","tool_name":"Read","tool_use_id":"${call}","cwd":"/"}`;
  const endpoint = `OTEL_EXPORTER_OTLP_ENDPOINT=${url.length}:${url}`;
  return {
    version: '1\n',
    'ledger.json': summed(ledger(4, 'ffffffffffffffff', 1)),
    'documents/installation.json': `{"v":1,"n":1,"value":{"id":"${'1'.repeat(32)}","key":"${'2'.repeat(64)}"}}`,
    'documents/destination-00112233445566ff.json': JSON.stringify({ v: 1, n: 1, value: destination }),
    'outbox/00112233445566ff/000000000004-00000-logs-1-133': Buffer.from(bodies['kept-1'], 'base64'),
    'journal/0000000000000000000000000000000a.jsonl': '{"seq": 1}\n',
    // Written by the shell front end: its header has no time, so the time of the file counts.
    'inbox/0badb007-100.00-9-11111111-0000-4000-8000-000000000000': `otel-hooks/1 tool=11:claude-code event=10:PreToolUse cwd=1:/ ppid=1:7 ${endpoint}\n${payload('of-the-shell', 'a')}\n11111111-0000-4000-8000-000000000000\n`,
    'inbox/0badb007-101.00-9-22222222-0000-4000-8000-000000000000': `otel-hooks/1 tool=11:claude-code at=13:1700000000000 ppid=1:7 of_later=1:x ${endpoint}\n${payload('of-node', 'b')}\n22222222-0000-4000-8000-000000000000\n`,
    'inbox/0badb007-90.00-8-33333333-0000-4000-8000-000000000000': `otel-hooks/1 tool=11:claude-code\n${payload('eaten', 'c')}\n33333333-0000-4000-8000-000000000000\n`,
    'rounds/5/manifest.json': `otel-hooks-round 1 ${checksum}\n${manifest}`,
    'rounds/5/0123456789abcdef.lines': '{"seq": 2}\n',
    'rounds/5/0123456789abcdef.0': Buffer.from(bodies['kept-2'], 'base64'),
    'rounds/5/0123456789abcdef.ledger': summed(ledger(5, '0123456789abcdef', 2)),
  };
}

function lay(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, path), content, { mode: 0o600 });
    utimesSync(join(folder, path), 1_700_000_000, 1_700_000_000);
  }
}

/** The bytes and times of all files of a folder. */
const stateOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map(path => {
      const stats = statSync(join(folder, path));
      const content = stats.isFile() ? readFileSync(join(folder, path)).toString('base64') : '';
      return `${path} ${stats.mode} ${stats.isFile() ? stats.mtimeMs : ''} ${content}`;
    });

describe('R11', () => {
  it(`R11 a folder of format 1 is delivered to its end (seed ${seed})`, async () => {
    const { folder, leave } = room();
    const collector = await startCollector();
    try {
      const state = join(folder, 'state');
      lay(state, formatOne(collector.url));
      const { books } = await deliverHere(state);
      const received = receivedBy(collector);
      const calls = collector.records().map(record => record.plain['gen_ai.tool.call.id']);
      row('R11', 'a folder of format 1: fragments of both front ends, a body, a round committed and not applied', {
        obligations: 4,
        delivered: received.records.size,
        duplicated: received.repeatedItems,
        lost: 4 - received.records.size,
      });
      expect([...received.records]).toEqual(expect.arrayContaining(['kept-1', 'kept-2']));
      expect(calls).toEqual(expect.arrayContaining(['of-the-shell', 'of-node']));
      expect(received.records.size).toBe(4);
      expect(books?.fragments).toEqual({ received: 7, journaled: 7, waiting: 0, quarantined: 0, dropped: {} });
      expect(books && imbalances(books)).toEqual([]);
      const store = openStore({ folder: state, access: 'read' });
      expect(store.journal('0000000000000000000000000000000a')).toBe('{"seq": 1}\n{"seq": 2}\n');
      store.close();
      const [shell] = collector.records().filter(record => record.plain['gen_ai.tool.call.id'] === 'of-the-shell');
      expect(String(shell?.timeUnixNano)).toMatch(/^1700000000000/);
    } finally {
      await collector.close();
      leave();
    }
  });

  it.each([
    ['the mark', { version: '2\n' }],
    ['the ledger', { version: '1\n', 'ledger.json': '{"v":2,"n":9,"of":"a later version"}' }],
  ])(`R11 a folder of a later format is not changed, as %s reports (seed ${seed})`, async (_, files) => {
    const house = furnish('built', 'otel-hooks-formats-');
    try {
      const url = 'http://127.0.0.1:9';
      lay(house.state, { ...formatOne(url), ...files });
      const before = stateOf(house.state);
      await expect(deliverHere(house.state)).rejects.toThrow(StateRefused);
      const byHand = otelHooks(house, ['deliver', '--wait', '1s']);
      const pruned = otelHooks(house, ['prune', '--quarantine']);
      const after = stateOf(house.state);
      row('R11', 'a folder of a later format', {
        obligations: before.length,
        delivered: 0,
        lost: before.filter(file => !after.includes(file)).length,
        note: 'in files, each compared with its bytes, mode and time',
      });
      expect(after).toEqual(before);
      expect([byHand.status, pruned.status]).toEqual([1, 1]);
      expect(byHand.stderr + pruned.stderr).toMatch(/later otel-hooks.*\n.*next/);
      expect(status(house).problems.map(({ code }) => code)).toEqual(['state-newer']);
      // A hook still records; the later version will deliver it.
      const call = { hook_event_name: 'PreToolUse', session_id: 'd', tool_use_id: 'now', tool_name: 'Read' };
      const hook = { event: 'PreToolUse', mouth: 'node' as const, payload: JSON.stringify(call) };
      expect(await runHook({ house, commands: new Map() }, hook)).toEqual(harmless);
      expect(readdirSync(join(house.state, 'inbox'))).toHaveLength(4);
    } finally {
      await vacate(house);
    }
  });
});
