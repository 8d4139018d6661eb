/**
 * The CPU time to drain an inbox: fragments become journal lines and session states (recognize, normalize, redact,
 * identify, fold, commit), compared with
 *
 *     files   a loop that only opens, reads and unlinks the same files
 *     floor   that loop with the work that the promises require: each payload is parsed and hashed, its
 *             content hashed under a key, an id computed, and as many bytes as the journal's are written
 *
 * Sides are separate processes; repeats alternate in random order after one that is not counted; medians.
 *
 *     node scripts/bench.mjs drain [--events 20000] [--repeats 3] [--gate]
 *
 * `--gate`: exits 1 when drain falls below its gate in each of three runs.
 */
import { createHash, createHmac } from 'node:crypto';
import { closeSync, fstatSync, openSync, readdirSync, readSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeFragment } from '../src/hook/fragment.ts';
import { ROUND, writeFragments } from './parts/sessions.ts';
import {
  alternate,
  answer,
  ask,
  type Counted,
  type Done,
  judged,
  nothing,
  numberAfter,
  onStage,
  type Stage,
  setting,
  timed,
} from './parts/sides.ts';
import { drainFragments } from './parts/stages.ts';

const BAR = 0.3;
const GATE = 0.1;

interface Job {
  kind: 'files' | 'floor' | 'drain';
  count: number;
  sizeBytes: number;
}

const [role, folder = ''] = process.argv.slice(2);
if (role === 'worker') work();
else process.exitCode = await onStage(stage => main(stage, process.argv.slice(2)));

async function main({ start }: Stage, words: readonly string[]): Promise<number> {
  const isGate = words.includes('--gate');
  const count = numberAfter(words, '--events', isGate ? 10_000 : 20_000);
  const repeats = numberAfter(words, '--repeats', 3);
  console.log(`${setting()}, ${count} fragments, ${repeats} repeats, medians of CPU time`);
  const workers = { files: start('worker'), floor: start('worker'), drain: start('worker') };
  const side = (kind: Job['kind'], sizeBytes: number) => () => ask<Job>(workers[kind], { kind, count, sizeBytes });
  if (isGate) {
    for (let attempt = 1; attempt <= 3; attempt++) {
      const sides = { files: side('files', 500), drain: side('drain', 500) };
      if (print(count, 500, await alternate(repeats, sides)) >= GATE) return 0;
    }
    return 1;
  }
  for (const sizeBytes of [500, 3_400]) {
    const kinds = ['files', 'floor', 'drain'] as const;
    const sides = Object.fromEntries(kinds.map(kind => [kind, side(kind, sizeBytes)]));
    print(count, sizeBytes, await alternate(repeats, sides));
  }
  return 0;
}

function print(count: number, sizeBytes: number, sides: ReadonlyMap<string, Done>): number {
  const files = sides.get('files') ?? nothing;
  console.log();
  for (const [name, done] of sides) {
    const each = (done.cpuMs / count) * 1000;
    const memory = done.memoryMb.toFixed(0);
    console.log(
      `${name.padEnd(8)}${each.toFixed(1).padStart(8)} us each, ${(files.cpuMs / done.cpuMs).toFixed(3)}x, at most ${memory} MB`,
    );
  }
  const ratio = files.cpuMs / (sides.get('drain') ?? nothing).cpuMs;
  const work = `drain, fragments of ${sizeBytes / 1000} KB, beside bare files`;
  console.log(
    judged(work, ratio, [
      { name: 'gate', least: GATE },
      { name: 'bar', least: BAR },
    ]),
  );
  return ratio;
}

function work(): void {
  answer<Job>(async ({ kind, count, sizeBytes }) => {
    const state = join(folder, kind);
    const inbox = writeFragments(state, count, sizeBytes);
    const done = await timed(() => {
      if (kind === 'drain') {
        const records = drainFragments(state, folder);
        if (records !== count) throw new Error(`${records} fragments were journaled`);
        return { spans: 0, records };
      }
      return kind === 'files' ? readFiles(inbox) : readFiles(inbox, leastWork(join(state, 'journal.jsonl')));
    });
    rmSync(state, { recursive: true });
    return done;
  });
}

function readFiles(inbox: string, also?: { read(name: string, bytes: Buffer): void; end(): void }): Counted {
  let records = 0;
  for (const name of readdirSync(inbox)) {
    const path = `${inbox}/${name}`;
    const file = openSync(path, 'r');
    const bytes = Buffer.allocUnsafe(fstatSync(file).size);
    readSync(file, bytes);
    closeSync(file);
    unlinkSync(path);
    also?.read(name, bytes);
    records += 1;
  }
  also?.end();
  return { spans: 0, records };
}

/** About the number of characters of a journal line without content. */
const LINE = 600;

function leastWork(journal: string) {
  let lines = '';
  let count = 0;
  const end = (): void => {
    writeFileSync(journal, lines, { flag: 'a' });
    lines = '';
  };
  return {
    end,
    read(name: string, bytes: Buffer) {
      const decoded = decodeFragment(name, bytes, 0);
      if (!decoded.ok) throw new Error(decoded.why);
      const { payload } = decoded.fragment;
      const { tool_input, tool_response, ...rest } = JSON.parse(payload.toString()) as Record<string, unknown>;
      const content = JSON.stringify([tool_input, tool_response]);
      const event = {
        ...rest,
        id: createHash('sha256').update(String(rest.tool_use_id)).digest('hex'),
        same: createHash('sha256').update(payload).digest('hex'),
        content: createHmac('sha256', 'key').update(content).digest('hex'),
      };
      lines += `${JSON.stringify(event).padEnd(LINE)}\n`;
      count += 1;
      if (count % ROUND.fragments === 0) end();
    },
  };
}
