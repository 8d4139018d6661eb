/** A key is readable only by its owner, and the check of a signature distinguishes signed data from other data. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { signDetached, signingKey } from '../../src/lib/jws.ts';
import { ranIn } from './ran.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-signing-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const run = (...words: string[]) => ranIn(home, words);

it('makes a key once, and prints its public half', async () => {
  const made = await run('signing-key');
  const file = join(home, '.config/otel-hooks/signing-key.pem');
  expect(made.err).toContain('~/.config/otel-hooks/signing-key.pem is a new key');
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  const { keys } = JSON.parse(made.out);
  expect(keys).toMatchObject([{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' }]);
  expect(made.out).not.toContain('"d"');
  expect(await run('signing-key')).toEqual({ code: 0, out: made.out, err: '' });
  const both = await run('signing-key', '.config/otel-hooks/signing-key.pem', 'next.pem');
  expect(JSON.parse(both.out).keys).toMatchObject([keys[0], { kty: 'OKP' }]);
  fs.chmodSync(file, 0o644);
  expect(await run('signing-key')).toMatchObject({ code: 1, out: '' });
});

it('reports whether a signature is valid', async () => {
  fs.writeFileSync(join(home, 'jwks.json'), (await run('signing-key', 'key.pem')).out);
  fs.writeFileSync(join(home, 'body.jsonl'), '{"a":1}\n');
  const key = signingKey(fs.readFileSync(join(home, 'key.pem')));
  const signature = signDetached(fs.readFileSync(join(home, 'body.jsonl')), key);
  const verify = (...words: string[]) => run('verify', '--signature', signature, '--keys', 'jwks.json', ...words);
  expect(await verify('body.jsonl')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Signed with key \S{43}, /),
  });
  expect(JSON.parse((await verify('body.jsonl', '--json')).out)).toMatchObject({ v: 1, ok: true });
  fs.appendFileSync(join(home, 'body.jsonl'), ' ');
  expect(await verify('body.jsonl')).toMatchObject({ code: 1, err: expect.stringContaining('does not hold') });
  expect(await verify()).toMatchObject({ code: 2 });
  expect(await verify('nothing')).toMatchObject({ code: 2 });
  expect(await run('verify', '--signature', signature, 'body.jsonl')).toMatchObject({ code: 2 });
});
