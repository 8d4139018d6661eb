/**
 * A team adopts the files in a Grafana of its own: the dashboards are imported with other data sources, and rules of the
 * form of `grafana/alerting` fire, resolve and report errors in Grafana itself.
 */
import { afterAll, expect, inject, test } from 'vitest';
import { own } from '../../grafana/alerting.ts';
import { published } from '../../grafana/published.ts';
import { container, docker, eventually, samples } from './backends.ts';
import { asAdmin, type RuleState, ruleStates } from './grafana.ts';

const stack = inject('stack');
const FOLDER = 'adopted';

afterAll(async () => {
  await asAdmin(stack, 'DELETE', `/api/folders/${FOLDER}?forceDeleteRules=true`);
});

test('the files are provisioned without one error: data sources, dashboards, contact points and rules', async () => {
  const started = docker('logs', container(stack, 'grafana')).split('\n');
  const ready = started.findIndex(line => line.includes('HTTP Server Listen'));
  expect(ready).toBeGreaterThan(0);
  const ofProvisioning = (line: string, i: number): boolean => i <= ready || line.includes('logger=provisioning');
  expect(started.filter(ofProvisioning).filter(line => line.includes('level=error'))).toEqual([]);
  const sources = await asAdmin<{ uid: string }[]>(stack, 'GET', '/api/datasources');
  expect(sources.map(({ uid }) => uid)).toEqual(expect.arrayContaining(['loki', 'prometheus', 'tempo']));
  const found = await asAdmin<{ uid: string }[]>(stack, 'GET', '/api/search?type=dash-db&limit=100');
  expect(found.map(({ uid }) => uid)).toEqual(expect.arrayContaining(published().map(({ uid }) => uid)));
  const points = await asAdmin<{ uid: string }[]>(stack, 'GET', '/api/v1/provisioning/contact-points');
  expect(points.map(({ uid }) => uid)).toContain('otel-hooks-webhook');
});

test('each published dashboard can be imported, and reads from the chosen data sources', async () => {
  await asAdmin(stack, 'POST', '/api/folders', { uid: FOLDER, title: FOLDER });
  for (const { json, uid } of published()) {
    const { __inputs, ...model } = JSON.parse(json) as { __inputs: { name: string; type: string; pluginId: string }[] };
    // Another uid, because the stack has the dashboard already.
    const dashboard = { __inputs, ...model, uid: `adopted-${uid}`.slice(0, 40) };
    const inputs = __inputs.map(({ name, type, pluginId }) => ({ name, type, pluginId, value: `chosen-${pluginId}` }));
    await asAdmin(stack, 'POST', '/api/dashboards/import', { dashboard, inputs, folderUid: FOLDER, overwrite: true });
    const { dashboard: imported } = await asAdmin<{ dashboard: object }>(
      stack,
      'GET',
      `/api/dashboards/uid/${dashboard.uid}`,
    );
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

const stateOf = async (title: string): Promise<RuleState | undefined> =>
  (await ruleStates(stack)).flatMap(({ rules }) => rules).find(({ name }) => name === title);

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
    await asAdmin(stack, 'POST', '/api/v1/provisioning/alert-rules', { ...placed, ...rule });
  }
  // The group of the tests is evaluated more often than the shipped ones.
  const group = `/api/v1/provisioning/folder/${FOLDER}/rule-groups/${FOLDER}`;
  await asAdmin(stack, 'PUT', group, { ...(await asAdmin<object>(stack, 'GET', group)), interval: 10 });

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
  const shipped = async (): Promise<RuleState[]> =>
    (await ruleStates(stack)).flatMap(({ name, rules }) => (name.startsWith('otel-hooks.') ? rules : []));
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
