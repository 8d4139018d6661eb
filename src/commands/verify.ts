import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { publicKeys, verifyDetached } from '../lib/jws.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { cannotRead } from './text.ts';

export function run(words: Words, io: Io): number {
  const signature = flagText(words, '--signature');
  const signatures = flagText(words, '--signatures');
  const file = flagText(words, '--keys');
  const [body, ...more] = words.rest;
  if ((signature === undefined) === (signatures === undefined))
    throw new UsageError(
      '--signature or --signatures is missing: the value of the header agent-hooks-signature, or a file of sign --each',
    );
  if (file === undefined) throw new UsageError('--keys is missing: a file with a JWKS, a JWK or public keys in PEM');
  if (body === undefined || more.length > 0) throw new UsageError('one BODY is needed (- for standard input)');
  const keys = publicKeys(contentOf(file, io).toString());
  if (keys.length === 0) throw new UsageError(`${file} holds no public Ed25519 key`);
  if (signatures !== undefined) return verifyEach(contentOf(body, io), contentOf(signatures, io), keys, words, io);
  const verified = verifyDetached(contentOf(body, io), signature ?? '', keys);
  if (words.flags['--json']) io.out(`${JSON.stringify({ v: 1, ...verified })}\n`);
  else if (verified.ok) io.out(`Signed with key ${verified.kid}, and unchanged.\n`);
  else io.err(`otel-hooks: the signature does not hold: ${verified.why}.\n`);
  return verified.ok ? 0 : 1;
}

/** Verifies each line of the body with the signature in the same line of the other file. */
function verifyEach(body: Buffer, signatures: Buffer, keys: readonly KeyObject[], words: Words, io: Io): number {
  const [lines, given] = [linesOf(body), linesOf(signatures)];
  const checked = Array.from({ length: Math.max(lines.length, given.length) }, (_, i) => {
    const [line, signature] = [lines[i], given[i]];
    if (line === undefined) return { line: i + 1, ok: false as const, why: 'a signature without a line' };
    if (signature === undefined) return { line: i + 1, ok: false as const, why: 'a line without a signature' };
    return { line: i + 1, ...verifyDetached(line, signature.toString(), keys) };
  });
  const isSigned = checked.length > 0 && checked.every(({ ok }) => ok);
  if (words.flags['--json']) io.out(`${JSON.stringify({ v: 1, ok: isSigned, lines: checked })}\n`);
  else if (isSigned) io.out(`All ${checked.length} lines are signed, and unchanged.\n`);
  else if (checked.length === 0) io.err('otel-hooks: the body has no line.\n');
  else
    for (const each of checked)
      if (!each.ok) io.err(`otel-hooks: line ${each.line}: the signature does not hold: ${each.why}.\n`);
  return isSigned ? 0 : 1;
}

const NEWLINE = 0x0a;

/** Returns the lines without their ends. A newline at the end of the bytes begins no line. */
export function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? bytes.length : newline;
    lines.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return lines;
}

export function contentOf(file: string, io: Io): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : resolve(io.cwd, file));
  } catch (error) {
    throw new UsageError(cannotRead(file, error));
  }
}
