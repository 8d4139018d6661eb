import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openStore } from '../../src/store/store.ts';
import { runModel, steps } from './model.ts';

const limitMs = { full: 600_000, ci: 60_000 }[process.env.OTEL_HOOKS_TEST_SIZE ?? ''] ?? 4_000;
const seed = Number(process.env.OTEL_HOOKS_TEST_SEED) || Date.now() % 0x7fffffff;

it('no item is lost or counted twice when any process is killed, refused or suspended at any call', {
  timeout: limitMs * 4,
}, () => {
  let runs = 0;
  const property = fc.property(steps(2), script => {
    runs++;
    runModel(openStore, script);
  });
  fc.assert(property, { seed, numRuns: 1_000_000, interruptAfterTimeLimit: limitMs, endOnFailure: false });
  console.log(`store model: seed ${seed}, ${runs} runs`);
  expect(runs).toBeGreaterThan(3);
});
