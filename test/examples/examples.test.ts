/** The examples of `examples/`: they compile in strict TypeScript against the packed types, and work as described. */
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { expect, it } from 'vitest';
import { runAgent } from '../../examples/agent.ts';
import { spansOfSession } from '../../examples/in-memory.ts';
import { createLangfuseBridge } from '../../examples/langfuse.ts';
import { createService } from '../../examples/service.ts';
import { startCollector } from '../collector.ts';

const root = join(import.meta.dirname, '..', '..');

it('compile in strict TypeScript against the packed declarations', () => {
  const file = join(root, `.examples-${process.pid}.json`);
  const examples = readdirSync(join(root, 'examples')).filter(name => name.endsWith('.ts'));
  expect(examples.length).toBeGreaterThanOrEqual(4);
  writeFileSync(
    file,
    JSON.stringify({
      compilerOptions: {
        ...{ strict: true, noEmit: true, target: 'es2022', lib: ['es2023'], types: ['node'] },
        module: 'nodenext',
        ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
        ...{ isolatedModules: true, noImplicitOverride: true, noPropertyAccessFromIndexSignature: true },
        // Of other packages only: our own types are checked with the examples.
        skipLibCheck: true,
        paths: { 'otel-hooks': ['./dist/types/index.d.ts'], 'otel-hooks/sdk': ['./dist/types/sdk.d.ts'] },
      },
      files: examples.map(name => `./examples/${name}`),
    }),
  );
  try {
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
    const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', file], { cwd: root, encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, '']);
  } finally {
    rmSync(file);
  }
});

it('the service sends the spans of posted hooks, and refuses a body that is not a hook', async () => {
  const collector = await startCollector();
  const { app, telemetry } = createService({ endpoint: collector.url });
  const post = async (payload: object): Promise<number> =>
    (await app.inject({ method: 'POST', url: '/hooks/claude-code', payload })).statusCode;
  const session = { session_id: 'in-a-service', cwd: '/shop' };
  expect(await post({ ...session, hook_event_name: 'SessionStart', source: 'startup' })).toBe(200);
  expect(await post({ ...session, hook_event_name: 'UserPromptSubmit', prompt: 'hello' })).toBe(200);
  expect(await post({ nothing: true })).toBe(400);
  await app.close();
  expect(telemetry.stats().spans).toMatchObject({ dropped: 0, failed: 0 });
  expect(telemetry.stats().spans.exported).toBe(telemetry.stats().spans.produced);
  await collector.close();
});

it('the agent emits Agent Hooks, and each event is accepted', async () => {
  const exporter = new InMemorySpanExporter();
  const refused = await runAgent({ spanExporters: [exporter], loggerProvider: false, meterProvider: false });
  expect(refused).toBe(0);
  const names = exporter.getFinishedSpans().map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['execute_tool read_file', 'execute_tool run_tests']));
});

it('a test sees the spans of a session in memory', async () => {
  expect(await spansOfSession()).toEqual(['execute_tool Bash', 'invoke_agent claude-code', 'session claude-code']);
});

it("Langfuse's processor gets the spans, with the fields that it sets at their start", async () => {
  const [langfuse, other] = [new InMemorySpanExporter(), new InMemorySpanExporter()];
  const { bridge, provider } = createLangfuseBridge(
    {
      publicKey: 'pk-lf-test',
      secretKey: 'sk-lf-test',
      exporter: langfuse,
      exportMode: 'immediate',
      environment: 'test',
    },
    [new SimpleSpanProcessor(other)],
  );
  const session = { session_id: 'for-langfuse', cwd: '/shop' };
  for (const hook of [
    { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'hello' },
    { hook_event_name: 'Stop', prompt_id: 'p1' },
    { hook_event_name: 'SessionEnd', reason: 'other' },
  ])
    bridge.ingest({ ...session, ...hook }, { tool: 'claude-code' });
  await bridge.forceFlush();
  await provider.forceFlush();
  const spans = langfuse.getFinishedSpans();
  expect(spans.length).toBeGreaterThan(0);
  expect(spans.map(({ name }) => name)).toEqual(other.getFinishedSpans().map(({ name }) => name));
  for (const { attributes } of spans) expect(attributes).toMatchObject({ 'langfuse.environment': 'test' });
  await bridge.shutdown();
  await provider.shutdown();
});
