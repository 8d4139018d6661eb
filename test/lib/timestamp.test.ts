import { expect, test } from 'vitest';
import { msOf, timestampOf } from '../../src/lib/timestamp.ts';

const times = [
  0,
  1,
  999,
  1_000,
  -1,
  -999,
  -1_000,
  -62_198_755_200_000,
  253_402_300_799_999,
  253_402_300_800_000,
  8_640_000_000_000_000,
  Date.UTC(2026, 1, 29, 23, 59, 59, 7),
  1_773_000_000_123.9,
  -1_773_000_000_123.9,
];

test('a timestamp is the text of Date.toISOString, in any order of times', () => {
  for (const ms of [...times, ...times.toReversed(), ...times.flatMap(each => [each, 0])])
    expect(timestampOf(ms)).toBe(new Date(ms).toISOString());
});

test('a time that no date can have throws, as with Date.toISOString', () => {
  for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, 8_640_000_000_000_001])
    expect(() => timestampOf(ms)).toThrow(RangeError);
  expect(timestampOf(5)).toBe('1970-01-01T00:00:00.005Z');
});

test('the time of a timestamp is that of Date.parse, also directly after another one', () => {
  const texts = ['2026-03-02T09:00:00.000Z', '2026-03-02T10:00:00+01:00', 'no time', ''];
  for (const text of [...texts, ...texts]) expect(msOf(text)).toBe(Date.parse(text));
  expect(msOf(timestampOf(1_773_000_000_123.9))).toBe(1_773_000_000_123);
  expect(msOf('2026-03-02T09:00:00.000Z')).toBe(Date.UTC(2026, 2, 2, 9));
});
