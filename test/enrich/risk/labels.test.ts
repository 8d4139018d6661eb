import { describe, expect, it } from 'vitest';
import { riskOf } from '../../../src/enrich/risk/risk.ts';
import { type Label, labelsOf } from './labels.ts';

const isRisky = ({ action }: Label): boolean => /^(?:high|critical)$/.test(riskOf({ action })?.level ?? '');
const isNamed = ({ action, factor }: Label): boolean => riskOf({ action })?.factors?.includes(factor ?? '') ?? false;

/** An action is found if its level is high or critical and the factor of its label is among the factors. */
function judge(labels: readonly Label[]) {
  const found = labels.filter(isRisky);
  const right = found.filter(label => label.factor !== undefined && isNamed(label));
  const risky = labels.filter(label => label.factor !== undefined);
  return {
    actions: labels.length,
    risky: risky.length,
    precision: right.length / found.length,
    recall: right.length / risky.length,
  };
}

describe('the rules of risk', () => {
  it.each(['seen', 'later', 'fourth', 'unseen', 'fifth', 'sixth'] as const)(
    'give the labelled result for each action that they were written or corrected with: %s',
    set => {
      const wrong = labelsOf(set).filter(label =>
        label.factor === undefined ? isRisky(label) : !(isRisky(label) && isNamed(label)),
      );
      expect(wrong.map(({ line, action }) => `${line}   -> ${JSON.stringify(riskOf({ action }))}`)).toEqual([]);
    },
  );

  it.each(['unseen', 'fifth', 'sixth'] as const)(
    'have a recall of at least 0.9 and a precision of at least 0.95: %s',
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
