/**
 * Runs the benchmarks of two commits in turns, each with its own sources, build and packages, and compares the medians
 * of the ratios that they print. Both run beside the same other work, so that a slow minute of the machine slows both.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** The benchmarks whose sides alternate within seconds, so that one turn is short. */
const USUAL = ['drain', 'deliver', 'session'];
/** A line about a bar, as bench/parts/sides.ts prints it. */
const RATIO = /^(.{10,80}?)\s{2,}(\d+\.\d+)\s{2,}(?:gate|goal|bar|stretch) ([<>])=/;

/** Returns 1 if a ratio of this tree is worse than that of the other commit by more than the given share. */
export async function compare(root, words) {
  const { old, names, turns, most } = wordsOf(words);
  if (old === undefined) {
    console.error('usage: npm run bench -- compare COMMIT [NAME...] [--turns 5] [--most 5]');
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-compare-'));
  const other = join(folder, 'tree');
  const removeOther = () => {
    execFileSync('git', ['worktree', 'remove', '--force', other], { cwd: root, stdio: 'ignore' });
    rmSync(folder, { recursive: true, force: true });
  };
  const stop = () => {
    removeOther();
    process.exit(130);
  };
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', other, old], { cwd: root, stdio: 'inherit' });
  process.once('SIGINT', stop);
  try {
    prepare(root, other);
    const found = { old: new Map(), now: new Map() };
    for (let turn = 1; turn <= turns; turn += 1) {
      console.log(`turn ${turn} of ${turns}`);
      for (const name of names)
        for (const side of Math.random() < 0.5 ? ['old', 'now'] : ['now', 'old'])
          await measure(side === 'old' ? other : root, name, found[side]);
    }
    return print(found, most / 100);
  } finally {
    process.off('SIGINT', stop);
    removeOther();
  }
}

function wordsOf(words) {
  const rest = [];
  const numbers = { '--turns': 5, '--most': 5 };
  for (let i = 0; i < words.length; i += 1) {
    if (Object.hasOwn(numbers, words[i])) numbers[words[i]] = Number(words[++i]);
    else rest.push(words[i]);
  }
  const [old, ...names] = rest;
  return { old, names: names.length === 0 ? USUAL : names, turns: numbers['--turns'], most: numbers['--most'] };
}

/** The packages of this tree serve both when the lock files are equal. */
function prepare(root, other) {
  const lock = tree => readFileSync(join(tree, 'package-lock.json'), 'utf8');
  const npm = (...args) => execFileSync('npm', args, { cwd: other, stdio: ['ignore', 'ignore', 'inherit'] });
  if (lock(root) === lock(other)) symlinkSync(join(root, 'node_modules'), join(other, 'node_modules'));
  else npm('ci', '--silent');
  npm('run', '--silent', 'build');
  if (!existsSync(join(other, 'scripts', 'bench.mjs'))) throw new Error('that commit has no benchmarks');
}

/** Adds the ratios that a benchmark prints to those of its side. A missed gate is no failure here. */
async function measure(tree, name, ratios) {
  const script = join(tree, 'scripts', 'bench.mjs');
  const { stdout } = await run(process.execPath, [script, name], { cwd: tree, maxBuffer: 1 << 26 }).catch(error => {
    if (error.stdout === undefined || error.killed) throw error;
    return error;
  });
  for (const line of stdout.split('\n')) {
    const [, work, ratio, direction] = RATIO.exec(line) ?? [];
    if (work === undefined) continue;
    const key = `${name}: ${work.trim()}`;
    ratios.set(key, { direction, values: [...(ratios.get(key)?.values ?? []), Number(ratio)] });
  }
}

function print({ old, now }, most) {
  let status = 0;
  console.log(`\n${'ratio'.padEnd(64)}${'old'.padStart(8)}${'now'.padStart(8)}  change`);
  for (const [key, { direction, values }] of now) {
    const before = median(old.get(key)?.values ?? []);
    const after = median(values);
    if (before === undefined) {
      console.log(`${key.padEnd(64)}${'–'.padStart(8)}${after.toFixed(3).padStart(8)}  new`);
      continue;
    }
    const worse = direction === '>' ? 1 - after / before : after / before - 1;
    if (worse > most) status = 1;
    const change = `${worse > 0 ? '-' : '+'}${Math.abs(worse * 100).toFixed(1)} %`;
    const verdict = worse > most ? `  worse by more than ${most * 100} %` : '';
    console.log(
      `${key.padEnd(64)}${before.toFixed(3).padStart(8)}${after.toFixed(3).padStart(8)}  ${change}${verdict}`,
    );
  }
  return status;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}
