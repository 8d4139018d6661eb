/** The tables of dialects: what one agent writes, another reads. */
import { describe, expect, it } from 'vitest';
import type { Dialect, HookDocument } from '../../src/agents/contract/dialect.ts';
import { dialects } from '../../src/agents/dialects.ts';
import { providers } from '../../src/agents/interchange.ts';
import { hookDocument } from '../../src/interchange/hook-document.ts';

const document = (tool: string, input: Record<string, unknown>, more: Partial<HookDocument> = {}): HookDocument => ({
  spec: 'hooks/0.1',
  version: 1,
  event: 'before_tool_execute',
  native_event: '',
  agent: 'test',
  session_id: 's-1',
  cwd: '/shop',
  tool,
  tool_input: input,
  ...more,
});

const nativeOf = (dialect: Dialect, payload: Record<string, unknown>): string =>
  String(dialect.eventFields.map(field => payload[field]).find(each => each !== undefined) ?? 'preToolUse');

it('every provider of the format has a dialect', () => {
  expect(dialects.map(({ slug }) => slug).sort()).toEqual(providers.map(({ slug }) => slug).sort());
});

describe.each(dialects.map(dialect => [dialect.slug, dialect] as const))('%s', (_slug, dialect) => {
  it.each([
    ['shell', { command: 'git push' }],
    ['file_write', { path: 'a.txt', content: 'hello\n' }],
    ['file_edit', { path: 'a.txt', old_text: 'one', new_text: 'two' }],
  ])('reads its own payload of %s back', (tool, input) => {
    const payload = dialect.payload(document(tool, input)) as Record<string, unknown>;
    const [call, ...others] = dialect.calls(payload, nativeOf(dialect, payload));
    expect(others).toEqual([]);
    expect(call?.tool).toBe(tool);
    expect(call?.input).toMatchObject(input);
  });

  it('reads its own payload of an MCP tool back', () => {
    const mcp = { server: 'github', tool: 'create_issue' };
    const payload = dialect.payload(document('create_issue', { title: 'x' }, { mcp })) as Record<string, unknown>;
    const [call] = dialect.calls(payload, nativeOf(dialect, payload));
    expect(call?.mcp).toEqual(mcp);
    expect(call?.input).toEqual({ title: 'x' });
  });

  it('honours no effect at an event that it does not have', () => {
    const known = [...Object.keys(dialect.events), ...Object.values(dialect.events)];
    expect(Object.keys(dialect.takes).filter(event => !known.includes(event))).toEqual([]);
  });

  it('denies in the way that it reads itself', () => {
    const occasion = { event: 'before_tool_execute', native: 'PreToolUse', payload: {}, calls: [] };
    const { code = 0, stdout = '', stderr = '' } = dialect.reply({ decision: 'deny', reason: 'no pushes' }, occasion);
    const text = typeof stdout === 'string' ? stdout : JSON.stringify(stdout);
    const heard = dialect.heard({ code, stdout: text, stderr }, document('shell', {}));
    expect([heard.kind, JSON.stringify(heard).includes('no pushes')]).toEqual([
      expect.stringMatching(/answer|denial/),
      true,
    ]);
    if (heard.kind === 'answer') expect(heard.answer.decision).toBe('deny');
  });
});

it('a document has its schema', () => {
  expect(hookDocument.safeParse(document('shell', { command: 'ls' })).success).toBe(true);
  expect(hookDocument.safeParse({ ...document('shell', {}), version: 2 }).success).toBe(false);
});

describe('the exit codes of Gemini CLI', () => {
  const gemini = dialects.find(({ slug }) => slug === 'gemini-cli') as Dialect;
  const heard = (code: number, stdout: string, stderr = '') =>
    gemini.heard({ code, stdout, stderr }, document('shell', { command: 'x' }));
  const deny = '{"decision":"deny","reason":"no"}';

  it.each([0, 1, 3, 137])('a denial in JSON counts beside exit code %i', code =>
    expect(heard(code, deny)).toMatchObject({ kind: 'answer', answer: { decision: 'deny', reason: 'no' } }),
  );

  it.each([
    [2, '{"decision":"allow"}', 'denial'],
    [2, '', 'denial'],
    [3, 'no', 'denial'],
    [3, '', 'fault'],
    [3, '{"decision":"allow"}', 'fault'],
    [1, 'no', 'fault'],
  ])('exit code %i with the output %j is a %s', (code, stdout, kind) => expect(heard(code, stdout).kind).toBe(kind));

  it('a text on standard error denies where standard output is empty', () =>
    expect(heard(3, '', 'no')).toEqual({ kind: 'denial', reason: 'no' }));
});
