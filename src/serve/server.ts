/**
 * The HTTP mouth. A request is looked at in this order: its head (door.ts), whose it is (the token), what it brings (type,
 * size), how much of it there may be, and last its body (intake.ts). Until the token was shown, nothing of a body is read.
 *
 * 200 means that the fragment is complete in the inbox, and is said by nothing else. What a sender says reaches the disk as
 * the payload of a fragment; names in its header come from our own tables, and the file's name is ours.
 *
 * Everything is bounded: heads by Node's parser, bodies by MOST_BODY_BYTES each and MOST_HELD_BYTES together, time by
 * SLOWEST_MS, connections by MOST_CONNECTIONS. A connection that has shown no token within GRACE_MS gives way to a new one, the oldest
 * first, so that idle connections keep no sender out. A younger one gives way only when all places are taken: senders that
 * connect at the same moment would otherwise cut each other off before their requests are read.
 */
import { randomBytes, X509Certificate } from 'node:crypto';
import { accessSync, constants, statfsSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { agentNamed } from '../agents/index.ts';
import { travellingFrom } from '../hook/environment.ts';
import { clientOf, doorFor, isLoopback, type Names, ratesOf } from './door.ts';
import { openInbox } from './fragment-writer.ts';
import { attributesOf, type Fault, formOf, type Intake, intakeOf, type Said } from './intake.ts';
import { createMetrics, type Route } from './metrics.ts';
import type { Token } from './token.ts';

export interface BridgeOptions {
  host: string;
  port: number;
  tls?: Tls | undefined;
  stateFolder: string;
  token: Token;
  /** What travels with a hook's fragment travels with these too: sessions are sent where this process was told. */
  env: Readonly<Record<string, string | undefined>>;
  fsync: boolean;
  /** Of one client; 0 for any number. */
  requestsPerSecond: number;
  isDelivering(): boolean;
  /** How long a request may take to come in. */
  slowestMs?: number;
}

export interface Tls {
  cert: Buffer;
  key: Buffer;
  /** Who must have signed the certificates that clients show; without it they need none. */
  clientCa: Buffer | undefined;
}

export interface Bridge {
  url: string;
  /** From now on senders are sent away, until `close`. Fulfilled when what was under way is answered. */
  drain(withinMs: number): Promise<void>;
  close(): Promise<void>;
}

/** What an agent posts is parsed once; of events each is looked for its faults. */
const MOST_BODY_BYTES = { hooks: 16 * 1024 * 1024, events: 4 * 1024 * 1024 } as const;
const MOST_HELD_BYTES = 64 * 1024 * 1024;
const MOST_CONNECTIONS = 1_024;
const MOST_STRANGERS = 256;
const GRACE_MS = 1_000;
const SLOWEST_MS = 6_000;
/** For so long a sender that was refused may go on sending: it has time to read why. */
const FAREWELL_MS = 500;
const LOOK_MS = 1_000;
/** From here on senders are asked to wait: delivery is behind, or the disk is nearly full. */
const MOST_WAITING = 100_000;
const LEAST_FREE_BYTES = 32 * 1024 * 1024;

const limitsOf = (slowestMs: number): http.ServerOptions => ({
  maxHeaderSize: 16 * 1024,
  headersTimeout: slowestMs,
  requestTimeout: slowestMs,
  connectionsCheckingInterval: Math.min(slowestMs, 500),
  keepAliveTimeout: 60_000,
  insecureHTTPParser: false,
});

/** A body on its way. */
interface Held {
  release(): void;
}

interface Answer {
  status: number;
  body?: string;
  headers?: http.OutgoingHttpHeaders;
}

export async function openBridge(options: BridgeOptions): Promise<Bridge> {
  const { host, token, stateFolder, tls, requestsPerSecond, slowestMs = SLOWEST_MS } = options;
  const limits = limitsOf(slowestMs);
  const names: Names =
    tls && !isLoopback(host) ? { loopback: false, certificate: new X509Certificate(tls.cert) } : { loopback: true };
  const breachOf = doorFor(names);
  const inbox = openInbox({
    stateFolder,
    nonce: randomBytes(16).toString('hex'),
    fsync: options.fsync,
    senders: () => connections,
  });
  const metrics = createMetrics();
  const rates = ratesOf(requestsPerSecond || Number.POSITIVE_INFINITY);
  const travelling = travellingFrom(options.env);
  /** By their address: connections that have shown no token yet. */
  const strangers = new Map<string, { socket: Socket; sinceMs: number }>();
  /** Requests of a connection that wait for their answers, and what is said after the last of them. */
  const ongoing = new Map<Socket, Set<http.IncomingMessage>>();
  const broken = new WeakMap<Socket, () => void>();
  const room = roomIn(stateFolder);
  let connections = 0;
  let heldBytes = 0;
  let underWay = 0;
  let isDraining = false;
  let drained: (() => void) | undefined;

  const server = tls
    ? https.createServer({
        ...limits,
        cert: tls.cert,
        key: tls.key,
        minVersion: 'TLSv1.2',
        handshakeTimeout: slowestMs,
        ...(tls.clientCa ? { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true } : {}),
      })
    : http.createServer(limits);
  // A backstop: a connection that is cut off counts until its end is noticed.
  server.maxConnections = 2 * MOST_CONNECTIONS;
  server.on('request', take);
  server.on('checkContinue', take);
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    connections += 1;
    const nowMs = performance.now();
    strangers.set(peer, { socket, sinceMs: nowMs });
    socket.once('close', () => {
      connections -= 1;
      strangers.delete(peer);
    });
    const [oldest] = strangers.values();
    const isLate = strangers.size > MOST_STRANGERS && oldest !== undefined && nowMs - oldest.sinceMs > GRACE_MS;
    if (isLate || connections > MOST_CONNECTIONS) oldest?.socket.destroy();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
    metrics.answered('none', status, 0);
    const refuse = (): void => endWith(socket, status);
    // Requests before it on this connection get their answers first, or this would be taken for one of theirs.
    if (waitsForAnswer(socket)) broken.set(socket, refuse);
    else refuse();
  });

  /** The request that could not be read to its end is none of them. */
  function waitsForAnswer(socket: Socket): boolean {
    for (const { complete } of ongoing.get(socket) ?? []) if (complete) return true;
    return false;
  }

  function endWith(socket: Socket, status: number): void {
    socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
  }

  function take(request: http.IncomingMessage, response: http.ServerResponse): void {
    const startMs = performance.now();
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const route = routeOf(path);
    underWay += 1;
    const { socket } = request;
    ongoing.set(socket, (ongoing.get(socket) ?? new Set()).add(request));
    let body: Held | undefined;
    response.once('close', () => {
      const others = ongoing.get(socket);
      others?.delete(request);
      if (others?.size === 0) ongoing.delete(socket);
      if (!waitsForAnswer(socket)) broken.get(socket)?.();
      // Whoever goes in the middle sent nothing.
      body?.release();
      underWay -= 1;
      if (underWay === 0) drained?.();
    });
    const reply = (answer: Answer): void => {
      metrics.answered(route, answer.status, performance.now() - startMs);
      send(request, response, answer);
    };
    const answer = answerTo(request, route, path, query);
    if ('status' in answer) {
      reply(answer);
      return;
    }
    // A sender that asked first is waiting for this.
    if (request.headers.expect !== undefined) response.writeContinue();
    body = collect(request, route, reply, bytes => receive(bytes, answer, reply));
  }

  /** What is answered without a body, or how the body is to be read. */
  function answerTo(request: http.IncomingMessage, route: Route, path: string, query: string): Answer | Hearing {
    const refused = lookAt(request, route);
    if (refused !== undefined) return refused;
    if (route === 'health') return healthOf(path);
    if (route === 'metrics') return { status: 200, body: metricsNow(), headers: prometheus };
    return route === 'hooks' ? hookIn(request, path, query) : eventsIn(request);
  }

  /** Why nothing but its head is looked at. */
  function lookAt(request: http.IncomingMessage, route: Route): Answer | undefined {
    const { headers, socket, method = '' } = request;
    // A request line without a version: the parser takes it for HTTP/0.9, a proxy in between perhaps for something
    // else.
    if (request.httpVersionMajor !== 1) return refusals.protocol;
    const breach = comesTwice('host', request) ? 'host' : breachOf(headers);
    if (breach !== undefined) return refusals[breach];
    const isOpen = route === 'health';
    if (!isOpen) {
      if (comesTwice('authorization', request) || !token.isShownIn(headers.authorization)) return refusals.token;
      strangers.delete(peerOf(socket));
    }
    if (route === 'none') return refusals.path;
    const allowed = isOpen || route === 'metrics' ? ['GET', 'HEAD'] : ['POST'];
    if (!allowed.includes(method))
      return refusal(405, 'method', `only ${allowed[0]} is answered here`, { allow: allowed.join(', ') });
    if (allowed[0] === 'GET') return undefined;
    if (isDraining) return refusals.stopping;
    const waitSeconds = rates.waitFor(clientOf(socket.remoteAddress), performance.now());
    if (waitSeconds !== undefined)
      return tooMuch('rate', `more than ${requestsPerSecond} requests in a second`, waitSeconds);
    const full = room.why();
    if (full !== undefined) return tooMuch('room', full, 5);
    const declaredBytes = Number(headers['content-length'] ?? 0);
    if (declaredBytes > mostBytesOf(route)) return tooLarge(route);
    if (heldBytes + declaredBytes > MOST_HELD_BYTES) return tooMuchHeld;
    const encoding = headers['content-encoding'];
    return encoding === undefined || encoding === 'identity' ? undefined : refusals.encoding;
  }

  /** Reads the body to its end, unless it grows too large. */
  function collect(
    request: http.IncomingMessage,
    route: Route,
    reply: (answer: Answer) => void,
    done: (body: Buffer) => void,
  ): Held {
    const mostBytes = mostBytesOf(route);
    const parts: Buffer[] = [];
    let sizeBytes = 0;
    let isOver = false;
    const release = (): void => {
      heldBytes -= isOver ? 0 : sizeBytes;
      isOver = true;
    };
    request.on('data', (part: Buffer) => {
      if (isOver) return;
      sizeBytes += part.length;
      heldBytes += part.length;
      parts.push(part);
      if (sizeBytes <= mostBytes && heldBytes <= MOST_HELD_BYTES) return;
      const isTooLarge = sizeBytes > mostBytes;
      release();
      parts.length = 0;
      reply(isTooLarge ? tooLarge(route) : tooMuchHeld);
    });
    request.once('end', () => {
      if (isOver) return;
      release();
      done(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts));
    });
    return { release };
  }

  function receive(body: Buffer, hearing: Hearing, reply: (answer: Answer) => void): void {
    const { payload, isLine = false, verdicts } = intakeOf(body, hearing);
    const accepted = verdicts.filter(verdict => verdict === undefined).length;
    const isWhole = accepted === verdicts.length;
    const done = (status: number, body: string): void => {
      metrics.events(accepted, verdicts.length - accepted);
      reply({ status, body });
    };
    if (payload === undefined) {
      done(isWhole ? 200 : 400, resultOf(verdicts));
      return;
    }
    inbox.keep({
      header: hearing.header === nobody ? travelling : { ...hearing.header, ...travelling },
      payload,
      isLine,
      settled(error) {
        if (error !== undefined) {
          reply(notKept(error));
          return;
        }
        metrics.kept(payload.length);
        room.note();
        if (hearing.answer === undefined) done(isWhole ? 200 : 207, resultOf(verdicts));
        else done(200, hearing.answer);
      },
    });
  }

  function healthOf(path: string): Answer {
    const why = path === '/healthz' ? undefined : isDraining ? 'stopping' : (token.problem()?.code ?? room.unusable());
    return { status: why === undefined ? 200 : 503, body: `${why ?? 'ok'}\n`, headers: plain };
  }

  const metricsNow = (): string =>
    metrics.text({
      connections,
      heldBytes,
      waiting: room.waiting(),
      delivering: options.isDelivering(),
    });

  const looking = setInterval(() => {
    token.refresh();
    room.look();
  }, LOOK_MS);
  looking.unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `${tls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async drain(withinMs) {
      isDraining = true;
      if (underWay === 0) return;
      await new Promise<void>(resolve => {
        drained = resolve;
        setTimeout(resolve, withinMs).unref();
      });
    },
    async close() {
      clearInterval(looking);
      const closed = new Promise(resolve => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Node keeps the first of two; a proxy in between may have gone by the other. */
function comesTwice(name: string, { rawHeaders }: http.IncomingMessage): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === name) count += 1;
  return count > 1;
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

function routeOf(path: string): Route {
  if (path === '/v1/events') return 'events';
  if (path.startsWith('/hooks/')) return 'hooks';
  if (path === '/healthz' || path === '/readyz') return 'health';
  return path === '/metrics' ? 'metrics' : 'none';
}

interface Hearing extends Said {
  /** What an agent demands in place of our own words. */
  answer?: string;
}

/** An event of a standard says itself whose it is. */
const nobody: Said['header'] = {};

function eventsIn({ headers }: http.IncomingMessage): Hearing | Answer {
  const type = headers['content-type'];
  const form = formOf(type);
  if (form === undefined) return refusals.type;
  const said = { form, header: nobody, isAgentHooks: /^application\/vnd\.agent-hooks\./i.test(type ?? '') };
  const found = attributesOf(headers);
  if (found === undefined) return said;
  return 'fault' in found ? faulty(found.fault) : { ...said, attributes: found.attributes };
}

/** An agent's own hook; `?event=` names what happened where the payload does not. */
function hookIn({ headers }: http.IncomingMessage, path: string, query: string): Hearing | Answer {
  const agent = agentNamed(path.slice('/hooks/'.length));
  if (agent === undefined) return refusals.path;
  if (formOf(headers['content-type']) !== 'any') return refusals.type;
  const event = new URLSearchParams(query).get('event') ?? '';
  if (!/^[0-9A-Za-z._:/-]{0,64}$/.test(event))
    return faulty({ rule: 'event/name', line: 1, column: 1, why: 'event in the address is no name of an event' });
  const header: Said['header'] = event === '' ? { tool: agent.id } : { tool: agent.id, event };
  return { form: 'hook', header, answer: agent.reply.stdout };
}

const json = { 'content-type': 'application/json' };
const plain = { 'content-type': 'text/plain; charset=utf-8' };
const prometheus = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };

const refusal = (status: number, rule: string, why: string, headers: http.OutgoingHttpHeaders = {}): Answer => ({
  status,
  body: JSON.stringify({ accepted: 0, rule, why }),
  headers: { ...json, ...headers },
});
const tooMuch = (rule: string, why: string, waitSeconds: number): Answer =>
  refusal(429, `limit/${rule}`, why, { 'retry-after': String(waitSeconds) });

const refusals = {
  browser: refusal(403, 'door/browser', 'browsers are not answered'),
  host: refusal(421, 'door/host', 'the Host header names another server'),
  token: refusal(401, 'door/token', 'Authorization: Bearer with the token is needed', { 'www-authenticate': 'Bearer' }),
  protocol: refusal(400, 'door/protocol', 'only HTTP/1.0 and HTTP/1.1 are answered'),
  path: refusal(404, 'path', 'there are /v1/events, /hooks/<agent>, /metrics, /healthz and /readyz'),
  stopping: refusal(503, 'stopping', 'this server is going away', { 'retry-after': '2', connection: 'close' }),
  encoding: refusal(415, 'type/encoding', 'bodies are read as they are', { 'accept-encoding': 'identity' }),
  type: refusal(415, 'type', 'application/json in UTF-8, or a type that docs/serve.md lists, is needed'),
};
const mostBytesOf = (route: Route): number => (route === 'hooks' ? MOST_BODY_BYTES.hooks : MOST_BODY_BYTES.events);
const tooLarge = (route: Route): Answer =>
  refusal(413, 'limit/body', `a body has at most ${mostBytesOf(route)} bytes here`);
const tooMuchHeld = tooMuch('held', 'too many bodies are on their way', 1);

const faulty = (fault: Fault): Answer => ({
  status: 400,
  body: resultOf([fault]),
});

/** What nearly all are answered. */
const allTaken = JSON.stringify({ accepted: 1, rejected: 0 });
const allTakenHeaders = { ...json, 'content-length': allTaken.length };

function resultOf(verdicts: Intake['verdicts']): string {
  const accepted = verdicts.filter(verdict => verdict === undefined).length;
  if (accepted === verdicts.length) return accepted === 1 ? allTaken : JSON.stringify({ accepted, rejected: 0 });
  const items = verdicts.map(verdict =>
    verdict === undefined ? { status: 'accepted' } : { status: 'rejected', ...verdict },
  );
  return JSON.stringify({ accepted, rejected: verdicts.length - accepted, items });
}

function notKept(error: unknown): Answer {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return refusal(503, 'disk', `it could not be written (${code})`, { 'retry-after': '5' });
}

/** Answers; what is left of a refused request is not read for long. */
function send(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  { status, body = '', headers }: Answer,
): void {
  const isRead = request.complete || request.method === 'GET' || request.method === 'HEAD';
  if (body === allTaken) {
    response.writeHead(status, allTakenHeaders).end(body);
    return;
  }
  response.writeHead(status, {
    ...(headers ?? (body === '' ? {} : json)),
    'content-length': Buffer.byteLength(body),
    ...(isRead ? {} : { connection: 'close' }),
  });
  if (isRead) {
    response.end(body);
    return;
  }
  // All that was announced goes out now; the end comes when the sender has stopped, or has had its time.
  response.write(body);
  const end = (): void => {
    clearTimeout(late);
    response.end();
    request.socket.destroySoon();
  };
  const late = setTimeout(end, FAREWELL_MS);
  request.once('end', end);
  request.once('close', end);
  request.resume();
}

interface Room {
  /** Why there is none for more. */
  why(): string | undefined;
  /** Why there would be none at all. */
  unusable(): string | undefined;
  waiting(): number;
  /** Something was kept. */
  note(): void;
  look(): void;
}

/** How much the inbox and the disk hold, looked at now and then. */
function roomIn(stateFolder: string): Room {
  const inbox = `${stateFolder}/inbox`;
  let waiting = 0;
  let freeBytes = Number.POSITIVE_INFINITY;
  let isNew = true;
  let nextMs = 0;
  let isCounting = false;
  const count = async (): Promise<void> => {
    const startMs = performance.now();
    const { bavail, bsize } = statfsSync(stateFolder);
    freeBytes = bavail * bsize;
    let found = 0;
    for await (const _ of await opendir(inbox, { bufferSize: 1_024 })) {
      found += 1;
      if (found >= MOST_WAITING) break;
    }
    waiting = found;
    // A long list costs its time: not more than a twentieth goes there.
    nextMs = performance.now() + 20 * (performance.now() - startMs);
  };
  return {
    why() {
      if (waiting >= MOST_WAITING) return `${MOST_WAITING} hooks wait for delivery`;
      return freeBytes < LEAST_FREE_BYTES ? 'the disk is nearly full' : undefined;
    },
    unusable() {
      try {
        accessSync(inbox, constants.W_OK | constants.X_OK);
        return undefined;
      } catch (error) {
        // Said by its name: this is what a probe shows.
        return error instanceof Error && 'code' in error ? `inbox ${error.code}` : 'inbox';
      }
    },
    waiting: () => waiting,
    note() {
      isNew = true;
    },
    look() {
      if ((!isNew && waiting === 0) || isCounting || performance.now() < nextMs) return;
      isNew = false;
      isCounting = true;
      // A folder that is gone holds nothing; the next fragment makes it.
      count()
        .catch(() => {
          waiting = 0;
        })
        .finally(() => {
          isCounting = false;
        });
    },
  };
}
