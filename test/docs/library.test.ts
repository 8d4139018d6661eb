/** The declarations of the package for developers: each export has a description and an example, which compiles. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { type Exported, publicInterface } from './library-page.ts';

const root = join(import.meta.dirname, '..', '..');
const all = publicInterface();

it('every export of the package has a description and an example', () => {
  expect(all.length).toBeGreaterThan(60);
  expect(all.filter(({ about }) => !/^[A-Z`].*[.:]/s.test(about)).map(({ name }) => name)).toEqual([]);
  expect(all.filter(({ examples }) => examples.every(code => code === '')).map(({ name }) => name)).toEqual([]);
});

/**
 * Names that the examples use without an import: the other exports, packages of OpenTelemetry, and values of the
 * reader.
 */
const foreign: Readonly<Record<string, string>> = {
  BatchSpanProcessor: '@opentelemetry/sdk-trace-node',
  ConsoleSpanExporter: '@opentelemetry/sdk-trace-node',
  InMemorySpanExporter: '@opentelemetry/sdk-trace-node',
  NodeTracerProvider: '@opentelemetry/sdk-trace-node',
  RandomIdGenerator: '@opentelemetry/sdk-trace-node',
  SimpleSpanProcessor: '@opentelemetry/sdk-trace-node',
  TraceIdRatioBasedSampler: '@opentelemetry/sdk-trace-node',
  LoggerProvider: '@opentelemetry/sdk-logs',
  MeterProvider: '@opentelemetry/sdk-metrics',
  OTLPTraceExporter: '@opentelemetry/exporter-trace-otlp-http',
  createReadStream: 'node:fs',
  readFileSync: 'node:fs',
};
const ofReader: Readonly<Record<string, string>> = {
  bridge: "import('otel-hooks').Bridge",
  event: "import('otel-hooks').AgentHooksEvent",
  hooks: "import('otel-hooks').HookRunner",
  payload: "import('otel-hooks').HookPayload",
  spanProcessors: "import('@opentelemetry/sdk-trace-node').SpanProcessor[]",
  text: 'string',
  tracerProvider: "import('otel-hooks').BridgeTracerProvider",
};

/** The example in a block, so that its names hide those that are imported or declared for it. */
function moduleOf(code: string): string {
  const lines = code.split('\n');
  const imports = lines.filter(line => line.startsWith('import '));
  const isUsed = (name: string): boolean => new RegExp(`(?<!['"\\w.-])${name}\\b(?!')`).test(code);
  const isImported = (name: string): boolean => imports.some(line => new RegExp(`\\b${name}\\b`).test(line));
  const own = new Map(all.map(({ name, entry }): [string, string] => [name, entry]));
  for (const [name, from] of [...own, ...Object.entries(foreign)])
    if (isUsed(name) && !isImported(name)) imports.push(`import { ${name} } from '${from}';`);
  for (const [name, type] of Object.entries(ofReader))
    if (isUsed(name)) imports.push(`declare const ${name}: ${type};`);
  return [...imports, '{', ...lines.filter(line => !line.startsWith('import ')), '}', 'export {};'].join('\n');
}

/** Compiles each file as a module of its own, against the packed declarations. Returns what the compiler prints. */
function compiled(files: ReadonlyMap<string, string>): string {
  const folder = mkdtempSync(join(root, 'node_modules', '.documented-'));
  try {
    for (const [name, text] of files) writeFileSync(join(folder, name), text);
    const types = join(root, 'dist', 'types');
    const compilerOptions = {
      ...{ strict: true, noEmit: true, target: 'es2022', lib: ['es2023', 'esnext.disposable'], types: ['node'] },
      ...{ module: 'nodenext', skipLibCheck: true, exactOptionalPropertyTypes: true },
      paths: { 'otel-hooks': [join(types, 'index.d.ts')], 'otel-hooks/sdk': [join(types, 'sdk.d.ts')] },
    };
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [...files.keys()] }));
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
    return spawnSync(process.execPath, [tsc, '-p', folder], { cwd: folder, encoding: 'utf8' }).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('every example of the declarations and of docs/library.md compiles in strict TypeScript', () => {
  const page = readFileSync(join(root, 'docs', 'library.md'), 'utf8');
  const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(match => match[1] ?? '');
  expect(blocks.length).toBeGreaterThanOrEqual(6);
  const fileOf = ({ entry, name }: Exported): string => `${entry.replace('/', '-')}-${name}.ts`;
  const files = new Map([
    ...all.map((each): [string, string] => [fileOf(each), each.examples.map(moduleOf).join('\n')]),
    ...blocks.map((code, i): [string, string] => [`page-${i + 1}.ts`, `${code}\nexport {};`]),
  ]);
  // The compiler reports this one, so it would report the others.
  files.set('wrong.ts', moduleOf('const agent: AgentId = 7;'));
  const reported = compiled(files)
    .split('\n')
    .filter(line => line !== '');
  expect(reported).toEqual([expect.stringMatching(/^wrong\.ts\(\d+,\d+\): error TS2322/)]);
});

it('docs/library.md explains every code of an error and every reason of a refusal', () => {
  const page = readFileSync(join(root, 'docs', 'library.md'), 'utf8');
  const declared = (name: string): string => all.find(each => each.name === name)?.declaration ?? '';
  const words = ['BridgeErrorCode', 'RefusalReason'].flatMap(name =>
    [...declared(name).matchAll(/'([a-z-]+)'/g)].map(match => match[1] ?? ''),
  );
  expect(words.length).toBeGreaterThan(25);
  expect(words.filter(word => !page.includes(`\`${word}\``))).toEqual([]);
});
