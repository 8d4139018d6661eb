/**
 * Materials that are in `../shared` beside some clones only. Without them, one skipped test names the tests that did
 * not run.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'vitest';
import { skipFor } from './needs.ts';

export const sharedPath = (path: string): string => join(import.meta.dirname, '../../shared', path);

export function overShared(path: string, name: string, suite: () => void): void {
  if (existsSync(sharedPath(path))) describe(name, suite);
  else test(name, context => needsShared(context, path));
}

/** For a single test. */
export function needsShared(context: TestContext, path: string): void {
  if (!existsSync(sharedPath(path))) skipFor(context, `../shared/${path} is not here`);
}
