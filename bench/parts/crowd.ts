/**
 * The client of a thousand senders: bare connections in one process, each with one request at a time, at a fixed rate
 * of all together. An event is due at its moment, whether the server keeps up or not, and its latency counts from there,
 * so a server that stalls does not hide the wait of the events behind.
 *
 * Each connection has sessions of SESSION_EVENTS events, one after another: start, pairs of actions, end.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

export interface CrowdJob {
  url: string;
  token: string;
  connections: number;
  perSecond: number;
  seconds: number;
  /** The events of the first seconds are not in the latencies: the server still compiles its code. */
  warmSeconds: number;
  /** A number below 1,000 for each job, so that no id occurs twice. */
  job: number;
  bodyBytes: number;
  /** Gets one byte for each event, 1 for those that were acknowledged. */
  ledger: string;
}

export interface CrowdResult {
  p50Ms: number;
  p99Ms: number;
  acknowledged: number;
  /** The number of answers 429 with a Retry-After, after which the event was sent again. */
  waited: number;
  /** Events without an answer. */
  unanswered: number;
  /** Answers that are neither 200 nor 429. */
  failed: string[];
  /** The share of one core that this process used. */
  cpuShare: number;
}

const SESSION_EVENTS = 200;
/** The longest time for answers after the last event was due. */
const TAIL_MS = 30_000;

interface Template {
  bytes: Buffer;
  event: number;
  action: number;
  session: number;
  time: number;
}

interface Lane {
  socket: Socket;
  sent: number;
  session: string;
  action: string;
  /** When the events that are due were due. The first one is on its way if `isBusy`. */
  due: number[];
  isBusy: boolean;
  /** The server has asked it to wait. */
  isPaused: boolean;
  /** The number of the event that is on its way, and its bytes. */
  number: number;
  request: Buffer;
}

const ID = '"event_id":"00000000-0000-4000-8000-';
const none = Buffer.alloc(0);
const digits = (n: number): string => String(n).padStart(12, '0');

export async function crowd(given: CrowdJob): Promise<CrowdResult> {
  const { connections, perSecond, seconds, warmSeconds, job } = given;
  const templates = templatesOf(given);
  const latencies: number[] = [];
  const result = { acknowledged: 0, waited: 0, failed: [] as string[] };
  const lanes: Lane[] = [];
  const ledger = new Uint8Array(2 * connections + perSecond * seconds);
  let numbered = 0;
  let startMs = Number.POSITIVE_INFINITY;
  let isOver = false;

  const write = (lane: Lane): void => {
    lane.isBusy = true;
    lane.socket.write(lane.request);
  };
  const next = (lane: Lane): void => {
    numbered += 1;
    lane.number = numbered;
    lane.request = requestOf(templates, lane, job * 1e9 + numbered);
    write(lane);
  };
  const answered = (lane: Lane, answer: string): void => {
    lane.isBusy = false;
    const status = answer.slice(9, 12);
    const [, wait] = /\r\nretry-after: (\d+)\r\n/i.exec(answer) ?? [];
    if (status === '429' && wait !== undefined) {
      result.waited += 1;
      lane.isBusy = true;
      lane.isPaused = true;
      setTimeout(
        () => {
          lane.isPaused = false;
          lane.due = [performance.now()];
          write(lane);
        },
        Number(wait) * 1_000 * (1 + Math.random()),
      );
      return;
    }
    const dueMs = lane.due.shift() ?? 0;
    if (status === '200') {
      result.acknowledged += 1;
      ledger[lane.number] = 1;
      if (dueMs >= startMs + warmSeconds * 1_000) latencies.push(performance.now() - dueMs);
    } else result.failed.push(answer);
    if (lane.due.length > 0) next(lane);
  };

  for (let n = 0; n < connections; n += 1) {
    const socket = await opened(given.url);
    const begun = (n * 7) % SESSION_EVENTS;
    const lane: Lane = {
      socket,
      sent: begun,
      session: '',
      action: digits(n),
      due: [],
      isBusy: false,
      isPaused: false,
      number: 0,
      request: none,
    };
    lane.session = digits(job * 1e9 + n);
    socket.on('data', (part: Buffer) => answered(lane, part.toString('latin1', 0, 1_000)));
    socket.on('close', () => isOver || result.failed.push('the connection was closed'));
    lanes.push(lane);
    // A server closes connections that show no token.
    lane.due.push(performance.now());
    next(lane);
  }

  startMs = performance.now();
  const before = process.cpuUsage();
  for (let due = 0; performance.now() < startMs + seconds * 1_000; ) {
    const nowMs = performance.now();
    const until = Math.min(Math.floor(((nowMs - startMs) * perSecond) / 1_000), perSecond * seconds);
    for (; due < until; due += 1) {
      const lane = lanes[due % connections];
      if (lane === undefined) continue;
      // A sender that was asked to wait sends less.
      if (lane.isPaused) continue;
      lane.due.push(nowMs);
      if (!lane.isBusy) next(lane);
    }
    await new Promise(resolve => setTimeout(resolve, 1));
  }
  const { user, system } = process.cpuUsage(before);
  const cpuShare = (user + system) / 1_000 / (performance.now() - startMs);
  const unanswered = (): number => lanes.reduce((all, { due }) => all + due.length, 0);
  for (const endMs = performance.now() + TAIL_MS; unanswered() > 0 && performance.now() < endMs; )
    await new Promise(resolve => setTimeout(resolve, 20));
  isOver = true;
  const left = unanswered();
  for (const { socket } of lanes) socket.destroy();
  writeFileSync(given.ledger, ledger);
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return { ...result, p50Ms: at(0.5), p99Ms: at(0.99), unanswered: left, cpuShare };
}

/** The number of events that were acknowledged and whose ids are in none of these texts. */
export function lostOf({ job, ledger }: Pick<CrowdJob, 'job' | 'ledger'>, texts: Iterable<Buffer>): number {
  const missing = new Uint8Array(readFileSync(ledger));
  for (const text of texts)
    for (let at = text.indexOf(ID); at >= 0; at = text.indexOf(ID, at + ID.length)) {
      const id = Number(text.toString('latin1', at + ID.length, at + ID.length + 12));
      if (Math.floor(id / 1e9) === job) missing[id % 1e9] = 0;
    }
  return missing.reduce<number>((all, each) => all + each, 0);
}

export function opened(url: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

const kinds = ['start', 'before', 'after', 'end'] as const;
type Kind = (typeof kinds)[number];

/** Fills a template in: this costs the client a fraction of what building a JSON text would cost. */
function requestOf(templates: Readonly<Record<Kind, Template>>, lane: Lane, id: number): Buffer {
  const place = lane.sent % SESSION_EVENTS;
  lane.sent += 1;
  const kind = place === 0 ? 'start' : place === SESSION_EVENTS - 1 ? 'end' : place % 2 === 1 ? 'before' : 'after';
  if (kind === 'start') lane.session = digits(id);
  if (kind === 'before') lane.action = digits(id);
  const { bytes, event, action, session, time } = templates[kind];
  bytes.write(digits(id), event, 'latin1');
  bytes.write(lane.session, session, 'latin1');
  bytes.write(new Date().toISOString(), time, 'latin1');
  if (action >= 0) bytes.write(lane.action, action, 'latin1');
  return Buffer.from(bytes);
}

function templatesOf({ url, token, bodyBytes }: CrowdJob): Readonly<Record<Kind, Template>> {
  const [event, action, session] = ['eeeeeeeeeeee', 'aaaaaaaaaaaa', 'ssssssssssss'] as const;
  const shell = { id: action, name: 'shell', input: { command: 'ls -la' } };
  const facts = {
    start: ['Session.Start', {}],
    before: ['Action.Before', { action: shell }],
    after: ['Action.After', { action: { ...shell, result: { success: true, output: '' } } }],
    end: ['Session.End', { reason: 'completed' }],
  } as const;
  const made = (kind: Kind): Template => {
    const [type, data] = facts[kind];
    const value = {
      spec_version: '0.1.0',
      event_id: `${ID.slice(12)}${event}`,
      event_type: type,
      timestamp: new Date().toISOString(),
      source: { tool: 'bench-agent', version: '1.0.0' },
      session_id: `crowd-${session}`,
      actor: { type: 'ai_agent' },
      data,
    };
    const line = 'a line of output, as a shell says it. '.repeat(Math.ceil(bodyBytes / 30));
    const padding = line.slice(0, bodyBytes - JSON.stringify(value).length);
    const body = JSON.stringify(value)
      .replace('"output":""', () => `"output":"${padding}"`)
      .replace(kind === 'before' ? 'ls -la' : /$^/, () => `ls -la ${padding}`);
    const { host } = new URL(url);
    const head = `POST /v1/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json`;
    const text = `${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    return {
      bytes: Buffer.from(text),
      event: text.indexOf(event),
      action: text.indexOf(action),
      session: text.indexOf(session),
      time: text.indexOf(value.timestamp),
    };
  };
  return { start: made('start'), before: made('before'), after: made('after'), end: made('end') };
}
