/** Content in the mode `redacted`: each text is cleaned before it becomes JSON. */
import { describe, expect, it } from 'vitest';
import { type Keeper, outputText, textInMode } from '../../src/enrich/content.ts';
import { withoutSecretsOf } from '../../src/enrich/secrets.ts';
import { contentClasses, type Modes } from '../../src/event/content-classes.ts';
import { secretsOf } from './secret-samples.ts';

const keeper = (longest = 20_000): Keeper => ({
  modes: Object.fromEntries(Object.keys(contentClasses).map(of => [of, 'redacted'])) as Modes,
  longest,
  clean: (text, name) => withoutSecretsOf(name, text),
});

describe('a result with a structure', () => {
  it('is cleaned text by text; the name of a field can mark a secret', () => {
    const output = {
      stdout: 'db:\nDB_PASSWORD=correct\nPORT=80',
      argv: ['tool', '--token', 'correcthorse', '--depth', 'all'],
      env: [
        { name: 'API_SECRET', value: 'correcthorse' },
        { name: 'SHELL', value: '/bin/sh' },
      ],
      password: 'horse',
    };
    expect(JSON.parse(outputText(output, keeper()))).toEqual({
      stdout: 'db:\nDB_PASSWORD=[redacted:secret]\nPORT=80',
      argv: ['tool', '--token', '[redacted:secret]', '--depth', 'all'],
      env: [
        { name: 'API_SECRET', value: '[redacted:secret]' },
        { name: 'SHELL', value: '/bin/sh' },
      ],
      password: '[redacted:secret]',
    });
  });

  it('becomes JSON without any kind of secret, at any position of its texts', () => {
    for (const { id, secret } of secretsOf(61)) {
      const text = outputText({ out: `a\n${secret}\tb`, list: [`\u001b[31m${secret}\u001b[0m`] }, keeper());
      expect(() => JSON.parse(text), id).not.toThrow();
      expect(JSON.stringify(JSON.parse(text)), id).not.toContain(JSON.stringify(secret).slice(1, -1));
      expect(text, id).toContain(`[redacted:`);
    }
  });

  it('is at most as long as the limit, and the rest is not read', () => {
    let read = 0;
    const { modes, longest } = keeper(1_000);
    const clean = (text: string): string => {
      read += text.length;
      return text;
    };
    outputText(
      Array.from({ length: 200 }, () => 'x'.repeat(10_000)),
      { modes, longest, clean },
    );
    expect(read).toBeLessThan(50_000);
  });
});

describe('a cut text', () => {
  const secret = secretsOf(62).find(({ id }) => id === 'github')?.secret ?? '';

  it('does not end in half of a secret, even if the text before became shorter', () => {
    // The replacements of so many secrets make room for the last characters that are read.
    for (const shift of [0, 10, 20, 30]) {
      const filler = 'x '.repeat(shift);
      const text = `${filler}${`${secret} `.repeat(400)}`;
      const left = textInMode('redacted', text, keeper(10_000)) ?? '';
      expect(left.length).toBeLessThanOrEqual(10_000);
      expect(left).not.toMatch(/ghp_/);
    }
  });

  it('states that the whole text was a secret', () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkq'.repeat(2_000)}`;
    expect(textInMode('redacted', key, keeper(1_000))).toContain('[redacted:private-key]');
  });
});
