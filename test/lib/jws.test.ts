/** Detached signatures, compared with the example of RFC 8037, and forged ones. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newSigningKey, publicJwk, publicKeys, signDetached, signingKey, verifyDetached } from '../../src/lib/jws.ts';

/** RFC 8037, appendix A. */
const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
const d = 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A';
const example =
  'eyJhbGciOiJFZERTQSJ9..hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg';

const key = signingKey(newSigningKey());
const jwks = (...keys: object[]): string => JSON.stringify({ keys });
const mine = publicKeys(jwks(publicJwk(key)));
const body = Buffer.from('{"a":1}\n{"b":"\u00e9"}\n');
const head = (header: object): string => Buffer.from(JSON.stringify(header)).toString('base64url');

describe('a signature', () => {
  it('matches the example of the standard', () => {
    const known = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x, d }, format: 'jwk' });
    expect(publicJwk(known).kid).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
    const payload = Buffer.from('Example of Ed25519 signing');
    expect(verifyDetached(payload, example, publicKeys(jwks({ kty: 'OKP', crv: 'Ed25519', x })))).toMatchObject({
      ok: true,
    });
  });

  it('is valid only for these bytes and this key, and is the same each time', () => {
    const signature = signDetached(body, key);
    expect(signDetached(body, key)).toBe(signature);
    expect(verifyDetached(body, signature, mine)).toEqual({ ok: true, kid: publicJwk(key).kid });
    const other = publicKeys(jwks(publicJwk(signingKey(newSigningKey()))));
    expect(verifyDetached(body, signature, other)).toMatchObject({ ok: false });
    expect(verifyDetached(body, signature, [...other, ...mine])).toMatchObject({ ok: true });
    expect(verifyDetached(Buffer.concat([body, Buffer.from(' ')]), signature, mine)).toMatchObject({ ok: false });
    for (let at = 0; at < signature.length; at += 1) {
      const forged = `${signature.slice(0, at)}${signature[at] === 'A' ? 'Q' : 'A'}${signature.slice(at + 1)}`;
      const isSameBytes = Buffer.from(forged.split('.')[2] ?? '', 'base64url').equals(
        Buffer.from(signature.split('.')[2] ?? '', 'base64url'),
      );
      if (forged.split('.')[0] === signature.split('.')[0] && isSameBytes) continue;
      expect(verifyDetached(body, forged, mine).ok, forged).toBe(false);
    }
  });

  it.each([
    ['no JWS', 'rubbish'],
    ['an attached one', signDetached(body, key).replace('..', '.e30.')],
    ['no header', signDetached(body, key).replace(/^[^.]*/, '')],
    ['no algorithm', `${head({ alg: 'none' })}..`],
    ['a shared secret', `${head({ alg: 'HS256' })}..AAAA`],
    ['an unknown extension', `${head({ alg: 'EdDSA', crit: ['exp'], exp: 1 })}..AAAA`],
    ['b64 without crit', `${head({ alg: 'EdDSA', b64: false })}..AAAA`],
    ['nothing signed', `${head({ alg: 'EdDSA' })}..`],
  ])('that is %s is not valid', (_, signature) => {
    expect(verifyDetached(body, signature, mine)).toMatchObject({ ok: false });
  });
});

describe('keys', () => {
  it('are read as JWKS, JWK and PEM; others are left out', () => {
    const pem = mine[0]?.export({ type: 'spki', format: 'pem' }).toString() ?? '';
    const rsa = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
    for (const source of [JSON.stringify(publicJwk(key)), pem, `${pem}\n${pem}`])
      expect(publicKeys(source).map(each => publicJwk(each).kid)).toContain(publicJwk(key).kid);
    for (const source of [
      '',
      '{}',
      '{',
      'x',
      jwks(rsa.export({ format: 'jwk' }), { kty: 'OKP', crv: 'Ed25519', x: '?' }),
    ])
      expect(publicKeys(source)).toEqual([]);
    expect(publicKeys(rsa.export({ type: 'spki', format: 'pem' }).toString())).toEqual([]);
  });

  it('of another kind sign nothing', () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    expect(() => signingKey(other.toString())).toThrow('no Ed25519');
    expect(() => signingKey('')).toThrow('no Ed25519');
  });
});
