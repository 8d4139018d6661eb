/**
 * Random manifests at every target: no correct result is refused, and every difference between a manifest and its files
 * is a loss. `npm run fuzz -- manifests` tries 4,000 manifests at all targets; each run of the tests tries a few.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { everyTarget, faultsOf, manifests } from './random-manifests.ts';

const isLong = process.env.OTEL_HOOKS_FUZZ === 'long';
const runs = isLong ? Number(process.env.OTEL_HOOKS_FUZZ_RUNS ?? 4000) : 40;
const seed = Number(process.env.OTEL_HOOKS_SEED ?? 23);

it('random manifests have no false refusal and no unreported loss', {
  timeout: 3_600_000,
}, () => {
  fc.assert(
    fc.property(manifests, manifest => {
      const faults = everyTarget.flatMap(([name, target]) =>
        faultsOf(manifest, target).map(fault => `${name}: ${fault}`),
      );
      expect(faults).toEqual([]);
    }),
    { numRuns: runs, seed },
  );
});
