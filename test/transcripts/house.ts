/**
 * A home with an agent's transcript in it, arriving hooks, and delivery by hand: the results are read from the journal.
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { agents } from '../../src/agents/index.ts';
import type { FinishedSpan } from '../../src/assemble/finished.ts';
import { type Event, factsOf } from '../../src/event/event.ts';
import { replay } from '../../src/journal/replay.ts';
import type { Due } from '../../src/pipeline/due-sessions.ts';
import { findSessions } from '../../src/pipeline/find-transcripts.ts';
import { type ImportRound, importRound } from '../../src/pipeline/import-round.ts';
import { computeRound, type RoundResult } from '../../src/pipeline/round.ts';
import { sessionKey } from '../../src/session/session-state.ts';
import { emptyLedger, type Ledger } from '../../src/store/ledger.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { impatient, type Waits } from '../../src/transcripts/settlement.ts';
import { nodesOf } from '../../src/view/nodes.ts';
import { drawTree } from '../../src/view/tree.ts';
import { fragmentOf, START_MS } from '../play.ts';

export interface House {
  home: string;
  main: string;
  session: string;
  store: Store;
  /** Rows are appended as they are; a text as it is. */
  write(path: string, ...rows: (object | string)[]): void;
  hook(seconds: number, event: string, fields?: object): void;
  /** A round over the waiting hooks. */
  round(options?: { nowMs?: number; waits?: Waits; due?: Due; commit?: boolean }): RoundResult;
  /** Imports all unknown data of the home; `most`: stops after this number of rounds. */
  import(options?: { nowMs?: number; bytes?: number; paths?: string[]; most?: number }): ImportRound[];
  events(): Event[];
  spans(): FinishedSpan[];
  tree(): string;
  ledger(): Ledger;
  close(): void;
}

export const at = (seconds: number): string => new Date(START_MS + seconds * 1000).toISOString();

/** `header`: further lines of the fragments of hooks, such as variables. */
export function openHouse(
  agent = 'claude-code',
  session = '11111111-2222-4333-8444-555555555555',
  header: { readonly [name: string]: string } = {},
): House {
  const home = mkdtempSync(join(tmpdir(), 'transcripts-'));
  const state = join(home, 'state');
  mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });
  const main = join(home, '.claude', 'projects', '-w', `${session}.jsonl`);
  const store = openStore({ folder: state, access: 'own' });
  const key = sessionKey(agent, session);
  const waiting: ReturnType<typeof fragmentOf>[] = [];
  let count = 0;
  const house: House = {
    home,
    main,
    session,
    store,
    write(path, ...rows) {
      mkdirSync(dirname(path), { recursive: true });
      for (const row of rows) appendFileSync(path, typeof row === 'string' ? row : `${JSON.stringify(row)}\n`);
    },
    hook(seconds, event, fields = {}) {
      const payload = {
        session_id: session,
        transcript_path: main,
        cwd: home,
        hook_event_name: event,
        ...fields,
      };
      const atMs = START_MS + seconds * 1000;
      count += 1;
      waiting.push({
        ...fragmentOf({ atMs, payload, header: { tool: agent, ...header } }, count),
        name: `0-${count}-1-${count}`,
      });
    },
    round({ nowMs = START_MS + 1_000_000, waits = impatient, due = {}, commit = true } = {}) {
      const fragments = waiting.splice(0);
      const round = computeRound(store, { fragments, rejects: [] }, due, {
        ...worldOf(home, nowMs),
        eyes: diskEyes(),
        waits,
      });
      if (commit) {
        // The fragments were never in the inbox: only their events are kept.
        if (store.commit({ ...round.round, eaten: [] }) !== 'committed') throw new Error('the round was lost');
      } else waiting.unshift(...fragments);
      return round;
    },
    import({
      nowMs = START_MS + 10 * 86_400_000,
      bytes = 8 * 1024 * 1024,
      paths = [],
      most = Number.POSITIVE_INFINITY,
    } = {}) {
      const eyes = diskEyes();
      const places = { home, project: home, env: {} };
      const { found } = findSessions({ agents, paths, places, eyes, sinceMs: 0 });
      const rounds: ImportRound[] = [];
      for (let left = found; left.length > 0 && rounds.length < most; ) {
        const round = importRound(store, left, { ...worldOf(home, nowMs), eyes, pins: new Map() }, bytes, {
          metrics: false,
          logsSinceMs: 0,
        });
        if (store.commit(round.round) !== 'committed') throw new Error('the round was lost');
        rounds.push(round);
        left = left.slice(round.done);
      }
      return rounds;
    },
    events: () =>
      (store.journal(key) ?? '')
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as Event),
    spans: () => replay(store.journal(key) ?? '')?.finished ?? [],
    tree() {
      const replayed = replay(store.journal(key) ?? '');
      const traces = replayed ? [...nodesOf(replayed).values()] : [];
      return traces.map(nodes => drawTree(nodes, { color: false, columns: 100, unicode: false })).join('--\n');
    },
    ledger: () => store.ledger() ?? emptyLedger(),
    close() {
      store.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
  return house;
}

const worldOf = (home: string, nowMs: number) => ({
  env: {},
  home,
  platform: 'linux' as const,
  ownVariables: false,
  configFile: undefined,
  installation: 'i',
  hashKey: 'k',
  nowMs,
});

/** The tokens of all spans of responses. */
export function tokensOf(spans: readonly FinishedSpan[]): { calls: number; input: number; output: number } {
  const sums = { calls: 0, input: 0, output: 0 };
  for (const span of spans) {
    if (span.kind !== 'chat') continue;
    sums.calls += 1;
    sums.input += span.input ?? 0;
    sums.output += span.output ?? 0;
  }
  return sums;
}

/** Events in short form: type, native id, source of the time. */
export const short = (events: readonly Event[]): string[] =>
  events.map(event => {
    const facts = factsOf(event);
    const what = event.event_type.startsWith('vendor.otel-hooks.') ? String((event.data as { of: string }).of) : '';
    const why = event.event_type.endsWith('.Settled') ? String((event.data as { reason: string }).reason) : '';
    return [
      event.event_type.replace('vendor.otel-hooks.', ''),
      facts?.call ?? what,
      why,
      facts?.time === 'transcript' ? 'T' : '',
    ]
      .filter(word => word !== '')
      .join(' ');
  });

/** Rows as Claude Code writes them, of one session. */
export function rowsOf(session: string) {
  let number = 0;
  const base = (seconds: number, type: string, more: object): object => {
    number += 1;
    return {
      parentUuid: null,
      isSidechain: false,
      type,
      uuid: `row-${number}`,
      timestamp: at(seconds),
      sessionId: session,
      version: '2.1.280',
      cwd: '/w',
      ...more,
    };
  };
  return {
    prompt: (seconds: number, id: string, text = 'please', more: object = {}) =>
      base(seconds, 'user', { promptId: id, promptSource: 'typed', message: { role: 'user', content: text }, ...more }),
    assistant: (seconds: number, id: string, block: object, output: number, stop: string | null, more: object = {}) =>
      base(seconds, 'assistant', {
        requestId: `req_${id}`,
        message: {
          id,
          role: 'assistant',
          model: 'claude-sonnet-5',
          content: [block],
          stop_reason: stop,
          usage: {
            input_tokens: 10,
            cache_creation_input_tokens: 200,
            cache_read_input_tokens: 3_000,
            output_tokens: output,
          },
        },
        ...more,
      }),
    call: (id: string, name = 'Bash', input: object = { command: 'make check' }) => ({
      type: 'tool_use',
      id,
      name,
      input,
    }),
    text: (words: string) => ({ type: 'text', text: words }),
    result: (seconds: number, call: string, prompt: string, more: object = {}) =>
      base(seconds, 'user', {
        promptId: prompt,
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: call, content: 'fine' }] },
        toolUseResult: { stdout: 'fine' },
        ...more,
      }),
    system: (seconds: number, subtype: string, more: object = {}) => base(seconds, 'system', { subtype, ...more }),
  };
}

export const overwrite = (path: string, ...rows: object[]): void =>
  writeFileSync(path, rows.map(row => `${JSON.stringify(row)}\n`).join(''));
