import { describe, expect, it } from 'vitest';
import { type ConfigInput, resolve } from '../../src/config/config.ts';
import { type Destination, destinationsFor, destinationsOf, providers } from '../../src/config/destinations.ts';
import type { Problem } from '../../src/problems/problem.ts';

const configOf = (file: object, env: Record<string, string> = {}, more: Partial<ConfigInput> = {}) =>
  resolve({ global: { file: '/g/config.json', text: JSON.stringify(file) }, env, home: '/h', cwd: '/w', ...more });

function from(
  file: object,
  env: Record<string, string> = {},
  more: Partial<ConfigInput> = {},
): { destinations: Destination[]; problems: Problem[] } {
  const config = configOf(file, env, more);
  const { destinations, problems } = destinationsOf(config);
  return { destinations, problems: [...config.problems, ...problems] };
}
const urls = ({ destinations: [first] }: { destinations: Destination[] }) => [
  first?.signals.traces?.url,
  first?.signals.metrics?.url,
  first?.signals.logs?.url,
];
const shown = ({ destinations }: { destinations: Destination[] }): string[] =>
  destinations.map(({ provider, endpoint, signals }) => `${provider} ${endpoint} ${Object.keys(signals).join('+')}`);

describe('destinations', () => {
  it.each<[string, object, Record<string, string>, string[]]>([
    ['none without provider and endpoint', {}, {}, []],
    [
      'the smallest config',
      { provider: 'otlp', otlp: { endpoint: 'http://127.0.0.1:4318' } },
      {},
      ['otlp http://127.0.0.1:4318 traces+metrics+logs'],
    ],
    ['an endpoint alone', { otlp: { endpoint: 'http://x:1/a/' } }, {}, ['otlp http://x:1/a/ traces+metrics+logs']],
    ['provider otlp alone', { provider: 'otlp' }, {}, ['otlp http://localhost:4318 traces+metrics+logs']],
    [
      'several',
      { provider: ['otlp', 'console', 'file'], file: { path: '/f' } },
      {},
      [
        'otlp http://localhost:4318 traces+metrics+logs',
        'console stdout traces+metrics+logs',
        'file /f traces+metrics+logs',
      ],
    ],
    ['disabled', { provider: 'otlp', agent_hooks_log: '/l' }, { OTEL_SDK_DISABLED: 'true' }, []],
    [
      'without traces',
      { provider: 'otlp' },
      { OTEL_TRACES_EXPORTER: 'none' },
      ['otlp http://localhost:4318 metrics+logs'],
    ],
    [
      'without anything',
      { provider: ['otlp', 'file', 'console'], file: { path: '/f' } },
      { OTEL_TRACES_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' },
      [],
    ],
    [
      'traces on the console besides',
      { provider: 'otlp' },
      { OTEL_TRACES_EXPORTER: 'console' },
      ['otlp http://localhost:4318 metrics+logs', 'console stdout traces'],
    ],
    ['an exporter named', {}, { OTEL_LOGS_EXPORTER: 'otlp' }, ['otlp http://localhost:4318 traces+metrics+logs']],
    ['the log of events', {}, { AGENT_HOOKS_LOG: '/l' }, ['agent-hooks-log /l events']],
    [
      'an endpoint with a password',
      { otlp: { endpoint: 'https://u:p@h/x?key=1' } },
      {},
      ['otlp https://h/x traces+metrics+logs'],
    ],
  ])('%s', (_, file, env, expected) => {
    expect(shown(from(file, env))).toEqual(expected);
  });

  it.each<[string, object, Record<string, string>, (string | undefined)[]]>([
    ['base', { endpoint: 'http://h:1' }, {}, ['http://h:1/v1/traces', 'http://h:1/v1/metrics', 'http://h:1/v1/logs']],
    [
      'base with a path',
      { endpoint: 'http://h:1/otlp/' },
      {},
      ['http://h:1/otlp/v1/traces', 'http://h:1/otlp/v1/metrics', 'http://h:1/otlp/v1/logs'],
    ],
    [
      'base with a query',
      { endpoint: 'http://h/a?k=v' },
      {},
      ['http://h/a/v1/traces?k=v', 'http://h/a/v1/metrics?k=v', 'http://h/a/v1/logs?k=v'],
    ],
    [
      "a signal's own, used as it stands",
      { endpoint: 'http://h' },
      { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://l:2/push' },
      ['http://h/v1/traces', 'http://h/v1/metrics', 'http://l:2/push'],
    ],
    [
      "a signal's own without a path",
      { endpoint: 'http://h' },
      { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://l:2' },
      ['http://h/v1/traces', 'http://h/v1/metrics', 'http://l:2/'],
    ],
    ['one signal alone', { traces_endpoint: 'http://h/t' }, {}, ['http://h/t', undefined, undefined]],
    [
      'one signal alone, others asked for',
      { traces_endpoint: 'http://h/t' },
      { OTEL_LOGS_EXPORTER: 'otlp' },
      ['http://h/t', undefined, 'http://localhost:4318/v1/logs'],
    ],
    [
      'as the Python package wrote it',
      { endpoint: 'http://h/p/v1/traces' },
      {},
      ['http://h/p/v1/traces', 'http://h/p/v1/metrics', 'http://h/p/v1/logs'],
    ],
    [
      'over gRPC',
      { endpoint: 'https://me:p@h:4317/', protocol: 'grpc' },
      { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://l:2', OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/protobuf' },
      [
        'https://h:4317/opentelemetry.proto.collector.trace.v1.TraceService/Export',
        'https://h:4317/v1/metrics',
        'http://l:2/opentelemetry.proto.collector.logs.v1.LogsService/Export',
      ],
    ],
    [
      'over gRPC, without an address',
      {},
      {
        OTEL_EXPORTER_OTLP_PROTOCOL: 'GRPC',
        OTEL_TRACES_EXPORTER: 'otlp',
        OTEL_METRICS_EXPORTER: 'none',
        OTEL_LOGS_EXPORTER: 'none',
      },
      ['http://localhost:4317/opentelemetry.proto.collector.trace.v1.TraceService/Export', undefined, undefined],
    ],
  ])('addresses: %s', (_, otlp, env, expected) => {
    expect(urls(from({ otlp }, env))).toEqual(expected);
  });

  it.each<[string, object, Record<string, string>, Problem[]]>([
    [
      'a provider that there is not',
      { provider: ['otpl'] },
      {},
      [
        {
          code: 'provider-unknown',
          provider: 'otpl',
          from: 'global file',
          known: providers,
          nearest: 'otlp',
        },
      ],
    ],
    [
      'a file without a path',
      { provider: 'file' },
      {},
      [{ code: 'provider-incomplete', provider: 'file', key: 'file.path' }],
    ],
    [
      "one signal's path as the base",
      { otlp: { endpoint: 'http://h/v1/traces' } },
      {},
      [{ code: 'endpoint-signal-path', endpoint: 'http://h/v1/traces', used: 'http://h', from: 'global file' }],
    ],
    [
      'the port of gRPC',
      {},
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h:4317' },
      [{ code: 'endpoint-grpc-port', endpoint: 'http://h:4317', from: 'environment OTEL_EXPORTER_OTLP_ENDPOINT' }],
    ],
    ['the port of gRPC and its protocol', { otlp: { endpoint: 'http://h:4317', protocol: 'grpc' } }, {}, []],
    [
      'the port of gRPC and its protocol for one signal',
      { otlp: { endpoint: 'http://h:4317', traces_protocol: 'grpc' } },
      {},
      [{ code: 'endpoint-grpc-port', endpoint: 'http://h:4317', from: 'global file' }],
    ],
    [
      'a path for gRPC',
      { otlp: { endpoint: 'https://h/otlp', protocol: 'grpc' } },
      {},
      [{ code: 'endpoint-grpc-path', endpoint: 'https://h/otlp', used: 'https://h', from: 'global file' }],
    ],
    [
      'a header that gRPC gives a meaning',
      { otlp: { endpoint: 'https://h', protocol: 'grpc', headers: { 'grpc-timeout': '1S', a: 'b' } } },
      {},
      [
        {
          code: 'config-value',
          key: 'otlp.headers',
          why: 'holds the header "grpc-timeout", which gRPC does not allow',
          used: 'no such header',
          variable: undefined,
        },
      ],
    ],
    [
      'signals without an endpoint',
      { otlp: { traces_endpoint: 'http://h/t' } },
      { OTEL_METRICS_EXPORTER: 'none' },
      [{ code: 'endpoint-missing', signals: ['logs'], key: 'otlp.endpoint or otlp.logs_endpoint' }],
    ],
  ])('a problem: %s', (_, file, env, expected) => {
    expect(from(file, env).problems).toEqual(expected);
  });

  it('have the settings of each signal', () => {
    const { destinations } = from(
      { otlp: { endpoint: 'https://h', headers: { A: '1', B: '2' }, timeout_ms: 5, certificate: '/ca' } },
      {
        OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'b=3,c=%C3%A4%20x',
        OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: '7',
        OTEL_EXPORTER_OTLP_LOGS_COMPRESSION: 'none',
        OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'http/json',
        OTEL_EXPORTER_OTLP_LOGS_CLIENT_KEY: '/k',
        OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'lowmemory',
        OTEL_METRIC_EXPORT_INTERVAL: '60000',
      },
    );
    const [first] = destinations;
    expect(first).toMatchObject({ temporality: 'delta', metricIntervalMs: 60_000 });
    expect(first?.signals.traces).toEqual({
      url: 'https://h/v1/traces',
      headers: { a: '1', b: '2' },
      timeoutMs: 5,
      gzip: true,
      protocol: 'http/protobuf',
      tls: { ca: '/ca', cert: undefined, key: undefined },
    });
    expect(first?.signals.logs).toEqual({
      url: 'https://h/v1/logs',
      headers: { a: '1', b: '3', c: 'ä x' },
      timeoutMs: 7,
      gzip: false,
      protocol: 'http/json',
      tls: { ca: '/ca', cert: undefined, key: '/k' },
    });
  });

  it('send a password in the address as a header', () => {
    const { destinations } = from({ otlp: { endpoint: 'https://me:p%40ss@h' } });
    expect(destinations[0]?.signals.traces).toMatchObject({
      url: 'https://h/v1/traces',
      headers: { authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}` },
    });
  });

  it.each(['a=b%0d%0ax-c:%20d', 'a%0d=b', 'content-length=3', 'host=evil', 'transfer-encoding=chunked'])(
    'do not send this header: %s',
    text => {
      const { destinations, problems } = from({ otlp: { endpoint: 'http://h' } }, { OTEL_EXPORTER_OTLP_HEADERS: text });
      expect(destinations[0]?.signals.traces?.headers).toEqual({});
      expect(problems).toMatchObject([
        { code: 'config-value', variable: 'OTEL_EXPORTER_OTLP_HEADERS', used: 'no such header' },
      ]);
    },
  );
});

describe('identity', () => {
  const id = (file: object, env: Record<string, string> = {}): string | undefined =>
    from(file, env).destinations[0]?.id;
  const base = { otlp: { endpoint: 'http://h', headers: 'a=b,c=d' } };

  it('is 16 hex characters, the same for every spelling of a destination', () => {
    expect(id(base)).toMatch(/^[0-9a-f]{16}$/);
    expect(id({ provider: ['otlp'], otlp: { endpoint: 'http://h/', headers: { C: 'd', A: 'b' } } })).toBe(id(base));
    expect(id({ otlp: { endpoint: 'http://h', headers: 'a=b,c=d', timeout_ms: 3, compression: 'none' } })).toBe(
      id(base),
    );
  });

  it.each<[string, object]>([
    ['address', { otlp: { endpoint: 'http://h2', headers: 'a=b,c=d' } }],
    ['credentials', { otlp: { endpoint: 'http://h', headers: 'a=b,c=e' } }],
    ['temporality', { otlp: { endpoint: 'http://h', headers: 'a=b,c=d', temporality: 'delta' } }],
    ['provider', { provider: 'console' }],
  ])('differs with another %s', (_, file) => {
    expect(id(file)).not.toBe(id(base));
  });
});

describe('credentials', () => {
  const file = {
    otlp: { endpoint: 'https://mine', headers: 'token=secret', client_key: '/k', client_certificate: '/c' },
  };

  it('stay with the host of the layer that set them', () => {
    const { destinations, problems } = from(file, { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://other' });
    expect(destinations[0]?.signals.traces).toMatchObject({
      url: 'https://other/v1/traces',
      headers: {},
      tls: { key: undefined, cert: undefined },
    });
    expect(problems.map(problem => problem.code === 'credentials-withheld' && problem.key)).toEqual([
      'otlp.headers',
      'otlp.client_certificate',
      'otlp.client_key',
    ]);
    expect(JSON.stringify(problems)).not.toContain('secret');
  });

  it('go to another path and signal of the same host', () => {
    const { destinations, problems } = from(file, { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'https://mine/logs' });
    expect(destinations[0]?.signals.logs?.headers).toEqual({ token: 'secret' });
    expect(problems).toEqual([]);
  });

  it('set above the endpoint go to it', () => {
    const { destinations } = from({ otlp: { endpoint: 'https://mine' } }, { OTEL_EXPORTER_OTLP_HEADERS: 'token=x' });
    expect(destinations[0]?.signals.traces?.headers).toEqual({ token: 'x' });
  });

  it('set in a layer below all endpoints go to the endpoint of a higher layer', () => {
    const { destinations } = from({ otlp: { headers: 'token=x' } }, { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://h' });
    expect(destinations[0]?.signals.traces?.headers).toEqual({ token: 'x' });
  });

  it('stay there when the layer above sets an endpoint and headers that cannot be read', () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://other', OTEL_EXPORTER_OTLP_HEADERS: 'broken' };
    const { destinations, problems } = from(file, env);
    expect(destinations[0]?.signals.traces?.headers).toEqual({});
    expect(JSON.stringify(problems)).not.toContain('secret');
  });

  it('are not sent to the endpoint of a trusted project either', () => {
    const project = { file: '/p/.otel-hooks.json', text: '{"otlp": {"endpoint": "https://theirs"}}', trusted: true };
    expect(from(file, {}, { project }).destinations[0]?.signals.traces?.headers).toEqual({});
  });
});

describe('the capture of events', () => {
  const hooks = (more: object) => from({ hooks: more }).destinations;

  it('has the form of the standard: all events, in one statement', () => {
    const [log] = hooks({ event: '*', output: 'events.jsonl' });
    expect(log).toMatchObject({ provider: 'agent-hooks-log', signals: { events: { path: '/g/events.jsonl' } } });
    expect(log?.signals.events?.types).toBeUndefined();
    expect(hooks({ output: 'events.jsonl' })).toEqual([log]);
    expect(from({ agent_hooks_log: '/g/events.jsonl', hooks: { output: 'events.jsonl' } }).destinations).toEqual([log]);
  });

  it('may be of some types, and to another machine', () => {
    const [log, away] = hooks({
      event: ['Policy.*', 'Action.Before'],
      output: '/l',
      endpoint: 'https://u:p@siem.example/in?x=1',
      headers: { 'X-Key': 'k' },
      sign_key: '~/key.pem',
    });
    expect(log?.signals.events?.types).toEqual(['policy.*', 'action.before']);
    expect(away).toMatchObject({ provider: 'agent-hooks-http', endpoint: 'https://siem.example/in' });
    expect(away?.signals.events).toMatchObject({
      url: 'https://siem.example/in?x=1',
      headers: { authorization: 'Basic dTpw', 'x-key': 'k' },
      gzip: false,
      sign: '/h/key.pem',
    });
    expect(new Set([log, ...hooks({ output: '/l' }), away].map(each => each?.id)).size).toBe(3);
  });

  it("waits for consent in a project's file, and keeps its headers from a project's address", () => {
    const project = (trusted: boolean) => {
      const text = '{"hooks": {"output": "/theirs", "endpoint": "https://theirs"}}';
      return from(
        { hooks: { endpoint: 'https://ours', headers: 'x-key=secret' } },
        {},
        { project: { file: '/p/.otel-hooks.json', text, trusted } },
      );
    };
    expect(project(false)).toMatchObject({
      destinations: [{ endpoint: 'https://ours' }],
      problems: [{ code: 'config-untrusted' }, {}],
    });
    expect(project(true).destinations.at(-1)?.signals.events?.headers).toEqual({});
  });
});

describe('--provider', () => {
  const config = configOf({
    ...{ provider: ['otlp', 'file'], file: { path: '/f' }, agent_hooks_log: '/l' },
    hooks: { endpoint: 'https://siem.example' },
  });

  it('keeps the named providers, and the log of events', () => {
    expect(destinationsFor(config, 'file').destinations.map(({ provider }) => provider)).toEqual([
      'file',
      'agent-hooks-log',
    ]);
    expect(destinationsFor(config, 'otlp,file').problems).toEqual([]);
  });

  it('reports unknown providers and providers that are not configured', () => {
    expect(destinationsFor(config, 'console datadg').problems).toMatchObject([
      { code: 'provider-not-configured', provider: 'console' },
      { code: 'provider-unknown', provider: 'datadg', from: '--provider' },
    ]);
  });

  it('reports no provider as missing while sending is turned off', () => {
    const off = configOf({ enabled: false, provider: 'otlp', otlp: { endpoint: 'http://h:4318' } });
    expect(destinationsFor(off, 'otlp')).toEqual({ destinations: [], problems: [] });
  });

  it('chooses the provider if the configuration names none, as in files of the Python package', () => {
    const keys = { langfuse: { public_key: 'pk', secret_key: 'sk' }, otlp: { endpoint: 'http://h:4318' } };
    const chosen = (file: object, provider: string) => {
      const { destinations, problems } = destinationsFor(configOf(file), provider);
      return [destinations.map(each => each.provider), problems.map(({ code }) => code)];
    };
    expect(chosen(keys, 'langfuse')).toEqual([['langfuse'], []]);
    expect(chosen(keys, 'langfuse,otlp')).toEqual([['otlp', 'langfuse'], []]);
    expect(chosen({ datadog: { service: 'shop' } }, 'datadog')).toEqual([['datadog'], []]);
    expect(chosen({ langfuse: { public_key: 'pk' } }, 'langfuse')).toEqual([[], ['provider-incomplete']]);
    expect(chosen(keys, 'langfuze')).toEqual([[], ['provider-unknown']]);
    expect(chosen({ ...keys, provider: 'otlp' }, 'langfuse')).toEqual([[], ['provider-not-configured']]);
  });
});

describe('headers that change', () => {
  const credentialsIn = (found: ReturnType<typeof from>) =>
    found.destinations[0]?.signals.traces && (found.destinations[0].signals.traces.credentials ?? 'none');
  const codes = ({ problems }: ReturnType<typeof from>) => problems.map(({ code }) => code);
  const oauth = {
    oauth_token_url: 'https://me:pw@login.example/token',
    oauth_client_id: 'me',
    oauth_client_secret: 'secret',
  };

  it('come from a command, or from a token server without the credentials of its address', () => {
    const command = { endpoint: 'https://h', headers_command: ['get', 'it'], headers_command_seconds: 7 };
    expect(credentialsIn(from({ otlp: { ...command, ...oauth } }))).toEqual({
      ...{ kind: 'command', command: ['get', 'it'], seconds: 7 },
    });
    expect(credentialsIn(from({ otlp: { endpoint: 'https://h', ...oauth, oauth_scope: 'a b' } }))).toMatchObject({
      ...{ kind: 'oauth', tokenUrl: 'https://login.example/token', clientId: 'me', clientSecret: 'secret' },
      ...{ auth: 'basic', scope: 'a b' },
    });
  });

  it('need the client and its secret', () => {
    const found = from({ otlp: { endpoint: 'https://h', oauth_token_url: oauth.oauth_token_url } });
    expect(credentialsIn(found)).toBe('none');
    expect(found.problems).toEqual([
      { code: 'provider-incomplete', provider: 'otlp', key: 'otlp.oauth_client_id' },
      { code: 'provider-incomplete', provider: 'otlp', key: 'otlp.oauth_client_secret' },
    ]);
  });

  it('are not sent to a host that a higher layer names', () => {
    for (const own of [{ headers_command: 'get' }, oauth]) {
      const found = from(
        { otlp: { endpoint: 'https://h', ...own } },
        { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://theirs' },
      );
      expect([credentialsIn(found), codes(found)]).toEqual(['none', ['credentials-withheld']]);
    }
  });

  it('keep the secret from a token server that a higher layer names', () => {
    const text = '{"otlp": {"oauth_token_url": "https://theirs/token"}}';
    const project = { file: '/p/.otel-hooks.json', text, trusted: true };
    const found = from({ otlp: { endpoint: 'https://h', ...oauth } }, {}, { project });
    expect([credentialsIn(found), codes(found)]).toEqual(['none', ['credentials-withheld']]);
  });

  it("are not a project's choice without consent, and its command is shown before", () => {
    const text = '{"otlp": {"headers_command": "curl evil"}}';
    const input = (trusted: boolean) => ({ project: { file: '/p/.otel-hooks.json', text, trusted } });
    const file = { otlp: { endpoint: 'https://h' } };
    const found = from(file, {}, input(false));
    expect([credentialsIn(found), codes(found)]).toEqual(['none', ['config-untrusted']]);
    expect(configOf(file, {}, input(false)).beyond).toMatchObject([
      { key: 'otlp.headers_command', value: 'curl evil' },
    ]);
    expect(credentialsIn(from(file, {}, input(true)))).toMatchObject({ command: 'curl evil' });
  });

  it('are those of their destination: another command is another destination', () => {
    const id = (command: string) =>
      from({ otlp: { endpoint: 'https://h', headers_command: command } }).destinations[0]?.id;
    expect(id('a')).toBe(id('a'));
    expect(id('a')).not.toBe(id('b'));
  });
});
