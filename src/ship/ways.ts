/**
 * The ways of requests to servers: through a proxy or not, with which certificates, and over which kept connections.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure, createSecureContext, rootCertificates } from 'node:tls';
import type { Target } from '../config/destinations.ts';
import { noProxies, type Proxies, proxyFor } from '../config/proxies.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import { absoluteForm, openTunnel, ProxyFailure, TunnelAgent } from './proxy.ts';

export interface Way {
  url: URL;
  agent: http.Agent;
  proxy: URL | undefined;
}

export interface Ways {
  /** Throws a NoWay. */
  to(url: URL, of: Pick<Target, 'tls' | 'timeoutMs'>): Way;
  /**
   * Opens a connection for HTTP/2. Through a proxy it is always a tunnel, because only HTTP/1.1 has an absolute form.
   * Rejects with a NoWay, a ProxyFailure, or an error of the connection.
   */
  open(url: URL, of: Pick<Target, 'tls' | 'timeoutMs'>): Promise<Opened>;
  /** Closes idle connections. */
  close(): void;
}

/** A connection that belongs to its caller. */
export interface Opened {
  socket: Socket;
  proxy: URL | undefined;
}

/** A setting prevents the request. The message names the setting or the file. */
export class NoWay extends Error {}

/** `findProxies` is called before the first request, and once. */
export function createWays(findProxies: () => Proxies = () => noProxies): Ways {
  const agents = new Map<string, http.Agent>();
  let known: Proxies | undefined;
  const route = (url: URL): { proxy: URL | undefined; proxies: Proxies } => {
    known ??= findProxies();
    const found = proxyFor(url, known);
    if (found !== undefined && 'why' in found) throw new NoWay(`proxy of ${found.from}: ${found.why}`);
    return { proxy: found?.url, proxies: known };
  };
  return {
    to(url, of) {
      const { proxy, proxies } = route(url);
      const { ca, cert, key } = of.tls;
      const name = [url.protocol, ca, cert, key, proxy?.href].join('\0');
      const agent = agents.get(name) ?? agentFor(url, of, proxy, proxies.ca);
      agents.set(name, agent);
      return { url, agent, proxy };
    },
    async open(url, of) {
      const { proxy, proxies } = route(url);
      try {
        return { socket: await openSocket(url, of, proxy, proxies.ca), proxy };
      } catch (error) {
        if (proxy === undefined || error instanceof NoWay || error instanceof ProxyFailure) throw error;
        throw new NoWay(behind(proxy, codeOf(error)));
      }
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
}

export function requestOn(
  { url, agent, proxy }: Way,
  method: 'GET' | 'POST',
  headers: http.OutgoingHttpHeaders,
): http.ClientRequest {
  if (proxy === undefined || url.protocol === 'https:') {
    return (url.protocol === 'https:' ? https : http).request(url, { method, agent, headers });
  }
  const form = absoluteForm(url, proxy);
  const all = { ...headers, ...form.headers };
  return (proxy.protocol === 'https:' ? https : http).request({ ...form, method, agent, headers: all });
}

/** Returns the failure if the answer comes from the proxy, which expects a user and a password. */
export function refusalOf(status: number, { url, proxy }: Way): string | undefined {
  const isAnswerOfProxy = status === 407 && proxy !== undefined && url.protocol === 'http:';
  return isAnswerOfProxy ? new ProxyFailure(proxy, '407').message : undefined;
}

/** Names the proxy of a request that failed. */
export function failureOf(error: unknown, { url, proxy }: Way): string {
  if (error instanceof ProxyFailure) return error.message;
  const code = codeOf(error);
  if (proxy === undefined) return code;
  // In the absolute form, the connection that failed is the one to the proxy. A tunnel also leads to the server.
  return url.protocol === 'http:' ? new ProxyFailure(proxy, code).message : behind(proxy, code);
}

/** Names the proxy of a tunnel in which something failed. */
export const behind = (proxy: URL, failure: string): string => `${failure} behind ${new ProxyFailure(proxy, '').place}`;

export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

const kept = { keepAlive: true, maxSockets: 4, maxFreeSockets: 2 };

function agentFor(
  url: URL,
  { tls, timeoutMs }: Pick<Target, 'tls' | 'timeoutMs'>,
  proxy: URL | undefined,
  proxyCa: string | undefined,
): http.Agent {
  const isSecure = url.protocol === 'https:';
  if (proxy === undefined) return isSecure ? new https.Agent({ ...kept, ...secured(tls) }) : new http.Agent(kept);
  const toProxy = secured({}, proxyCa);
  if (!isSecure) return proxy.protocol === 'https:' ? new https.Agent({ ...kept, ...toProxy }) : new http.Agent(kept);
  return new TunnelAgent(kept, secured(tls, proxyCa), { proxy, tls: toProxy, timeoutMs });
}

async function openSocket(
  url: URL,
  { tls, timeoutMs }: Pick<Target, 'tls' | 'timeoutMs'>,
  proxy: URL | undefined,
  proxyCa: string | undefined,
): Promise<Socket> {
  const isSecure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (isSecure ? 443 : 80);
  const forServer = isSecure ? secured(tls, proxy === undefined ? undefined : proxyCa) : undefined;
  const untilMs = performance.now() + timeoutMs;
  const through = { tls: secured({}, proxyCa), timeoutMs, isServerFirst: !isSecure };
  const tunnel = proxy === undefined ? undefined : await openTunnel(host, port, { proxy, ...through });
  if (forServer === undefined) return tunnel ?? connected(connectPlain({ host, port }), 'connect', timeoutMs);
  const named = { servername: isIP(host) === 0 ? host : '', ALPNProtocols: ['h2'] };
  const to = tunnel === undefined ? { host, port } : { socket: tunnel };
  const leftMs = Math.max(1, untilMs - performance.now());
  return connected(connectSecure({ ...forServer, ...named, ...to }), 'secureConnect', leftMs);
}

function connected(socket: Socket, event: 'connect' | 'secureConnect', timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new NoWay('timeout')), timeoutMs);
    // The server ends the connection in place of a TLS handshake.
    const closed = (): void => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
    socket.once('error', fail);
    socket.once('close', closed);
    socket.once(event, () => {
      clearTimeout(timer);
      socket.off('error', fail);
      socket.off('close', closed);
      resolve(socket);
    });
  });
}

const LARGEST_PEM_BYTES = 4 * 1024 * 1024;

/** `proxyCa`: a file of authorities that count in addition to the usual ones, or to those of the server's own file. */
export function secured(tls: Target['tls'], proxyCa?: string): https.AgentOptions {
  // A variable of a hook may contain any path. Reading must not block, for example on a FIFO.
  const read = (path: string | undefined): Buffer | undefined =>
    path === undefined ? undefined : fromFiles([path], () => readRegularFile(path, LARGEST_PEM_BYTES));
  const [ca, cert, key, added] = [read(tls.ca), read(tls.cert), read(tls.key), read(proxyCa)];
  // Each connection creates its own context. It is created here too, so that an unusable file is not mistaken for a
  // server that does not speak TLS.
  if (tls.ca !== undefined) fromFiles([tls.ca], () => createSecureContext({ ca }));
  if (proxyCa !== undefined) fromFiles([proxyCa], () => createSecureContext({ ca: added }));
  const own = [tls.cert, tls.key].filter(path => path !== undefined);
  if (own.length > 0) fromFiles(own, () => createSecureContext({ cert, key }));
  const usual = ca === undefined ? rootCertificates : [ca];
  // `rejectUnauthorized` is set explicitly; otherwise a variable of the agent that started this process
  // (NODE_TLS_REJECT_UNAUTHORIZED) would decide.
  return {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ca: added === undefined ? ca : [...usual, added],
    cert,
    key,
  };
}

function fromFiles<T>(paths: readonly string[], use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new NoWay(`TLS file ${paths.join(' or ')}: ${codeOf(error)}`);
  }
}
