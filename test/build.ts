import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Tests that start processes start the real ones, so the package is built once before all tests. */
export default function build(): void {
  const script = fileURLToPath(new URL('../scripts/build.mjs', import.meta.url));
  const done = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`scripts/build.mjs failed:\n${done.stderr}`);
}
