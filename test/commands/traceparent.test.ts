/** The trace context that commands of an agent get, compared with the spans that a receiver gets. */
import { execFileSync, spawnSync } from 'node:child_process';
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
const root = join(import.meta.dirname, '../..');
const bin = join(root, 'dist/otel-hooks.cjs');

beforeEach(async () => {
  const made = room();
  home = made.folder;
  leave = made.leave;
  state = founded(join(home, 'state'));
  count = 0;
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

function arrive(tool: string, payload: object): void {
  count += 1;
  const unique = String(count).padStart(12, '0');
  const header = { tool, at: String(Date.now() - 60_000 + count * 100), ppid: '1' };
  const name = fragmentName('abcdef01', `${1_000 + count}.00`, 100 + count, unique);
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
  for (const [i, source] of ['startup', 'resume'].entries()) {
    const file = join(home, `env-${i}`);
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

it('is the same after a compaction, and for hooks that report no start', async () => {
  const file = join(home, 'env');
  arrive('claude-code', start('startup'));
  await delivered();
  hook(start('compact'), { CLAUDE_ENV_FILE: file });
  const first = inShell(file);
  hook({ ...start(''), hook_event_name: 'CwdChanged' }, { CLAUDE_ENV_FILE: file });
  expect(inShell(file)).toBe(first);
  arrive('claude-code', end());
  await delivered();
  expect(collector.spans().map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`)).toEqual([first]);
});

it("never replaces the agent's own", () => {
  const file = join(home, 'env');
  hook(start('startup'), { CLAUDE_ENV_FILE: file });
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
const blockOf = (language: string): string => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? '';

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
