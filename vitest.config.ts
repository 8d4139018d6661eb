import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };

/** Folders whose tests turn values into values: they share one process, and load the sources once. */
const VALUES = [
  'agents',
  'assemble',
  'config',
  'docs',
  'drain',
  'enrich',
  'grafana',
  'lib',
  'standards',
  'telemetry',
  'transcripts',
  'view',
  'walls',
];
const values = VALUES.map(folder => `test/${folder}/**/*.test.ts`);

export default defineConfig({
  define: { __VERSION__: JSON.stringify(manifest.version) },
  test: {
    globalSetup: ['test/build.ts'],
    testTimeout: 30_000,
    pool: 'forks',
    // Most tests wait for processes of their own; so there may be more of them than cores.
    maxWorkers: 3,
    projects: [
      { extends: true, test: { name: 'values', include: values, isolate: false } },
      {
        extends: true,
        test: {
          name: 'processes',
          include: ['test/**/*.test.ts'],
          exclude: [...values, 'test/stack/**', 'node_modules/**'],
        },
      },
    ],
  },
});
