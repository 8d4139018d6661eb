/** What stays of content in the mode `redacted`: each text is cleaned as what it is, before it becomes JSON. */
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
  it('loses its secrets text by text, with the names that tell of them', () => {
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

  it('is JSON without any kind of secret, wherever one stands in its texts', () => {
    for (const { id, secret } of secretsOf(61)) {
      const text = outputText({ out: `a\n${secret}\tb`, list: [`\u001b[31m${secret}\u001b[0m`] }, keeper());
      expect(() => JSON.parse(text), id).not.toThrow();
      expect(JSON.stringify(JSON.parse(text)), id).not.toContain(JSON.stringify(secret).slice(1, -1));
      expect(text, id).toContain(`[redacted:`);
    }
  });

  it('is as long as it may be, and no more of it is read', () => {
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

describe('a text that is cut', () => {
  const secret = secretsOf(62).find(({ id }) => id === 'github')?.secret ?? '';

  it('does not end in half of a secret, although what stood before became shorter', () => {
    // So many secrets that their marks make room for what stands at the very end of what is read.
    for (const shift of [0, 10, 20, 30]) {
      const filler = 'x '.repeat(shift);
      const text = `${filler}${`${secret} `.repeat(400)}`;
      const left = textInMode('redacted', text, keeper(10_000)) ?? '';
      expect(left.length).toBeLessThanOrEqual(10_000);
      expect(left).not.toMatch(/ghp_/);
    }
  });

  it('says that all of it was a secret', () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkq'.repeat(2_000)}`;
    expect(textInMode('redacted', key, keeper(1_000))).toContain('[redacted:private-key]');
  });
});
