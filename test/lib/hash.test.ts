import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, keyedHash } from '../../src/lib/hash.ts';

const text = fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 200 }));

test('a keyed hash equals the HMAC of Node, for keys and contents of any length', () => {
  const key = fc.oneof(
    text,
    fc.nat({ max: 130 }).map(length => 'k'.repeat(length)),
  );
  const content = fc.oneof(
    text,
    fc
      .tuple(fc.constantFrom('a', 'é', '漢', '🙂', '\ud800'), fc.constantFrom(5_461, 16_383, 16_384, 16_385, 40_000))
      .map(([character, count]) => character.repeat(count)),
  );
  fc.assert(
    fc.property(key, fc.array(content, { minLength: 1, maxLength: 4 }), (under, contents) => {
      for (const each of contents) {
        const hex = createHmac('sha256', under).update(each).digest('hex');
        expect(keyedHash(under, each)).toBe(`hmac-sha256:${hex.slice(0, 32)}`);
      }
    }),
  );
});

test('canonical JSON does not depend on the order of keys', () => {
  const value = fc.dictionary(text, fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true });
  fc.assert(
    fc.property(value, fields => {
      const json = canonicalJson(fields);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(fields)));
      expect(canonicalJson(Object.fromEntries(Object.entries(fields).reverse()))).toBe(json);
      expect(canonicalJson(fields)).toBe(json);
    }),
  );
});

test('canonical JSON of a very deep value ends with the kind of the value', () => {
  let deep: unknown = 'end';
  for (let level = 0; level < 100_000; level += 1) deep = level % 2 === 0 ? { in: deep } : [deep];
  expect(canonicalJson(deep)).toMatch(/^\[\{"in":\[.*"…".*\]\}\]$/);
});
