/**
 * Every query of every panel, every alert and recording rule in both forms, run against back ends with some sessions:
 * each must return data. Alerts fire on a day with many faults, and not on a normal one.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { alerting, alertRules } from '../../grafana/alerting.ts';
import { dashboards } from '../../grafana/dashboards.ts';
import { ranIn } from '../commands/ran.ts';
import { byHand } from '../git-folders.ts';
import { container, docker, eventually, instanceOf, json, samples, search, tempoSpans } from './backends.ts';
import { framesOf, numbersIn, rowsIn, type Target, tracesFound } from './grafana.ts';
import { Machine } from './machine.ts';
import { metricsText } from './old-samples.ts';
import { ended, statedCost, worked } from './working-day.ts';

const stack = inject('stack');
const endpoint = stack.collector;
const [NORMAL, TROUBLED] = ['normal-day', 'troubled-day'];
const normal = new Machine(stack.program, { provider: 'otlp', service_name: NORMAL, otlp: { endpoint } });
// Refuses log records: for ever (400), or because the path does not exist (404).
const refusing = createServer((request, answer) => {
  request.resume();
  request.on('end', () => answer.writeHead(request.url?.startsWith('/nowhere') ? 404 : 400).end());
});
const machines = [normal];
let session = '';
let trace = '';
let traceOfTeam = '';
let normalInstance = '';
afterAll(() => {
  refusing.close();
  for (const machine of machines) machine.remove();
});
/** What was spent a week ago: the only samples that old. */
const LAST_WEEK = { job: 'last-week', usd: 12.5 };
function spendLastWeek(): void {
  const labels = {
    job: LAST_WEEK.job,
    gen_ai_request_model: 'claude-opus-4-1',
    service_namespace: 'payments',
    deployment_environment_name: 'laptops',
    vcs_repository_name: 'shop',
    vcs_ref_head_name: 'main',
    user_id: 'somebody',
  };
  const at = (minutes: number): number => (minutes > 30 ? 0 : LAST_WEEK.usd);
  const cost = { metric: 'agent_hooks_cost_computed_USD_total', labels, at };
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-last-week-'));
  writeFileSync(join(folder, 'last-week.txt'), metricsText([cost], 90, -20, Date.now() - 7 * 86_400_000));
  const prometheus = container(stack, 'prometheus');
  docker('cp', join(folder, 'last-week.txt'), `${prometheus}:/prometheus/last-week.txt`);
  const written = ['tsdb', 'create-blocks-from', 'openmetrics', '/prometheus/last-week.txt', '/prometheus'];
  docker('exec', prometheus, '/bin/promtool', ...written);
  rmSync(folder, { recursive: true });
}

beforeAll(async () => {
  spendLastWeek();
  await new Promise<void>(listening => refusing.listen(0, '127.0.0.1', listening));
  for (const file of ['plain-session', 'subagents', 'parallel-actions', 'permission-granted', 'mcp-and-skills']) {
    normal.journey(`${file}.journey`);
  }
  const ordinary = worked(normal, { turns: 2 });
  await normal.deliver();
  // Has a subagent whose responses have a price.
  await normal.cli('demo', '--otlp', endpoint);
  normalInstance = await instanceOf(stack, ordinary);

  const reported = { provider: 'otlp', service_name: TROUBLED, budget: { session_tokens: 100_000 } };
  const ofTeam = new Machine(stack.program, {
    provider: 'otlp',
    attributes: { 'service.namespace': 'payments', 'deployment.environment.name': 'laptops' },
    metrics: { include: ['vcs.repository.name', 'vcs.ref.head.name', 'user.id'] },
    content: { user: 'full' },
    otlp: { endpoint },
  });
  machines.push(ofTeam);
  ofTeam.repository('https://git.example/acme/shop.git', 'main');
  const about = { turns: 1, calls: 2, command: 'npm run broken', isFailing: true, isRunning: true };
  const sessionOfTeam = worked(ofTeam, about);
  await ofTeam.deliver();
  byHand.commit(ofTeam.home);
  ended(ofTeam, sessionOfTeam, 500);
  await ofTeam.deliver();
  [traceOfTeam = ''] = await eventually(
    () => search(stack, `{ span.session.id = "${sessionOfTeam}" }`),
    found => found.length > 0,
  );

  const bad = new Machine(stack.program, { ...reported, otlp: { endpoint } });
  machines.push(bad);
  for (const file of ['failures', 'compaction', 'model-failure', 'loop-aborted']) bad.journey(`${file}.journey`);
  for (let i = 0; i < 4; i += 1) bad.journey('loop-of-failures.journey');
  for (let i = 0; i < 12; i += 1) bad.journey('denied-by-classifier.journey');
  worked(bad, { turns: 4, calls: 8, command: 'npm run broken', isFailing: true });
  worked(bad, { turns: 1, model: 'in-house-70b' });
  // The newest statement of the limit counts. The order in which one delivery processes the sessions does not matter.
  session = worked(bad, { turns: 3, calls: 4, command: 'git push --force origin main', limitUsed: 92 });
  statedCost(bad);
  // A hook that was registered twice.
  const idle = { session_id: session, hook_event_name: 'Notification', notification_type: 'idle_prompt', message: '' };
  for (let i = 0; i < 2; i += 1) bad.hook(idle, Date.now());
  // Unreadable hooks.
  for (let i = 0; i < 12; i += 1) bad.hook([`no object ${i}`], Date.now());
  await bad.deliver();
  [trace = ''] = await eventually(
    () => search(stack, `{ span.session.id = "${session}" }`),
    found => found.length > 0,
  );

  const address = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`;
  const withoutLogs = (logs_endpoint: string, more: object = {}): Machine =>
    new Machine(stack.program, {
      provider: 'otlp',
      service_name: TROUBLED,
      otlp: { endpoint, logs_endpoint },
      ...more,
    });
  const waiting = withoutLogs(`${address}/nowhere/v1/logs`);
  machines.push(waiting);
  // A busy machine may not send in so short a time: the number of attempts counts.
  for (let tried = 0, times = 0; tried < 7 && times < 50; times += 1) {
    waiting.journey('plain-session.journey');
    const { err } = await waiting.cli('deliver', '--wait', '2s');
    if (/\(404\)/.test(err)) tried += 1;
  }
  // A name that makes more series than the limit allows.
  const refused = withoutLogs(`${address}/v1/logs`, { metrics: { series: 500, include: ['session.id'] } });
  machines.push(refused);
  // The next round reports the refused items.
  for (const file of ['plain-session', 'subagents', 'mcp-and-skills']) {
    refused.journey(`${file}.journey`);
    await refused.cli('deliver', '--wait', '30s');
  }
}, 240_000);

/** Columns and panels that have no data even on these days. */
const mayBeEmpty: { [title: string]: string } = {
  'Lost by the collector A': 'the collector lost nothing',
  'Calls by MCP server B': 'no MCP call failed',
};
const ofLastWeek = (text: string): boolean => text.includes('$counts 1w');
/** Prometheus looks for blocks that others write once a minute. */
const NEW_BLOCKS_MS = 75_000;

interface Panel {
  type: string;
  title: string;
  targets?: Target[];
}
const queries = dashboards().flatMap(({ uid, json: text }) =>
  (JSON.parse(text) as { panels: Panel[] }).panels.flatMap(({ type, title, targets = [] }) =>
    targets.map(target => ({
      uid,
      title,
      column: target.refId,
      type,
      source: target.datasource.uid,
      target,
      text: target.expr ?? target.query ?? '',
    })),
  ),
);

const filled = (text: string, counts = 'anchored offset'): string =>
  text
    .replaceAll('$__range', '1h')
    .replaceAll('$__interval', '5m')
    .replaceAll('$counts', counts)
    .replaceAll(/\$(team|environment|repository|user|model|tool)\b/g, '.*')
    .replaceAll('$agent', '.+')
    .replaceAll(/\$(session|trace|span|segment)\b/g, '');

/** The number of lines or series that a LogQL query finds. */
async function inLoki(query: string): Promise<number> {
  const now = Date.now();
  const range = { start: `${now - 3_600_000}000000`, end: `${now + 5_000}000000`, step: '60s', limit: 100 };
  const answer = await json<{ data: { result: unknown[] } }>(stack.loki, '/loki/api/v1/query_range', {
    query,
    ...range,
  });
  return answer.data.result.length;
}
const inPrometheus = async (query: string): Promise<number> =>
  (await samples(stack, query)).filter(({ value }) => !Number.isNaN(value)).length;

test.each(queries)('$uid, $title, $column', async ({ title, column, type, source, target, text }) => {
  const query = filled(text);
  const count = async (): Promise<number> => {
    if (type === 'traces') return (await tempoSpans(stack, trace)).length;
    if (source === 'tempo') return (await tracesFound(stack, query)).length;
    const frames = await framesOf(stack, target, query);
    return type === 'logs' || target.queryType === 'range' ? rowsIn(frames) : numbersIn(frames).length;
  };
  // An error of Grafana or of a back end always fails the test.
  if (`${title} ${column}` in mayBeEmpty) await count();
  else {
    const waitMs = ofLastWeek(text) ? NEW_BLOCKS_MS : 15_000;
    expect(await eventually(count, found => found > 0, waitMs), query).toBeGreaterThan(0);
  }
  // A Prometheus without anchored ranges takes the other form.
  if (text.includes('$counts')) await framesOf(stack, target, filled(text, 'offset'));
});

test.each(queries.filter(({ text }) => ofLastWeek(text)))(
  '$uid, $title: the cost of a week before is exact',
  async ({ target, text }) => {
    const query = filled(text.replace('$agent', LAST_WEEK.job));
    const largest = async (): Promise<number> => Math.max(...numbersIn(await framesOf(stack, target, query)));
    await eventually(largest, usd => usd === LAST_WEEK.usd, NEW_BLOCKS_MS);
  },
);

test('numbers on dashboards are correct, also for a short session and after a silence', async () => {
  const of = 'counted-day';
  const counted = new Machine(stack.program, { provider: 'otlp', service_name: of, otlp: { endpoint } });
  machines.push(counted);
  // Data of a quarter of an hour ago is outside of the range of the last queries.
  const agoMs = 900_000;
  worked(counted, { turns: 2, calls: 3, agoMs: agoMs + 1_000 });
  const now = (): number => Date.now() - agoMs;
  const earlier = await ranIn(counted.home, ['deliver', '--wait', '30s', ...counted.flags], { now });
  expect(earlier.code, earlier.err).toBe(0);
  worked(counted, { turns: 1, calls: 4 });
  worked(counted, { turns: 1, calls: 1 });
  await counted.deliver();
  const number = (uid: string, title: string, range: string): (() => Promise<number | undefined>) => {
    const expr = queries.find(each => each.uid === uid && each.title === title)?.text ?? '';
    const query = filled(expr.replaceAll('$__range', range).replace('$agent', of));
    const target = queries.find(each => each.uid === uid && each.title === title)?.target;
    if (target === undefined) throw new Error(`no panel ${title}`);
    return () => framesOf(stack, target, query).then(frames => numbersIn(frames)[0]);
  };
  const responses = (calls: number, turns: number): number => calls + turns;
  for (const [uid, title, late, all] of [
    ['otel-hooks-fleet', 'Sessions', 2, 3],
    ['otel-hooks-fleet', 'Prompts', 2, 4],
    ['otel-hooks-fleet', 'Actions', 5, 11],
    ['otel-hooks-fleet', 'Failure rate', 0, 0],
    ['otel-hooks-tokens', 'Output', 350 * responses(5, 2), 350 * responses(11, 4)],
    ['otel-hooks-tokens', 'Input', 24_940 * responses(5, 2), 24_940 * responses(11, 4)],
  ] as const) {
    await eventually(number(uid, title, '1h'), value => value === all);
    await eventually(number(uid, title, '5m'), value => value === late);
  }
});

test('numbers of one session are correct', async () => {
  const of = 'counted-session';
  const counted = new Machine(stack.program, { provider: 'otlp', service_name: of, otlp: { endpoint } });
  machines.push(counted);
  const one = worked(counted, { turns: 2, calls: 3, command: 'npm run broken', isFailing: true });
  worked(counted, { turns: 1, calls: 5 });
  await counted.deliver();
  for (const [title, value] of [
    ['Prompts', 2],
    ['Actions', 6],
    ['Failed', 6],
    ['Output', 350 * 8],
    ['Input', 24_940 * 8],
  ] as const) {
    const query = queries.find(each => each.uid === 'otel-hooks-session' && each.title === title);
    if (query === undefined) throw new Error(`no panel ${title}`);
    const text = filled(query.text.replaceAll('$session', one));
    const shown = async (): Promise<number | undefined> => numbersIn(await framesOf(stack, query.target, text))[0];
    await eventually(shown, number => number === value);
  }
});

test('the cost per commit is the cost of a session that made one commit', async () => {
  const columnOf = async (column: string): Promise<number> => {
    const query = queries.find(each => each.title === 'By repository' && each.column === column);
    if (query === undefined) throw new Error(`no column ${column}`);
    return Math.max(...numbersIn(await framesOf(stack, query.target, filled(query.text.replace('$team', 'payments')))));
  };
  const [cost, perCommit] = [await columnOf('A'), await columnOf('C')];
  expect(cost).toBeGreaterThan(0);
  expect(perCommit).toBeCloseTo(cost, 6);
});

const pages = join(import.meta.dirname, '../../docs');
const inDocs = readdirSync(pages)
  .filter(page => page.endsWith('.md'))
  .flatMap(page =>
    [...readFileSync(join(pages, page), 'utf8').matchAll(/^```(promql|logql)\n(.*?)^```/gms)].flatMap(
      ([, language = '', text = '']) =>
        text
          .trim()
          .split('\n')
          .map(query => ({ page, language, query })),
    ),
  );

test.each(inDocs)('$page: $query', async ({ language, query }) => {
  const asked = query.replace('"claude-code"', `"${TROUBLED}"`).replace('"..."', `"${session}"`);
  const count = (): Promise<number> => (language === 'promql' ? inPrometheus(asked) : inLoki(asked));
  await eventually(count, found => found > 0);
});

const fromSpans = (
  parse(readFileSync(join(import.meta.dirname, '../../grafana/provisioning/datasources/otel-hooks.yaml'), 'utf8')) as {
    datasources: {
      jsonData: {
        tracesToMetrics?: { tags: { key: string; value: string }[]; queries: { name: string; query: string }[] };
      };
    }[];
  }
).datasources.flatMap(({ jsonData: { tracesToMetrics: of } }) =>
  (of?.queries ?? []).map(({ name, query }) => ({ name, query, tags: of?.tags ?? [] })),
);

test.each(fromSpans)('from a span to its metrics, also in a team: $name', async ({ query, tags }) => {
  const [span] = await tempoSpans(stack, traceOfTeam);
  const labels = tags.map(({ key, value }) => `${value}="${span?.resource[key]}"`).join(', ');
  expect(span?.resource['service.namespace']).toBe('payments');
  await eventually(
    () => inPrometheus(query.replace('$$__tags', labels).replace('[5m]', '[1h]')),
    found => found > 0,
  );
});

const written = alertRules().flatMap(({ rules }) => rules);
const grafanas = new Map(
  (
    parse(alerting()) as { groups: { rules: { title: string; data: { model: { expr?: string } }[] }[] }[] }
  ).groups.flatMap(({ rules }) =>
    rules.map(({ title, data }) => [title, (data[0]?.model.expr ?? '').replaceAll('$$', '$')] as const),
  ),
);

/** Alerts that this stack cannot provoke; all of them fire in grafana/rules/agents.test.yaml. */
const onlySimulated: { [alert: string]: string } = {
  AgentTokensUnusual: 'needs a day of history',
  AgentCostUnusual: 'needs a day of history',
  AgentMachineSilent: 'needs a silence of an hour at noon',
  AgentTelemetryLost: 'needs a full disk or an age of days',
  CollectorBacklog: 'needs a back end that is away for long',
  CollectorRefusesOrLoses: 'needs a back end that refuses',
};

test.each(written.filter(({ record }) => record !== undefined))(
  '$record is recorded',
  async ({ record = '', expr }) => {
    await eventually(
      () => inPrometheus(expr),
      found => found > 0,
    );
    // The rules are evaluated once a minute.
    await eventually(
      () => inPrometheus(record),
      found => found > 0,
      100_000,
    );
  },
);

test.each(written.filter(({ alert }) => alert !== undefined))(
  '$alert fires on a bad day, in both forms, and not on a normal one',
  async ({ alert = '', expr }) => {
    for (const query of [expr, grafanas.get(alert) ?? '']) {
      expect(query).not.toBe('');
      const firing = (): Promise<{ [label: string]: string }[]> =>
        samples(stack, query).then(all => all.map(({ metric }) => metric));
      const ofNormal = (await firing()).filter(({ job, instance }) => job === NORMAL || instance === normalInstance);
      expect(ofNormal).toEqual([]);
      if (alert in onlySimulated) continue;
      await eventually(firing, all => all.some(({ job = TROUBLED }) => job === TROUBLED), 100_000);
    }
  },
);
