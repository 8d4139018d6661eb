/** Chats in the form of 2026 and their events, also with dropped, repeated and truncated rows. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAbsent, type Look } from '../../../src/agents/contract/contract.ts';
import { geminiCli } from '../../../src/agents/gemini-cli/gemini-cli.ts';
import { DAMAGED_COPIES, mutated } from '../mutated.ts';
import { documentOf, lineOf, readDocument, readRows, total } from '../read-transcript.ts';

const { transcript } = geminiCli;
if (isAbsent(transcript)) throw new Error('Gemini CLI keeps chats');

const ROOT = '5b8e1f02-3c4d-4e5f-8a6b-7c8d9e0f1a2b';
const start = Date.parse('2026-10-21T08:31:00.000Z');
const at = (ms: number): string => new Date(start + ms).toISOString();

const header = { sessionId: ROOT, projectHash: 'p', startTime: at(0), lastUpdated: at(0), kind: 'main' };
const message = (ms: number, id: string, type: string, content: unknown, more: object = {}): object => ({
  id,
  timestamp: at(ms),
  type,
  content,
  ...more,
});
const asked = (ms: number, id: string, words: string): object => message(ms, id, 'user', [{ text: words }]);
const tokens = (input: number, output: number, cached: number, thoughts: number): object => ({
  tokens: { input, output, cached, thoughts, tool: 0, total: input + output + thoughts },
  model: 'gemini-3-pro',
});
const call = (ms: number, status: string, output: string, name = 'run_shell_command'): object => ({
  toolCalls: [
    {
      id: `${name}__1`,
      name,
      args: { command: 'npm test', agent_name: 'investigator' },
      status,
      timestamp: at(ms),
      agentId: 'agent-7',
      result: [{ functionResponse: { id: `${name}__1`, name, response: { output } } }],
    },
  ],
});
const updated = { $set: { lastUpdated: at(1) } };

const chat = [
  header,
  { $set: { messages: [asked(0, 'd04923d38bb0f6017037e74183378ef4', '<session_context>canary')] } },
  asked(1_000, 'u1', 'canary-prompt'),
  updated,
  message(4_000, 'g1', 'gemini', 'canary-thought', tokens(9_000, 40, 6_000, 25)),
  updated,
  message(4_000, 'g1', 'gemini', 'canary-thought', {
    ...tokens(9_000, 40, 6_000, 25),
    ...call(6_000, 'success', 'Output: canary\nExit Code: 2'),
  }),
  message(6_001, 'u2', 'user', [{ functionResponse: { id: 'run_shell_command__1' } }]),
  message(8_000, 'g2', 'gemini', 'canary-answer', tokens(9_300, 6, 9_000, 0)),
  updated,
];

const read = (rows: readonly object[], of = {}) =>
  readRows(transcript, rows.map(row => JSON.stringify(row)).join('\n'), ROOT, of);

describe('a chat', () => {
  test('reports a turn', () => {
    expect(read(chat).readings.map(lineOf)).toMatchInlineSnapshot(`
      [
        "Session.Start [start, unless hooked, 08:31:00.000] {"start_reason":"new"} {}",
        "Prompt.Submitted [u1, unless hooked, 08:31:01.000] {"prompt":"canary-prompt"} {}",
        "Model.Responded [g1, 08:31:04.000] {"model_id":"gemini-3-pro","input_tokens":9000,"output_tokens":65} {"model":"gemini-3-pro","response":"g1","started_ms":1792571461000,"usage":{"cache_read_tokens":6000,"reasoning_tokens":25}}",
        "Action.Before [run_shell_command__1, 08:31:04.000] {"action":{"name":"shell","input":{"command":"npm test","agent_name":"investigator"}}} {"call":"run_shell_command__1","tool":"run_shell_command"}",
        "Action.After [run_shell_command__1, 08:31:06.000] {"action":{"name":"shell","input":{"command":"npm test","agent_name":"investigator"},"result":{"success":false,"exit_code":2}}} {"call":"run_shell_command__1","tool":"run_shell_command","error_type":"exit_code"}",
        "Model.Responded [g2, 08:31:08.000] {"model_id":"gemini-3-pro","input_tokens":9300,"output_tokens":6} {"model":"gemini-3-pro","response":"g2","started_ms":1792571466001,"usage":{"cache_read_tokens":9000,"reasoning_tokens":0}}",
        "Agent.Response [g2, unless hooked, 08:31:08.000] {"response_length":13,"final":true} {}",
      ]
    `);
  });

  test('has the same readings when the memory goes through JSON between rows', () => {
    expect(readRows(transcript, chat.map(row => JSON.stringify(row)).join('\n'), ROOT, {}, true)).toEqual(read(chat));
  });

  test('keeps tokens of messages that are dropped, rewound or listed again', () => {
    const rows = [
      ...chat,
      { $rewindTo: 'g1' },
      { $set: { sessionId: ROOT } },
      {
        $set: {
          messages: [
            asked(0, 'c', '<session_context>'),
            message(8_000, 'g2', 'gemini', '', tokens(9_300, 6, 9_000, 0)),
          ],
        },
      },
      message(9_000, 'i1', 'info', ''),
      asked(10_000, 'u3', 'canary'),
      message(12_000, 'g3', 'gemini', 'ok', tokens(500, 1, 0, 0)),
    ];
    expect(total(read(rows).readings)).toMatchObject({ responses: 3, input: 18_800, output: 72, cacheRead: 15_000 });
    expect(
      read(rows)
        .readings.filter(each => each.event_type === 'Context.Compaction')
        .map(each => each.key),
    ).toEqual(['i1']);
  });

  test('leaves the messages of an older chat to that chat', () => {
    const rows = [header, { $set: { messages: [message(-5_000, 'g0', 'gemini', '', tokens(7, 7, 7, 7))] } }];
    expect(total(read(rows).readings).responses).toBe(0);
  });

  test('is over after an answer, unless the answer gets calls later', () => {
    const { entries } = read(chat);
    expect(entries.flatMap(each => ('over' in each ? (each.atMs ?? 0) && (each.atMs ?? 0) - start : []))).toEqual([
      4_000, 0, 8_000,
    ]);
  });

  test('reports a cancelled or failed turn', () => {
    const rows = [
      header,
      asked(1_000, 'u1', 'canary'),
      message(1_500, 'i1', 'info', 'Request cancelled.'),
      asked(2_000, 'u2', 'canary'),
      message(
        2_500,
        'e1',
        'error',
        '[API Error: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"canary"}}]',
      ),
      message(2_501, 'i2', 'info', 'This request failed.'),
    ];
    expect(
      read(rows).readings.map(each => [each.event_type, each.facts?.interrupted ?? each.facts?.error_type]),
    ).toEqual([
      ['Session.Start', undefined],
      ['Prompt.Submitted', undefined],
      ['Agent.Response', true],
      ['Prompt.Submitted', undefined],
      ['Model.Failed', 'resource_exhausted'],
      ['Agent.Error', 'resource_exhausted'],
    ]);
  });

  test('of a cancelled call end with the turn, though its row follows later', () => {
    const rows = [
      header,
      asked(1_000, 'u1', 'canary'),
      message(1_500, 'g1', 'gemini', '', { tokens: { input: 10, output: 2 } }),
      message(2_000, 'i1', 'info', 'Request cancelled.'),
      message(2_500, 'g2', 'gemini', '', call(2_500, 'cancelled', '')),
    ];
    const times = read(rows).readings.flatMap(each =>
      each.event_type.startsWith('Action.') ? [[each.event_type, (each.atMs ?? 0) - start]] : [],
    );
    expect(times).toEqual([
      ['Action.Before', 1_500],
      ['Action.After', 2_000],
    ]);
  });

  test.each([
    ['success', 'fine', 'true'],
    ['error', 'no', 'false'],
    ['cancelled', '', 'interrupted'],
    ['executing', '', 'open'],
  ])('of a call that is %s', (status, output, outcome) => {
    const rows = [header, message(1_000, 'g1', 'gemini', '', call(2_000, status, output, 'invoke_agent'))];
    const after = read(rows).readings.find(each => each.event_type === 'Action.After');
    if (after === undefined) return expect(outcome).toBe('open');
    const result = after.event_type === 'Action.After' ? after.data.action.result : undefined;
    expect(after.facts?.interrupted ? 'interrupted' : String(result?.success)).toBe(outcome);
    expect(after.facts?.launches).toEqual({ id: 'agent-7', agent: 'investigator' });
  });

  test('of a subagent begins with its file and ends with its last answer', () => {
    const { readings, entries } = read([{ ...header, kind: 'subagent' }, ...chat.slice(2)], {
      subagent: 'agent-7',
    });
    expect(readings[0]).toMatchObject({ event_type: 'Session.Start', unless: undefined });
    expect(readings.at(-1)).toMatchObject({ event_type: 'Session.End', atMs: start + 8_000 });
    expect(entries.at(-1)).toEqual({ over: 'subagent', id: 'agent-7', atMs: start + 8_000 });
  });
});

/** The form of older versions: the header's fields around the messages, each in its last state. */
const object = {
  ...header,
  messages: [chat[2], chat[6], chat[7], chat[8]],
};
const older = { path: '/h/.gemini/tmp/shop/chats/session-2026-02-03T08-31-5b8e1f02.json' };
const readObject = (text: string) => readDocument(transcript, Buffer.from(text), ROOT, older);

describe('a chat of an older version, one JSON object', () => {
  test('has the readings of the same chat in rows', () => {
    expect(readObject(JSON.stringify(object, null, 2)).readings).toEqual(read(chat).readings);
  });

  test('is recognized by its fields, other JSON is not', () => {
    const start = (text: string) => ({ rows: [], document: documentOf(Buffer.from(text)) });
    expect(transcript.sessions(older, start(JSON.stringify(object)))).toMatchObject([{ session: ROOT }]);
    for (const text of ['', '{', '[]', 'null', JSON.stringify({ ...object, kind: 'subagent' }), '{"sessionId":"x"}'])
      expect(transcript.sessions(older, start(text))).toEqual([]);
    expect(readObject('{"sessionId":"x"}').entries).toEqual([]);
  });

  test('throws nothing when it is damaged', () => {
    for (const text of mutated(JSON.stringify(object, null, 1), DAMAGED_COPIES / 5)) {
      for (const each of readObject(text).readings) {
        if (typeof each.key !== 'string') expect(each).toBe('a reading with a key');
        if (each.event_type !== 'Model.Responded') continue;
        expect(Math.min(each.data.input_tokens ?? 0, each.data.output_tokens ?? 0)).toBeGreaterThanOrEqual(0);
      }
    }
  });
});

describe('the files of a session', () => {
  const chats = '/home/dev/.gemini/tmp/shop/chats';
  const main = `${chats}/session-2026-10-21T08-31-5b8e1f02.jsonl`;
  const tree: Record<string, string[]> = {
    '/home/dev/.gemini/tmp': ['bin', 'shop'],
    [chats]: [ROOT, 'session-2026-10-21T08-31-5b8e1f02.jsonl', 'session-2025-01-01T00-00-0000aaaa.json'],
    [`${chats}/${ROOT}`]: ['agent-7.jsonl'],
  };
  const look: Look = { names: folder => tree[folder] ?? [], head: () => '' };
  const place = { cwd: undefined, main, subagents: [], home: '/home/dev', env: {} };

  test('are its chat and those of its subagents', () => {
    expect(transcript.files({ ...place, session: ROOT }, look)).toEqual([
      { path: main },
      { path: `${chats}/${ROOT}/agent-7.jsonl`, subagent: 'agent-7' },
    ]);
  });

  test('are both files of a resumed chat of the older form', () => {
    const before = `${chats}/session-2026-02-03T08-31-5b8e1f02.json`;
    const names = ['session-2026-02-03T08-31-5b8e1f02.json', 'session-2026-02-04T08-31-5b8e1f02.json'];
    const both: Look = {
      names: folder => (folder === chats ? names : []),
      head: path => (path === before ? `{ "sessionId": "${ROOT}",` : '{ "sessionId": "5b8e1f02-another"'),
    };
    expect(transcript.files({ ...place, session: ROOT }, both)).toEqual([{ path: before }, { path: main }]);
  });

  test('are none if the chat still belongs to the previous session', () => {
    expect(transcript.files({ ...place, session: 'ffff0000-aaaa' }, look)).toEqual([]);
  });

  test('are found for an import', () => {
    expect(transcript.installed({ home: '/home/dev', project: '/', env: {} }, look)).toEqual([
      { path: main },
      { path: `${chats}/session-2025-01-01T00-00-0000aaaa.json` },
    ]);
    const start = (first: object) => ({ rows: [first as Record<string, unknown>], document: undefined });
    expect(transcript.sessions({ path: main }, start({ ...header, directories: ['/home/dev/shop'] }))).toEqual([
      { session: ROOT, cwd: '/home/dev/shop', atMs: Date.parse(at(0)) },
    ]);
    expect(transcript.sessions({ path: main }, start({ ...header, kind: 'subagent' }))).toEqual([]);
    const answer = message(1, 'g1', 'gemini', 'x', tokens(1, 1, 0, 0));
    expect(transcript.sessions({ path: '/copies/quay.jsonl' }, start(answer))).toEqual([{ session: 'quay' }]);
    expect(transcript.sessions({ path: '/copies/quay.jsonl' }, start(asked(1, 'u1', 'x')))).toEqual([]);
  });
});

test('damaged, reordered or partial chats are read to the end', () => {
  const lines = chat.map(row => JSON.stringify(row));
  const picks = fc.array(
    fc.tuple(fc.nat(lines.length - 1), fc.constantFrom('', 'null', '-1e99', '"x"', '[[{}]]'), fc.nat(12)),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(picks, picked => {
      const bent = picked.map(([index, value, place]) => {
        let seen = 0;
        const line = lines[index] ?? '';
        return value === ''
          ? line
          : line.replace(/:(?:"[^"]*"|\d+|null)/g, old => (seen++ === place ? `:${value}` : old));
      });
      expect(() => readRows(transcript, bent.join('\n'), ROOT)).not.toThrow();
    }),
    { numRuns: 500 },
  );
});

test('a chat resumed in a new file is read from all its files, if any of them is named', () => {
  const folder = '/home/dev/.gemini/tmp/p/chats';
  const id = ROOT.slice(0, 8);
  const names = ['a1b2c3d4', id].map(each => `session-2026-10-21T08-31-${each}.jsonl`);
  const all = [...names, `session-2026-10-20T07-00-${id}.json`, `session-2026-10-22T09-00-${id}.jsonl`].sort();
  const look: Look = { names: path => (path === folder ? all : []), head: () => `{"sessionId": "${ROOT}"` };
  for (const main of all.filter(each => each.includes(id))) {
    const place = { session: ROOT, cwd: undefined, main: `${folder}/${main}`, subagents: [], home: '/', env: {} };
    const files = transcript.files(place, look).map(({ path }) => path.slice(folder.length + 1));
    expect(files.sort()).toEqual(all.filter(each => each.includes(id)));
  }
});
