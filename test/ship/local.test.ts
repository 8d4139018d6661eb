import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Destination } from '../../src/config/destinations.ts';
import { appendToFile, printTo } from '../../src/ship/local.ts';
import { cannotRun } from '../needs.ts';
import { destinationAt } from './memory-store.ts';
import { logs, namedSpans, record, traces } from './samples.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-file-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const into = (path: string): Destination => {
  const target = { headers: {}, timeoutMs: 1, gzip: false, protocol: 'http/json', tls: {}, path } as const;
  return destinationAt(path, { provider: 'file', signals: { traces: target, logs: target, events: target } });
};

describe('a file', () => {
  it('gets one line of OTLP/JSON for each body, and its folder is made', async () => {
    const path = join(folder, 'deep', 'otlp.jsonl');
    expect(await appendToFile()(into(path), 'traces', traces(namedSpans(2)))).toMatchObject({ status: 200 });
    expect(await appendToFile()(into(path), 'logs', logs([record('x')]))).toMatchObject({ status: 200 });
    const lines = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line));
    expect(lines.map(line => Object.keys(line))).toEqual([['resourceSpans'], ['resourceLogs']]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('gets events as the lines that they are', async () => {
    const path = join(folder, 'log.jsonl');
    await appendToFile()(into(path), 'events', Buffer.from('{"a":1}\n{"b":2}\n'));
    await appendToFile()(into(path), 'events', Buffer.from('{"c":3}\n'));
    expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n{"b":2}\n{"c":3}\n');
  });

  it('does not append our line to an incomplete line of another writer', async () => {
    const path = join(folder, 'log.jsonl');
    writeFileSync(path, '{"half":');
    await appendToFile()(into(path), 'events', Buffer.from('{"a":1}\n'));
    expect(readFileSync(path, 'utf8')).toBe('{"half":\n{"a":1}\n');
  });

  it('gets a repeated write after a kill once, also with later writes after it', async () => {
    const path = join(folder, 'log.jsonl');
    const lines = ['{"id":1}\n', '{"id":2}\n', '{"id":3}\n'].join('');
    for (let there = 0; there <= lines.length; there += 1) {
      writeFileSync(path, `{"id":0}\n${lines.slice(0, there)}`);
      await appendToFile(true)(into(path), 'events', Buffer.from(lines));
      expect(readFileSync(path, 'utf8')).toBe(`{"id":0}\n${lines}`);
    }
    writeFileSync(path, lines);
    await appendToFile()(into(path), 'events', Buffer.from(`${lines}{"id":4}\n`));
    expect(readFileSync(path, 'utf8')).toBe(`${lines}{"id":4}\n`);
  });

  it('is not the target of a link', async () => {
    const aim = join(folder, 'aim');
    writeFileSync(aim, '');
    symlinkSync(aim, join(folder, 'link'));
    expect(await appendToFile()(into(join(folder, 'link')), 'events', Buffer.from('x\n'))).toEqual({
      failure: 'ELOOP',
    });
    expect(readFileSync(aim, 'utf8')).toBe('');
  });

  it('that cannot be written is tried again later', async () => {
    const path = join(folder, 'is-a-folder');
    mkdirSync(path);
    expect(await appendToFile()(into(path), 'events', Buffer.from('x\n'))).toEqual({ failure: 'EISDIR' });
    expect(await appendToFile()(into('/dev/null'), 'events', Buffer.from('x\n'))).toEqual({ failure: 'not a file' });
  });

  it('on a full disk reports it', async context => {
    if (!existsSync('/dev/full')) cannotRun(context, 'needs /dev/full');
    expect(await appendToFile()(into('/dev/full'), 'events', Buffer.from('x\n'))).toHaveProperty('failure');
  });

  it('refuses bytes that are not a request', async () => {
    expect(await appendToFile()(into(join(folder, 'x')), 'traces', Buffer.from('rubbish'))).toMatchObject({
      status: 400,
    });
  });
});

it('the console gets the same lines', async () => {
  const printed: string[] = [];
  await printTo(lines => printed.push(lines))(into('stdout'), 'traces', traces(namedSpans(1)));
  expect(JSON.parse(printed.join(''))).toHaveProperty('resourceSpans');
  expect(printed.join('').endsWith('\n')).toBe(true);
});
