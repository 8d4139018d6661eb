import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonPieces, type Place } from '../../src/lib/json-pieces.ts';

interface Cut {
  text: string | undefined;
  line: number;
  column: number;
  end: Place;
  isOpen?: true;
}

function cut(text: string, chunkBytes = 7, mostBytes = 1_000, from?: Place): Cut[] {
  const bytes = Buffer.from(text).subarray(from?.offset ?? 0);
  const pieces = new JsonPieces(mostBytes, from);
  const found = [];
  for (let at = 0; at < bytes.length; at += chunkBytes)
    found.push(...pieces.write(bytes.subarray(at, at + chunkBytes)));
  found.push(...pieces.end());
  return found.map(({ bytes: own, ...rest }) => ({ ...rest, text: own?.toString() }));
}

const texts = (text: string, ...more: [number?, number?]): (string | undefined)[] =>
  cut(text, ...more).map(each => each.text);
const places = (text: string): string[] => cut(text).map(({ line, column }) => `${line}:${column}`);

describe('a stream of values is cut', () => {
  it('at its lines, over blank lines and a byte order mark', () => {
    expect(texts('\uFEFF{"a":1}\n\n{"b":2}\r\n  {"c":3}')).toEqual(['{"a":1}', '{"b":2}\r', '{"c":3}']);
    expect(places('{"a":1}\n\n{"b":2}\n  {"c":3}')).toEqual(['1:1', '3:1', '4:3']);
  });

  it('behind a value over several lines', () => {
    const value = JSON.stringify({ a: { b: [1, { c: '}' }] } }, null, 2);
    expect(texts(`${value}\n${value}\n{"d":4}\n`)).toEqual([value, value, '{"d":4}']);
  });

  it('between the elements of a list, in one line or in several', () => {
    const list = [{ a: '],[' }, { b: ['"', '\\"'] }, 3, 'x', [{}]];
    for (const text of [JSON.stringify(list), JSON.stringify(list, null, 2)])
      expect(texts(text).map(each => JSON.parse(each ?? ''))).toEqual(list);
    expect(texts('[{"a":1}]\n[{"b":2},\n{"c":3}]\n{"d":4}')).toEqual(['{"a":1}', '{"b":2}', '{"c":3}', '{"d":4}']);
    expect(places('[{"a":1},\n {"b":2}]')).toEqual(['1:2', '2:2']);
  });

  it('so that a torn line takes no other line with it', () => {
    expect(texts('{"a":"b\n{"c":3}\nnonsense\n{"d":4}\n')).toEqual(['{"a":"b', '{"c":3}', 'nonsense', '{"d":4}']);
  });

  it('and reports an end in the middle of a line', () => {
    expect(cut('{"a":1}\n{"b":').map(({ isOpen }) => isOpen)).toEqual([undefined, true]);
  });

  it('without a value that is longer than the limit, in lines and in lists', () => {
    const long = JSON.stringify({ a: 'x'.repeat(200) });
    expect(texts(`{"b":1}\n${long}\n{"c":2}\n`, 16, 64)).toEqual(['{"b":1}', undefined, '{"c":2}']);
    expect(texts(`[{"b":1},${long},{"c":2}]`, 16, 64)).toEqual(['{"b":1}', undefined, '{"c":2}']);
  });
});

it('the division of the input into parts has no effect, and reading can continue at each place', () => {
  const values = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1, maxLength: 5 });
  const forms = fc.constantFrom<(all: object[]) => string>(
    all => all.map(each => JSON.stringify(each)).join('\n'),
    all => all.map(each => `${JSON.stringify(each, null, 2)}\n`).join(''),
    all => JSON.stringify(all),
    all => JSON.stringify(all, null, 1),
  );
  fc.assert(
    fc.property(values, forms, fc.integer({ min: 1, max: 40 }), (all, form, chunkBytes) => {
      const text = form(all);
      const found = cut(text, chunkBytes, 1_000_000);
      const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
      expect(found.map(each => JSON.parse(each.text ?? ''))).toEqual(plain(all));
      found.forEach(({ end }, i) => {
        expect(cut(text, chunkBytes, 1_000_000, end).map(each => each.text)).toEqual(
          found.slice(i + 1).map(each => each.text),
        );
      });
    }),
    { numRuns: 80 },
  );
});
