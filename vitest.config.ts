import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };

export default defineConfig({
  define: { __VERSION__: JSON.stringify(manifest.version) },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/stack/**', 'node_modules/**'],
    globalSetup: ['test/build.ts'],
    testTimeout: 30_000,
    pool: 'forks',
    // Most tests wait for processes of their own; by default two cores would get one worker.
    maxWorkers: 2,
  },
});
