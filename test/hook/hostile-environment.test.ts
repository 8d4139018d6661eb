/** The environment that an agent, or the settings of a project, give to a hook: real front ends, and a stub in deliver's place. */
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { makeFolders } from '../../src/hook/state-files.ts';
import { needsRoot } from '../needs.ts';
import { build, demolish, fragments, frontEnds, type House, harmless, kicks, run } from './front-ends.ts';

const houses: House[] = [];
afterEach(async () => {
  await Promise.all(houses.splice(0).map(demolish));
});
const house = (options: Parameters<typeof build>[0] = {}): House => {
  const built = build(options);
  houses.push(built);
  return built;
};
const payload = '{"hook_event_name":"SomeEvent"}';
const here = frontEnds.filter(each => each.missing === undefined);

/** Writes the agent's variables that reached it. */
const tellingVariables = `
const { writeFileSync } = require('node:fs');
const state = process.argv[process.argv.indexOf('--state-dir') + 1];
writeFileSync(state + '/kicked-' + process.pid, JSON.stringify({ names: Object.keys(process.env).sort() }), { flush: true });
`;

describe.each(here.map(each => [each.name, each] as const))('%s', (_, frontEnd) => {
  test('starts deliver without CAs, modules and libraries of the agent', async () => {
    const at = house({ deliver: tellingVariables });
    const marker = join(at.folder, 'loaded');
    fs.writeFileSync(join(at.folder, 'evil.cjs'), `require('node:fs').writeFileSync(${JSON.stringify(marker)}, '')`);
    const env: Record<string, string> = {
      NODE_EXTRA_CA_CERTS: join(at.folder, 'ca.pem'),
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      SSL_CERT_FILE: '/nowhere',
      SSL_CERT_DIR: '/nowhere',
      SSLKEYLOGFILE: join(at.folder, 'keys'),
      OPENSSL_CONF: '/nowhere',
      NODE_PATH: at.folder,
      BASH_ENV: './evil.sh',
      ENV: './evil.sh',
      LD_AUDIT: './none.so',
      KEPT: 'yes',
    };
    fs.writeFileSync(join(at.folder, 'evil.sh'), `: >${marker}\n`);
    const ran = await run(frontEnd.command(at, { edge: true }), payload, { env, cwd: at.folder });
    // The loader of glibc reports a library that it cannot load, before our code begins.
    expect([ran.status, ran.stdout]).toEqual([0, '']);
    const [first] = (await kicks(at, 1)) as { names: string[] }[];
    expect(first?.names).toContain('KEPT');
    for (const name of Object.keys(env)) if (name !== 'KEPT') expect(first?.names).not.toContain(name);
    if (frontEnd.name === 'sh') expect(fs.existsSync(marker)).toBe(false);
  });

  test.each([
    ['IFS and CDPATH', { IFS: '/.ho', CDPATH: '/:/tmp:.' }],
    ['a HOME with quotes, blanks, a newline and substitutions', { HOME: `/no'where "$(: >ran)" \`: >ran\`\n;: >ran` }],
    ['an empty PATH', { PATH: '' }],
    ['a PATH of the folder alone', { PATH: '.' }],
    ['an invalid locale', { LC_ALL: '$(: >ran)', LANG: '../../x' }],
    [
      'our variables with substitutions',
      { OTEL_SERVICE_NAME: '$(: >ran)`: >ran`";: >ran;\'', OTEL_HOOKS_PROVIDER: '*' },
    ],
    [
      'names of its own variables',
      { oh_state: '/nowhere', oh_cat: './cat', oh_node: './node', oh_head: 'x', otel_hooks: 'x' },
    ],
  ])('keeps the event with a hostile environment: %s', async (_name, env) => {
    const at = house();
    for (const name of ['cat', 'node', 'rm', 'date', 'setsid'])
      fs.writeFileSync(join(at.folder, name), '#!/bin/sh\n: >ran\n', { mode: 0o755 });
    const command = frontEnd.command(at, {});
    // `/usr/bin/env node` needs a PATH, so the Node front end is started by its interpreter.
    const words =
      frontEnd.name === 'node' ? [process.execPath, ...command] : [which(command[0] ?? ''), ...command.slice(1)];
    // A shell may warn about a locale before it reads its first command.
    expect(await run(words, payload, { env, cwd: at.folder })).toMatchObject({ status: 0, stdout: '' });
    expect(fragments(at).map(each => Buffer.from(each.payload).toString())).toEqual([payload]);
    expect(fs.existsSync(join(at.folder, 'ran'))).toBe(false);
  });

  test('as root makes no folder in the home of a user', async context => {
    needsRoot(context);
    const at = house({ prepared: false });
    const home = join(at.folder, 'home');
    const before = fs.readdirSync(home).sort();
    fs.chownSync(home, 4321, 4321);
    expect(await run(frontEnd.command(at, { edge: true }), payload, { env: { HOME: home } })).toEqual(harmless);
    expect(fs.readdirSync(home).sort()).toEqual(before);
    // The same if an earlier process of root left a folder of root on the path.
    const left = join(home, 'state');
    fs.mkdirSync(left);
    await run(frontEnd.command(at, { edge: true }), payload, { env: { HOME: home } });
    expect(fs.readdirSync(left)).toEqual([]);
    fs.rmdirSync(left);
    fs.chownSync(home, 0, 0);
    await run(frontEnd.command(at, { edge: true }), payload, { env: { HOME: home } });
    expect(fs.readdirSync(join(home, 'state', 'inbox'))).toHaveLength(1);
  });
});

function which(program: string): string {
  if (program.startsWith('/')) return program;
  return (
    ['/bin', '/usr/bin', '/usr/local/bin'].map(folder => join(folder, program)).find(path => fs.existsSync(path)) ??
    program
  );
}

test('the Node front end takes no state folder from a config file that a project names', async () => {
  const at = house({ prepared: false });
  const clone = join(at.folder, 'clone');
  const evil = join(at.folder, 'evil');
  fs.mkdirSync(join(clone, '.git'), { recursive: true });
  fs.mkdirSync(join(clone, 'sub'));
  fs.writeFileSync(join(clone, 'c.json'), JSON.stringify({ state_dir: evil }));
  const home = join(at.folder, 'home');
  for (const [named, cwd] of [
    ['c.json', clone],
    [join(clone, 'c.json'), clone],
    [join(clone, 'c.json'), join(clone, 'sub')],
  ] as const) {
    const env = { HOME: home, OTEL_HOOKS_CONFIG: named };
    expect(await run([at.bin, 'hook', '--tool', 'a', '--event', 'B'], payload, { env, cwd })).toEqual(harmless);
    expect(fs.existsSync(evil)).toBe(false);
  }
  expect(fs.readdirSync(join(home, '.local/state/otel-hooks/inbox'))).toHaveLength(3);
  // A flag is the choice of the person who wrote the entry.
  await run([at.bin, 'hook', '--tool', 'a', '--event', 'B', '--config', 'c.json'], payload, {
    env: { HOME: home },
    cwd: clone,
  });
  expect(fs.readdirSync(join(evil, 'inbox'))).toHaveLength(1);
});

test('a link that replaced the state folder after the check is not followed', () => {
  const at = house({ prepared: false });
  const victim = join(at.folder, 'victim');
  fs.mkdirSync(victim);
  fs.symlinkSync(victim, join(at.folder, 'state'));
  expect(() => makeFolders(join(at.folder, 'state'))).toThrow('is a link');
  expect(fs.readdirSync(victim)).toEqual([]);
});
