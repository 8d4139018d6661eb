/** Names of OpenTelemetry come from `@opentelemetry/semantic-conventions`, and only these names of it are in the bundles. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, it } from 'vitest';
import { development, metrics, operations, stable } from '../../src/telemetry/names.ts';
import { nodes, root, sources, textOf } from './sources.ts';

const PACKAGE = /^@opentelemetry\/semantic-conventions(\/|$)/;
const defined = new Map<string, string>();
for (const [constant, value] of Object.entries<unknown>(conventions))
  if (typeof value === 'string' && /^(ATTR|METRIC|EVENT)_/.test(constant)) defined.set(constant, value);
const all = sources();
const names = all.find(({ path }) => path === 'telemetry/names.ts');
if (names === undefined) throw new Error('src/telemetry/names.ts is missing');
const spelledOut = new Set(nodes(names.program).flatMap(node => textOf(node) ?? []));
const imported = new Set(
  nodes(names.program).flatMap(node => (node.type === 'ImportSpecifier' ? [local(node.imported)] : [])),
);

function local(node: unknown): string {
  return typeof node === 'object' && node !== null && 'name' in node ? String(node.name) : '';
}

describe('names of OpenTelemetry', () => {
  it('are imported when the package defines them', () => {
    expect([...defined.values()].filter(name => spelledOut.has(name))).toEqual([]);
  });

  it('have a comment with their source when the package does not define them yet', () => {
    const shown = [stable, development, operations].flatMap(each => Object.values<string>(each));
    const theirs = [...shown, ...Object.values(metrics).map(({ name }) => name)].filter(
      name => !name.startsWith('agent_hooks.'),
    );
    const newer = theirs.filter(name => spelledOut.has(name));
    expect(newer.length).toBeGreaterThan(10);
    const withoutSource = newer.filter(
      name => !names.text.split('\n').some(line => line.includes(`'${name}', // semantic-conventions-genai, `)),
    );
    expect(withoutSource).toEqual([]);
  });

  it('are imported by names.ts alone, and by no file that a hook loads', () => {
    const importers = all.filter(({ packages }) => packages.some(name => PACKAGE.test(name)));
    expect(importers.map(({ path }) => path)).toEqual(['telemetry/names.ts']);
    const loaded = new Set<string>();
    const queue = ['bin.ts', ...all.filter(({ room }) => room === 'hook').map(({ path }) => path)];
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      // The bin loads the commands at run time, and never for a hook.
      if (loaded.has(path) || path === 'cli.ts') continue;
      loaded.add(path);
      queue.push(...(all.find(source => source.path === path)?.imports ?? []));
    }
    expect([...loaded]).not.toContain('telemetry/names.ts');
  });
});

describe('the bundles', () => {
  const dist = join(root, 'dist');
  const bundles = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(name => /\.[cm]?js$/.test(name));
  const own = new Set(all.flatMap(({ program }) => nodes(program).flatMap(node => textOf(node) ?? [])));
  const rest = [...defined].filter(([constant, name]) => !imported.has(constant) && !own.has(name));

  it('contain no other constant of the package', () => {
    expect(bundles.length).toBeGreaterThan(5);
    expect(rest.length).toBeGreaterThan(1000);
    const strangers = bundles.flatMap(bundle => {
      const text = readFileSync(join(dist, bundle), 'utf8');
      const quoted = new Set([...text.matchAll(/["'`]([a-z0-9_.]+)["'`]/g)].map(match => match[1]));
      const constants = new Set(text.match(/\b(?:ATTR|METRIC|EVENT)_[A-Z0-9_]+\b/g));
      const found = rest.filter(([constant, name]) => quoted.has(name) || constants.has(constant));
      return found.map(([constant]) => `${bundle}: ${constant}`);
    });
    expect(strangers).toEqual([]);
  });

  it('contain the imported names as text, and load no package for them', () => {
    const library = readFileSync(join(dist, 'library.js'), 'utf8');
    for (const constant of imported) {
      const name = defined.get(constant);
      if (constant.startsWith('ATTR_')) expect(library).toContain(`"${name}"`);
    }
    for (const bundle of bundles)
      expect(readFileSync(join(dist, bundle), 'utf8')).not.toMatch(/["']@opentelemetry\/semantic-conventions/);
  });

  it('of the hook contain none of the names', () => {
    const bin = readFileSync(join(dist, 'otel-hooks.cjs'), 'utf8');
    expect([...Object.values(stable), ...Object.values(development)].filter(name => bin.includes(name))).toEqual([]);
  });
});
