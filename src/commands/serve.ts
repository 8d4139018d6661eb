import type { KeyObject } from 'node:crypto';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { collectAlone, compileWithOneOptimizer, keepYoungSmall, limitGarbage, markAlone } from '../lib/garbage.ts';
import { publicKeys } from '../lib/jws.ts';
import { readKey } from '../lib/private-file.ts';
import { FileRefused, readRegularFile } from '../lib/regular-file.ts';
import type { Problem } from '../problems/problem.ts';
import { startDelivery } from '../serve/delivery.ts';
import { isLoopback } from '../serve/door.ts';
import { openEventServer, type Tls } from '../serve/server.ts';
import { openGivenToken, openToken, rotateToken, tokenFile } from '../serve/token.ts';
import { units } from '../serve/unit.ts';
import { openStore } from '../store/store.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { distFolder, foldersOf } from './place.ts';
import { problemText } from './text.ts';

/** The time for which a stop waits for requests. It is shorter than the time limits of service managers. */
const ANSWERS_MS = 5_000;
const ROUND_MS = 10_000;

export async function run(words: Words, io: Io): Promise<number> {
  const given = flagText(words, '--token-file');
  const file = given === undefined ? tokenFile(io) : resolve(io.cwd, given);
  const isJson = words.flags['--json'] !== undefined;
  if (words.flags['--rotate-token'] !== undefined) {
    if (given !== undefined) throw new UsageError('--rotate-token changes the file in the configuration folder only');
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
    const token = { file, isGiven: given !== undefined };
    const signers = signersOf(words, io);
    return await serve({ ...listen, rate, tls: tlsOf(words), signers, ...token, isJson }, words, io);
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
  signers: readonly KeyObject[] | undefined;
  /** The file of the token. */
  file: string;
  isGiven: boolean;
  isJson: boolean;
}

async function serve(serving: Serving, words: Words, io: Io): Promise<number> {
  const { host, port, rate, tls, signers, file, isGiven, isJson } = serving;
  collectAlone();
  markAlone();
  keepYoungSmall();
  limitGarbage();
  compileWithOneOptimizer();
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const isPlain = tls === undefined && words.flags['--tls-elsewhere'] === undefined;
  if (isPlain && !isLoopback(host)) throw new Refused({ code: 'serve-open', address });
  const { state, config } = foldersOf(words, io);
  // Creates the state folder if it is missing, and checks that it belongs to this user.
  openStore({ folder: state, access: 'own' }).close();
  const token = isGiven ? openGivenToken(file) : openToken(file);
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
    signers,
    allowedHosts: allowedHostsOf(words),
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

function allowedHostsOf(words: Words): string[] {
  const names = (flagText(words, '--allow-host') ?? '').split(',').filter(name => name !== '');
  for (const name of names)
    if (!/^[A-Za-z0-9._-]+$/.test(name)) throw new UsageError(`--allow-host takes names without a port, not ${name}`);
  return names;
}

/** The keys of `--require-signature`. A file without a key would refuse every sender. */
function signersOf(words: Words, io: Io): KeyObject[] | undefined {
  const file = flagText(words, '--require-signature');
  if (file === undefined) return undefined;
  const keys = publicKeys(readPem(resolve(io.cwd, file), readCertificate).toString());
  if (keys.length === 0) throw new UsageError(`--require-signature: ${file} holds no public Ed25519 key`);
  return keys;
}

function tlsOf(words: Words): Tls | undefined {
  const [cert, key, ca] = ['--cert', '--key', '--client-ca'].map(name => flagText(words, name));
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (words.flags['--tls-elsewhere'] !== undefined)
    throw new UsageError('--tls-elsewhere and --cert exclude each other: one of them does TLS');
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
  const fileFlags = ['--cert', '--key', '--client-ca', '--token-file', '--state-dir', '--config'];
  const files = given(fileFlags, value => resolve(cwd, value));
  const plain = words.flags['--tls-elsewhere'] === undefined ? [] : ['--tls-elsewhere'];
  const flags = [...given(['--listen', '--rate', '--allow-host'], value => value), ...plain, ...files];
  return [process.execPath, `${distFolder()}/otel-hooks.cjs`, 'serve', ...flags];
}
