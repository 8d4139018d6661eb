/**
 * The requests to each back end that can be named as a provider, on the wire, and the conditions under which none is
 * sent.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConfigInput, resolve } from '../../src/config/config.ts';
import { type Destination, destinationsOf, openingKeys, providers } from '../../src/config/destinations.ts';
import { isPreset, type PresetName, presetNames, presets } from '../../src/config/presets.ts';
import { explain, type Problem } from '../../src/problems/problem.ts';
import { createHttpTransport } from '../../src/ship/transport.ts';
import { type Collector, startCollector } from '../collector.ts';
import { logs, metrics, namedSpans, record, resourceA, sums, traces } from './samples.ts';

interface Case {
  settings: { [group: string]: { [key: string]: string } };
  /** The address without further settings. */
  addresses: string[];
  headers: { [signal: string]: { [name: string]: string } };
  delta?: true;
}

const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;
const three = (base: string): string[] => ['traces', 'metrics', 'logs'].map(signal => `${base}/v1/${signal}`);
const same = (headers: { [name: string]: string }): Case['headers'] => ({
  traces: headers,
  metrics: headers,
  logs: headers,
});

const cases: { [name in PresetName]: Case } = {
  'grafana-cloud': {
    settings: {
      grafana_cloud: { endpoint: 'https://otlp-gateway-x.grafana.net/otlp', instance_id: '12', token: 'secret-glc' },
    },
    addresses: three('https://otlp-gateway-x.grafana.net/otlp'),
    headers: same({ authorization: basic('12:secret-glc') }),
  },
  langfuse: {
    settings: { langfuse: { public_key: 'pk-1', secret_key: 'secret-lf' } },
    addresses: ['https://cloud.langfuse.com/api/public/otel/v1/traces'],
    headers: { traces: { authorization: basic('pk-1:secret-lf'), 'x-langfuse-ingestion-version': '4' } },
  },
  datadog: {
    settings: { datadog: { api_key: 'secret-dd', site: 'datadoghq.eu' } },
    addresses: three('https://otlp.datadoghq.eu'),
    headers: {
      traces: { 'dd-api-key': 'secret-dd', 'dd-protocol': 'otlp', 'dd-otlp-source': 'llmobs' },
      metrics: { 'dd-api-key': 'secret-dd', 'dd-protocol': 'otlp' },
      logs: { 'dd-api-key': 'secret-dd', 'dd-protocol': 'otlp' },
    },
    delta: true,
  },
  honeycomb: {
    settings: { honeycomb: { api_key: 'secret-hc' } },
    addresses: three('https://api.honeycomb.io'),
    headers: {
      traces: { 'x-honeycomb-team': 'secret-hc' },
      metrics: { 'x-honeycomb-team': 'secret-hc', 'x-honeycomb-dataset': 'otel-hooks-metrics' },
      logs: { 'x-honeycomb-team': 'secret-hc' },
    },
  },
  'new-relic': {
    settings: { new_relic: { license_key: 'secret-nr' } },
    addresses: three('https://otlp.nr-data.net'),
    headers: same({ 'api-key': 'secret-nr' }),
    delta: true,
  },
  dynatrace: {
    settings: { dynatrace: { endpoint: 'https://abc.live.dynatrace.com/api/v2/otlp', token: 'secret-dt' } },
    addresses: three('https://abc.live.dynatrace.com/api/v2/otlp'),
    headers: same({ authorization: 'Api-Token secret-dt' }),
    delta: true,
  },
  axiom: {
    settings: { axiom: { token: 'secret-ax', traces_dataset: 't', logs_dataset: 'l', metrics_dataset: 'm' } },
    addresses: three('https://api.axiom.co'),
    headers: {
      metrics: { authorization: 'Bearer secret-ax', 'x-axiom-metrics-dataset': 'm' },
      traces: { authorization: 'Bearer secret-ax', 'x-axiom-dataset': 't' },
      logs: { authorization: 'Bearer secret-ax', 'x-axiom-dataset': 'l' },
    },
  },
  signoz: {
    settings: { signoz: { ingestion_key: 'secret-sz' } },
    addresses: three('https://ingest.us.signoz.cloud'),
    headers: same({ 'signoz-ingestion-key': 'secret-sz' }),
  },
  langsmith: {
    settings: { langsmith: { api_key: 'secret-ls', project: 'p' } },
    addresses: ['https://api.smith.langchain.com/otel/v1/traces'],
    headers: { traces: { 'x-api-key': 'secret-ls', 'langsmith-project': 'p' } },
  },
  phoenix: {
    settings: { phoenix: { api_key: 'secret-px' } },
    addresses: ['http://localhost:6006/v1/traces'],
    headers: { traces: { authorization: 'Bearer secret-px' } },
  },
  'azure-monitor': { settings: {}, addresses: three('http://localhost:4318'), headers: same({}) },
};

function from(file: object, more: Partial<ConfigInput> = {}): { destinations: Destination[]; problems: Problem[] } {
  const config = resolve({
    global: { file: '/g/config.json', text: JSON.stringify(file) },
    env: {},
    home: '/h',
    cwd: '/w',
    ...more,
  });
  const { destinations, problems } = destinationsOf(config);
  return { destinations, problems: [...config.problems, ...problems] };
}

/** `langfuse.base_url` in its nested form in the file. */
const placed = (name: PresetName, value: string): { [group: string]: { [key: string]: string } } => {
  const [group = '', key = ''] = presets[name].endpoint.split('.');
  return { [group]: { ...cases[name].settings[group], [key]: value } };
};

it('are all tried here, and are all providers', () => {
  expect(Object.keys(cases).sort()).toEqual([...presetNames].sort());
  expect(providers.filter(isPreset)).toEqual(presetNames);
});

describe.each(presetNames)('%s', name => {
  const { settings, addresses, headers, delta } = cases[name];
  let collector: Collector;
  beforeAll(async () => {
    collector = await startCollector();
  });
  afterAll(() => collector.close());

  it('is sent to the documented address', () => {
    const { destinations, problems } = from({ provider: name, ...settings });
    expect(problems).toEqual([]);
    const [destination] = destinations;
    expect(destination).toMatchObject({ provider: name, temporality: delta ? 'delta' : 'cumulative' });
    expect(Object.values(destination?.signals ?? {}).map(target => target.url)).toEqual(addresses);
    expect(destination?.endpoint).not.toContain('secret');
  });

  it('is sent with its credentials, which are sent to no other host', async () => {
    const { destinations } = from({ provider: [name, 'otlp'], ...placed(name, collector.url) });
    const bodies = {
      traces: traces(namedSpans(1)),
      metrics: metrics(sums([['calls', 1]], resourceA)),
      logs: logs([record('a')]),
    };
    const transport = createHttpTransport();
    const [plain, destination] = destinations;
    expect(destinations.map(each => each.provider)).toEqual(['otlp', name]);
    expect(JSON.stringify(plain)).not.toContain('secret');
    if (destination === undefined) throw new Error('no destination');
    for (const signal of ['traces', 'metrics', 'logs'] as const) {
      const before = collector.requests.length;
      const answer = await transport.send(destination, signal, bodies[signal]);
      if (headers[signal] === undefined) {
        expect([answer, collector.requests.length]).toEqual([{ failure: 'no address' }, before]);
        continue;
      }
      const request = collector.requests.at(-1);
      expect(answer).toMatchObject({ status: 200 });
      expect(request?.path).toBe(
        new URL(addresses.find(each => each.endsWith(signal)) ?? '').pathname.replace(
          /^\/(otlp|api\/v2\/otlp)(?=\/)/,
          '',
        ),
      );
      expect(request?.headers).toMatchObject({ ...headers[signal], 'content-type': 'application/x-protobuf' });
    }
    transport.close();
  });

  it('is not used without its required settings, and the problem names them', () => {
    for (const needed of presets[name].needs) {
      const without = structuredClone(settings);
      const [group = '', key = ''] = needed.split('.');
      delete without[group]?.[key];
      const { destinations, problems } = from({ provider: name, ...without });
      expect(destinations).toEqual([]);
      expect(problems).toContainEqual({ code: 'provider-incomplete', provider: name, key: needed });
    }
  });

  it('if it refuses a key, the problem names its own settings', () => {
    const keys = openingKeys({ provider: name });
    const { next } = explain({ code: 'delivery-refused', endpoint: 'x', status: 401, keys });
    const [group = ''] = presets[name].endpoint.split('.');
    expect(next).toMatch(new RegExp(`^correct ${group}\\.`));
    for (const key of presets[name].secrets) expect(keys).toContain(key);
  });

  it('gets no key at an address that a later layer named', () => {
    const own = placed(name, 'https://own.example');
    const [group = ''] = presets[name].endpoint.split('.');
    const project = { file: '/w/.otel-hooks.json', text: JSON.stringify(placed(name, 'https://other.example')) };
    // Only the address: the keys are those of the layer below.
    const [, address = ''] = presets[name].endpoint.split('.');
    const text = JSON.stringify({ [group]: { [address]: 'https://other.example' } });
    const { destinations } = from({ provider: name, ...own }, { project: { ...project, text, trusted: true } });
    expect(JSON.stringify(destinations)).not.toContain('secret');
    const untrusted = from({ provider: name, ...own }, { project: { ...project, text, trusted: false } });
    expect(JSON.stringify(untrusted.destinations)).not.toContain('other.example');
  });
});

describe('axiom', () => {
  it('gets no signal that has no dataset', () => {
    const { destinations } = from({ provider: 'axiom', axiom: { token: 'secret-ax', traces_dataset: 't' } });
    expect(Object.keys(destinations[0]?.signals ?? {})).toEqual(['traces']);
  });
});

describe('datadog', () => {
  it('is sent to its Agent without a key', () => {
    const { destinations } = from({ provider: 'datadog' }, { env: { DD_AGENT_HOST: 'agent.local' } });
    expect(Object.values(destinations[0]?.signals ?? {}).map(({ url, headers }) => [url, headers])).toEqual(
      three('http://agent.local:4318').map(url => [url, {}]),
    );
  });

  it('sends its key only to its own sites', () => {
    const { destinations, problems } = from({ provider: 'datadog', datadog: { api_key: 'secret', site: 'x.example' } });
    expect(JSON.stringify(destinations)).not.toContain('x.example');
    expect(problems).toMatchObject([{ code: 'config-value', key: 'datadog.site' }]);
  });

  it("uses its own names of attributes, if OpenTelemetry's are not set", () => {
    const labels = (file: object, env: Record<string, string>) => {
      const { values } = resolve({ global: { file: '/g', text: JSON.stringify(file) }, env, home: '/h', cwd: '/w' });
      return [values.service_name, values.attributes];
    };
    const env = { DD_SERVICE: 's', DD_ENV: 'e' };
    expect(labels({ provider: 'datadog' }, env)).toEqual(['s', { 'deployment.environment.name': 'e' }]);
    expect(labels({ provider: 'otlp' }, env)).toEqual([undefined, undefined]);
    expect(labels({ provider: 'datadog', service_name: 'mine' }, env)[0]).toBe('mine');
  });
});
