import { describe, expect, it } from 'vitest';
import { riskOf } from '../../../src/enrich/risk/risk.ts';
import { type Label, labelsOf } from './labels.ts';

const isRisky = ({ action }: Label): boolean => /^(?:high|critical)$/.test(riskOf({ action })?.level ?? '');
const isNamed = ({ action, factor }: Label): boolean => riskOf({ action })?.factors?.includes(factor ?? '') ?? false;

/** Found means: the level is high, and the factor of the label is among those given. */
function judge(labels: readonly Label[]) {
  const said = labels.filter(isRisky);
  const right = said.filter(label => label.factor !== undefined && isNamed(label));
  const risky = labels.filter(label => label.factor !== undefined);
  return {
    actions: labels.length,
    risky: risky.length,
    precision: right.length / said.length,
    recall: right.length / risky.length,
  };
}

describe('the rules, held against labels that are older than they', () => {
  it.each(['seen', 'later', 'fourth'] as const)(
    'say of each action that they were written with what its label says: %s',
    set => {
      const wrong = labelsOf(set).filter(label =>
        label.factor === undefined ? isRisky(label) : !(isRisky(label) && isNamed(label)),
      );
      expect(wrong.map(({ line, action }) => `${line}   -> ${JSON.stringify(riskOf({ action }))}`)).toEqual([]);
    },
  );

  it.each(['unseen', 'fifth'] as const)(
    'find nine in ten of the risky, and are right nineteen times in twenty: %s',
    set => {
      const judged = judge(labelsOf(set));
      console.log(
        `risk, ${set}: precision ${judged.precision.toFixed(3)}, recall ${judged.recall.toFixed(3)}, ` +
          `${judged.risky} of ${judged.actions} actions are risky`,
      );
      expect(judged.precision).toBeGreaterThanOrEqual(0.95);
      expect(judged.recall).toBeGreaterThanOrEqual(0.9);
    },
  );
});
