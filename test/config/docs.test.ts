import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { resolve } from '../../src/config/config.ts';
import { destinationsOf } from '../../src/config/destinations.ts';

it('docs/configuration.md contains the text of every setting', () => {
  const script = fileURLToPath(new URL('../../scripts/docs.mjs', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});

describe('the recipes of docs/configuration.md', () => {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  const recipes = [...page.matchAll(/(\S[^\n]*)\n\n```json\n([\s\S]*?)```/g)].map(([, about = '', text = '']) => ({
    about,
    text,
  }));
  const common = { env: {}, home: '/home/me', cwd: '/shop' };

  it.each(recipes)('$about', ({ text }) => {
    const config = resolve({ ...common, global: { file: '/home/me/c.json', text } });
    expect([...config.problems, ...destinationsOf(config).problems]).toEqual([]);
  });

  it.each(recipes.filter(({ about }) => about.includes('.otel-hooks.json')))('without consent: $about', ({ text }) => {
    const config = resolve({ ...common, project: { file: '/shop/.otel-hooks.json', text, trusted: false } });
    expect(config.problems).toEqual([]);
  });

  it('are there', () => {
    expect(recipes.length).toBeGreaterThan(6);
  });
});
