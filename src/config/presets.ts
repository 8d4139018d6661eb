/**
 * Presets for back ends that accept OTLP: the address, the credentials and the signals of each. A preset is the
 * provider `otlp` with these settings. docs/providers.md has the source of each fact.
 */
import type { Key, OtlpSignal, Values } from './schema.ts';

export interface Preset {
  /** Settings without which no data is sent. */
  needs: readonly Key[];
  /** Headers with credentials. They are sent only to hosts that their own layer or a lower one named. */
  secrets: readonly Key[];
  /** The settings that determine the address. */
  endpoint: Key;
  /** Returns undefined for a signal that is not sent to this back end. */
  url(values: Values, signal: OtlpSignal): string | undefined;
  headers(values: Values, signal: OtlpSignal): Readonly<Record<string, string | undefined>>;
  /** The temporality for back ends that refuse or misinterpret cumulative metrics. */
  temporality?: 'delta';
}

const basic = (user: string | undefined, password: string | undefined): string =>
  `Basic ${Buffer.from(`${user ?? ''}:${password ?? ''}`, 'utf8').toString('base64')}`;

const under = (base: string | undefined, path: string): string | undefined => {
  if (base === undefined) return undefined;
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}${path}`;
  return url.href;
};

const all = (base: string | undefined, signal: OtlpSignal): string | undefined => under(base, `/v1/${signal}`);
const tracesAlone = (base: string | undefined, path: string, signal: OtlpSignal): string | undefined =>
  signal === 'traces' ? under(base, `${path}/v1/traces`) : undefined;

export const presets = {
  'grafana-cloud': {
    needs: ['grafana_cloud.endpoint', 'grafana_cloud.instance_id', 'grafana_cloud.token'],
    secrets: ['grafana_cloud.token'],
    endpoint: 'grafana_cloud.endpoint',
    url: (values, signal) => all(values['grafana_cloud.endpoint'], signal),
    headers: values => ({
      authorization: basic(values['grafana_cloud.instance_id'], values['grafana_cloud.token']),
    }),
  },
  langfuse: {
    needs: ['langfuse.public_key', 'langfuse.secret_key'],
    secrets: ['langfuse.secret_key'],
    endpoint: 'langfuse.base_url',
    url: (values, signal) => tracesAlone(values['langfuse.base_url'], '/api/public/otel', signal),
    headers: values => ({
      authorization: basic(values['langfuse.public_key'], values['langfuse.secret_key']),
      'x-langfuse-ingestion-version': '4',
    }),
  },
  datadog: {
    needs: [],
    secrets: ['datadog.api_key'],
    endpoint: 'datadog.endpoint',
    // With a key, data is sent directly to the intake. Without a key, it is sent to the Agent, whose OTLP receiver
    // needs no key.
    url: (values, signal) =>
      all(
        values['datadog.endpoint'] ??
          (values['datadog.api_key'] === undefined
            ? `http://${values['datadog.agent_host'] ?? 'localhost'}:4318`
            : `https://otlp.${values['datadog.site'] ?? 'datadoghq.com'}`),
        signal,
      ),
    headers: (values, signal) =>
      values['datadog.api_key'] === undefined
        ? {}
        : {
            'dd-api-key': values['datadog.api_key'],
            'dd-protocol': 'otlp',
            ...(signal === 'traces' ? { 'dd-otlp-source': values['datadog.otlp_source'] } : {}),
          },
    temporality: 'delta',
  },
  honeycomb: {
    needs: ['honeycomb.api_key'],
    secrets: ['honeycomb.api_key'],
    endpoint: 'honeycomb.endpoint',
    url: (values, signal) => all(values['honeycomb.endpoint'], signal),
    headers: (values, signal) => ({
      'x-honeycomb-team': values['honeycomb.api_key'],
      // Spans and records are stored by their service; metrics need a dataset.
      ...(signal === 'metrics' ? { 'x-honeycomb-dataset': values['honeycomb.metrics_dataset'] } : {}),
    }),
  },
  'new-relic': {
    needs: ['new_relic.license_key'],
    secrets: ['new_relic.license_key'],
    endpoint: 'new_relic.endpoint',
    url: (values, signal) => all(values['new_relic.endpoint'], signal),
    headers: values => ({ 'api-key': values['new_relic.license_key'] }),
    temporality: 'delta',
  },
  dynatrace: {
    needs: ['dynatrace.endpoint', 'dynatrace.token'],
    secrets: ['dynatrace.token'],
    endpoint: 'dynatrace.endpoint',
    url: (values, signal) => all(values['dynatrace.endpoint'], signal),
    headers: values => ({ authorization: `Api-Token ${values['dynatrace.token'] ?? ''}` }),
    temporality: 'delta',
  },
  axiom: {
    needs: ['axiom.token', 'axiom.traces_dataset'],
    secrets: ['axiom.token'],
    endpoint: 'axiom.endpoint',
    // A dataset holds one signal only.
    url: (values, signal) =>
      values[`axiom.${signal}_dataset`] === undefined ? undefined : all(values['axiom.endpoint'], signal),
    headers: (values, signal) => ({
      authorization: `Bearer ${values['axiom.token'] ?? ''}`,
      [signal === 'metrics' ? 'x-axiom-metrics-dataset' : 'x-axiom-dataset']: values[`axiom.${signal}_dataset`],
    }),
  },
  signoz: {
    needs: [],
    secrets: ['signoz.ingestion_key'],
    endpoint: 'signoz.endpoint',
    url: (values, signal) => all(values['signoz.endpoint'], signal),
    headers: values => ({ 'signoz-ingestion-key': values['signoz.ingestion_key'] }),
  },
  langsmith: {
    needs: ['langsmith.api_key'],
    secrets: ['langsmith.api_key'],
    endpoint: 'langsmith.endpoint',
    url: (values, signal) => tracesAlone(values['langsmith.endpoint'], '/otel', signal),
    headers: values => ({
      'x-api-key': values['langsmith.api_key'],
      'langsmith-project': values['langsmith.project'],
    }),
  },
  phoenix: {
    needs: [],
    secrets: ['phoenix.api_key'],
    endpoint: 'phoenix.endpoint',
    url: (values, signal) => tracesAlone(values['phoenix.endpoint'], '', signal),
    headers: ({ 'phoenix.api_key': key }) => ({ authorization: key === undefined ? undefined : `Bearer ${key}` }),
  },
  // Application Insights does not accept OTLP; a collector with collector-config/azure-monitor.yaml forwards to it.
  'azure-monitor': {
    needs: [],
    secrets: [],
    endpoint: 'azure_monitor.endpoint',
    url: (values, signal) => all(values['azure_monitor.endpoint'], signal),
    headers: () => ({}),
  },
} satisfies { [provider: string]: Preset };

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as PresetName[];
export const presetNamed = (name: PresetName): Preset => presets[name];
export const isPreset = (name: string): name is PresetName => Object.hasOwn(presets, name);
