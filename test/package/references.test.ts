/**
 * Every path that a document of the package, a help text, a problem or another text of the program names is in the package. Paths
 * of the sources belong to the repository: the documents for contributors name them, and they exist there.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { helpOf } from '../../src/commands/command.ts';
import { commands } from '../../src/commands/registry.ts';
import { filesBelow } from '../walls/sources.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The output of npm; a second home keeps its cache out of the user's home. */
function packedFiles(): string[] {
  const home = mkdtempSync(join(tmpdir(), 'otel-hooks-references-'));
  try {
    const env = { PATH: process.env.PATH, HOME: home, npm_config_update_notifier: 'false' };
    const words = ['pack', '--dry-run', '--json', '--ignore-scripts', '--silent'];
    const printed = execFileSync('npm', words, { cwd: root, env, encoding: 'utf8' });
    const [{ files }] = JSON.parse(printed) as [{ files: { path: string }[] }];
    return files.map(({ path }) => path);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

let packed: Set<string>;
beforeAll(() => {
  packed = new Set(packedFiles());
});
afterAll(() => packed.clear());

/** A file of the package, or a folder with files of it. */
const isPacked = (path: string): boolean => {
  const named = path.replace(/\/$/, '');
  return packed.has(named) || [...packed].some(file => file.startsWith(`${named}/`));
};

const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const named = (text: string, places: string): string[] =>
  [...text.matchAll(new RegExp(String.raw`(?<![\w./~:$*-])((?:${places})/[\w./-]*\w|docker-compose\.yml)`, 'g'))].map(
    match => match[1] ?? '',
  );
const inPackage = 'docs|collector-config|grafana';
const inRepository = 'src|test|scripts|bench';

const documents = filesBelow('.').filter(file => /^(docs\/.*|[A-Z]+)\.md$/.test(file));

/** Other names that look like paths of this project. */
const others: Readonly<Record<string, readonly string[]>> = {
  'ARCHITECTURE.md': ['grafana/grafana-foundation-sdk'],
  'docs/grafana-adopt.md': ['grafana/schema'],
  'docs/telemetry.md': ['src/clock.ts'],
};

describe.each(documents)('%s', file => {
  it('is in the package', () => expect(packed.has(file)).toBe(true));

  it('links to files of the package alone', () => {
    const links = [...read(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)].map(match => match[1] ?? '');
    const targets = links.map(link => posix.normalize(posix.join(posix.dirname(file), link)));
    expect(targets.filter(target => !isPacked(target))).toEqual([]);
  });

  it('names files of the package or of the repository alone', () => {
    const text = read(file);
    const known = others[file] ?? [];
    expect(named(text, inPackage).filter(path => !known.includes(path) && !isPacked(path))).toEqual([]);
    const absent = named(text, inRepository).filter(path => !known.includes(path) && !existsSync(join(root, path)));
    expect(absent).toEqual([]);
  });

  it('names scripts of package.json alone', () => {
    const scripts = [...read(file).matchAll(/npm run (?:--?\w+ )*([\w:-]+)/g)].map(match => match[1] ?? '');
    expect(scripts.filter(script => !Object.hasOwn(manifest.scripts, script))).toEqual([]);
  });
});

it.each(commands.map(command => [command.name, command] as const))(
  'the help of %s names files of the package alone',
  (_, command) => {
    expect(named(helpOf(command), inPackage).filter(path => !isPacked(path))).toEqual([]);
  },
);

it('texts of the program name files of the package alone', () => {
  const wrong = filesBelow('src').flatMap(file => {
    const texts = [...read(file).matchAll(/'[^'\n]*'|"[^"\n]*"|`[^`]*`/g)].map(([text]) => text).join('\n');
    // Pages of agents' makers do not count as our documents.
    return named(texts.replace(/https?:\/\/\S+/g, ''), 'docs|collector-config|grafana')
      .filter(path => /\.(md|ya?ml|json)$/.test(path) && !isPacked(path))
      .map(path => `${file}: ${path}`);
  });
  expect(wrong).toEqual([]);
});

it('docker-compose.yml mounts files of the package alone', () => {
  const mounted = [...read('docker-compose.yml').matchAll(/- (\.\/[^:\s]+):/g)].map(match => match[1] ?? '');
  expect(mounted.length).toBeGreaterThan(4);
  expect(mounted.map(path => posix.normalize(path)).filter(path => !isPacked(path))).toEqual([]);
});
