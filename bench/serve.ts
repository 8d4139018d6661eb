/**
 * The cost to receive an event over HTTP: from a request with a body of 3.4 KB to a whole fragment and 200, by 16
 * clients on kept connections, beside a bare node:http server that reads and discards the same bodies. The real program
 * serves and delivers meanwhile, in a second process, to a sink.
 *
 *     node scripts/bench.mjs serve [--requests 4000] [--slices 12] [--events 0] [--crowd 30] [--gate]
 *
 * Slices alternate in random order, after 10,000 requests to each that are not counted. CPU is the time of the thread
 * that answers, from /proc. The throughput is measured by wall time, and is meaningful only if the machine has a core
 * for each side. `--events 1000000` sends this number of events afterwards and watches the memory; a client waits when
 * the server asks for it.
 *
 * Afterwards, 1,000 connections send 5,000 events a second for the seconds of `--crowd` (default 30, 16 with `--gate`),
 * to the discarding server, to a `floor` that also writes each event into a file before it answers, to both beside a
 * process that computes with the priority of a delivery, to the program, and to the discarding server again. This prints
 * how long the acknowledgements took, the memory of the program with its delivery, how often senders had to wait, and
 * how many acknowledged events are neither in the inbox nor in a journal when the program was killed. `--crowd 600` is
 * the long form.
 *
 * `--gate`: exits 1 when the ratio of CPU falls below the gate in each of three runs, or a gate of the crowd is missed
 * in each of two.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type CrowdJob, type CrowdResult, crowd, lostOf, opened } from './parts/crowd.ts';
import { childrenOf, judged, median, memoryOf, numberAfter, onStage, type Stage, setting } from './parts/sides.ts';
import { receive } from './parts/way.ts';

const CLIENTS = 16;
const BODY_BYTES = 3_400;
const BAR = 0.5;
const GATE = 0.33;
const P99_MS = 5;
const TICKS_PER_SECOND = 100;
const CROWD = { connections: 1_000, perSecond: 5_000, warmSeconds: 2, bodyBytes: BODY_BYTES };
/** Below a millisecond, the timer of the client decides about the latency. */
const CROWD_P99 = { bar: 2, gate: 20, leastMs: 1 };
/** Since version 24, Node holds more memory for the same work (bench/NOTES.md). */
const CROWD_MB = { bar: 256, gate: Number.parseInt(process.versions.node, 10) < 24 ? 300 : 380 };
/** The largest of the last quarter beside the largest of the second. A short run is not long enough to judge. */
const CROWD_GROWTH = { bar: 1.1, gate: 1.25 };
const LONG_SECONDS = 60;
/** Runs until all code is compiled, because a server runs for months. */
const WARM_REQUESTS = 10_000;

const [role] = process.argv.slice(2);
if (role === 'bare') bare();
else if (role === 'sink') receive();
else if (role === 'floor') floor(process.argv[3] ?? '');
else if (role === 'client') client();
else if (role === 'busy') busy();
else if (role === 'crowd') process.on('message', async job => process.send?.(await crowd(job as CrowdJob)));
else process.exitCode = await onStage(stage => main(stage, process.argv.slice(2)));

interface Slice {
  url: string;
  token: string;
  requests: number;
  /** The first number of an event, so that no number occurs twice. */
  from: number;
}

interface Sent {
  wallMs: number;
  p50Ms: number;
  p99Ms: number;
  /** Events that the server told the client to send again later. */
  waited: number;
}

interface Side {
  url: string;
  token: string;
  pid: number;
  requests: number;
  cpuMs: number[];
  perSecond: number[];
  p50Ms: number[];
  p99Ms: number[];
}

async function main(stage: Stage, words: readonly string[]): Promise<number> {
  const isGate = words.includes('--gate');
  const isCpuMet = await sixteen(stage, words, isGate);
  const seconds = numberAfter(words, '--crowd', isGate ? 16 : 30);
  for (let attempt = 1; attempt <= (isGate ? 2 : 1); attempt += 1)
    if (await thousand(stage, seconds, attempt)) return isCpuMet ? 0 : 1;
  return isGate ? 1 : 0;
}

/** The comparison with 16 clients. Returns false if the gate was missed. */
async function sixteen(stage: Stage, words: readonly string[], isGate: boolean): Promise<boolean> {
  const requests = numberAfter(words, '--requests', isGate ? 2_000 : 4_000);
  const slices = numberAfter(words, '--slices', isGate ? 8 : 12);
  const events = numberAfter(words, '--events', 0);
  console.log(`${setting()}, ${CLIENTS} clients, ${BODY_BYTES / 1000} KB, ${slices} slices of ${requests} requests`);
  const sender = stage.start('client');
  const sink = await heard<string>(stage.start('sink'));
  const { side: served, program } = await startProgram(stage.place, sink);
  const bareServer = stage.start('bare');
  try {
    const plain = sideOf(await heard<string>(bareServer), 'none', bareServer.pid ?? 0);
    for (let warm = 0; warm < WARM_REQUESTS; warm += requests)
      for (const side of [plain, served]) await measure(sender, side, requests, false);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      for (const side of [plain, served])
        for (const of of ['cpuMs', 'perSecond', 'p50Ms', 'p99Ms'] as const) side[of] = [];
      for (let slice = 0; slice < slices; slice += 1) {
        for (const side of Math.random() < 0.5 ? [plain, served] : [served, plain])
          await measure(sender, side, requests, true);
      }
      const ratio = report(plain, served, requests);
      if (!isGate) break;
      if (ratio >= GATE) return true;
      if (attempt === 3) return false;
    }
    if (events > 0) await soak(sender, served, events, requests);
    return true;
  } finally {
    // The server writes until it ends, into folders that are removed next.
    await ended(program, 'SIGTERM');
    for (const child of [sender, bareServer]) child.kill();
  }
}

/**
 * The load of a thousand connections. A short run alternates between the servers twice; the program is stopped while
 * another server is measured. Returns false if a gate was missed.
 */
async function thousand(stage: Stage, seconds: number, attempt: number): Promise<boolean> {
  const place = join(stage.place, `crowd-${attempt}`);
  const sender = stage.start('crowd');
  const turns = seconds >= LONG_SECONDS ? 1 : 2;
  let job = 0;
  const load = (url: string, token: string, forSeconds: number): Promise<CrowdResult> => {
    job += 1;
    const ledger = join(stage.place, `ledger-${job}`);
    sender.send({ ...CROWD, url, token, seconds: forSeconds, job, ledger } satisfies CrowdJob);
    return heard<CrowdResult>(sender);
  };
  const others = Math.min(20, Math.max(CROWD.warmSeconds + 3, Math.floor(seconds / 4)));
  const [bares, floors, busyBares, busyFloors]: [CrowdResult[], CrowdResult[], CrowdResult[], CrowdResult[]] = [
    [],
    [],
    [],
    [],
  ];
  const beside = async (role: string, found: CrowdResult[]): Promise<void> => {
    const child = stage.start(role);
    found.push(await load(await heard<string>(child), 'none', others));
    await ended(child, 'SIGKILL');
  };
  const { side: served, program } = await startProgram(place, await heard<string>(stage.start('sink')));
  const found: CrowdResult[] = [];
  const jobs: number[] = [];
  const seenMb: number[] = [];
  try {
    for (let turn = 0; turn < turns; turn += 1) {
      await whileStopped(served.pid, async () => {
        await beside('bare', bares);
        await beside('floor', floors);
        const computing = stage.start('busy');
        await heard(computing);
        await beside('bare', busyBares);
        await beside('floor', busyFloors);
        await ended(computing, 'SIGKILL');
      });
      const watch = setInterval(() => seenMb.push(memoryMb(served.pid)), 500);
      found.push(await load(served.url, served.token, seconds / turns).finally(() => clearInterval(watch)));
      jobs.push(job);
    }
  } finally {
    await ended(program, 'SIGKILL');
  }
  const state = join(place, '.local', 'state', 'otel-hooks');
  const missingIn = (folder: string): number =>
    jobs.reduce((all, of) => all + lostOf({ job: of, ledger: join(stage.place, `ledger-${of}`) }, filesIn(folder)), 0);
  await beside('bare', bares);
  sender.kill();
  const undelivered = missingIn(join(state, 'journal'));
  return reportCrowd({
    bares,
    floors,
    busyBares,
    busyFloors,
    found,
    seenMb,
    lost: missingIn(state),
    undelivered,
    seconds,
  });
}

interface Crowd {
  bares: readonly CrowdResult[];
  floors: readonly CrowdResult[];
  /** Beside a process that computes. */
  busyBares: readonly CrowdResult[];
  busyFloors: readonly CrowdResult[];
  found: readonly CrowdResult[];
  seenMb: readonly number[];
  lost: number;
  /** Events that were acknowledged and are in no journal. */
  undelivered: number;
  seconds: number;
}

function reportCrowd(crowd: Crowd): boolean {
  const { bares, floors, busyBares, busyFloors, found, seenMb, lost, undelivered, seconds } = crowd;
  const { connections, perSecond } = CROWD;
  console.log(`\n${connections} connections, ${perSecond} events a second, ${seconds} seconds`);
  const middle = (of: readonly CrowdResult[], field: 'p50Ms' | 'p99Ms' | 'cpuShare'): number =>
    median(of.map(each => each[field]));
  const total = (of: readonly CrowdResult[], field: 'acknowledged' | 'waited' | 'unanswered'): number =>
    of.reduce((all, each) => all + each[field], 0);
  for (const [name, of] of [
    ['bare', bares],
    ['floor', floors],
    ['bare, busy', busyBares],
    ['floor, busy', busyFloors],
    ['serve', found],
  ] as const)
    console.log(
      `${name.padEnd(11)} p50 ${middle(of, 'p50Ms').toFixed(2)} ms, p99 ${middle(of, 'p99Ms').toFixed(2)} ms (${of.map(({ p99Ms }) => p99Ms.toFixed(2)).join(', ')}), ` +
        `${total(of, 'acknowledged')} acknowledged, ${total(of, 'waited')} had to wait, ${total(of, 'unanswered')} without an answer, ` +
        `${of.flatMap(({ failed }) => failed).length} failed; the client used ${(middle(of, 'cpuShare') * 100).toFixed(0)} % of a core`,
    );
  const failed = found.flatMap(each => each.failed);
  for (const answer of failed.slice(0, 3)) console.log(JSON.stringify(answer));
  const delivered = (total(found, 'acknowledged') - undelivered) / seconds;
  console.log(
    `delivery beside it took ${delivered.toFixed(0)} events a second from the inbox to the journals and the sink`,
  );
  const bareMs = Math.max(CROWD_P99.leastMs, middle(bares, 'p99Ms'));
  const ratio = middle(found, 'p99Ms') / bareMs;
  console.log(
    judged('p99 of the crowd', ratio, [
      { name: 'gate', most: CROWD_P99.gate },
      { name: 'bar', most: CROWD_P99.bar },
    ]),
  );
  const floorsOf = { 'the floor': floors, 'the floor beside a busy process': busyFloors };
  for (const [name, of] of Object.entries(floorsOf))
    console.log(judged(`p99 of ${name}`, middle(of, 'p99Ms') / bareMs, [{ name: 'bar', most: CROWD_P99.bar }]));
  const quarter = Math.floor(seenMb.length / 4);
  const mostMb = Math.max(...seenMb);
  const growth = Math.max(...seenMb.slice(-quarter)) / Math.max(...seenMb.slice(quarter, 2 * quarter));
  const verdict = mostMb <= CROWD_MB.gate ? `gate <= ${CROWD_MB.gate} met` : `gate <= ${CROWD_MB.gate} missed`;
  const over = Array.from({ length: 8 }, (_, i) => Math.round(seenMb[Math.floor((seenMb.length * i) / 8)] ?? 0));
  console.log(
    `${'memory of the crowd, with the delivery'.padEnd(46)} ${mostMb.toFixed(0).padStart(7)}   MB, ${verdict}, bar < ${CROWD_MB.bar} ${mostMb < CROWD_MB.bar ? 'met' : 'missed'}; over time ${over.join(', ')}`,
  );
  const isLong = seconds >= LONG_SECONDS;
  if (isLong)
    console.log(
      judged('memory, last quarter beside the second', growth, [
        { name: 'gate', most: CROWD_GROWTH.gate },
        { name: 'bar', most: CROWD_GROWTH.bar },
      ]),
    );
  console.log(
    `${'acknowledged events that are lost'.padEnd(46)} ${String(lost).padStart(7)}   gate 0 ${lost === 0 ? 'met' : 'missed'}`,
  );
  const isFlat = !isLong || growth <= CROWD_GROWTH.gate;
  return failed.length + lost === 0 && ratio <= CROWD_P99.gate && mostMb <= CROWD_MB.gate && isFlat;
}

/** Stops the server and its delivery meanwhile. */
async function whileStopped(pid: number, work: () => Promise<void>): Promise<void> {
  const pids = [pid, ...childrenOf(pid)];
  for (const each of pids) process.kill(each, 'SIGSTOP');
  try {
    await work();
  } finally {
    for (const each of pids) process.kill(each, 'SIGCONT');
  }
}

/** All files below a folder, one after another. */
function* filesIn(folder: string): Generator<Buffer> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile()) yield readFileSync(path);
  }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const isOver = new Promise(resolve => child.once('exit', resolve));
  if (child.exitCode === null && child.signalCode === null && child.kill(signal)) await isOver;
}

async function measure(sender: ChildProcess, side: Side, requests: number, counts: boolean): Promise<Sent> {
  const before = threadCpuMs(side.pid);
  sender.send({ url: side.url, token: side.token, requests, from: side.requests } satisfies Slice);
  const sent = await heard<Sent>(sender);
  side.requests += requests;
  if (!counts) return sent;
  side.cpuMs.push(threadCpuMs(side.pid) - before);
  side.perSecond.push((requests / sent.wallMs) * 1000);
  side.p50Ms.push(sent.p50Ms);
  side.p99Ms.push(sent.p99Ms);
  return sent;
}

function report(plain: Side, served: Side, requests: number): number {
  for (const [name, side] of [
    ['bare', plain],
    ['serve', served],
  ] as const) {
    const cpuUs = (sum(side.cpuMs) / side.cpuMs.length / requests) * 1000;
    console.log(
      `${name.padEnd(6)} ${cpuUs.toFixed(1).padStart(6)} us of CPU each, ${median(side.perSecond).toFixed(0).padStart(6)} a second, ` +
        `p50 ${median(side.p50Ms).toFixed(2)} ms, p99 ${median(side.p99Ms).toFixed(2)} ms`,
    );
  }
  // The kernel counts in hundredths of a second: sums, not medians of small numbers.
  const ratio = sum(plain.cpuMs) / sum(served.cpuMs);
  console.log(
    judged('HTTP to a whole fragment, CPU of the thread', ratio, [
      { name: 'gate', least: GATE },
      { name: 'bar', least: BAR },
    ]),
  );
  const through = median(served.perSecond) / median(plain.perSecond);
  console.log(judged('the same by wall time, delivery beside it', through, [{ name: 'bar', least: BAR }]));
  const p99Ms = median(served.p99Ms);
  const verdict = p99Ms < P99_MS ? 'met' : 'missed';
  console.log(
    `${'p99, delivery beside it'.padEnd(46)} ${p99Ms.toFixed(2).padStart(7)}   ms, bar < ${P99_MS} ${verdict}`,
  );
  return ratio;
}

/** Memory over a long run: the maximum of the second half beside the maximum of the first. */
async function soak(sender: ChildProcess, served: Side, events: number, requests: number): Promise<void> {
  const seenMb: number[] = [];
  let waited = 0;
  const startMs = performance.now();
  for (let sent = 0; sent < events; sent += requests) {
    waited += (await measure(sender, served, requests, false)).waited;
    seenMb.push(memoryMb(served.pid));
    if (seenMb.length % Math.ceil(events / requests / 10) === 0)
      console.log(`${(sent + requests).toLocaleString('en')} events, ${Math.round(seenMb.at(-1) ?? 0)} MB`);
  }
  const half = seenMb.length >> 1;
  const [first, second] = [seenMb.slice(half >> 1, half), seenMb.slice(half)].map(part => Math.max(...part));
  const minutes = (performance.now() - startMs) / 60_000;
  const growth = (second ?? 0) / (first ?? 1);
  console.log(
    `${`memory over ${events.toLocaleString('en')} events`.padEnd(46)} ${growth.toFixed(3).padStart(7)}   the second half beside the second quarter, bar <= 1.1x ${growth <= 1.1 ? 'met' : 'missed'}; ` +
      `at most ${Math.round(Math.max(...seenMb))} MB, ${minutes.toFixed(1)} minutes, ${waited} requests had to wait`,
  );
}

async function startProgram(place: string, sink: string): Promise<{ side: Side; program: ChildProcess }> {
  const config = join(place, '.config', 'otel-hooks');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ provider: 'otlp', otlp: { endpoint: sink } }));
  const bin = fileURLToPath(new URL('../dist/otel-hooks.cjs', import.meta.url));
  const program = spawn(process.execPath, [bin, 'serve', '--listen', '127.0.0.1:0', '--json'], {
    cwd: place,
    env: { HOME: place, PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await new Promise<string[]>((resolve, reject) => {
    createInterface({ input: program.stdout }).once('line', first => resolve([first]));
    program.once('exit', code => reject(new Error(`serve ended with ${code}`)));
  });
  const { url, token } = JSON.parse(line ?? '') as { url: string; token: string };
  return { side: sideOf(url, readFileSync(token, 'utf8').trim(), program.pid ?? 0), program };
}

function sideOf(url: string, token: string, pid: number): Side {
  return { url, token, pid, requests: 0, cpuMs: [], perSecond: [], p50Ms: [], p99Ms: [] };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, each) => all + each, 0);
}

function heard<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error('a process of the benchmark ended'));
    child.once('exit', gone);
    child.once('message', message => {
      child.off('exit', gone);
      resolve(message as T);
    });
  });
}

/** The CPU time of the first thread, in which the JavaScript of the main program runs. */
function threadCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1000;
}

/** The memory of the server and its delivery. */
function memoryMb(pid: number): number {
  return memoryOf([pid, ...childrenOf(pid)]).mb;
}

function bare(): void {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { 'content-length': 0 }).end());
  });
  server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

/** What every server must do that confirms only what is in a file. */
function floor(place: string): void {
  const folder = mkdtempSync(join(place, 'floor-'));
  let count = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', part => parts.push(part));
    request.on('end', () => {
      count += 1;
      const file = openSync(join(folder, String(count)), 'wx', 0o600);
      writeSync(file, Buffer.concat(parts));
      closeSync(file);
      response.writeHead(200, { 'content-length': 0 }).end();
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

/** Wants one core for itself, with the priority that the delivery of a server has. */
function busy(): void {
  setPriority(10);
  process.send?.('');
  for (;;) Math.random();
}

/** Requests as bytes over bare connections: the client costs little beside the measured server. */
function client(): void {
  process.on('message', async ({ url, token, requests, from }: Slice) => {
    // Connections for this slice: a server closes idle ones while the other server has its turn.
    const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => opened(url)));
    const latencies: number[] = [];
    let next = from;
    let waited = 0;
    const startMs = performance.now();
    const lane = async (socket: Socket): Promise<void> => {
      while (next < from + requests) {
        const n = next;
        next += 1;
        for (;;) {
          const beginMs = performance.now();
          const answer = await exchange(socket, requestOf(url, token, n));
          if (answer.startsWith('HTTP/1.1 200')) {
            latencies.push(performance.now() - beginMs);
            break;
          }
          if (!answer.startsWith('HTTP/1.1 429')) throw new Error(answer);
          waited += 1;
          await new Promise(resolve => setTimeout(resolve, 1_000));
        }
      }
    };
    await Promise.all(sockets.map(lane));
    const wallMs = performance.now() - startMs;
    for (const socket of sockets) socket.destroy();
    latencies.sort((a, b) => a - b);
    const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
    process.send?.({ wallMs, p50Ms: at(0.5), p99Ms: at(0.99), waited } satisfies Sent);
  });
}

function requestOf(url: string, token: string, n: number): string {
  const event = {
    spec_version: '0.1.0',
    event_id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    event_type: n % 2 === 0 ? 'Action.Before' : 'Action.After',
    timestamp: new Date(Date.UTC(2026, 2, 2, 9) + n).toISOString(),
    source: { tool: 'bench-agent', version: '1.0.0' },
    session_id: `bench-${n % CLIENTS}`,
    actor: { type: 'ai_agent' },
    data: { action: { name: 'shell', input: { command: 'ls -la' }, result: { success: true, output: '' } } },
  };
  const output = 'a line of output, as a shell says it\\n'
    .repeat(100)
    .slice(0, BODY_BYTES - JSON.stringify(event).length);
  event.data.action.result.output = output.slice(0, output.length - (output.endsWith('\\') ? 1 : 0));
  const body = JSON.stringify(event);
  return `POST /v1/events HTTP/1.1\r\nHost: ${new URL(url).host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function exchange(socket: Socket, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const take = (part: Buffer): void => {
      answer += part.toString('latin1');
      const head = answer.indexOf('\r\n\r\n');
      if (head < 0) return;
      const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(answer) ?? [];
      if (answer.length < head + 4 + Number(length)) return;
      socket.off('data', take);
      socket.off('close', gone);
      resolve(answer);
    };
    const gone = (): void => reject(new Error(`cut off: ${answer}`));
    socket.on('data', take);
    socket.once('close', gone);
    socket.write(request);
  });
}
