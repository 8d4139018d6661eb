/**
 * Installs the packed tarball beside an application on OpenTelemetry SDK 2.x and beside one on 3.x: npm may print no
 * new message, and every package of the application must exist once, in its former version. Then the application feeds
 * hooks into its own SDK: both must send the same spans to a collector. Needs the npm registry.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const applications = {
  'SDK 2.x': {
    '@opentelemetry/api': '1.9.1',
    '@opentelemetry/sdk-trace-node': '2.12.0',
    '@opentelemetry/sdk-metrics': '2.12.0',
    '@opentelemetry/sdk-logs': '0.223.0',
    '@opentelemetry/exporter-trace-otlp-proto': '0.223.0',
    '@opentelemetry/exporter-trace-otlp-http': '0.223.0',
    '@opentelemetry/exporter-logs-otlp-http': '0.223.0',
    '@opentelemetry/exporter-metrics-otlp-http': '0.223.0',
    '@opentelemetry/sdk-node': '0.223.0',
  },
  'SDK 3.x': {
    '@opentelemetry/api': '1.10.0',
    '@opentelemetry/sdk-trace': '3.1.1',
    '@opentelemetry/sdk-metrics': '3.1.1',
    '@opentelemetry/sdk-logs': '3.1.1',
    '@opentelemetry/exporter-trace-otlp-proto': '0.301.1',
    '@opentelemetry/exporter-trace-otlp-http': '0.301.0',
    '@opentelemetry/exporter-logs-otlp-http': '0.301.0',
    '@opentelemetry/exporter-metrics-otlp-http': '0.301.0',
    '@opentelemetry/sdk-node': '0.301.0',
  },
};

/**
 * The code of an application with the library, and with a collector in the same process; prints the spans that reached
 * it.
 */
const program = `
import { createServer } from 'node:http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { createBridge } from 'otel-hooks';
PROCESSOR
const spans = [];
const server = createServer((request, answer) => {
  const parts = [];
  request.on('data', part => parts.push(part));
  request.on('end', () => {
    for (const { resource, scopeSpans } of JSON.parse(Buffer.concat(parts)).resourceSpans)
      for (const { scope, spans: found } of scopeSpans) for (const span of found) spans.push({ resource, scope, span });
    answer.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});
await new Promise(listening => server.listen(0, '127.0.0.1', listening));
const exporter = new OTLPTraceExporter({ url: 'http://127.0.0.1:' + server.address().port + '/v1/traces' });
const bridge = createBridge({ spanProcessors: [processorOver(exporter)], installation: 'neighbour' });
const bash = { tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } };
const hooks = [
  { hook_event_name: 'SessionStart', source: 'startup' },
  { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'x' },
  { hook_event_name: 'PreToolUse', prompt_id: 'p1', ...bash },
  { hook_event_name: 'PostToolUseFailure', prompt_id: 'p1', ...bash, error: 'Exit code 2', duration_ms: 400 },
  { hook_event_name: 'Stop', prompt_id: 'p1' },
  { hook_event_name: 'SessionEnd', reason: 'other' },
  { hook_event_name: 'SessionStart', source: 'resume' },
  { hook_event_name: 'SessionEnd', reason: 'other' },
];
let atMs = Date.UTC(2026, 2, 2);
for (const hook of hooks) bridge.ingest({ session_id: 's-1', cwd: '/x', ...hook }, { tool: 'claude-code', timeMs: (atMs += 1000) });
await bridge.shutdown();
await exporter.shutdown();
server.close();
const inOrder = (_, value) =>
  value && typeof value === 'object' && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort()) : value;
console.log(spans.map(span => JSON.stringify(span, inOrder)).sort().join('\\n'));
`;
/**
 * The entry `otel-hooks/sdk`, and a bridge in an application whose NodeSDK is configured by variables, made before and
 * after `sdk.start()`; prints how many spans each of them counted. FORM is how the application loads its packages.
 */
const entryProgram = `
import { createServer } from 'node:http';
import { createBridge } from 'otel-hooks';
import { startAgentTelemetry } from 'otel-hooks/sdk';
import { NodeSDK } from '@opentelemetry/sdk-node';
async function main() {
  const paths = [];
  const server = createServer((request, answer) => {
    paths.push(request.url);
    request.resume().on('end', () => answer.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise(listening => server.listen(0, '127.0.0.1', () => listening()));
  const endpoint = 'http://127.0.0.1:' + server.address().port;
  const feed = bridge => {
    for (const hook of [{ hook_event_name: 'SessionStart', source: 'startup' }, { hook_event_name: 'SessionEnd', reason: 'other' }])
      bridge.ingest({ session_id: 's-1', cwd: '/x', ...hook }, { tool: 'claude-code' });
  };
  const entry = startAgentTelemetry({ endpoint, resource: { 'service.name': 'neighbour' } });
  feed(entry);
  const ended = await entry.shutdown();
  const signals = [...new Set(paths)].sort().join(' ');
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = endpoint;
  process.env.OTEL_EXPORTER_OTLP_PROTOCOL = 'http/json';
  process.env.OTEL_METRICS_EXPORTER = 'otlp';
  process.env.OTEL_LOGS_EXPORTER = 'otlp';
  const before = createBridge();
  const sdk = new NodeSDK();
  sdk.start();
  const after = createBridge();
  const counts = [];
  for (const bridge of [before, after]) {
    feed(bridge);
    const flushed = await bridge.shutdown();
    const { spans, records, measurements } = bridge.stats();
    counts.push(flushed.ok, spans.exported, records.emitted, measurements.recorded === measurements.produced && measurements.produced > 0);
  }
  await sdk.shutdown();
  server.close();
  console.log(JSON.stringify([ended.ok, entry.stats().spans.exported, signals, ...counts]));
}
main();
`;
const entryExpected = JSON.stringify([true, 1, '/v1/logs /v1/metrics /v1/traces', true, 1, 2, true, true, 1, 2, true]);
const processors = {
  'SDK 2.x': `import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-node';
const processorOver = exporter => new BatchSpanProcessor(exporter);`,
  'SDK 3.x': `import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
const processorOver = exporter => new BatchSpanProcessor({ exporter });`,
};

const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-neighbours-'));
try {
  const packed = npm(root, ['pack', '--pack-destination', folder]);
  const tarball = readdirSync(folder).find(file => file.endsWith('.tgz'));
  if (packed.status !== 0 || tarball === undefined) throw new Error(`npm pack failed:\n${packed.stderr}`);
  let sent;
  for (const [name, dependencies] of Object.entries(applications)) {
    const application = join(folder, name.replace(/\W+/g, '-'));
    const problems = beside(application, dependencies, join(folder, tarball));
    const node = name === 'SDK 3.x' ? node22() : process.execPath;
    const { spans, failed } = bridged(application, processors[name], node);
    if (failed !== undefined) problems.push(`its SDK was not fed: ${failed}`);
    else if (spans.split('\n').length !== 4) problems.push(`its SDK sent other spans than four: ${spans}`);
    else if (sent !== undefined && spans !== sent) problems.push(`its SDK sent\n${spans}\n  and not\n${sent}`);
    sent ??= spans;
    problems.push(...entries(application, node));
    console.log(`beside ${name}: ${problems.length === 0 ? 'ok' : 'failed'}`);
    for (const problem of problems) console.log(`  ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

function beside(application, dependencies, tarball) {
  mkdirSync(application);
  writeFileSync(
    join(application, 'package.json'),
    JSON.stringify({ name: 'application', private: true, dependencies }),
  );
  const alone = npm(application, ['install']);
  if (alone.status !== 0) return [`the application itself could not be installed: ${alone.stderr}`];
  const before = copies(application);
  const known = new Set(warnings(alone));

  const both = npm(application, ['install', tarball]);
  if (both.status !== 0) return [`npm install failed: ${both.stderr}`];
  const after = copies(application);
  const problems = warnings(both).filter(line => !known.has(line));
  problems.push(...after.filter(copy => !before.includes(copy)).map(copy => `new in the application: ${copy}`));
  problems.push(...before.filter(copy => !after.includes(copy)).map(copy => `gone from the application: ${copy}`));
  if (!existsSync(join(application, 'node_modules', 'otel-hooks'))) problems.push('otel-hooks is not there');

  // A clean, strict installation, as in the CI of an application.
  rmSync(join(application, 'node_modules'), { recursive: true });
  rmSync(join(application, 'package-lock.json'));
  const strict = npm(application, ['install', '--strict-peer-deps']);
  if (strict.status !== 0) problems.push(`npm install --strict-peer-deps failed: ${strict.stderr}`);
  const listed = npm(application, ['ls', '--all']);
  if (listed.status !== 0) problems.push(`npm ls finds: ${listed.stderr}`);
  return problems;
}

/**
 * SDK 3.x needs Node 22, which is a package too; it is installed apart from the applications, because it brings further
 * packages.
 */
function node22() {
  const place = join(folder, 'node22');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, dependencies: { node: '22' } }));
  const installed = npm(place, ['install']);
  if (installed.status !== 0) throw new Error(`node@22 could not be installed: ${installed.stderr}`);
  return join(place, 'node_modules', 'node', 'bin', 'node');
}

/** The spans that the application's SDK sends for hooks, one per line. */
function bridged(application, processor, node) {
  writeFileSync(join(application, 'bridge.mjs'), program.replace('PROCESSOR', processor));
  const run = spawnSync(node, ['bridge.mjs'], { cwd: application, encoding: 'utf8' });
  return run.status === 0 ? { spans: run.stdout.trim() } : { failed: run.error?.message ?? run.stderr };
}

/** The program of the entry, as an ESM and as a CommonJS file. */
function entries(application, node) {
  const required = entryProgram.replace(/^import (.+) from ('.+');$/gm, 'const $1 = require($2);');
  return Object.entries({ 'entry.mjs': entryProgram, 'entry.cjs': required }).flatMap(([file, text]) => {
    writeFileSync(join(application, file), text);
    const run = spawnSync(node, [file], { cwd: application, encoding: 'utf8' });
    if (run.stdout.trim() === entryExpected) return [];
    return [`${file} printed ${run.stdout.trim()} and not ${entryExpected}; ${run.stderr.slice(0, 2_000)}`];
  });
}

/** Every installed package but ours, with its place and version. */
function copies(application) {
  const listed = npm(application, ['query', '*']);
  if (listed.status !== 0) throw new Error(`npm query failed: ${listed.stderr}`);
  return JSON.parse(listed.stdout)
    .filter(({ name, location }) => location !== '' && name !== 'otel-hooks')
    .map(({ location, version }) => `${location}@${version}`)
    .sort();
}

function warnings({ stdout, stderr }) {
  return `${stdout}\n${stderr}`.split('\n').filter(line => /\b(warn|ERESOLVE|peer)\b/i.test(line));
}

function npm(cwd, words) {
  return spawnSync('npm', [...words, '--no-audit', '--no-fund'], { cwd, encoding: 'utf8' });
}
