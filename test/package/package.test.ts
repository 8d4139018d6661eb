/** The tarball as a user gets it: installed into an empty folder, with an empty home and a bare environment. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { type Collector, startCollector } from '../collector.ts';
import { until } from '../wire/house.ts';
import { packInto } from './tarball.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let place: string;
let app: string;
let installed: string;
let env: NodeJS.ProcessEnv;
let installation: string;

beforeAll(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'otel-hooks-package-')));
  app = join(place, 'app');
  installed = join(app, 'node_modules', 'otel-hooks');
  mkdirSync(app);
  mkdirSync(join(place, 'home'));
  env = { PATH: process.env.PATH, HOME: join(place, 'home'), npm_config_update_notifier: 'false' };
  const tarball = packInto(place, env);
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "private": true }\n');
  installation = execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], {
    cwd: app,
    env,
    encoding: 'utf8',
  });
}, 60_000);
afterAll(() => rmSync(place, { recursive: true, force: true }));

function run(...words: string[]): string {
  return execFileSync(join(app, 'node_modules', '.bin', 'otel-hooks'), words, { cwd: app, env, encoding: 'utf8' });
}

it('the lock file has no field that one version of npm writes and another removes', () => {
  // npm 10 removes `libc`, npm 11 adds it with a new package: delete it, so that `npm install` changes nothing.
  expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toContain('"libc"');
});

describe('the packed tarball', () => {
  it('installs without a registry, as the only package', () => {
    expect(installation).toMatch(/added 1 package\b/);
    expect(readdirSync(join(app, 'node_modules')).filter(name => !name.startsWith('.'))).toEqual(['otel-hooks']);
  });

  it('needs nothing: no dependency but optional peers, no script that runs at installation', () => {
    const packed = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    for (const kind of ['dependencies', 'optionalDependencies', 'bundledDependencies']) {
      expect(packed).not.toHaveProperty(kind);
    }
    // An upper bound would refuse the next major of the SDK.
    for (const [name, range] of Object.entries(packed.peerDependencies)) {
      expect(range).toMatch(/^>=\d+\.\d+\.\d+$/);
      expect(packed.peerDependenciesMeta[name]).toEqual({ optional: true });
    }
    expect(Object.keys(packed.scripts).filter(name => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([]);
  });

  it('names exactly the bundled packages in its bill of materials', () => {
    const { bomFormat, metadata, components } = JSON.parse(
      readFileSync(join(installed, 'dist', 'sbom.cdx.json'), 'utf8'),
    ) as {
      bomFormat: string;
      metadata: { component: { name: string; version: string } };
      components: { name: string; version: string; purl: string; hashes: unknown[]; licenses: unknown[] }[];
    };
    expect([bomFormat, metadata.component.name, metadata.component.version]).toEqual([
      'CycloneDX',
      'otel-hooks',
      manifest.version,
    ]);
    const texts = readFileSync(join(installed, 'dist', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    const titles = [...texts.matchAll(/^(@?[a-z][\w./-]*) (\d+\.\d+\.\d+) \([\w. -]+\)$/gm)].map(
      ([, name, version]) => `${name}@${version}`,
    );
    expect(components.map(({ name, version }) => `${name}@${version}`).sort()).toEqual(titles.sort());
    expect(titles).toEqual(expect.arrayContaining([expect.stringMatching(/^zod@/), expect.stringMatching(/^re2js@/)]));
    expect(titles.filter(title => /^(vitest|esbuild|typescript)@/.test(title))).toEqual([]);
    for (const { purl, hashes, licenses } of components) {
      expect(purl).toMatch(/^pkg:npm\//);
      expect([hashes.length, licenses.length]).toEqual([1, 1]);
    }
  });

  it('names no folder of the machine that built it, and has source maps of the library alone', () => {
    for (const entry of readdirSync(installed, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const text = readFileSync(join(entry.parentPath, entry.name), 'utf8');
      const isLibrary = /^(index|sdk|library)\.c?js(\.map)?$/.test(entry.name);
      if (!isLibrary) expect(entry.name).not.toMatch(/\.map$|\.test\.[jt]s$/);
      for (const foreign of [root, process.env.HOME ?? root, ...(isLibrary ? [] : ['sourceMappingURL='])])
        if (foreign.length > 6) expect(text.includes(foreign), `${entry.name} has ${foreign}`).toBe(false);
    }
  });

  it('holds only files that are run or read', () => {
    const files = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name).slice(installed.length + 1));
    const known = [
      /^dist\/(otel-hooks\.(cjs|1)|cli\.js|(deliver|import-process)\.js|(index|sdk|library)\.c?js(\.map)?|(re2|prices|run-hook|short|sql)\.cjs|sql-wasm\.wasm|(samples|page)\.json|sbom\.cdx\.json|THIRD-PARTY-LICENSES\.txt|chunks\/[\w-]+\.js|types\/[\w/-]+\.d\.c?ts)$/,
      /^((README|CHANGELOG|SECURITY|ARCHITECTURE|CONTRIBUTING)\.md|LICENSE|package\.json)$/,
      /^grafana\/provisioning\/\w+\/\.gitkeep$/,
      /^grafana\/terraform\/main\.tf$/,
      /^examples\/[\w-]+\.(ts|mjs)$/,
      /^docs\/([\w/-]+\.md|[\w-]+\.schema\.json|images\/[\w-]+\.png)$/,
      /^(Dockerfile|docker-compose\.yml|kubernetes\/[\w-]+\.yaml|collector-config\/[\w/-]+\.yaml|grafana\/[\w/-]+(\.test)?\.(yaml|json))$/,
    ];
    expect(files.filter(file => !known.some(each => each.test(file)))).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'CHANGELOG.md',
        'dist/THIRD-PARTY-LICENSES.txt',
        'dist/sbom.cdx.json',
        'dist/otel-hooks.cjs',
        'dist/cli.js',
        'dist/deliver.js',
        'dist/import-process.js',
        'dist/index.js',
        'dist/index.cjs',
        'dist/sdk.js',
        'dist/sdk.cjs',
        'dist/library.js.map',
        'dist/re2.cjs',
        'dist/prices.cjs',
        'dist/short.cjs',
        'dist/sql.cjs',
        'dist/sql-wasm.wasm',
        'dist/samples.json',
        'dist/page.json',
        'dist/types/index.d.ts',
        'docs/setting-up.md',
        'collector-config/local.yaml',
        'grafana/dashboards/otel-hooks-fleet.json',
        'docker-compose.yml',
      ]),
    );
  });

  it('carries a licence text for each package whose code is inside', () => {
    const licences = readFileSync(join(installed, 'dist', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    expect(licences).toMatch(/^@opentelemetry\/api [\d.]+ \(Apache-2\.0\)$/m);
    expect(licences).toMatch(/^zod [\d.]+ \(MIT\)$/m);
  });

  it('prints its version', () => {
    expect(run('version')).toContain(manifest.version);
  });

  it('prints its commands', () => {
    expect(run('help')).toMatch(/\bhook\b[\s\S]*\bdeliver\b[\s\S]*\bstatus\b/);
  });

  it('can be required', () => {
    const code = "console.log(typeof require('otel-hooks').createBridge)";
    expect(execFileSync(process.execPath, ['-e', code], { cwd: app, env, encoding: 'utf8' })).toBe('function\n');
  });

  it('keeps its prices in the bundle of an application, and its bundle without a use of it is small', async () => {
    const bundle = async (code: string): Promise<string> => {
      const stdin = { contents: code, resolveDir: app };
      const made = await esbuild.build({
        stdin,
        bundle: true,
        write: false,
        platform: 'node',
        format: 'esm',
        minify: true,
      });
      return made.outputFiles[0]?.text ?? '';
    };
    expect((await bundle("import 'otel-hooks';")).length).toBeLessThan(1_000);
    const response = {
      ...{ spec_version: '0.1.0', event_id: '0b4d9a52-3b1e-4d2a-9a53-0f1d1c6b7a10', session_id: 's' },
      ...{ timestamp: '2026-03-02T10:00:00Z', event_type: 'Model.Responded', source: { tool: 'x' } },
      data: { model_id: 'anthropic/claude-sonnet-4-5', input_tokens: 1_000_000, output_tokens: 1 },
    };
    const code = `import { createBridge } from 'otel-hooks';
      const exporter = { export: (spans, done) => { console.log(spans[0].attributes['agent_hooks.cost.usd'] > 0); done({ code: 0 }); } };
      const bridge = createBridge({ spanExporters: [exporter] });
      bridge.ingest(${JSON.stringify(response)});
      await bridge.forceFlush();`;
    const alone = join(place, 'alone.mjs');
    writeFileSync(alone, await bundle(code));
    expect(execFileSync(process.execPath, [alone], { cwd: place, env, encoding: 'utf8' })).toBe('true\n');
  });

  it('names the packages that `otel-hooks/sdk` needs, when they are missing', () => {
    for (const code of ["await import('otel-hooks/sdk')", "require('otel-hooks/sdk')"]) {
      const type = code.startsWith('await') ? ['--input-type=module'] : [];
      const found = spawnSync(process.execPath, [...type, '-e', code], { cwd: app, env, encoding: 'utf8' });
      expect(found.stderr).toMatch(
        /otel-hooks\/sdk needs these packages, or newer versions: @opentelemetry\/api 1\.9,/,
      );
    }
  });

  it('can be imported', () => {
    const text = execFileSync(
      process.execPath,
      ['--input-type=module', '-e', "console.log(Object.keys(await import('otel-hooks')).length)"],
      { cwd: app, env, encoding: 'utf8' },
    );
    expect(Number(text)).toBeGreaterThan(0);
  });

  it('has complete types, under the strictest settings of an application', () => {
    const file =
      "import * as otelHooks from 'otel-hooks';\nimport * as sdk from 'otel-hooks/sdk';\n" +
      'export const names: string[] = [...Object.keys(otelHooks), ...Object.keys(sdk)];\n';
    writeFileSync(join(app, 'uses.mts'), file);
    writeFileSync(join(app, 'uses-require.cts'), file);
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const settings = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', ''];
    const found = spawnSync(process.execPath, [tsc, ...settings, 'uses.mts', 'uses-require.cts'], {
      cwd: app,
      env,
      encoding: 'utf8',
    });
    expect(found.stdout).toBe('');
    expect(found.status).toBe(0);
  });

  it('writes no file into the home of a user who only reads the help', () => {
    expect(readdirSync(dirname(join(place, 'home', 'x'))).filter(name => name !== '.npm')).toEqual([]);
    expect(existsSync(join(app, 'dist'))).toBe(false);
  });
});

describe("OpenHook's own example: in an empty home, with nothing set but an endpoint", () => {
  let collector: Collector;
  let home: string;
  beforeEach(async () => {
    collector = await startCollector();
    home = mkdtempSync(join(place, 'home-'));
  });
  afterEach(() => collector.close());

  const world = (): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    HOME: home,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  const bin = (): string => join(app, 'node_modules', '.bin', 'otel-hooks');

  /** This process keeps running meanwhile, because the collector is in it. */
  function call(words: readonly string[], input = ''): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = execFile(bin(), words, { cwd: app, env: world() }, (error, stdout, stderr) =>
        error ? reject(error) : resolve(stdout + stderr),
      );
      child.stdin?.end(input);
    });
  }
  const hook = async (payload: object): Promise<void> =>
    expect(await call(['hook', '--provider', 'otlp'], JSON.stringify(payload))).toBe('');
  /** Takes over from the delivery that the hook has started, and waits until all is sent. */
  const deliver = (): Promise<string> => call(['deliver', '--wait', '30s']);

  const session = '7d1f0c2e-3b4a-4c5d-8e6f-0a1b2c3d4e5f';
  const endMs = Date.parse('2026-03-02T09:02:00.000Z');
  const envelope = (source: string, data: object, atMs = endMs) => ({
    openhook: '0.1',
    id: 'b3c1a7de-0f2e-4d6b-9a58-6e0d1c2b3a49',
    source,
    type: 'session.end',
    time: new Date(atMs).toISOString(),
    session_id: session,
    data,
  });

  it('the end of a session becomes one span of its length, with tokens, model and reason', async () => {
    const ending = {
      reason: 'completed',
      model: 'acme-large-2',
      duration_ms: 90_500,
      input_tokens: 4_100,
      output_tokens: 120,
    };
    await hook(envelope('acme-agent', ending));
    // No delivery by hand: the hook has started one.
    await until(() => collector.spans().length > 0, 25_000);
    expect(await deliver()).toContain('waiting');
    const [span, ...more] = collector.spans();
    expect(more).toEqual([]);
    expect(span?.name).toBe('session acme-agent');
    expect(Number(BigInt(String(span?.endTimeUnixNano)) - BigInt(String(span?.startTimeUnixNano)))).toBe(90_500e6);
    expect(span?.plain).toMatchObject({
      'session.id': session,
      'gen_ai.usage.input_tokens': 4_100,
      'gen_ai.usage.output_tokens': 120,
      'gen_ai.request.model': 'acme-large-2',
      'agent_hooks.session.end_reason': 'completed',
    });
  });

  const names = (): string[] =>
    collector
      .spans()
      .map(({ name }) => String(name))
      .sort();
  const tree = ['chat model-x', 'chat model-x', 'execute_tool Read', 'invoke_agent claude-code', 'session claude-code'];

  /** The transcript of a session: a prompt, a call with its result, an answer. */
  const transcriptFile = (): string => join(home, '.claude', 'projects', '-shop', `${session}.jsonl`);
  function transcript(startMs: number): string {
    const file = transcriptFile();
    mkdirSync(dirname(file), { recursive: true });
    const time = (second: number): string => new Date(startMs + second * 1_000).toISOString();
    const common = { sessionId: session, isSidechain: false, version: '2.1.280', cwd: '/shop' };
    const response = (id: string, second: number, stop: string, block: object) => ({
      ...common,
      type: 'assistant',
      uuid: id,
      requestId: `req-${id}`,
      timestamp: time(second),
      message: {
        id,
        type: 'message',
        role: 'assistant',
        model: 'model-x',
        content: [block],
        stop_reason: stop,
        usage: { input_tokens: 10, output_tokens: 4, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
      },
    });
    const row = (uuid: string, second: number, content: unknown) => ({
      ...common,
      type: 'user',
      uuid,
      promptId: 'turn-1',
      timestamp: time(second),
      message: { role: 'user', content },
    });
    const rows = [
      row('u1', 0, 'Where is it?'),
      response('m1', 0.2, 'tool_use', {
        type: 'tool_use',
        id: 'call-1',
        name: 'Read',
        input: { file_path: '/shop/a' },
      }),
      row('u2', 0.3, [{ type: 'tool_result', tool_use_id: 'call-1', content: 'There.' }]),
      response('m2', 0.5, 'end_turn', { type: 'text', text: 'In a.' }),
    ];
    writeFileSync(file, rows.map(row => `${JSON.stringify(row)}\n`).join(''));
    return file;
  }

  it('with the transcript of a known agent it becomes the whole tree', async () => {
    const file = transcript(endMs - 90_000);
    await hook(envelope('claude-code', { transcript_path: file, reason: 'user_exit', duration_ms: 95_000 }));
    await deliver();
    expect(names()).toEqual(tree);
    const parents = new Map(collector.spans().map(({ name, spanId }) => [String(spanId), String(name)]));
    const child = (name: string) =>
      parents.get(String(collector.spans().find(span => span.name === name)?.parentSpanId));
    expect(child('execute_tool Read')).toBe('invoke_agent claude-code');
    expect(child('invoke_agent claude-code')).toBe('session claude-code');
  });

  it('adds no event that the hooks of that agent reported before', async () => {
    const common = { session_id: session, transcript_path: transcriptFile(), cwd: '/shop', permission_mode: 'default' };
    const call = {
      prompt_id: 'turn-1',
      tool_name: 'Read',
      tool_use_id: 'call-1',
      tool_input: { file_path: '/shop/a' },
    };
    await hook({ ...common, hook_event_name: 'SessionStart', source: 'startup' });
    // An agent writes its rows while its hooks run, and no row is later than the hook that ends the turn.
    const began = Date.now();
    transcript(began);
    await hook({ ...common, hook_event_name: 'UserPromptSubmit', prompt_id: 'turn-1', prompt: 'Where is it?' });
    await hook({ ...common, hook_event_name: 'PreToolUse', ...call });
    await hook({ ...common, hook_event_name: 'PostToolUse', ...call, tool_response: {}, duration_ms: 12 });
    await until(() => Date.now() > began + 1_000, 5_000);
    await hook({ ...common, hook_event_name: 'Stop', prompt_id: 'turn-1', stop_hook_active: false });
    await hook({ ...common, hook_event_name: 'SessionEnd', reason: 'prompt_input_exit' });
    const payload = {
      transcript_path: common.transcript_path,
      duration_ms: 95_000,
      input_tokens: 20,
      output_tokens: 8,
    };
    await hook(envelope('claude-code', payload, Date.now()));
    await deliver();
    expect(names()).toEqual(tree);
    // Tokens are on the responses, and not a second time on the sum of the envelope.
    const input = collector.spans().map(({ name, plain }) => [name, plain['gen_ai.usage.input_tokens']]);
    expect(input.filter(([name]) => name === 'chat model-x')).toEqual([
      ['chat model-x', 10],
      ['chat model-x', 10],
    ]);
    expect(Object.fromEntries(input)['session claude-code']).toBe(20);
  });
});
