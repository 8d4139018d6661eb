/**
 * Headers that change: the output of the user's command, or a token of OAuth 2 (client credentials).
 *
 * Only a process that sends calls this; a hook never does. The results stay in the memory of this process, for the time
 * that the configuration or the token server states. A failure is a failure of the connection, so the bodies wait. No
 * failure contains a part of a result, of the output of a command, or of a secret.
 */

import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { delimiter, isAbsolute } from 'node:path';
import type { Credentials } from '../config/credentials.ts';
import { badHeader } from '../config/headers.ts';
import { pathIn, withPath } from '../lib/path-variable.ts';
import { isFields } from '../lib/read.ts';
import { failureOf, NoWay, refusalOf, requestOn, type Way, type Ways } from './ways.ts';

export type Supplied = { headers: Readonly<Record<string, string>> } | { failure: string };

export interface CredentialSource {
  /** Never rejects. */
  headersOf(credentials: Credentials, timeoutMs: number): Promise<Supplied>;
  /** The server refused these headers. The next call gets new ones. */
  forget(credentials: Credentials): void;
}

interface Kept {
  supplied: Promise<Supplied>;
  /** Undefined while the result is not known yet. */
  untilMs: number | undefined;
}

/** A result, and how long it may be used. */
interface Fresh {
  headers: Readonly<Record<string, string>>;
  forMs: number;
}

/** The message completes a sentence about the source. */
class NoCredentials extends Error {}

export function createCredentials(ways: Ways, nowMs: () => number = () => performance.now()): CredentialSource {
  const known = new Map<string, Kept>();
  return {
    headersOf(credentials, timeoutMs) {
      const name = JSON.stringify(credentials);
      const found = known.get(name);
      if (found !== undefined && (found.untilMs === undefined || nowMs() < found.untilMs)) return found.supplied;
      const kept: Kept = {
        supplied: fetched(credentials, timeoutMs).then(
          ({ headers, forMs }) => {
            kept.untilMs = nowMs() + forMs;
            return { headers };
          },
          error => {
            if (known.get(name) === kept) known.delete(name);
            return { failure: `${placeOf(credentials)}: ${whyOf(error)}` };
          },
        ),
        untilMs: undefined,
      };
      known.set(name, kept);
      return kept.supplied;
    },
    forget(credentials) {
      known.delete(JSON.stringify(credentials));
    },
  };

  function fetched(credentials: Credentials, timeoutMs: number): Promise<Fresh> {
    return credentials.kind === 'command' ? commandHeaders(credentials) : token(credentials, ways, timeoutMs);
  }
}

const placeOf = (credentials: Credentials): string =>
  credentials.kind === 'command' ? 'headers_command' : `token server ${new URL(credentials.tokenUrl).origin}`;

const whyOf = (error: unknown): string =>
  error instanceof NoCredentials || error instanceof NoWay ? error.message : 'unknown error';

/** A header with a line break or a name of ours would change the request. */
function checked(headers: Record<string, string>, of: string): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    const why = badHeader(name, value, true);
    if (why !== undefined) throw new NoCredentials(`${of} a header that ${why}`);
  }
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

// ------------------------------------------------------------ a command

const COMMAND_LIMIT_MS = 30_000;
const LARGEST_OUTPUT_BYTES = 64 * 1024;

async function commandHeaders({ command, seconds }: Extract<Credentials, { kind: 'command' }>): Promise<Fresh> {
  const headers = parsedOutput(await outputOf(command));
  return { headers: checked(headers, 'it printed'), forMs: seconds * 1_000 };
}

/** Runs the command in the home folder, with its own process group, so that its children end with it. */
function outputOf(command: string | readonly string[]): Promise<string> {
  const isWindows = process.platform === 'win32';
  const [file = '', ...words] =
    typeof command !== 'string' ? command : isWindows ? [command] : ['/bin/sh', '-c', command];
  return new Promise((resolve, reject) => {
    const child = spawn(file, words, {
      cwd: homedir(),
      env: environment(),
      shell: isWindows && typeof command === 'string',
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: !isWindows,
      windowsHide: true,
    });
    const parts: Buffer[] = [];
    let sizeBytes = 0;
    const end = (why: string): void => {
      reject(new NoCredentials(why));
      endAll(child.pid, isWindows);
    };
    const timer = setTimeout(() => end(`it took longer than ${COMMAND_LIMIT_MS / 1_000} s`), COMMAND_LIMIT_MS);
    child.stdout.on('data', (part: Buffer) => {
      sizeBytes += part.length;
      parts.push(part);
      if (sizeBytes > LARGEST_OUTPUT_BYTES) end('it printed more than 64 KB');
    });
    child.on('error', error => {
      clearTimeout(timer);
      reject(new NoCredentials(`it could not be started (${'code' in error ? String(error.code) : error.name})`));
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(Buffer.concat(parts).toString('utf8'));
      else reject(new NoCredentials(signal === null ? `it exited with ${code}` : `it was ended by ${signal}`));
    });
  });
}

function endAll(pid: number | undefined, isWindows: boolean): void {
  if (pid === undefined) return;
  try {
    if (isWindows) spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true });
    else process.kill(-pid, 'SIGKILL');
  } catch {
    // The process group has ended already.
  }
}

/** Relative folders of PATH depend on the project in which a hook started this process. */
function environment(): NodeJS.ProcessEnv {
  const folders = (pathIn(process.env) ?? '').split(delimiter).filter(folder => isAbsolute(folder));
  return withPath(process.env, folders.join(delimiter));
}

/** One JSON object of texts, or lines `name: value`. */
function parsedOutput(text: string): Record<string, string> {
  const trimmed = text.trim();
  if (trimmed === '') throw new NoCredentials('it printed nothing');
  if (trimmed.startsWith('{')) return parsedJson(trimmed);
  const headers: Record<string, string> = {};
  for (const line of trimmed.split(/\r?\n/)) {
    if (line.trim() === '') continue;
    const [, name, value] = /^\s*([^\s:]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new NoCredentials('it printed a line without `name: value`');
    headers[name] = value;
  }
  return headers;
}

function parsedJson(text: string): Record<string, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new NoCredentials('it printed JSON that is not valid');
  }
  const entries = isFields(value) ? Object.entries(value) : [];
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  if (texts.length === 0 || texts.length < entries.length)
    throw new NoCredentials('it printed JSON that is not an object of texts');
  return Object.fromEntries(texts);
}

// ------------------------------------------------------------ OAuth 2

const LARGEST_TOKEN_BYTES = 64 * 1024;
/** For a token server that states no time. */
const USUAL_TOKEN_S = 300;

type Oauth = Extract<Credentials, { kind: 'oauth' }>;

async function token(of: Oauth, ways: Ways, timeoutMs: number): Promise<Fresh> {
  const url = new URL(of.tokenUrl);
  const way = ways.to(url, { tls: { ca: of.ca }, timeoutMs });
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (of.scope !== undefined) form.set('scope', of.scope);
  if (of.audience !== undefined) form.set('audience', of.audience);
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  };
  if (of.auth === 'post') {
    form.set('client_id', of.clientId);
    form.set('client_secret', of.clientSecret);
  } else {
    const pair = `${formEncoded(of.clientId)}:${formEncoded(of.clientSecret)}`;
    headers.authorization = `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
  }
  const { status, body } = await posted(way, headers, form.toString(), timeoutMs);
  const answer = fieldsOfJson(body);
  if (status !== 200) {
    // The code is a word of the standard, such as `invalid_client`. Other texts may repeat the request.
    const code = typeof answer.error === 'string' && /^[a-z_]{1,40}$/.test(answer.error) ? ` ${answer.error}` : '';
    throw new NoCredentials(`${status}${code}`);
  }
  const { access_token: given, token_type: type = 'Bearer', expires_in: seconds } = answer;
  if (typeof given !== 'string' || given === '') throw new NoCredentials('its answer has no access_token');
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw new NoCredentials('its token is not of the type Bearer');
  const usableS = Number(seconds) > 0 ? Number(seconds) : USUAL_TOKEN_S;
  // A token must not end on its way. Short tokens are used for most of their time.
  const forMs = Math.max(usableS * 500, (usableS - 30) * 1_000);
  return { headers: checked({ authorization: `Bearer ${given}` }, 'its token makes'), forMs };
}

/** As in a form: the standard encodes the parts of Basic in this way. */
const formEncoded = (text: string): string => new URLSearchParams({ a: text }).toString().slice(2);

function fieldsOfJson(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : {};
  } catch {
    // A page of a proxy, for example. The status says what happened.
    return {};
  }
}

/** Sends one request. Redirects are not followed. */
function posted(
  way: Way,
  headers: Record<string, string>,
  body: string,
  timeoutMs: number,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      clearTimeout(timer);
      reject(new NoCredentials(why));
    };
    const request = requestOn(way, 'POST', { ...headers, 'content-length': Buffer.byteLength(body) });
    const timer = setTimeout(() => {
      fail('timeout');
      request.destroy();
    }, timeoutMs);
    request.on('error', error => fail(failureOf(error, way)));
    request.on('response', response => {
      const parts: Buffer[] = [];
      let sizeBytes = 0;
      response.on('data', (part: Buffer) => {
        sizeBytes += part.length;
        parts.push(part);
        if (sizeBytes > LARGEST_TOKEN_BYTES) {
          fail('its answer is larger than 64 KB');
          request.destroy();
        }
      });
      response.on('error', error => fail(failureOf(error, way)));
      response.on('end', () => {
        clearTimeout(timer);
        const { statusCode: status = 0 } = response;
        const failure = refusalOf(status, way);
        if (failure === undefined) resolve({ status, body: Buffer.concat(parts).toString('utf8') });
        else fail(failure);
      });
    });
    request.end(body);
  });
}
