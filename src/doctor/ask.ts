/** Sends one GET request, for server information and for queries. Follows no redirect and has a time limit. */
import type { ClientRequest } from 'node:http';
import type { Proxies } from '../config/proxies.ts';
import { createWays, failureOf, NoWay, refusalOf, requestOn, type Way } from '../ship/ways.ts';

export type Asked = { status: number; date: string | undefined; body: string } | { failure: string };

const MOST_BYTES = 4 * 1024 * 1024;

export interface AskOptions {
  timeoutMs: number;
  /** File with the authorities of the server. */
  ca?: string | undefined;
  proxies?: (() => Proxies) | undefined;
}

export async function ask(address: URL, { timeoutMs, ca, proxies }: AskOptions): Promise<Asked> {
  const ways = createWays(proxies);
  const url = new URL(address);
  url.username = '';
  url.password = '';
  try {
    return await answerOn(ways.to(url, { tls: { ca }, timeoutMs }), authorizationOf(address), timeoutMs);
  } catch (error) {
    if (!(error instanceof NoWay)) throw error;
    return { failure: error.message };
  } finally {
    ways.close();
  }
}

function authorizationOf({ username, password }: URL): { authorization?: string } {
  if (username === '') return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(text, 'utf8').toString('base64')}` };
}

function answerOn(way: Way, headers: { authorization?: string }, timeoutMs: number): Promise<Asked> {
  return new Promise(settle => {
    let request: ClientRequest | undefined;
    const timer = setTimeout(() => {
      settle({ failure: 'timeout' });
      request?.destroy();
    }, timeoutMs);
    const done = (asked: Asked): void => {
      clearTimeout(timer);
      settle(asked);
    };
    try {
      request = requestOn(way, 'GET', { ...headers, accept: 'application/json' });
    } catch (error) {
      done({ failure: failureOf(error, way) });
      return;
    }
    request.on('error', error => done({ failure: failureOf(error, way) }));
    request.on('response', response => {
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes <= MOST_BYTES) parts.push(part);
        else request?.destroy();
      });
      response.on('error', error => done({ failure: failureOf(error, way) }));
      response.on('end', () => {
        const { statusCode: status = 0, headers: found } = response;
        const failure = refusalOf(status, way);
        done(failure === undefined ? { status, date: found.date, body: Buffer.concat(parts).toString() } : { failure });
      });
    });
    request.end();
  });
}
