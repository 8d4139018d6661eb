/**
 * A user of the Python package of this name changes only the package. Each row is a part of its interface: kept
 * unchanged, kept with a correction, or accepted and answered with a warning. Other tests check its entries in agents'
 * files (test/setup/standing.test.ts), the data that its entries send (test/receive/drain.test.ts), that no session is
 * sent again (test/transcripts/deliver.test.ts), and its names of spans (test/telemetry/former-names.test.ts).
 */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentNamed } from '../../src/agents/index.ts';
import { resolve } from '../../src/config/config.ts';
import { destinationsOf } from '../../src/config/destinations.ts';
import { isKey, type Key } from '../../src/config/schema.ts';
import { ranIn } from './ran.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-python-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const run = (words: readonly string[]) => ranIn(home, words);

const enabled = ['enable', '--tool', 'claude', '--provider', 'langfuse', '--global', '--yes', '--no-proof'];
const config = '{"provider":"langfuse","langfuse":{"public_key":"pk-lf-1234","secret_key":"sk-lf-123456"}}';
type Class = 'kept' | 'mended' | 'warned';

/** `before`: commands that come first; `says`: texts that both output streams together contain. */
const commandRows: [surface: string, of: Class, before: string[][], words: string[], code: number, says: RegExp][] = [
  ['no word is a call for help', 'kept', [], [], 0, /otel-hooks COMMAND/],
  [
    'enable says where hook and configuration lie',
    'kept',
    [],
    enabled,
    0,
    /^Enabled\. Hook: ~\/\.claude\/settings\.json, Config: ~\/\.config\/otel-hooks\/config\.json$/m,
  ],
  ['enable for all agents', 'kept', [], ['enable', '--tool', 'all', '--provider', 'otlp', '--dry-run'], 0, /hooks/],
  [
    'two providers',
    'kept',
    [],
    ['enable', '--tool', 'claude', '--provider', 'otlp', '--provider', 'langfuse', '--yes', '--no-proof'],
    0,
    /otlp,langfuse/,
  ],
  [
    'two providers after one flag',
    'kept',
    [],
    ['enable', '--provider', 'otlp', 'langfuse', '--tool', 'claude', '--yes', '--no-proof'],
    0,
    /otlp,langfuse/,
  ],
  [
    'a provider that there is not',
    'kept',
    [],
    ['enable', '--tool', 'claude', '--provider', 'langfuze', '--yes'],
    2,
    /langfuse/,
  ],
  ['a word too many', 'kept', [], ['enable', 'claude', '--yes'], 2, /"claude"/],
  [
    'scopes exclude each other',
    'kept',
    [],
    ['enable', '--tool', 'claude', '--global', '--project', '--yes'],
    2,
    /--global and --project/,
  ],
  [
    'without a tool it takes the agents that it finds',
    'mended',
    [],
    ['enable'],
    2,
    /no agent was found here; name one with --tool/,
  ],
  [
    'no terminal for a question',
    'kept',
    [],
    ['enable', '--tool', 'claude'],
    2,
    /^No TTY detected\. Use --yes to run non-interactively\.$/m,
  ],
  ['attribution', 'warned', [], [...enabled, '--attribution'], 0, /--attribution was ignored/],
  ['no attribution', 'kept', [], [...enabled, '--no-attribution'], 0, /^Enabled\./m],
  [
    'disable says which file',
    'kept',
    [enabled],
    ['disable', '--tool', 'claude', '--global', '--yes'],
    0,
    /^Disabled\. ~\/\.claude\/settings\.json$/m,
  ],
  [
    'status masks secrets',
    'kept',
    [enabled],
    ['status', '--tool', 'claude', '--global'],
    0,
    /langfuse\.secret_key +\*\*\*$/m,
  ],
  [
    'doctor finds nothing',
    'mended',
    [enabled],
    ['doctor', '--tool', 'claude', '--global', '--offline', '--no-proof'],
    0,
    /claude-code: No issues found\./,
  ],
  ['hook ends with 0', 'mended', [], ['hook', '--tool', 'claude'], 0, /^$/],
  ['version', 'kept', [], ['version'], 0, /^\d+\.\d+\.\d+(-dev)?$/m],
  ['version as a flag', 'kept', [], ['--version'], 0, /^\d+\.\d+\.\d+(-dev)?$/m],
];

it.each(commandRows)('%s (%s)', async (_, _of, before, words, code, says) => {
  fs.mkdirSync(join(home, '.config/otel-hooks'), { recursive: true, mode: 0o700 });
  fs.writeFileSync(join(home, '.config/otel-hooks/config.json'), config, { mode: 0o600 });
  for (const earlier of before) await run(earlier);
  const ran = await run(words);
  expect(`${ran.out}${ran.err}`).toMatch(says);
  expect(ran.code).toBe(code);
});

it.each([true, false, undefined])(
  'status does not mention file attribution, set to %s: otel-hooks has none',
  async asked => {
    fs.mkdirSync(join(home, '.config/otel-hooks'), { recursive: true, mode: 0o700 });
    const file = join(home, '.config/otel-hooks/config.json');
    fs.writeFileSync(file, JSON.stringify({ attribution: { enabled: asked } }), { mode: 0o600 });
    const { out, err } = await run(['status']);
    expect(out + err).not.toMatch(/attribution/i);
  },
);

it('status reports once that content is no longer sent (warned)', async () => {
  fs.mkdirSync(join(home, '.config/otel-hooks/state'), { recursive: true, mode: 0o700 });
  const isNoticeShown = async () => (await run(['status'])).out.includes('unless content.* asks for it');
  expect(await isNoticeShown()).toBe(false);
  fs.writeFileSync(join(home, '.config/otel-hooks/state/otel_hook_state.json'), '{}');
  expect([await isNoticeShown(), await isNoticeShown()]).toEqual([true, false]);
});

it('providers in hooks use the keys of the file, although the file names no provider (kept)', async () => {
  const keys = { langfuse: { public_key: 'pk-lf-1234', secret_key: 'sk-lf-123456' } };
  const write = (path: string, value: unknown) => {
    fs.mkdirSync(join(home, path, '..'), { recursive: true, mode: 0o700 });
    fs.writeFileSync(join(home, path), JSON.stringify(value), { mode: 0o600 });
  };
  const commands = ['langfuse', 'otlp'].map(name => ({
    type: 'command',
    command: `otel-hooks hook --provider ${name}`,
  }));
  write('.config/otel-hooks/config.json', { ...keys, otlp: { endpoint: 'http://127.0.0.1:4318' } });
  write('.claude/settings.json', { hooks: { Stop: commands.map(hook => ({ hooks: [hook] })) } });
  const status = JSON.parse((await run(['status', '--json'])).out);
  expect(status.providers.map(({ provider }: { provider: string }) => provider).sort()).toEqual(['langfuse', 'otlp']);
  expect((await run(['enable', '--tool', 'claude', '--yes', '--no-proof'])).code).toBe(0);
  const written = fs.readFileSync(join(home, '.claude/settings.json'), 'utf8');
  expect(written).toContain("otel_hooks='claude-code Stop edge langfuse,otlp'");
  expect(written).not.toContain('otel-hooks hook --provider');
});

it('doctor counts its findings and reports repairs (kept)', async () => {
  await run(['enable', '--tool', 'claude', '--yes', '--no-proof']);
  fs.writeFileSync(join(home, '.local/share/otel-hooks/hook.sh'), '');
  const words = ['doctor', '--offline', '--no-proof'];
  expect((await run(words)).out).toContain('Found 1 issue(s)');
  expect((await run([...words, '--yes'])).out).toContain('Fixed.');
});

it.each(['claude', 'cline', 'codex', 'copilot', 'cursor', 'gemini', 'kiro', 'opencode'])('--tool %s (kept)', name => {
  expect(agentNamed(name)?.id).toMatch(new RegExp(`^${name}`));
});

/** A key of the configuration file, with the variable that sets it. */
const settingRows: [key: string, of: Class, value: unknown, variable: string | undefined, text: string][] = [
  ['provider', 'mended', ['otlp'], 'OTEL_HOOKS_PROVIDER', 'otlp'],
  ['debug', 'kept', true, 'OTEL_HOOKS_DEBUG', 'true'],
  ['max_chars', 'mended', 500, 'OTEL_HOOKS_MAX_CHARS', '500'],
  ['state_dir', 'kept', '/var/x', 'OTEL_HOOKS_STATE_DIR', '/var/x'],
  ['otlp.endpoint', 'mended', 'http://h:4318/v1/traces', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'http://h:4318/v1/traces'],
  ['otlp.headers', 'kept', 'a=b,c=d', 'OTEL_EXPORTER_OTLP_HEADERS', 'a=b,c=d'],
  ['langfuse.public_key', 'kept', 'pk', 'LANGFUSE_PUBLIC_KEY', 'pk'],
  ['langfuse.secret_key', 'kept', 'sk', 'LANGFUSE_SECRET_KEY', 'sk'],
  ['langfuse.base_url', 'kept', 'https://l.example', 'LANGFUSE_BASE_URL', 'https://l.example'],
  ['datadog.service', 'kept', 'shop', 'DD_SERVICE', 'shop'],
  ['datadog.env', 'kept', 'prod', 'DD_ENV', 'prod'],
  ['datadog.agent_host', 'kept', 'agent', 'DD_AGENT_HOST', 'agent'],
  ['attribution.enabled', 'warned', false, undefined, ''],
  ['compat.span_names', 'kept', 'v0', undefined, ''],
];

it.each(settingRows)('the setting %s (%s)', (key, _, value, variable, text) => {
  expect(isKey(key)).toBe(true);
  const [group = '', name] = key.split('.');
  const file = { file: '/c.json', text: JSON.stringify({ [group]: name === undefined ? value : { [name]: value } }) };
  const common = { home: '/home/dev', cwd: '/x' };
  const fromFile = resolve({ ...common, global: file, env: {} });
  expect([fromFile.problems, fromFile.origins[key as Key]]).toEqual([[], 'global file']);
  if (variable === undefined) return;
  const fromVariable = resolve({ ...common, env: { [variable]: text } });
  expect([fromVariable.problems, fromVariable.values[key as Key]]).toEqual([[], fromFile.values[key as Key]]);
});

it("one signal's address is taken as the base of all, with a note (mended)", () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h:4318/v1/traces' };
  const { destinations, problems } = destinationsOf(resolve({ env, home: '/home/dev', cwd: '/x' }));
  expect(destinations[0]?.signals.logs?.url).toBe('http://h:4318/v1/logs');
  expect(problems.map(({ code }) => code)).toEqual(['endpoint-signal-path']);
});

it('an address of traces is a note, not a fault (mended)', async () => {
  fs.mkdirSync(join(home, '.config/otel-hooks'), { recursive: true, mode: 0o700 });
  const file = join(home, '.config/otel-hooks/config.json');
  fs.writeFileSync(file, '{"otlp":{"endpoint":"http://h:4318/v1/traces"}}', { mode: 0o600 });
  const checked = await run(['doctor', '--offline', '--no-proof']);
  expect([checked.code, checked.out]).toEqual([
    0,
    expect.stringMatching(/^\? +configuration .*http:\/\/h:4318 is used/m),
  ]);
  expect(await run(['status'])).toMatchObject({ code: 0, err: expect.stringContaining('http://h:4318 is used') });
});
