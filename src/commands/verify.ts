import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { publicKeys, verifyDetached } from '../lib/jws.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';

export function run(words: Words, io: Io): number {
  const signature = flagText(words, '--signature');
  const file = flagText(words, '--keys');
  const [body, ...more] = words.rest;
  if (signature === undefined)
    throw new UsageError('--signature is missing: the value of the header agent-hooks-signature');
  if (file === undefined) throw new UsageError('--keys is missing: a file with a JWKS, a JWK or public keys in PEM');
  if (body === undefined || more.length > 0) throw new UsageError('one BODY is needed (- for standard input)');
  const keys = publicKeys(contentOf(file, io).toString());
  if (keys.length === 0) throw new UsageError(`${file} holds no public Ed25519 key`);
  const verified = verifyDetached(contentOf(body, io), signature, keys);
  if (words.flags['--json']) io.out(`${JSON.stringify({ v: 1, ...verified })}\n`);
  else if (verified.ok) io.out(`Signed with key ${verified.kid}, and unchanged.\n`);
  else io.err(`otel-hooks: the signature does not hold: ${verified.why}.\n`);
  return verified.ok ? 0 : 1;
}

function contentOf(file: string, io: Io): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : resolve(io.cwd, file));
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
