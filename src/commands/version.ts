import { VERSION } from '../lib/version.ts';
import type { Io, Words } from './command.ts';

export function run(words: Words, io: Io): number {
  io.out(words.flags['--json'] ? `${JSON.stringify({ version: VERSION, node: process.version })}\n` : `${VERSION}\n`);
  return 0;
}
