/** `sign`: detached signatures of files and of single events, in the form that `verify` and receivers check. */
import type { KeyObject } from 'node:crypto';
import { resolve } from 'node:path';
import { publicJwk, signDetached, signingKey } from '../lib/jws.ts';
import { readPrivate } from '../lib/private-file.ts';
import { asShown } from '../lib/shown.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { usualKey } from './signing-key.ts';
import { contentOf, linesOf } from './verify.ts';

export function run(words: Words, io: Io): number {
  const [body, ...more] = words.rest;
  if (body === undefined || more.length > 0) throw new UsageError('one BODY is needed (- for standard input)');
  const named = flagText(words, '--key');
  const file = named === undefined ? usualKey(words, io) : resolve(io.cwd, named);
  let key: KeyObject;
  try {
    key = signingKey(readPrivate(file));
  } catch (error) {
    const why = asShown(error instanceof Error ? error.message : String(error));
    io.err(
      `otel-hooks: ${asShown(file)} is no key to sign with: ${why}\n  next: otel-hooks signing-key, or name a key\n`,
    );
    return 1;
  }
  const bytes = contentOf(body, io);
  const signatures = (words.flags['--each'] ? linesOf(bytes) : [bytes]).map(each => signDetached(each, key));
  if (words.flags['--json']) io.out(`${JSON.stringify({ v: 1, kid: publicJwk(key).kid, signatures })}\n`);
  else io.out(signatures.map(signature => `${signature}\n`).join(''));
  return 0;
}
