import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forTerminal, LINE_CLEARED, LINE_START, styled } from '../../src/lib/terminal.ts';

const OBEYED =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

describe('a page for a terminal', () => {
  it('has our styles as control sequences', () => {
    expect(forTerminal(`a ${styled('red', 'b')} c`)).toBe('a \u001b[31mb\u001b[0m c');
    expect(forTerminal(`${LINE_START}1 %${LINE_CLEARED}`)).toBe('\r1 %\r\u001b[K');
  });

  it.each([
    ['a colour', '\u001b[31m', String.raw`\u001b[31m`],
    ['a title', '\u001b]0;t\u0007', String.raw`\u001b]0;t\u0007`],
    ['a C1 control', '\u009b2K', String.raw`\u009b2K`],
    ['a carriage return', 'a\rb', String.raw`a\u000db`],
    ['letters that turn around', '\u202eab\u2066', String.raw`\u202eab\u2066`],
    ['characters without a width', 'a\u200bb\u2060c\ufeff', String.raw`a\u200bb\u2060c\ufeff`],
    ['a tag', '\u{e0041}', String.raw`\udb40\udc41`],
    ['a filler', '\u3164', String.raw`\u3164`],
    ['a separator of lines', '\u2028', String.raw`\u2028`],
  ])('has %s of others escaped, also inside of our styles', (_, hostile, shown) => {
    expect(forTerminal(hostile)).toBe(shown);
    expect(forTerminal(styled('dim', hostile))).toBe(`\u001b[2m${shown}\u001b[0m`);
  });

  it('leaves words of all languages, symbols, tabs and line ends as they are', () => {
    const text = 'ä 日本語 العربية ✔︎ ❤️ 🚀\tx\r\ny\n';
    expect(forTerminal(text)).toBe(text);
  });

  it('holds no control character of any text, and JSON means the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        expect(forTerminal(text).replaceAll(/\r\n/g, '')).not.toMatch(OBEYED);
        expect(JSON.parse(forTerminal(JSON.stringify(text)))).toBe(text);
      }),
    );
  });
});
