/** An HTTP proxy for tests: tunnels (CONNECT) and the absolute form. It leads every name to one server. */
import { createServer, type IncomingMessage, request as requestOf, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface ProxyOptions {
  /** The port of the server on this machine. */
  to: number;
  /** `user:password` that it expects. */
  auth?: string;
  tls?: ServerOptions;
  /** The answer to CONNECT: a status, or none at all. */
  connect?: () => number | 'hang';
}

export interface HttpProxy {
  url: string;
  /** `CONNECT host:port` and `POST http://host:port/path`, as they arrived. */
  asked: string[];
  open(): number;
  close(): Promise<void>;
}

export async function startProxy({ to, auth, tls, connect: answer }: ProxyOptions): Promise<HttpProxy> {
  const asked: string[] = [];
  const sockets = new Set<Duplex>();
  const keep = (socket: Duplex): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  };
  const expected = auth === undefined ? undefined : `Basic ${Buffer.from(auth).toString('base64')}`;
  const isWelcome = ({ headers }: IncomingMessage): boolean =>
    expected === undefined || headers['proxy-authorization'] === expected;

  const forward = (request: IncomingMessage, response: ServerResponse): void => {
    asked.push(`${request.method} ${request.url}`);
    if (!isWelcome(request)) {
      response.writeHead(407, { 'proxy-authenticate': 'Basic' }).end();
      return;
    }
    const { pathname } = new URL(request.url ?? '');
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const onward = requestOf({ port: to, host: '127.0.0.1', path: pathname, method: request.method, headers });
    onward.on('response', found => {
      response.writeHead(found.statusCode ?? 0, found.headers);
      found.pipe(response);
    });
    onward.on('error', () => response.writeHead(502).end());
    request.pipe(onward);
  };
  const server = tls === undefined ? createServer(forward) : createTlsServer(tls, forward);
  server.on(tls === undefined ? 'connection' : 'secureConnection', keep);
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    asked.push(`CONNECT ${request.url}`);
    const found = isWelcome(request) ? (answer?.() ?? 200) : 407;
    if (found === 'hang') {
      // The server of node:http leaves the end of a connection to its listeners.
      socket.once('end', () => socket.end()).resume();
      return;
    }
    if (found !== 200) {
      socket.end(`HTTP/1.1 ${found} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const onward: Socket = connect(to, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    keep(onward);
    onward.once('error', () => socket.destroy());
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    asked,
    open: () => sockets.size,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise(resolve => server.close(() => resolve()));
    },
  };
}
