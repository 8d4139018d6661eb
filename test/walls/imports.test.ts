/**
 * Who may import whom. The way of the data can be read off this table: what a room does not list it cannot know.
 * `lib <- event <- agents, standards`; `event <- enrich, assemble <- telemetry <- ship`; the store sees lines and bytes.
 */
import { describe, expect, it } from 'vitest';
import { nodes, type Source, sources, textOf, wordOf } from './sources.ts';

interface Room {
  /** Other rooms, or single files of them. */
  readonly sees: readonly string[] | 'all';
  readonly packages: readonly RegExp[] | 'all';
  /** Values in, values out: no clock, no chance, no environment, no disk. */
  readonly pure?: true;
}

const node = /^node:/;
const openTelemetry = /^@opentelemetry\//;
const hashes = /^node:crypto$/;

const rooms: Readonly<Record<string, Room>> = {
  lib: { sees: [], packages: [node] },
  event: { sees: ['lib'], packages: [], pure: true },
  // The shape of a provider's tables is defined by the interchange format.
  agents: {
    sees: ['lib', 'event', 'interchange'],
    packages: [/^(jsonc-parser|smol-toml)$/, /^node:path$/],
    pure: true,
  },
  // The table of secrets is shared with the checks of the Agent Hooks validator.
  standards: {
    sees: ['lib', 'event', 'enrich/secrets.ts', 'interchange'],
    packages: [/^(zod|yaml|jsonc-parser)$/],
    pure: true,
  },
  interchange: { sees: ['lib', 'standards'], packages: [/^(zod|yaml|jsonc-parser)$/], pure: true },
  enrich: { sees: ['lib', 'event'], packages: [hashes], pure: true },
  assemble: { sees: ['lib', 'event'], packages: [], pure: true },
  telemetry: { sees: ['lib', 'event', 'assemble'], packages: [openTelemetry], pure: true },
  ship: { sees: ['lib', 'telemetry', 'config', 'problems', 'store'], packages: [node] },
  store: { sees: ['lib', 'hook/fragment.ts'], packages: [node] },
  hook: { sees: [], packages: [node] },
  receive: {
    sees: ['lib', 'event', 'agents', 'standards', 'enrich', 'identify', 'session', 'hook/fragment.ts'],
    packages: [],
    pure: true,
  },
  // Gives a reading its envelope, its id and what is added to it.
  identify: {
    sees: ['lib', 'event', 'agents', 'standards', 'enrich', 'receive/foreign.ts', 'session/session-state.ts'],
    packages: [],
    pure: true,
  },
  // The state of a session, and what is decided once for it: its configuration, rules, content, prices, repository.
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
  // The only place that reads what agents wrote; it writes nothing.
  transcripts: {
    sees: ['lib', 'event', 'agents', 'receive', 'identify', 'session', 'assemble'],
    packages: [/^node:(fs|path|zlib)$/],
  },
  // Of risk and content only the words that settings are written in.
  config: {
    sees: ['lib', 'problems', 'enrich/risk/subject.ts', 'enrich/watch.ts', 'enrich/content.ts'],
    packages: [node, /^zod$/, /^jsonc-parser$/],
  },
  // The union of the problems that each folder can report.
  problems: { sees: ['lib', 'setup/setup.ts', 'store/folder.ts'], packages: [] },
  setup: { sees: ['lib', 'agents', 'hook'], packages: [node] },
  view: {
    sees: ['lib', 'event', 'standards', 'agents/index.ts', 'assemble', 'journal', 'telemetry', 'store'],
    packages: [],
  },
  // The events of journals, and the fold over them.
  journal: { sees: ['lib', 'event', 'agents/index.ts', 'assemble', 'store'], packages: [] },
  serve: { sees: 'all', packages: 'all' },
  // Runs commands that a person agreed to; the project names them, the journal feeds them.
  openhook: { sees: 'all', packages: [/^node:(fs|path|child_process)$/] },
  // The one composition of the stages, and its uses.
  pipeline: { sees: 'all', packages: [/^node:(fs|path|crypto)$/] },
  // Delivery is a process or a thread, and there gives way to the thread that answers.
  deliver: { sees: 'all', packages: [/^node:(fs|path|crypto|os|worker_threads)$/] },
  library: { sees: 'all', packages: [/^node:(crypto|async_hooks)$/, openTelemetry] },
  demo: { sees: 'all', packages: [node] },
  doctor: { sees: 'all', packages: [node, openTelemetry] },
  commands: { sees: 'all', packages: 'all' },
  'kicked.ts': { sees: 'all', packages: [node] },
  'cli.ts': { sees: 'all', packages: 'all' },
  'index.ts': { sees: 'all', packages: 'all' },
  'bin.ts': { sees: ['hook', 'cli.ts'], packages: [] },
};

const all = sources();

describe('import rules between the folders of src', () => {
  it('name every folder', () => {
    expect([...new Set(all.map(source => source.room))].filter(room => rooms[room] === undefined)).toEqual([]);
  });

  it.each(Object.keys(rooms))('%s sees only what it may', room => {
    const rule = rooms[room];
    const strangers = inRoom(room).flatMap(source =>
      source.imports
        .filter(path => !(rule?.sees === 'all' || path.split('/')[0] === room || isSeen(path, rule?.sees ?? [])))
        .map(path => `${source.path} imports ${path}`),
    );
    expect(strangers).toEqual([]);
  });

  it.each(Object.keys(rooms))('%s uses only its packages', room => {
    const rule = rooms[room];
    const strangers = inRoom(room).flatMap(source =>
      source.packages
        .filter(name => !(rule?.packages === 'all' || rule?.packages.some(pattern => pattern.test(name))))
        .map(name => `${source.path} imports ${name}`),
    );
    expect(strangers).toEqual([]);
  });

  it('hook/ loads lazily what Node itself has not loaded before it', () => {
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

  it('zod is imported as a namespace: the object `z` holds all its languages, four fifths of its size', () => {
    const whole = all.filter(source =>
      nodes(source.program)
        .filter(item => item.type === 'ImportDeclaration' && item.importKind !== 'type')
        .flatMap(item => (Array.isArray(item.specifiers) ? item.specifiers : []))
        .some(item => item.type === 'ImportSpecifier' && isNamed(item.imported, 'z')),
    );
    expect(whole.map(source => source.path)).toEqual([]);
  });

  it('there are no barrels: index.ts is a registry in agents/ and the public door in src/, and nothing else', () => {
    const barrels = all.map(source => source.path).filter(path => path.endsWith('/index.ts') || path === 'index.ts');
    expect(barrels.filter(path => path !== 'index.ts' && path !== 'agents/index.ts')).toEqual([]);
  });
});

describe('the middle is pure', () => {
  const pure = all.filter(source => rooms[source.room]?.pure);

  it.each(Object.keys(rooms).filter(room => rooms[room]?.pure))(
    '%s has no clock, no chance and no environment',
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
