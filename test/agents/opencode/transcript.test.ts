/**
 * `sessions.db` is a database of our own in V1's form, written by SQLite 3.40: two sessions, one with a child. `later.db` has the same
 * tables and one session, whose message is in a table of V2.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { isAbsent } from '../../../src/agents/contract/contract.ts';
import { openCode } from '../../../src/agents/opencode/opencode.ts';
import { openDatabase } from '../../../src/lib/sqlite.ts';
import { findSessions } from '../../../src/pipeline/find-transcripts.ts';
import { diskEyes } from '../../../src/transcripts/eyes.ts';
import { needsShared, sharedPath } from '../../shared.ts';
import { openHouse } from '../../transcripts/house.ts';
import { DAMAGED_COPIES, mutated } from '../mutated.ts';
import { documentOf, lineOf, readDocument, total } from '../read-transcript.ts';

const { transcript } = openCode;
if (isAbsent(transcript)) throw new Error('OpenCode keeps a database');

const bytes = readFileSync(join(import.meta.dirname, 'sessions.db'));
const read = (session: string, from = bytes) => readDocument(transcript, from, session, { session }).readings;

test('a database names its sessions, and children belong to the session of their parent', () => {
  const found = transcript.sessions({ path: 'x' }, { rows: [], document: documentOf(bytes) });
  expect(found.map(each => [each.session, each.cwd])).toEqual([
    ['ses_a', '/home/dev/shop'],
    ['ses_c', '/home/dev/shop'],
  ]);
});

test('a session has the readings of its messages and parts, in order', () => {
  expect(read('ses_a').map(lineOf)).toMatchInlineSnapshot(`
    [
      "Session.Start [start, 08:53:20.000] {"start_reason":"new"} {}",
      "Prompt.Submitted [msg_1, 08:53:20.100] {"prompt":"canary-prompt"} {"turn":"msg_1"}",
      "Action.Before [call_1, 08:53:21.000] {"action":{"name":"shell","input":{"command":"npm test"}}} {"turn":"msg_1","call":"call_1","tool":"bash"}",
      "Action.After [call_1, 08:53:22.000] {"action":{"name":"shell","input":{"command":"npm test"},"result":{"success":false,"exit_code":1}}} {"turn":"msg_1","call":"call_1","tool":"bash","duration_ms":1000,"error_type":"exit_code"}",
      "Action.Before [call_2, 08:53:22.500] {"action":{"name":"agent","input":{"subagent_type":"explore","prompt":"canary"}}} {"turn":"msg_1","call":"call_2","tool":"task","launches":{"id":"ses_b","agent":"explore"}}",
      "Model.Responded [msg_2, 08:53:22.500] {"model_id":"gpt-5.5","input_tokens":1100,"output_tokens":15} {"turn":"msg_1","model":"gpt-5.5","provider":"openai","finish":"tool-calls","response":"msg_2","cost_usd":0.25,"usage":{"cache_read_tokens":1000,"cache_write_tokens":0,"reasoning_tokens":5},"started_ms":1792400000200}",
      "Session.Start [start, of ses_b, 08:53:23.000] {"start_reason":"new"} {"agent":"explore"}",
      "Prompt.Submitted [msg_4, of ses_b, 08:53:23.100] {"prompt":"canary"} {"agent":"explore","turn":"msg_4"}",
      "Action.Before [call_3, of ses_b, 08:53:24.000] {"action":{"name":"read_file","input":{"filePath":"canary"}}} {"agent":"explore","turn":"msg_4","call":"call_3","tool":"read"}",
      "Model.Responded [msg_5, of ses_b, 08:53:24.000] {"model_id":"gpt-5.5","input_tokens":30,"output_tokens":4} {"agent":"explore","turn":"msg_4","model":"gpt-5.5","provider":"openai","response":"msg_5","cost_usd":0.25,"usage":{"cache_read_tokens":0,"cache_write_tokens":0,"reasoning_tokens":1},"started_ms":1792400003200}",
      "Action.After [call_3, of ses_b, 08:53:24.100] {"action":{"name":"read_file","input":{"filePath":"canary"},"result":{"success":false,"error_message":"canary"}}} {"agent":"explore","turn":"msg_4","call":"call_3","tool":"read","duration_ms":100,"error_type":"tool_error"}",
      "Agent.Response [msg_5, of ses_b, unless hooked, 08:53:28.000] {"final":true} {"agent":"explore","turn":"msg_4"}",
      "Session.End [end, of ses_b, unless hooked, 08:53:28.000] {"end_reason":"completed"} {"agent":"explore"}",
      "Action.After [call_2, 08:53:28.500] {"action":{"name":"agent","input":{"subagent_type":"explore","prompt":"canary"},"result":{"success":true}}} {"turn":"msg_1","call":"call_2","tool":"task","launches":{"id":"ses_b","agent":"explore"},"duration_ms":6000}",
      "Model.Responded [msg_3, 08:53:31.000] {"model_id":"gpt-5.5","input_tokens":2200,"output_tokens":20} {"turn":"msg_1","model":"gpt-5.5","provider":"openai","finish":"stop","response":"msg_3","cost_usd":0.25,"usage":{"cache_read_tokens":2000,"cache_write_tokens":0,"reasoning_tokens":0},"started_ms":1792400009100}",
      "Agent.Response [msg_3, unless hooked, 08:53:31.000] {"response":"canary-answer","final":true} {"turn":"msg_1"}",
    ]
  `);
  expect(total(read('ses_a'))).toEqual({
    responses: 3,
    input: 1_100 + 2_200 + 30,
    output: 15 + 20 + 4,
    cacheRead: 3_000,
    cacheWrite: 0,
    reasoning: 6,
  });
  expect(read('ses_c').map(each => each.event_type)).toEqual(['Session.Start', 'Prompt.Submitted']);
});

test('an import reports that it does not read sessions of V2', () => {
  const later = readFileSync(join(import.meta.dirname, 'later.db'));
  expect(transcript.sessions({ path: 'x' }, { rows: [], document: documentOf(later) })).toEqual([]);
  const house = openHouse('opencode', 'ses_v2');
  try {
    const path = join(house.home, '.local/share/opencode/opencode.db');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, later);
    const places = { home: house.home, project: house.home, env: {} };
    const search = { agents: [openCode], places, eyes: diskEyes(), sinceMs: 0 };
    for (const paths of [[], [path]]) {
      const { found, without, passed } = findSessions({ ...search, paths });
      expect([found, without]).toEqual([[], []]);
      expect(passed).toMatchObject([
        { agent: 'opencode', files: 1, path, why: expect.stringContaining('V2') as string },
      ]);
    }
  } finally {
    house.close();
  }
});

test('a session that stands in the write-ahead log alone is found', () => {
  const empty = bytes.subarray(0, 512);
  const pages = Math.floor(bytes.length / 512);
  const header = Buffer.alloc(32);
  header.writeUInt32BE(512, 8);
  const frames = Array.from({ length: pages }, (_, i) => {
    const frame = Buffer.alloc(24);
    frame.writeUInt32BE(i + 1, 0);
    frame.writeUInt32BE(i + 1 === pages ? pages : 0, 4);
    return Buffer.concat([frame, bytes.subarray(i * 512, (i + 1) * 512)]);
  });
  const log = Buffer.concat([header, ...frames]);
  const document = { ...documentOf(empty), beside: (ending: string) => (ending === '-wal' ? log : undefined) };
  expect(transcript.sessions({ path: 'x' }, { rows: [], document }).map(each => each.session)).toEqual([
    'ses_a',
    'ses_c',
  ]);
  expect(transcript.sessions({ path: 'x' }, { rows: [], document: documentOf(empty) })).toEqual([]);
});

test('another file or a damaged one gives no reading that is not in it', () => {
  expect(transcript.sessions({ path: 'x' }, { rows: [], document: documentOf(Buffer.from('{}')) })).toEqual([]);
  expect(read('ses_a', bytes.subarray(0, 700))).toEqual([]);
  const shelf = readFileSync(join(import.meta.dirname, '../../lib/sqlite/shelf.db'));
  expect(transcript.sessions({ path: 'x' }, { rows: [], document: documentOf(shelf) })).toEqual([]);
});

test('damaged copies are read without a throw, and no count is negative', () => {
  // Bytes, not characters: a database is not a text.
  const text = bytes.toString('latin1');
  let before = 0;
  for (const copy of mutated(text, DAMAGED_COPIES < 10_000 ? DAMAGED_COPIES / 5 : DAMAGED_COPIES)) {
    const damaged = Buffer.from(copy, 'latin1');
    transcript.sessions({ path: 'x' }, { rows: [], document: documentOf(damaged) });
    const readings = read('ses_a', damaged);
    before += readings.length;
    for (const { data } of readings)
      if ('input_tokens' in data && typeof data.input_tokens === 'number')
        expect(data.input_tokens).toBeGreaterThanOrEqual(0);
  }
  expect(before).toBeGreaterThan(DAMAGED_COPIES / 5);
}, 600_000);

test('single files of versions before 1.1 give the readings of the tables', () => {
  const house = openHouse('opencode', 'ses_a');
  try {
    const storage = join(house.home, '.local/share/opencode/storage');
    const tables = openDatabase(documentOf(bytes));
    for (const { id, parent_id, directory, time_created, time_updated } of tables?.rows('session') ?? []) {
      const session = { id, parentID: parent_id ?? undefined, directory };
      const time = { created: time_created, updated: time_updated };
      house.write(join(storage, 'session', 'p1', `${id}.json`), JSON.stringify({ ...session, time }));
    }
    for (const { id, session_id, data } of tables?.rows('message') ?? [])
      house.write(join(storage, 'message', String(session_id), `${id}.json`), String(data));
    for (const { id, message_id, data } of tables?.rows('part') ?? [])
      house.write(join(storage, 'part', String(message_id), `${id}.json`), String(data));
    const search = { agents: [openCode], sinceMs: 0, places: { home: house.home, project: '/', env: {} } };
    const { found } = findSessions({ ...search, paths: [], eyes: diskEyes() });
    expect(found.map(each => each.session).sort()).toEqual(['ses_a', 'ses_c']);
    const main = join(storage, 'session', 'p1', 'ses_a.json');
    const [file] = transcript.files(
      { ...search.places, session: 'ses_a', cwd: undefined, main, subagents: [] },
      diskEyes(),
    );
    const companions = file?.beside?.map(path => readFileSync(path)) ?? [];
    const of = { ...file, session: 'ses_a', companions };
    const { readings } = readDocument(transcript, readFileSync(main), 'ses_a', of);
    expect(readings.map(lineOf)).toEqual(read('ses_a').map(lineOf));
    house.import({ nowMs: Date.UTC(2027, 0, 1) });
    const before = house.events().length;
    expect(house.spans().filter(span => span.kind === 'chat').length).toBeGreaterThan(2);
    house.import({ nowMs: Date.UTC(2027, 0, 1) });
    expect(house.events().length).toBe(before);
  } finally {
    house.close();
  }
});

test('the summary of a compaction ends it', () => {
  const main = '/x/storage/session/p1/ses_a.json';
  const row = { id: 'ses_a', directory: '/home/dev/shop', time: { created: 1 } };
  const message = (id: string, createdMs: number, more: object): [string, object] => [
    `/x/storage/message/ses_a/${id}.json`,
    { id, time: { created: createdMs }, ...more },
  ];
  const part = (message: string, more: object): [string, object] => [`/x/storage/part/${message}/prt_1.json`, more];
  const answer = { role: 'assistant', modelID: 'm', providerID: 'p', tokens: { input: 5, output: 1 }, finish: 'stop' };
  const companions = [
    message('msg_1', 1_000, { role: 'user' }),
    message('msg_2', 2_000, { role: 'user' }),
    message('msg_3', 3_000, {
      ...answer,
      parentID: 'msg_2',
      summary: true,
      time: { created: 3_000, completed: 4_000 },
    }),
    part('msg_1', { type: 'text', text: 'go' }),
    part('msg_2', { type: 'compaction', auto: true }),
    part('msg_3', { type: 'text', text: 'a summary', time: { start: 3_500, end: 3_900 } }),
  ] satisfies [string, object][];
  const of = {
    path: main,
    session: 'ses_a',
    beside: companions.map(([path]) => path),
    companions: companions.map(([, value]) => Buffer.from(JSON.stringify(value))),
  };
  const { readings } = readDocument(transcript, Buffer.from(JSON.stringify(row)), 'ses_a', of);
  expect(
    readings.flatMap(({ event_type, facts, atMs }) =>
      event_type === 'Context.Compaction' || event_type === 'Model.Responded'
        ? [[event_type, facts?.phase, facts?.turn, atMs]]
        : [],
    ),
  ).toEqual([
    ['Context.Compaction', 'before', 'msg_1', 2_000],
    ['Model.Responded', undefined, 'msg_1', 3_900],
    ['Context.Compaction', 'after', 'msg_1', 4_000],
  ]);
});

test('the parents of sessions are read once per folder', () => {
  const folder = '/x/storage/session/p1';
  const names = Array.from({ length: 300 }, (_, i) => `ses_${i}.json`);
  let heads = 0;
  const look = {
    names: (path: string) => (path === folder ? names : []),
    head(path: string) {
      heads += 1;
      return path.endsWith('/ses_7.json') ? '{ "parentID": "ses_3" }' : '{}';
    },
  };
  const place = { cwd: undefined, subagents: [], home: '/home/dev', env: {} };
  const files = names.map(name =>
    transcript.files({ ...place, session: name.replace('.json', ''), main: `${folder}/${name}` }, look),
  );
  expect(files[3]?.[0]?.beside).toEqual([`${folder}/ses_7.json`]);
  expect(files[4]?.[0]?.beside).toEqual([]);
  expect(heads).toBe(300);
});

test('only an import reads it', () => {
  const place = { session: 'ses_a', cwd: undefined, subagents: [], home: '/home/dev', env: {} };
  const folder = '/home/dev/.local/share/opencode';
  const look = {
    names: (path: string) => (path === folder ? ['log', 'opencode-next.db', 'opencode.db', 'opencode.db-wal'] : []),
    head: () => '',
  };
  expect(transcript.files({ ...place, main: undefined }, look)).toEqual([]);
  expect(transcript.files({ ...place, main: '/x.db' }, look)).toEqual([
    { path: '/x.db', session: 'ses_a', beside: ['/x.db-wal'] },
  ]);
  expect(transcript.installed({ home: '/home/dev', project: '/', env: {} }, look)).toEqual([
    { path: `${folder}/opencode-next.db` },
    { path: `${folder}/opencode.db` },
  ]);
});

const recorded = 'fixtures/opencode/v1-sqlite/opencode.db';

// Computed by hand from the statements that made it: one prompt, one answer of 10 and 20 tokens without a cache, one
// edit of a second.
test('a database of another project', context => {
  needsShared(context, recorded);
  const file = readFileSync(sharedPath(recorded));
  const [found] = transcript.sessions({ path: 'x' }, { rows: [], document: documentOf(file) });
  expect(found).toMatchObject({ session: 'test-session-123', cwd: '/Users/test/project' });
  const readings = read('test-session-123', file);
  expect(total(readings)).toMatchObject({ responses: 1, input: 10, output: 20, cacheRead: 0 });
  expect(readings.map(each => each.event_type)).toEqual([
    'Session.Start',
    'Prompt.Submitted',
    'Action.Before',
    'Model.Responded',
    'Action.After',
    'Agent.Response',
  ]);
  expect(readings[4]).toMatchObject({ data: { action: { name: 'code_edit' } }, facts: { duration_ms: 1_000 } });
});
