/** The MCP server as a process, asked by the official client. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENDED, FIRST_DAY, record, recordAll, WAITING, WORKING } from '../recorded-sessions.ts';

const bin = join(import.meta.dirname, '..', '..', 'dist', 'otel-hooks.cjs');
const SECRET = 'the words of a person';

let home: string;
let client: Client;
let heard = '';

async function connected(...flags: string[]): Promise<Client> {
  const env = { HOME: home, PATH: process.env.PATH ?? '' };
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, 'mcp', ...flags],
    env,
    stderr: 'pipe',
  });
  transport.stderr?.on('data', (more: Buffer) => {
    heard += more.toString();
  });
  const made = new Client({ name: 'test', version: '1' });
  await made.connect(transport);
  return made;
}

beforeAll(async () => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-mcp-'));
  const state = join(home, '.local/state/otel-hooks');
  recordAll(state);
  // A journal that holds content, since the configuration asked for it, and a name that could mislead a reader.
  record(state, 'my-agent', 'c0ffee', FIRST_DAY - 86_400_000, [
    [0, 'Session.Start', { start_reason: 'new' }, { cwd: `/home/me/${SECRET}` }],
    [0, 'vendor.otel-hooks.Repository', { owner: 'acme', name: 'x\u202egnp\u001b[2J', branch: 'main' }],
    [1, 'Prompt.Submitted', { prompt: SECRET, prompt_length: 20 }, { turn: 't1' }],
    [
      2,
      'Action.Before',
      { action: { name: 'bash.execute', input: { command: SECRET } } },
      { turn: 't1', call: 'c1', tool: 'Bash', command: SECRET },
      { risk: { score: 70, level: 'high', factors: ['NETWORK'] } },
    ],
    [
      3,
      'Action.After',
      {
        action: {
          name: 'bash.execute',
          result: { success: false, exit_code: 2, output: SECRET, error_message: SECRET },
        },
      },
      {
        turn: 't1',
        call: 'c1',
        tool: 'Bash',
        command: SECRET,
        error_type: 'exit_code',
        exit_code: 2,
        duration_ms: 900,
      },
    ],
    [4, 'Agent.Response', { response: SECRET, response_length: 20 }, { turn: 't1' }],
    [5, 'Session.End', { end_reason: 'exit' }],
  ]);
  client = await connected();
}, 60_000);
afterAll(async () => {
  await client.close();
  fs.rmSync(home, { recursive: true, force: true });
});

interface Answer {
  isError?: boolean;
  content: { type: string; text: string }[];
}

interface Row {
  [field: string]: unknown;
  session: string;
  name: string;
  error: string;
  depth: number;
}

/** The fields of all answers. */
interface Told {
  total: number & { sessions: number };
  next_cursor?: string;
  sessions: Row[];
  spans: Row[];
  rows: Row[];
  failures: Row[];
  actions: Row[];
}

async function asked(name: string, words: object = {}, of = client): Promise<Told> {
  const answer = (await of.callTool({ name, arguments: { ...words } })) as unknown as Answer;
  expect(answer.isError, answer.content[0]?.text).not.toBe(true);
  return JSON.parse(answer.content[0]?.text ?? '');
}

async function refusal(name: string, words: object): Promise<string> {
  try {
    const { isError, content } = (await client.callTool({ name, arguments: { ...words } })) as unknown as Answer;
    expect(isError, content[0]?.text).toBe(true);
    return content[0]?.text ?? '';
  } catch (error) {
    return String(error);
  }
}

describe('the MCP server', () => {
  it('says at its start and in its instructions where answers go, and offers read-only tools', async () => {
    expect(heard).toBe(
      'otel-hooks mcp: Answers reach the model that asks, and so its vendor: names, numbers and closed words, and no prompts, responses, commands, paths or outputs.\n',
    );
    expect(client.getInstructions()).toContain('reach the model that asks, and so its vendor');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'list_sessions',
      'session_tree',
      'cost_report',
      'failures',
      'risky_actions',
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
  });

  it('lists sessions, in pages and by their facts', async () => {
    const { sessions, total } = await asked('list_sessions');
    expect(total).toBe(4);
    expect(sessions.map(each => each.session)).toEqual([WORKING, WAITING, ENDED, 'c0ffee']);
    expect(sessions[1]).toMatchObject({
      state: 'running',
      repository: 'acme/shop',
      cost_usd: 1.5,
      cache_read_tokens: 80_000,
    });
    expect(sessions[3]?.repository).toBe('acme/x\\u{202e}gnp\\u{1b}[2J');
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await asked('list_sessions', { limit: 3, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.sessions.map(each => each.session));
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual([WORKING, WAITING, ENDED, 'c0ffee']);
    expect((await asked('list_sessions', { agent: 'codex' })).total).toBe(1);
    expect((await asked('list_sessions', { state: 'ended', repository: 'acme/shop' })).total).toBe(1);
    expect((await asked('list_sessions', { since: '2026-09-22' })).total).toBe(2);
  });

  it('returns the tree of a session', async () => {
    const { spans } = await asked('session_tree', { session: 'e2d1' });
    const drawn = spans.map(each => `${' '.repeat(each.depth)}${each.name}`);
    expect(drawn).toEqual([
      'session claude-code',
      ' invoke_agent claude-code',
      '  chat claude-opus-4-5',
      '  execute_tool Bash (npm)',
      '  execute_tool Bash (rm)',
      '  invoke_agent Explore',
      '   execute_tool Read',
      '   chat claude-haiku-4-5',
    ]);
    expect(spans[2]).toMatchObject({ kind: 'chat', input_tokens: 9_000, cache_read_tokens: 8_000, cost_usd: 0.25 });
    expect(spans[4]).toMatchObject({ notes: ['denied (user)', 'risk critical'], risk: 'critical' });
  });

  it('sums up the cost, as report does', async () => {
    const { rows, total } = await asked('cost_report', { by: ['repository'], until: '2026-09-22' });
    expect(rows[0]).toMatchObject({ by: { repository: 'acme/shop' }, sessions: 2, cost_usd: 1.76 });
    expect(total.sessions).toBe(4);
  });

  it('lists failures and risky actions', async () => {
    const { failures } = await asked('failures');
    expect(failures.map(each => [each.session.slice(0, 4), each.error])).toEqual([
      ['e2d1', 'exit_code'],
      ['c0ff', 'exit_code'],
    ]);
    expect(failures[0]).toMatchObject({ kind: 'action', name: 'Bash', executable: 'npm', exit_code: 1 });
    const { actions } = await asked('risky_actions', { least: 'critical' });
    expect(actions).toMatchObject([
      { executable: 'rm', risk: 'critical', factors: ['DESTRUCTIVE'], decision: 'deny', decided_by: 'user' },
    ]);
    expect((await asked('risky_actions')).actions).toHaveLength(2);
  });

  it('returns no content, although the journal holds it, unless its flag asks for it', async () => {
    const all = async (of?: Client): Promise<string> =>
      JSON.stringify([
        await asked('list_sessions', {}, of),
        await asked('session_tree', { session: 'c0ffee' }, of),
        await asked('cost_report', { by: ['session', 'agent', 'branch', 'subagent'] }, of),
        await asked('failures', {}, of),
        await asked('risky_actions', {}, of),
      ]);
    expect(await all()).not.toContain(SECRET);
    heard = '';
    const open = await connected('--content');
    try {
      expect(await all(open)).toContain(SECRET);
      expect(JSON.stringify(await asked('cost_report', { by: ['project', 'user'] }, open))).toContain(
        `/home/me/${SECRET}`,
      );
      expect(heard).toContain('They include the content that the journals hold');
    } finally {
      await open.close();
    }
  });

  it('answers wrong questions with errors that say what is right, and continues', async () => {
    expect(await refusal('session_tree', { session: 'nothing' })).toContain(
      'no session begins with nothing; list_sessions',
    );
    expect(await refusal('session_tree', {})).toMatch(/session/);
    expect(await refusal('list_sessions', { limit: 1_000_000 })).toMatch(/200/);
    expect(await refusal('list_sessions', { cursor: 'made-up' })).toContain('the cursor is not one of this server');
    expect(await refusal('list_sessions', { since: 'yesterday' })).toContain('--since takes a time such as 12h');
    expect(await refusal('cost_report', { by: ['model', 'action'] })).toContain('an action belongs to no model');
    expect(await refusal('cost_report', { by: ['project'] })).toMatch(/by/);
    expect(await refusal('erase', {})).toMatch(/erase/);
    expect((await asked('list_sessions')).total).toBe(4);
  });

  it('limits the size of a page', async () => {
    const state = join(home, '.local/state/otel-hooks');
    const before = (await asked('list_sessions')).total;
    record(state, 'my-agent', 'b1b1b1', FIRST_DAY - 2 * 86_400_000, [
      [0, 'Session.Start'],
      [0, 'vendor.otel-hooks.Repository', { owner: 'o', name: 'n'.repeat(100_000), branch: 'b'.repeat(100_000) }],
      ...Array.from({ length: 3_000 }, (_, i): [number, string, object, object] => [
        i + 1,
        'Action.After',
        { action: { name: 'bash.execute', result: { success: false } } },
        { call: `c${i}`, tool: 'T'.repeat(1_000), error_type: 'e', duration_ms: 5 },
      ]),
    ]);
    const { failures, next_cursor } = await asked('failures', { session: 'b1b1', limit: 200 });
    expect(JSON.stringify(failures).length).toBeLessThan(110_000);
    expect(next_cursor).toBeDefined();
    expect(JSON.stringify(await asked('list_sessions')).length).toBeLessThan(10_000);
    expect((await asked('list_sessions')).total).toBe(before + 1);
  });

  it('ends with its client, and works before the first hook', async () => {
    const other = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-mcp-empty-'));
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [bin, 'mcp', '--state-dir', join(other, 'none')],
      env: { HOME: other },
      stderr: 'ignore',
    });
    const made = new Client({ name: 'test', version: '1' });
    await made.connect(transport);
    expect(await asked('list_sessions', {}, made)).toEqual({ sessions: [], total: 0 });
    const { pid } = transport;
    await made.close();
    expect(() => process.kill(pid ?? 0, 0)).toThrow('ESRCH');
    fs.rmSync(other, { recursive: true });
  });
});
