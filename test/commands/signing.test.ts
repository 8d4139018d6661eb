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

it('signs a file and each event in it, in the form that verify reads', async () => {
  fs.writeFileSync(join(home, 'jwks.json'), (await run('signing-key')).out);
  fs.writeFileSync(join(home, 'body.jsonl'), '{"a":1}\n{"a":2}\r\n{"a":"é"}');
  const { code, out } = await run('sign', 'body.jsonl');
  expect({ code, lines: out.split('\n').length }).toEqual({ code: 0, lines: 2 });
  expect(await run('verify', '--signature', out, '--keys', 'jwks.json', 'body.jsonl')).toMatchObject({ code: 0 });
  const named = await run('sign', '--key', '.config/otel-hooks/signing-key.pem', '--json', 'body.jsonl');
  expect(JSON.parse(named.out)).toEqual({ v: 1, kid: expect.stringMatching(/^\S{43}$/), signatures: [out.trim()] });

  const each = await run('sign', '--each', 'body.jsonl');
  const signatures = each.out.split('\n').slice(0, -1);
  expect(signatures).toHaveLength(3);
  fs.writeFileSync(join(home, 'signatures'), each.out);
  const verify = (...words: string[]) =>
    run('verify', '--signatures', 'signatures', '--keys', 'jwks.json', 'body.jsonl', ...words);
  expect(await verify()).toEqual({ code: 0, out: 'All 3 lines are signed, and unchanged.\n', err: '' });
  // A single event is verified without the others.
  fs.writeFileSync(join(home, 'event.json'), '{"a":1}');
  const single = ['verify', '--signature', signatures[0] ?? '', '--keys', 'jwks.json', 'event.json'];
  expect(await run(...single)).toMatchObject({ code: 0 });

  fs.writeFileSync(join(home, 'body.jsonl'), '{"a":1}\n{"a":3}\r\n{"a":"é"}\n{"a":4}\n');
  expect(await verify()).toEqual({
    code: 1,
    out: '',
    err: 'otel-hooks: line 2: the signature does not hold: the bytes are not those that were signed.\notel-hooks: line 4: the signature does not hold: a line without a signature.\n',
  });
  expect(JSON.parse((await verify('--json')).out)).toMatchObject({
    ok: false,
    lines: [{ ok: true }, { ok: false }, {}, {}],
  });
  fs.writeFileSync(join(home, 'body.jsonl'), '');
  fs.writeFileSync(join(home, 'signatures'), '');
  expect(await verify()).toMatchObject({ code: 1, err: 'otel-hooks: the body has no line.\n' });
});

it('does not sign with a missing key, or with a key that others can read', async () => {
  fs.writeFileSync(join(home, 'body.jsonl'), '{"a":1}\n');
  expect(await run('sign', 'body.jsonl')).toMatchObject({
    ...{ code: 1, out: '' },
    err: expect.stringContaining('next: otel-hooks signing-key'),
  });
  await run('signing-key', 'key.pem');
  fs.chmodSync(join(home, 'key.pem'), 0o644);
  expect(await run('sign', '--key', 'key.pem', 'body.jsonl')).toMatchObject({
    ...{ code: 1, out: '' },
    err: expect.stringContaining('others can read it'),
  });
  expect(await run('sign', '--key', 'key.pem')).toMatchObject({ code: 2 });
});
