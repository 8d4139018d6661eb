/** The trace context that commands of an agent get, compared with the spans that a receiver gets. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { type Collector, startCollector } from '../collector.ts';
import { deliverHere, founded, room } from '../obligations/stage.ts';

let home = '';
let state = '';
let leave: () => void;
let collector: Collector;
let count = 0;
let startedMs = 0;
const root = join(import.meta.dirname, '../..');
const bin = join(root, 'dist/otel-hooks.cjs');

beforeEach(async () => {
  const made = room();
  home = made.folder;
  leave = made.leave;
  state = founded(join(home, 'state'));
  count = 0;
  startedMs = Date.now();
  collector = await startCollector();
  mkdirSync(join(home, '.config/otel-hooks'), { recursive: true });
  configure();
});
afterEach(async () => {
  await collector.close();
  leave();
});

function configure(more: object = {}): void {
  const config = { otlp: { endpoint: collector.url }, ...more };
  writeFileSync(join(home, '.config/otel-hooks/config.json'), JSON.stringify(config));
}

function arrive(tool: string, payload: object, atMs?: number): void {
  count += 1;
  const unique = String(count).padStart(12, '0');
  const header = { tool, at: String(atMs ?? startedMs - 60_000 + count * 1_000), ppid: '1' };
  // The clock of the boot, and then of the wall, agree for hooks with a time of their own.
  const upS = atMs === undefined ? 1_000 + count : 1_061 + (atMs - startedMs) / 1_000;
  const name = fragmentName('abcdef01', upS.toFixed(2), 100 + count, unique);
  const bytes = encodeFragment(unique, header, Buffer.from(JSON.stringify(payload)));
  writeFileSync(join(state, 'inbox', name), bytes, { mode: 0o600 });
}

const delivered = () =>
  deliverHere(state, {
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
  });

const env = (more: Record<string, string> = {}) => ({
  ...{ HOME: home, PATH: process.env.PATH ?? '', OTEL_HOOKS_STATE_DIR: state },
  ...more,
});

function hook(payload: object | string, more: Record<string, string> = {}) {
  const input = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const words = [bin, 'traceparent', '--tool', 'claude-code'];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { input, env: env(more), encoding: 'utf8' });
  expect([status, stdout, stderr]).toEqual([0, '', '']);
}

/** The variable of a command after the lines of the agent's file. */
const inShell = (file: string, more: Record<string, string> = {}): string =>
  execFileSync('/bin/sh', ['-c', `. "$1"; printf %s "$TRACEPARENT"`, 'sh', file], { env: more, encoding: 'utf8' });

const start = (source: string) => ({ hook_event_name: 'SessionStart', session_id: 's-1', cwd: '/nowhere', source });
const end = (reason = 'other') => ({ hook_event_name: 'SessionEnd', session_id: 's-1', cwd: '/nowhere', reason });

it('is that of the session, at its start and after a resume', async () => {
  const values: string[] = [];
  const file = join(home, 'env');
  for (const [i, source] of ['startup', 'resume'].entries()) {
    // Claude Code keeps the file of a session and its lines.
    hook(start(source), { CLAUDE_ENV_FILE: file });
    values.push(inShell(file));
    arrive('claude-code', start(source));
    // Two equal hooks within a second would be one.
    arrive('claude-code', end(i === 0 ? 'other' : 'logout'));
    await delivered();
  }
  const sent = collector.spans().map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
  expect(sent.length).toBe(2);
  expect(values).toEqual(sent);
});

it.each(['waits', 'is delivered'])(
  'is that of a resumed run, also if %s before the hook of the variable runs',
  async when => {
    const file = join(home, 'env');
    arrive('claude-code', start('startup'));
    arrive('claude-code', end());
    if (when === 'is delivered') await delivered();
    // The hook that records belongs to the same start, and may be faster.
    arrive('claude-code', start('resume'), Date.now());
    if (when === 'is delivered') await delivered();
    hook(start('resume'), { CLAUDE_ENV_FILE: file });
    arrive('claude-code', end('logout'), Date.now() + 100);
    await delivered();
    const sent = collector.spans().map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
    expect(sent.length).toBe(2);
    expect(inShell(file)).toBe(sent[1]);
  },
);

it('is that of a third run, while no event of the runs before is delivered', async () => {
  const file = join(home, 'env');
  arrive('claude-code', start('startup'));
  arrive('claude-code', end());
  arrive('claude-code', start('resume'));
  arrive('claude-code', end('logout'));
  hook(start('resume'), { CLAUDE_ENV_FILE: file });
  arrive('claude-code', start('resume'), Date.now());
  arrive('claude-code', end('clear'), Date.now() + 100);
  await delivered();
  const sent = collector.spans().map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
  expect(sent.length).toBe(3);
  expect(inShell(file)).toBe(sent[2]);
});

it('is the same after a compaction, and for hooks that report no start', async () => {
  const file = join(home, 'env');
  arrive('claude-code', start('startup'));
  await delivered();
  hook(start('compact'), { CLAUDE_ENV_FILE: file });
  const first = inShell(file);
  const lines = readFileSync(file, 'utf8');
  hook({ ...start(''), hook_event_name: 'CwdChanged' }, { CLAUDE_ENV_FILE: file });
  expect(readFileSync(file, 'utf8')).toBe(lines);
  arrive('claude-code', end());
  await delivered();
  expect(collector.spans().map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`)).toEqual([first]);
});

it("never replaces the agent's own", async () => {
  const file = join(home, 'env');
  writeFileSync(file, 'export OTHER=1');
  hook(start('startup'), { CLAUDE_ENV_FILE: file });
  arrive('claude-code', start('startup'));
  arrive('claude-code', end());
  await delivered();
  hook(start('resume'), { CLAUDE_ENV_FILE: file });
  expect(readFileSync(file, 'utf8')).toMatch(/^export OTHER=1\n.*\n.*\n$/);
  expect(inShell(file, { TRACEPARENT: 'of the agent' })).toBe('of the agent');
});

it('says that a session is not sampled', () => {
  configure({ trace: { sampler: 'always_off' } });
  const file = join(home, 'env');
  hook(start('startup'), { CLAUDE_ENV_FILE: file });
  expect(inShell(file)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
});

it.each<[string, object, object | string]>([
  ['no destination', { otlp: {} }, start('startup')],
  ['a trace for each turn', { trace: { shape: 'turn' } }, start('startup')],
  ['a payload that is no JSON', {}, 'x'],
  ['no payload', {}, ''],
  ['no session', {}, { hook_event_name: 'SessionStart' }],
])('with %s nothing is set', (_, config, payload) => {
  configure(config);
  hook(payload, { CLAUDE_ENV_FILE: join(home, 'env') });
  expect(existsSync(join(home, 'env'))).toBe(false);
});

it('without the file of the agent, with a link or with a folder in its place, nothing is set', () => {
  hook(start('startup'));
  writeFileSync(join(home, 'target'), '');
  symlinkSync(join(home, 'target'), join(home, 'link'));
  hook(start('startup'), { CLAUDE_ENV_FILE: join(home, 'link') });
  hook(start('startup'), { CLAUDE_ENV_FILE: home });
  expect(readFileSync(join(home, 'target'), 'utf8')).toBe('');
});

const page = readFileSync(join(root, 'docs/traceparent.md'), 'utf8');
/** The first block of the page in this language that begins so. */
const blockOf = (language: string, start = ''): string =>
  new RegExp(`\`\`\`${language}\n(${start}[\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? '';

it('the command of the page is the one that is tested here', () => {
  const settings = JSON.parse(blockOf('json'));
  expect(settings.hooks.SessionStart[0].hooks[0].command).toBe('otel-hooks traceparent --tool claude-code || exit 0');
});

it('is that of the action, by the plugin of the page', async () => {
  const file = join(home, 'plugin.mjs');
  writeFileSync(file, blockOf('js'));
  mkdirSync(join(home, 'bin'));
  writeFileSync(join(home, 'bin/otel-hooks'), `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`);
  chmodSync(join(home, 'bin/otel-hooks'), 0o755);
  const session = 'ses_1';
  const part = (status: string) => ({
    ...{ type: 'message.part.updated', session_id: session, directory: '/nowhere' },
    properties: {
      part: {
        ...{ type: 'tool', tool: 'bash', callID: 'call_1', sessionID: session, messageID: 'm1', id: 'p1' },
        state: {
          status,
          input: { command: 'make' },
          output: 'ok',
          time: { start: Date.now() - 60_000, end: Date.now() - 59_000 },
          metadata: { exit: 0 },
        },
      },
    },
  });
  arrive('opencode', {
    ...{ type: 'session.created', session_id: session, directory: '/nowhere' },
    properties: { sessionID: session, info: { id: session, directory: '/nowhere', version: '1.18.33' } },
  });
  await delivered();
  const program = `import { OtelHooksTraceparent } from ${JSON.stringify(pathToFileURL(file).href)};
const { 'shell.env': hook } = await OtelHooksTraceparent();
const of = async env => { const output = { env }; await hook({ cwd: '/', sessionID: 'ses_1', callID: 'call_1' }, output); return output.env.TRACEPARENT; };
console.log(JSON.stringify([await of({}), await of({ TRACEPARENT: 'own' })]));`;
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    env: env({ PATH: `${join(home, 'bin')}:${process.env.PATH}` }),
    encoding: 'utf8',
  });
  const [value, own] = JSON.parse(out);
  expect(own).toBe('own');
  arrive('opencode', part('running'));
  arrive('opencode', part('completed'));
  arrive('opencode', {
    type: 'dispose',
    session_id: session,
    directory: '/nowhere',
    properties: { sessionID: session },
  });
  await delivered();
  const action = collector.spans().find(({ name }) => String(name).startsWith('execute_tool'));
  expect(value).toBe(`00-${action?.traceId}-${action?.spanId}-01`);
});

it('is the parent of the span that the program of the page sends, and decides whether it is sent', async () => {
  const page = readFileSync(join(root, 'examples/traced-build.mjs'), 'utf8');
  for (const line of blockOf('js', 'const carrier').trim().split('\n')) expect(page).toContain(line);
  const values: string[] = [];
  for (const sampler of ['always_on', 'always_off']) {
    configure({ trace: { sampler } });
    const file = join(home, `env-${sampler}`);
    hook(start('startup'), { CLAUDE_ENV_FILE: file });
    values.push(inShell(file));
    const build = ['-c', '. "$1"; exec "$2" "$3" "$2" -e 0', 'sh', file, process.execPath];
    const { status, stdout } = await ended(build, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    expect([status, stdout]).toEqual([0, `trace ${values.at(-1)?.slice(3, 35)}\n`]);
  }
  const [span, ...more] = collector.spans();
  expect(more).toEqual([]);
  expect(values[0]).toBe(`00-${span?.traceId}-${span?.parentSpanId}-01`);
});

/** Runs the shell beside this process, which has to answer the program. */
async function ended(words: string[], more: Record<string, string>): Promise<{ status: unknown; stdout: string }> {
  const child = spawn('/bin/sh', [...words, join(root, 'examples/traced-build.mjs')], { env: env(more) });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const [status] = await once(child, 'close');
  return { status, stdout };
}
