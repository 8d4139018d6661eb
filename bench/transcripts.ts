/**
 * The cost to import a folder of transcripts, as a ratio to bare `JSON.parse` over the same lines: speed of the import
 * (find, read, merge by time, journal, fold, commit) over speed of a loop that reads the same files in steps, cuts them
 * into lines and parses each. The rows are as long as recorded ones: a tenth of them holds half of the bytes. `floor`
 * is that loop with the work that the promises require: for each row it computes one id, hashes one content under a key
 * and writes one line of the journal, in rounds that commit. It does not recognize or fold the rows.
 *
 *     node scripts/bench.mjs transcripts [--mb 200] [--repeats 5] [--gate]
 *
 * The sides are processes of their own and alternate in random order after one of each that is not counted; medians of
 * CPU time are compared, and the maximum of memory of the import is printed. `--gate`: 64 MB, three repeats; exits 1
 * when it falls below 0.5x in each of three runs.
 */
import { fork } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agents } from '../src/agents/index.ts';
import { keyedHash, uuidOf } from '../src/lib/hash.ts';
import { findSessions } from '../src/pipeline/find-transcripts.ts';
import { importRound } from '../src/pipeline/import-round.ts';
import { openStore } from '../src/store/store.ts';
import { diskEyes } from '../src/transcripts/eyes.ts';
import { writeSessions } from './parts/finished-sessions.ts';
import { median, numberAfter } from './parts/sides.ts';

const AIM = 0.5;
const MOST_MEMORY_MB = 200;
const STEP_BYTES = 1024 * 1024;
const ROUND_BYTES = 4 * 1024 * 1024;
const SESSION_MB = 5;
const START_MS = Date.UTC(2026, 2, 2, 9);

interface Done {
  cpuMs: number;
  memoryMb: number;
  lines: number;
  events: number;
}

const [, , role = 'lead', folder = ''] = process.argv;
type Side = 'parse' | 'floor' | 'import';
const sides: { [side in Side]: (home: string, state: string) => Pick<Done, 'lines' | 'events'> } = {
  parse: home => parse(home, () => undefined),
  floor,
  import: importAll,
};
const isSide = (word: string): word is Side => Object.hasOwn(sides, word);

if (process.send !== undefined && isSide(role)) {
  const state = mkdtempSync(join(folder, 'state-'));
  const before = process.cpuUsage();
  const result = sides[role](folder, state);
  const { user, system } = process.cpuUsage(before);
  const memoryMb = process.resourceUsage().maxRSS / 1024;
  rmSync(state, { recursive: true });
  process.send({ ...result, cpuMs: (user + system) / 1000, memoryMb }, () => process.disconnect());
} else {
  process.exitCode = await lead();
}

async function lead(): Promise<number> {
  const isGate = process.argv.includes('--gate');
  const mb = numberAfter(process.argv, '--mb', isGate ? 64 : 200);
  const repeats = numberAfter(process.argv, '--repeats', isGate ? 3 : 5);
  const home = mkdtempSync(join(tmpdir(), 'bench-transcripts-'));
  try {
    const bytes = writeSessions(home, Math.ceil(mb / SESSION_MB), SESSION_MB * 1024 * 1024);
    for (let run = 1; ; run += 1) {
      const ratio = await compare(home, bytes, repeats);
      if (ratio >= AIM || !isGate) return 0;
      if (run === 3) return 1;
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function compare(home: string, bytes: number, repeats: number): Promise<number> {
  const done: { [side in Side]: Done[] } = { parse: [], floor: [], import: [] };
  for (let repeat = 0; repeat <= repeats; repeat += 1) {
    for (const side of shuffled(Object.keys(done).filter(isSide))) {
      const each = await inProcess(side, home);
      if (repeat > 0) done[side].push(each);
    }
  }
  const msOf = (side: Side): number => median(done[side].map(each => each.cpuMs));
  const [parseMs, floorMs, importMs] = [msOf('parse'), msOf('floor'), msOf('import')];
  const memoryMb = Math.max(...done.import.map(each => each.memoryMb));
  const [first] = done.import;
  const ratio = parseMs / importMs;
  const rate = (ms: number): string => `${(bytes / 1024 / 1024 / (ms / 1000)).toFixed(0)} MB/s`;
  process.stdout.write(
    [
      `${(bytes / 1024 / 1024).toFixed(0)} MB, ${done.parse[0]?.lines ?? 0} lines, ${first?.events ?? 0} events; CPU, median of ${repeats}`,
      `  bare JSON.parse  ${parseMs.toFixed(0)} ms  ${rate(parseMs)}`,
      `  floor            ${floorMs.toFixed(0)} ms  ${rate(floorMs)}, ratio ${(parseMs / floorMs).toFixed(2)}x`,
      `  import           ${importMs.toFixed(0)} ms  ${rate(importMs)}`,
      `  ratio ${ratio.toFixed(2)}x (aim ${AIM}x ${ratio >= AIM ? 'reached' : 'missed'}), memory at most ${memoryMb.toFixed(0)} MB (aim ${MOST_MEMORY_MB} MB ${memoryMb <= MOST_MEMORY_MB ? 'reached' : 'missed'})`,
      '',
    ].join('\n'),
  );
  return ratio;
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map(item => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function inProcess(side: Side, home: string): Promise<Done> {
  return new Promise((resolve, reject) => {
    const child = fork(process.argv[1] ?? '', [side, home], { execArgv: [] });
    child.once('message', message => resolve(message as Done));
    child.once('error', reject);
    child.once('exit', code => {
      if (code !== 0) reject(new Error(`${side} exited ${code}`));
    });
  });
}

function parse(home: string, take: (row: Row) => void): Pick<Done, 'lines' | 'events'> {
  const projects = join(home, '.claude', 'projects', '-w');
  let lines = 0;
  for (const name of readdirSync(projects)) {
    const file = openSync(join(projects, name), 'r');
    const step = Buffer.alloc(STEP_BYTES);
    let rest: Buffer = Buffer.alloc(0);
    for (let count = readSync(file, step); count > 0; count = readSync(file, step)) {
      const bytes = Buffer.concat([rest, step.subarray(0, count)]);
      let at = 0;
      for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, at)) {
        take(JSON.parse(bytes.toString('utf8', at, end)) as Row);
        lines += 1;
        at = end + 1;
      }
      rest = bytes.subarray(at);
    }
    closeSync(file);
  }
  return { lines, events: 0 };
}

interface Row {
  uuid: string;
  sessionId: string;
  timestamp: string;
  message?: { content?: string | { text?: string; content?: string }[] };
}

function floor(home: string, state: string): Pick<Done, 'lines' | 'events'> {
  mkdirSync(join(state, 'inbox'), { mode: 0o700 });
  const store = openStore({ folder: state, access: 'own' });
  const journals = new Map<string, string>();
  let bytes = 0;
  let events = 0;
  const commit = (): void => {
    const journal = [...journals].map(([key, lines]) => ({ key, lines }));
    const sessions = journal.map(({ key }) => ({ key, state: {} }));
    if (store.commit({ epoch: store.epoch, journal, sessions, tally: () => undefined }) !== 'committed')
      throw new Error('the round was lost');
    journals.clear();
    bytes = 0;
  };
  const parsed = parse(home, row => {
    const content = row.message?.content ?? '';
    const [block] = typeof content === 'string' ? [{ text: content }] : content;
    const value = block?.text ?? block?.content ?? '';
    events += 1;
    // About the number of fields of an average event.
    const line = JSON.stringify({
      spec_version: '0.1.0',
      event_id: uuidOf('bench', row.sessionId, row.uuid),
      event_type: 'Action.After',
      timestamp: new Date(Date.parse(row.timestamp)).toISOString(),
      source: { tool: 'bench' },
      session_id: row.sessionId,
      actor: { type: 'ai_agent' },
      data: { action: { name: 'shell', result: { success: true } } },
      metadata: { floor: { v: 1, seq: events, time: 'transcript', call: row.uuid, hash: keyedHash('k', value) } },
    });
    journals.set(row.sessionId, `${journals.get(row.sessionId) ?? ''}${line}\n`);
    bytes += value.length;
    if (bytes > ROUND_BYTES) commit();
  });
  commit();
  store.close();
  return { ...parsed, events };
}

function importAll(home: string, state: string): Pick<Done, 'lines' | 'events'> {
  mkdirSync(join(state, 'inbox'), { mode: 0o700 });
  const store = openStore({ folder: state, access: 'own' });
  const eyes = diskEyes();
  const places = { home, project: home, env: {} };
  const { found } = findSessions({ agents, paths: [], places, eyes, sinceMs: 0 });
  const world = {
    env: {},
    home,
    platform: 'linux' as const,
    ownVariables: false,
    configFile: undefined,
    installation: 'i',
    hashKey: 'k',
    nowMs: START_MS + 30 * 86_400_000,
    eyes,
    pins: new Map(),
  };
  let events = 0;
  for (let left = found; left.length > 0; ) {
    const round = importRound(store, left, world, ROUND_BYTES, { metrics: false, logsSinceMs: world.nowMs });
    if (store.commit(round.round) !== 'committed') throw new Error('the round was lost');
    events += round.counts.journaled;
    left = left.slice(round.done);
  }
  store.close();
  return { lines: 0, events };
}
