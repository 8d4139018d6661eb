/**
 * Every pattern that reads the text of an agent takes time in proportion to its length, also for hostile texts. The
 * test measures growth and not time: four times the text may cost four times as much. A pattern that backtracks over
 * its text for each character costs sixteen times as much.
 *
 * `npm run fuzz` measures with a megabyte; without it the texts are shorter, and one rule in sixteen becomes a whole
 * action.
 */
import { describe, expect, it } from 'vitest';
import { builtIn, riskOf } from '../../src/enrich/risk/risk.ts';
import { type Rule, rules } from '../../src/enrich/risk/rules.ts';
import { holdsSecret, secretRules, withoutSecrets } from '../../src/enrich/secrets.ts';
import type { Field } from '../../src/event/risk-words.ts';
import { re2 } from '../../src/session/re2.ts';

const isLong = process.env.OTEL_HOOKS_FUZZ === 'long';
const seed = Number(process.env.OTEL_HOOKS_SEED ?? Math.floor(Math.random() * 100_000));

/** Linear is 4, quadratic is 16; the margin is for a busy machine. */
const GROWTH = 4;
const MOST_GROWTH = 10;
/** Shorter times cannot be measured. */
const LEAST_MS = 4;
/**
 * A pattern that costs less than this at the longest text of its field is harmless with any growth. The slowest one
 * costs 4 ms there.
 */
const HARMLESS_MS = 12;

function cpuMs(work: () => void): number {
  const from = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
}

/** The cost of the long text divided by the cost of a quarter of it; a bad measurement is repeated. */
function growth(
  textOf: (length: number) => string,
  length: number,
  look: (text: string) => unknown,
  leastMs = LEAST_MS,
): number {
  const [short, long] = [textOf(length / GROWTH), textOf(length)];
  const measured = (): number => {
    const longMs = cpuMs(() => look(long));
    return longMs < leastMs
      ? 0
      : longMs /
          Math.max(
            cpuMs(() => look(short)),
            LEAST_MS / GROWTH,
          );
  };
  let best = measured();
  for (let tries = 0; best > MOST_GROWTH && tries < 4; tries += 1) best = Math.min(best, measured());
  return best;
}

/** Literal parts of a pattern. A text that repeats them begins a match everywhere and completes none. */
const partsOf = (source: string): string[] => [
  ...new Set(
    source
      .replaceAll(/\\([^dwsbDWSB0-9uxpP])/g, '$1')
      .split(/\[[^\]]*\]|[()|?*+{}^$.\\]|\\[a-zA-Z]/)
      .filter(part => part.length > 1 && part.length < 32),
  ),
];

const careless = ['a', ' ', '/', '"', '\\', '=', 'a ', 'a=', '.', '-', 'A1', '://', '@', 'key=', "'", '\n', '%', '<'];

const textsFor = (source: string, most: number): ((length: number) => string)[] => {
  const parts = partsOf(source).slice(0, most);
  const pairs = parts.slice(1).map((part, i) => parts[i] + part);
  return [...careless, ...parts, ...pairs.slice(0, 4), ...parts.map(part => `${part}a`)].map(
    part => length =>
      part
        .repeat(Math.ceil(length / part.length))
        .slice(0, length - 1)
        .concat('\u0001'),
  );
};

/** The part of a field that a rule looks at. */
const seen: { readonly [field in Field]?: number } = {
  line: 512,
  word: 4_096,
  operand: 4_096,
  statement: 8_192,
  text: 65_536,
};
const USUAL = 4_096;

interface Looking {
  name: string;
  pattern: RegExp;
  length: number;
}

const patternsOf = (rule: Rule): Looking[] =>
  [rule.when, rule.unless].flatMap(wants =>
    Object.entries(wants ?? {}).flatMap(([field, want]) =>
      [want].flat().flatMap(each => {
        const [, source, flags = ''] = /^\/([\s\S]+)\/(i?)$/.exec(each) ?? [];
        if (source === undefined) return [];
        return [
          { name: `${rule.id} ${field}`, pattern: new RegExp(source, flags), length: seen[field as Field] ?? USUAL },
        ];
      }),
    ),
  );

const length = isLong ? 1_048_576 : 32_768;

describe(`time grows with the length of the text (seed ${seed})`, () => {
  it('for each pattern of a secret', { timeout: 600_000 }, () => {
    const slow: string[] = [];
    for (const { id, pattern } of secretRules) {
      for (const textOf of textsFor(pattern.source, isLong ? 8 : 2)) {
        const found = growth(textOf, length, text => text.replace(pattern, ''));
        if (found > MOST_GROWTH) slow.push(`${id} ${textOf(24)} ${found.toFixed(0)}`);
      }
    }
    expect(slow).toEqual([]);
  });

  it('for each pattern of a rule, within the limits of a field', { timeout: 600_000 }, () => {
    const slow: string[] = [];
    for (const { name, pattern, length: most } of rules.flatMap(patternsOf)) {
      for (const textOf of textsFor(pattern.source, isLong ? 16 : 4)) {
        const found = growth(textOf, most, text => pattern.test(text), HARMLESS_MS);
        if (found > MOST_GROWTH) slow.push(`${name} ${textOf(24)} ${found.toFixed(0)}`);
      }
    }
    expect(slow).toEqual([]);
  });

  it('for the risk of a whole action, and for cleaning it', { timeout: 1_200_000 }, () => {
    builtIn();
    const slow: string[] = [];
    const chosen = isLong ? rules : rules.filter((_, i) => (i + seed) % 16 === 0);
    for (const { id, when } of chosen) {
      const texts = textsFor(JSON.stringify(when), 2).slice(isLong ? 0 : -2);
      for (const textOf of texts) {
        const judged = growth(textOf, length, command => riskOf({ action: { name: 'shell', input: { command } } }));
        const cleaned = growth(textOf, length, text => holdsSecret(text) && withoutSecrets(text));
        if (Math.max(judged, cleaned) > MOST_GROWTH) slow.push(`${id} ${textOf(24)} ${judged} ${cleaned}`);
      }
    }
    expect(slow).toEqual([]);
  });

  it("for any pattern of the user's own rules", { timeout: 600_000 }, () => {
    const patterns = ['(a+)+$', '(a|aa)+$', '(.*)*x', '([a-z]+)*!', '(?:a?){32}a{32}', '.*.*.*=.*', '(\\w+\\s?)*:'];
    for (const source of patterns) {
      const compiled = re2(source, '');
      for (const textOf of textsFor(source, 2).slice(0, 8)) {
        expect(
          growth(textOf, isLong ? 262_144 : 32_768, text => compiled.matcher(text).find()),
          source,
        ).toBeLessThan(MOST_GROWTH);
      }
    }
  });
});

it('the measurement detects a pattern that backtracks', () => {
  const pattern = /a*b/;
  expect(
    growth(
      length => 'a'.repeat(length),
      32_768,
      text => pattern.test(text),
    ),
  ).toBeGreaterThan(MOST_GROWTH);
});
