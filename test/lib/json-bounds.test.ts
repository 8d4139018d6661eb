import { parseTree } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { boundPassed } from '../../src/lib/json-bounds.ts';

const passed = (text: string) => boundPassed(text, { depth: 3, parts: 10 })?.why;

describe('the bounds of a JSON text', () => {
  it.each([
    ['an object of its own', '{"a": {"b": [1, 2, 3]}}'],
    ['brackets in a string', '{"a": "[[[[[[{{{{{{"}'],
    ['a quote behind a backslash', String.raw`{"a": "\"[[[[[["}`],
    ['brackets in comments', '{} // [[[[[[\n /* [[[[[[ */'],
    ['as many members as are allowed', '[1,2,3,4,5,6,7,8,9,10]'],
  ])('are kept by %s', (_, text) => expect(passed(text)).toBeUndefined());

  it.each([
    ['nested too deeply', '[[[[', /deeper than 3/],
    ['nested too deeply behind a string that its line ends', '"\n[[[[', /deeper than 3/],
    ['nested too deeply behind a comment that a carriage return ends', '//\r[[[[', /deeper than 3/],
    ['nested too deeply behind a comment that begins with a slash', '/*/ */[[[[', /deeper than 3/],
    ['of too many members', '[1,2,3,4,5,6,7,8,9,10,11]', /longer than 10/],
    ['of too many empty objects', '[{},{},{},{},{},{}]', /longer than 10/],
  ])('are passed by a text %s', (_, text, why) => expect(passed(text)).toMatch(why));

  it('leave no text of strings, comments and brackets to overflow the stack of the parser', () => {
    const pieces = ['"', '\\', '\n', '\r', '//', '/*', '*/', '/', ',', 'x'];
    const prefixes = pieces.flatMap(a => pieces.flatMap(b => pieces.map(c => a + b + c)));
    for (const prefix of prefixes) {
      const text = prefix + '['.repeat(20_000);
      if (boundPassed(text, { depth: 200, parts: 100_000 }) === undefined) expect(() => parseTree(text)).not.toThrow();
    }
  });
});
