/**
 * A team adopts the files in a Grafana of its own: the dashboards are imported with other data sources, and rules of the
 * form of `grafana/alerting` fire, resolve and report errors in Grafana itself.
 */
import { afterAll, expect, inject, test } from 'vitest';
import { own } from '../../grafana/alerting.ts';
import { published } from '../../grafana/published.ts';
import { eventually, samples } from './backends.ts';
import { ADMIN } from './compose.ts';

const stack = inject('stack');
const FOLDER = 'adopted';
const authorization = `Basic ${Buffer.from(`${ADMIN.user}:${ADMIN.password}`).toString('base64')}`;

async function asAdmin<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${stack.grafana}${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

afterAll(async () => {
  await asAdmin('DELETE', `/api/folders/${FOLDER}?forceDeleteRules=true`);
});

test('each published dashboard can be imported, and reads from the chosen data sources', async () => {
  await asAdmin('POST', '/api/folders', { uid: FOLDER, title: FOLDER });
  for (const { json, uid } of published()) {
    const { __inputs, ...model } = JSON.parse(json) as { __inputs: { name: string; type: string; pluginId: string }[] };
    // Another uid, because the stack has the dashboard already.
    const dashboard = { __inputs, ...model, uid: `adopted-${uid}`.slice(0, 40) };
    const inputs = __inputs.map(({ name, type, pluginId }) => ({ name, type, pluginId, value: `chosen-${pluginId}` }));
    await asAdmin('POST', '/api/dashboards/import', { dashboard, inputs, folderUid: FOLDER, overwrite: true });
    const { dashboard: imported } = await asAdmin<{ dashboard: object }>('GET', `/api/dashboards/uid/${dashboard.uid}`);
    const text = JSON.stringify(imported);
    for (const { pluginId } of __inputs) expect(text).toContain(`"uid":"chosen-${pluginId}"`);
    expect(text).not.toContain('DS_');
  }
});

/** A gauge of the tests in Prometheus. */
async function level(value: number): Promise<void> {
  const point = { asDouble: value, timeUnixNano: `${Date.now()}000000` };
  const response = await fetch(`${stack.collector}/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      resourceMetrics: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: FOLDER } }] },
          scopeMetrics: [{ metrics: [{ name: 'adopted_level', gauge: { dataPoints: [point] } }] }],
        },
      ],
    }),
  });
  expect(response.ok).toBe(true);
  await eventually(
    () => samples(stack, 'adopted_level'),
    ([found]) => found?.value === value,
  );
}

interface State {
  name: string;
  state: string;
  health: string;
  lastError?: string;
  alerts?: { state: string; annotations: { [name: string]: string } }[];
}
async function stateOf(title: string): Promise<State | undefined> {
  const { data } = await asAdmin<{ data: { groups: { rules: State[] }[] } }>(
    'GET',
    '/api/prometheus/grafana/api/v1/rules',
  );
  return data.groups.flatMap(({ rules }) => rules).find(({ name }) => name === title);
}

test('a rule fires, resolves without data, and reports an error of its query', async () => {
  const annotations = {
    summary: '{{ $labels.job }} is at {{ $value | humanize }}',
    description: 'A rule of the tests.',
  };
  const rules = [
    { alert: 'AdoptedLevel', expr: 'adopted_level > 1', annotations },
    { alert: 'AdoptedBroken', expr: 'adopted_level >', annotations },
  ].map(rule => own(rule, new Map()));
  await level(5);
  for (const rule of rules) {
    const placed = { orgID: 1, folderUID: FOLDER, ruleGroup: FOLDER };
    await asAdmin('POST', '/api/v1/provisioning/alert-rules', { ...placed, ...rule });
  }
  // The group of the tests is evaluated more often than the shipped ones.
  const group = `/api/v1/provisioning/folder/${FOLDER}/rule-groups/${FOLDER}`;
  await asAdmin('PUT', group, { ...(await asAdmin<object>('GET', group)), interval: 10 });

  const fired = await eventually(
    () => stateOf('AdoptedLevel'),
    rule => rule?.state === 'firing',
  );
  expect(fired?.health).toBe('ok');
  expect(fired?.alerts?.find(({ state }) => state === 'Alerting')?.annotations.summary).toBe(`${FOLDER} is at 5`);
  const broken = await eventually(
    () => stateOf('AdoptedBroken'),
    rule => rule?.health === 'error',
  );
  expect(broken?.lastError).toMatch(/parse error/);

  // Below the threshold the expression returns nothing.
  await level(0);
  const resolved = await eventually(
    () => stateOf('AdoptedLevel'),
    rule => rule?.state === 'inactive',
  );
  expect(resolved?.health).toMatch(/^(ok|nodata)$/);
});

test('each shipped rule is evaluated without an error, data or none', async () => {
  const shipped = async (): Promise<State[]> => {
    const { data } = await asAdmin<{ data: { groups: { name: string; rules: State[] }[] } }>(
      'GET',
      '/api/prometheus/grafana/api/v1/rules',
    );
    return data.groups.flatMap(({ name, rules }) => (name.startsWith('otel-hooks.') ? rules : []));
  };
  // Rules of a minute are evaluated within the first minute.
  const all = await eventually(
    shipped,
    rules => rules.length > 0 && rules.every(({ health }) => health !== 'unknown'),
    90_000,
  );
  expect(all.flatMap(({ name, health, lastError }) => (health === 'error' ? [`${name}: ${lastError}`] : []))).toEqual(
    [],
  );
});
