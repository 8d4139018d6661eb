/**
 * From the tarball to the socket: packed, installed into an empty folder with an empty home and a bare environment,
 * hooks registered by `enable`, run as the agent runs them, delivered by the process that they start.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Collected, type Collector, startCollector } from '../collector.ts';
import {
  AGENT,
  type Agent,
  commandsIn,
  delivered,
  enable,
  furnish,
  type House,
  harmless,
  otelHooks,
  runHook,
  status,
  until,
  vacate,
} from './house.ts';
import { counts, sessionOf, tree } from './session.ts';

const former = `{
    // mine
    "model": "opus",
    "hooks": { "PreToolUse": [ { "matcher": "Bash", "hooks": [ { "type": "command", "command": "true" } ] } ] }
}\n`;

describe('a session through the packed program', () => {
  const session = 'wire-0001';
  let house: House;
  let collector: Collector;

  beforeAll(async () => {
    collector = await startCollector();
    house = furnish('packed');
    mkdirSync(dirname(house.settings));
    writeFileSync(house.settings, former);
    const enabled = enable(house, collector.url);
    // The program is in a temporary folder here, and `enable` warns about it.
    expect(enabled).toMatchObject({ status: 0, stderr: expect.stringContaining('a folder for temporary files') });
    const agent: Agent = { house, commands: commandsIn(house) };
    for (const hook of sessionOf(session, house.project)) expect(await runHook(agent, hook)).toEqual(harmless);
    await delivered(house);
  }, 60_000);
  afterAll(async () => {
    await vacate(house);
    await collector.close();
  });

  it('arrives as one tree of spans', () => {
    const spans = collector.spans();
    expect(drawn(spans)).toEqual(tree);
    expect(new Set(spans.map(span => span.traceId)).size).toBe(1);
    expect(new Set(spans.map(span => span.spanId)).size).toBe(counts.spans);
    for (const span of spans) {
      expect(span.traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
      expect(BigInt(String(span.endTimeUnixNano)) >= BigInt(String(span.startTimeUnixNano))).toBe(true);
    }
  });

  it('has a record for each event, in the context of a span that arrived', () => {
    const records = collector.records();
    const known = new Set(collector.spans().map(span => span.spanId));
    expect(records).toHaveLength(counts.records);
    for (const record of records) {
      expect(known).toContain(record.spanId);
      expect(record.traceId).toBe(collector.spans()[0]?.traceId);
      expect(record.eventName).toMatch(/^agent_hooks\./);
      expect(record.plain['event.name']).toBe(record.eventName);
    }
    expect(records.filter(record => record.eventName === 'agent_hooks.action.after')).toHaveLength(4);
  });

  it("carries the root session's id on every span and record, the subagent's own beside it", () => {
    const all = [...collector.spans(), ...collector.records()];
    expect(new Set(all.map(item => item.plain['session.id']))).toEqual(new Set([session]));
    expect(all.filter(item => item.plain['agent_hooks.agent.id'] === `${session}-scout`).length).toBeGreaterThan(3);
  });

  it('names its resource, and the metrics name a stable one', () => {
    const ofAgents = collector.metrics().filter(({ name }) => name !== 'agent_hooks.pipeline.export.duration');
    for (const item of [...collector.spans(), ...collector.records(), ...ofAgents]) {
      expect(item.resource).toMatchObject({ 'service.name': AGENT });
    }
    for (const metric of collector.metrics()) expect(metric.resource['service.instance.id']).toBeTruthy();
  });

  it('sends each series as 0 before its first value, then the number of events', () => {
    const seen = new Map<string, bigint[]>();
    for (const metric of collector.metrics()) {
      for (const point of pointsOf(metric)) {
        const key = `${metric.name} ${JSON.stringify(point.attributes)}`;
        seen.set(key, [...(seen.get(key) ?? []), BigInt(String(point.asInt ?? point.count ?? -1))]);
      }
    }
    expect(seen.size).toBeGreaterThan(8);
    for (const values of seen.values()) {
      expect(values[0]).toBe(0n);
      expect(values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))).toEqual(values);
    }
    const events = [...seen].filter(([key]) => key.startsWith('agent_hooks.pipeline.events '));
    expect(events.reduce((sum, [, values]) => sum + (values.at(-1) ?? 0n), 0n)).toBe(BigInt(counts.records));
  });

  it('posts protobuf, compressed, with its length', () => {
    const paths = new Set(collector.requests.map(request => request.path));
    expect(paths).toEqual(new Set(['/v1/traces', '/v1/logs', '/v1/metrics']));
    for (const { method, headers, raw } of collector.requests) {
      expect(method).toBe('POST');
      expect(headers['content-type']).toBe('application/x-protobuf');
      expect(headers['content-encoding']).toBe('gzip');
      expect(headers['content-length']).toBe(String(raw.length));
      expect(headers['transfer-encoding']).toBeUndefined();
      expect(headers['user-agent']).toMatch(/^otel-hooks\/\d/);
    }
  });

  it('is accounted for: status balances', () => {
    const found = status(house);
    expect(found).toMatchObject({
      balanced: true,
      delivering: false,
      problems: [],
      fragments: { received: counts.hooks, journaled: counts.hooks, waiting: 0, quarantined: 0, dropped: {} },
    });
    expect(found.destinations).toMatchObject([
      {
        provider: 'otlp',
        endpoint: collector.url,
        spans: { produced: counts.spans, accepted: counts.spans, waiting: 0, rejected: {}, dropped: {} },
        logs: { produced: counts.records, accepted: counts.records, waiting: 0, rejected: {}, dropped: {} },
        metrics: { waiting: 0, rejected: {} },
      },
    ]);
  });

  it('is shown as a tree without any back end', () => {
    const { stdout, status: code } = otelHooks(house, ['show', 'wire']);
    expect(code).toBe(0);
    expect(stdout).toContain(`trace ${collector.spans()[0]?.traceId}`);
    const names = tree.map(line => line.trim()).toSorted();
    const shown = stdout
      .split('\n')
      .flatMap(line => /(?:session|invoke_agent|execute_tool) [\w-]+/.exec(line)?.[0] ?? []);
    expect(shown.toSorted()).toEqual(names);
  });

  it('adds up: in a table, and for scripts and spreadsheets', () => {
    const by = ['report', '--by', 'agent'];
    const { rows } = JSON.parse(otelHooks(house, [...by, '--json']).stdout) as {
      rows: { by: object; actions: number }[];
    };
    expect(rows).toMatchObject([{ by: { agent: AGENT }, sessions: 1, actions: 4 }]);
    expect(otelHooks(house, by).stdout).toMatch(/^agent +sessions .*\nclaude-code +1 /);
    expect(otelHooks(house, [...by, '--format', 'csv']).stdout).toMatch(/^agent,sessions,.*\r\nclaude-code,1,/);
    expect(otelHooks(house, [...by, '--format', 'markdown']).stdout).toContain('| claude-code | 1 |');
    expect(otelHooks(house, ['report', '--by', 'colour'])).toMatchObject({ status: 2, stdout: '' });
  });

  it('is shown as it is recorded, until a signal stops the command', async () => {
    const following = spawn(process.execPath, [house.bin, 'tail', '--json', '--lines', '100000'], { env: house.env });
    let out = '';
    following.stdout.on('data', part => {
      out += part;
    });
    const ended = new Promise<number | null>(resolve => following.on('close', resolve));
    await until(() => out.split('\n').length > counts.records, 20_000);
    following.kill('SIGINT');
    expect(await ended).toBe(0);
    const types = out
      .trimEnd()
      .split('\n')
      .map(line => (JSON.parse(line) as { event_type: string }).event_type);
    expect(types.filter(type => type === 'Action.After')).toHaveLength(4);
  });

  it('leaves no trace: disable restores the settings byte for byte', () => {
    const { status: code } = otelHooks(house, ['disable', '--tool', AGENT, '--global', '--yes']);
    expect(code).toBe(0);
    expect(readFileSync(house.settings, 'utf8')).toBe(former);
  });
});

describe('sessions of several projects in one delivery', () => {
  const ids = { a: 'project-a', b: 'project-b', c: 'project-c', d: 'project-d' };
  let house: House;
  let a: Collector;
  let b: Collector;
  let file: string;
  let log: string;

  beforeAll(async () => {
    [a, b] = await Promise.all([startCollector(), startCollector()]);
    house = furnish('built');
    file = join(house.folder, 'file.jsonl');
    log = join(house.folder, 'events.jsonl');
    const config = join(house.home, '.config', 'otel-hooks', 'config.json');
    mkdirSync(dirname(config), { recursive: true });
    writeFileSync(config, JSON.stringify({ file: { path: file } }));
    const ofA = join(house.folder, 'a.json');
    writeFileSync(ofA, JSON.stringify({ otlp: { endpoint: a.url }, attributes: { project: 'a' } }));
    expect(enable(house, undefined).status).toBe(0);
    const agent: Agent = { house, commands: commandsIn(house) };
    const projects: { id: string; env: Record<string, string> }[] = [
      { id: ids.a, env: { OTEL_HOOKS_CONFIG: ofA, OTEL_EXPORTER_OTLP_ENDPOINT: a.url } },
      { id: ids.b, env: { OTEL_EXPORTER_OTLP_ENDPOINT: b.url, OTEL_RESOURCE_ATTRIBUTES: 'project=b' } },
      // The hook names no destination; the process that started deliver had an endpoint, and a configuration file with
      // one.
      { id: ids.c, env: {} },
      { id: ids.d, env: { OTEL_HOOKS_PROVIDER: 'file', AGENT_HOOKS_LOG: log } },
    ];
    const sessions = projects.map(({ id, env }) => ({ env, hooks: sessionOf(id, house.project) }));
    for (let i = 0; i < counts.hooks; i += 1) {
      const now = sessions.flatMap(({ env, hooks }) => hooks.slice(i, i + 1).map(hook => ({ ...hook, env })));
      // The first hook runs alone, so that the delivery starts with the environment of its project.
      if (i === 0) {
        for (const hook of now) {
          expect(await runHook(agent, hook)).toEqual(harmless);
          await until(() => existsSync(join(house.state, 'lock')), 10_000);
        }
      } else for (const ran of await Promise.all(now.map(hook => runHook(agent, hook)))) expect(ran).toEqual(harmless);
    }
    await delivered(house);
  }, 60_000);
  afterAll(async () => {
    await vacate(house);
    await Promise.all([a.close(), b.close()]);
  });

  it("each project's endpoint gets its own complete session, and no data of another one", () => {
    for (const [collector, id, project] of [
      [a, ids.a, 'a'],
      [b, ids.b, 'b'],
    ] as const) {
      expect(drawn(collector.spans())).toEqual(tree);
      const items = [...collector.spans(), ...collector.records()];
      expect(items).toHaveLength(counts.spans + counts.records);
      for (const item of items) {
        expect(item.plain['session.id']).toBe(id);
        expect(item.resource.project).toBe(project);
      }
      const sent = collector.requests.map(request => request.body.toString('latin1')).join('');
      for (const other of Object.values(ids)) if (other !== id) expect(sent).not.toContain(other);
    }
  });

  it('a delivery does not use the endpoint of the hook that started it: a session without one is kept', () => {
    const found = status(house);
    expect(found.balanced).toBe(true);
    expect(found.fragments).toMatchObject({ received: 4 * counts.hooks, journaled: 4 * counts.hooks });
    expect(found.destinations.map(({ provider }) => provider).toSorted()).toEqual([
      'agent-hooks-log',
      'file',
      'otlp',
      'otlp',
    ]);
    expect(otelHooks(house, ['show', ids.c]).stdout).toContain('execute_tool Grep');
  });

  it('the file provider writes lines of OTLP JSON', () => {
    const lines = linesOf(file).map(line => JSON.parse(line) as Record<string, unknown>);
    const kinds = new Set(lines.flatMap(line => Object.keys(line)));
    expect(kinds).toEqual(new Set(['resourceSpans', 'resourceLogs', 'resourceMetrics']));
    const text = readFileSync(file, 'utf8');
    expect(text.match(/"spanId":"[0-9a-f]{16}","parentSpanId"|"spanId":"[0-9a-f]{16}"/g)?.length).toBeGreaterThan(
      counts.spans,
    );
    for (const id of [ids.a, ids.b, ids.c]) expect(text).not.toContain(id);
  });

  it('AGENT_HOOKS_LOG gets every journaled event as a line that the standard accepts', () => {
    const lines = linesOf(log).map(line => JSON.parse(line) as { session_id: string; event_type: string });
    expect(lines.filter(line => !line.event_type.startsWith('vendor.'))).toHaveLength(counts.records);
    expect(new Set(lines.map(line => line.session_id))).toEqual(new Set([ids.d, `${ids.d}-scout`]));
    const { status: code, stdout } = otelHooks(house, ['validate', '--standard', 'agent-hooks', log]);
    expect({ code, stdout }).toMatchObject({ code: 0 });
  });
});

const linesOf = (path: string): string[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter(line => line !== '')
    : [];

const pointsOf = (metric: Collected): Record<string, unknown>[] =>
  (['sum', 'gauge', 'histogram'] as const).flatMap(
    kind => (metric[kind] as { dataPoints?: Record<string, unknown>[] } | undefined)?.dataPoints ?? [],
  );

/**
 * Names, indented below their parents; children in the order of their names. A span without a parent in this list is a
 * root.
 */
function drawn(spans: readonly Collected[]): string[] {
  const known = new Set(spans.map(span => span.spanId));
  const below = (parent: unknown, depth: number): string[] =>
    spans
      .filter(span => (known.has(span.parentSpanId) ? span.parentSpanId : undefined) === parent)
      .toSorted((a, b) => rankOf(a).localeCompare(rankOf(b)))
      .flatMap(span => [`${'  '.repeat(depth)}${span.name}`, ...below(span.spanId, depth + 1)]);
  return below(undefined, 0);
}

/** All turns have the same name; their ids give the order. */
const rankOf = (span: Collected): string => `${span.name} ${span.plain['agent_hooks.turn.id'] ?? ''}`;
