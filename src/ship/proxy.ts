/**
 * Sends requests through an HTTP proxy: in the absolute form to a server without TLS, and through a tunnel (CONNECT) to
 * a server with TLS.
 *
 * An answer of the proxy to CONNECT is never taken for an answer of the server. A 407 of the proxy that looks like a 407
 * of the server would make the shipper divide and give up bodies that the server never saw. A tunnel that the proxy
 * does not open is closed at the time limit of the request. docs/decisions/0011 says why no package does this.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect } from 'node:tls';
import { shownProxy } from '../config/proxies.ts';
import { VERSION } from '../lib/version.ts';

/** A failure of the proxy or on the way to it. The text begins with `proxy`. */
export class ProxyFailure extends Error {
  /** Names the proxy without its credentials. */
  readonly place: string;

  constructor(proxy: URL, why: string) {
    const place = `proxy ${shownProxy(proxy)}`;
    super(`${place}: ${why}`);
    this.place = place;
  }
}

export interface ProxyOptions {
  proxy: URL;
  /** For the connection to a proxy with TLS. */
  tls: ConnectionOptions;
  timeoutMs: number;
  /** The server may speak first, as in HTTP/2 without TLS. Otherwise such bytes are not from the server. */
  isServerFirst?: boolean;
}

/** The options of a request in the absolute form. The proxy reads the address of the server from the path. */
export function absoluteForm(url: URL, proxy: URL): https.RequestOptions {
  return {
    protocol: proxy.protocol,
    ...placeOf(proxy),
    path: url.href,
    headers: { host: url.host, ...authorization(proxy) },
  };
}

/** An agent whose connections go through tunnels of the proxy. */
export class TunnelAgent extends https.Agent {
  private readonly server: ConnectionOptions;
  private readonly through: ProxyOptions;

  /** `server` has the certificates for the connection to the server. */
  constructor(options: https.AgentOptions, server: ConnectionOptions, through: ProxyOptions) {
    super(options);
    this.server = server;
    this.through = through;
  }

  override createConnection(
    options: https.RequestOptions,
    callback: (error: Error | null, stream: Duplex) => void = () => undefined,
  ): undefined {
    const { host, port, servername } = options;
    openTunnel(host ?? '', Number(port ?? 443), this.through).then(
      socket => callback(null, connect({ ...this.server, host: host ?? undefined, servername, socket })),
      // Node reads no connection beside an error.
      (error: Error) => callback(error, undefined as unknown as Duplex),
    );
    return undefined;
  }
}

/** Resolves to a connection to the server. Rejects with a ProxyFailure. */
export function openTunnel(
  host: string,
  port: number,
  { proxy, tls, timeoutMs, isServerFirst = false }: ProxyOptions,
): Promise<Socket> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(new ProxyFailure(proxy, why));
    const request = (proxy.protocol === 'https:' ? https : http).request({
      ...tls,
      method: 'CONNECT',
      ...placeOf(proxy),
      path: authority,
      headers: { host: authority, 'user-agent': `otel-hooks/${VERSION}`, ...authorization(proxy) },
      agent: false,
    });
    const timer = setTimeout(() => {
      fail('timeout');
      request.destroy();
    }, timeoutMs);
    request.on('connect', (response, socket, head) => {
      clearTimeout(timer);
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300 && (head.length === 0 || isServerFirst)) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      fail(head.length > 0 && status < 300 ? 'sends data before the server' : String(status));
      socket.destroy();
    });
    request.on('error', error => {
      clearTimeout(timer);
      fail('code' in error && typeof error.code === 'string' ? error.code : error.message);
    });
    request.end();
  });
}

function authorization({ username, password }: URL): http.OutgoingHttpHeaders {
  if (username === '' && password === '') return {};
  const text = `${plain(username)}:${plain(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(text, 'utf8').toString('base64')}` };
}

/** A percent sign that encodes no character stays. */
function plain(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, encoded => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}

/** Node would take the name for TLS from the header `Host`, which names the server. */
function placeOf({ hostname, port, protocol }: URL): { hostname: string; port: number; servername: string } {
  const host = hostname.replace(/^\[|\]$/g, '');
  return {
    hostname: host,
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    servername: isIP(host) === 0 ? host : '',
  };
}
