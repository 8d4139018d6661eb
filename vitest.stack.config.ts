import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };

/** Tests against the real back ends of docker-compose.yml; `npm run test:stack`. */
export default defineConfig({
  // Tests write nothing into the clone.
  cacheDir: join(tmpdir(), `otel-hooks-vitest-${process.getuid?.() ?? ''}`),
  define: { __VERSION__: JSON.stringify(manifest.version) },
  test: {
    include: ['test/stack/**/*.test.ts'],
    reporters: ['default', './test/skipped.ts'],
    globalSetup: ['test/build.ts', 'test/stack/compose.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // They share one stack.
    fileParallelism: false,
  },
});
