/**
 * Finds out whether the program is in a permanent place. Hooks contain its path, so a temporary place would break them.
 */
import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Package runners keep packages in a cache, and may empty it at any time. */
const caches: readonly { path: RegExp; of: string }[] = [
  { path: /\/_npx\//, of: 'the cache of npx' },
  { path: /\/bunx-[^/]*\//, of: 'the cache of bunx' },
  { path: /\/pnpm\/dlx[-/]|\/\.pnpm-store\/.*\/dlx|\/dlx-[\w-]+\//, of: 'the cache of pnpm dlx or yarn dlx' },
  { path: /\/xfs-[0-9a-f]+\//, of: 'the cache of yarn dlx' },
  { path: /\/_cacache\/|\/\.npm\/_/, of: "npm's cache" },
];

const temporary = ['/tmp', '/var/tmp', '/private/tmp', '/private/var/tmp', '/var/folders', '/private/var/folders'];

/** The temporary place that a path is in; undefined for a permanent path. */
export function whyNotLasting(path: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const shown = slashed(path);
  const cache = caches.find(each => each.path.test(shown));
  if (cache !== undefined) return cache.of;
  const named = [env.TMPDIR, env.TEMP, env.TMP].filter(each => each !== undefined && each !== '');
  const folders = [...temporary, '/dev/shm', '/run/user', tmpdir(), ...named].flatMap(each => [each, real(each ?? '')]);
  const isBelow = folders.some(folder => {
    const above = slashed(folder ?? '').replace(/\/+$/, '');
    return above !== '' && shown.startsWith(`${above}/`);
  });
  return isBelow ? 'a folder for temporary files' : undefined;
}

function real(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    // The folder does not exist.
    return folder;
  }
}

const slashed = (path: string): string => path.replaceAll('\\', '/');
