/**
 * Tests that start hundreds of processes, or wait most of their time. `npm test` leaves them out; `npm run
 * test:processes` runs them, and so does CI.
 */
export const processes = [
  'test/commands/deliver.test.ts',
  'test/deliver/held-files.test.ts',
  'test/doctor/hostile-project.test.ts',
  'test/hook/front-ends.test.ts',
  'test/hook/kicks.test.ts',
  'test/new-agent/new-agent.test.ts',
  'test/package/life-cycle.test.ts',
  'test/serve/attacks.test.ts',
  'test/serve/delivery.test.ts',
  'test/shell/completion.test.ts',
  'test/transcripts/processes.test.ts',
  'test/wire/hostile-repository.test.ts',
  'test/wire/places.test.ts',
  'test/wire/uninstall.test.ts',
];
