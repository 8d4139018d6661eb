import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutText, fitted } from '../../src/lib/fitted.ts';

it('any value becomes JSON within the limit of bytes, or is left out', () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withNullPrototype: true }),
      fc.integer({ min: 2, max: 400 }),
      (value, bytes) => {
        const fits = fitted(value, { bytes, leaves: 8 });
        if (fits === undefined) return;
        const text = JSON.stringify(fits);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(bytes);
        expect(text).not.toMatch(/\\ud[89a-f]/i);
      },
    ),
    { numRuns: 300 },
  );
});

it('a value that fits is unchanged, a text is cut as late as possible', () => {
  const value = { a: [1, 'two', { three: true }], b: null };
  expect(fitted(value, { bytes: 1_000 })).toEqual(value);
  expect(fitted('漢'.repeat(100), { bytes: 32 })).toBe(`${'漢'.repeat(9)}…`);
  expect(fitted({ short: 'abc', long: 'x'.repeat(9_000) }, { bytes: 300 })).toMatchObject({ short: 'abc' });
  expect(cutText('ab\u{1f600}cd', 4)).toBe('ab…');
});

it('the name `__proto__` is left out', () => {
  expect(fitted(JSON.parse('{"__proto__": {"x": 1}, "y": 2}'), { bytes: 100 })).toEqual({ y: 2 });
});
