/**
 * node scripts/bench.mjs NAME [arguments]: runs bench/NAME.ts. Node 20 does not read TypeScript, so the benchmark is
 * bundled first; packages stay outside, so that what is measured against is what npm installed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'bench');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const [name, ...rest] = process.argv.slice(2);
const names = (existsSync(folder) ? readdirSync(folder) : [])
  .filter(file => file.endsWith('.ts'))
  .map(file => file.slice(0, -3));
if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run bench -- ${names.join('|') || 'NAME'} [arguments]`);
  process.exit(2);
}
const outfile = join(root, 'node_modules', '.cache', 'bench', `${name}.mjs`);
await esbuild.build({
  entryPoints: [join(folder, `${name}.ts`)],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: 'inline',
  define: { __VERSION__: JSON.stringify(version) },
  plugins: [{ name: 'source-urls', setup: keepSourceUrls }],
  logLevel: 'warning',
});
const run = spawnSync(process.execPath, ['--enable-source-maps', outfile, ...rest], { stdio: 'inherit', cwd: root });
process.exit(run.status ?? 1);

/** A source that looks for files beside itself finds them beside its source, not beside the bundle. */
function keepSourceUrls(build) {
  build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    loader: 'ts',
  }));
}
