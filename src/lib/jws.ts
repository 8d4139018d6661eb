/**
 * Detached signatures: JWS (RFC 7515, appendix F) over unencoded bytes (RFC 7797), with Ed25519. The signature travels
 * beside the body, so receivers that do not verify it read the body unchanged.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { fieldsOf, isFields, text } from './read.ts';

/** The header with a detached JWS over the body, before compression. */
export const SIGNATURE = 'agent-hooks-signature';

export interface PublicJwk {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  /** The thumbprint of the key (RFC 7638), which identifies the key in every copy. */
  kid: string;
  alg: 'EdDSA';
  use: 'sig';
}

export const newSigningKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

export function signingKey(pem: string | Uint8Array): KeyObject {
  const key = read(() => createPrivateKey(Buffer.from(pem)));
  if (key?.asymmetricKeyType !== 'ed25519') throw new Error('no Ed25519 private key in PEM');
  return key;
}

export function publicJwk(key: KeyObject): PublicJwk {
  const { x = '' } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
}

/** Signs bytes. The same bytes and key give the same signature. */
export function signDetached(payload: Uint8Array, key: KeyObject): string {
  const header = { alg: 'EdDSA', kid: publicJwk(key).kid, b64: false, crit: ['b64'] };
  const head = Buffer.from(JSON.stringify(header)).toString('base64url');
  return `${head}..${sign(null, signed(head, payload), key).toString('base64url')}`;
}

const signed = (head: string, payload: Uint8Array | string): Uint8Array =>
  Buffer.concat([Buffer.from(`${head}.`), Buffer.from(payload)]);

/** Reads a JWK, a JWKS, or public keys in PEM. Keys other than Ed25519 are left out. */
export function publicKeys(source: string): KeyObject[] {
  const trimmed = source.trim();
  if (!trimmed.startsWith('{')) {
    const blocks = trimmed.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? [];
    return blocks.flatMap(block => ed25519(() => createPublicKey(block)));
  }
  const parsed = read(() => JSON.parse(trimmed) as unknown);
  const { keys = [parsed] } = fieldsOf(parsed);
  const jwks = Array.isArray(keys) ? keys.filter(isFields) : [];
  return jwks.flatMap(({ kty, crv, x }) =>
    kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string'
      ? ed25519(() => createPublicKey({ key: { kty, crv, x }, format: 'jwk' }))
      : [],
  );
}

function ed25519(made: () => KeyObject): KeyObject[] {
  const key = read(made);
  return key?.asymmetricKeyType === 'ed25519' ? [key] : [];
}

export type Verified = { ok: true; kid: string } | { ok: false; why: string };

/** Whether one of the keys signed exactly these bytes. */
export function verifyDetached(payload: Uint8Array, jws: string, keys: readonly KeyObject[]): Verified {
  const [head = '', middle, signature = '', ...more] = jws.trim().split('.');
  if (middle !== '' || more.length > 0) return no('it is no detached JWS: <header>..<signature>');
  const header = read(() => JSON.parse(Buffer.from(head, 'base64url').toString()) as unknown);
  if (!isFields(header)) return no('its header is no JSON object');
  const { alg, b64 = true, crit = [] } = header;
  // Ed25519 is the newer name of the same algorithm (RFC 9864).
  if (alg !== 'EdDSA' && alg !== 'Ed25519') return no(`its algorithm is not EdDSA`);
  const understood = Array.isArray(crit) && crit.every(each => each === 'b64');
  if (!understood) return no('its header asks for extensions that are unknown here');
  if (typeof b64 !== 'boolean' || (!b64 && !crit.includes('b64'))) return no('its header says b64 without crit');
  const bytes = signed(head, b64 ? Buffer.from(payload).toString('base64url') : payload);
  const kid = text(header.kid);
  const known = keys.map(key => ({ key, kid: publicJwk(key).kid }));
  const [meant] = known.filter(each => kid === undefined || each.kid === kid);
  if (meant === undefined) return no(`its key ${JSON.stringify(kid)} is not among the given ones`);
  const found = known.find(each => verify(null, bytes, each.key, Buffer.from(signature, 'base64url')));
  return found === undefined ? no('the bytes are not those that were signed') : { ok: true, kid: found.kid };
}

const no = (why: string): Verified => ({ ok: false, why });

function read<T>(from: () => T): T | undefined {
  try {
    return from();
  } catch {
    // A signature with any defect is not valid; the caller reports it.
    return undefined;
  }
}
