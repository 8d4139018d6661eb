import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Scenarios with real agents; `npm run test:agents`. */
export default defineConfig({
  cacheDir: join(tmpdir(), `otel-hooks-vitest-agents-${process.getuid?.() ?? ''}`),
  test: {
    include: ['test/real/**/*.test.ts'],
    reporters: ['default', './test/skipped.ts'],
    globalSetup: ['test/build.ts'],
    testTimeout: 400_000,
    hookTimeout: 60_000,
    // Agents race with themselves: they write rows after their last hook and build requests from folders that change. A
    // fault of otel-hooks stays in each repetition.
    retry: process.env.CI === undefined ? 0 : 2,
    pool: 'forks',
    // The runs share nothing except the processor, and wait most of their time.
    maxConcurrency: Number(process.env.OTEL_HOOKS_AGENTS_AT_ONCE ?? 2),
    maxWorkers: 1,
  },
});
