import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };
import { processes } from './test/processes.ts';

// Faults are injected by `npm run conservation`, which says how large its run is. The quick run of all tests leaves them
// out, because they take as long as half of the others.
const size = process.env.OTEL_HOOKS_TEST_SIZE;

export default defineConfig({
  // Tests write nothing into the clone.
  cacheDir: join(tmpdir(), `otel-hooks-vitest-${process.getuid?.() ?? ''}`),
  define: { __VERSION__: JSON.stringify(manifest.version) },
  // The examples import the package by its name, as applications do.
  resolve: {
    alias: [
      { find: /^otel-hooks$/, replacement: join(import.meta.dirname, 'dist', 'index.js') },
      { find: /^otel-hooks\/sdk$/, replacement: join(import.meta.dirname, 'dist', 'sdk.js') },
    ],
  },
  test: {
    reporters: ['default', './test/skipped.ts'],
    globalSetup: ['test/build.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Most tests wait for processes of their own; so there may be more of them than cores.
    maxWorkers: 3,
    // They change nothing of the process they run in, so they share it, and load the sources once; larger runs look at memory.
    isolate: size !== undefined,
    include: ['test/**/*.test.ts'],
    exclude: [
      ...['test/stack/**', 'test/real/**', 'test/browser/**', 'node_modules/**'],
      ...processes,
      ...(size === undefined ? ['test/obligations/**'] : []),
    ],
  },
});
