/** The dashboards on disk equal those of the code, and all their references exist. `npm run dashboards` writes them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { alerting, alertRules } from '../../grafana/alerting.ts';
import { boards, dashboards } from '../../grafana/dashboards.ts';
import { published } from '../../grafana/published.ts';
import { wrapped } from '../docs/wrap.ts';

const folder = join(import.meta.dirname, '..', '..', 'grafana');
const written = dashboards();

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  datasource?: { uid: string };
  targets?: { refId: string; datasource: { uid: string }; expr?: string; query?: string }[];
}
interface Dashboard {
  uid: string;
  panels: Panel[];
  templating: { list: { name: string }[] };
}
const models = written.map(({ json }) => JSON.parse(json) as Dashboard);

test.each(written)('$file is the output of the code', async ({ file, json }) => {
  await expect(json).toMatchFileSnapshot(join(folder, 'dashboards', file));
});

test.each(published())('import/$file is the published form', async ({ file, json }) => {
  await expect(json).toMatchFileSnapshot(join(folder, 'import', file));
  const { __inputs, __requires, panels } = JSON.parse(json) as Dashboard & {
    __inputs: { name: string; pluginId: string }[];
    __requires: { type: string; id: string }[];
  };
  const inputs = __inputs.map(({ name }) => `\${${name}}`);
  for (const { datasource, targets = [], type } of panels) {
    if (type !== 'row') expect(__requires).toContainEqual(expect.objectContaining({ type: 'panel', id: type }));
    if (type === 'row' && datasource === undefined) continue;
    for (const source of [datasource, ...targets.map(each => each.datasource)]) expect(inputs).toContain(source?.uid);
  }
  // No uid of this repository's data sources stays, also not in variables.
  expect(json).not.toMatch(/"uid": "(prometheus|loki|tempo)"/);
});

test('the module for Terraform reads the dashboards and replaces each data source', () => {
  const module = readFileSync(join(folder, 'terraform', 'main.tf'), 'utf8');
  expect(module).toMatch(/fileset\("\$\{path\.module\}\/\.\.\/dashboards", "\*\.json"\)/);
  const replaced = [...module.matchAll(/"\\"uid\\": \\"(\w+)\\""/g)].map(match => match[1]);
  const used = new Set(written.flatMap(({ json }) => [...json.matchAll(/"uid": "(\w+)"/g)].map(match => match[1])));
  expect(replaced.sort()).toEqual([...used].sort());
});

test('docs/grafana-panels.md lists the question of each panel', async () => {
  const chapters = boards.map(
    ({ title, description, rows }) =>
      `## ${title}\n\n${description}\n\n| panel | question |\n| --- | --- |\n${rows
        .flatMap(({ panels }) => panels.map(each => `| ${each.title} | ${each.question} |`))
        .join('\n')}\n`,
  );
  const head =
    '# The panels of the dashboards\n\n<!-- Written by `npm run dashboards`. -->\n\nEach panel answers one question. [Grafana](grafana.md) says how to start the dashboards.\n';
  await expect(wrapped([head, ...chapters].join('\n'))).toMatchFileSnapshot(
    join(folder, '..', 'docs', 'grafana-panels.md'),
  );
});

test('every dashboard on disk is written by code', () => {
  for (const name of ['dashboards', 'import'])
    expect(readdirSync(join(folder, name)).sort()).toEqual(written.map(({ file }) => file).sort());
});

test.each(models)('$uid: ids, data sources, variables and descriptions', ({ panels, templating }) => {
  const sources = readFileSync(join(folder, 'provisioning', 'datasources', 'otel-hooks.yaml'), 'utf8');
  const known = [...sources.matchAll(/^ {4}uid: (\S+)$/gm)].map(match => match[1]);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const variables = new Set(templating.list.map(({ name }) => name));
  for (const panel of panels.filter(({ type }) => type !== 'row')) {
    expect(panel.description, panel.title).toMatch(/^[^?]+\?( .*[.?]|$)/);
    expect(panel.targets?.length, panel.title).toBeGreaterThan(0);
    for (const target of panel.targets ?? []) {
      expect(known).toContain(target.datasource.uid);
      const text = target.expr ?? target.query ?? '';
      expect(text).not.toBe('');
      const used = [...text.matchAll(/\$\{?(\w+)/g)]
        .map(match => match[1] ?? '')
        .filter(name => !name.startsWith('__'));
      for (const name of used) expect(variables, `${panel.title}: $${name}`).toContain(name);
    }
  }
});

test("units are Grafana's, links lead to dashboards that exist, and data sources to data sources", () => {
  const known: readonly unknown[] = Object.values(units);
  for (const { json } of written) {
    const used = [...json.matchAll(/"unit": "([^"]+)"|"id": "unit",\s+"value": "([^"]+)"/g)].map(
      match => match[1] ?? match[2],
    );
    for (const unit of used) if (!unit?.startsWith('time:')) expect(known).toContain(unit);
    for (const [, uid] of json.matchAll(/"url": "\/d\/([\w-]+)/g)) expect(written.map(each => each.uid)).toContain(uid);
  }
  const sources = readFileSync(join(folder, 'provisioning', 'datasources', 'otel-hooks.yaml'), 'utf8');
  const named = [...sources.matchAll(/(?:datasourceUid|targetUID): (\w+)/g)].map(match => match[1]);
  expect(named.length).toBeGreaterThan(0);
  for (const uid of named) expect(['loki', 'prometheus', 'tempo']).toContain(uid);
  for (const [, uid] of sources.matchAll(/url: '\/d\/([\w-]+)/g)) expect(written.map(each => each.uid)).toContain(uid);
});

test('the alert rules for Grafana are those for Prometheus, with recorded expressions written out', async () => {
  const text = alerting();
  await expect(text).toMatchFileSnapshot(join(folder, 'alerting', 'otel-hooks.yaml'));
  const { groups } = parse(text) as { groups: { rules: { uid: string; title: string; annotations: object }[] }[] };
  const rules = groups.flatMap(group => group.rules);
  const alerts = alertRules().flatMap(group => group.rules.flatMap(({ alert }) => alert ?? []));
  expect(rules.map(({ title }) => title)).toEqual(alerts);
  expect(new Set(rules.map(({ uid }) => uid)).size).toBe(alerts.length);
  for (const { uid, annotations } of rules) {
    expect(uid).toMatch(/^[a-z-]{1,40}$/);
    expect(Object.keys(annotations)).toEqual(['summary', 'description']);
  }
  expect(text).not.toMatch(/agents:/);
  // Grafana does not unescape a doubled dollar sign in rules.
  expect(text).not.toContain('$$');
  expect(text).not.toMatch(/\$value\b|\$values\.B\.Value/);
});

test('each alert names the next step, fires in one case of promtool, and is silent in another', () => {
  interface Case {
    alert_rule_test?: { alertname: string; exp_alerts: unknown[] }[];
    promql_expr_test?: { expr: string }[];
  }
  const { tests } = parse(readFileSync(join(folder, 'rules', 'agents.test.yaml'), 'utf8')) as { tests: Case[] };
  const silent = tests.flatMap(({ alert_rule_test = [] }) =>
    alert_rule_test.flatMap(({ alertname, exp_alerts }) => (exp_alerts.length === 0 ? alertname : [])),
  );
  const fired = tests.flatMap(({ promql_expr_test = [] }) =>
    promql_expr_test.flatMap(({ expr }) => /alertname="(\w+)",alertstate="firing"/.exec(expr)?.[1] ?? []),
  );
  for (const { alert, annotations } of alertRules().flatMap(({ rules }) => rules)) {
    if (alert === undefined) continue;
    expect(silent, alert).toContain(alert);
    expect(fired, alert).toContain(alert);
    expect(annotations?.description?.length, alert).toBeGreaterThan(80);
  }
});
