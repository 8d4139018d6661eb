/** Recall and precision of the table of secrets: the figures of docs/secrets.md are those of this test. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { secretKinds } from '../../src/enrich/secrets/kinds.ts';
import { markedKinds } from '../../src/enrich/secrets/marked.ts';
import { withoutSecrets } from '../../src/enrich/secrets.ts';
import { negativesOf } from './secret-negatives.ts';
import { samplesOf } from './secret-samples.ts';

const docs = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'secrets.md'), 'utf8');
const share = (part: number, whole: number): string => `${((part / whole) * 100).toFixed(1)} %`;

const secrets = [51, 52, 53].flatMap(seed => samplesOf(seed));
const others = negativesOf(54, 6);

const forms: { readonly [title: string]: (text: string) => string } = {
  'as it is': text => text,
  'in JSON': text => JSON.stringify({ out: `line\n${text}\nline` }),
  'in JSON in JSON': text => JSON.stringify({ out: JSON.stringify({ in: `line\n${text}\nline` }) }),
};

it.each(Object.entries(forms))('recall and precision in docs/secrets.md are those of the table: %s', (title, form) => {
  const missed = secrets.filter(({ text, parts }) => parts.some(part => withoutSecrets(form(text)).includes(part)));
  const wrong = others.filter(({ text }) => withoutSecrets(form(text)) !== form(text));
  expect(missed.map(({ id, text }) => [id, text])).toEqual([]);
  expect(wrong).toEqual([]);
  const found = secrets.length - missed.length;
  const figures = [
    `${found} of ${secrets.length}, ${share(found, secrets.length)}`,
    `${wrong.length} of ${others.length}, ${share(found, found + wrong.length)}`,
  ];
  expect(docs).toContain(`| ${title} | otel-hooks | ${figures.join(' | ')} |`);
});

it('docs/secrets.md states the number of kinds and patterns', () => {
  const looks = markedKinds.reduce((sum, { likes }) => sum + likes.length, 0);
  expect(secretKinds.length).toBeGreaterThanOrEqual(60);
  expect(docs).toContain(`${secretKinds.length} kinds`);
  expect(docs).toContain(`${looks} patterns`);
});

it('a rule for long random strings alone would remove more than one in ten harmless strings', () => {
  // This shows that the negatives are hard.
  const drawn = /(?=[A-Za-z\d+/=_-]{0,40}\d)(?=[A-Za-z\d+/=_-]{0,40}[a-zA-Z])[A-Za-z\d+/=_-]{24,}/;
  expect(others.filter(({ text }) => drawn.test(text)).length / others.length).toBeGreaterThan(0.1);
});
