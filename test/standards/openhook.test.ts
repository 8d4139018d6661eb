import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { exampleAgent } from '../../src/agents/index.ts';
import { openHook } from '../../src/standards/openhook/openhook-validator.ts';
import { rules } from '../../src/standards/openhook/rules.ts';
import { noOpenHook, restOfOpenHook, toOpenHook } from '../../src/standards/openhook/to-openhook.ts';
import type { Asked, Report } from '../../src/standards/validation.ts';
import { play, START_MS } from '../play.ts';
import { overShared, sharedPath } from '../shared.ts';

type Fields = Record<string, unknown>;

const judged = (text: string, name = 'stream.jsonl', asked: Asked = {}): Report => {
  const validation = openHook.validation(name, asked);
  validation.write(text);
  return validation.end();
};
const rulesIn = (report: Report): string[] => [...new Set(report.findings.map(({ rule }) => rule))];

let count = 0;
/** One envelope; what is `undefined` is left out. */
const envelope = (type: string, data: Fields = {}, change: Fields = {}): Fields => {
  count += 1;
  return {
    openhook: '0.1',
    id: `id-${count}`,
    source: 'some-tool',
    type,
    time: '2026-11-02T10:00:00.000Z',
    session_id: 's-1',
    data,
    context: 'file:///home/ada/shop',
    ...change,
  };
};
const stream = (...envelopes: unknown[]): string => `${envelopes.map(each => JSON.stringify(each)).join('\n')}\n`;
const start = (change?: Fields) => envelope('session.start', { model: 'some-model' }, change);
const prompt = () => envelope('prompt.submit', { prompt_length: 12 });
const toolStart = (id: string | undefined = 'c-1') => envelope('tool.start', { tool_name: 'Bash', tool_call_id: id });
const toolEnd = (id: string | undefined = 'c-1', change: Fields = {}) =>
  envelope('tool.end', { tool_name: 'Bash', tool_call_id: id, status: 'success', duration_ms: 3, ...change });
const end = (data: Fields = {}, change: Fields = {}) =>
  envelope('session.end', { transcript_path: '/home/ada/t.jsonl', reason: 'user_exit', ...data }, change);
const write = (data: Fields) => envelope('file.write', { path: 'src/a.ts', ...data });
/** A complete session around the tested envelopes. */
const session = (...inside: unknown[]): string => stream(start(), ...inside, end());
const discovery = (...hooks: unknown[]): string => JSON.stringify({ openhook: '0.1', hooks });

interface Row {
  bad: string;
  good: string;
  /** The line, and the pointer into the envelope. */
  at: string;
  name?: string;
  asked?: Asked;
}

/** One case that each check rejects, and a neighbour that it accepts. */
const table: { readonly [rule in keyof typeof rules]: Row } = {
  'json/syntax': { bad: `${stream(start())}{"openhook": 0.1,}\n${stream(end())}`, good: session(), at: '2' },
  'json/bom': { bad: `\uFEFF${session()}`, good: session(), at: '1' },
  'json/duplicate-key': {
    bad: session(prompt()).replace('"prompt_length":12', '"prompt_length":1,"prompt_length":12'),
    good: session(prompt()),
    at: '2 /data/prompt_length',
  },
  'limit/depth': {
    bad: session({ ...prompt(), extensions: JSON.parse(`${'{"a":'.repeat(600)}1${'}'.repeat(600)}`) }),
    good: session({ ...prompt(), extensions: JSON.parse(`${'{"a":'.repeat(400)}1${'}'.repeat(400)}`) }),
    at: '2',
  },
  'limit/size': {
    bad: session(envelope('prompt.submit', {}, { context: `file:///${'x'.repeat(1 << 24)}` })),
    good: session(envelope('prompt.submit', {}, { context: `file:///${'x'.repeat(1 << 16)}` })),
    at: '2',
  },
  'stream/empty': { bad: '\n', good: session(), at: '1' },
  'envelope/key': { bad: session({ hook_event_name: 'Stop' }), good: session(), at: '2' },
  'envelope/required': {
    bad: session({ ...prompt(), id: undefined }),
    good: session(prompt()),
    at: '2 /id',
  },
  'envelope/type': { bad: session({ ...prompt(), data: [] }), good: session(prompt()), at: '2 /data' },
  'envelope/empty': { bad: session({ ...prompt(), id: '' }), good: session(prompt()), at: '2 /id' },
  'envelope/version': {
    bad: session({ ...prompt(), openhook: '0.1.0' }),
    good: session(prompt()),
    at: '2 /openhook',
  },
  'envelope/unknown-version': {
    bad: session({ ...prompt(), openhook: '0.2' }),
    good: session(prompt()),
    at: '2 /openhook',
  },
  'envelope/source': {
    bad: stream(end({}, { source: 'Some_Tool' }), start({ session_id: 's-2' }), end({}, { session_id: 's-2' })),
    good: stream(end({}, { source: 'some-tool-2' })),
    at: '1 /source',
  },
  'envelope/event-type': {
    bad: session(envelope('doc.write')),
    good: session(envelope('doc.write', {}, { openhook: '0.2' })),
    at: '2 /type',
  },
  'envelope/time': {
    bad: session(envelope('prompt.submit', {}, { time: '2026-11-02T10:00:00' })),
    good: session(envelope('prompt.submit', {}, { time: '2026-11-02T12:00:00+0200' })),
    at: '2 /time',
  },
  'envelope/extra': {
    bad: session({ ...prompt(), trace_id: 'x' }),
    good: session({ ...prompt(), extensions: { 'some-tool': { trace_id: 'x' } } }),
    at: '2 /trace_id',
  },
  'envelope/context': {
    bad: session(envelope('prompt.submit', {}, { context: '/home/ada' })),
    good: session(envelope('prompt.submit', {}, { context: 'https://notes.example/page' })),
    at: '2 /context',
  },
  'envelope/cwd': {
    bad: session(envelope('prompt.submit', {}, { context: undefined, cwd: '/home/ada' })),
    good: session(envelope('prompt.submit', {}, { context: undefined })),
    at: '2 /cwd',
  },
  'data/required': {
    bad: session(envelope('file.write', { operation: 'create' })),
    good: session(write({ operation: 'create' })),
    at: '2 /data/path',
  },
  'data/type': {
    bad: session(envelope('prompt.submit', { prompt_length: '12' })),
    good: session(envelope('prompt.submit', { prompt_length: 12, more: true })),
    at: '2 /data/prompt_length',
  },
  'data/enum': {
    bad: stream(end({ reason: 'stop' })),
    good: stream(end({ reason: 'timeout' })),
    at: '1 /data/reason',
  },
  'data/range': {
    bad: session(write({ start_line: 0 })),
    good: session(write({ start_line: 1 })),
    at: '2 /data/start_line',
  },
  'data/lines': {
    bad: session(write({ start_line: 9, end_line: 8 })),
    good: session(write({ start_line: 9, end_line: 9 })),
    at: '2 /data/end_line',
  },
  'data/transcript-path': {
    bad: stream(end({ transcript_path: '~/t.jsonl' })),
    good: stream(end({ transcript_path: 'C:\\Users\\ada\\t.jsonl' })),
    at: '1 /data/transcript_path',
  },
  'privacy/content': {
    bad: session(
      envelope('tool.start', { tool_name: 'Bash' }, { extensions: { vendor: { tool_input: { command: 'ls' } } } }),
      toolEnd(undefined),
    ),
    good: session(
      envelope('tool.start', { tool_name: 'Bash' }, { extensions: { vendor: { prompt_length: 2 } } }),
      toolEnd(undefined),
    ),
    at: '2 /extensions/vendor/tool_input',
  },
  'stream/repeated': (() => {
    const twice = prompt();
    return { bad: session(twice, twice), good: session(twice, prompt()), at: '3 /id' };
  })(),
  'stream/id-reused': (() => {
    const one = prompt();
    return {
      bad: session(one, { ...prompt(), id: one.id, data: { prompt_length: 99 } }),
      good: session(one, prompt()),
      at: '3 /id',
    };
  })(),
  'session/source': {
    bad: session({ ...prompt(), source: 'another-tool' }),
    good: stream(
      start(),
      end(),
      start({ session_id: 's-2', source: 'another-tool' }),
      end({}, { session_id: 's-2', source: 'another-tool' }),
    ),
    at: '2 /source',
  },
  'session/no-end': { bad: stream(start(), prompt()), good: session(prompt()), at: '1 /session_id' },
  'session/start-first': { bad: stream(prompt(), start(), end()), good: session(prompt()), at: '2 /type' },
  'session/end-last': {
    bad: stream(start(), end(), prompt()),
    good: stream(start(), end(), start(), prompt(), end()),
    at: '3 /type',
  },
  'session/clock': {
    bad: session({ ...prompt(), time: '2026-11-02T09:59:58.000Z' }),
    good: session({ ...prompt(), time: '2026-11-02T09:59:59.500Z' }),
    at: '2 /time',
  },
  'session/transcript': {
    bad: stream(start(), end({ transcript_path: undefined })),
    good: stream(
      start(),
      end({ transcript_path: undefined }, { extensions: { 'otel-hooks': { transcript: 'none' } } }),
    ),
    at: '2 /data',
  },
  'tool/end-without-start': {
    bad: session(toolStart('c-1'), toolEnd('c-1'), toolEnd('c-2')),
    good: session(toolStart(undefined), toolStart(undefined), toolEnd(undefined), toolEnd(undefined)),
    at: '4 /data/tool_call_id',
  },
  'tool/unfinished': {
    bad: session(toolStart('c-1')),
    good: session(toolStart('c-1'), toolEnd('c-1')),
    at: '3 /type',
  },
  'file/no-call': {
    bad: session(write({ tool_call_id: 'c-1' })),
    good: session(toolStart('c-1'), toolEnd('c-1'), write({ tool_call_id: 'c-1' })),
    at: '2 /data/tool_call_id',
  },
  'level/not-reached': {
    bad: session(),
    good: session(prompt(), toolStart(), toolEnd()),
    at: '1 /source',
    asked: { level: 2 },
  },
  'discovery/hooks': {
    bad: JSON.stringify({ openhook: '0.1', hooks: {} }),
    good: discovery(),
    at: '1 /hooks',
    name: '/p/.openhook.json',
  },
  'discovery/command': {
    bad: discovery({ command: ' ' }),
    good: discovery({ command: 'cat' }),
    at: '1 /hooks/0/command',
    name: '.openhook.json',
  },
  'discovery/events': {
    bad: discovery({ command: 'cat', events: [7] }),
    good: discovery({ command: 'cat', events: [] }),
    at: '1 /hooks/0/events/0',
    name: '.openhook.json',
  },
  'discovery/event-type': {
    bad: discovery({ command: 'cat', events: ['tool.*'] }),
    good: discovery({ command: 'cat', events: ['tool.end', '*'] }),
    at: '1 /hooks/0/events/0',
    name: '.openhook.json',
  },
  'discovery/no-events': {
    bad: discovery({ command: 'cat', events: [] }),
    good: discovery({ command: 'cat' }),
    at: '1 /hooks/0/events',
    name: '.openhook.json',
  },
  'discovery/async': {
    bad: discovery({ command: 'cat', async: 'yes' }),
    good: discovery({ command: 'cat', async: true }),
    at: '1 /hooks/0/async',
    name: '.openhook.json',
  },
  'discovery/unknown-key': {
    bad: discovery({ command: 'cat', timeout: 3 }),
    good: discovery({ command: 'cat' }),
    at: '1 /hooks/0/timeout',
    // Detected by its shape as well.
    name: 'hooks.json',
  },
};

describe('each check', () => {
  it.each(Object.entries(table))('%s has a case that it rejects and one that it accepts', (rule, row) => {
    const { bad, good, at, name = 'stream.jsonl', asked = {} } = row;
    const found = judged(bad, name, asked).findings.filter(each => each.rule === rule);
    expect(found.map(({ line, field }) => `${line} ${field}`.trim())).toEqual([at]);
    expect(found[0]?.level).toBe(rules[rule as keyof typeof rules].level);
    expect(rulesIn(judged(good, name, asked))).not.toContain(rule);
  });

  it('has a row here', () => {
    expect(Object.keys(table)).toEqual(Object.keys(rules));
  });

  it('accepts a complete session without findings', () => {
    const text = session(prompt(), toolStart(), toolEnd(), write({ tool_call_id: 'c-1' }));
    expect(judged(text).findings).toEqual([]);
  });
});

it('never throws for any envelope', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('0.1', 'tool.end', 'session.end', 's', '2026-11-02T10:00:00Z'),
  );
  const fields = ['openhook', 'id', 'source', 'type', 'time', 'session_id', 'data', 'context', 'extensions', 'hooks'];
  const any = fc.record(Object.fromEntries(fields.map(field => [field, value])), { requiredKeys: ['openhook'] });
  fc.assert(
    fc.property(fc.array(any, { minLength: 2, maxLength: 4 }), envelopes => {
      judged(stream(...envelopes));
    }),
    { numRuns: 200 },
  );
});

describe('a time', () => {
  it.each([
    ['2026-11-02T10:00:00+01', true],
    ['2026-11-02T10:00:00,25Z', true],
    ['2026-11-02T10:00:00.25-0330', true],
    ['2026-11-02t10:00:00Z', false],
    ['2026-11-02 10:00:00Z', false],
    ['2026-11-02T10:00:00+1', false],
    ['2026-11-02T10:00Z', false],
  ])('%s: %s', (time, isGood) => {
    expect(judged(session(envelope('prompt.submit', {}, { time }))).ok).toBe(isGood);
  });
});

it('a drive, a tilde and an empty text are not a URI as context', () => {
  const contexts = ['C:\\src\\shop', 'C:/src/shop', '~/shop', '', 'file:///a b', 'mailto:inbox/1', 'file:///C:/src'];
  const text = session(...contexts.map(context => envelope('prompt.submit', {}, { context })));
  const odd = judged(text).findings.filter(({ rule }) => rule === 'envelope/context');
  expect(odd.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6]);
});

it('an empty path counts as missing', () => {
  expect(judged(session(write({ path: '' }))).findings.map(({ rule, field }) => [rule, field])).toEqual([
    ['data/required', '/data/path'],
  ]);
});

it('a list is not a discovery file', () => {
  for (const text of ['[]', `[${discovery({ command: 'cat' })}]`])
    expect(rulesIn(judged(text, '.openhook.json'))).toEqual(['discovery/hooks']);
});

describe('levels', () => {
  const level = (text: string, asked?: Asked) =>
    judged(text, 'x.jsonl', asked).levels?.map(each => [each.source, each.level, each.missing]);

  it.each([
    ['nothing but an end', stream(end()), 1, ['session.start', 'prompt.submit', 'tool.start', 'tool.end']],
    ['no end', stream(start()), 0, ['session.end', 'a stream without errors']],
    ['an end with an error', stream(end({ duration_ms: -1 })), 0, ['a stream without errors']],
    ['all five types', session(prompt(), toolStart(), toolEnd()), 2, ['.openhook.json, which no stream can show']],
    [
      'no transcript',
      stream(start(), prompt(), toolStart(), toolEnd(), end({ transcript_path: undefined })),
      1,
      ['transcript_path'],
    ],
    [
      'an open call',
      session(prompt(), toolStart(), toolEnd(), toolStart('c-9')),
      1,
      ['a tool.end for each tool.start'],
    ],
  ] as const)('%s', (_, text, reached, missing) => {
    expect(level(text)).toEqual([['some-tool', reached, missing]]);
  });

  it("a whole session of the example's agent reaches level 2 and breaks nothing", () => {
    if (isAbsent(exampleAgent.demo)) throw new Error('the example has no session');
    let atMs = START_MS;
    const hooks = exampleAgent.demo('demo-1', '/home/ada/shop').map(({ afterMs, payload }) => {
      atMs += Math.max(0, afterMs);
      return { atMs, payload, header: { tool: exampleAgent.id } };
    });
    const state = noOpenHook();
    const beyond = { transcript: '/home/ada/t.jsonl' };
    const envelopes = play(hooks).events.flatMap(event => toOpenHook(state, event, beyond));
    const report = judged(stream(...envelopes, ...restOfOpenHook(state, beyond)), 'x.jsonl', { level: 2 });
    expect(report.findings).toEqual([]);
    expect(report.levels?.map(({ source, level: reached }) => [source, reached])).toEqual([[exampleAgent.id, 2]]);
  });

  it('are reported for each source', () => {
    const other = { source: 'another-tool', session_id: 's-2' };
    expect(level(stream(start(), end(), end({}, other)))?.map(([source, reached]) => [source, reached])).toEqual([
      ['some-tool', 1],
      ['another-tool', 1],
    ]);
  });

  it('an open stream needs no end', () => {
    expect(judged(stream(start(), prompt()), 'x.jsonl', { open: true }).ok).toBe(true);
  });

  it('one envelope alone is not a stream', () => {
    const { ok, levels, findings } = judged(JSON.stringify(toolEnd()), 'example.json');
    expect({ ok, levels, findings }).toEqual({ ok: true, levels: undefined, findings: [] });
  });

  it('one envelope alone is checked against a requested level', () => {
    expect(judged(JSON.stringify(end()), 'example.json', { level: 1 }).ok).toBe(true);
    const { ok, levels } = judged(JSON.stringify(end()), 'example.json', { level: 2 });
    expect([ok, levels?.map(({ level: reached }) => reached)]).toEqual([false, [1]]);
    expect(judged(JSON.stringify(prompt()), 'example.json', { level: 1 }).ok).toBe(false);
  });
});

// The standard's text is outside of the repository. If it is there, all of its examples are checked.
overShared('seeds', 'the text of OpenHook 0.1', () => {
  const seed = readdirSync(sharedPath('seeds')).find(name => name.startsWith('003')) ?? '';
  const text = readFileSync(sharedPath(`seeds/${seed}`), 'utf8');
  const reference = readFileSync(sharedPath('reference/openhook.md'), 'utf8');

  it('has a discovery file that is valid', () => {
    const [example = ''] = /\{ "openhook".*?\} \]\}/.exec(text) ?? [];
    expect(judged(example, '.openhook.json')).toMatchObject({ ok: true, format: 'file', findings: [] });
  });

  it('has three published examples that are valid, and one without an id that is not', () => {
    const rows = reference.split('\n').filter(line => /^\| `[a-z-]+\.json` \| id /.test(line));
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      const example = exampleIn(row);
      const report = judged(JSON.stringify(example), 'example.json');
      expect(
        report.findings.filter(({ rule }) => rule !== 'tool/end-without-start' && rule !== 'file/no-call'),
        row,
      ).toEqual([]);
      const broken = judged(JSON.stringify({ ...example, id: undefined }), 'example.json');
      expect(broken.findings.map(({ rule, field }) => `${rule} ${field}`)).toContain('envelope/required /id');
    }
  });

  it('has the same required fields, types and words as ours', () => {
    const schema = JSON.parse(
      /^\{ "\$schema"[\s\S]*?^ {2}"additionalProperties": false \}/m.exec(reference)?.[0] ?? '',
    ) as {
      required: string[];
      properties: Record<string, { enum?: string[] }>;
    };
    const { findings } = judged(JSON.stringify({ openhook: '0.1' }), 'x.json');
    const missing = findings.filter(({ rule }) => rule === 'envelope/required').map(({ field }) => field.slice(1));
    expect(['openhook', ...missing].sort()).toEqual([...schema.required].sort());
    for (const type of schema.properties.type?.enum ?? []) {
      expect(rulesIn(judged(JSON.stringify(envelope(type, { path: 'a' })), 'x.json'))).not.toContain(
        'envelope/event-type',
      );
    }
    const all = Object.fromEntries(Object.keys(schema.properties).map(name => [name, {}]));
    expect(rulesIn(judged(JSON.stringify(all), 'x.json'))).not.toContain('envelope/extra');
  });
});

/** A row of the reference: `id X, source Y, TYPE, time T, session S, data: field value, ...`. */
function exampleIn(row: string): Fields {
  const [, what = '', inside = ''] = /^\| `[^`]+` \| (.*?), data: (.*?);/.exec(row) ?? [];
  const word = (name: string): string | undefined => new RegExp(`\\b${name} \`([^\`]+)\``).exec(what)?.[1];
  const type = /, `([a-z]+\.[a-z]+)`/.exec(what)?.[1];
  const data = [...inside.matchAll(/(\w+) (?:`([^`]+)`|(\d+))/g)].map(([, name = '', quoted, digits]) => [
    name,
    quoted ?? Number(digits),
  ]);
  return {
    openhook: '0.1',
    id: word('id'),
    source: word('source'),
    type,
    time: word('time'),
    session_id: word('session'),
    data: Object.fromEntries(data),
    context: 'file:///home/user/my-project',
  };
}
