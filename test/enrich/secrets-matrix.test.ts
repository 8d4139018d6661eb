/** Each form of each kind of secret, in each position in which agents read and write secrets. */
import { describe, expect, it } from 'vitest';
import { withoutSecrets } from '../../src/enrich/secrets.ts';
import { samplesOf } from './secret-samples.ts';

const RED = '\u001b[31m';
const OFF = '\u001b[0m';
const TIME = '2026-11-18T20:22:47.586Z';
const lines = (text: string, prefix: string): string => text.replace(/^/gm, prefix);
const isPlain = (text: string): boolean => /^[\w.~!*+/=:-]+$/.test(text);

interface Place {
  name: string;
  of(text: string): string;
  /** The levels of JSON in the text, which must stay valid without the secret. */
  json?: number;
}

/** `qqbefore` and `qqafter` must stay. */
const places: Place[] = [
  { name: 'alone', of: text => text },
  { name: 'at the start', of: text => `${text}\nqqafter` },
  { name: 'at the end', of: text => `qqbefore ${text}` },
  { name: 'after a blank', of: text => `qqbefore ${text}\nqqafter` },
  { name: 'after a newline', of: text => `qqbefore\n${text}\nqqafter` },
  { name: 'after a tab', of: text => `qqbefore\t${text}\nqqafter` },
  { name: 'after a Windows newline', of: text => `qqbefore\r\n${text}\r\nqqafter` },
  { name: 'in JSON', of: text => JSON.stringify({ out: text, other: 'qqbefore' }), json: 1 },
  { name: 'in JSON, after a newline', of: text => JSON.stringify({ out: `qqbefore\n${text}\nqqafter` }), json: 1 },
  { name: 'in JSON, after a tab', of: text => JSON.stringify([`qqbefore\t${text}\nqqafter`]), json: 1 },
  {
    name: 'in JSON, after a colour',
    of: text => JSON.stringify({ out: `qqbefore ${RED}${text}${OFF}\nqqafter` }),
    json: 1,
  },
  {
    name: 'in JSON in JSON, after a newline',
    of: text => JSON.stringify({ out: JSON.stringify({ in: `qqbefore\n${text}\nqqafter` }) }),
    json: 2,
  },
  {
    name: 'in JSON in JSON in JSON, after a newline',
    of: text => JSON.stringify({ a: JSON.stringify({ b: JSON.stringify({ c: `qqbefore\n${text}\nqqafter` }) }) }),
    json: 3,
  },
  {
    name: 'in a JSON text in JSON, after a colour',
    of: text => JSON.stringify(JSON.stringify(`qqbefore${RED}${text}${OFF}`)),
    json: 1,
  },
  { name: 'after a colour', of: text => `qqbefore ${RED}${text}${OFF}\nqqafter` },
  { name: 'after a bold colour, without a blank', of: text => `qqbefore\u001b[1;38;5;196m${text}${OFF}\nqqafter` },
  { name: 'after the escape of a colour', of: text => `qqbefore \\033[31m${text}\\033[0m\nqqafter` },
  { name: 'after %0A', of: text => `qqbefore%0A${text}` },
  { name: 'after %3D', of: text => `qqbefore%3D${text}` },
  { name: 'percent-encoded', of: text => `qqbefore%20${encodeURIComponent(text)}` },
  { name: 'in double quotes', of: text => `qqbefore "${text}"\nqqafter` },
  { name: 'in single quotes', of: text => `qqbefore '${text}'\nqqafter` },
  { name: 'in backticks', of: text => `qqbefore \`${text}\`\nqqafter` },
  {
    name: 'in a URL',
    of: text => `https://qqbefore.example/cb?state=${isPlain(text) ? text : encodeURIComponent(text)}&z=1`,
  },
  { name: 'in a fragment of a URL', of: text => `https://qqbefore.example/#${encodeURIComponent(text)}` },
  { name: 'in an added line', of: text => `@@ -1 +1 @@ qqbefore\n${lines(text, '+')}\n qqafter` },
  { name: 'in a removed line', of: text => `@@ -1 +1 @@ qqbefore\n${lines(text, '-')}\n qqafter` },
  { name: 'in a quoted line', of: text => `qqbefore\n${lines(text, '> ')}\nqqafter` },
  { name: 'in a log', of: text => `${TIME} INFO qqbefore ${text}\n${TIME} INFO qqafter` },
  { name: 'in a line with a number', of: text => `     1\tqqbefore\n     2\t${text}\n     3\tqqafter` },
  { name: 'in an assignment', of: text => `qqbefore\nVALUE=${text}\nqqafter` },
  {
    name: 'in HTML',
    of: text => `<p>qqbefore</p><pre>${text.replace(/[<>&"]/g, sign => entities[sign] ?? sign)}</pre>`,
  },
  {
    name: 'with escaped slashes',
    of: text => JSON.stringify({ out: `qqbefore ${text}` }).replaceAll('/', '\\/'),
    json: 1,
  },
];
const entities: { [sign: string]: string } = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };

const samples = [...samplesOf(21), ...samplesOf(22)];

describe.each(places)('secrets $name', ({ name, of, json = 0 }) => {
  it('of each kind are found, and the text around them is unchanged', () => {
    const wrong: string[] = [];
    for (const { id, like, text, parts } of samples) {
      const whole = of(text);
      const left = withoutSecrets(whole);
      if (parts.some(part => left.includes(part))) wrong.push(`${id} missed: ${like} -> ${left}`);
      for (const word of ['qqbefore', 'qqafter'])
        if (whole.includes(word) && !left.includes(word)) wrong.push(`${id} took ${word}: ${whole} -> ${left}`);
      try {
        let inner: unknown = left;
        for (let depth = 0; depth < json; depth += 1)
          inner = JSON.parse(typeof inner === 'string' ? inner : String(Object.values(inner as object)[0]));
      } catch {
        wrong.push(`${id} broke the JSON ${name}: ${whole} -> ${left}`);
      }
      if (withoutSecrets(left) !== left) wrong.push(`${id} is not the same twice: ${left} -> ${withoutSecrets(left)}`);
    }
    expect(wrong).toEqual([]);
  });
});
