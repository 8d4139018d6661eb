import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };

/** Tests against real back ends in containers. They share one stack, so they run one after the other. */
export default defineConfig({
  define: { __VERSION__: JSON.stringify(manifest.version) },
  test: {
    include: ['test/stack/**/*.test.ts'],
    globalSetup: ['test/build.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    pool: 'forks',
    fileParallelism: false,
  },
});
