import { lstatSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { replaceConfig } from '../config/files.ts';
import { configFolder } from '../config/folders.ts';
import { newSigningKey, publicJwk, signingKey } from '../lib/jws.ts';
import { readPrivate } from '../lib/private-file.ts';
import type { Io, Words } from './command.ts';
import { foldersOf } from './place.ts';

export function run(words: Words, io: Io): number {
  const named = words.rest.map(file => resolve(io.cwd, file));
  const keys = [];
  for (const file of named.length > 0 ? named : [usualKey(words, io)]) {
    try {
      if (lstatSync(file, { throwIfNoEntry: false }) === undefined) {
        replaceConfig(file, newSigningKey());
        io.err(`${file} is a new key. Keep it secret: it signs in your name. The output here is its public part.\n`);
      }
      keys.push(publicJwk(signingKey(readPrivate(file))));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      io.err(`otel-hooks: ${file} is no key to sign with: ${why}\n  next: chmod 600 it, or name another file\n`);
      return 1;
    }
  }
  io.out(`${JSON.stringify({ keys }, null, 2)}\n`);
  return 0;
}

/** Returns the path of the key that signs events. */
export const usualKey = (words: Words, io: Io): string =>
  foldersOf(words, io).config.values['hooks.sign_key'] ?? join(configFolder(io), 'signing-key.pem');
