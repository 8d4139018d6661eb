/**
 * A reporter that prints each skipped test with its reason, so that no part of a run is left out silently. In CI a
 * skip is a failure unless its reason is one of `legitimate`.
 */
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';
import { isCi } from './needs.ts';

/** Reasons that are valid in CI too, each with the run that covers the test instead. */
const legitimate: RegExp[] = [
  // The clean room (scripts/clean-room.mjs) runs the suite as an unprivileged user.
  /^needs a user other than root$/,
  // Materials that are beside some clones only.
  /^\.\.\/shared\/\S* is not here$/,
  // CI runs Node 20; newer versions run in .github/workflows/ci.yml.
  /^needs Node 22\.15/,
  // The gates `conservation` and `every shell` run the larger sizes.
  /^not at size quick$/,
];

export default class Skipped implements Reporter {
  private isFiltered = false;

  onInit(vitest: Vitest): void {
    this.isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // With `-t PATTERN` every other test counts as skipped.
    if (this.isFiltered) return;
    const skipped = modules.flatMap(each => [...each.children.allTests('skipped')]);
    const byReason = grouped(skipped);
    for (const [reason, tests] of byReason) {
      const isFailure = isCi && !legitimate.some(each => each.test(reason));
      if (isFailure) process.exitCode = 1;
      console.log(`${isFailure ? 'FAILED, because skipped in CI' : 'skipped'}: ${reason}`);
      for (const line of listed(tests)) console.log(`  ${line}`);
    }
  }
}

function reasonOf(test: TestCase): string {
  const result = test.result();
  return (result.state === 'skipped' ? result.note : undefined) ?? 'no reason given';
}

/** Each test by name, but a whole skipped suite as one line. */
function listed(tests: TestCase[]): string[] {
  const files = [...new Set(tests.map(test => test.module.relativeModuleId))];
  return files.flatMap(file => {
    const names = tests.filter(test => test.module.relativeModuleId === file).map(test => test.fullName);
    return names.length > 3 ? [`${file}: ${names.length} tests`] : names.map(name => `${file} > ${name}`);
  });
}

function grouped(tests: TestCase[]): Map<string, TestCase[]> {
  const groups = new Map<string, TestCase[]>();
  for (const test of tests) groups.set(reasonOf(test), [...(groups.get(reasonOf(test)) ?? []), test]);
  return groups;
}
