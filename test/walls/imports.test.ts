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
  // A provider's tables have the shape that the format gives them.
  agents: {
    sees: ['lib', 'event', 'standards/interchange'],
    packages: [/^(jsonc-parser|smol-toml)$/, /^node:path$/],
    pure: true,
  },
  // What a credential looks like: one table says it.
  standards: { sees: ['lib', 'event', 'enrich/secrets.ts'], packages: [/^(zod|yaml|jsonc-parser)$/], pure: true },
  enrich: { sees: ['lib', 'event'], packages: [hashes], pure: true },
  assemble: { sees: ['lib', 'event'], packages: [], pure: true },
  telemetry: { sees: ['lib', 'event', 'assemble'], packages: [openTelemetry], pure: true },
  ship: { sees: ['lib', 'event', 'assemble', 'telemetry', 'config', 'problem.ts', 'store'], packages: [node] },
  store: { sees: ['lib', 'hook/fragment.ts'], packages: [node] },
  hook: { sees: [], packages: [node] },
  drain: {
    sees: [
      'lib',
      'event',
      'agents',
      'standards',
      'enrich',
      'assemble/state.ts',
      'config',
      'problem.ts',
      'hook/fragment.ts',
    ],
    packages: [],
    pure: true,
  },
  // The only place that reads what agents wrote; it writes nothing.
  transcripts: { sees: ['lib', 'event', 'agents', 'drain', 'assemble'], packages: [/^node:(fs|path|zlib)$/] },
  // Of risk and content only the words that settings are written in.
  config: {
    sees: ['lib', 'problem.ts', 'enrich/risk/subject.ts', 'enrich/watch.ts', 'enrich/content.ts'],
    packages: [node, /^zod$/, /^jsonc-parser$/],
  },
  // The union of what each room has to tell.
  'problem.ts': { sees: ['lib', 'setup/setup.ts', 'store/folder.ts'], packages: [] },
  setup: { sees: ['lib', 'event', 'agents', 'config', 'hook', 'problem.ts'], packages: [node] },
  view: {
    sees: ['lib', 'event', 'standards', 'agents/index.ts', 'assemble', 'telemetry', 'store', 'round.ts'],
    packages: [],
  },
  serve: { sees: 'all', packages: 'all' },
  // Runs commands that a person agreed to; what they are is read off the project, what they get off the journal.
  openhook: { sees: 'all', packages: [/^node:(fs|path|child_process)$/] },
  // The way of the data as a whole.
  'round.ts': { sees: 'all', packages: [] },
  'reconciliation.ts': { sees: ['store', 'telemetry'], packages: [] },
  'prices.ts': { sees: 'all', packages: [/^@pydantic\/genai-prices$/] },
  'pin.ts': { sees: 'all', packages: [/^node:os$/] },
  'own-rules.ts': { sees: 'all', packages: [] },
  'own-content.ts': { sees: 'all', packages: [] },
  're2.ts': { sees: ['lib'], packages: [/^re2js$/] },
  'conformance.ts': { sees: 'all', packages: [] },
  'preview.ts': { sees: 'all', packages: [/^node:crypto$/] },
  'export.ts': { sees: 'all', packages: [] },
  'import.ts': { sees: 'all', packages: [/^node:(fs|path)$/] },
  'destinations.ts': { sees: 'all', packages: [] },
  'keep.ts': { sees: 'all', packages: [] },
  'deliver.ts': { sees: 'all', packages: 'all' },
  'kicked.ts': { sees: 'all', packages: [node] },
  demo: { sees: 'all', packages: [node] },
  doctor: { sees: 'all', packages: [node, openTelemetry] },
  commands: { sees: 'all', packages: 'all' },
  'cli.ts': { sees: 'all', packages: 'all' },
  'repository.ts': { sees: ['assemble', 'enrich', 'transcripts'], packages: [/^node:path$/] },
  'bridge.ts': { sees: 'all', packages: [/^node:crypto$/, openTelemetry] },
  'hook-runner.ts': { sees: ['lib', 'standards'], packages: [/^node:async_hooks$/] },
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
