/**
 * P8 from end to end: the test puts secrets of ten kinds into every text of every event of every agent of the registry.
 * With default settings no secret leaves the machine, and after delivery none is on the disk, except in the quarantine.
 * To prove that the test finds secrets, it also runs with a program without redaction.
 */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import type { deliver } from '../../src/deliver/deliver.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { planted as rowsWith } from '../agents/read-transcript.ts';
import { isIdPath, samplesOf, withTexts } from '../agents/samples.ts';
import { type Collector, startCollector } from '../collector.ts';
import { AGENT } from '../wire/house.ts';
import { randomOf } from './load.ts';
import { row } from './report.ts';
import { bySize, seed, size } from './size.ts';
import { booksOf, deliverHere, exporting, founded, room } from './stage.ts';
import { unpackedBytes } from './unpacked.ts';

/** `mark` is the searched text: no other text contains it. Each secret looks like a real one. */
const secrets: Record<string, (mark: string) => string> = {
  'a cloud key': mark => `AKIA${mark.toUpperCase()}`,
  'a token of a forge': mark => `ghp_${mark}${mark}`,
  'a key of a model provider': mark => `sk-ant-api03-${mark}-${mark}`,
  'a token of a chat': mark => `xoxb-1234567890-${mark}`,
  'a signed token': mark => `eyJhbGciOiJIUzI1NiJ9.${mark}.${mark}`,
  'a private key': mark => `-----BEGIN PRIVATE KEY-----\n${mark}\n-----END PRIVATE KEY-----`,
  'a database with its password': mark => `postgres://admin:${mark}@db.example.com/${mark}`,
  'an e-mail address': mark => `${mark}@example.com`,
  'a path with a name': mark => `/home/${mark}/notes.txt`,
  'a password': mark => `password=${mark}`,
};
const kinds = Object.keys(secrets);

/**
 * Fields that are sent by design: ids, names of events, tools, models and agents. Everything else is content. That
 * includes fields that an agent fills from a closed set: the program has to compare the value with the set.
 */
const names =
  /\.(hook_?event_?name|hookName|agent_action_name|event|type|timestamp|tool_?name|tool|mcp_(tool|server)_name|server_name|(subagent_|from_|to_|requested_)?model|model_?name|model\.slug|agent_?type|agent_?name|agent|subagent_type|provider)$|(tool\w*|mcp_server|\.data)\.name$/i;

interface Canary {
  agent: string;
  file: string;
  field: string;
  kind: string;
  mark: string;
}

interface Planted {
  tool: string;
  event: string;
  payload: string;
  cwd: string;
}

/** Every mark begins with this text, so that one search finds all of them. */
const TOKEN = 'q9zk7vw3';

const random = randomOf(seed);
const newMark = (): string => TOKEN + Array.from({ length: 8 }, () => Math.floor(random() * 36).toString(36)).join('');

/**
 * Every sample of every agent, with a secret behind each of its texts, in each of its lists except those of ids, and as
 * a name in each object.
 */
function plantAll(): { planted: Planted[]; canaries: Map<string, Canary> } {
  const canaries = new Map<string, Canary>();
  const planted: Planted[] = [];
  for (const { id: agent, eventName, eventByShape } of agents) {
    for (const { file, payload } of samplesOf(agent)) {
      const secret = (field: string, kind = kinds[canaries.size % kinds.length] ?? ''): string => {
        const mark = newMark();
        canaries.set(mark, { agent, file, field, kind, mark });
        return secrets[kind]?.(mark) ?? '';
      };
      const visit = (value: unknown, path: string): unknown => {
        if (Array.isArray(value)) {
          const items = value.map(item => visit(item, path));
          return isIdPath(path) ? items : [...items, secret(path)];
        }
        if (typeof value === 'object' && value !== null) {
          const fields = Object.entries(value).map(([name, item]) => [name, visit(item, `${path}.${name}`)]);
          return Object.fromEntries([...fields, [secret(`${path}.<name>`), secret(`${path}.<unknown>`)]]);
        }
        return typeof value === 'string' && !isIdPath(path) && !names.test(path) ? `${value} ${secret(path)}` : value;
      };
      const event = eventName(payload) ?? eventByShape?.(payload) ?? '';
      const cwd = secret('working folder of the hook', 'a path with a name');
      planted.push({ tool: agent, event, cwd, payload: JSON.stringify(visit(payload, '')) });
    }
  }
  return { planted, canaries };
}

/** With ids that no other sample has. */
function inItsOwnSession(each: Planted, i: number): Planted {
  const payload = withTexts(JSON.parse(each.payload), (text, path) => (isIdPath(path) ? `${text}-${i}` : text));
  return { ...each, payload: JSON.stringify(payload) };
}

/** The token as plain text, and as base64 and hex encode it. */
function marksIn(bytes: Buffer): string[] {
  const text = bytes.toString('latin1');
  const plain = text.toLowerCase().match(new RegExp(`${TOKEN}[0-9a-z]{8}`, 'g')) ?? [];
  const hidden = disguises.filter(disguise => text.includes(disguise));
  return [...new Set([...plain, ...hidden])];
}

const disguises = [
  Buffer.from(TOKEN).toString('hex'),
  // The base64 letters that depend only on the token, at each of the three possible offsets.
  ...[0, 1, 2].map(before => {
    const encoded = Buffer.from('\0'.repeat(before) + TOKEN).toString('base64');
    return encoded.slice(before === 0 ? 0 : before + 1, Math.floor(((TOKEN.length + before) * 8) / 6));
  }),
];

interface Found {
  where: string;
  marks: string[];
}

/** The places that contain a mark. */
function findIn(places: [where: string, bytes: Buffer][]): Found[] {
  return places.flatMap(([where, bytes]) => {
    const marks = marksIn(Buffer.concat([bytes, Buffer.from(where)]));
    return marks.length > 0 ? [{ where, marks }] : [];
  });
}

function filesOf(folder: string): [string, Buffer][] {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(path => [path.slice(folder.length + 1), unpackedBytes(path)]);
}

interface Delivery {
  state: string;
  /** Everything that was sent, and everything that commands print afterwards. */
  out: [string, Buffer][];
}

const bin = fileURLToPath(new URL('../../dist/otel-hooks.cjs', import.meta.url));
const rooms: (() => void)[] = [];
let collector: Collector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(async () => {
  for (const leave of rooms) leave();
  await collector.close();
});

interface DeliverAll {
  program?: typeof deliver;
  /** The beginning of a fragment whose hook never finished it. */
  torn?: string;
  /** The content classes that the user asks for afterwards. */
  commands?: readonly string[][];
  /** Further environment variables of the hooks, beside the address. */
  variables?: Record<string, string>;
}

const asked = [['deliver'], ['status'], ['status', '--json'], ['show'], ['config', '--json']];

/** With default settings, except for the address. */
async function deliverAll(planted: Planted[], options: DeliverAll = {}): Promise<Delivery> {
  const { program, torn = '', commands = [], variables = {} } = options;
  const { folder, leave } = room();
  rooms.push(leave);
  const state = founded(join(folder, 'state'));
  const log = join(folder, 'agent-hooks.jsonl');
  const env = exporting(collector.url, { AGENT_HOOKS_LOG: log, ...variables });
  for (const [i, { tool, event, payload, cwd }] of planted.entries()) {
    const unique = String(i).padStart(12, '0');
    const header = { tool, event, cwd, at: String(Date.now()), ppid: '1', ...env };
    const path = join(state, 'inbox', fragmentName('abcdef01', `${1_000 + i}.00`, 100 + i, unique));
    fs.writeFileSync(path, encodeFragment(unique, header, Buffer.from(payload)), { mode: 0o600 });
  }
  if (torn !== '') {
    const path = join(state, 'inbox', fragmentName('abcdef01', '1.00', 1, 'torn'));
    fs.writeFileSync(path, `otel-hooks/1 tool=4:kiro\n${torn}`, { mode: 0o600 });
    fs.utimesSync(path, 1_000, 1_000);
  }
  const first = collector.requests.length;
  const delivered = await deliverHere(state, {}, program);
  const out: [string, Buffer][] = collector.requests
    .slice(first)
    .map(({ path, body, headers }) => [path, Buffer.concat([body, Buffer.from(JSON.stringify(headers))])]);
  out.push(['agent hooks log', fs.existsSync(log) ? fs.readFileSync(log) : Buffer.alloc(0)]);
  out.push(['what deliver reports', Buffer.from(JSON.stringify(delivered))]);
  for (const words of commands) {
    const { stdout, stderr } = spawnSync(process.execPath, [bin, ...words, '--state-dir', state], {
      env: { HOME: folder, PATH: process.env.PATH ?? '' },
      cwd: folder,
    });
    out.push([`output of ${words.join(' ')}`, Buffer.concat([stdout, stderr])]);
  }
  return { state, out };
}

const inQuarantine = ({ where }: Found): boolean => where.startsWith('quarantine/');
/** The state keeps the path of a session's transcripts as long as delivery reads them; the path is not sent. */
const isPlace = ({ field }: Canary, where: string): boolean =>
  /transcript_?path|cwd|workspace|\.directory$|^working folder/i.test(field) && where.startsWith('sessions/');

const described = (found: Found[], canaries: ReadonlyMap<string, Canary>): string[] => [
  ...new Set(
    found.flatMap(({ where, marks }) =>
      marks.flatMap(mark => {
        const canary = canaries.get(mark);
        if (canary !== undefined && isPlace(canary, where)) return [];
        const { agent, file, field, kind } = canary ?? {};
        return `${kind} of ${agent} ${file} ${field} in ${where.replace(/[0-9a-f]{16,}/g, '*')}`;
      }),
    ),
  ),
];

describe('S3 secrets', () => {
  const { planted, canaries } = plantAll();

  it(`S3 in all payloads of agents are neither sent nor kept (seed ${seed})`, { timeout: 120_000 }, async () => {
    // The samples form sessions, one after the other. Some samples report the same event, so each sample also has a
    // session of its own.
    const alone = await deliverAll(planted.map(inItsOwnSession), { commands: asked });
    const together = size === 'quick' ? alone : await deliverAll(planted);
    const places = [alone, together].flatMap(({ state, out }) => [...out, ...filesOf(state)]);
    const leaks = described(findIn(places), canaries);
    const { out } = alone;
    row('S3', 'secrets of ten kinds in every text of every event of every agent', {
      faults: canaries.size,
      obligations: planted.length,
      lost: leaks.length,
      note: `${agents.length} agents, ${out.length} outputs searched`,
    });
    expect(booksOf(together.state).fragments).toMatchObject({ received: planted.length, quarantined: 0, waiting: 0 });
    expect(booksOf(alone.state).fragments).toMatchObject({ received: planted.length, journaled: planted.length });
    expect(out.map(([where]) => where)).toEqual(expect.arrayContaining(['/v1/traces', '/v1/logs', '/v1/metrics']));
    expect(leaks).toEqual([]);
  });

  it('S3 in transcripts of every agent are neither sent nor kept', { timeout: 60_000 }, async () => {
    const { folder, leave } = room();
    rooms.push(leave);
    const state = founded(join(folder, 'state'));
    let planted = 0;
    const secret = (field: string): string => {
      // The state keeps the path of a session's transcripts.
      if (field === 'cwd') return '';
      planted += 1;
      return secrets[kinds[planted % kinds.length] ?? '']?.(newMark()) ?? '';
    };
    const paths = transcripts().map(({ path, lines }) => {
      const file = join(folder, path);
      fs.mkdirSync(dirname(file), { recursive: true });
      fs.writeFileSync(file, `${rowsWith(lines, secret)}\n`);
      return file;
    });
    const out: [string, Buffer][] = [];
    const type = (...words: string[]): void => {
      const { stdout, stderr } = spawnSync(process.execPath, [bin, ...words, '--state-dir', state], {
        env: { HOME: folder, PATH: process.env.PATH ?? '', ...exporting(collector.url) },
        cwd: folder,
      });
      out.push([`output of ${words[0]}`, Buffer.concat([stdout, stderr])]);
    };
    const first = collector.requests.length;
    // The command blocks the collector of this process, so the delivery below takes its fragments.
    type('import', ...paths, '--wait', '0s');
    await deliverHere(state);
    for (const words of [['status', '--json'], ['show']]) type(...words);
    for (const { path, body } of collector.requests.slice(first)) out.push([path, body]);
    const { transcripts: books } = booksOf(state);
    const leaks = findIn([...out, ...filesOf(state)]).map(({ where }) => where);
    row('S3', 'the same in the transcripts of every agent', {
      faults: planted,
      obligations: books.read,
      delivered: books.journaled,
      lost: leaks.length,
      note: `${paths.length} transcripts`,
    });
    expect(books.journaled).toBeGreaterThan(paths.length * 2);
    expect(out.map(([where]) => where)).toContain('/v1/traces');
    expect(leaks).toEqual([]);
  });

  it('S3 in the headers of every layer are sent as headers only', { timeout: 60_000 }, async () => {
    const { folder, leave } = room();
    rooms.push(leave);
    const state = founded(join(folder, 'state'));
    const marks = new Map(['file', 'all', 'traces', 'logs', 'metrics', 'person'].map(layer => [layer, newMark()]));
    const of = (layer: string): string => marks.get(layer) ?? '';
    const config = join(folder, '.config', 'otel-hooks', 'config.json');
    fs.mkdirSync(dirname(config), { recursive: true });
    const otlp = { endpoint: collector.url, headers: { 'x-file': of('file') } };
    fs.writeFileSync(config, JSON.stringify({ provider: 'otlp', otlp }));
    const variables = Object.fromEntries(
      ['', 'TRACES_', 'LOGS_', 'METRICS_'].map(signal => [
        `OTEL_EXPORTER_OTLP_${signal}HEADERS`,
        `x-variable=${of(signal === '' ? 'all' : signal.slice(0, -1).toLowerCase())}`,
      ]),
    );
    let hooks = 0;
    const write = (session_id: string, header: Record<string, string>): void => {
      for (const hook_event_name of ['SessionStart', 'SessionEnd']) {
        hooks += 1;
        const unique = String(hooks).padStart(12, '0');
        const payload = JSON.stringify({ session_id, hook_event_name, source: 'startup', cwd: folder });
        const path = join(state, 'inbox', fragmentName('abcdef01', `${1_000 + hooks}.00`, 100 + hooks, unique));
        const bytes = encodeFragment(unique, { tool: AGENT, ppid: '1', ...header }, Buffer.from(payload));
        fs.writeFileSync(path, bytes, { mode: 0o600 });
      }
    };
    const oneForAll = Object.fromEntries(Object.entries(variables).slice(0, 1));
    write('by the file', {});
    write('by a variable', { ...oneForAll, ...exporting(collector.url) });
    write('by the variables of signals', { ...variables, ...exporting(collector.url) });
    const first = collector.requests.length;
    const where = { home: folder, env: {}, platform: process.platform, ownVariables: false, configFile: undefined };
    const delivered = await deliverHere(state, { surroundings: where });
    const out: [string, Buffer][] = [['what deliver reports', Buffer.from(JSON.stringify(delivered))]];
    const sent = collector.requests.slice(first);
    for (const { path, body } of sent) out.push([path, body]);
    for (const words of asked) {
      const { stdout, stderr } = spawnSync(process.execPath, [bin, ...words, '--state-dir', state], {
        env: {
          HOME: folder,
          PATH: '',
          ...exporting(collector.url),
          OTEL_EXPORTER_OTLP_HEADERS: `x-own=${of('person')}`,
        },
        cwd: folder,
      });
      out.push([`output of ${words.join(' ')}`, Buffer.concat([stdout, stderr])]);
    }
    // Requests need the headers, so one file may contain them; only its owner can read it.
    const leaks = findIn([...out, ...filesOf(state)]).filter(({ where }) => !/^documents\/destination-/.test(where));
    row('S3', 'secrets in the headers of every layer', { faults: marks.size, lost: leaks.length });
    const headers = JSON.stringify(sent.map(each => each.headers));
    expect([...marks].filter(([layer, mark]) => layer !== 'person' && !headers.includes(mark))).toEqual([]);
    expect(leaks).toEqual([]);
    for (const name of fs.readdirSync(join(state, 'documents')))
      expect(fs.statSync(join(state, 'documents', name)).mode & 0o777, name).toBe(0o600);
  });

  it('S3 in unreadable events are in the quarantine only', { timeout: 60_000 }, async () => {
    const ways: ((each: Planted) => Planted)[] = [
      each => ({ ...each, payload: each.payload.slice(0, -1) }),
      each => ({ ...each, payload: `[${each.payload}]` }),
      each => ({ ...each, tool: 'nobody' }),
      each => ({ ...each, payload: `${each.payload} and more` }),
    ];
    const spoiled = agents.flatMap(({ id }) =>
      planted.filter(({ tool }) => tool === id).flatMap((each, i) => ways[i]?.(each) ?? []),
    );
    const { state, out } = await deliverAll(spoiled, { torn: planted[0]?.payload ?? '', commands: [['status']] });
    const found = findIn([...out, ...filesOf(state)]);
    row('S3', 'the same in events that cannot be read', {
      faults: spoiled.length + 1,
      quarantined: found.filter(inQuarantine).length,
    });
    expect(booksOf(state).fragments).toMatchObject({ quarantined: spoiled.length + 1, journaled: 0 });
    expect(found.filter(inQuarantine)).toHaveLength(spoiled.length + 1);
    expect(described(found, canaries).filter(leak => !leak.includes('in quarantine/'))).toEqual([]);
  });

  it('S3 are not sent with requested content either', { timeout: 60_000 }, async () => {
    const every = bySize({ quick: 3, ci: 1, full: 1 });
    const some = planted.filter((_, i) => i % every === 1 % every);
    const variables = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' };
    const { state, out } = await deliverAll(some.map(inItsOwnSession), { variables });
    // The name of a database is not a secret.
    const leaks = described(findIn([...out, ...filesOf(state)]), canaries).filter(
      leak => !leak.startsWith('a database'),
    );
    row('S3', 'the same with prompts, answers, arguments and results', {
      faults: canaries.size,
      obligations: some.length,
      lost: leaks.length,
    });
    expect(leaks).toEqual([]);
    for (const path of ['/v1/traces', '/v1/logs', 'agent hooks log'])
      expect(
        Buffer.concat(out.flatMap(([where, bytes]) => (where === path ? [bytes] : []))).includes('[redacted:'),
        path,
      ).toBe(true);
  });

  it('S3 are found when the program does not redact', { timeout: 60_000 }, async () => {
    const every = bySize({ quick: 3, ci: 1, full: 1 });
    const some = planted.filter((_, i) => i % every === 0);
    const { state, out } = await deliverAll(some, { program: await withoutRedaction() });
    const found = findIn([...out, ...filesOf(state)]);
    const leaking = new Set(found.flatMap(({ marks }) => marks).map(mark => canaries.get(mark)));
    for (const { id } of agents)
      expect(
        [...leaking].some(canary => canary?.agent === id),
        id,
      ).toBe(true);
    expect(new Set([...leaking].map(canary => canary?.kind))).toEqual(new Set(kinds));
    expect(found.some(({ where }) => where.startsWith('journal/'))).toBe(true);
    expect(found.some(({ where }) => where === 'agent hooks log')).toBe(true);
  });
});

/** The transcript path and rows of each agent that writes its sessions by lines. */
function transcripts(): { path: string; lines: string[] }[] {
  const root = fileURLToPath(new URL('../agents', import.meta.url));
  return agents.flatMap(({ id }) =>
    fs
      .readdirSync(join(root, id))
      .filter(file => file.endsWith('.transcript'))
      .map(file => {
        const [head = ''] = fs.readFileSync(join(root, id, file), 'utf8').split(/^---- expected\n/m);
        const path = /^# path: (.*)$/m.exec(head)?.[1] ?? '';
        return { path, lines: head.split('\n').filter(line => line.startsWith('{')) };
      }),
  );
}

/** The program without redaction. */
async function withoutRedaction(): Promise<typeof deliver> {
  const entry = fileURLToPath(new URL('../../src/deliver/deliver.ts', import.meta.url));
  const line = 'const kept = redactBody(body, { hash, omit });';
  const bundle = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    mainFields: ['module', 'main'],
    conditions: ['module', 'import'],
    define: { __VERSION__: '"0.0.0"' },
    plugins: [
      {
        name: 'without redaction',
        setup({ onLoad }) {
          onLoad({ filter: /src\/enrich\/redact\.ts$/ }, ({ path }) => {
            const text = fs.readFileSync(path, 'utf8');
            if (text.split(line).length !== 2) throw new Error(`${basename(path)} has not once: ${line}`);
            return { loader: 'ts', contents: text.replace(line, 'const kept = body;') };
          });
        },
      },
    ],
  });
  const { folder, leave } = room();
  rooms.push(leave);
  const file = join(folder, 'deliver.mjs');
  fs.writeFileSync(file, bundle.outputFiles[0]?.text ?? '');
  const loaded = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as { deliver: typeof deliver };
  return loaded.deliver;
}
