/** The server of `otel-hooks view` gives data only to its own page, and all of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Event } from '../../src/event/event.ts';
import type { ImportState, JournalPart, SessionList, SessionPart, SpanDetails } from '../../src/page/data.ts';
import { unpackedRows } from '../../src/page/packed-rows.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { SessionFeed } from '../../src/view/page-data.ts';
import { type PageServer, servePage } from '../../src/view/page-server.ts';

const key = 'ab'.repeat(16);
let n = 0;

function event(type: string, data: object, more: object = {}): Event {
  n += 1;
  return {
    spec_version: '0.1.0',
    event_id: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`,
    event_type: type,
    timestamp: new Date(Date.parse('2026-03-01T10:00:00.000Z') + n * 1_000).toISOString(),
    source: { tool: 'codex' },
    session_id: 'session-a',
    data,
    metadata: { 'dev.otel-hooks': { v: 1, seq: n, time: 'native', ...more } },
  } as unknown as Event;
}

const call = (id: string, tool: string): Event[] => [
  event('Action.Before', { action: { name: 'shell', type: 'tool' } }, { call: id, tool }),
  event('Action.After', { action: { name: 'shell', type: 'tool', result: { success: true } } }, { call: id, tool }),
];

let folder = '';
let owner: Store;
let server: PageServer;
let importState: ImportState;
let isStarted = false;

const journal = (lines: string): void => {
  expect(owner.commit({ journal: [{ key, lines }] })).toBe('committed');
};
const linesOf = (events: readonly Event[]): string => events.map(each => `${JSON.stringify(each)}\n`).join('');

beforeEach(async () => {
  n = 0;
  isStarted = false;
  importState = { v: 1, state: 'possible', transcripts: 3, bytes: 10, doneTranscripts: 0, doneBytes: 0 };
  folder = mkdtempSync(join(tmpdir(), 'page-server-'));
  owner = openStore({ folder, access: 'own' });
  server = await servePage({
    open: () => openStore({ folder, access: 'read' }),
    stateFolder: folder,
    files: { html: '<p>page</p>', script: 'script', style: 'style' },
    importer: {
      state: () => importState,
      start: () => {
        isStarted = true;
      },
    },
  });
});
afterEach(async () => {
  await server.close();
  owner.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
}

/** A request with any headers, which `fetch` would not permit. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: server.port, path, method, headers }, response => {
      let text = '';
      response.on('data', part => {
        text += String(part);
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function cookie(): Promise<string> {
  const { headers } = await ask(server.link.slice(server.link.indexOf('/?')));
  return String(headers['set-cookie']).split(';')[0] ?? '';
}

async function data<T>(path: string): Promise<T> {
  const { status, text } = await ask(path, { cookie: await cookie() });
  expect(status, text).toBe(200);
  return JSON.parse(text) as T;
}

describe('access', () => {
  it('exchanges the token of the link for a cookie of this site alone', async () => {
    const { status, headers } = await ask(server.link.slice(server.link.indexOf('/?')));
    expect([status, headers.location]).toEqual([303, '/']);
    expect(String(headers['set-cookie'])).toMatch(/HttpOnly; SameSite=Strict; Path=\/$/);
    const page = await ask('/', { cookie: await cookie() });
    expect([page.status, page.text]).toEqual([200, '<p>page</p>']);
  });

  it.each(['/', '/?token=', '/?token=0', '/api/sessions', '/api/live', '/api/session?key=x', '/api/import'])(
    'refuses %s without the token, and names the next step',
    async path => {
      const { status, text } = await ask(path);
      expect(status).toBe(401);
      expect(text).toContain('otel-hooks view');
      expect(text).not.toContain('session-a');
    },
  );

  it.each([
    ['a foreign host', { host: 'evil.example' }],
    ['a host with another port', { host: '127.0.0.1:1' }],
    ['a foreign origin', { origin: 'http://evil.example' }],
    ['a request of another site', { 'sec-fetch-site': 'cross-site' }],
    ['a request of another port of this machine', { 'sec-fetch-site': 'same-site' }],
  ])('refuses %s, also with the cookie', async (_, headers) => {
    const { status } = await ask('/api/sessions', { cookie: await cookie(), ...headers });
    expect(status).toBe(403);
  });

  it('permits no script in the text of a page, and no other host', async () => {
    for (const path of ['/', '/page.js', '/api/sessions']) {
      const { headers } = await ask(path, { cookie: await cookie() });
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'");
      expect(policy).not.toContain('unsafe');
      expect(policy).not.toMatch(/https?:|\*/);
      expect([headers['x-content-type-options'], headers['cache-control']]).toEqual(['nosniff', 'no-store']);
    }
  });

  it('counts the two events of a compaction as one compaction', async () => {
    const compaction = (phase: object): Event => event('Context.Compaction', { trigger: 'auto' }, phase);
    const [before, after] = [{ phase: 'before' }, { phase: 'after' }];
    const events = [
      event('Session.Start', {}),
      compaction(before),
      compaction(after),
      compaction(after),
      compaction({}),
    ];
    journal(linesOf(events));
    const { journals } = await data<SessionPart>(`/api/session?key=${key}`);
    expect(journals[0]?.context.map(({ isCompaction }) => isCompaction)).toEqual([true, undefined, true, true]);
  });

  it('starts an import only for a POST of its own page', async () => {
    const own = { cookie: await cookie() };
    expect((await ask('/api/import', own, 'POST')).status).toBe(403);
    expect((await ask('/api/import', { ...own, origin: 'http://evil.example' }, 'POST')).status).toBe(403);
    expect((await ask('/api/sessions', { ...own, origin: `http://127.0.0.1:${server.port}` }, 'POST')).status).toBe(
      405,
    );
    expect(isStarted).toBe(false);
    expect((await ask('/api/import', { ...own, origin: `http://127.0.0.1:${server.port}` }, 'POST')).status).toBe(200);
    expect(isStarted).toBe(true);
  });
});

describe('data', () => {
  const part = async (more = ''): Promise<JournalPart> => {
    const [first] = (await data<SessionPart>(`/api/session?key=${key}${more}`)).journals;
    if (first === undefined) throw new Error('the session has no journal');
    return first;
  };

  it('lists the sessions of the index', async () => {
    journal(linesOf([event('Prompt.Submitted', {}), ...call('c1', 'Bash')]));
    const sessions = unpackedRows((await data<SessionList>('/api/sessions')).rows);
    expect(sessions.map(({ session, turns, actions, state }) => ({ session, turns, actions, state }))).toEqual([
      { session: 'session-a', turns: 1, actions: 1, state: 'running' },
    ]);
  });

  it('sends the sessions that changed or were removed since the list that a page has', async () => {
    const other = Buffer.from('other').toString('hex');
    const ask = (had: string): Promise<SessionList> => data<SessionList>(`/api/sessions?had=${had}`);
    const rows = ({ rows: packed }: SessionList) => unpackedRows(packed).map(({ key: row, actions }) => [row, actions]);
    journal(linesOf([event('Prompt.Submitted', {})]));
    const first = await ask('');
    expect(rows(first)).toEqual([[key, 0]]);
    const lines = linesOf([{ ...event('Prompt.Submitted', {}), session_id: 'session-b' } as Event]);
    expect(owner.commit({ journal: [{ key: other, lines }] })).toBe('committed');
    const second = await ask(`${first.made}.${first.n}`);
    expect([rows(second), second.gone]).toEqual([[[other, 0]], []]);
    const third = await ask(`${second.made}.${second.n}`);
    expect([rows(third), third.gone, third.n]).toEqual([[], [], second.n]);
    owner.commit({ prune: [key] });
    const fourth = await ask(`${third.made}.${third.n}`);
    expect([rows(fourth), fourth.gone]).toEqual([[], [key]]);
    expect(rows(await ask('another-server.7'))).toEqual([[other, 0]]);
  });

  it('sends the spans that a page does not have yet, and the open ones again', async () => {
    journal(linesOf([event('Prompt.Submitted', {}), ...call('c1', 'Bash')]));
    const first = await part();
    expect(first.open.map(({ kind }) => kind).sort()).toContain('turn');
    const had = [key, first.made, first.spans.length, first.events.length, 0].join('.');
    journal(linesOf([...call('c2', 'Read'), event('Agent.Response', { final: true })]));
    const next = await part(`&had=${had}`);
    const whole = await part();
    expect(next.made).toBe(first.made);
    expect([...first.spans, ...next.spans]).toEqual(whole.spans);
    expect(whole.spans.length + whole.open.length).toBeGreaterThan(first.spans.length + first.open.length);
  });

  it('finds a session by its id as well as by the name of its journal', async () => {
    journal(linesOf([event('Prompt.Submitted', {})]));
    expect((await data<SessionPart>('/api/session?key=session-a')).row.key).toBe(key);
  });

  it('shows a failed action as failed while its transcript is not read', async () => {
    const failed = call('c1', 'Bash').map(each =>
      each.event_type === 'Action.After'
        ? { ...each, data: { action: { name: 'shell', result: { success: false } } } }
        : each,
    ) as Event[];
    journal(linesOf([event('Prompt.Submitted', {}), ...failed]));
    const action = (await part()).open.find(({ kind }) => kind === 'action');
    expect([action?.error, action?.isOpen]).toEqual(['tool_error', undefined]);
  });

  it('shows a session that was resumed under another id as one session', async () => {
    journal(linesOf([event('Prompt.Submitted', {}), ...call('c1', 'Bash'), event('Session.End', {})]));
    const resumed = [
      event('Session.Start', { start_reason: 'resume' }, { previous: { session: 'session-a', segment: 0 } }),
      ...call('c2', 'Read'),
    ].map(each => ({ ...each, session_id: 'session-b' }));
    const other = Buffer.from('resumed').toString('hex');
    expect(owner.commit({ journal: [{ key: other, lines: linesOf(resumed as Event[]) }] })).toBe('committed');
    const sessions = unpackedRows((await data<SessionList>('/api/sessions')).rows);
    expect(sessions.map(({ key: row, session, resumedAs, actions }) => [row, session, resumedAs, actions])).toEqual([
      [key, 'session-a', ['session-b'], 2],
    ]);
    for (const word of [key, other, 'session-b']) {
      const { row, journals } = await data<SessionPart>(`/api/session?key=${word}`);
      expect([row.key, ...journals.map(each => each.key)]).toEqual([key, key, other]);
      const action = [...(journals[1]?.spans ?? []), ...(journals[1]?.open ?? [])].find(each => each.kind === 'action');
      const { attributes } = await data<SpanDetails>(`/api/span?key=${word}&id=${action?.id}`);
      expect(attributes).toContainEqual(['gen_ai.tool.name', 'Read']);
    }
  });

  it('sends the attributes and the records of a span', async () => {
    journal(linesOf([event('Prompt.Submitted', {}), ...call('c1', 'Bash')]));
    const { spans, open } = await part();
    const action = [...spans, ...open].find(({ kind }) => kind === 'action');
    const details = await data<SpanDetails>(`/api/span?key=${key}&id=${action?.id}`);
    expect(details.attributes).toContainEqual(['gen_ai.tool.name', 'Bash']);
    expect(details.records.length).toBeGreaterThan(0);
  });

  it('counts damaged lines and shows the rest', async () => {
    journal(`${linesOf([event('Prompt.Submitted', {})])}{"torn\n${linesOf(call('c1', 'Bash'))}`);
    const { journals, row } = await data<SessionPart>(`/api/session?key=${key}`);
    expect([journals[0]?.damagedLines, row.actions]).toEqual([1, 1]);
  });

  it('replaces characters that could hide or move text', async () => {
    journal(linesOf([event('Prompt.Submitted', {}), ...call('c1', 'a\u202eb\u0007')]));
    const { text } = await ask(`/api/session?key=${key}`, { cookie: await cookie() });
    expect(text).not.toContain('\u202e');
    expect(text).toContain('\\\\u{202e}');
  });

  it('sends all spans and events of a long session, in their order', async () => {
    const calls = Array.from({ length: 1_200 }, (_, i) => call(`c${i}`, 'shell')).flat();
    const compactions = Array.from({ length: 700 }, () => event('Context.Compaction', {}));
    // The spans of an unknown agent do not wait for its transcript.
    const events = [event('Session.Start', {}), ...calls, ...compactions, event('Session.End', {})];
    journal(linesOf(events.map(each => ({ ...each, source: { tool: 'some-agent' } }))));
    const feed = new SessionFeed(key);
    feed.update(owner);
    const { made: _, ...expected } = JSON.parse(JSON.stringify(feed.part(undefined))) as JournalPart;
    expect([expected.spans.length > 1_000, expected.events.length > 500]).toEqual([true, true]);
    const { journals } = await data<SessionPart>(`/api/session?key=${key}`);
    expect(journals).toEqual([{ ...expected, made: expect.any(String) }]);
  });

  it.each(['/api/session?key=none', '/api/session', `/api/span?key=${key}&id=none`, '/api/none'])(
    'answers 404 with a sentence: %s',
    async path => {
      journal(linesOf([event('Prompt.Submitted', {})]));
      const { status, text } = await ask(path, { cookie: await cookie() });
      expect(status).toBe(404);
      expect(JSON.parse(text).error).toMatch(/^[A-Z].*\.$/);
    },
  );
});

describe('live', () => {
  it('notifies the page that a journal has grown', async () => {
    journal(linesOf([event('Prompt.Submitted', {})]));
    const own = await cookie();
    const changed = new Promise<string>((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port: server.port, path: `/api/live?key=${key}`, headers: { cookie: own } },
        response => {
          let text = '';
          response.on('data', part => {
            if (text === '') journal(linesOf(call('c1', 'Bash')));
            text += String(part);
            if (text.includes('event: changed')) resolve(text);
          });
        },
      );
      sent.on('error', reject);
      sent.end();
    });
    expect(await changed).toContain('event: open');
  });
});
