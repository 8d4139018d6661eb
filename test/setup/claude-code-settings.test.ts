import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { settings as claudeCode } from '../../src/agents/claude-code/settings.ts';
import type { HookCommand } from '../../src/agents/contract/contract.ts';
import { shellCommand } from '../../src/hook/script.ts';

const commandFor = (event: string, script = '/home/me/.local/share/otel-hooks/hook.sh') =>
  shellCommand({ script, tool: 'claude-code', event, edge: event !== 'PreToolUse' });
const posix = (command: string): HookCommand => ({ posix: command });
const commands = new Map(['SessionStart', 'PreToolUse', 'Stop'].map(event => [event, posix(commandFor(event))]));
const places = { home: '/home/me', project: '/shop', env: {}, platform: 'linux' };
const [file] = claudeCode.files(
  'global',
  places,
  () => undefined,
  () => [],
);
if (!file?.add) throw new Error('no file');
const settings = { add: file.add, remove: file.remove };

const add = (text: string | undefined) => {
  const edit = settings.add(text, commands);
  if (!edit.ok || edit.text === undefined) throw new Error(`refused: ${JSON.stringify(edit)}`);
  return edit.text;
};
const remove = (text: string) => {
  const edit = settings.remove(text);
  if (!edit.ok) throw new Error(`refused: ${JSON.stringify(edit)}`);
  return edit.text;
};

const files: [name: string, text: string | undefined][] = [
  ['no file', undefined],
  ['an empty file', ''],
  ['a file with a line end', '\n'],
  ['a byte order mark alone', '\ufeff'],
  ['an empty object', '{}'],
  ['an empty object with a line end', '{}\n'],
  ['an empty object over two lines', '{\n}\n'],
  ['an empty object with a blank', '{ }'],
  ['an empty object with a comment', '{\n  // mine\n}\n'],
  ['a comment before and after', '// before\n{}\n// after\n'],
  ['other settings', '{\n  "model": "x",\n  "env": { "A": "1" }\n}\n'],
  ['other settings, four blanks', '{\n    "model": "x"\n}'],
  ['other settings, tabs', '{\n\t"model": "x"\n}\n'],
  ['other settings, CRLF', '{\r\n  "model": "x"\r\n}\r\n'],
  ['other settings, byte order mark', '\ufeff{\n  "model": "x"\n}\n'],
  ['one line', '{"model":"x"}'],
  ['one line with blanks', '{ "model": "x", "n": 1 }\n'],
  ['empty hooks', '{\n  "hooks": {}\n}\n'],
  ['empty hooks in one line', '{"hooks":{}}'],
  ['empty hooks over two lines', '{\n  "model": "x",\n  "hooks": {\n  }\n}\n'],
  ['an empty event', '{\n  "hooks": {\n    "Stop": []\n  }\n}\n'],
  ['an empty event over lines', '{\n  "hooks": {\n    "Stop": [\n\n    ],\n    "Other": []\n  }\n}\n'],
  ['a comment in an empty event', '{\n  "hooks": {\n    "Stop": [ /* none yet */ ]\n  }\n}\n'],
  [
    'hooks of others',
    '{\n  "hooks": {\n    "Stop": [\n      { "hooks": [{ "type": "command", "command": "say done" }] }\n    ]\n  }\n}\n',
  ],
  [
    'hooks of others with a matcher on the same event',
    '{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"lint"}]}]}}\n',
  ],
  [
    'brackets on one line',
    '{\n  "hooks": {\n    "Stop": [{\n      "hooks": [{ "type": "command", "command": "a" }]\n    }]\n  }\n}\n',
  ],
  ['trailing commas', '{\n  "model": "x",\n  "hooks": {\n    "Stop": [\n      {},\n    ],\n  },\n}\n'],
  [
    'comments everywhere',
    '// top\n{\n  "model": "x", // the good one\n  /* hooks: */ "hooks": { // start\n    "Stop": [ // stop\n      {} // one\n      // two\n    ] /* end */ // more\n  } // all\n  // last\n}\n// done\n',
  ],
  ['a line comment behind the last member', '{ "model": "x" // why\n}'],
  ['hooks is not the last', '{\n  "hooks": {},\n  "zeta": [1, 2, 3]\n}\n'],
  ['mixed indentation', '{\n   "a": 1,\n "hooks":\n{\n\t"Stop":\n[\n]}\n}'],
];

describe('text in, text out', () => {
  it.each(files)('removing after adding restores the file byte for byte: %s', (_, text) => {
    expect(remove(add(text))).toBe(text);
  });

  it.each(files)('adding twice gives the same as adding once: %s', (_, text) => {
    const once = add(text);
    expect(settings.add(once, commands)).toMatchObject({ ok: true, changed: false, text: once });
  });

  it.each(files)('names the file that Claude Code must read: %s', (_, text) => {
    const before = parse(text ?? '{}') ?? {};
    const hooks = { ...before.hooks };
    for (const [event, { posix: command }] of commands) {
      hooks[event] = [...(hooks[event] ?? []), { hooks: [{ type: 'command', command, timeout: 10 }] }];
    }
    expect(parse(add(text))).toEqual({ ...before, hooks });
  });

  it('has the format that a person would write', () => {
    const one = new Map([['Stop', posix('otel-hooks hook --tool claude-code --event Stop')]]);
    const written = (text: string | undefined) => {
      const edit = settings.add(text, one);
      return edit.ok ? edit.text : edit;
    };
    expect(written(undefined)).toMatchInlineSnapshot(`
      "{
        "hooks": {
          "Stop": [
            {
              "hooks": [
                {
                  "type": "command",
                  "command": "otel-hooks hook --tool claude-code --event Stop",
                  "timeout": 10
                }
              ]
            }
          ]
        }
      }
      "
    `);
    expect(written('{\n    "model": "x" // why\n}\n')).toMatchInlineSnapshot(`
      "{
          "model": "x", // why
          "hooks": {
              "Stop": [
                  {
                      "hooks": [
                          {
                              "type": "command",
                              "command": "otel-hooks hook --tool claude-code --event Stop",
                              "timeout": 10
                          }
                      ]
                  }
              ]
          }
      }
      "
    `);
    expect(written('{"hooks":{"Stop":[]}}')).toMatchInlineSnapshot(
      `"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"otel-hooks hook --tool claude-code --event Stop","timeout":10}]} ]}}"`,
    );
  });
});

describe('changes of a person in between', () => {
  const edits: [name: string, before: string | undefined, edit: (text: string) => string, after: string | undefined][] =
    [
      [
        'a setting in the file that we made',
        undefined,
        text => text.replace('{\n', '{\n  "model": "x",\n'),
        '{\n  "model": "x"\n}\n',
      ],
      [
        'a setting behind our entries',
        '{\n  "a": 1\n}\n',
        text => text.replace(/\n\}\n$/, ',\n  "z": 2\n}\n'),
        '{\n  "a": 1,\n  "z": 2\n}\n',
      ],
      [
        'a setting beside empty hooks',
        '{\n  "hooks": {}\n}\n',
        text => text.replace('{\n', '{\n  "a": 1,\n'),
        '{\n  "a": 1,\n  "hooks": {}\n}\n',
      ],
      [
        'a hook of their own behind ours',
        '{\n  "a": 1\n}\n',
        text => text.replace(/(\n {4}"Stop": \[[\s\S]*\n {6}\})(\n {4}\])/, '$1,\n      { "hooks": [] }$2'),
        '{\n  "a": 1,\n  "hooks": {\n    "Stop": [\n      { "hooks": [] }\n    ]\n  }\n}\n',
      ],
      [
        'an event of their own',
        '{\n  "a": 1\n}\n',
        text => text.replace('"hooks": {\n', '"hooks": {\n    "Mine": [],\n'),
        '{\n  "a": 1,\n  "hooks": {\n    "Mine": []\n  }\n}\n',
      ],
      [
        'a handler of theirs in our group',
        '{\n  "a": 1\n}\n',
        text =>
          text.replaceAll(
            /(\n {10}\{\n {12}"type"[\s\S]*?\n {10}\})/g,
            '$1,\n          { "type": "command", "command": "mine" }',
          ),
        undefined,
      ],
      ['a deleted setting', '{\n  "a": 1\n}\n', text => text.replace('\n  "a": 1,', ''), undefined],
      ['a comment', '{\n  "a": 1\n}\n', text => `// note\n${text}`, '// note\n{\n  "a": 1\n}\n'],
      ['rewritten without indentation', '{"a":1}', text => JSON.stringify(JSON.parse(text)), '{"a":1}'],
    ];
  it.each(edits)('%s stays', (name, before, edit, after) => {
    const edited = edit(add(before));
    const removed = remove(edited);
    if (name === 'a deleted setting') expect(parse(removed ?? '{}')).toEqual({});
    else if (name === 'a handler of theirs in our group') {
      const theirs = [{ hooks: [{ type: 'command', command: 'mine' }] }];
      expect(parse(removed ?? '')).toEqual({ a: 1, hooks: { SessionStart: theirs, PreToolUse: theirs, Stop: theirs } });
    } else expect(removed).toBe(after);
  });

  it('an older entry of ours is replaced, also those of the Python package, and the rest keeps its place', () => {
    const before = `{
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "otel-hooks hook --provider langfuse", "async": true }] },
      { "matcher": "", "hooks": [
        { "type": "command", "command": "OTEL_HOOKS_SOURCE_TOOL=claude uvx otel-hooks hook --provider=otlp" },
        { "type": "command", "command": "say done" }
      ] }
    ],
    "Notification": [
      { "hooks": [{ "type": "command", "command": ${JSON.stringify(commandFor('Notification', '/old/otel-hooks/hook.sh'))} }] }
    ]
  }
}
`;
    const clean = `{
  "hooks": {
    "Stop": [
      { "matcher": "", "hooks": [
        { "type": "command", "command": "say done" }
      ] }
    ]
  }
}
`;
    expect(remove(before)).toBe(clean);
    expect(remove(add(before))).toBe(clean);
    expect(settings.remove(before)).toMatchObject({ events: ['Stop', 'Notification'] });
  });
});

describe('refuses, with the place, and changes nothing', () => {
  const cases: [name: string, text: string, line: number, column: number, why: RegExp][] = [
    ['no JSON', '{\n  "a": nope\n}', 2, 8, /not valid JSON/],
    ['a missing bracket', '{\n  "a": [1\n', 3, 1, /not valid JSON/],
    ['a list', '[]', 1, 1, /an array, not an object/],
    ['text after the object', '{}\n{}', 2, 1, /not valid JSON/],
    ['hooks that are a list', '{\n  "hooks": []\n}', 2, 12, /"hooks" is an array/],
    ['hooks that are null', '{"hooks":null}', 1, 10, /"hooks" is null/],
    ['an event that is no list', '{"hooks":{\n"Stop": {}}}', 2, 9, /"Stop" is an object, not an array/],
    ['hooks twice', '{"hooks":{},\n "hooks":{}}', 2, 2, /"hooks" occurs twice/],
    ['an event twice', '{"hooks":{"Stop":[],"Stop":[]}}', 1, 21, /"Stop" occurs twice/],
    [
      'a command twice in one handler',
      '{"hooks":{"Stop":[{"hooks":[{"command":"a","command":"b"}]}]}}',
      1,
      44,
      /"command" occurs twice/,
    ],
    ['a deep text', '{"a":'.repeat(5000), 1, 1001, /nested deeper/],
    ['a million levels', '['.repeat(1_000_000), 1, 201, /nested deeper/],
    ['binary', '\u0000\u0001', 1, 1, /not valid JSON/],
  ];
  it.each(cases)('%s', (_, text, line, column, why) => {
    expect(settings.add(text, commands)).toEqual({ ok: false, line, column, why: expect.stringMatching(why) });
  });
  it('counts the column after a byte order mark', () => {
    expect(settings.remove('\ufeff[]')).toMatchObject({ ok: false, line: 1, column: 1 });
  });
  it('ignores parts of the file that it does not need', () => {
    const text = '{"hooks":{"Other":"odd","Stop":[1,null,{"hooks":"x"},{"hooks":[7,{"command":3}]}]},"a":1,"a":2}';
    expect(remove(add(text))).toBe(text);
  });
});
