/**
 * Payloads and transcripts that try to do harm, through the built delivery: with real files, pipes, links and devices.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { imbalances } from '../../src/deliver/status-books.ts';
import { documents } from '../../src/documents/documents.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { openStore } from '../../src/store/store.ts';
import { MOST_SERIES } from '../../src/telemetry/cardinality.ts';
import { noMetrics } from '../../src/telemetry/metric-state.ts';
import { startCollector } from '../collector.ts';
import { cannotRun } from '../needs.ts';
import { rowsOf } from '../transcripts/house.ts';
import { deliverHere, exporting, founded, room } from './stage.ts';

const CANARY = 'canary-91f0-of-a-file';

interface Place {
  state: string;
  folder: string;
  hook(payload: object | string): void;
}

async function withPlace(
  use: (place: Place) => Promise<void>,
  url: (collector: { url: string }) => string = ({ url }) => url,
) {
  const { folder, leave } = room();
  const collector = await startCollector();
  try {
    const state = founded(join(folder, 'state'));
    let count = 0;
    const hook = (payload: object | string): void => {
      count += 1;
      const header = { tool: 'claude-code', at: String(Date.now()), ppid: String(count), ...exporting(url(collector)) };
      const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
      const name = fragmentName('abcdef01', `${1_000 + count}.00`, 7, `u${count}`);
      writeFileSync(join(state, 'inbox', name), encodeFragment(`u${count}`, header, Buffer.from(text)), {
        mode: 0o600,
      });
    };
    await use({ state, folder, hook });
    for (const { body } of collector.requests) expect(Buffer.from(body).includes(CANARY)).toBe(false);
  } finally {
    await collector.close();
    leave();
  }
}

const turn = (session: string, transcript_path: string): object[] => {
  const base = { session_id: session, transcript_path, cwd: '/w' };
  return [
    { ...base, hook_event_name: 'SessionStart', source: 'startup' },
    { ...base, hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'go' },
    { ...base, hook_event_name: 'Stop', prompt_id: 'p1' },
    { ...base, hook_event_name: 'SessionEnd', reason: 'other' },
  ];
};

it('S2 a path of a transcript that names another kind of file does not harm the session and reveals no content', {
  timeout: 120_000,
}, async context => {
  if (process.platform === 'win32') cannotRun(context, 'needs devices, links and pipes of POSIX');
  await withPlace(async ({ state, folder, hook }) => {
    const at = (name: string): string => join(folder, name);
    execFileSync('mkfifo', [at('pipe.jsonl')]);
    mkdirSync(at('folder.jsonl'));
    symlinkSync(at('loop-2.jsonl'), at('loop-1.jsonl'));
    symlinkSync(at('loop-1.jsonl'), at('loop-2.jsonl'));
    symlinkSync('/dev/zero', at('zero.jsonl'));
    symlinkSync(at('pipe.jsonl'), at('to-pipe.jsonl'));
    writeFileSync(at('closed.jsonl'), `{"secret":"${CANARY}"}\n`);
    chmodSync(at('closed.jsonl'), 0o000);
    writeFileSync(at('text.jsonl'), `root:${CANARY}:19000:0:99999:7:::\n`.repeat(100));
    writeFileSync(at('binary.jsonl'), Buffer.alloc(300_000, 0));
    const others = [
      '/etc/shadow',
      '/etc/passwd',
      '/dev/zero',
      '/dev/tty',
      '/proc/self/environ',
      '/proc/self/mem',
      '/proc/kmsg',
    ];
    const odd = [
      '',
      '.',
      '..',
      '../../../../etc/passwd',
      '__proto__',
      'a\0b',
      '/',
      'x'.repeat(5_000),
      '\ud800',
      '~/x.jsonl',
    ];
    const own = readdirSync(folder)
      .filter(name => name !== 'state')
      .map(at);
    const paths = [...own, ...others, ...odd];
    for (const [i, path] of paths.entries()) for (const each of turn(`s-${i}`, path)) hook(each);
    const { books } = await deliverHere(state, { waitMs: 60_000 });
    expect(books && imbalances(books)).toEqual([]);
    expect(books?.fragments).toMatchObject({ journaled: 4 * paths.length, quarantined: 0, waiting: 0 });
    expect(books?.transcripts.read).toBe(0);
    const store = openStore({ folder: state, access: 'read' });
    const journals = store.journals().map(key => store.journal(key) ?? '');
    store.close();
    expect(journals.join('')).not.toContain(CANARY);
  });
});

it('S2 rows that no agent writes affect only themselves', { timeout: 120_000 }, async () => {
  await withPlace(async ({ state, folder, hook }) => {
    const session = '11111111-2222-4333-8444-555555555555';
    const rows = rowsOf(session);
    const path = join(folder, `${session}.jsonl`);
    const answer = rows.assistant(5, 'm1', rows.text('done'), 7, 'end_turn');
    const strange = [
      '['.repeat(100_000),
      '{"a":'.repeat(100_000),
      `{"type":"assistant","message":${'{"content":['.repeat(5_000)}${']}'.repeat(5_000)}}`,
      '{"type":"user","timestamp":1e999,"message":{"usage":{"input_tokens":1e308}}}',
      '{"type":"assistant","timestamp":"+275760-09-13T00:00:00.001Z","message":{"id":"\\ud800","usage":{"output_tokens":-5}}}',
      '{"type":"user","uuid":"\\u0000\\u001b[2J\\u202e","message":{"content":"\\udfff"}}',
      '{"__proto__":{"type":"assistant"},"constructor":{"prototype":{"x":1}}}',
      `{"type":"assistant","message":{"content":[${'{},'.repeat(1_200_000)}{}]}}`,
      '\0'.repeat(10_000),
      'null',
    ];
    writeFileSync(path, [JSON.stringify(rows.prompt(1, 'p1')), ...strange, JSON.stringify(answer), ''].join('\n'));
    for (const each of turn(session, path)) hook(each);
    const { books } = await deliverHere(state, { waitMs: 60_000 });
    expect(books && imbalances(books)).toEqual([]);
    expect(books?.fragments).toMatchObject({ quarantined: 0, waiting: 0 });
    const store = openStore({ folder: state, access: 'read' });
    const [key = ''] = store.journals();
    const responses = (store.journal(key) ?? '').split('\n').filter(line => line.includes('Model.Responded'));
    const { counters } = store.books();
    store.close();
    // The response of the last row, and at most what a strange row states as one.
    expect(responses.some(line => line.includes('"output_tokens":7'))).toBe(true);
    expect(counters).not.toHaveProperty('odd.transcript_row_failed');
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
});

it('S2 many sessions with unique names make no more series than the limit allows', { timeout: 300_000 }, async () => {
  await withPlace(async ({ state, hook }) => {
    for (let i = 0; i < 500; i += 1) {
      const call = {
        session_id: `s-${i}`,
        cwd: `/w/${i}`,
        tool_name: `mcp__server${i}__tool${i}`,
        tool_use_id: `c${i}`,
      };
      hook({ ...call, hook_event_name: 'PreToolUse', tool_input: {}, permission_mode: `mode${i}` });
      hook({
        ...call,
        hook_event_name: 'PostToolUse',
        tool_input: {},
        tool_response: {},
        agent_type: `kind${i}`,
        agent_id: `a${i}`,
      });
    }
    const { books } = await deliverHere(state, { waitMs: 120_000 });
    expect(books && imbalances(books)).toEqual([]);
    expect(books?.fragments).toMatchObject({ journaled: 1_000, quarantined: 0 });
    const store = openStore({ folder: state, access: 'read' });
    const metrics = store.idsOf(documents.metrics);
    const series = metrics.flatMap(id => {
      const { resources } = store.read(documents.metrics.of(id)) ?? noMetrics();
      return Object.values(resources).map(each => Object.keys(each.series).length);
    });
    store.close();
    expect(metrics.length).toBeGreaterThan(0);
    for (const count of series) expect(count).toBeLessThanOrEqual(MOST_SERIES);
  });
});
