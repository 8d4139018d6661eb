/** `otel-hooks serve` as a person types it: the cases in which it refuses to listen, and TLS. */
import { spawn } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { main } from '../../src/cli.ts';
import { newSigningKey, SIGNATURE, signDetached, signingKey } from '../../src/lib/jws.ts';
import { selfSigned } from '../certificates.ts';
import { agentHooks, stand } from './standing.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-serve-command-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function serve(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const output = { out: '', err: '' };
  const code = await main(['serve', ...words], {
    out: text => {
      output.out += text;
    },
    err: text => {
      output.err += text;
    },
    env: {},
    cwd: folder,
    home: folder,
    platform: 'linux',
    color: false,
    columns: 100,
    unicode: false,
    isTerminal: false,
    ask: async () => '',
    now: Date.now,
  });
  return { code, ...output };
}

/** A self-signed certificate for a name, also as files. */
async function certified(name: string): Promise<{ cert: Buffer; key: Buffer; files: string[] }> {
  const { cert, key } = await selfSigned(name);
  const files = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  writeFileSync(files[0] ?? '', cert);
  writeFileSync(files[1] ?? '', key);
  return { cert: Buffer.from(cert), key: Buffer.from(key), files };
}

it('refuses other machines without TLS, and a file that is not a certificate', async () => {
  const open = await serve('--listen', '0.0.0.0:0');
  expect([open.code, open.err]).toEqual([1, expect.stringContaining('0.0.0.0:0 can be reached from other machines')]);
  const [cert = '', key = ''] = (await certified('hooks.example')).files;
  expect((await serve('--cert', join(folder, 'none.pem'), '--key', key)).err).toContain(
    'none.pem cannot be used for TLS (ENOENT)',
  );
  expect((await serve('--cert', key, '--key', key)).err).toContain('cannot be used for TLS');
  expect((await serve('--cert', cert, '--key', (await certified('other.example')).files[1] ?? '')).err).toContain(
    'cannot be used for TLS',
  );
  for (const wrong of [
    ['--cert', cert],
    ['--listen', 'nowhere'],
    ['--listen', '1.2.3.4:70000'],
    ['--rate', 'x'],
    ['--allow-host', 'hooks:4319'],
    ['--tls-elsewhere', '--cert', cert, '--key', key],
    ['--rotate-token', '--token-file', key],
    ['--print-unit', 'x'],
  ])
    expect((await serve(...wrong)).code).toBe(2);
});

it.skipIf(process.platform === 'win32')('refuses a key that others can read, and takes one of its group', async () => {
  const [cert = '', key = ''] = (await certified('open.example')).files;
  for (const mode of [0o644, 0o604, 0o620, 0o602]) {
    chmodSync(key, mode);
    const { code, err } = await serve('--cert', cert, '--key', key);
    expect([mode, code, err]).toEqual([mode, 1, expect.stringContaining('others can read or change it')]);
    expect(err).toContain(`chmod 600 ${key}`);
  }
  chmodSync(key, 0o640);
  // The command gets as far as the address.
  const taken = await serve('--cert', cert, '--key', key, '--listen', '192.0.2.1:1');
  expect(taken.err).toContain('192.0.2.1:1');
  expect(taken.err).not.toContain('cannot be used for TLS');
});

it('listens without TLS at any address when a proxy does TLS, with a token from a given file', async () => {
  const missing = join(folder, 'mounted');
  const words = ['--tls-elsewhere', '--listen', '192.0.2.1:1', '--token-file', missing];
  expect((await serve(...words)).err).toContain(`${missing} cannot be used as the token`);
  writeFileSync(missing, 't'.repeat(43), { mode: 0o440 });
  // The command gets as far as the address.
  expect((await serve(...words)).err).toContain('nothing can be received at 192.0.2.1:1');
  const { out } = await serve(
    ...words,
    '--allow-host',
    'hooks',
    '--allow-host',
    'hooks.svc',
    '--print-unit',
    'systemd',
  );
  expect(out).toMatch(/--allow-host hooks,hooks\.svc --tls-elsewhere --token-file \S+mounted\n/);
});

it('creates another token on request, for its owner alone', async () => {
  const file = join(folder, '.config', 'otel-hooks', 'token');
  expect((await serve('--rotate-token')).code).toBe(0);
  const first = readFileSync(file, 'utf8');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await serve('--rotate-token', '--json')).out).toBe(`${JSON.stringify({ v: 1, token: file })}\n`);
  expect(readFileSync(file, 'utf8')).not.toBe(first);
});

it('prints units with absolute paths, also with special characters', async () => {
  const systemd = (await serve('--print-unit', 'systemd', '--cert', 'my "100%" $cert.pem', '--key', 'k.pem')).out;
  expect(systemd).toMatch(/^ExecStart=\/\S+ \/\S+\/otel-hooks\.cjs serve --cert "/m);
  expect(systemd).toContain(`"${folder}/my \\"100%%\\" $$cert.pem" --key ${folder}/k.pem\n`);
  const launchd = (await serve('--print-unit', 'launchd', '--state-dir', '<&>')).out;
  expect(launchd).toContain(`<string>${folder}/&lt;&amp;&gt;</string>`);
});

it('with TLS it accepts the names of its certificate, and may require a certificate of the client', async () => {
  const own = await certified('served.example');
  const caller = await certified('caller.example');
  const at = await stand({ host: '0.0.0.0', tls: { cert: own.cert, key: own.key, clientCa: caller.cert } });
  try {
    const { port } = new URL(at.server.url);
    const post = (host: string, as: { cert?: Buffer; key?: Buffer }): Promise<number> =>
      new Promise(resolve => {
        const asked = request(
          {
            ...{ hostname: '127.0.0.1', port, path: '/v1/events', method: 'POST', agent: false },
            ...{ ca: own.cert, servername: 'served.example', cert: as.cert, key: as.key },
            headers: { ...at.welcome, host },
          },
          answer => answer.resume().on('end', () => resolve(answer.statusCode ?? 0)),
        );
        asked.on('error', () => resolve(0));
        asked.end(JSON.stringify(agentHooks(1)));
      });
    expect(await post('served.example', caller)).toBe(200);
    expect(await post(`127.0.0.1:${port}`, caller)).toBe(200);
    expect(await post('other.example', caller)).toBe(421);
    expect(await post('served.example', {})).toBe(0);
    expect(await post('served.example', own)).toBe(0);
    expect(at.fragments()).toHaveLength(2);
  } finally {
    await at.leave();
  }
});

it('with --require-signature the real process takes signed events only, and refuses a file without a key', async () => {
  const bin = fileURLToPath(new URL('../../dist/otel-hooks.cjs', import.meta.url));
  const key = signingKey(newSigningKey());
  const jwks = join(folder, 'jwks.json');
  writeFileSync(jwks, JSON.stringify({ keys: [createPublicKey(key).export({ format: 'jwk' })] }));
  const home = mkdtempSync(join(folder, 'home-'));
  const words = ['serve', '--listen', '127.0.0.1:0', '--require-signature', jwks, '--json'];
  const child = spawn(process.execPath, [bin, ...words], { env: { HOME: home }, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>(resolve => child.on('close', resolve));
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const { url, token, state } = JSON.parse(line.toString()) as { url: string; token: string; state: string };
    const body = JSON.stringify(agentHooks(1));
    const post = async (headers: Record<string, string>): Promise<number> => {
      const authorization = `Bearer ${readFileSync(token, 'utf8').trim()}`;
      const init = { method: 'POST', body, headers: { 'content-type': 'application/json', authorization, ...headers } };
      return (await fetch(`${url}/v1/events`, init)).status;
    };
    expect(await post({})).toBe(401);
    expect(await post({ [SIGNATURE]: signDetached(Buffer.from(`${body} `), key) })).toBe(401);
    expect(await post({ [SIGNATURE]: signDetached(Buffer.from(body), signingKey(newSigningKey())) })).toBe(401);
    expect(await post({ [SIGNATURE]: signDetached(Buffer.from(body), key) })).toBe(200);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    const lines = readdirSync(join(state, 'journal')).map(name => readFileSync(join(state, 'journal', name), 'utf8'));
    expect(lines.join('').trim().split('\n')).toHaveLength(1);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
  writeFileSync(jwks, '{"keys":[]}');
  const refused = await serve('--require-signature', jwks);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('holds no public Ed25519 key')]);
}, 60_000);
