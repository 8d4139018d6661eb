import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/stack/**', 'node_modules/**'],
    globalSetup: ['test/build.ts'],
    testTimeout: 30_000,
    pool: 'forks',
  },
});
