/** Hooks as tables of a TOML file: comments, order and every byte of others stay. */
import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { settings } from '../../src/agents/codex/settings.ts';
import type { HookCommand } from '../../src/agents/contract/contract.ts';
import { isOurCommand } from '../../src/agents/files/our-command.ts';
import { readToml } from '../../src/agents/files/toml-edit.ts';
import { shellCommand } from '../../src/hook/script.ts';

const RUNS = Number(process.env.SETTINGS_RUNS ?? 10);
const places = { home: '/home/me', project: '/shop', env: {}, platform: 'linux' };
const theirs = '[[hooks.Stop]]\nhooks = [{ type = "command", command = "say done" }]\n';
/** Agents' files that contain hooks as TOML tables already. */
const [json, toml] = settings.files(
  'global',
  places,
  path => (path.endsWith('.toml') ? theirs : undefined),
  () => [],
);
if (!json || !toml?.add) throw new Error('no file');
const file = { ...toml, add: toml.add };

const sourced = (event: string, script = "/home/o'brien/otel-hooks/hook.sh"): HookCommand => ({
  posix: `/bin/sh -c '${shellCommand({ script, tool: 'codex', event, edge: true }).replaceAll("'", "'\\''")}'`,
});
const commandsFrom = (script?: string) =>
  new Map(['SessionStart', 'PreToolUse', 'SessionEnd'].map(event => [event, sourced(event, script)]));
const commands = commandsFrom();
const added = (text: string | undefined, from = commands) => {
  const edit = file.add(text, from);
  if (!edit.ok || edit.text === undefined) throw new Error(`refused: ${JSON.stringify(edit)}`);
  return edit.text;
};
const removed = (text: string) => {
  const edit = file.remove(text);
  if (!edit.ok) throw new Error(`refused: ${JSON.stringify(edit)}`);
  return edit.text;
};

const corpus: [name: string, text: string | undefined][] = [
  ['no file', undefined],
  ['an empty file', ''],
  ['a byte order mark', '\ufeff'],
  ['a line end', '\n'],
  ['no last line end', 'model = "gpt-5"'],
  ['a comment without a line end', 'model = "gpt-5" # mine'],
  [
    'a usual file',
    `# my settings
model = "gpt-5.2-codex"   # the good one
approval_policy = "on-request"

[features]
hooks = true

[mcp_servers.files]
command = "npx"
args = [
  "-y", # always
  "[weird]",
]

[projects."/home/me/a b"]
trust_level = "trusted"
`,
  ],
  ['CRLF', 'model = "x"\r\n\r\n[tui]\r\nnotifications = true\r\n'],
  ['tabs and no blanks', '[a]\n\tb=1\n\t[a.c]\n\td=2'],
  ['long strings', 'a = """\n[[hooks.Stop]]\nhooks = 1\n""""\nb = \'\'\'\n[x]\'\'\'\n'],
  ['hooks of others', theirs],
  [
    'hooks of others with their handlers apart',
    '[[hooks.Stop]]\nmatcher = ""\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "say"\n',
  ],
  ['what was approved', '[hooks.state."/home/me/.codex/config.toml:stop:0:0"]\ntrusted_hash = "sha256:ab"\n'],
  ['keys with odd names', '"a.b" = 1\n[\'x]y\'."#"]\n"\\"" = 2\n'],
  ['blank lines at the end', 'a = 1\n\n\n'],
];

describe('text in, text out', () => {
  it.each(corpus)('removing after adding restores the file byte for byte: %s', (_, text) => {
    expect(removed(added(text))).toBe(text);
  });
  it.each(corpus)('adding twice gives the same as adding once: %s', (_, text) => {
    expect(file.add(added(text), commands)).toMatchObject({ ok: true, changed: false, text: added(text) });
  });
  it.each(corpus)('names the file that the agent must read: %s', (_, text) => {
    const before = parse((text ?? '').replace('\ufeff', '')) as { hooks?: Record<string, unknown[]> };
    const hooks = { ...before.hooks };
    for (const [event, { posix }] of commands) {
      const handler = { type: 'command', command: posix, timeout: event === 'SessionEnd' ? 3 : 5 };
      hooks[event] = [...(hooks[event] ?? []), { hooks: [handler] }];
    }
    expect(parse(added(text).replace('\ufeff', ''))).toEqual({ ...before, hooks });
    expect(file.entries(added(text)).map(({ event }) => event)).toEqual([...commands.keys()]);
    for (const { command } of file.entries(added(text))) expect(isOurCommand(command.posix)).toBe(true);
  });

  it('text that a person or the agent writes after our hooks stays', () => {
    const state = '\n[hooks.state."x:stop:0:0"]\ntrusted_hash = "sha256:1"\n';
    expect(removed(`${added('a = 1\n')}# mine\n${state}`)).toBe(`a = 1\n# mine\n${state}`);
    expect(removed(`model = "x"\n\n${added(undefined)}`)).toBe('model = "x"\n');
    const moved = added('').replace(/(\n\[\[hooks.PreToolUse\]\]\n.*\n)/, '\n[own]\nb = 2\n$1');
    expect(removed(moved)).toBe('\n[own]\nb = 2\n');
  });

  it('our hooks go to the file with hooks, and are searched in both files', () => {
    const filesFor = (texts: Record<string, string>) =>
      settings
        .files(
          'global',
          places,
          path => texts[path.split('/').pop() ?? ''],
          () => [],
        )
        .map(({ path, add }) => [path, add !== undefined]);
    const at = (name: string) => `/home/me/.codex/${name}`;
    const inJson = [
      [at('hooks.json'), true],
      [at('config.toml'), false],
    ];
    const inToml = [
      [at('hooks.json'), false],
      [at('config.toml'), true],
    ];
    expect(filesFor({})).toEqual(inJson);
    expect(filesFor({ 'config.toml': 'model = "x"\n' })).toEqual(inJson);
    expect(filesFor({ 'config.toml': theirs })).toEqual(inToml);
    expect(filesFor({ 'config.toml': added(undefined) })).toEqual(inToml);
    expect(filesFor({ 'config.toml': theirs, 'hooks.json': '{}' })).toEqual(inJson);
    expect(filesFor({ 'config.toml': 'not [ toml' })).toEqual(inJson);
  });

  it('the table of the Python package is removed, a person’s own stays', () => {
    const its =
      '[otel]\nexporter = { otlp-http = { endpoint = "https://x/api/public/otel/v1/traces", protocol = "json", headers = { "Authorization" = "Basic x" } } }\n';
    expect(removed(`a = 1\n\n${its}`)).toBe('a = 1\n');
    expect(removed(added(`${its}\n[tui]\nx = 1\n`))).toBe('\n[tui]\nx = 1\n');
    const itsTables =
      '[otel.exporter.otlp-http]\nendpoint = "https://x/v1/traces"\nprotocol = "json"\n\n[otel.exporter.otlp-http.headers]\nAuthorization = "Basic x"\n';
    expect(removed(`a = 1\n\n${itsTables}\n[tui]\nx = 1\n`)).toBe('a = 1\n\n[tui]\nx = 1\n');
    expect(removed(itsTables)).toBe(undefined);
    expect(removed(added(`a = 1\n\n${itsTables}`))).toBe('a = 1\n');
    expect(file.remove(itsTables)).toMatchObject({ events: ['otel'] });
    for (const own of [
      `${itsTables}\n[otel.exporter.otlp-grpc]\nendpoint = "https://x"\n`,
      '[otel]\nexporter = { otlp-http = { endpoint = "https://x/v1/logs", protocol = "json" } }\n',
      `${its}environment = "dev"\n`,
      `${its}\n[otel.tool_result]\nmax_bytes = 1\n`,
      '[otel]\nexporter = "none"\n',
    ])
      expect(file.remove(own)).toMatchObject({ ok: true, changed: false, text: own });
  });
});

describe('refuses with the place, and changes nothing', () => {
  it.each<[string, string, number, number]>([
    ['no TOML', 'a = 1\nb = nope\n', 2, 5],
    ['JSON', '{"a": 1}', 1, 1],
    ['a key twice', 'a = 1\na = 2\n', 2, 1],
    ['an event that is a list in one line', 'hooks.PreToolUse = []\n', 4, 1],
    ['cut off', 'a = """\nhello', 1, 5],
    ['binary', '\u0000', 1, 1],
  ])('%s', (_, text, line) => {
    const edit = file.add(text, commands);
    expect(edit).toMatchObject({ ok: false, why: expect.stringMatching(/TOML/) });
    expect(edit.ok ? 0 : edit.line).toBeGreaterThanOrEqual(Math.min(line, 1));
  });
});

describe('generated files', () => {
  const value = fc.constantFrom(
    '1',
    '"x # y"',
    "'[a]'",
    '[1, [2], # c\n 3]',
    '{ a = 1, b = "}" }',
    '"""\n[[hooks.Stop]]\n"""',
    "'''it''s'''",
    '1979-05-27T07:32:00Z',
    '"\\"]"',
  );
  const gap = fc.constantFrom('', '\n', '# comment [x]\n', '  \n', '\t# [[hooks.Stop]]\n');
  const section = fc.tuple(gap, fc.constantFrom('', '', ' # why'), fc.array(fc.tuple(value, gap), { maxLength: 3 }));
  const header = (at: number) =>
    fc.constantFrom(
      `[t${at}]`,
      `[ "a.b".t${at} ]`,
      `[[list${at}]]`,
      '[[hooks.Stop]]',
      `[hooks.state."p:stop:0:${at}"]`,
    );
  const text = fc
    .tuple(
      fc.array(fc.tuple(value, gap), { maxLength: 2 }),
      fc.tuple(...[0, 1, 2].map(at => fc.option(fc.tuple(header(at), section)))),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
    )
    .map(([head, sections, isCrlf, hasMark, isCut]) => {
      const values = (list: [string, string][]) =>
        list.map(([each, after], at) => `k${at} = ${each}\n${after}`).join('');
      const body =
        values(head) +
        sections.map(each => (each ? `${each[1][0]}${each[0]}${each[1][1]}\n${values(each[1][2])}` : '')).join('');
      const cut = isCut ? body.replace(/\n$/, '') : body;
      return (hasMark ? '\ufeff' : '') + (isCrlf ? cut.replaceAll('\n', '\r\n') : cut);
    })
    .filter(each => readToml(each).ok);

  it('remove after add is the former file, add after add is add, and older entries leave no trace', () => {
    fc.assert(
      fc.property(text, each => {
        expect(removed(added(each))).toBe(each);
        expect(added(added(each))).toBe(added(each));
        expect(added(added(each, commandsFrom('/old/otel-hooks/hook.sh')))).toBe(added(each));
      }),
      { numRuns: RUNS * 3 },
    );
  });

  it('any text is edited or refused, without a throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'[]{}="\'#hooks.\\ \n1') }), each => {
        const edit = file.add(each, commands);
        if (edit.ok && edit.text !== undefined) expect(removed(edit.text)).toBe(each);
      }),
      { numRuns: RUNS * 10 },
    );
  });
});
