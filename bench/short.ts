/**
 * The cost of the line of `otel-hooks status --short` in a prompt of a shell, as ratios to `node -e 0`:
 *
 *     sh     the function of docs/terminal.md, which reads the line with builtins, in a shell of its own
 *     node   `otel-hooks status --short`
 *
 * Each round runs each variant in random order, several times in a row by one shell, and measures the wall time of all;
 * the medians of the rounds are compared.
 *
 *     node scripts/bench.mjs short [--gate]
 *
 * `--gate`: exits 1 when a gate is missed in each of three runs. Works on `dist`: build first.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noteFigure } from './parts/figures.ts';
import { onStage, setting } from './parts/sides.ts';

const ROUNDS = 15;
const RUNS = 3;
const words = process.argv.slice(2);

interface Variant {
  name: string;
  command: string;
  repeats: number;
  gate?: number;
}

process.exitCode = await onStage(async ({ place }) => main(place));

function main(home: string): number {
  console.log(setting());
  const folder = join(home, '.local/state/otel-hooks/documents');
  mkdirSync(folder, { recursive: true });
  const value = { line: '4.21 USD on 11-19, session 1.20 of 20 USD, context 43/100', day: '2026-11-19', costUsd: 4.21 };
  writeFileSync(join(folder, 'short.json'), JSON.stringify({ v: 1, n: 12, value }));
  const [, documented = ''] =
    /```sh\n(otel_hooks_line[\s\S]*?)```/.exec(readFileSync('docs/terminal.md', 'utf8')) ?? [];
  writeFileSync(join(home, 'line.sh'), `${documented}\notel_hooks_line\n`);
  const node = process.execPath;
  const variants: Variant[] = [
    { name: 'node -e 0', command: `'${node}' -e 0`, repeats: 5 },
    { name: 'sh', command: `sh '${join(home, 'line.sh')}'`, repeats: 50, gate: 0.15 },
    { name: 'node', command: `'${node}' dist/otel-hooks.cjs status --short`, repeats: 5, gate: 1.3 },
  ];
  for (const { name, command } of variants.slice(1)) {
    const { stdout } = spawnSync('sh', ['-c', command], { env: envIn(home), encoding: 'utf8' });
    if (stdout !== `${value.line}\n`) throw new Error(`${name} printed ${JSON.stringify(stdout)}`);
  }
  for (let run = 1; run <= RUNS; run += 1) {
    const isMet = compare(variants, home);
    if (isMet) return 0;
  }
  return words.includes('--gate') ? 1 : 0;
}

function compare(variants: readonly Variant[], home: string): boolean {
  const times = new Map<Variant, number[]>(variants.map(variant => [variant, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const variant of [...variants].sort(() => Math.random() - 0.5)) times.get(variant)?.push(msOf(variant, home));
  }
  const [base, ...others] = variants.map(variant => ({ variant, ms: median(times.get(variant) ?? []) }));
  let isMet = true;
  for (const { variant, ms } of others) {
    const ratio = ms / (base?.ms ?? Number.NaN);
    const gate = variant.gate ?? Number.POSITIVE_INFINITY;
    const work = `status --short by ${variant.name}, wall time`;
    noteFigure({ work, value: ratio, unit: 'x', limits: [{ name: 'gate', most: gate }] });
    console.log(
      `${variant.name.padEnd(6)} ${ratio.toFixed(3)}x of node -e 0, at most ${gate}x: ${ratio <= gate ? 'met' : 'MISSED'}`,
    );
    isMet &&= ratio <= gate;
  }
  return isMet;
}

/** The time of one run of the command. */
function msOf({ command, repeats }: Variant, home: string): number {
  const loop = `i=0; while [ $i -lt ${repeats} ]; do ${command} >/dev/null; i=$((i+1)); done`;
  const start = performance.now();
  spawnSync('sh', ['-c', loop], { env: envIn(home) });
  return (performance.now() - start) / repeats;
}

function envIn(home: string): { PATH: string | undefined; HOME: string } {
  return { PATH: process.env.PATH, HOME: home };
}

function median(all: number[]): number {
  return all.sort((a, b) => a - b)[all.length >> 1] ?? Number.NaN;
}
