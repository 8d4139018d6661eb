/**
 * Each alert rule in the real Grafana, in the shipped form: it fires on samples that provoke it, resolves when the samples
 * are gone, and reports an error when its Prometheus is away. A Prometheus of these tests has the samples of a day, which
 * promtool writes as blocks.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { alertRules, own } from '../../grafana/alerting.ts';
import { docker, eventually } from './backends.ts';
import { besideLabel } from './compose.ts';
import { asAdmin, type RuleState, ruleStates } from './grafana.ts';
import { metricsText, type Series } from './old-samples.ts';

const stack = inject('stack');
const SOURCE = 'provoked';
const FOLDER = 'provoked';
const IMAGE = 'prom/prometheus:v3.14.0';
const name = `${stack.project}-${SOURCE}`;
const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-provoked-'));

/** Minutes of samples before the start of the tests, and after it. */
const PAST = 26 * 60;
const AHEAD = 20;

const job = 'provoked';
const instance = 'a-machine';
/** A counter that rises by `each` in ten minutes, all the time: a slow machine may look later. */
const rising = (metric: string, labels: Series['labels'], each: number): Series => ({
  metric,
  labels,
  at: minutes => ((PAST + AHEAD - minutes) / 10) * each,
});
/** A counter that rises slowly for a day, and by `jump` a quarter of an hour ago. */
const unusual = (metric: string, each: number, jump: number): Series => ({
  metric,
  labels: { job },
  at: minutes => (PAST - minutes) * each + (minutes > 15 ? 0 : jump),
});

const ACTIONS = 'gen_ai_execute_tool_duration_seconds_count';
const PIPELINE = 'agent_hooks_pipeline_';
const provoking: { readonly [alert: string]: readonly Series[] } = {
  AgentActionsDeniedBurst: [
    rising('agent_hooks_decisions_total', { job, instance, agent_hooks_decision_outcome: 'deny' }, 20),
  ],
  AgentHighRiskBurst: [
    rising('agent_hooks_risk_score_count', { job, instance }, 20),
    rising('agent_hooks_risk_score_bucket', { job, instance, le: '60.0' }, 0),
  ],
  AgentInLoop: [rising('agent_hooks_retry_loops_total', { job, instance, agent_hooks_retry_state: 'detected' }, 5)],
  AgentBudgetExceeded: [
    rising(
      'agent_hooks_budget_thresholds_total',
      {
        job,
        instance,
        agent_hooks_budget_of: 'session',
        agent_hooks_budget_unit: 'tokens',
        agent_hooks_budget_state: 'exceeded',
      },
      1,
    ),
  ],
  AgentBudgetNearlyUsed: [
    rising(
      'agent_hooks_budget_thresholds_total',
      {
        job,
        instance,
        agent_hooks_budget_of: 'turn',
        agent_hooks_budget_unit: 'actions',
        agent_hooks_budget_state: 'warning',
      },
      1,
    ),
  ],
  AgentRateLimitNear: [
    {
      metric: 'agent_hooks_rate_limit_utilization_ratio',
      labels: { job, instance, agent_hooks_rate_limit_window: 'five_hour' },
      at: () => 0.95,
    },
  ],
  AgentActionsFailing: [rising(ACTIONS, { job, error_type: 'exit_code' }, 40), rising(ACTIONS, { job }, 20)],
  AgentTokensUnusual: [unusual('gen_ai_client_inference_usage_output_tokens_total', 100, 900_000)],
  AgentCostUnusual: [unusual('agent_hooks_cost_computed_USD_total', 0.01, 40)],
  AgentMachineSilent: [
    {
      metric: `${PIPELINE}events_total`,
      labels: { job, instance: 'a-silent-machine', agent_hooks_pipeline_result: 'accepted' },
      at: minutes => (minutes > 90 ? 0 : 200),
    },
  ],
  AgentDeliveryBacklog: [
    rising(
      `${PIPELINE}failed_total`,
      { job, instance, agent_hooks_pipeline_item: 'log', agent_hooks_pipeline_reason: '503' },
      10,
    ),
  ],
  AgentTelemetryRefused: [
    rising(`${PIPELINE}export_rejected_total`, { job, instance, agent_hooks_pipeline_reason: '400' }, 3),
  ],
  AgentTelemetryLost: [rising(`${PIPELINE}dropped_total`, { job, instance, agent_hooks_pipeline_reason: 'age' }, 3)],
  AgentHooksUnreadable: [
    rising(`${PIPELINE}quarantined_total`, { job, instance, agent_hooks_pipeline_reason: 'torn' }, 30),
  ],
  CollectorBacklog: [
    { metric: 'otelcol_exporter_queue_size', labels: { exporter: 'otlp_grpc/tempo' }, at: () => 800 },
    { metric: 'otelcol_exporter_queue_capacity', labels: { exporter: 'otlp_grpc/tempo' }, at: () => 1_000 },
  ],
  CollectorRefusesOrLoses: [rising('otelcol_exporter_send_failed_spans_total', { exporter: 'otlp_grpc/tempo' }, 5)],
};

/** The working hours of a silent machine: the tests run at any time of day. */
const HOURS = /\s*and on \(\) \(hour\(\)[^)]*\)\s*and on \(\) \(day_of_week\(\)[^)]*\)/;
const groups = alertRules();
const recorded = new Map(
  groups.flatMap(({ rules }) => rules.flatMap(({ record, expr }) => (record === undefined ? [] : [[record, expr]]))),
);
const rules = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined);
let prometheus = '';

beforeAll(async () => {
  writeFileSync(join(folder, 'samples.txt'), metricsText(Object.values(provoking).flat(), PAST, -AHEAD));
  const mounted = ['--user', '0:0', '-v', `${folder}:/data`];
  const written = ['tsdb', 'create-blocks-from', 'openmetrics', '/data/samples.txt', '/data/data'];
  docker('run', '--rm', ...mounted, '--entrypoint', '/bin/promtool', IMAGE, ...written);
  const label = ['--label', besideLabel(stack.project)];
  const network = ['--network', `${stack.project}_stack`, '--network-alias', SOURCE, '-p', '127.0.0.1::9090'];
  const flags = ['--storage.tsdb.path=/data/data', '--web.enable-admin-api', '--storage.tsdb.retention.time=30d'];
  const configured = ['--config.file=/data/prometheus.yaml'];
  writeFileSync(join(folder, 'prometheus.yaml'), 'global: {}\n');
  docker('run', '-d', '--name', name, ...label, ...network, ...mounted, IMAGE, ...configured, ...flags);
  prometheus = `http://${docker('port', name, '9090').split('\n')[0]}`;
  await eventually(
    () => fetch(`${prometheus}/-/ready`),
    ({ ok }) => ok,
  );
  const source = { uid: SOURCE, name: SOURCE, type: 'prometheus', access: 'proxy', url: `http://${SOURCE}:9090` };
  await asAdmin(stack, 'POST', '/api/datasources', source);
  await asAdmin(stack, 'POST', '/api/folders', { uid: FOLDER, title: FOLDER });
  for (const rule of rules) {
    // Fires at once: the waiting time of a rule would outlast the tests.
    const shipped = own({ ...rule, for: '0s', expr: rule.expr.replace(HOURS, '') }, recorded);
    const text = JSON.stringify(shipped).replaceAll('"datasourceUid":"prometheus"', `"datasourceUid":"${SOURCE}"`);
    const placed = { orgID: 1, folderUID: FOLDER, ruleGroup: FOLDER };
    const copy = { ...(JSON.parse(text) as { uid: string }), ...placed, uid: `${FOLDER}-${shipped.uid}`.slice(0, 40) };
    await asAdmin(stack, 'POST', '/api/v1/provisioning/alert-rules', copy);
  }
  const group = `/api/v1/provisioning/folder/${FOLDER}/rule-groups/${FOLDER}`;
  await asAdmin(stack, 'PUT', group, { ...(await asAdmin<object>(stack, 'GET', group)), interval: 10 });
}, 120_000);

afterAll(async () => {
  docker('rm', '-f', '-v', name);
  rmSync(folder, { recursive: true, force: true });
  await asAdmin(stack, 'DELETE', `/api/folders/${FOLDER}?forceDeleteRules=true`);
  await asAdmin(stack, 'DELETE', `/api/datasources/uid/${SOURCE}`);
});

const provoked = async (): Promise<RuleState[]> =>
  (await ruleStates(stack)).flatMap(group => (group.name === FOLDER ? group.rules : []));
const reach = (isThere: (rule: RuleState) => boolean): Promise<RuleState[]> =>
  eventually(provoked, all => all.length === rules.length && all.every(isThere), 90_000);

test('each rule has samples that provoke it', () => {
  expect(Object.keys(provoking).sort()).toEqual(rules.map(({ alert }) => alert).sort());
});

test('each rule fires, with a summary that is complete', async () => {
  const all = await reach(({ state, health }) => state === 'firing' && health === 'ok');
  for (const { name: alert, alerts = [] } of all) {
    const summary = alerts.find(({ state }) => state === 'Alerting')?.annotations.summary ?? '';
    expect(summary, alert).not.toMatch(/\{\{|no value|error|\$/);
    expect(summary.length, alert).toBeGreaterThan(20);
  }
});

test('each rule resolves when its samples are gone', async () => {
  const query = new URLSearchParams({ 'match[]': '{__name__=~".+"}' });
  const answer = await fetch(`${prometheus}/api/v1/admin/tsdb/delete_series?${query}`, { method: 'POST' });
  expect(answer.status).toBe(204);
  await reach(({ state, health }) => state === 'inactive' && /^(ok|nodata)$/.test(health));
});

test('each rule reports an error when its Prometheus is away', async () => {
  docker('stop', '-t', '1', name);
  const all = await reach(({ health }) => health === 'error');
  for (const { lastError } of all) expect(lastError).toMatch(/provoked/);
});
