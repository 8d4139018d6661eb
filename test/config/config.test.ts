import { describe, expect, it } from 'vitest';
import { type Config, type ConfigInput, resolve } from '../../src/config/config.ts';
import { jsonSchema, keys } from '../../src/config/schema.ts';
import { shownJson, shownValue } from '../../src/config/shown.ts';
import { explain, type Problem } from '../../src/problems/problem.ts';

const from = (
  input: Partial<ConfigInput> & { globalText?: string; projectText?: string; trusted?: boolean } = {},
): Config => {
  const { globalText, projectText, trusted = false, ...rest } = input;
  return resolve({
    global:
      globalText === undefined ? undefined : { file: '/home/me/.config/otel-hooks/config.json', text: globalText },
    project: projectText === undefined ? undefined : { file: '/srv/app/.otel-hooks.json', text: projectText, trusted },
    env: {},
    home: '/home/me',
    cwd: '/srv/app',
    ...rest,
  });
};
const codes = (problems: readonly Problem[]): string[] => problems.map(({ code }) => code);

describe('layers', () => {
  it('without any are the defaults', () => {
    const { values, origins, problems } = from();
    expect(values).toMatchObject({
      enabled: true,
      'otlp.timeout_ms': 10_000,
      'otlp.protocol': 'http/protobuf',
      max_chars: 20_000,
    });
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']));
    expect(problems).toEqual([]);
  });

  it('override one another: defaults, global file, project file, OTEL_*, OTEL_HOOKS_*, flags', () => {
    const layers: Partial<ConfigInput & { globalText: string; projectText: string; trusted: boolean }>[] = [
      { globalText: '{"debug": false, "provider": "otlp"}' },
      { projectText: '{"debug": true, "provider": "file"}', trusted: true },
      { env: { OTEL_LOG_LEVEL: 'info' } },
      { env: { OTEL_LOG_LEVEL: 'info', OTEL_HOOKS_DEBUG: 'true', OTEL_HOOKS_PROVIDER: 'console' } },
      { flags: { debug: false, provider: 'otlp,file' } },
    ];
    const seen = layers.map((_, i) => {
      const { values, origins } = from(Object.assign({}, ...layers.slice(0, i + 1)));
      return [values.debug, origins.debug, values.provider, origins.provider];
    });
    expect(seen).toEqual([
      [false, 'global file', 'otlp', 'global file'],
      [true, 'project file', 'file', 'project file'],
      [false, 'environment OTEL_LOG_LEVEL', 'file', 'project file'],
      [true, 'environment OTEL_HOOKS_DEBUG', ['console'], 'environment OTEL_HOOKS_PROVIDER'],
      [false, 'flag --debug', 'otlp,file', 'flag --provider'],
    ]);
  });

  it('put resource attributes together, name by name', () => {
    const { attributes, values } = from({
      globalText: '{"attributes": {"team": "a", "org": "x"}}',
      projectText: '{"attributes": "team=b,app=c"}',
      env: { OTEL_RESOURCE_ATTRIBUTES: 'app=d,note=a%20b%2Cc' },
    });
    expect(attributes).toEqual({ team: 'a', org: 'x', app: 'd', note: 'a b,c' });
    expect(values.attributes).toEqual(attributes);
  });

  it('resolve paths relative to the place where they were written', () => {
    const { values } = from({
      globalText: '{"file": {"path": "out.jsonl"}, "otlp": {"certificate": "~/ca.pem"}}',
      env: { OTEL_EXPORTER_OTLP_CLIENT_KEY: 'key.pem', AGENT_HOOKS_LOG: '/var/log/x' },
    });
    expect(values).toMatchObject({
      'file.path': '/home/me/.config/otel-hooks/out.jsonl',
      'otlp.certificate': '/home/me/ca.pem',
      'otlp.client_key': '/srv/app/key.pem',
      agent_hooks_log: '/var/log/x',
    });
  });

  it('treat an empty variable as unset', () => {
    const { values, problems } = from({
      env: { OTEL_HOOKS_MAX_CHARS: '', OTEL_EXPORTER_OTLP_ENDPOINT: '  ', OTEL_CONFIG_FILE: '' },
    });
    expect(values.max_chars).toBe(20_000);
    expect(values['otlp.endpoint']).toBeUndefined();
    expect(problems).toEqual([]);
  });
});

describe("a project's file", () => {
  const redirecting = JSON.stringify({
    provider: 'otlp',
    otlp: { endpoint: 'https://evil.example', headers: 'a=b', timeout_ms: 1, certificate: '/x' },
    file: { path: '/etc/passwd' },
    agent_hooks_log: '/tmp/log',
    state_dir: '/tmp/s',
    max_chars: 1_000_000,
    enabled: true,
    debug: true,
    exporters: { traces: 'otlp' },
  });

  it('cannot redirect data without consent, and each key is a problem', () => {
    const globalText = '{"enabled": false, "otlp": {"endpoint": "https://mine.example"}}';
    const { values, problems } = from({ globalText, projectText: redirecting });
    const alone = from({ globalText });
    expect(values).toEqual(alone.values);
    expect(new Set(codes(problems))).toEqual(new Set(['config-untrusted']));
    expect(problems.map(problem => 'key' in problem && problem.key)).toEqual([
      'provider',
      'otlp.endpoint',
      'otlp.headers',
      'otlp.timeout_ms',
      'otlp.certificate',
      'file.path',
      'agent_hooks_log',
      'state_dir',
      'max_chars',
      'enabled',
      'debug',
      'exporters.traces',
    ]);
    expect(problems[1]).toMatchObject({ file: '/srv/app/.otel-hooks.json', line: 1, used: 'https://mine.example' });
    for (const problem of problems) expect(explain(problem).next).toContain('otel-hooks config --trust');
  });

  it('may narrow and label', () => {
    const projectText =
      '{"enabled": false, "service_name": "app", "attributes": {"team": "a"}, "trace": {"deny_as_error": true}}';
    const { values, problems } = from({ projectText });
    expect(values).toMatchObject({
      enabled: false,
      service_name: 'app',
      attributes: { team: 'a' },
      'trace.deny_as_error': true,
    });
    expect(problems).toEqual([]);
  });

  it('may reduce the content that is sent, and never extend it', () => {
    const globalText = '{"content": {"prompt": "redacted", "results": "hash"}}';
    const less = from({ globalText, projectText: '{"content": {"prompt": "off", "results": "hash", "paths": "off"}}' });
    expect(less.values).toMatchObject({ 'content.prompt': 'off', 'content.results': 'hash', 'content.paths': 'off' });
    expect(less.problems).toEqual([]);
    const projectText =
      '{"content": {"prompt": "full", "results": "redacted", "hash_key": "0123456789abcdef"}, "redaction": {"allow": [".*"]}}';
    const more = from({ globalText, projectText });
    expect(more.values).toEqual(from({ globalText }).values);
    expect(more.problems.map(problem => 'key' in problem && problem.key)).toEqual([
      'content.prompt',
      'content.results',
      'content.hash_key',
      'redaction.allow',
    ]);
  });

  it("may remove names of vendors' metadata, and reduce the records that are sent, and never extend them", () => {
    const globalText = '{"metadata": {"include": ["dev.a.b", "dev.a.c"]}, "logs": {"level": "info"}}';
    const less = from({ globalText, projectText: '{"metadata": {"include": ["dev.a.c"]}, "logs": {"level": "warn"}}' });
    expect(less.values).toMatchObject({ 'metadata.include': ['dev.a.c'], 'logs.level': 'warn' });
    expect(less.problems).toEqual([]);
    const projectText = '{"metadata": {"include": ["dev.a.c", "dev.x"]}, "logs": {"level": "debug"}}';
    const more = from({ globalText, projectText });
    expect(more.values).toEqual(from({ globalText }).values);
    expect(more.problems.map(problem => 'key' in problem && problem.key)).toEqual(['metadata.include', 'logs.level']);
    expect(from({ projectText: '{"metadata": {"include": ["dev.a.b"]}}' }).values['metadata.include']).toBeUndefined();
    expect(from({ projectText: '{"metadata": {"include": []}}' }).problems).toEqual([]);
  });

  it('may set everything once it is trusted', () => {
    const { values, problems } = from({ projectText: redirecting, trusted: true });
    expect(values['otlp.endpoint']).toBe('https://evil.example');
    expect(problems).toEqual([]);
  });
});

describe('mistakes in a file', () => {
  it.each<[string, string, Partial<Problem>[]]>([
    ['a missing comma', '{\n  "debug": true\n  "fsync": true\n}', [{ code: 'config-json', line: 3, column: 3 }]],
    ['text after the end', '{}\nx', [{ code: 'config-json', line: 2, column: 1 }]],
    ['a list', '\n[]', [{ code: 'config-json', line: 2, column: 1, why: 'it is not an object' }]],
    ['nothing', '', [{ code: 'config-json', line: 1, column: 1 }]],
    [
      'a wrong type',
      '{\n "max_chars": "many"\n}',
      [{ code: 'config-value', key: 'max_chars', line: 2, value: '"many"', used: '20000' }],
    ],
    [
      'a wrong word',
      '{"otlp": {\n"protocol": "thrift"}}',
      [{ code: 'config-value', key: 'otlp.protocol', line: 2, value: '"thrift"', used: 'http/protobuf' }],
    ],
    [
      'a number out of bounds',
      '{"otlp": {"timeout_ms": 0}}',
      [{ code: 'config-value', key: 'otlp.timeout_ms', line: 1, value: '"0"', used: '10000' }],
    ],
    [
      'no address',
      '{"otlp": {"endpoint": "localhost:4318"}}',
      [
        {
          code: 'config-value',
          key: 'otlp.endpoint',
          value: undefined,
          why: 'is not an http:// or https:// address',
          used: 'not set',
        },
      ],
    ],
    ['another scheme', '{"otlp": {"endpoint": "file:///etc"}}', [{ code: 'config-value', key: 'otlp.endpoint' }]],
    [
      'headers that are not pairs',
      '{"otlp": {"headers": "token"}}',
      [{ code: 'config-value', key: 'otlp.headers', value: undefined, used: 'not set' }],
    ],
    [
      'headers of another shape',
      '{"otlp": {"headers": {"a": 1}}}',
      [{ code: 'config-value', key: 'otlp.headers', value: undefined }],
    ],
    ['a group that is a text', '{"otlp": "http://x"}', [{ code: 'config-key', key: 'otlp' }]],
    [
      'a key that nearly is one',
      '{\n\n"otlp": {"endpiont": "http://x"}}',
      [{ code: 'config-key', key: 'otlp.endpiont', line: 3, nearest: 'otlp.endpoint' }],
    ],
    ['a group with a typing error', '{"contents": {}}', [{ code: 'config-key', key: 'contents', nearest: 'content' }]],
    [
      'a key of such a group',
      '{"contents": {"prompts": true}}',
      [{ code: 'config-key', key: 'contents', nearest: 'content' }],
    ],
    [
      'a key without its group',
      '{"endpoint": "x"}',
      [{ code: 'config-key', key: 'endpoint', nearest: 'otlp.endpoint' }],
    ],
    ['a group that is not an object', '{"content": 1}', [{ code: 'config-key', key: 'content', nearest: undefined }]],
    ['a key like no other', '{"zzzzzzzz": 1}', [{ code: 'config-key', key: 'zzzzzzzz', nearest: undefined }]],
    [
      'a key that every object has',
      '{"__proto__": {"enabled": false}, "constructor": 1}',
      [
        { code: 'config-key', key: '__proto__' },
        { code: 'config-key', key: 'constructor' },
      ],
    ],
  ])('%s', (_, globalText, expected) => {
    const { problems, values } = from({ globalText });
    expect(problems).toMatchObject(
      expected.map(each => ({ file: '/home/me/.config/otel-hooks/config.json', ...each })),
    );
    expect(values).toEqual(from().values);
    for (const problem of problems) expect(explain(problem).what).toContain('/home/me/.config/otel-hooks/config.json');
  });

  it('leave the correct values valid', () => {
    expect(from({ globalText: '{"max_chars": "x", "debug": true}' }).values).toMatchObject({
      max_chars: 20_000,
      debug: true,
    });
  });

  it('name the value of the layer below, which is used', () => {
    const { problems } = from({ globalText: '{"max_chars": 7}', env: { OTEL_HOOKS_MAX_CHARS: 'lots' } });
    expect(problems).toMatchObject([
      { code: 'config-value', variable: 'OTEL_HOOKS_MAX_CHARS', value: '"lots"', used: '7' },
    ]);
  });

  it('comments, trailing commas, a byte order mark and $schema are not mistakes', () => {
    const { problems, values } = from({ globalText: '\uFEFF// mine\n{"$schema": "x", "debug": true,}' });
    expect(problems).toEqual([]);
    expect(values.debug).toBe(true);
  });

  it('never shows a secret', () => {
    const secret = 'hunter2';
    const { problems, values } = from({
      globalText: `{"otlp": {"headers": "${secret}", "logs_headers": ["${secret}"], "endpoint": "ftp://u:${secret}@h"}}`,
      env: { OTEL_EXPORTER_OTLP_TRACES_HEADERS: `a=%zz${secret}`, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: secret },
    });
    expect(problems).toHaveLength(5);
    expect(JSON.stringify(problems.map(problem => [problem, explain(problem)]))).not.toContain(secret);
    expect(values['otlp.headers']).toBeUndefined();
    expect(shownValue('otlp.headers', `authorization=${secret}`)).toBe('authorization=***');
    expect(shownJson('otlp.headers', { authorization: secret })).toBe('authorization=***');
    expect(shownValue('otlp.endpoint', `https://u:${secret}@h:1/p?key=${secret}#${secret}`)).toBe('https://h:1/p');
  });

  it.each([
    ['7 characters', 'hunter2', '***'],
    ['23 characters', '0123456789abcdefghijABC', '***'],
    ['24 characters', '0123456789abcdefghijABCD', '***ABCD'],
    ['a whole key', `sk-lf-${'0'.repeat(50)}wxyz`, '***wxyz'],
  ])('shows at most the end of a secret, and only of a long one: %s', (_, secret, shown) => {
    expect(shownValue('langfuse.secret_key', secret)).toBe(shown);
    expect(shownJson('langfuse.secret_key', secret)).toBe(shown);
  });
});

it('survives files of any shape', () => {
  for (const text of [
    'null',
    '"x"',
    '{"a":',
    '{"otlp":{"traces_endpoint":{"a":[{}]}}}',
    `${'{"otlp":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
    '\0\0',
  ]) {
    expect(() => from({ globalText: text, projectText: text })).not.toThrow();
  }
});

it('publishes a JSON Schema with every key and its description', () => {
  const text = JSON.stringify(jsonSchema());
  for (const key of keys) expect(text).toContain(`"${key.split('.').at(-1)}"`);
  expect(jsonSchema()).toMatchObject({
    type: 'object',
    additionalProperties: false,
    properties: {
      otlp: {
        type: 'object',
        properties: { endpoint: { type: 'string', description: expect.stringContaining('an OTLP receiver') } },
      },
    },
  });
});
