/**
 * The HTTP server that takes events. It checks a request in this order: its head (door.ts), the token, the type and the
 * declared size of the body, the room for it, and last the body (intake.ts). No byte of a body is read before the
 * sender has shown the token.
 *
 * Only a complete fragment in the inbox is answered with 200. A sender's bytes reach the disk as the payload of a
 * fragment; names in its header come from our own tables, and the server names the file.
 *
 * Everything is bounded: heads by Node's parser, bodies one by one (answers.ts) and together (bodies.ts), time by
 * SLOWEST_MS, connections by MOST_CONNECTIONS (connections.ts), requests by MOST_REQUESTS, and what waits for delivery
 * (room.ts). Beyond these limits a sender gets 429 with the time after which it may try again.
 */
import { type KeyObject, randomBytes, X509Certificate } from 'node:crypto';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { agentNamed } from '../agents/index.ts';
import { travellingFrom } from '../hook/environment.ts';
import { SIGNATURE, verifyDetached } from '../lib/jws.ts';
import {
  type Answer,
  faulty,
  LINGER_MS,
  mostBytesOf,
  notWritten,
  plainText,
  prometheusText,
  refusal,
  refusals,
  resultOf,
  send,
  tooLarge,
  tooMuch,
} from './answers.ts';
import { Bodies, packingOf } from './bodies.ts';
import { Connections, MOST_CONNECTIONS } from './connections.ts';
import { clientOf, doorFor, isLoopback, type Names, type Rates, ratesOf } from './door.ts';
import { type Inbox, openInbox } from './fragment-writer.ts';
import { attributesOf, formOf, intakeOf, type RequestFacts } from './intake.ts';
import { createMetrics, type Metrics, type Route } from './metrics.ts';
import { Room, type RoomLimits } from './room.ts';
import type { Token } from './token.ts';

export interface EventServerOptions {
  host: string;
  port: number;
  tls?: Tls | undefined;
  /** The keys of senders. With them, a body without a signature by one of these keys is refused. */
  signers?: readonly KeyObject[] | undefined;
  /** Names that a Host header may carry besides the server's own names. */
  allowedHosts?: readonly string[];
  stateFolder: string;
  token: Token;
  /**
   * The variables that a fragment of a hook carries. They are added to these fragments as well, because they decide
   * where sessions are sent.
   */
  env: Readonly<Record<string, string | undefined>>;
  fsync: boolean;
  /** The limit of one client; 0 for no limit. */
  requestsPerSecond: number;
  isDelivering(): boolean;
  /** The time in which a request must arrive. */
  slowestMs?: number;
  /** What may wait for delivery. The defaults apply without it. */
  room?: Partial<RoomLimits>;
  /** The number of requests that may be without an answer. */
  mostRequests?: number;
}

export interface Tls {
  cert: Buffer;
  key: Buffer;
  /** The authority that must have signed the certificates of clients. Without it, clients need no certificate. */
  clientCa: Buffer | undefined;
}

export interface EventServer {
  url: string;
  /** Refuses new requests until `close`. Resolves when the requests under way are answered, or after `withinMs`. */
  drain(withinMs: number): Promise<void>;
  close(): Promise<void>;
}

/** A connection may send requests without waiting for answers. */
const MOST_REQUESTS = 2 * MOST_CONNECTIONS;
const SLOWEST_MS = 6_000;
const REFRESH_MS = 1_000;

const limitsOf = (slowestMs: number): http.ServerOptions => ({
  maxHeaderSize: 16 * 1024,
  headersTimeout: slowestMs,
  requestTimeout: slowestMs,
  connectionsCheckingInterval: Math.min(slowestMs, 500),
  keepAliveTimeout: 60_000,
  insecureHTTPParser: false,
});

export async function openEventServer(options: EventServerOptions): Promise<EventServer> {
  const { host, token, tls } = options;
  const events = new EventRequests(options);
  const server = httpServer(options);
  // Node's own limit is higher, because a connection that was closed counts until its end is noticed.
  server.maxConnections = 2 * MOST_CONNECTIONS;
  const take = (request: http.IncomingMessage, response: http.ServerResponse): void => events.take(request, response);
  server.on('request', take);
  server.on('checkContinue', take);
  server.on('connection', (socket: Socket) => events.connections.opened(socket, performance.now()));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => events.refuseUnread(error, socket));
  const refreshing = setInterval(() => {
    token.refresh();
    events.room.refresh();
  }, REFRESH_MS);
  refreshing.unref();
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
    drain: withinMs => events.drain(withinMs),
    async close() {
      clearInterval(refreshing);
      const closed = new Promise(resolve => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function httpServer({ tls, slowestMs = SLOWEST_MS }: EventServerOptions): http.Server | https.Server {
  const limits = limitsOf(slowestMs);
  if (tls === undefined) return http.createServer(limits);
  return https.createServer({
    ...limits,
    cert: tls.cert,
    key: tls.key,
    minVersion: 'TLSv1.2',
    handshakeTimeout: slowestMs,
    ...(tls.clientCa ? { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true } : {}),
  });
}

/** A request whose head was accepted. */
interface AcceptedRequest extends RequestFacts {
  /** The answer that an agent requires, instead of ours. */
  answer?: string;
}

type Reply = (answer: Answer) => void;

class EventRequests {
  readonly connections = new Connections();
  readonly room: Room;
  readonly #options: EventServerOptions;
  readonly #breachOf: ReturnType<typeof doorFor>;
  readonly #rates: Rates;
  readonly #inbox: Inbox;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #metrics: Metrics = createMetrics();
  readonly #bodies = new Bodies();
  #underWay = 0;
  #isDraining = false;
  #drained: (() => void) | undefined;

  constructor(options: EventServerOptions) {
    const { host, tls, stateFolder, fsync, requestsPerSecond, allowedHosts = [] } = options;
    const names: Names = {
      isLoopback: isLoopback(host),
      certificate: tls && new X509Certificate(tls.cert),
      allowed: allowedHosts.map(name => name.toLowerCase()),
    };
    this.#options = options;
    this.#breachOf = doorFor(names);
    this.#rates = ratesOf(requestsPerSecond || Number.POSITIVE_INFINITY);
    this.#variables = travellingFrom(options.env);
    this.room = new Room(stateFolder, options.room);
    this.#inbox = openInbox({ stateFolder, nonce: randomBytes(16).toString('hex'), fsync });
  }

  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#underWay === 0) return;
    await new Promise<void>(resolve => {
      this.#drained = resolve;
      setTimeout(resolve, withinMs).unref();
    });
  }

  /** Answers a request that Node could not parse. */
  refuseUnread({ code }: NodeJS.ErrnoException, socket: Socket): void {
    const status = code === 'HPE_HEADER_OVERFLOW' ? 431 : code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
    this.#metrics.answered('none', status, 0);
    // Earlier requests on this connection get their answers first. Otherwise a sender would assign this answer to one
    // of them.
    this.connections.afterAnswers(socket, () => {
      socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    });
  }

  take(request: http.IncomingMessage, response: http.ServerResponse): void {
    if (this.connections.isClosing(request.socket)) return;
    const startMs = performance.now();
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const route = routeOf(path);
    let releaseBody: (() => void) | undefined;
    this.#underWay += 1;
    this.connections.requestBegan(request);
    response.once('close', () => {
      this.connections.requestEnded(request);
      // A sender that closes the connection in the middle of a body sent nothing.
      releaseBody?.();
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#drained?.();
    });
    const reply: Reply = answer => {
      this.#metrics.answered(route, answer.status, performance.now() - startMs);
      if (send(request, response, answer)) this.connections.closes(request.socket);
    };
    const accepted = this.#answerOrAccept(request, route, path, query);
    if ('status' in accepted) {
      reply(accepted);
      return;
    }
    // The sender waits for this answer to `Expect: 100-continue`.
    if (request.headers.expect !== undefined) response.writeContinue();
    releaseBody = this.#bodies.read(request, mostBytesOf(route), read => {
      if ('body' in read) {
        const unsigned = this.#refusalOfSignature(read.body, request);
        if (unsigned !== undefined) reply(unsigned);
        else this.#receive(read.body, accepted, reply);
      } else reply(answersToBody[read.refused](route));
    });
  }

  /** Returns the answer to a request whose body is not read, or the way to read the body. */
  #answerOrAccept(request: http.IncomingMessage, route: Route, path: string, query: string): Answer | AcceptedRequest {
    const refused = this.#refusalOfHead(request, route) ?? this.#refusalOfLoad(request, route);
    if (refused !== undefined) return refused;
    if (route === 'health') return this.#healthOf(path);
    if (route === 'metrics') return { status: 200, body: this.#metricsNow(), headers: prometheusText };
    return route === 'hooks' ? acceptHook(request, path, query) : acceptEvents(request);
  }

  #refusalOfHead(request: http.IncomingMessage, route: Route): Answer | undefined {
    const { headers, socket, method = '' } = request;
    // A request line without a version: Node reads it as HTTP/0.9, and a proxy in front of it may read it differently.
    if (request.httpVersionMajor !== 1) return refusals.protocol;
    if (comesTwice('host', request)) return refusals.host;
    const breach = this.#breachOf(headers);
    const isOpen = route === 'health';
    // Probes of a proxy or an orchestrator use other host names, and the answer about health discloses nothing to a
    // page.
    if (breach !== undefined && !(isOpen && breach === 'host')) return refusals[breach];
    // An exporter that is configured with this address by mistake has no token, and writes this sentence to its log.
    if (route === 'otlp') return refusals.otlp;
    if (!isOpen) {
      const isShown = !comesTwice('authorization', request) && this.#options.token.isShownIn(headers.authorization);
      if (!isShown) return refusals.token;
      this.connections.tokenShown(socket);
    }
    if (route === 'none') return refusals.path;
    const allowed = isOpen || route === 'metrics' ? ['GET', 'HEAD'] : ['POST'];
    return allowed.includes(method)
      ? undefined
      : refusal(405, 'method', `only ${allowed[0]} is answered here`, { allow: allowed.join(', ') });
  }

  /**
   * Returns the reason for refusing a POST with a valid head: the server is stopping, busy or full, or the declared
   * size of the body is too large.
   */
  #refusalOfLoad({ headers, method, socket }: http.IncomingMessage, route: Route): Answer | undefined {
    if (method !== 'POST') return undefined;
    if (this.#isDraining) return refusals.stopping;
    const waitSeconds = this.#rates.waitFor(clientOf(socket.remoteAddress), performance.now());
    if (waitSeconds !== undefined)
      return tooMuch('rate', `more than ${this.#options.requestsPerSecond} requests in a second`, waitSeconds);
    const full = this.room.whyFull();
    if (full !== undefined) return tooMuch('room', full, 5);
    const declaredBytes = Number(headers['content-length'] ?? 0);
    if (declaredBytes > mostBytesOf(route)) return tooLarge(route);
    if (this.#underWay > (this.#options.mostRequests ?? MOST_REQUESTS)) return refusals.requests;
    if (!this.#bodies.hasRoomFor(declaredBytes)) return refusals.bodies;
    return packingOf(headers['content-encoding']) === undefined ? refusals.encoding : undefined;
  }

  /** The signature is over the unpacked body, in one header. */
  #refusalOfSignature(body: Buffer, request: http.IncomingMessage): Answer | undefined {
    const { signers } = this.#options;
    if (signers === undefined) return undefined;
    const signature = request.headers[SIGNATURE];
    if (typeof signature !== 'string' || comesTwice(SIGNATURE, request)) return refusals.unsigned;
    const verified = verifyDetached(body, signature, signers);
    return verified.ok ? undefined : refusal(401, 'signature', `the signature is not valid: ${verified.why}`);
  }

  #receive(body: Buffer, request: AcceptedRequest, reply: Reply): void {
    const { payload, isLine = false, verdicts } = intakeOf(body, request);
    const accepted = verdicts.filter(verdict => verdict === undefined).length;
    const isWhole = accepted === verdicts.length;
    const done = (status: number, text: string): void => {
      this.#metrics.events(accepted, verdicts.length - accepted);
      reply({ status, body: text });
    };
    if (payload === undefined) {
      done(isWhole ? 200 : 400, resultOf(verdicts));
      return;
    }
    this.#inbox.keep({
      header: request.header === noHeader ? this.#variables : { ...request.header, ...this.#variables },
      payload,
      isLine,
      settled: error => {
        if (error !== undefined) {
          reply(notWritten(error));
          return;
        }
        this.#metrics.kept(payload.length);
        this.room.noteNew();
        if (request.answer === undefined) done(isWhole ? 200 : 207, resultOf(verdicts));
        else done(200, request.answer);
      },
    });
  }

  #healthOf(path: string): Answer {
    const why = path === '/healthz' ? undefined : this.#whyNotReady();
    return { status: why === undefined ? 200 : 503, body: `${why ?? 'ok'}\n`, headers: plainText };
  }

  #whyNotReady(): string | undefined {
    return this.#isDraining ? 'stopping' : (this.#options.token.problem()?.code ?? this.room.whyUnusable());
  }

  #metricsNow(): string {
    return this.#metrics.text({
      connections: this.connections.count,
      heldBytes: this.#bodies.heldBytes,
      waiting: this.room.waiting,
      waitingBytes: this.room.waitingBytes,
      delivering: this.#options.isDelivering(),
    });
  }
}

/** Node keeps the first of two headers; a proxy in front of it may have used the other one. */
function comesTwice(name: string, { rawHeaders }: http.IncomingMessage): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === name) count += 1;
  return count > 1;
}

function routeOf(path: string): Route {
  if (path === '/v1/events') return 'events';
  if (path.startsWith('/hooks/')) return 'hooks';
  if (path === '/healthz' || path === '/readyz') return 'health';
  if (/^\/v1\/(traces|logs|metrics)$/.test(path)) return 'otlp';
  return path === '/metrics' ? 'metrics' : 'none';
}

const answersToBody = {
  'body-too-large': tooLarge,
  'too-many-bodies': () => refusals.bodies,
  'broken-gzip': () => refusals.gzip,
} as const satisfies Record<string, (route: Route) => Answer>;

/** An event of a standard names its agent in its own fields. */
const noHeader: RequestFacts['header'] = {};

function acceptEvents({ headers }: http.IncomingMessage): AcceptedRequest | Answer {
  const type = headers['content-type'];
  const form = formOf(type);
  if (form === undefined) return refusals.type;
  const facts = { form, header: noHeader, isAgentHooks: /^application\/vnd\.agent-hooks\./i.test(type ?? '') };
  const found = attributesOf(headers);
  if (found === undefined) return facts;
  return 'fault' in found ? faulty(found.fault) : { ...facts, attributes: found.attributes };
}

/** A hook that an agent posts. `?event=` names the event if the payload does not. */
function acceptHook({ headers }: http.IncomingMessage, path: string, query: string): AcceptedRequest | Answer {
  const agent = agentNamed(path.slice('/hooks/'.length));
  if (agent === undefined) return refusals.path;
  if (formOf(headers['content-type']) !== 'any') return refusals.type;
  const event = new URLSearchParams(query).get('event') ?? '';
  if (!/^[0-9A-Za-z._:/-]{0,64}$/.test(event))
    return faulty({ rule: 'event/name', line: 1, column: 1, why: 'event in the address is no name of an event' });
  const header: RequestFacts['header'] = event === '' ? { tool: agent.id } : { tool: agent.id, event };
  return { form: 'hook', header, answer: agent.reply.stdout };
}
