/** The package as npm would publish it. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Packs the built package into a folder, and returns the path of the tarball. */
export function packInto(folder: string, env: NodeJS.ProcessEnv): string {
  // The build has just been done for all tests; `prepack` would do it again.
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: root, env });
  return join(folder, readdirSync(folder).find(name => name.endsWith('.tgz')) ?? '');
}
