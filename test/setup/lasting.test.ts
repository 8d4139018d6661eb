/** Paths of the program that are temporary, and paths that are permanent. */
import { expect, it } from 'vitest';
import { whyNotLasting } from '../../src/setup/lasting.ts';

it.each([
  ['/home/ada/.npm/_npx/8d1f0c3a52b74e0d/node_modules/otel-hooks/dist', 'the cache of npx'],
  ['C:\\Users\\ada\\AppData\\Local\\npm-cache\\_npx\\8d1f0c3a\\node_modules\\otel-hooks\\dist', 'the cache of npx'],
  ['/home/ada/.cache/pnpm/dlx/3f2a/node_modules/otel-hooks/dist', 'the cache of pnpm dlx or yarn dlx'],
  [
    '/home/ada/.local/share/pnpm/store/v3/tmp/dlx-4711/node_modules/otel-hooks/dist',
    'the cache of pnpm dlx or yarn dlx',
  ],
  ['/scratch/xfs-1a2b3c4d/dlx-4711/node_modules/otel-hooks/dist', 'the cache of pnpm dlx or yarn dlx'],
  ['/scratch/bunx-1000-otel-hooks@latest/node_modules/otel-hooks/dist', 'the cache of bunx'],
  ['/tmp/clone/dist', 'a folder for temporary files'],
  ['/private/var/folders/x1/T/otel-hooks/dist', 'a folder for temporary files'],
  ['/dev/shm/otel-hooks/dist', 'a folder for temporary files'],
  ['/mine/temporary/otel-hooks/dist', 'a folder for temporary files'],
])('%s is in %s', (path, why) => {
  expect(whyNotLasting(path, { TMPDIR: '/mine/temporary/' })).toBe(why);
});

it.each([
  '/usr/lib/node_modules/otel-hooks/dist',
  '/usr/local/lib/node_modules/otel-hooks/dist',
  '/home/ada/.nvm/versions/node/v22.1.0/lib/node_modules/otel-hooks/dist',
  '/home/ada/.npm-global/lib/node_modules/otel-hooks/dist',
  '/home/ada/src/otel-hooks/dist',
  '/home/ada/.local/share/pnpm/global/5/node_modules/otel-hooks/dist',
  '/home/ada/tmp/otel-hooks/dist',
  '/temporary/otel-hooks/dist',
  'C:\\Users\\ada\\AppData\\Roaming\\npm\\node_modules\\otel-hooks\\dist',
])('%s lasts', path => {
  expect(whyNotLasting(path, { TMPDIR: '' })).toBeUndefined();
});
