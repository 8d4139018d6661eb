/** Payloads that try to do harm: ids that look like paths, and texts that make a pattern slow. */
import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { imbalances } from '../../src/deliver/status-books.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { isIdPath, samplesOf, withTexts } from '../agents/samples.ts';
import { startCollector } from '../collector.ts';
import { play, START_MS } from '../play.ts';
import { row } from './report.ts';
import { bySize, seed } from './size.ts';
import { deliverHere, exporting, founded, room } from './stage.ts';

const samples = agents.flatMap(agent => samplesOf(agent.id).map(sample => ({ agent, ...sample })));

const ids = [
  '../../../../tmp/otel-hooks-was-here',
  '/tmp/otel-hooks-was-here',
  '..',
  '.',
  '~/x',
  'a/b\\c',
  'NUL',
  'CON.txt',
  'x'.repeat(10_240),
  'a\0b',
  'a\nb',
  '%2e%2e%2f',
  '__proto__',
  'ledger.json',
  'rounds',
  ' ',
  '-rf',
  '$(touch /tmp/otel-hooks-was-here)',
  '\u202e\ufeff',
  '😀'.repeat(100),
];

it(`S2 ids of any kind are never part of a path (seed ${seed})`, { timeout: 300_000 }, async () => {
  const { folder, leave } = room();
  const collector = await startCollector();
  try {
    const state = founded(join(folder, 'state'));
    const each = bySize({ quick: 1, ci: ids.length, full: ids.length });
    const hooks = samples.flatMap(({ agent, payload }, i) =>
      Array.from({ length: each }, (_, n) => ({ agent, payload, id: ids[(i + n + seed) % ids.length] ?? '' })),
    );
    for (const [i, { agent, payload, id }] of hooks.entries()) {
      const unique = `u${i}`;
      const text = JSON.stringify(withTexts(payload, (value, path) => (isIdPath(path) ? id : value)));
      const path = join(state, 'inbox', fragmentName('abcdef01', `${1_000 + i}.00`, 7, unique));
      const header = { tool: agent.id, at: String(Date.now()), ppid: String(i), ...exporting(collector.url) };
      writeFileSync(path, encodeFragment(unique, header, Buffer.from(text)), { mode: 0o600 });
    }
    const { books } = await deliverHere(state);
    const { journaled = 0, quarantined = 0, dropped = {}, waiting } = books?.fragments ?? {};
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    row('S2', 'ids that would be paths', {
      faults: hooks.length,
      obligations: hooks.length,
      delivered: journaled,
      quarantined,
      dropped: dropped.duplicate ?? 0,
    });
    // Every name is made by otel-hooks: a word, a hash, a number.
    const strange = names.filter(name => !/^state(\/[a-z]+(\/[0-9a-z-]+)*)?(\.[0-9A-Za-z.-]+)?$/.test(name));
    expect(strange).toEqual([]);
    expect(names.filter(name => /was-here|passwd|proto|\.\./.test(name))).toEqual([]);
    expect(readdirSync('/tmp').filter(name => name.includes('was-here'))).toEqual([]);
    expect(books && imbalances(books)).toEqual([]);
    expect([waiting, journaled + quarantined + (dropped.duplicate ?? 0)]).toEqual([0, hooks.length]);
    expect(journaled).toBeGreaterThan(hooks.length / 3);
  } finally {
    await collector.close();
    leave();
  }
});

/** Each text makes some careless pattern read it again and again. */
const texts: readonly ((length: number) => string)[] = [
  length => 'a'.repeat(length),
  length => ' '.repeat(length),
  length => '/'.repeat(length),
  length => '\\'.repeat(length),
  length => '('.repeat(length),
  length => 'a '.repeat(length / 2),
  length => '1.'.repeat(length / 2),
  length => `Exit code ${'9'.repeat(length)}`,
  length => `${'a='.repeat(length / 2)}!`,
  length => `${'\n'.repeat(length)}x`,
  length => `${'mcp__'.repeat(length / 5)}`,
  length => '{"a":'.repeat(length / 5),
  length => `${'a@'.repeat(length / 2)}.`,
  length => '-----BEGIN '.repeat(length / 11),
];

it('S7 a text of a megabyte costs little more than reading it', { timeout: 600_000 }, () => {
  const length = bySize({ quick: 150_000, ci: 1_000_000, full: 1_000_000 });
  const cpuMs = (work: () => void): number => {
    const { user, system } = process.cpuUsage();
    work();
    const since = process.cpuUsage({ user, system });
    return (since.user + since.system) / 1_000;
  };
  let worst = { ratio: 0, what: '' };
  // In the quick size a few, different ones in each run.
  const every = bySize({ quick: 8, ci: 1, full: 1 });
  const chosen = samples.filter((_, i) => (i + seed) % every === 0);
  for (const [i, { agent, file, payload }] of chosen.entries()) {
    const text = texts[(i + seed) % texts.length]?.(length) ?? '';
    // One at a time, so that the payload stays a megabyte.
    let isPlaced = false;
    const place = (value: string, path: string): string => {
      if (isPlaced || isIdPath(path) || /name|event|type|time/i.test(path)) return value;
      isPlaced = true;
      return text;
    };
    const json = JSON.stringify(withTexts(payload, place));
    const scan = (): void => {
      createHash('sha256')
        .update(JSON.stringify(JSON.parse(json)))
        .digest();
    };
    const drained = (): void => {
      play([{ atMs: START_MS, payload: json, header: { tool: agent.id } }]);
    };
    // The faster of two runs: the first one compiles.
    const best = (work: () => void): number => Math.max(Math.min(cpuMs(work), cpuMs(work)), 0.3);
    const ratio = best(drained) / best(scan);
    if (ratio > worst.ratio) worst = { ratio, what: `${agent.id} ${file} ${text.slice(0, 20)}` };
  }
  row('S7', `texts of ${length} characters`, {
    faults: chosen.length,
    note: `at most ${worst.ratio.toFixed(1)}x of a scan`,
  });
  expect(worst.ratio, worst.what).toBeLessThan(50);
});
