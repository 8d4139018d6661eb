import { release } from 'node:os';
import { VERSION } from '../lib/version.ts';
import type { Io, Words } from './command.ts';

/** With `--json`: facts for a bug report. They name no user, no host and no path. */
export function run(words: Words, io: Io): number {
  const { version, platform, arch } = process;
  const facts = { v: 1, version: VERSION, node: version, platform, arch, os: release() };
  io.out(words.flags['--json'] ? `${JSON.stringify(facts, null, 2)}\n` : `${VERSION}\n`);
  return 0;
}
