import { defineConfig } from 'vitest/config';
import manifest from './package.json' with { type: 'json' };

/** Folders whose tests change nothing of the process they run in: they share one, and load the sources once. */
const SHARED = [
  'agents',
  'assemble',
  'commands',
  'config',
  'docs',
  'doctor',
  'drain',
  'enrich',
  'grafana',
  'journeys',
  'lib',
  'openhook',
  'setup',
  'ship',
  'standards',
  'store',
  'telemetry',
  'transcripts',
  'view',
  'walls',
];
const shared = SHARED.map(folder => `test/${folder}/**/*.test.ts`);

export default defineConfig({
  define: { __VERSION__: JSON.stringify(manifest.version) },
  test: {
    globalSetup: ['test/build.ts'],
    testTimeout: 30_000,
    pool: 'forks',
    // Most tests wait for processes of their own; so there may be more of them than cores.
    maxWorkers: 3,
    projects: [
      { extends: true, test: { name: 'shared', include: shared, isolate: false } },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['test/**/*.test.ts'],
          exclude: [...shared, 'test/stack/**', 'node_modules/**'],
        },
      },
    ],
  },
});
