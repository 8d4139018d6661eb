/** The package is in no registry: texts name the one way to install it that works. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { INSTALL_COMMAND } from '../../src/problems/install.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Agents' settings may contain any command, so the code that reads them knows the runners of packages. */
const recognizers = 'src/agents/files/our-command.ts';

const files = [
  'README.md',
  ...['src', 'docs', 'scripts'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.(ts|mjs|md)$/.test(name))
      .map(name => join(folder, name)),
  ),
];

test('no text asks users to install the package from a registry', () => {
  const fromRegistry = /\b(npm (i|install|add)|pnpm add|yarn global add|npx)( -\S+)* otel-hooks(@|\b(?!-))/;
  expect(files.length).toBeGreaterThan(200);
  expect(files.filter(file => fromRegistry.test(textOf(file)))).toEqual([recognizers]);
});

test.each([
  'README.md',
  'docs/setting-up.md',
  'docs/from-python.md',
  'docs/upgrade-and-uninstall.md',
  'docs/tutorial.md',
])('%s names the command that problems name', file => {
  expect(textOf(file)).toContain(INSTALL_COMMAND);
});
