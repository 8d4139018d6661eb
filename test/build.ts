import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const inputs = ['src', 'scripts/build.mjs', 'test/agents', 'package.json', 'package-lock.json', 'tsconfig.types.json'];

/**
 * Tests that start processes start the real ones, so the package is built once before all tests. The build is skipped
 * if its inputs and its result have not changed since. In CI it always runs.
 */
export default function build(): void {
  const note = join(tmpdir(), `otel-hooks-built-${process.getuid?.() ?? ''}-${digestOf(root)}`);
  if (!process.env.CI && existsSync(note) && readFileSync(note, 'utf8') === state()) return;
  const done = spawnSync(process.execPath, [join(root, 'scripts/build.mjs')], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`scripts/build.mjs failed:\n${done.stderr}`);
  if (!process.env.CI) writeFileSync(note, state());
}

/** Sizes and times of the inputs and of the result. */
const state = (): string => digestOf([...inputs, 'dist'].flatMap(name => describe(join(root, name))).join('\n'));

function describe(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [`${path} missing`];
  if (!found.isDirectory()) return [`${path} ${found.size} ${found.mtimeMs}`];
  return readdirSync(path)
    .toSorted()
    .flatMap(name => describe(join(path, name)));
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
