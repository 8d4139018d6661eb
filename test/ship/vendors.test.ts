/**
 * Each back end by the variables that its own documentation names, against a stand-in that enforces what the documentation
 * requires: path, method, headers, encoding, temporality and the largest request. A stand-in refuses everything else, so
 * a data loss or a refusal fails the test. The services themselves are not called.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { resolve } from '../../src/config/config.ts';
import { destinationsOf } from '../../src/config/destinations.ts';
import { type PresetName, presetNames, presets } from '../../src/config/presets.ts';
import { factsOf } from '../../src/config/schema.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { type Collected, type Received, type Reply, startCollector } from '../collector.ts';
import { deliverHere, founded, room } from '../obligations/stage.ts';

interface Vendor {
  /** The variables of the vendor; `<url>` is the address of the stand-in. */
  env: Record<string, string>;
  /** Settings without a variable, in the global file. */
  file?: object;
  paths: readonly string[];
  /** Every request needs these headers. */
  headers: (signal: string) => Record<string, string>;
  metrics?: 'delta';
  /** Largest request on the wire, in bytes. */
  mostBytes?: number;
}

const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;
const all = (base = ''): string[] => ['traces', 'metrics', 'logs'].map(signal => `${base}/v1/${signal}`);
const MB = 1_000_000;

const vendors: { readonly [name in Exclude<PresetName, 'azure-monitor' | 'signoz'>]: Vendor } = {
  'grafana-cloud': {
    env: { GRAFANA_CLOUD_OTLP_ENDPOINT: '<url>/otlp', GRAFANA_CLOUD_INSTANCE_ID: '12', GRAFANA_CLOUD_API_KEY: 'glc_k' },
    paths: all('/otlp'),
    headers: () => ({ authorization: basic('12:glc_k') }),
  },
  langfuse: {
    env: { LANGFUSE_PUBLIC_KEY: 'pk-lf-1', LANGFUSE_SECRET_KEY: 'sk-lf-1', LANGFUSE_BASE_URL: '<url>' },
    paths: ['/api/public/otel/v1/traces'],
    headers: () => ({ authorization: basic('pk-lf-1:sk-lf-1') }),
  },
  datadog: {
    env: { DD_API_KEY: 'dd-key' },
    file: { datadog: { endpoint: '<url>' } },
    paths: all(),
    headers: () => ({ 'dd-api-key': 'dd-key' }),
    metrics: 'delta',
  },
  honeycomb: {
    env: { HONEYCOMB_API_KEY: 'hc-key', HONEYCOMB_API_ENDPOINT: '<url>', HONEYCOMB_METRICS_DATASET: 'agents' },
    paths: all(),
    headers: signal => ({
      'x-honeycomb-team': 'hc-key',
      ...(signal === 'metrics' ? { 'x-honeycomb-dataset': 'agents' } : {}),
    }),
  },
  'new-relic': {
    env: { NEW_RELIC_LICENSE_KEY: 'nr-key' },
    file: { new_relic: { endpoint: '<url>' } },
    paths: all(),
    headers: () => ({ 'api-key': 'nr-key' }),
    metrics: 'delta',
    mostBytes: MB,
  },
  dynatrace: {
    env: { DT_ENDPOINT: '<url>/api/v2/otlp', DT_API_TOKEN: 'dt0c01.x' },
    paths: all('/api/v2/otlp'),
    headers: () => ({ authorization: 'Api-Token dt0c01.x' }),
    metrics: 'delta',
    mostBytes: 8 * MB,
  },
  axiom: {
    env: { AXIOM_TOKEN: 'xaat-1', AXIOM_URL: '<url>', AXIOM_DATASET: 'agents' },
    paths: ['/v1/traces'],
    headers: () => ({ authorization: 'Bearer xaat-1', 'x-axiom-dataset': 'agents' }),
  },
  langsmith: {
    env: { LANGSMITH_API_KEY: 'lsv2', LANGSMITH_ENDPOINT: '<url>', LANGSMITH_PROJECT: 'agents' },
    paths: ['/otel/v1/traces'],
    headers: () => ({ 'x-api-key': 'lsv2', 'langsmith-project': 'agents' }),
  },
  phoenix: {
    env: { PHOENIX_API_KEY: 'px', PHOENIX_COLLECTOR_ENDPOINT: '<url>' },
    paths: ['/v1/traces'],
    headers: () => ({ authorization: 'Bearer px' }),
  },
};

/** Answers as the documentation of the vendor says. */
const standIn =
  ({ paths, headers, mostBytes = Number.POSITIVE_INFINITY }: Vendor) =>
  (request: Received): Reply => {
    if (request.method !== 'POST') return { status: 405 };
    if (!paths.includes(request.path)) return { status: 404 };
    for (const [name, value] of Object.entries(headers(request.signal ?? '')))
      if (request.headers[name] !== value) return { status: 401 };
    if (request.headers['content-type'] !== 'application/x-protobuf') return { status: 415 };
    if (!['gzip', undefined].includes(request.headers['content-encoding'])) return { status: 415 };
    return { status: request.raw.length > mostBytes ? 413 : 200 };
  };

/** 1: delta, 2: cumulative. */
const temporalities = (metrics: readonly Collected[]): Set<unknown> =>
  new Set(
    metrics.flatMap(metric =>
      ['sum', 'histogram'].flatMap(
        kind => (metric[kind] as { aggregationTemporality?: number })?.aggregationTemporality ?? [],
      ),
    ),
  );

const leaves: (() => void)[] = [];
afterEach(() => {
  for (const leave of leaves.splice(0)) leave();
});

const placed = <T>(value: T, url: string): T => JSON.parse(JSON.stringify(value).replaceAll('<url>', url)) as T;

it('every preset is here, but those without a variable of their own', () => {
  expect([...Object.keys(vendors), 'azure-monitor', 'signoz'].sort()).toEqual([...presetNames].sort());
});

describe.each(Object.keys(vendors) as (keyof typeof vendors)[])('%s', name => {
  it('takes everything that its variables send', async () => {
    const vendor = vendors[name];
    const collector = await startCollector({ answer: standIn(vendor) });
    const { folder: home, leave } = room();
    leaves.push(leave);
    const state = founded(join(home, 'state'));
    mkdirSync(join(home, '.config/otel-hooks'), { recursive: true });
    const config = { provider: name, content: { results: 'full' }, ...placed(vendor.file ?? {}, collector.url) };
    writeFileSync(join(home, '.config/otel-hooks/config.json'), JSON.stringify(config));
    const env = placed(vendor.env, collector.url);
    const events = [
      { hook_event_name: 'SessionStart', source: 'startup' },
      { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'x' },
      // Random texts do not become smaller by compression, so the requests exceed the limit of 1 MB.
      ...Array.from({ length: vendor.mostBytes === MB ? 400 : 1 }, (_, i) => ({
        ...{ hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_use_id: `c${i}`, prompt_id: 'p1' },
        tool_input: { command: 'ls' },
        tool_response: { stdout: noise(i, 12_000) },
      })),
      { hook_event_name: 'Stop', prompt_id: 'p1' },
      { hook_event_name: 'SessionEnd', reason: 'logout' },
    ];
    for (const [i, event] of events.entries()) {
      const unique = String(i).padStart(12, '0');
      const header = { tool: 'claude-code', at: String(Date.now() - 60_000 + i), ppid: '1', ...env };
      const payload = Buffer.from(JSON.stringify({ session_id: 's-1', cwd: '/nowhere', ...event }));
      const file = join(state, 'inbox', fragmentName('abcdef01', `${1_000 + i}.00`, 100 + i, unique));
      writeFileSync(file, encodeFragment(unique, header, payload), { mode: 0o600 });
    }
    const { books, problems } = await deliverHere(state, {
      surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
    });
    expect(problems).toEqual([]);
    const [destination] = books?.destinations ?? [];
    for (const kind of ['spans', 'logs', 'metrics'] as const)
      expect(destination?.[kind]).toMatchObject({ waiting: 0, rejected: {} });
    expect(destination?.spans.accepted).toBe(events.length === 5 ? 3 : 402);
    const signals = new Set(collector.requests.filter(({ status }) => status === 200).map(({ path }) => path));
    expect([...signals].sort()).toEqual([...vendor.paths].sort());
    const refused = collector.requests.filter(({ status }) => status !== 200).map(({ status }) => status);
    expect(new Set(refused)).toEqual(new Set(vendor.mostBytes === MB ? [413] : []));
    if (signals.size === 3) expect(temporalities(collector.metrics())).toEqual(new Set([vendor.metrics ? 1 : 2]));
    await collector.close();
  });

  it("does not send a user's key to an address of a variable", () => {
    const { env } = vendors[name];
    const address = Object.entries(env).find(([, value]) => value.startsWith('<url>'))?.[0];
    const preset = presets[name];
    if (address === undefined || factsOf(preset.endpoint).default === undefined) return;
    const file = Object.fromEntries(
      [...preset.needs, ...preset.secrets].map(key => [key.split('.')[0], {} as Record<string, string>]),
    );
    for (const key of [...preset.needs, ...preset.secrets]) {
      const [group = '', member = ''] = key.split('.');
      (file[group] as Record<string, string>)[member] = 'a-key-of-the-user';
    }
    const config = resolve({
      global: { file: '/g/config.json', text: JSON.stringify({ provider: name, ...file }) },
      env: { [address]: 'https://elsewhere.example' },
      home: '/h',
      cwd: '/w',
    });
    const { destinations, problems } = destinationsOf(config);
    expect(destinations).toEqual([]);
    expect(problems).toContainEqual(expect.objectContaining({ code: 'credentials-withheld' }));
  });
});

/** A text that gzip cannot shorten much, and that is the same in every run. */
function noise(seed: number, length: number): string {
  let state = seed * 2_654_435_761 + 12_345;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += state.toString(36);
  }
  return text.slice(0, length);
}
