/**
 * Figures for a team that plans a stack, measured on the stack of docker-compose.yml that runs here: the time from a
 * hook to a query that finds it, the size of a session on the wire and on disks, the number of series and streams of a
 * machine.
 *
 *     npm run stack; npm run bench -- stack [--write]
 *
 * `--write`: writes them into docs/grafana.md. Needs Docker, so `npm run bench` leaves it out.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { container, json, type Line, lines, pause, samples, search, tempoSpans } from '../test/stack/backends.ts';
import type { Stack } from '../test/stack/compose.ts';
import { Machine } from '../test/stack/machine.ts';
import { worked } from '../test/stack/working-day.ts';

const TRIALS = 5;
const MACHINES = 5;
const SESSIONS_EACH = 8;
const SESSION = { turns: 10, calls: 8 };
const DEVELOPERS = 1_000;
const SESSIONS_A_DAY = 10;
const HOURS_OF_WORK = 4;
/** The default of `metrics.interval_ms`. */
const METRICS_EVERY_S = 15;
/** The retention time of traces and records in collector-config/backends. */
const KEPT_DAYS = 14;

const program = join(process.cwd(), 'dist', 'otel-hooks.cjs');
const at = (port: number): string => `http://127.0.0.1:${port}`;
const stack: Stack = {
  project: 'otel-hooks',
  collector: at(4318),
  collectorGrpc: at(4317),
  collectorHealth: at(13133),
  tempo: at(3200),
  loki: at(3100),
  prometheus: at(9090),
  jaeger: at(16686),
  jaegerOtlp: at(4328),
  grafana: at(3000),
  program,
};
const PAGE = join(process.cwd(), 'docs', 'grafana.md');
const [BEGIN, END] = ['<!-- numbers: npm run bench -- stack --write -->', '<!-- end of numbers -->'];

const page = await measured();
console.log(page);
if (process.argv.includes('--write')) {
  const text = readFileSync(PAGE, 'utf8');
  const [before = '', rest = ''] = text.split(BEGIN);
  writeFileSync(PAGE, `${before}${BEGIN}\n${page}\n${END}${rest.split(END)[1] ?? ''}`);
}

async function measured(): Promise<string> {
  const waits = await found();
  const weighed = await sessions();
  return table(waits, weighed);
}

// ---------------------------------------------------------------- from a hook to what is found

interface Waits {
  [what: string]: number[];
}

async function found(): Promise<Waits> {
  const waits: Waits = {};
  for (let trial = 0; trial < TRIALS; trial += 1) {
    const home = mkdtempSync(join(tmpdir(), 'otel-hooks-stack-bench-'));
    try {
      for (const [what, seconds] of Object.entries(await oneSession(home))) {
        waits[what] = [...(waits[what] ?? []), seconds];
      }
    } finally {
      // Its delivery lingers for half a minute.
      await pause(35_000);
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    }
  }
  return waits;
}

async function oneSession(home: string): Promise<{ [what: string]: number }> {
  mkdirSync(join(home, '.config', 'otel-hooks'), { recursive: true });
  const config = { provider: 'otlp', otlp: { endpoint: stack.collector } };
  writeFileSync(join(home, '.config', 'otel-hooks', 'config.json'), JSON.stringify(config));
  const session = randomUUID();
  const prompt = { prompt_id: randomUUID() };
  const tool = { tool_name: 'Bash', tool_use_id: `toolu_${randomUUID()}`, tool_input: { command: 'npm test' } };
  const ofSession = `{service_name="claude-code"} | session_id="${session}"`;
  const hook = (event: string, fields: object): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [program, 'hook', '--tool', 'claude-code', '--event', event], {
        env: { PATH: process.env.PATH, HOME: home },
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      child.on('error', reject).on('exit', () => resolve());
      child.stdin.end(JSON.stringify({ session_id: session, hook_event_name: event, cwd: home, ...fields }));
    });
  const record = async (name: string): Promise<Line | undefined> =>
    (await lines(stack, `${ofSession} | event_name="agent_hooks.${name}"`))[0];

  const startMs = performance.now();
  await hook('SessionStart', { source: 'startup', model: 'claude-sonnet-4-5' });
  const first = await until(() => record('session.start'));
  const startS = secondsSince(startMs);
  await hook('UserPromptSubmit', { ...prompt, prompt: 'go on' });
  await hook('PreToolUse', { ...prompt, ...tool });
  const instance = first.labels.service_instance_id ?? '';

  const doneMs = performance.now();
  await hook('PostToolUse', { ...prompt, ...tool, tool_response: { stdout: 'ok' }, duration_ms: 600 });
  const afterS = async (look: () => Promise<unknown>): Promise<number> => {
    await until(look);
    return secondsSince(doneMs);
  };
  const trace = async (): Promise<string> => (await record('action.after'))?.labels.trace_id ?? '';
  const counter = `gen_ai_execute_tool_duration_seconds_count{instance="${instance}"}`;
  const [loki, byId, bySearch, prometheus] = await Promise.all([
    afterS(() => record('action.after')),
    afterS(async () => {
      const id = await trace();
      return id !== '' && (await tempoSpans(stack, id)).find(({ name }) => name.startsWith('execute_tool'));
    }),
    afterS(async () => (await search(stack, `{ span.session.id = "${session}" && name =~ "execute_tool.*" }`))[0]),
    afterS(async () => (await samples(stack, counter)).find(({ value }) => value > 0)),
  ]);
  await hook('Stop', { ...prompt, stop_hook_active: false });
  await hook('SessionEnd', { reason: 'other' });
  return {
    'first hook of a session, its record in Loki': startS,
    'end of an action, its record in Loki': loki,
    'end of an action, its span in Tempo by trace id': byId,
    'end of an action, its span in a TraceQL search': bySearch,
    'end of an action, its count in Prometheus': prometheus,
  };
}

async function until<T>(look: () => Promise<T>): Promise<Exclude<T, undefined | null | false | ''>> {
  const endMs = performance.now() + 120_000;
  for (;;) {
    const value = await look().catch(() => undefined);
    if (value) return value as Exclude<T, undefined | null | false | ''>;
    if (performance.now() > endMs) throw new Error('not found within two minutes');
    await pause(50);
  }
}
function secondsSince(ms: number): number {
  return (performance.now() - ms) / 1_000;
}

// ---------------------------------------------------------------- what sessions weigh

interface Weighed {
  spans: number;
  records: number;
  wire: { [signal: string]: number };
  /** Before compression. */
  plain: { [signal: string]: number };
  /** One request with all series of a machine. */
  metrics: number;
  tempo: number;
  loki: number;
  series: number;
  streams: number;
}

async function sessions(): Promise<Weighed> {
  const before = stored();
  const wire: Weighed['wire'] = {};
  const plain: Weighed['plain'] = {};
  let metricRequests = 0;
  // Counts the bytes that pass on their way to the collector, as they are on the wire.
  const counting = createServer((from, answer) => {
    const signal = from.url?.split('/').at(-1) ?? '';
    if (signal === 'metrics') metricRequests += 1;
    const parts: Buffer[] = [];
    from.on('data', (part: Buffer) => parts.push(part));
    from.on('end', () => {
      const body = Buffer.concat(parts);
      wire[signal] = (wire[signal] ?? 0) + body.length;
      plain[signal] = (plain[signal] ?? 0) + gunzipSync(body).length;
    });
    const to = request(new URL(from.url ?? '', stack.collector), { method: from.method, headers: from.headers });
    to.on('response', reply => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    to.on('error', () => answer.writeHead(502).end());
    from.pipe(to);
  });
  await new Promise<void>(listening => counting.listen(0, '127.0.0.1', listening));
  const endpoint = at((counting.address() as AddressInfo).port);
  const machines = Array.from(
    { length: MACHINES },
    () => new Machine(program, { provider: 'otlp', otlp: { endpoint } }),
  );
  try {
    let last = '';
    const made = { spans: 0, records: 0 };
    for (const machine of machines) {
      for (let i = 0; i < SESSIONS_EACH; i += 1) last = worked(machine, SESSION);
      await machine.deliver('120s');
      const [destination] = (await machine.books()).destinations;
      made.spans += destination?.spans.accepted ?? 0;
      made.records += destination?.logs.accepted ?? 0;
    }
    const all = MACHINES * SESSIONS_EACH;
    const each = (count: number): number => count / all;
    const record = await until(
      async () => (await lines(stack, `{service_name="claude-code"} | session_id="${last}"`))[0],
    );
    const instance = record.labels.service_instance_id;
    const counted = await until(async () => (await samples(stack, `count({instance="${instance}"})`))[0]);
    const nowMs = Date.now();
    const { data } = await json<{ data: { [label: string]: string }[] }>(stack.loki, '/loki/api/v1/series', {
      'match[]': '{service_name="claude-code"}',
      start: `${nowMs - 3_600_000}000000`,
      end: `${nowMs}000000`,
    });
    const after = await settled();
    return {
      spans: each(made.spans),
      records: each(made.records),
      wire: Object.fromEntries(Object.entries(wire).map(([signal, bytes]) => [signal, each(bytes)])),
      plain: Object.fromEntries(Object.entries(plain).map(([signal, bytes]) => [signal, each(bytes)])),
      metrics: (wire.metrics ?? 0) / metricRequests,
      tempo: each(after.tempo - before.tempo),
      loki: each(after.loki - before.loki),
      series: counted.value,
      // Loki splits such a burst into shards.
      streams: data.filter(labels => !('__stream_shard__' in labels)).length,
    };
  } finally {
    counting.close();
    for (const machine of machines) machine.remove();
  }
}

interface Stored {
  tempo: number;
  loki: number;
}

function stored(): Stored {
  return { tempo: bytesIn('tempo', '/var/tempo/blocks'), loki: bytesIn('loki', '/loki/chunks') };
}

/** Blocks are written within minutes; chunks of records are written on request. */
async function settled(): Promise<Stored> {
  await pause(90_000);
  await fetch(new URL('/flush', stack.loki), { method: 'POST' });
  let last = stored();
  for (;;) {
    await pause(30_000);
    const now = stored();
    if (now.tempo === last.tempo && now.loki === last.loki) return now;
    last = now;
  }
}

/** The files below a folder of a container that has no shell: Docker gives them as a tar archive. */
function bytesIn(service: string, path: string): number {
  const from = `${container(stack, service)}:${path}`;
  const archive = execFileSync('docker', ['cp', from, '-'], { maxBuffer: 1 << 30 });
  const folders = new Map<string, number>();
  const stale = new Set<string>();
  for (let offset = 0; offset + 512 <= archive.length; ) {
    const name = archive.toString('latin1', offset, offset + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(archive.toString('latin1', offset + 124, offset + 135), 8) || 0;
    const folder = dirname(name);
    // A block of Tempo that was merged into another one stays for an hour.
    if (basename(name) === 'meta.compacted.json') stale.add(folder);
    if (archive[offset + 156] === '0'.charCodeAt(0)) folders.set(folder, (folders.get(folder) ?? 0) + size);
    offset += 512 + Math.ceil(size / 512) * 512;
  }
  let bytes = 0;
  for (const [folder, size] of folders) if (!stale.has(folder)) bytes += size;
  return bytes;
}

// ---------------------------------------------------------------- the page

function table(waits: Waits, one: Weighed): string {
  const size = (bytes: number): string =>
    bytes < 1e6
      ? `${(bytes / 1e3).toFixed(1)} kB`
      : bytes < 1e9
        ? `${(bytes / 1e6).toFixed(0)} MB`
        : `${(bytes / 1e9).toFixed(1)} GB`;
  const perDay = DEVELOPERS * SESSIONS_A_DAY;
  const metricsADay = (one.metrics * HOURS_OF_WORK * 3_600) / METRICS_EVERY_S;
  const calls = SESSION.turns * SESSION.calls;
  const rows = (cells: string[][]): string => cells.map(row => `| ${row.join(' | ')} |`).join('\n');
  const seconds = (all: number[]): string => {
    const sorted = [...all].sort((a, b) => a - b);
    return `${(sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(1)} s, at most ${(sorted.at(-1) ?? 0).toFixed(1)} s`;
  };
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)} with \`local.yaml\` and defaults, Node ${process.versions.node}, ${cpus().length} cores, beside other work.`,
    '',
    rows([
      ['from a hook to what is found', `median of ${TRIALS}`],
      ['---', '---'],
      ...Object.entries(waits).map(([what, all]) => [what, seconds(all)]),
    ]),
    '',
    `A session of ${SESSION.turns} prompts, ${calls} actions and ${calls + SESSION.turns} responses is ${one.spans.toFixed(0)} spans and ${one.records.toFixed(0)} records (mean of ${MACHINES * SESSIONS_EACH} sessions on ${MACHINES} machines):`,
    '',
    rows([
      ['', 'one session', `${DEVELOPERS.toLocaleString('en')} developers, ${SESSIONS_A_DAY} such sessions a day each`],
      ['---', '---', '---'],
      ...(['traces', 'logs'] as const).map(signal => {
        const bytes = one.wire[signal] ?? 0;
        const before = one.plain[signal] ?? 0;
        return [
          `${signal} on the wire, gzip (before compression)`,
          `${size(bytes)} (${size(before)})`,
          `${size(bytes * perDay)} (${size(before * perDay)}) a day`,
        ];
      }),
      [
        'metrics on the wire, gzip',
        `${size(one.metrics)} each ${METRICS_EVERY_S} s of work`,
        `${size(metricsADay * DEVELOPERS)} a day of ${HOURS_OF_WORK} hours of work`,
      ],
      ['stored in Tempo', size(one.tempo), `${size(one.tempo * perDay * KEPT_DAYS)} for ${KEPT_DAYS} days`],
      ['stored in Loki', size(one.loki), `${size(one.loki * perDay * KEPT_DAYS)} for ${KEPT_DAYS} days`],
      ['series in Prometheus', `${one.series} a machine`, `${(one.series * DEVELOPERS).toLocaleString('en')} active`],
      ['streams in Loki', `${one.streams} an agent`, `${one.streams} an agent`],
    ]),
  ].join('\n');
}
