import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };

/** The page of `otel-hooks view` from the packed tarball in a real Chromium; `npm run test:page`. */
export default defineConfig({
  cacheDir: join(tmpdir(), `otel-hooks-vitest-${process.getuid?.() ?? ''}`),
  define: { __VERSION__: JSON.stringify(manifest.version) },
  test: {
    include: ['test/browser/**/*.test.ts'],
    reporters: ['default', './test/skipped.ts'],
    globalSetup: ['test/build.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    fileParallelism: false,
  },
});
