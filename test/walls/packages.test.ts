/** The table of ARCHITECTURE.md that lists where the packages of OpenTelemetry, zod and the test tools are used. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isNode, nodes, root, type Source, sources, textOf } from './sources.ts';

const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
const section = text.slice(text.indexOf('## Where the packages work'), text.indexOf('## Dependencies'));
const rows = [...section.matchAll(/^\| `([@\w/-]+)` \| (.*?) \| (.*?)\|$/gm)].map(
  ([, name = '', how = '', files = '']) => ({
    name,
    how,
    files: [...files.matchAll(/`src\/([^`]+)`/g)].map(match => match[1] ?? ''),
  }),
);

const all = sources();
const isOf = (name: string, specifier: string): boolean => specifier === name || specifier.startsWith(`${name}/`);

/** Whether a file loads a package: an import of a value, or a dynamic import. Types leave no trace in the code. */
function loads({ program }: Source, name: string): boolean {
  return nodes(program).some(node => {
    const { source } = node;
    if (!isNode(source) || !isOf(name, textOf(source) ?? '')) return false;
    if (node.type === 'ImportExpression') return true;
    if (node.importKind === 'type' || node.exportKind === 'type') return false;
    if (node.type !== 'ImportDeclaration') return true;
    const specifiers = Array.isArray(node.specifiers) ? node.specifiers : [];
    return specifiers.some(each => isNode(each) && each.importKind !== 'type');
  });
}

const dist = join(root, 'dist');
const bundles = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  .filter(name => /\.[cm]?js$/.test(name))
  .map(name => ({ name, text: readFileSync(join(dist, name), 'utf8') }));
const bundled = new Set(
  (JSON.parse(readFileSync(join(dist, 'sbom.cdx.json'), 'utf8')).components as { name: string; group?: string }[]).map(
    ({ name, group }) => (group === undefined || group === '' ? name : `${group}/${name}`),
  ),
);
/** Bundles that load a package when they run. */
const loadersOf = (name: string): string[] =>
  bundles
    .filter(bundle => new RegExp(`(from |import\\(|require\\()["']${name}(/[^"']*)?["']`).test(bundle.text))
    .map(bundle => bundle.name)
    .sort();

it('the table names the packages that the project is based on', () => {
  expect(rows.map(({ name }) => name)).toEqual([
    '@opentelemetry/api',
    '@opentelemetry/sdk-trace-node',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/sdk-logs',
    '@opentelemetry/semantic-conventions',
    'zod',
    'vitest',
    'testcontainers',
  ]);
});

describe.each(rows.map(row => [row.name, row] as const))('%s', (name, { how, files }) => {
  it('is imported by the listed files of src and by no other', () => {
    const found = all.filter(source => loads(source, name)).map(({ path }) => path);
    expect(found.sort()).toEqual([...files].sort());
  });

  it('is bundled, or loaded by otel-hooks/sdk, or missing, as the table states', () => {
    const isInSdk = /loaded by `otel-hooks\/sdk`|`otel-hooks\/sdk` and the bridge use the application's copy/.test(how);
    expect(bundled.has(name)).toBe(how.startsWith('bundled'));
    expect(loadersOf(name).filter(bundle => /^sdk\.c?js$/.test(bundle))).toEqual(isInSdk ? ['sdk.cjs', 'sdk.js'] : []);
    expect(how.startsWith('not at run time')).toBe(files.length === 0);
  });

  it('is not loaded by a file of the hook', () => {
    expect(files.filter(file => file.startsWith('hook/') || file === 'bin.ts')).toEqual([]);
    expect(loadersOf(name)).not.toContain('otel-hooks.cjs');
  });
});
