/**
 * Secrets of the configuration: each setting that holds a secret gets a unique value, made from the table of settings.
 * Every command of the table of commands runs, once where everything works and once where much fails. Its output, the
 * arguments of its processes and the files that other users may read contain none of these values.
 *
 * Most commands run in this process, through the `main` that the program calls, because a process for each would cost
 * half a minute. Real processes run where the process itself matters: hooks, delivery, servers, commands that read
 * their input or start other processes, and everything that crashes.
 */
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../src/commands/registry.ts';
import { presets } from '../../src/config/presets.ts';
import { factsOf, isAddress, type Key, keys } from '../../src/config/schema.ts';
import { ranIn } from '../commands/ran.ts';
import { AGENT, furnish, type House, payloadOf, quiet, vacate } from '../wire/house.ts';
import { unpackedBytes } from './unpacked.ts';

const MARK = 'zq7kcanary';
const CANARY = new RegExp(`${MARK}\\d+`, 'g');
const canaryOf = (key: string): string => `${MARK}${1_000 + (keys as string[]).indexOf(key)}`;
/**
 * Long enough for each kind of key, with the canary in its middle, so that the part which is shown of its end does not
 * contain the canary.
 */
const secretOf = (key: Key): string => `aaaa-${canaryOf(key)}-${'b'.repeat(24)}`;
const secretKeys = keys.filter(key => factsOf(key).secret === true);
const files = keys.filter(key => key.endsWith('client_key'));

/** As the configuration file has it: one nested object for each dot of the key. */
function configOf(port: number, house: House, change: (key: Key, value: unknown) => unknown = (_, value) => value) {
  const config: { [name: string]: unknown } = {};
  const put = (key: Key, value: unknown): void => {
    const [group = '', name] = key.split('.');
    const changed = change(key, value);
    if (name === undefined) config[group] = changed;
    else config[group] = { ...(config[group] as object | undefined), [name]: changed };
  };
  put('provider', ['otlp', ...Object.keys(presets)]);
  for (const { needs } of Object.values(presets)) for (const key of needs) put(key, 'x');
  for (const key of keys.filter(isAddress)) {
    const mark = canaryOf(key);
    put(key, `http://user-${mark}:pw-${mark}@127.0.0.1:${port}/${mark.slice(-4)}?api_key=${mark}#${mark}`);
  }
  for (const key of secretKeys)
    put(key, factsOf(key).text === 'pairs' ? { 'x-api-key': secretOf(key) } : secretOf(key));
  for (const key of files) {
    const path = join(house.home, `${key}.pem`);
    fs.writeFileSync(path, `-----BEGIN PRIVATE KEY-----\n${secretOf(key)}\n-----END PRIVATE KEY-----\n`, {
      mode: 0o600,
    });
    put(key, path);
  }
  return config;
}

interface Ran {
  words: readonly string[];
  code: number | string | null | undefined;
  out: string;
}

/** Arguments with which a command ends without input, for commands whose example would change much or wait. */
const instead: { readonly [name: string]: readonly string[][] } = {
  hook: [['hook', '--tool', AGENT, '--event', 'Stop', '--flush', '500ms']],
  deliver: [['deliver', '--wait', '1s']],
  doctor: [['doctor'], ['doctor', '--offline', '--fix', '--yes']],
  preview: [['preview'], ['preview', 'canary-session'], ['preview', '--raw', 'raw']],
  config: [['config'], ['config', '--schema'], ['config', '--trust']],
  show: [['show'], ['show', 'canary-session']],
  serve: [
    ['serve', '--port', '0', '--no-such-flag'],
    ['serve', '--print-unit', 'systemd'],
  ],
  demo: [['demo']],
  tail: [['tail', '--session', 'canary-session']],
  view: [['view', '--no-open']],
  openhook: [['openhook', 'status']],
  import: [['import', '--all', '--dry-run']],
  enable: [['enable', '--tool', AGENT, '--global', '--yes']],
  uninstall: [['uninstall', '--dry-run']],
  disable: [['disable', '--tool', AGENT, '--global', '--dry-run']],
  traceparent: [['traceparent', '--tool', AGENT, '--session', 'canary-session']],
};
const waiting = ['tail', 'top', 'view'];
/**
 * These are not commands of `main`, or they start processes, or they wait. With `--json` they print the same values.
 */
const alone = ['hook', 'run-hook', 'demo', 'mcp', 'tail', 'top', 'view'];

function wordsOf(name: string, example: string): (readonly string[])[] {
  const own = Object.hasOwn(instead, name) ? instead[name] : undefined;
  const plain = example
    .replace(/^source <\((.*)\)$/, '$1')
    .replace(/^otel-hooks /, '')
    .replace(/ [<>] .*$/, '')
    .replace(/"\$\(.*?\)"/, 'x')
    .split(' ');
  return (own ?? [plain]).flatMap(words =>
    alone.includes(name) || words.includes('--json') ? [words] : [words, [...words, '--json']],
  );
}

let server: Server;
let port: number;
/** The server repeats the request in its answer, as some proxies do in their errors. */
let status = 200;
const argumentsSeen = new Set<string>();

beforeAll(async () => {
  server = createServer((request, response) => {
    const answer = JSON.stringify({ message: `no: ${request.url} ${JSON.stringify(request.headers)}` });
    request.resume();
    request.on('end', () =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(status === 200 ? '{}' : answer),
    );
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

/** The arguments of every process that runs while commands run, where the system shows them. */
function watchArguments(): () => void {
  if (!fs.existsSync('/proc/self/cmdline')) return () => undefined;
  /** How often each process was examined: a new process may begin as a copy of the one that started it. */
  const looks = new Map<string, number>();
  const timer = setInterval(() => {
    for (const pid of fs.readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
      const many = (looks.get(pid) ?? 0) + 1;
      if (many > 5) continue;
      looks.set(pid, many);
      try {
        for (const found of fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').match(CANARY) ?? [])
          argumentsSeen.add(found);
      } catch {
        // The process has ended.
      }
    }
  }, 20);
  return () => clearInterval(timer);
}

function run(house: House, words: readonly string[], env: Record<string, string> = {}, input = ''): Promise<Ran> {
  return new Promise(settled => {
    const child = execFile(
      process.execPath,
      [house.bin, ...words],
      {
        cwd: house.project,
        env: { ...house.env, OTEL_HOOKS_LINGER: '1s', ...env },
        timeout: waiting.includes(words[0] ?? '') ? 2_000 : 40_000,
        maxBuffer: 1e8,
      },
      (error, stdout, stderr) =>
        settled({ words, code: error === null ? 0 : (error.code ?? error.signal), out: stdout + stderr }),
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** Runs in this process, except commands that need a process of their own. */
async function runHere(house: House, words: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  if (alone.includes(words[0] ?? '') || words.some(word => word === '-')) return run(house, words, env, '{}');
  const world = { cwd: house.project, env: { ...house.env, ...env }, now: Date.now };
  try {
    const { code, out, err } = await ranIn(house.home, words, world);
    return { words, code, out: out + err };
  } catch (error) {
    // The program prints this part of an error.
    return { words, code: 1, out: error instanceof Error ? `${error.message}\n${error.stack}` : String(error) };
  }
}

/** Two at a time: this keeps a machine with two cores busy, and no process waits long. */
async function runAll(jobs: (() => Promise<Ran>)[]): Promise<Ran[]> {
  const ran: Ran[] = [];
  const next = async (): Promise<void> => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) ran.push(await job());
  };
  await Promise.all([next(), next()]);
  return ran;
}

const someCommands = [['status', '--json'], ['config'], ['doctor', '--offline', '--no-proof'], ['preview']];

const outputs = (ran: readonly Ran[]): string[] =>
  ran.flatMap(({ words, out }) => {
    const found = [...new Set(out.match(CANARY) ?? [])];
    return found.length === 0 ? [] : [`${words.join(' ')}: ${found.map(nameOf).join(', ')}`];
  });
const nameOf = (canary: string): string => keys[Number(canary.slice(MARK.length)) - 1_000] ?? canary;

/** Files with a canary, and the access that other users have to them. */
function filesWith(folder: string): { path: string; isOpen: boolean; keys: string[] }[] {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
  return entries.flatMap(entry => {
    const path = join(entry.parentPath, entry.name);
    const found = [...new Set(unpackedBytes(path).toString('latin1').match(CANARY) ?? [])];
    if (found.length === 0) return [];
    const isOpen = (fs.statSync(path).mode & 0o077) !== 0;
    return [{ path: path.slice(folder.length + 1), isOpen, keys: found.map(nameOf) }];
  });
}

const hooks = ['SessionStart', 'UserPromptSubmit', 'Stop', 'SessionEnd'].map(event => ({
  event,
  payload: payloadOf({
    ...{
      session_id: 'canary-session',
      hook_event_name: event,
      cwd: '/',
      prompt: 'x',
      prompt_id: 'p1',
      reason: 'other',
    },
    transcript_path: '/nowhere/t.jsonl',
  }),
}));

function settled(change?: (key: Key, value: unknown) => unknown): House {
  const house = furnish('built');
  const folder = join(house.home, '.config', 'otel-hooks');
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  fs.writeFileSync(join(folder, 'config.json'), JSON.stringify(configOf(port, house, change), null, 1), {
    mode: 0o600,
  });
  return house;
}

async function everything(house: House, env: Record<string, string> = {}): Promise<Ran[]> {
  const stop = watchArguments();
  const ran: Ran[] = [];
  for (const { event, payload } of hooks)
    ran.push(await run(house, ['hook', '--tool', AGENT, '--event', event, '--edge'], env, payload));
  ran.push(await run(house, ['deliver', '--wait', '1s'], env));
  const last = ['uninstall', 'disable'];
  const jobs = commands
    .toSorted((a, b) => last.indexOf(a.name) - last.indexOf(b.name))
    .flatMap(({ name, example }) => wordsOf(name, example).map(words => () => runHere(house, words, env)));
  ran.push(...(await runAll(jobs)));
  stop();
  return ran;
}

describe('secrets of the configuration', () => {
  it('are known by the table of settings', () => {
    const names = /header|token|secret|password|api_key|license_key|ingestion_key|hash_key|hmac/;
    // A command names the place of a secret. Addresses are shown without the parts that may be secret.
    const isPlain = (key: Key): boolean => /_tokens$|\.headers_command(_seconds)?$/.test(key) || isAddress(key);
    const unmarked = keys.filter(
      key => names.test(key.slice(key.indexOf('.') + 1)) && !isPlain(key) && !secretKeys.includes(key),
    );
    expect(unmarked).toEqual([]);
    expect(secretKeys.length).toBeGreaterThanOrEqual(14);
    expect(keys.filter(isAddress).length).toBeGreaterThanOrEqual(10);
  });

  it('stay in their files for every command, while a server repeats the requests in its answers', async () => {
    status = 401;
    const house = settled();
    try {
      const ran = await everything(house);
      expect(new Set(ran.map(({ words }) => words[0]))).toEqual(new Set(commands.map(({ name }) => name)));
      expect(outputs(ran)).toEqual([]);
      expect(argumentsSeen).toEqual(new Set());
      await quiet(house);
      const found = filesWith(house.folder);
      // The state keeps the address and the headers of a destination for its sessions.
      expect(found.some(({ path }) => path.includes('state/otel-hooks/'))).toBe(true);
      expect(found.filter(({ isOpen }) => isOpen)).toEqual([]);
    } finally {
      await vacate(house);
    }
  }, 240_000);

  it('are not in problems about invalid values of these settings', async () => {
    status = 200;
    const wrong: ((key: Key, value: unknown) => unknown)[] = [
      (key, value) => (isSecret(key) ? { nested: [value] } : value),
      (key, value) => (isSecret(key) ? `${canaryOf(key)} = = ,%zz` : value),
      (key, value) => (isAddress(key) ? `ftp://user:${canaryOf(key)}@[bad/?key=${canaryOf(key)}` : value),
      (key, value) => (isAddress(key) ? [`http://user:${canaryOf(key)}@127.0.0.1/`] : isSecret(key) ? 7 : value),
      // A header name and a header value that no request may have.
      (key, value) =>
        isSecret(key) && factsOf(key).text === 'pairs'
          ? { 'x y': `${canaryOf(key)}\n`, 'x-z': `${canaryOf(key)}\u0000` }
          : value,
    ];
    for (const change of wrong) {
      const house = settled(change);
      try {
        const ran: Ran[] = [];
        for (const { event, payload } of hooks.slice(0, 1))
          ran.push(await run(house, ['hook', '--tool', AGENT, '--event', event], {}, payload));
        for (const words of [['deliver', '--wait', '1s'], ['status', '--json'], ['config']])
          ran.push(await runHere(house, words));
        expect(outputs(ran)).toEqual([]);
        await quiet(house);
        expect(filesWith(house.folder).filter(({ isOpen }) => isOpen)).toEqual([]);
      } finally {
        await vacate(house);
      }
    }
  }, 240_000);

  it('are not in the output of a crash', async () => {
    status = 200;
    const house = settled();
    try {
      const crash = join(house.folder, 'crash.cjs');
      const places = ['http.request', 'zlib.gzipSync', 'fs.openSync', 'fs.renameSync'];
      for (const { event, payload } of hooks)
        await run(house, ['hook', '--tool', AGENT, '--event', event], {}, payload);
      const ran: Ran[] = [];
      for (const place of places) {
        const [module, name] = place.split('.');
        fs.writeFileSync(
          crash,
          `const m = require('node:${module}'); const was = m.${name}; let left = 40;
           m.${name} = function (...words) { if (process.argv.length > 2 && (left -= 1) < ${module === 'fs' ? 20 : 40}) throw new TypeError('broken'); return was.apply(this, words); };
           require('node:module').syncBuiltinESMExports();`,
        );
        const looking = module === 'fs' ? ['status'] : ['preview'];
        for (const words of [['deliver', '--wait', '1s'], looking])
          ran.push(await run(house, words, { NODE_OPTIONS: `--require=${crash}` }));
      }
      expect(ran.some(({ code }) => code !== 0)).toBe(true);
      expect(outputs(ran)).toEqual([]);
    } finally {
      await vacate(house);
    }
  }, 240_000);

  it('are not among the variables that a hook passes on, and those of proxies are not shown', async () => {
    status = 503;
    const house = settled();
    try {
      const env = {
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secretOf('otlp.headers')}`,
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://u:${canaryOf('otlp.endpoint')}@127.0.0.1:${port}/?k=${canaryOf('otlp.endpoint')}`,
        HTTP_PROXY: `http://u:${MARK}9999@127.0.0.1:9`,
        HTTPS_PROXY: `http://u:${MARK}9999@127.0.0.1:9`,
      };
      const ran: Ran[] = [];
      const stop = watchArguments();
      for (const { event, payload } of hooks)
        ran.push(await run(house, ['hook', '--tool', AGENT, '--event', event, '--edge'], env, payload));
      ran.push(await run(house, ['deliver', '--wait', '1s'], env));
      for (const words of someCommands) ran.push(await runHere(house, words, env));
      stop();
      expect(outputs(ran)).toEqual([]);
      expect(argumentsSeen).toEqual(new Set());
      await quiet(house);
      expect(filesWith(house.folder).filter(({ isOpen }) => isOpen)).toEqual([]);
    } finally {
      await vacate(house);
    }
  }, 120_000);
});

const isSecret = (key: Key): boolean => secretKeys.includes(key);
