/** Delivery with real commands of a project: which commands run, which never run, and the effect of a faulty one. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { consentToCommands, type Place } from '../../src/config/files.ts';
import { type Delivered, deliver } from '../../src/deliver/deliver.ts';
import { imbalances } from '../../src/deliver/status-books.ts';
import { documents } from '../../src/documents/documents.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { discover } from '../../src/openhook/project.ts';
import { runCommand } from '../../src/openhook/run.ts';
import { openStore } from '../../src/store/store.ts';
import { ranIn } from '../commands/ran.ts';
import { until } from '../wire/house.ts';

let home = '';
let state = '';
let work = '';
let count = 0;

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'openhook-test-')));
  state = join(home, 'state');
  work = join(home, 'work');
  mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });
  mkdirSync(join(work, '.git'), { recursive: true });
  mkdirSync(join(work, 'src'));
  writeFileSync(join(work, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  configure(true);
  count = 0;
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const configure = (enabled: boolean): void => {
  mkdirSync(join(home, '.config', 'otel-hooks'), { recursive: true });
  writeFileSync(join(home, '.config', 'otel-hooks', 'config.json'), JSON.stringify({ openhook: { enabled } }));
};

const place = (): Place => ({ env: {}, home, platform: 'linux', cwd: work });
const hooks = (...list: object[]): void =>
  writeFileSync(join(work, '.openhook.json'), JSON.stringify({ openhook: '0.1', hooks: list }));
const agree = (folder = work, more: object = {}): void => {
  const project = discover(folder, place());
  if (!project?.found || project.why !== undefined) throw new Error('there is nothing to agree to');
  consentToCommands(place(), project.file, { hash: project.hash, answer: 'yes', ...more });
};

const hook = (event: string, fields: object = {}, header: Record<string, string> = {}): void => {
  count += 1;
  const unique = `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
  const name = fragmentName('0000beef', String(1_000 + count), 100 + count, unique);
  const payload = { session_id: 's-1', cwd: join(work, 'src'), hook_event_name: event, ...fields };
  writeFileSync(
    join(state, 'inbox', name),
    encodeFragment(unique, { tool: 'claude-code', ppid: '1', ...header }, Buffer.from(JSON.stringify(payload))),
    { mode: 0o600 },
  );
};
const session = (fields: object = {}, header: Record<string, string> = {}): void => {
  hook('SessionStart', { source: 'startup', model: 'claude-sonnet-4-5', ...fields }, header);
  hook('UserPromptSubmit', { prompt: 'fix it', prompt_id: 'p1', ...fields }, header);
  hook('SessionEnd', { reason: 'prompt_input_exit', ...fields }, header);
};

const run = (env: Record<string, string> = {}, more: object = {}): Promise<Delivered> =>
  deliver({
    stateFolder: state,
    byHand: true,
    waitMs: 20_000,
    surroundings: {
      env: { PATH: process.env.PATH ?? '', HOME: home, ...env },
      home,
      platform: 'linux',
      ownVariables: false,
      configFile: undefined,
    },
    ...more,
  });

const counters = (): Record<string, number> => {
  const store = openStore({ folder: state, access: 'read' });
  const counted = Object.entries(store.ledger().counters).filter(([name]) => name.startsWith('openhook.'));
  store.close();
  return Object.fromEntries(counted);
};
const linesOf = (file: string): { type: string }[] =>
  readFileSync(join(work, file), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { type: string });

test('the configuration that the session was pinned to decides whether commands run, not that of the delivery', async () => {
  hooks({ command: 'cat >> all.jsonl; printf %s "$OTEL_HOOKS_CONFIG" > config' });
  agree();
  configure(false);
  const [on, off] = [join(home, 'on.json'), join(home, 'off.json')];
  writeFileSync(on, '{"openhook": {"enabled": true}}');
  writeFileSync(off, '{"openhook": {"enabled": false}}');
  session({}, { OTEL_HOOKS_CONFIG: on });
  await run({ OTEL_HOOKS_CONFIG: off });
  expect(linesOf('all.jsonl')).toHaveLength(3);
  expect(readFileSync(join(work, 'config'), 'utf8')).toBe(on);
  rmSync(join(work, 'all.jsonl'));
  session({ session_id: 's-2' }, { OTEL_HOOKS_CONFIG: off });
  await run({ OTEL_HOOKS_CONFIG: on });
  expect(existsSync(join(work, 'all.jsonl'))).toBe(false);
});

test('an agreed command gets each envelope of its types once, in order, beside the delivery', async () => {
  hooks(
    { command: 'cat >> all.jsonl' },
    { command: 'cat >> end.jsonl', events: ['session.end', 'no.such'] },
    {
      command: `cp ${state}/documents/openhook-*.json mark.json; pwd > where; env > env`,
      events: ['session.start'],
      async: true,
    },
    { command: 'touch never', events: [] },
  );
  agree();
  session();
  mkdirSync(join(work, 'node_modules'));
  const PATH = `relative:${join(work, 'node_modules')}:/usr/bin:/bin`;
  const { books, problems } = await run({ PATH, SECRET: 'x', OTEL_EXPORTER_OTLP_HEADERS: 'key=1' });
  expect(problems).toEqual([]);
  expect(linesOf('all.jsonl').map(({ type }) => type)).toEqual(['session.start', 'prompt.submit', 'session.end']);
  expect(linesOf('end.jsonl')).toMatchObject([
    {
      openhook: '0.1',
      type: 'session.end',
      session_id: 's-1',
      context: `file://${work}/src`,
      data: { reason: 'user_exit' },
    },
  ]);
  expect(readFileSync(join(work, 'where'), 'utf8').trim()).toBe(work);
  const env = readFileSync(join(work, 'env'), 'utf8');
  expect(env).not.toMatch(/SECRET|HEADERS|relative|node_modules/);
  expect(env).toContain(`HOME=${home}`);
  // The mark is on the disk before its command runs.
  expect(JSON.parse(readFileSync(join(work, 'mark.json'), 'utf8'))).toMatchObject({
    value: { at: expect.any(Number) },
  });
  expect(
    (JSON.parse(readFileSync(join(work, 'mark.json'), 'utf8')) as { value: { at: number } }).value.at,
  ).toBeGreaterThan(0);
  expect(existsSync(join(work, 'never'))).toBe(false);
  expect(counters()).toEqual({ 'openhook.started': 5, 'openhook.done': 5 });
  expect(books && imbalances(books)).toEqual([]);

  await run();
  expect(linesOf('all.jsonl')).toHaveLength(3);
});

describe('nothing is run', () => {
  const ran = (): boolean => existsSync(join(work, 'ran'));
  beforeEach(() => hooks({ command: 'touch ran' }));

  test('without consent get no event, and get no earlier events after the consent', async () => {
    session();
    await run();
    expect(ran()).toBe(false);
    expect(counters()).toEqual({ 'openhook.withheld.not-agreed': 3 });
    const status = async (): Promise<string> => (await ranIn(home, ['status', '--json', '--state-dir', state])).out;
    expect(await status()).toContain('"openhook-unanswered"');
    agree();
    expect(await status()).not.toContain('"openhook-unanswered"');
    await run();
    expect(ran()).toBe(false);
    hook('UserPromptSubmit', { prompt: 'go on', prompt_id: 'p2' });
    await run();
    expect(ran()).toBe(true);
  });

  test('that has changed since', async () => {
    agree();
    hooks({ command: 'touch ran; true' });
    session();
    await run();
    expect(ran()).toBe(false);
  });

  test('that was answered with no', async () => {
    agree(work, { answer: 'no' });
    session();
    await run();
    expect(ran()).toBe(false);
  });

  test('that was agreed to in another place', async () => {
    const other = join(home, 'other');
    mkdirSync(other);
    writeFileSync(join(other, '.openhook.json'), readFileSync(join(work, '.openhook.json')));
    agree(other);
    session();
    await run();
    expect(ran()).toBe(false);
  });

  test('of a repository within one that was agreed to', async () => {
    agree();
    const inner = join(work, 'vendor', 'lib');
    mkdirSync(join(inner, '.git'), { recursive: true });
    writeFileSync(join(inner, '.git', 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(inner, '.openhook.json'), readFileSync(join(work, '.openhook.json')));
    session({ cwd: inner });
    await run();
    expect(ran() || existsSync(join(inner, 'ran'))).toBe(false);
    expect(counters()).toEqual({ 'openhook.withheld.not-agreed': 3 });
  });

  test('in CI, unless that was agreed to', async () => {
    agree();
    session();
    await run({ CI: 'true' });
    expect(ran()).toBe(false);
    expect(counters()).toEqual({ 'openhook.withheld.ci': 3 });
    agree(work, { ci: true });
    hook('UserPromptSubmit', { prompt: 'go on', prompt_id: 'p2' });
    await run({ CI: 'true' });
    expect(ran()).toBe(true);
  });

  test('while it is off, of sessions too that began before', async () => {
    agree();
    hook('SessionStart', { source: 'startup' });
    await run();
    rmSync(join(work, 'ran'));
    configure(false);
    hook('SessionEnd', { reason: 'other' });
    session({ session_id: 's-2' });
    await run();
    expect(ran()).toBe(false);
  });

  test('because a project switches it on', async () => {
    configure(false);
    agree();
    writeFileSync(join(work, '.otel-hooks.json'), JSON.stringify({ openhook: { enabled: true } }));
    session();
    await run();
    expect(ran()).toBe(false);
  });

  test('for a session that a dispatched command began', async () => {
    agree();
    session({}, { BAGGAGE: 'a=b,otel-hooks.dispatched=1' });
    await run();
    expect(ran()).toBe(false);
  });

  test('for an envelope that was received', async () => {
    agree();
    hook('', {
      openhook: '0.1',
      id: 'e1',
      source: 'acme',
      type: 'session.end',
      time: new Date().toISOString(),
      data: {},
      context: `file://${work}`,
    });
    await run();
    expect(readdirSync(join(state, 'documents')).some(name => name.startsWith('openhook-'))).toBe(true);
    expect(ran()).toBe(false);
  });

  test('of an incomplete file', async () => {
    hooks({ command: 'touch ran' }, { command: '' });
    expect(discover(work, place())).toMatchObject({ why: 'hook 2 has no command' });
    session();
    await run();
    expect(ran()).toBe(false);
    expect(counters()).toEqual({ 'openhook.withheld.invalid': 3 });
  });
});

test('silence ends a session, and its transcript is the file with its name', async () => {
  const id = '7c2f9a10-3b4d-4e5f-8a6b-1c2d3e4f5a6b';
  const folder = join(home, '.kiro', 'sessions', 'cli');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, `${id}.jsonl`),
    '{"version":"v1","kind":"Prompt","data":{"message_id":"m1","content":[]}}\n',
  );
  hooks({ command: 'cat >> end.jsonl', events: ['session.end'] });
  agree();
  hook('userPromptSubmit', { session_id: id, prompt: 'fix it' }, { tool: 'kiro' });
  await run();
  expect(existsSync(join(work, 'end.jsonl'))).toBe(false);
  await run({}, { now: () => Date.now() + 3 * 3_600_000 });
  expect(linesOf('end.jsonl')).toMatchObject([
    { type: 'session.end', source: 'kiro', data: { reason: 'timeout', transcript_path: join(folder, `${id}.jsonl`) } },
  ]);
});

test('a folder by another name is the same project', async () => {
  hooks({ command: 'touch ran' });
  agree();
  symlinkSync(work, join(home, 'link'));
  session({ cwd: join(home, 'link', 'src') });
  await run();
  expect(existsSync(join(work, 'ran'))).toBe(true);
});

test('no timer keeps the process alive after a delivery', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
  session();
  const before = timers();
  await run();
  expect(timers()).toBe(before);
});

test('a command that hangs affects only itself', async () => {
  hooks({ command: 'sleep 600', events: ['session.start'], async: true }, { command: 'cat >> all.jsonl' });
  agree();
  session();
  await run({}, { dispatchLimits: { syncMs: 60_000, asyncMs: 50 } });
  expect(linesOf('all.jsonl')).toHaveLength(3);
  expect(counters()).toEqual({ 'openhook.started': 4, 'openhook.done': 3, 'openhook.timeout': 1 });
});

test('a command that is ended ends with all its child processes', async () => {
  const command = 'sleep 600 & echo $! > child.part; mv child.part child; sleep 600';
  const env = { PATH: process.env.PATH };
  const running = runCommand({ command, folder: work, env, platform: 'linux', input: '', limitMs: 60_000 });
  await until(() => existsSync(join(work, 'child')), 30_000);
  running.stop();
  expect(await running.ended).toEqual({ how: 'stopped' });
  const child = Number(readFileSync(join(work, 'child'), 'utf8'));
  await until(() => !isAlive(child), 30_000);
});

test('a job that waits when the agreement is withdrawn does not run', async () => {
  const list = join(home, '.config', 'otel-hooks', 'trusted.json');
  hooks({ command: `rm ${list}`, events: ['session.start'] }, { command: 'touch ran' });
  agree();
  session();
  await run();
  expect(existsSync(join(work, 'ran'))).toBe(false);
  expect(counters()).toEqual({ 'openhook.started': 4, 'openhook.done': 1, 'openhook.revoked': 3 });
});

test('child processes of a command end with it', async () => {
  hooks({ command: 'sleep 600 & echo $! > child', events: ['session.start'] });
  agree();
  hook('SessionStart', { source: 'startup' });
  await run();
  const child = Number(readFileSync(join(work, 'child'), 'utf8'));
  await until(() => !isAlive(child), 30_000);
});

test('a command that fails is one problem, which has its number and not its text', async () => {
  hooks({ command: 'exit 3 # token=abc' });
  agree();
  session();
  await run();
  expect(counters()).toEqual({ 'openhook.started': 3, 'openhook.failed': 3 });
  const store = openStore({ folder: state, access: 'read' });
  const noted = Object.values(store.read(documents.problems) ?? {});
  store.close();
  expect(noted.map(({ problem }) => problem)).toEqual([
    { code: 'openhook-failed', file: join(work, '.openhook.json'), hook: 1, why: 'exited with 3' },
  ]);
});

test('on a hand-over, a running command is ended and its envelope is not dispatched again', async () => {
  hooks({ command: 'echo x >> begun; sleep 600', events: ['session.start'] });
  agree();
  hook('SessionStart', { source: 'startup' });
  const stop = new AbortController();
  const delivered = run({}, { stop: stop.signal, dispatchLimits: { syncMs: 60_000, asyncMs: 60_000, orderMs: 50 } });
  await until(() => existsSync(join(work, 'begun')), 15_000);
  stop.abort();
  await delivered;
  expect(counters()).toEqual({ 'openhook.started': 1, 'openhook.stopped': 1 });
  await run();
  expect(readFileSync(join(work, 'begun'), 'utf8')).toBe('x\n');
});

test('when a person delivers meanwhile, each envelope is dispatched once: running commands finish, and the new process dispatches the rest', async () => {
  const waits = 'while [ ! -e ../go ]; do sleep 0.05; done';
  hooks(
    { command: `cat >> begun.jsonl; ${waits}; echo >> ended`, events: ['session.start'], async: true },
    { command: `cat >> all.jsonl; ${waits}; echo >> ended` },
  );
  agree();
  session();
  const lockOf = (): string => readFileSync(join(state, 'lock'), 'utf8');
  const dispatchLimits = { syncMs: 60_000, asyncMs: 60_000, orderMs: 50 };
  const kicked = run({}, { byHand: false, waitMs: 60_000, staysForCommands: true, dispatchLimits });
  await until(() => existsSync(join(work, 'all.jsonl')) && existsSync(join(work, 'begun.jsonl')), 15_000);
  const first = lockOf();
  const byHand = run();
  // Another process has the lock, and the commands of the first run still run.
  await until(() => existsSync(join(state, 'lock')) && lockOf() !== first, 15_000);
  expect(existsSync(join(work, 'ended'))).toBe(false);
  writeFileSync(join(home, 'go'), '');
  await Promise.all([kicked, byHand]);
  expect(linesOf('all.jsonl').map(({ type }) => type)).toEqual(['session.start', 'prompt.submit', 'session.end']);
  expect(linesOf('begun.jsonl')).toHaveLength(1);
  expect(readFileSync(join(work, 'ended'), 'utf8')).toBe('\n'.repeat(4));
  expect(counters()).toEqual({ 'openhook.started': 4, 'openhook.done': 4 });
});

test('jobs that were returned to their session do not run after the agreement is withdrawn', async () => {
  hooks({ command: 'echo x >> begun; sleep 600', events: ['session.start'] }, { command: 'touch ran' });
  agree();
  session();
  const stop = new AbortController();
  const delivered = run({}, { stop: stop.signal, dispatchLimits: { syncMs: 60_000, asyncMs: 60_000, orderMs: 50 } });
  await until(() => existsSync(join(work, 'begun')), 15_000);
  stop.abort();
  await delivered;
  expect(counters()).toEqual({ 'openhook.started': 1, 'openhook.stopped': 1 });
  rmSync(join(home, '.config', 'otel-hooks', 'trusted.json'));
  await run();
  expect(existsSync(join(work, 'ran'))).toBe(false);
  expect(counters()).toEqual({ 'openhook.started': 1, 'openhook.stopped': 1, 'openhook.withheld.not-agreed': 3 });
});

/** The process has ended, although its exit code may not have been read yet. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
