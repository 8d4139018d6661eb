/**
 * The programs that a test needs beyond Node, npm, sh and coreutils. Where one is missing, the test is skipped and its
 * reason is printed at the end of the run (`skipped.ts`). In CI (the variable CI is set) the test fails instead, so
 * that a machine without the program never looks like a machine on which the test passes.
 *
 *     test('starts no second process', context => {
 *       needs(context, 'strace');
 *       ...
 *
 * A whole suite: `beforeEach(context => needs(context, 'docker'))`. A table: `test.for(rows)('...', (row, context) =>
 * ...)`.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { TestContext } from 'vitest';

export const isCi = isSet(process.env.CI);

/** Skips the test unless all programs are in PATH; fails it in CI. */
export function needs(context: TestContext, ...programs: string[]): void {
  const missing = programs.filter(program => !isInstalled(program));
  if (missing.length > 0) cannotRun(context, `needs ${missing.join(' and ')}, which is not installed`);
}

/** Skips the test because this machine lacks something other than a program; fails it in CI. */
export function cannotRun(context: TestContext, why: string): never {
  if (isCi) throw new Error(`not run: ${why}; in CI this is a failure`);
  return context.skip(why);
}

/** Skips the test for users other than root; fails it in CI, which runs as root. */
export function needsRoot(context: TestContext): void {
  if (process.geteuid?.() !== 0) cannotRun(context, 'needs root');
}

/** Skips the test for root, because file modes do not restrict root. The clean room runs it as another user. */
export function needsOtherThanRoot(context: TestContext): void {
  if (process.geteuid?.() === 0) skipFor(context, 'needs a user other than root');
}

/** Skips the test in CI too. The reason must be in the list of `skipped.ts`. */
export function skipFor(context: TestContext, reason: string): never {
  return context.skip(reason);
}

export function isInstalled(program: string): boolean {
  const folders = isAbsolute(program) ? ['/'] : (process.env.PATH ?? '').split(delimiter);
  return folders.some(folder => {
    try {
      const path = join(folder, program);
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== 'false';
}
