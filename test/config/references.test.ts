/** `${env:NAME}` and `${file:PATH}` in values: expanded in what the user wrote or agreed to, and nowhere else. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type LoadedConfig, loadConfig, trustProject } from '../../src/config/files.ts';
import type { Key } from '../../src/config/schema.ts';
import { shownValue, writtenValue } from '../../src/config/shown.ts';
import { explain } from '../../src/problems/problem.ts';

const CANARY = 'canary-b7f1e3';
const ENV = 'OTEL_HOOKS_TEST_CANARY';
const ref = (kind: 'env' | 'file', name: string): string => `$\{${kind}:${name}}`;

let home: string;
let project: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'otel-hooks-references-'));
  project = join(home, 'work', 'project');
  mkdirSync(project, { recursive: true });
  mkdirSync(join(home, '.ssh'));
  mkdirSync(join(home, '.config', 'otel-hooks'), { recursive: true });
  writeFileSync(join(home, '.ssh', 'id'), `${CANARY}\n`);
  vi.stubEnv(ENV, CANARY);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

const place = (flags?: { readonly [K in Key]?: string }) => ({
  home,
  platform: 'linux',
  cwd: project,
  env: {},
  ...(flags === undefined ? {} : { flags }),
});
function load(global: object, ofProject?: object, flags?: { readonly [K in Key]?: string }): LoadedConfig {
  writeFileSync(join(home, '.config', 'otel-hooks', 'config.json'), JSON.stringify(global));
  if (ofProject !== undefined) writeFileSync(join(project, '.otel-hooks.json'), JSON.stringify(ofProject));
  return loadConfig(place(flags));
}
const shownOf = (config: LoadedConfig): string =>
  (Object.keys(config.values) as Key[]).map(key => shownValue(key, writtenValue(config, key))).join('\n');

it('expands variables and files of the global file, in every shape of value', () => {
  writeFileSync(join(home, '.config', 'otel-hooks', 'team'), 'blue\r\n');
  const config = load({
    otlp: { headers: { authorization: `Bearer ${ref('env', ENV)}`, 'x-key': ref('file', '~/.ssh/id') } },
    attributes: `team=${ref('file', 'team')}`,
    redaction: { allow: [`a-${ref('env', ENV)}`] },
  });
  expect(config.problems).toEqual([]);
  expect(config.values['otlp.headers']).toEqual({ authorization: `Bearer ${CANARY}`, 'x-key': CANARY });
  expect(config.attributes).toEqual({ team: 'blue' });
  expect(config.values['redaction.allow']).toEqual([`a-${CANARY}`]);
  // What commands show is the reference.
  expect(shownOf(config)).not.toContain(CANARY);
  expect(shownValue('redaction.allow', writtenValue(config, 'redaction.allow'))).toBe(`["a-${ref('env', ENV)}"]`);
});

it('expands flags, and the members of named destinations', () => {
  const destinations = { team: { provider: 'otlp', endpoint: 'http://127.0.0.1:1', headers: { a: ref('env', ENV) } } };
  const config = load({ destinations }, undefined, { 'otlp.headers': `b=${ref('file', '~/.ssh/id')}` });
  expect(config.problems).toEqual([]);
  expect(config.values['otlp.headers']).toEqual({ b: CANARY });
  expect(JSON.stringify(config.named)).toContain(CANARY);
  expect(shownOf(config)).not.toContain(CANARY);
});

it('a variable of OpenTelemetry is no place for references', () => {
  writeFileSync(join(home, '.config', 'otel-hooks', 'config.json'), '{}');
  const env = { OTEL_RESOURCE_ATTRIBUTES: `key=${ref('env', ENV)}` };
  const { attributes } = loadConfig({ ...place(), env });
  expect(attributes).toEqual({ key: ref('env', ENV) });
});

it('a clone gets nothing: its references stay as they are, and are a problem', () => {
  const file = { attributes: { key: ref('file', '~/.ssh/id'), word: ref('env', ENV) } };
  const before = load({}, file);
  expect(JSON.stringify([before.values, before.attributes, before.named])).not.toContain(CANARY);
  expect(before.attributes).toEqual(file.attributes);
  expect(before.problems).toMatchObject([{ code: 'config-reference', key: 'attributes', line: 1 }]);
  expect(before.problems.map(explain)).toMatchObject([{ next: expect.stringContaining('config --trust') }]);
  expect(before.beyond).toMatchObject([{ key: 'attributes', value: expect.stringContaining('~/.ssh/id') }]);
  trustProject(place(), before.projectFile ?? '', before.projectText ?? '');
  const after = load({});
  expect([after.attributes, after.problems]).toEqual([{ key: CANARY, word: CANARY }, []]);
});

it.each([
  [{ otlp: { headers: { a: ref('env', 'OTEL_HOOKS_TEST_NOT_SET') } } }, /\$\{env:OTEL_HOOKS_TEST_NOT_SET\}.*not set/],
  [{ otlp: { headers: { a: ref('file', '~/.ssh/none') } } }, /\$\{file:~\/\.ssh\/none\}.*does not exist/],
  [{ otlp: { headers: { a: ref('file', '~/.ssh') } } }, /cannot be read/],
  [{ otlp: { endpoint: `https://${ref('env', ENV)}/` } }, /an address may not depend on a variable/],
])('names a reference that cannot be read, and not its neighbours: %j', (global, why) => {
  const { problems, values } = load(global);
  expect(problems.map(({ code }) => code)).toEqual(['config-value']);
  expect(problems.map(problem => explain(problem).what).join()).toMatch(why);
  expect(JSON.stringify([values, problems])).not.toContain(CANARY);
});
