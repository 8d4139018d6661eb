/** Sends one GET request, for server information and for queries. Follows no redirect and has a time limit. */
import * as http from 'node:http';
import * as https from 'node:https';
import { readRegularFile } from '../lib/regular-file.ts';

export type Asked = { status: number; date: string | undefined; body: string } | { failure: string };

const MOST_BYTES = 4 * 1024 * 1024;
const LARGEST_PEM_BYTES = 4 * 1024 * 1024;

export function ask(address: URL, timeoutMs: number, ca?: string): Promise<Asked> {
  const url = new URL(address);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const auth = username === '' ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return new Promise(settle => {
    const isSecure = url.protocol === 'https:';
    let request: http.ClientRequest | undefined;
    const timer = setTimeout(() => {
      settle({ failure: 'timeout' });
      request?.destroy();
    }, timeoutMs);
    const done = (asked: Asked): void => {
      clearTimeout(timer);
      settle(asked);
    };
    try {
      const options = { agent: false, auth, headers: { accept: 'application/json' } };
      const authority = ca === undefined ? undefined : readRegularFile(ca, LARGEST_PEM_BYTES);
      const secure = { rejectUnauthorized: true, ca: authority };
      request = isSecure ? https.request(url, { ...options, ...secure }) : http.request(url, options);
    } catch (error) {
      done({ failure: codeOf(error) });
      return;
    }
    request.on('error', error => done({ failure: codeOf(error) }));
    request.on('response', response => {
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes <= MOST_BYTES) parts.push(part);
        else request?.destroy();
      });
      response.on('error', error => done({ failure: codeOf(error) }));
      response.on('end', () =>
        done({ status: response.statusCode ?? 0, date: response.headers.date, body: Buffer.concat(parts).toString() }),
      );
    });
    request.end();
  });
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
