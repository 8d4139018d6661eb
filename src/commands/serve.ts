import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { collectAlone } from '../lib/garbage.ts';
import { readKey } from '../lib/private-file.ts';
import { FileRefused, readRegularFile } from '../lib/regular-file.ts';
import type { Problem } from '../problems/problem.ts';
import { startDelivery } from '../serve/delivery.ts';
import { isLoopback } from '../serve/door.ts';
import { openEventServer, type Tls } from '../serve/server.ts';
import { openToken, rotateToken, tokenFile } from '../serve/token.ts';
import { units } from '../serve/unit.ts';
import { openStore } from '../store/store.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { distFolder, foldersOf } from './place.ts';
import { problemText } from './text.ts';

/** How long a stop waits for requests. Service managers kill later than this. */
const ANSWERS_MS = 5_000;
const ROUND_MS = 10_000;

export async function run(words: Words, io: Io): Promise<number> {
  const file = tokenFile(io);
  const isJson = words.flags['--json'] !== undefined;
  if (words.flags['--rotate-token'] !== undefined) {
    rotateToken(file);
    io.out(isJson ? `${JSON.stringify({ v: 1, token: file })}\n` : `A new token lies in ${file}.\n`);
    return 0;
  }
  const listen = listenOf(flagText(words, '--listen') ?? '127.0.0.1:4319');
  const rate = Number(flagText(words, '--rate') ?? 20_000);
  if (!Number.isInteger(rate) || rate < 0) throw new UsageError('--rate takes a number of requests, or 0');
  const kind = flagText(words, '--print-unit');
  if (kind !== undefined) {
    if (kind !== 'systemd' && kind !== 'launchd') throw new UsageError(`--print-unit takes systemd or launchd`);
    io.out(units[kind]({ command: commandOf(words, io.cwd), home: io.home }));
    return 0;
  }
  try {
    return await serve({ ...listen, rate, tls: tlsOf(words), file, isJson }, words, io);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    io.err(problemText(error.problem));
    return 1;
  }
}

interface Serving {
  host: string;
  port: number;
  rate: number;
  tls: Tls | undefined;
  file: string;
  isJson: boolean;
}

async function serve({ host, port, rate, tls, file, isJson }: Serving, words: Words, io: Io): Promise<number> {
  collectAlone();
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (tls === undefined && !isLoopback(host)) throw new Refused({ code: 'serve-open', address });
  const { state, config } = foldersOf(words, io);
  // Makes the state folder if it is missing, and checks that it belongs to this user.
  openStore({ folder: state, access: 'own' }).close();
  const token = openToken(file);
  const unsafe = token.problem();
  if (unsafe !== undefined) throw new Refused(unsafe);
  const stopped = new Promise<void>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
  const isNamed = flagText(words, '--config') !== undefined;
  const env = isNamed ? { ...io.env, OTEL_HOOKS_CONFIG: config.globalFile } : io.env;
  const server = await openEventServer({
    host,
    port,
    tls,
    stateFolder: state,
    token,
    env,
    fsync: config.values.fsync ?? false,
    requestsPerSecond: rate,
    isDelivering: () => delivery.isAtWork(),
  }).catch((error: NodeJS.ErrnoException) => {
    throw new Refused({ code: 'serve-address', address, why: error.code ?? error.message });
  });
  const delivery = startDelivery({
    program: `${distFolder()}/deliver.js`,
    stateFolder: state,
    env,
  });
  io.out(
    isJson
      ? `${JSON.stringify({ v: 1, url: server.url, token: file, state })}\n`
      : `Listening at ${server.url}; senders show the token that lies in ${file}.\n`,
  );
  for (const problem of config.problems) io.err(problemText(problem));
  await stopped;
  await Promise.all([server.drain(ANSWERS_MS), delivery.stop(ROUND_MS)]);
  await server.close();
  return 0;
}

/** The reason why the server did not start. */
class Refused extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.code);
    this.problem = problem;
  }
}

function listenOf(text: string): { host: string; port: number } {
  const [, bracketed, bare, port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? bare;
  if (host === undefined || Number(port) > 65_535)
    throw new UsageError(`--listen takes an address such as 127.0.0.1:4319 or [::1]:4319, not ${text}`);
  return { host, port: Number(port) };
}

function tlsOf(words: Words): Tls | undefined {
  const [cert, key, ca] = ['--cert', '--key', '--client-ca'].map(name => flagText(words, name));
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new UsageError('--cert and --key go together, and --client-ca needs both');
  const tls: Tls = {
    cert: readPem(cert, readCertificate),
    key: readPem(key, readKey),
    clientCa: ca === undefined ? undefined : readPem(ca, readCertificate),
  };
  const attempt = (file: string, options: { cert?: Buffer; key?: Buffer; ca?: Buffer | undefined }): void => {
    try {
      createSecureContext(options);
    } catch (error) {
      throw new Refused({ code: 'serve-tls', file, why: error instanceof Error ? error.message : String(error) });
    }
  };
  attempt(cert, { cert: tls.cert });
  attempt(key, { cert: tls.cert, key: tls.key });
  if (ca !== undefined) attempt(ca, { ca: tls.clientCa });
  return tls;
}

const readCertificate = (file: string): Buffer => readRegularFile(file, 1024 * 1024);

function readPem(file: string, read: (file: string) => Buffer): Buffer {
  try {
    return read(file);
  } catch (error) {
    if (error instanceof FileRefused) throw new Refused({ code: 'serve-tls', file, why: error.message });
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Refused({ code: 'serve-tls', file, why });
  }
}

/** The command line with which a service manager starts this program. */
function commandOf(words: Words, cwd: string): string[] {
  const given = (names: readonly string[], as: (value: string) => string): string[] =>
    names.flatMap(name => {
      const value = flagText(words, name);
      return value === undefined ? [] : [name, as(value)];
    });
  const files = given(['--cert', '--key', '--client-ca', '--state-dir', '--config'], value => resolve(cwd, value));
  const flags = [...given(['--listen', '--rate'], value => value), ...files];
  return [process.execPath, `${distFolder()}/otel-hooks.cjs`, 'serve', ...flags];
}
