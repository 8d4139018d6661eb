/** `config get`, `set` and `unset` change one key of the user's file, and nothing else in it. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type House, newHouse } from '../waiting/house.ts';

let house: House;
beforeEach(() => {
  house = newHouse();
});
afterEach(() => house.close());

const write = (text: string): void => {
  mkdirSync(dirname(house.configFile), { recursive: true, mode: 0o700 });
  writeFileSync(house.configFile, text, { mode: 0o600 });
};
const text = (): string => readFileSync(house.configFile, 'utf8');
const set = (...words: string[]) => house.run('config', 'set', ...words);

it('makes the file for its owner alone, and get reads the value with its origin', async () => {
  expect(await set('otlp.endpoint', 'http://127.0.0.1:4318')).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(text())).toEqual({ otlp: { endpoint: 'http://127.0.0.1:4318' } });
  expect(statSync(house.configFile).mode & 0o777).toBe(0o600);
  expect(await house.run('config', 'get', 'otlp.endpoint')).toMatchObject({ code: 0, out: 'http://127.0.0.1:4318\n' });
  const { out } = await house.run('config', 'get', 'otlp.endpoint', '--json');
  expect(JSON.parse(out)).toMatchObject({ v: 1, value: 'http://127.0.0.1:4318', origin: 'global file' });
});

it('keeps comments, order and line ends, and unset restores the file byte for byte', async () => {
  const before =
    '// mine\r\n{\r\n\t"provider": "otlp", // the lab\r\n\t"otlp": {\r\n\t\t"endpoint": "http://a:4318"\r\n\t}\r\n}\r\n';
  write(before);
  await set('otlp.endpoint', 'http://b:4318');
  expect(text()).toBe(before.replace('http://a', 'http://b'));
  await set('otlp.endpoint', 'http://a:4318');
  await set('fsync', 'true');
  expect(text()).toContain('// the lab\r\n');
  expect((await house.run('config', 'get', 'fsync')).out).toBe('true\n');
  await house.run('config', 'unset', 'fsync');
  expect(text()).toBe(before);
});

it.each([
  ['keep.outbox_mb', '12', 12],
  ['enabled', 'false', false],
  ['provider', '["otlp", "console"]', ['otlp', 'console']],
  ['provider', 'otlp', 'otlp'],
  ['service_name', '12', '12'],
])('set %s %s writes %j', async (key, word, value) => {
  expect((await set(key, word)).code).toBe(0);
  const written = key
    .split('.')
    .reduce<unknown>((each, part) => (each as { [name: string]: unknown })[part], JSON.parse(text()));
  expect(written).toEqual(value);
});

it.each([
  [['set', 'otlp.endpoint', 'nowhere'], 'otlp.endpoint does not take this value'],
  [['set', 'otlp.enpoint', 'http://a'], 'there is no key otlp.enpoint; did you mean otlp.endpoint?'],
  [['set', 'keep.outbox_mb', 'much'], 'keep.outbox_mb does not take this value'],
  [['set', 'fsync'], 'set takes a key and one value'],
  [['get'], 'takes a key'],
  [['put', 'fsync'], 'takes get, set or unset, not put'],
])('%j is refused, and no file is made', async (words, why) => {
  expect(await house.run('config', ...words)).toMatchObject({ code: 2, err: expect.stringContaining(why) });
  expect(existsSync(house.configFile)).toBe(false);
});

it('leaves a file that is not JSON as it is, and names the place', async () => {
  write('{ "provider": ');
  expect(await set('fsync', 'true')).toMatchObject({ code: 1, err: expect.stringMatching(/line 1, column \d+/) });
  expect(text()).toBe('{ "provider": ');
});

it('reports when another layer overrides the value, and masks secrets', async () => {
  const env = { PATH: '', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
  const { out } = await house.runWith({ env }, 'config', 'set', 'otlp.endpoint', 'http://127.0.0.1:2');
  expect(out).toContain(
    'In force here is the value of another layer: http://127.0.0.1:1 (environment OTEL_EXPORTER_OTLP_ENDPOINT)',
  );
  expect((await set('otlp.headers', 'authorization=Bearer abcdefgh')).out).not.toContain('abcdefgh');
  expect((await house.run('config', 'get', 'otlp.headers')).out).toBe('authorization=***\n');
});

it('get of a key without a value fails and names the next step', async () => {
  expect(await house.run('config', 'get', 'service_name')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('next: otel-hooks config set service_name VALUE'),
  });
});

it('the version is one line, and with --json the facts for a bug report without names of the machine', async () => {
  expect((await house.run('--version')).out).toBe((await house.run('version')).out);
  const facts = JSON.parse((await house.run('version', '--json')).out);
  expect(Object.keys(facts)).toEqual(['v', 'version', 'node', 'platform', 'arch', 'os']);
});

it('the man page has every command and every flag', async () => {
  const { out } = await house.run('help', '--man');
  const { commands } = await import('../../src/commands/registry.ts');
  for (const { name, flags } of commands) {
    expect(out).toContain(`.SS ${name.replaceAll('-', '\\-')}\n`);
    for (const flag of flags) expect(out).toContain(flag.name.replaceAll('-', '\\-'));
  }
});

const destinations = (): { [name: string]: { [member: string]: unknown } } => JSON.parse(text()).destinations;

it('sets, reads and removes the members of a named destination', async () => {
  const values: [string, string][] = [
    ['team.endpoint', 'https://otel.corp.example'],
    ['team.sampler_arg', '0.1'],
    ['team.signals', '["traces", "logs"]'],
    ['team.content.prompt', 'off'],
    ['team.headers', '{"authorization": "Bearer a-long-secret-of-the-team"}'],
    ['lab.eu.endpoint', 'http://127.0.0.1:4318'],
  ];
  for (const [member, value] of values)
    expect(await set(`destinations.${member}`, value)).toMatchObject({ code: 0, err: '' });
  expect(destinations()).toEqual({
    team: {
      endpoint: 'https://otel.corp.example',
      sampler_arg: 0.1,
      signals: ['traces', 'logs'],
      content: { prompt: 'off' },
      headers: { authorization: 'Bearer a-long-secret-of-the-team' },
    },
    'lab.eu': { endpoint: 'http://127.0.0.1:4318' },
  });
  const get = (key: string) => house.run('config', 'get', `destinations.${key}`);
  expect(await get('team.endpoint')).toMatchObject({ code: 0, out: 'https://otel.corp.example\n' });
  expect(await get('team.headers')).toMatchObject({ code: 0, out: 'authorization=***\n' });
  expect(await get('team.content.prompt')).toMatchObject({ code: 0, out: 'off\n' });
  expect(JSON.parse((await get('lab.eu')).out)).toEqual({ endpoint: 'http://127.0.0.1:4318' });
  expect(await get('team.timeout_ms')).toMatchObject({ code: 1, err: expect.stringContaining('is not set') });
  const { out } = await house.run('config', 'get', 'destinations.team.signals', '--json');
  expect(JSON.parse(out)).toMatchObject({ value: ['traces', 'logs'], origin: 'global file' });
  expect((await house.run('config', 'unset', 'destinations.team.content.prompt')).code).toBe(0);
  expect((await house.run('config', 'unset', 'destinations.team.signals')).code).toBe(0);
  expect(Object.keys(destinations().team ?? {})).not.toContain('signals');
  expect((await house.run('config', 'unset', 'destinations.team')).code).toBe(0);
  expect(Object.keys(destinations())).toEqual(['lab.eu']);
});

it('sets a whole destination, shows no secret, and says that a project has another one', async () => {
  const { out, code } = await set(
    'destinations.llm',
    '{"provider": "langfuse", "public_key": "pk", "secret_key": "a-long-secret-of-langfuse"}',
  );
  expect([code, out]).toEqual([0, expect.stringContaining('destinations.llm = {"provider":"langfuse"')]);
  expect(out).not.toContain('a-long-secret');
  expect((await set('destinations.llm.secret_key', 'another-long-secret-of-langfuse')).out).not.toContain(
    'another-long',
  );
  expect(destinations().llm?.secret_key).toBe('another-long-secret-of-langfuse');
});

it.each([
  ['destinations.team.endpont', 'http://a:4318', 'did you mean endpoint?'],
  ['destinations.team.endpoint', 'nowhere', 'destinations.team.endpoint'],
  ['destinations.team.public_key', 'pk', 'is no setting of a destination with the provider otlp'],
  ['destinations.team.content.promt', 'off', 'did you mean prompt?'],
  ['destinations.team.sampler_arg', '7', 'destinations.team.sampler_arg'],
  ['destinations.langfuse.endpoint', 'http://a:4318', 'which is a provider'],
  ['destinations.Team.endpoint', 'http://a:4318', 'lower-case letters'],
  ['destinations.team', 'x', 'is not an object'],
])('set %s %s is refused', async (key, value, why) => {
  expect(await set(key, value)).toMatchObject({ code: 2, err: expect.stringContaining(why) });
  expect(existsSync(house.configFile)).toBe(false);
});

it('does not remove a member that others need', async () => {
  await set('destinations.llm.provider', 'langfuse');
  await set('destinations.llm.public_key', 'pk');
  const before = text();
  expect(await house.run('config', 'unset', 'destinations.llm.provider')).toMatchObject({
    code: 2,
    err: expect.stringContaining('destinations.llm.public_key is no setting'),
  });
  expect(text()).toBe(before);
});
