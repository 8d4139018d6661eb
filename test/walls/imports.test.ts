/**
 * The import rules between the folders of `src`. The table shows the data flow: a folder cannot use a folder that its
 * row does not list. `lib <- event <- agents, standards`; `event <- enrich, assemble <- telemetry <- ship`; the store
 * sees only lines and bytes.
 */
import { describe, expect, it } from 'vitest';
import { nodes, type Source, sources, textOf, wordOf } from './sources.ts';

interface Room {
  /** Other folders, or single files of them. */
  readonly sees: readonly string[] | 'all';
  readonly packages: readonly RegExp[] | 'all';
  /** The folder uses no clock, no random numbers, no environment and no disk. */
  readonly pure?: true;
}

const node = /^node:/;
const openTelemetry = /^@opentelemetry\//;

const rooms: Readonly<Record<string, Room>> = {
  lib: { sees: [], packages: [node] },
  event: { sees: ['lib'], packages: [], pure: true },
  // Below an agent's folder, only interchange.ts sees interchange (tested below).
  agents: {
    sees: ['lib', 'event', 'interchange'],
    packages: [/^(jsonc-parser|smol-toml)$/, /^node:path$/],
    pure: true,
  },
  // The Agent Hooks validator looks for the same secrets as redaction.
  standards: {
    sees: ['lib', 'event', 'enrich/secrets.ts', 'interchange'],
    packages: [/^(zod|yaml|jsonc-parser)$/],
    pure: true,
  },
  interchange: { sees: ['lib', 'standards'], packages: [/^(zod|yaml|jsonc-parser)$/], pure: true },
  enrich: { sees: ['lib', 'event'], packages: [], pure: true },
  assemble: { sees: ['lib', 'event'], packages: [], pure: true },
  telemetry: { sees: ['lib', 'event', 'assemble', 'python/span-names.ts'], packages: [openTelemetry], pure: true },
  // Compatibility with the Python package; it is removed in 1.0.
  python: {
    sees: ['lib', 'event', 'agents', 'assemble/finished.ts', 'config', 'telemetry/names.ts', 'transcripts/eyes.ts'],
    packages: [/^node:(fs|path)$/, openTelemetry],
    pure: true,
  },
  ship: { sees: ['lib', 'telemetry', 'config', 'problems', 'store'], packages: [node] },
  store: { sees: ['lib', 'problems', 'hook/fragment.ts'], packages: [node] },
  hook: { sees: [], packages: [node] },
  receive: {
    sees: [
      'lib',
      'event',
      'agents',
      'standards',
      'enrich',
      'identify',
      'session',
      'python/payload-fields.ts',
      'hook/fragment.ts',
    ],
    packages: [],
    pure: true,
  },
  identify: {
    sees: ['lib', 'event', 'agents', 'standards', 'enrich', 'receive/foreign.ts', 'session/session-state.ts'],
    packages: [],
    pure: true,
  },
  session: {
    sees: [
      'lib',
      'event',
      'agents',
      'enrich',
      'assemble',
      'telemetry',
      'config',
      'problems',
      'receive/receive.ts',
      'identify',
      'transcripts/eyes.ts',
      'hook/fragment.ts',
    ],
    packages: [/^node:(os|path)$/, /^re2js$/, /^@pydantic\/genai-prices$/],
  },
  // The only folder that reads the files that agents wrote. It writes nothing.
  transcripts: {
    sees: ['lib', 'event', 'agents', 'identify', 'session', 'assemble'],
    packages: [/^node:(fs|path|zlib)$/],
  },
  config: { sees: ['lib', 'event', 'problems', 'python/folder.ts'], packages: [node, /^zod$/, /^jsonc-parser$/] },
  // Problems are data: the folders that report them import their types from here.
  problems: { sees: ['lib'], packages: [] },
  setup: { sees: ['lib', 'agents', 'problems', 'hook'], packages: [node] },
  journal: { sees: ['lib', 'event', 'agents/index.ts', 'assemble', 'store'], packages: [] },
  view: {
    // Files of `show` reuse the pure parts of the page: axis, rows and numbers. The server packs the rows of its list.
    sees: [
      'lib',
      'event',
      'standards',
      'assemble',
      'journal',
      'telemetry',
      'store',
      'page/data.ts',
      'page/packed-rows.ts',
      'page/axis.ts',
      'page/tree.ts',
      'page/format.ts',
      'page/groups.ts',
    ],
    packages: [/^node:(crypto|http|stream|stream\/promises|zlib)$/],
  },
  query: {
    sees: ['lib', 'event', 'assemble', 'journal', 'store', 'view/trial-sessions.ts'],
    packages: [/^node:(fs|module|path)$/],
  },
  mcp: {
    sees: ['lib', 'assemble', 'journal', 'store', 'view'],
    packages: [/^@modelcontextprotocol\/sdk\//, /^zod$/],
  },
  // The page of `view`. It runs in a browser; the server shares the types of its values.
  page: { sees: ['journal/span-counts.ts'], packages: [/^preact(\/hooks)?$/] },
  // Runs commands that a person agreed to; the project names them, the journal supplies their events.
  openhook: {
    sees: [
      'lib',
      'event',
      'standards',
      'config',
      'problems',
      'documents',
      'session',
      'assemble',
      'store',
      'setup',
      'transcripts',
    ],
    packages: [/^node:(fs|path|child_process)$/],
  },
  serve: {
    sees: ['lib', 'event', 'agents', 'standards', 'config', 'problems', 'identify', 'receive', 'hook'],
    packages: 'all',
  },
  // The table of the documents in the state folder. Each document's owner defines its type and its parse function.
  documents: {
    sees: [
      'lib',
      'config',
      'problems',
      'receive',
      'transcripts',
      'telemetry',
      'ship/standing.ts',
      'openhook/mark.ts',
      'journal/session-index.ts',
      'journal/short-status.ts',
      'store',
    ],
    packages: [/^node:crypto$/],
  },
  // The only composition of the stages, and its users.
  pipeline: {
    sees: [
      'lib',
      'documents',
      'event',
      'agents',
      'standards',
      'hook',
      'store',
      'config',
      'problems',
      'receive',
      'identify',
      'enrich',
      'session',
      'transcripts',
      'journal',
      'assemble',
      'telemetry',
      'openhook',
      'python/sent-before.ts',
    ],
    packages: [/^node:(fs|path|crypto|os|child_process)$/],
  },
  // Delivery runs in a process of its own, or in a worker thread of `serve`.
  deliver: { sees: 'all', packages: [/^node:(fs|path|os|timers\/promises|util|worker_threads|zlib)$/] },
  library: {
    sees: 'all',
    // Hooks that a file declares are commands, and the front matter of a page is YAML.
    packages: [
      /^node:(crypto|os|async_hooks|path|child_process)$/,
      /^(re2js|@pydantic\/genai-prices|yaml)$/,
      openTelemetry,
    ],
  },
  demo: { sees: ['lib', 'agents', 'setup', 'deliver', 'telemetry'], packages: [node] },
  doctor: {
    sees: [
      'lib',
      'agents',
      'config',
      'problems',
      'python/program.ts',
      'setup',
      'ship',
      'telemetry',
      // Whether an agent's hooks arrive, although it writes transcripts.
      'journal/session-index.ts',
      'store',
      'transcripts/eyes.ts',
    ],
    packages: [node, openTelemetry],
  },
  commands: { sees: 'all', packages: 'all' },
  'kicked.ts': { sees: 'all', packages: [node] },
  'import-process.ts': { sees: ['lib', 'pipeline'], packages: [] },
  'cli.ts': { sees: 'all', packages: 'all' },
  'index.ts': { sees: 'all', packages: 'all' },
  'sdk.ts': { sees: ['library'], packages: [] },
  'bin.ts': { sees: ['hook', 'run-hook', 'cli.ts', 'short.ts'], packages: [] },
  'short.ts': { sees: ['hook'], packages: [/^node:(fs|os)$/] },
  // An agent waits for it before a guarded action: it loads no table that it does not need.
  'run-hook': { sees: ['lib', 'event', 'agents'], packages: [/^node:(fs|path|child_process)$/] },
};

/** Folders that only these folders import; the entry points compose the program and are left out. */
const seenOnlyBy: Readonly<Record<string, readonly string[]>> = {
  view: ['commands', 'doctor', 'mcp', 'query'],
  query: ['commands'],
  mcp: ['commands'],
  page: ['view', 'commands'],
  commands: [],
};

const all = sources();

describe('import rules between the folders of src', () => {
  it('name every folder', () => {
    expect([...new Set(all.map(source => source.room))].filter(room => rooms[room] === undefined)).toEqual([]);
  });

  it.each(Object.keys(rooms))('%s imports only the folders in its row', room => {
    const rule = rooms[room];
    const strangers = inRoom(room).flatMap(source =>
      source.imports
        .filter(path => !(rule?.sees === 'all' || path.split('/')[0] === room || isSeen(path, rule?.sees ?? [])))
        .map(path => `${source.path} imports ${path}`),
    );
    expect(strangers).toEqual([]);
  });

  it.each(Object.keys(rooms))('%s imports only the packages in its row', room => {
    const rule = rooms[room];
    const strangers = inRoom(room).flatMap(source =>
      source.packages
        .filter(name => !(rule?.packages === 'all' || rule?.packages.some(pattern => pattern.test(name))))
        .map(name => `${source.path} imports ${name}`),
    );
    expect(strangers).toEqual([]);
  });

  it.each(Object.keys(rooms))('%s uses every permission in its row', room => {
    const { sees = [], packages = [] } = rooms[room] ?? {};
    const imports = inRoom(room).flatMap(source => source.imports);
    const names = inRoom(room).flatMap(source => source.packages);
    const unused = [
      ...(sees === 'all' ? [] : sees.filter(seen => !imports.some(path => isSeen(path, [seen])))),
      ...(packages === 'all' ? [] : packages.filter(pattern => !names.some(name => pattern.test(name)))),
    ];
    expect(unused.map(String)).toEqual([]);
  });

  it.each(Object.entries(seenOnlyBy))('only the listed folders and the entry points import %s', (folder, importers) => {
    const strangers = all
      .filter(({ room, path }) => path.includes('/') && room !== folder && !importers.includes(room))
      .flatMap(({ path, imports }) => imports.filter(to => isSeen(to, [folder])).map(to => `${path} imports ${to}`));
    expect(strangers).toEqual([]);
  });

  it('below the folder of an agent, only interchange.ts imports interchange', () => {
    const strangers = inRoom('agents')
      // The contract names the type of these tables.
      .filter(({ path }) => !path.endsWith('/interchange.ts') && path !== 'agents/contract/contract.ts')
      .flatMap(({ path, imports }) => imports.filter(to => isSeen(to, ['interchange'])).map(to => `${path} ${to}`));
    expect(strangers).toEqual([]);
  });

  it('hook/ imports node modules lazily if Node itself has not loaded them', () => {
    const loadedByNode = ['node:fs', 'node:path'];
    const eager = inRoom('hook').flatMap(source =>
      nodes(source.program)
        .filter(item => item.type === 'ImportDeclaration' && item.importKind !== 'type')
        .map(item => textOf(item.source as never) ?? '')
        .filter(name => node.test(name) && !loadedByNode.includes(name))
        .map(name => `${source.path} imports ${name}`),
    );
    expect(eager).toEqual([]);
  });

  it('zod is imported as a namespace, because the object `z` holds all languages, four fifths of its size', () => {
    const whole = all.filter(source =>
      nodes(source.program)
        .filter(item => item.type === 'ImportDeclaration' && item.importKind !== 'type')
        .flatMap(item => (Array.isArray(item.specifiers) ? item.specifiers : []))
        .some(item => item.type === 'ImportSpecifier' && isNamed(item.imported, 'z')),
    );
    expect(whole.map(source => source.path)).toEqual([]);
  });

  it('the only index.ts files are the registry of agents/ and the public entry of src/', () => {
    const barrels = all.map(source => source.path).filter(path => path.endsWith('/index.ts') || path === 'index.ts');
    expect(barrels.filter(path => path !== 'index.ts' && path !== 'agents/index.ts')).toEqual([]);
  });
});

describe('the stages in the middle are pure', () => {
  const pure = all.filter(source => rooms[source.room]?.pure);

  it.each(Object.keys(rooms).filter(room => rooms[room]?.pure))(
    '%s uses no clock, no random numbers and no environment',
    room => {
      expect(
        inRoom(room)
          .filter(source => pure.includes(source))
          .flatMap(impurities),
      ).toEqual([]);
    },
  );
});

function inRoom(room: string): Source[] {
  return all.filter(source => source.room === room);
}

function isSeen(path: string, sees: readonly string[]): boolean {
  return sees.some(seen => path === seen || path.startsWith(`${seen}/`));
}

function impurities(source: Source): string[] {
  const found = nodes(source.program).flatMap(item => {
    if (item.type === 'NewExpression' && isNamed(item.callee, 'Date') && isEmpty(item.arguments)) return ['new Date()'];
    if (item.type !== 'MemberExpression') return [];
    if (isNamed(item.object, 'Date') && isNamed(item.property, 'now')) return ['Date.now'];
    if (isNamed(item.object, 'Math') && isNamed(item.property, 'random')) return ['Math.random'];
    if (isNamed(item.object, 'performance')) return ['performance'];
    return isNamed(item.object, 'process') ? ['process'] : [];
  });
  return found.map(name => `${source.path} uses ${name}`);
}

function isNamed(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && wordOf(value as never) === name;
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
