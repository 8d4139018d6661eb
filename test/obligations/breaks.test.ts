import { spawn } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { skipFor } from '../needs.ts';
import { type Break, breaks } from './breaks.ts';
import { seed, size } from './size.ts';
import { room } from './stage.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const needed = [
  'src',
  'test',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.types.json',
  'vitest.config.ts',
  'LICENSE',
];

it('the table has one change for each promise that a test can check', () => {
  expect(breaks.map(each => each.promise)).toEqual(['P1', 'P2', 'P3', 'P4', 'P5', 'P6', 'P7', 'P8']);
  for (const { file, edits } of breaks) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [from] of edits) expect(text.split(from).length, `${file}: ${from}`).toBe(2);
  }
});

it.for(breaks)('a test for $promise fails when $breaks', { timeout: 180_000 }, async (each, context) => {
  if (size === 'quick') skipFor(context, 'not at size quick');
  const { folder, leave } = room();
  try {
    const { failed, passed, text } = await runBroken(folder, each);
    expect(failed, text).toBeGreaterThan(0);
    // Only the named tests ran.
    expect(passed + failed, text).toBeLessThan(5);
  } finally {
    leave();
  }
});

/** Builds the program with the change and runs the one test with it. */
async function runBroken(folder: string, { file, edits, test, named }: Break) {
  for (const name of needed) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const path = join(folder, file);
  writeFileSync(
    path,
    edits.reduce((text, [from, to]) => text.replace(from, () => to), readFileSync(path, 'utf8')),
  );
  const report = join(folder, 'results.json');
  const words = ['run', test, '-t', named, '--reporter=json', `--outputFile.json=${report}`];
  const text = await new Promise<string>((settled, refused) => {
    const env = { ...process.env, OTEL_HOOKS_TEST_SIZE: 'quick', OTEL_HOOKS_SEED: String(seed), OTEL_HOOKS_REPORT: '' };
    const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...words], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', part => {
        output += part;
      });
    child.on('error', refused);
    child.on('close', () => settled(output));
  });
  const { numFailedTests, numPassedTests } = JSON.parse(readFileSync(report, 'utf8')) as Record<string, number>;
  return { failed: numFailedTests ?? 0, passed: numPassedTests ?? 0, text };
}
