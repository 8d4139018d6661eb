/**
 * Files in bad states: huge files, pipes, links, damage, copies of other files, and agents' files that no hook named.
 */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { factsOf } from '../../src/event/event.ts';
import { hexDigest } from '../../src/lib/hash.ts';
import { beginnings, pruned } from '../../src/lib/shorten-json.ts';
import { dueSessions } from '../../src/pipeline/due-sessions.ts';
import { findSessions } from '../../src/pipeline/find-transcripts.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { patient } from '../../src/transcripts/settlement.ts';
import { mutated } from '../agents/mutated.ts';
import { cannotRun } from '../needs.ts';
import { START_MS } from '../play.ts';
import { at, type House, openHouse, rowsOf, tokensOf } from './house.ts';

let house: House;
let rows: ReturnType<typeof rowsOf>;
beforeEach(() => {
  house = openHouse();
  rows = rowsOf(house.session);
});
afterEach(() => house.close());

const oneTurn = (prompt: string, start: number): object[] => [
  rows.prompt(start, prompt),
  rows.assistant(start + 1, `${prompt}-m`, rows.text('done'), 7, 'end_turn'),
];

describe('lines too long to parse', () => {
  test('a line of 20 MB is walked through for its ids and numbers, and counted', () => {
    const content = [
      { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'image', data: 'Q'.repeat(20 * 1024 * 1024) }] },
    ];
    house.write(
      house.main,
      rows.prompt(1, 'p1'),
      rows.assistant(2, 'm1', rows.call('c1', 'Read', { file_path: '/w/a.png' }), 9, 'tool_use'),
      rows.result(3, 'c1', 'p1', { message: { role: 'user', content } }),
      rows.assistant(4, 'm2', rows.text('a picture'), 7, 'end_turn'),
    );
    house.import();
    expect(tokensOf(house.spans())).toEqual({ calls: 2, input: 6_420, output: 16 });
    expect(house.spans().find(span => span.kind === 'action')).toMatchObject({ outcome: 'success', tool: 'Read' });
    expect(house.ledger().counters).toMatchObject({ 'odd.transcript_giant_line': 1 });
  });

  test('texts are removed; ids, numbers and structure stay', () => {
    const long = `${'x'.repeat(3_000)}\\"${'y'.repeat(3_000)}`;
    const line = `{"a":"short \\"quoted\\"","b":{"text":"${long}","n":[1,2,{"id":"i"}]},"c":[${Array.from({ length: 5_000 }, (_, i) => i).join()}],"d":true,"é":"ü"}`;
    const kept = pruned(Buffer.from(line));
    expect(kept).toEqual({
      a: 'short "quoted"',
      b: { text: '', n: [1, 2, { id: 'i' }] },
      c: Array.from({ length: 1_000 }, (_, i) => i),
      d: true,
      é: 'ü',
    });
  });

  test('a long text keeps its beginning, with any characters; other values stay unchanged', () => {
    const piece = fc.constantFrom('x', '"', '\\', '\n', 'ü', '€', '😀', '\u0001', ' words and words');
    const rows = fc
      .tuple(fc.array(piece, { maxLength: 12 }), fc.nat(200))
      .map(([parts, n]) => parts.join('').repeat(n));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.oneof(rows, fc.jsonValue()), { noNullPrototype: true }), fields => {
        const line = JSON.stringify(fields);
        const cut = beginnings(Buffer.from(line));
        const whole = JSON.parse(line, (_, value) => value) as { [key: string]: unknown };
        expect(Object.keys(cut ?? {})).toEqual(Object.keys(whole));
        for (const [key, value] of Object.entries(whole)) {
          const isLong = typeof value === 'string' && Buffer.byteLength(JSON.stringify(value)) > 1_025;
          if (!isLong) expect(cut?.[key]).toEqual(value);
          else {
            const [plain = ''] = JSON.stringify(value).slice(1).split('\\');
            const [left = '', hash] = String(cut?.[key]).split(/ ([0-9a-f]{64})$/);
            expect(value.startsWith(left)).toBe(true);
            expect(hash).toBe(hexDigest(JSON.stringify(value).slice(1, -1)));
            expect(left.length).toBeGreaterThanOrEqual(Math.min(plain.length, 60));
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test('a long result has the facts of a short one, a long answer is hashed to its end', () => {
    const linesOf = (length: number, end: string) => {
      const content = [
        { type: 'tool_result', tool_use_id: 'c1', is_error: true, content: `Exit code 3\n${'o'.repeat(length)}` },
      ];
      house.write(
        house.main,
        rows.prompt(1, 'p1'),
        rows.assistant(2, 'm1', rows.call('c1', 'Bash', { command: 'ls' }), 9, 'tool_use'),
        rows.result(3, 'c1', 'p1', { message: { role: 'user', content }, toolUseResult: 'o'.repeat(length) }),
        rows.assistant(4, 'm2', rows.text('a'.repeat(length) + end), 7, 'end_turn'),
      );
      house.import();
      const events = house.events().filter(event => event.event_type !== 'Model.Responded');
      const answer = events.find(event => event.event_type === 'Agent.Response');
      return { result: events.find(event => event.event_type === 'Action.After'), answer: answer?.data };
    };
    const long = linesOf(20_000, 'x');
    house.close();
    house = openHouse();
    rows = rowsOf(house.session);
    const short = linesOf(20, 'x');
    expect(long.result).toEqual(short.result);
    house.close();
    house = openHouse();
    rows = rowsOf(house.session);
    const other = linesOf(20_000, 'y');
    expect(long.answer).toMatchObject({ response_length: 20_001 });
    expect(other.answer).not.toEqual(long.answer);
  });

  test('long results with the same beginning differ, and equal ones are equal', () => {
    const loopsOf = (ends: readonly string[]) => {
      const calls = ends.flatMap((end, i) => {
        const call = `c${i}`;
        const content = [{ type: 'tool_result', tool_use_id: call, content: `${'o'.repeat(20_000)}${end}` }];
        return [
          rows.assistant(2 * i + 2, `m${i}`, rows.call(call, 'Bash', { command: 'ls' }), 9, 'tool_use'),
          rows.result(2 * i + 3, call, 'p1', { message: { role: 'user', content } }),
        ];
      });
      house.write(house.main, rows.prompt(1, 'p1'), ...calls);
      house.import();
      return house.events().filter(event => event.event_type === 'Retry.Loop.Detected').length;
    };
    expect(loopsOf(['1', '2', '3', '4', '5', '6'])).toBe(0);
    house.close();
    house = openHouse();
    rows = rowsOf(house.session);
    expect(loopsOf(['1', '1', '1', '1', '1', '1'])).toBe(1);
  });

  test('if results are requested, a long one is hashed to its end', () => {
    mkdirSync(join(house.home, '.config', 'otel-hooks'), { recursive: true });
    writeFileSync(join(house.home, '.config', 'otel-hooks', 'config.json'), '{"content":{"results":"hash"}}');
    const content = [{ type: 'tool_result', tool_use_id: 'c1', content: 'o'.repeat(20_000) }];
    house.write(
      house.main,
      rows.prompt(1, 'p1'),
      rows.assistant(2, 'm1', rows.call('c1', 'Bash', { command: 'ls' }), 9, 'tool_use'),
      rows.result(3, 'c1', 'p1', { message: { role: 'user', content } }),
    );
    house.import();
    const after = house.events().find(event => event.event_type === 'Action.After');
    expect(after && factsOf(after)?.content?.output?.length).toBe(20_000);
  });

  test.each(['', '[1]', '{"a":', '{"a":"x', '{"a":[1,2}', `${'['.repeat(5_000)}`])(
    'a row that is not an object is ignored: %j',
    line => {
      expect(pruned(Buffer.from(line))).toBeUndefined();
    },
  );
});

test('in a session without a transcript, an overtaken hook counts although it arrives a round later', () => {
  const call = { prompt_id: 'p1', tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } };
  const round = (seconds: number): void => {
    const due = { waiting: house.store.sessions() };
    house.round({ nowMs: START_MS + seconds * 1000, waits: patient, due });
  };
  house.hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'please' });
  house.hook(2, 'PreToolUse', call);
  house.hook(4, 'Stop', { prompt_id: 'p1' });
  round(4);
  house.hook(3, 'PostToolUse', { ...call, tool_response: {} });
  round(5);
  round(7);
  expect(house.spans().map(span => ('outcome' in span ? [span.kind, span.outcome] : []))).toEqual([
    ['action', 'success'],
    ['turn', 'completed'],
  ]);
});

test('a clock that is set back keeps no span waiting', () => {
  house.write(house.main, rows.prompt(1, 'p1'));
  house.hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'please' });
  house.hook(2, 'Stop', { prompt_id: 'p1' });
  house.round({ nowMs: START_MS + 2_000, waits: patient });
  expect(house.spans()).toEqual([]);
  house.round({ nowMs: START_MS - 86_400_000, waits: patient, due: { waiting: house.store.sessions() } });
  expect(house.spans().map(({ kind }) => kind)).toEqual(['turn']);
});

describe('an entry that is not a plain file', () => {
  test('a pipe does not block, and a folder is not a file', context => {
    if (process.platform === 'win32') cannotRun(context, 'needs named pipes of POSIX');
    mkdirSync(dirname(house.main), { recursive: true });
    execFileSync('mkfifo', [house.main]);
    house.hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'please' });
    house.hook(2, 'Stop', { prompt_id: 'p1' });
    house.round();
    expect(house.spans().map(span => span.kind)).toEqual(['turn']);
    rmSync(house.main);
    mkdirSync(house.main);
    house.hook(3, 'UserPromptSubmit', { prompt_id: 'p2', prompt: 'please' });
    house.hook(4, 'Stop', { prompt_id: 'p2' });
    house.round();
    expect(house.spans().map(span => span.kind)).toEqual(['turn', 'turn']);
  });

  test('a file of many gigabytes takes little time, and is counted once', () => {
    house.write(house.main, ...oneTurn('p1', 1));
    truncateSync(house.main, 5 * 1024 * 1024 * 1024);
    for (const prompt of ['p1', 'p2']) {
      house.hook(1, 'UserPromptSubmit', { prompt_id: prompt, prompt: 'please' });
      house.hook(2, 'Stop', { prompt_id: prompt });
      house.round();
    }
    expect(house.ledger()).toMatchObject({ counters: { 'odd.transcript_large_file': 1 }, transcripts: { read: 0 } });
  });

  test('a device, a relative path and a name with NUL count as missing', () => {
    const eyes = diskEyes();
    mkdirSync(join(house.home, 'x'));
    symlinkSync('/dev/zero', join(house.home, 'x', 'zero'));
    for (const path of ['/dev/zero', join(house.home, 'x', 'zero'), 'x', '/tmp/\0', ''])
      expect([eyes.stat(path), eyes.read(path, 0, 10).length, eyes.head(path)]).toEqual([undefined, 0, '']);
    expect(eyes.names('/no/such/folder')).toEqual([]);
  });

  test('a folder is listed again only after a change, so that an import of many sessions lists it once', () => {
    const folder = join(house.home, 'many');
    mkdirSync(folder);
    const eyes = diskEyes();
    const write = (name: string, secondsAgo: number): void => {
      writeFileSync(join(folder, name), '');
      utimesSync(folder, Date.now() / 1000 - secondsAgo, Date.now() / 1000 - secondsAgo);
    };
    write('a.jsonl', 60);
    const names = eyes.names(folder);
    expect(eyes.names(folder)).toBe(names);
    write('b.jsonl', 30);
    expect(eyes.names(folder)).toEqual(['a.jsonl', 'b.jsonl']);
    // A change within the steps of a file system's clock leaves the time as it is.
    write('c.jsonl', 0);
    const { mtimeMs } = statSync(folder);
    expect(eyes.names(folder)).toHaveLength(3);
    writeFileSync(join(folder, 'd.jsonl'), '');
    utimesSync(folder, mtimeMs / 1000, mtimeMs / 1000);
    expect(eyes.names(folder)).toHaveLength(4);
  });
});

describe('damage', () => {
  test('an invalid line affects only itself', () => {
    const [prompt, answer] = oneTurn('p1', 1);
    house.write(house.main, prompt as object, '{"half":\n', '\n', 'null\n', '\u0000\u0001\n', answer as object);
    house.import();
    expect(tokensOf(house.spans())).toEqual({ calls: 1, input: 3_210, output: 7 });
    expect(house.ledger().counters).toMatchObject({ 'odd.transcript_bad_line': 3 });
  });

  test('a last line without its line end counts when it is complete', () => {
    const [prompt, answer] = oneTurn('p1', 1);
    house.write(house.main, prompt as object, JSON.stringify(answer));
    house.import();
    expect(tokensOf(house.spans()).calls).toBe(1);
    house.write(house.main, '\n', ...oneTurn('p2', 100));
    house.import();
    expect(tokensOf(house.spans()).calls).toBe(2);
  });
});

test('damaged copies are read and delivered: nothing throws, no span is sent twice, the accounts balance', () => {
  const sample = readFileSync(join(import.meta.dirname, '..', 'agents', 'claude-code', 'session.transcript'), 'utf8');
  const lines = sample.split('\n').filter(line => line.startsWith('{'));
  const session = '0c6a3a5e-6f1b-4d0e-9d5e-2f6f1d1f7a01';
  const damaged = openHouse('claude-code', session);
  try {
    for (const text of mutated(lines.join('\n'), process.env.OTEL_HOOKS_TEST_SIZE === undefined ? 15 : 2_000)) {
      // Each copy replaces the one before it: known rows add no event, new rows do.
      mkdirSync(dirname(damaged.main), { recursive: true });
      writeFileSync(damaged.main, text);
      damaged.hook(1, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'please' });
      damaged.hook(5_000, 'Stop', { prompt_id: 'p1' });
      damaged.round();
      const { transcripts } = damaged.ledger();
      expect(transcripts.read).toBe(transcripts.journaled + transcripts.duplicate);
    }
    const spans = damaged.spans();
    const names = spans.map(span => JSON.stringify([span.trace, span.key]));
    expect(new Set(names).size).toBe(names.length);
    for (const span of spans) expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
    expect(damaged.ledger().counters).not.toHaveProperty('odd.transcript_reader_failed');
  } finally {
    damaged.close();
  }
}, 600_000);

describe('copies', () => {
  test('a session that begins with copies of another one adds only its new events', () => {
    const first = [...oneTurn('p1', 1), ...oneTurn('p2', 10)];
    house.write(house.main, ...first);
    const fork = '99999999-2222-4333-8444-555555555555';
    const copied = first.map(row => ({ ...row, sessionId: fork }));
    const more = [rows.prompt(50, 'p3'), rows.assistant(51, 'm3', rows.text('new'), 11, 'end_turn')];
    house.write(
      join(dirname(house.main), `${fork}.jsonl`),
      ...copied,
      ...more.map(row => ({ ...row, sessionId: fork })),
    );
    const rounds = house.import();
    const chats = rounds.flatMap(({ outputs }) =>
      outputs.flatMap(({ state, spans }) => spans.filter(span => span.kind === 'chat').map(() => state.session)),
    );
    expect(chats.sort()).toEqual([house.session, house.session, fork].sort());
  });

  test('rows that name the session of their origin belong to it, and to the fork if it is unknown', () => {
    const fork = '99999999-2222-4333-8444-555555555555';
    const path = (): string => join(dirname(house.main), `${fork}.jsonl`);
    // Only the end of a long session is copied.
    const first = [...oneTurn('p1', 1), ...oneTurn('p2', 10)];
    const copied = first.slice(2).map(row => ({
      ...row,
      sessionId: fork,
      forkedFrom: { sessionId: house.session, messageUuid: (row as { uuid: string }).uuid },
    }));
    const more = oneTurn('p3', 50).map(row => ({ ...row, sessionId: fork }));
    const chats = (): unknown[] =>
      house
        .import()
        .flatMap(({ outputs }) => outputs)
        .map(({ state, spans }) => [state.session, tokensOf(spans).calls]);
    house.write(path(), ...copied, ...more);
    expect(chats()).toEqual([[fork, 2]]);
    house.close();

    house = openHouse();
    house.write(path(), ...copied, ...more);
    house.write(house.main, ...first);
    expect(chats().sort()).toEqual([
      [house.session, 2],
      [fork, 1],
    ]);
  });

  test('a session that begins with rows of another session has the name of its file', () => {
    const next = '99999999-2222-4333-8444-555555555555';
    const own = [rows.prompt(50, 'p2'), rows.assistant(51, 'm2', rows.text('new'), 11, 'end_turn')];
    house.write(
      join(dirname(house.main), `${next}.jsonl`),
      ...oneTurn('p1', 1),
      ...own.map(row => ({ ...row, sessionId: next })),
    );
    const outputs = house.import().flatMap(each => each.outputs);
    expect(outputs.map(({ state, spans }) => [state.session, tokensOf(spans).output])).toEqual([[next, 11]]);
  });

  test('rows of another session in a file belong to that session', () => {
    const other = oneTurn('p9', 1).map(row => ({ ...row, sessionId: 'another' }));
    house.write(house.main, ...oneTurn('p1', 1), ...other);
    house.import();
    expect(tokensOf(house.spans()).calls).toBe(1);
  });
});

describe('subagents', () => {
  const side = (row: object, agent: string): object => ({ ...row, isSidechain: true, agentId: agent });
  const agent = 'a1b2c3d4e5f60718';
  const work = (): object[] => [
    rows.prompt(1, 'p1'),
    rows.assistant(2, 'm1', rows.call('c1', 'Agent', { subagent_type: 'Explore' }), 9, 'tool_use'),
    rows.result(30, 'c1', 'p1', { toolUseResult: { status: 'completed', agentId: agent, agentType: 'Explore' } }),
    rows.assistant(31, 'm2', rows.text('done'), 7, 'end_turn'),
  ];
  const theirs = (): object[] => [
    side(rows.prompt(3, 'p1', 'look around'), agent),
    side(rows.assistant(5, 'm-sub', rows.text('nothing'), 3, 'end_turn'), agent),
  ];

  test.each([
    ['below the main file', (main: string) => `${main.replace('.jsonl', '')}/subagents/agent-${agent}.jsonl`],
    ['beside the main file, as old versions have it', (main: string) => join(dirname(main), `agent-${agent}.jsonl`)],
  ])('are found %s, below the call that launched them', (_, pathOf) => {
    house.write(house.main, ...work());
    house.write(pathOf(house.main), ...theirs());
    house.import();
    const spans = house.spans();
    const launch = spans.find(span => span.kind === 'action');
    const subagent = spans.find(span => span.kind === 'subagent');
    expect(subagent).toMatchObject({
      agent: 'Explore',
      outcome: 'completed',
      parent: launch?.key,
      usage: { calls: 1, output: 3 },
    });
    expect(spans.find(span => span.kind === 'turn')).toMatchObject({ usage: { calls: 2, output: 16 } });
    expect(spans.find(span => span.kind === 'session')).toMatchObject({
      usage: { calls: 3, output: 19 },
      subagents: 1,
    });
  });

  test('are found beside a copy of the main file for every form of its path, if their rows name the session', () => {
    const main = join(house.home, 'copy', 'main.jsonl');
    const theirOwn = theirs().map(row => {
      const { sessionId, ...rest } = row as { sessionId: string };
      return { ...rest, why: 'x'.repeat(5_000), sessionId };
    });
    const spaced = theirs().map(row => `${JSON.stringify(row).replaceAll('":', '": ')}\n`);
    house.write(main, ...work());
    house.write(join(dirname(main), 'subagents', `agent-${agent}.jsonl`), ...theirOwn);
    house.write(join(dirname(main), 'subagents', 'agent-a9b8c7d6e5f40312.jsonl'), ...spaced);
    house.import({ paths: [main] });
    expect(house.spans().filter(span => span.kind === 'subagent').length).toBe(2);
  });

  test.each([
    ['hooks that name their turns', { prompt_id: 'p1' }],
    ['hooks that name no turn', {}],
  ])('events of a transcript before the first hook are recorded once: %s', (_, turn) => {
    house.write(house.main, ...work());
    house.write(`${house.main.replace('.jsonl', '')}/subagents/agent-${agent}.jsonl`, ...theirs());
    const child = { agent_id: agent, agent_type: 'Explore' };
    const call = { tool_name: 'Agent', tool_use_id: 'c1', tool_input: { subagent_type: 'Explore' }, ...turn };
    const later = 86_400;
    house.hook(later, 'SessionStart', { source: 'startup' });
    house.hook(later + 1, 'UserPromptSubmit', { prompt: 'please', ...turn });
    house.hook(later + 2, 'PreToolUse', call);
    house.hook(later + 3, 'SubagentStart', child);
    house.hook(later + 4, 'SubagentStop', { ...child, stop_hook_active: false });
    house.hook(later + 5, 'PostToolUse', { ...call, tool_response: { status: 'completed', agentId: agent } });
    house.hook(later + 6, 'Stop', { stop_hook_active: false, ...turn });
    house.round();
    const kinds = (): string[] => house.spans().map(({ kind }) => kind);
    expect(kinds().sort()).toEqual(['action', 'chat', 'chat', 'chat', 'subagent', 'turn']);
    for (const span of house.spans()) expect(span.endMs, span.kind).toBeLessThan(START_MS + 60_000);
    expect(house.spans().find(span => span.kind === 'subagent')).toMatchObject({ usage: { calls: 1, output: 3 } });
    // Facts that no row has reported count as new.
    house.hook(later + 10, 'UserPromptSubmit', { prompt: 'and now', prompt_id: 'p2' });
    house.hook(later + 11, 'SubagentStart', { agent_id: 'another', agent_type: 'Explore' });
    house.hook(later + 12, 'SubagentStop', { agent_id: 'another', agent_type: 'Explore' });
    house.hook(later + 13, 'Stop', { stop_hook_active: false, prompt_id: 'p2' });
    house.round();
    expect(kinds().filter(kind => kind === 'turn' || kind === 'subagent')).toHaveLength(4);
  });

  test('hooks of a continued session, without a turn or an id, do not match earlier events of the transcript', () => {
    // The CLI's own sessions have UUIDs: there the log alone reports calls.
    const session = 'session-of-another-host';
    const other = openHouse('copilot', session);
    const main = join(other.home, '.copilot', 'session-state', session, 'events.jsonl');
    let id = 0;
    const row = (seconds: number, type: string, data: object): void => {
      id += 1;
      other.write(main, { type, data, id: `row-${id}`, timestamp: at(seconds), parentId: null });
    };
    try {
      row(0, 'session.start', { sessionId: session, producer: 'copilot-agent' });
      row(1, 'user.message', { content: 'mend it' });
      row(2, 'tool.execution_start', { toolCallId: 'call_1', toolName: 'bash', arguments: { command: 'ls' } });
      row(3, 'tool.execution_complete', { toolCallId: 'call_1', success: true });
      row(4, 'assistant.message', { messageId: 'm1', content: 'mended', outputTokens: 9 });
      other.import();
      const types = (): string[] => other.events().map(({ event_type }) => event_type);
      const before = types().length;
      const later = 86_400;
      const hook = (seconds: number, event: string, fields: object): void =>
        other.hook(later + seconds, event, { timestamp: at(later + seconds), transcript_path: main, ...fields });
      const call = { tool_name: 'bash', tool_input: { command: 'pwd' } };
      hook(0, 'SessionStart', { source: 'resume' });
      hook(1, 'UserPromptSubmit', { prompt: 'and now' });
      hook(2, 'PreToolUse', call);
      hook(3, 'PostToolUse', { ...call, tool_result: { result_type: 'success' } });
      hook(4, 'Stop', { stop_reason: 'end_turn' });
      other.round();
      expect(
        types()
          .slice(before)
          .filter(type => !type.startsWith('vendor.')),
      ).toEqual(['Session.Start', 'Prompt.Submitted', 'Action.Before', 'Action.After', 'Agent.Response']);
    } finally {
      other.close();
    }
  });

  test('a shared id is matched before the turn: a call of hooks with an id matches no other call', () => {
    const session = '019f2c1a-7b30-7c11-9a52-0e5d4f6a7b81';
    const other = openHouse('codex', session);
    const main = join(
      other.home,
      '.codex',
      'sessions',
      '2026',
      '10',
      '20',
      `rollout-2026-10-20T09-14-02-${session}.jsonl`,
    );
    const row = (seconds: number, type: string, payload: object): void =>
      other.write(main, { timestamp: at(seconds), type, payload });
    try {
      row(0, 'session_meta', { id: session, timestamp: at(0), cwd: other.home, cli_version: '0.159.2' });
      row(1, 'event_msg', { type: 'task_started', turn_id: 't1' });
      const shell = { type: 'function_call', name: 'shell', call_id: 'c1', arguments: '{"command":["ls"]}' };
      row(2, 'response_item', shell);
      row(3, 'response_item', { type: 'function_call_output', call_id: 'c1', output: 'Process exited with code 0' });
      row(4, 'response_item', { type: 'custom_tool_call', name: 'exec', input: 'run()', call_id: 'c2' });
      const nested = { type: 'CommandExecution', id: 'n1', status: 'completed', exit_code: 0 };
      row(5, 'event_msg', { type: 'item_completed', turn_id: 't1', completed_at_ms: START_MS + 5_000, item: nested });
      row(6, 'response_item', { type: 'custom_tool_call_output', call_id: 'c2', output: 'Script completed' });
      row(7, 'event_msg', { type: 'task_complete', turn_id: 't1', last_agent_message: 'done' });
      other.import();
      const actions = (): string[] =>
        other.events().flatMap(({ event_type: type }) => (/^Action/.test(type) ? type : []));
      const before = actions();
      expect(before).toHaveLength(6);
      other.hook(86_400, 'SessionStart', { transcript_path: main, source: 'startup' });
      for (const id of ['c1', 'exec-1']) {
        const call = {
          transcript_path: main,
          turn_id: 't1',
          tool_name: 'Bash',
          tool_input: { command: 'ls' },
          tool_use_id: id,
        };
        other.hook(86_401, 'PreToolUse', call);
        other.hook(86_402, 'PostToolUse', { ...call, tool_response: '' });
      }
      other.round();
      expect(actions()).toEqual(before);
    } finally {
      other.close();
    }
  });

  test('an internal agent of the program has cost, but is not a subagent', () => {
    house.write(house.main, ...work());
    const path = `${house.main.replace('.jsonl', '')}/subagents/agent-acompact-0a1b2c.jsonl`;
    house.write(path, ...theirs().map(row => ({ ...row, agentId: 'acompact-0a1b2c' })));
    house.import();
    expect(house.spans().filter(span => span.kind === 'subagent' && span.id !== agent)).toEqual([]);
    expect(tokensOf(house.spans())).toEqual({ calls: 3, input: 9_630, output: 19 });
  });
});

describe('import', () => {
  test.each([
    ['150 rows about other sessions', Array.from({ length: 150 }, (_, i) => ({ type: 'summary', leafUuid: `l${i}` }))],
    ['a picture in the first prompt', [{ type: 'attachment', data: 'Q'.repeat(900_000) }]],
  ])('knows a transcript that begins with %s', (_, first) => {
    house.write(house.main, ...first, ...oneTurn('p1', 1));
    for (const paths of [[], [house.main]])
      expect(search({ paths }).found.map(({ session }) => session)).toEqual([house.session]);
  });

  const search = (more: object = {}) =>
    findSessions({
      agents,
      paths: [],
      places: { home: house.home, project: house.home, env: {} },
      eyes: diskEyes(),
      sinceMs: 0,
      ...more,
    });

  test('finds transcripts below the home, or the named ones', () => {
    house.write(house.main, ...oneTurn('p1', 1));
    writeFileSync(join(house.home, 'notes.txt'), 'nothing of anybody');
    expect(search().found.map(found => [found.agent.id, found.session])).toEqual([['claude-code', house.session]]);
    expect(search({ paths: [dirname(house.main)] }).found).toHaveLength(1);
    expect(search({ paths: [join(house.home, 'notes.txt'), join(house.home, 'gone')] })).toMatchObject({
      found: [],
      without: [join(house.home, 'notes.txt'), join(house.home, 'gone')],
    });
    expect(search({ sinceMs: Date.now() + 1_000 }).found).toEqual([]);
  });

  test('durations of events that only a transcript reports come from its clock', () => {
    house.write(house.main, ...oneTurn('p1', 1), ...oneTurn('p2', 20));
    house.import();
    const clocks = (): [string, string][] =>
      house
        .spans()
        .flatMap(({ kind, duration }): [string, string][] =>
          kind === 'turn' || kind === 'session' ? [[kind, duration]] : [],
        );
    expect(clocks()).toEqual([
      ['turn', 'transcript'],
      ['turn', 'transcript'],
      ['session', 'transcript'],
    ]);
  });

  test('a session of many rounds is imported completely, and a second import adds nothing', () => {
    for (let turn = 0; turn < 40; turn += 1) house.write(house.main, ...oneTurn(`p${turn}`, 1 + turn * 10));
    const rounds = house.import({ bytes: 2_000 });
    expect(rounds.length).toBeGreaterThan(5);
    expect(tokensOf(house.spans())).toEqual({ calls: 40, input: 40 * 3_210, output: 280 });
    const before = house.events();
    const again = house.import();
    expect(house.events()).toEqual(before);
    expect(again.map(({ counts }) => counts.read)).toEqual([0]);
    expect(house.ledger().transcripts).toMatchObject({ duplicate: 0 });
  });

  test('an import that was stopped ends after a day as incomplete; a later import adds the rest', () => {
    for (let turn = 0; turn < 40; turn += 1) house.write(house.main, ...oneTurn(`p${turn}`, 1 + turn * 10));
    const nowMs = START_MS + 10 * 86_400_000;
    const later = (hours: number): void => {
      const atMs = nowMs + hours * 3_600_000;
      house.round({ nowMs: atMs, due: { silent: dueSessions(house.store, atMs).silent } });
    };
    house.import({ nowMs, bytes: 2_000, most: 2 });
    const { calls } = tokensOf(house.spans());
    expect(calls).toBeLessThan(40);
    later(23);
    expect(house.spans().filter(span => span.kind === 'session')).toEqual([]);
    later(25);
    const [session] = house.spans().filter(span => span.kind === 'session');
    expect(session).toMatchObject({ complete: false });
    expect(tokensOf(house.spans())).toMatchObject({ calls });
    const before = house.events();
    later(26);
    expect(house.events()).toEqual(before);
    expect(house.ledger().transcripts).toMatchObject({ duplicate: 0 });
    house.import({ nowMs: nowMs + 30 * 3_600_000 });
    expect(tokensOf(house.spans())).toEqual({ calls: 40, input: 40 * 3_210, output: 280 });
  });

  test('a session without state is known from its journal', () => {
    house.write(house.main, ...oneTurn('p1', 1));
    house.import();
    const [key = ''] = house.store.sessions();
    house.store.commit({ sessions: [{ key, state: undefined }] });
    house.write(house.main, ...oneTurn('p2', 100));
    house.import();
    expect(tokensOf(house.spans())).toEqual({ calls: 2, input: 6_420, output: 14 });
    const names = house.spans().map(span => JSON.stringify([span.trace, span.key]));
    expect(new Set(names).size).toBe(names.length);
  });

  test('no text of it is journaled', () => {
    const canary = 'CANARY-7f3a';
    house.write(
      house.main,
      rows.prompt(1, 'p1', canary),
      rows.assistant(2, 'm1', rows.call('c1', 'Bash', { command: `grep ${canary} x` }), 9, 'tool_use'),
      rows.result(3, 'c1', 'p1', {
        message: {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'c1', content: canary, is_error: true }],
        },
        toolUseResult: `Error: ${canary}`,
      }),
      rows.assistant(4, 'm2', rows.text(canary), 7, 'end_turn'),
    );
    house.import();
    expect(house.events().length).toBeGreaterThan(5);
    expect(JSON.stringify(house.events())).not.toContain(canary);
  });

  test('rows about requests are not parsed, and no text of them or of a summary of hooks is journaled', () => {
    const canary = 'CANARY-51c0';
    const skipped = ['api-request', 'api-request-shape', 'api-request-blob', 'tools-used', 'last-prompt', 'atis-latch'];
    house.write(
      house.main,
      rows.prompt(1, 'p1'),
      // A parser would count these rows as damaged, and the last one as too long.
      ...skipped.map(type => `{"type":"${type}","text":"${canary}" this is not JSON\n`),
      `{"type":"api-request-blob","text":"${canary}${'x'.repeat(9 * 1024 * 1024)}"}\n`,
      rows.assistant(2, 'm1', rows.text('done'), 7, 'end_turn'),
      rows.system(3, 'stop_hook_summary', { hookInfos: [{ command: canary }], stopReason: canary }),
    );
    house.import();
    expect(tokensOf(house.spans())).toEqual({ calls: 1, input: 3_210, output: 7 });
    expect(Object.keys(house.ledger().counters).filter(name => name.startsWith('odd.'))).toEqual([]);
    expect(JSON.stringify([house.events(), house.spans()])).not.toContain(canary);
  });

  test('times are the rows', () => {
    house.write(house.main, ...oneTurn('p1', 1));
    house.import({ nowMs: START_MS + 86_400_000 });
    expect(house.spans().find(span => span.kind === 'turn')).toMatchObject({
      startMs: Date.parse(at(1)),
      endMs: Date.parse(at(2)),
      outcome: 'completed',
    });
  });
});
