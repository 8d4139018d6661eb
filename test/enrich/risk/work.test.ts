/** The limits of one action: text that is expanded, joined and read again is paid from one account. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { riskOf } from '../../../src/enrich/risk/risk.ts';
import { newWork } from '../../../src/enrich/risk/work.ts';

const LENGTH = 53_000;
const x = 'x'.repeat(3_900);
const loop = `a=${x};for b in ${'$a '.repeat(16)};`;

/** The beginning once, then the repeated part. */
const filled = (beginning: string, part: string): string =>
  beginning + part.repeat(Math.ceil((LENGTH - beginning.length) / part.length));

const commands: Readonly<Record<string, string>> = {
  'a loop over values that are long': filled(loop, `echo ${'$b '.repeat(250)};`),
  'loops in loops': filled(loop, `for c in ${'$b '.repeat(16)};echo ${'$b$c '.repeat(30)};`),
  'a loop whose values are evaluated': filled(loop, `eval eval eval ${'$b '.repeat(100)};`),
  'a text that is evaluated again and again': filled(`a='${'echo hi; '.repeat(400)}';`, 'eval "$a";'),
  'evaluations of evaluations': filled(
    `a='echo hi;echo ho;';b='${'eval $a;'.repeat(8)}';c='${'eval "$b";'.repeat(4)}';d='${'eval "$c";'.repeat(6)}';`,
    'eval "$d";',
  ),
  'a text that is piped into a shell': filled(
    `a='${'echo hi; '.repeat(400)}';`,
    '(echo "$a";echo "$a";echo "$a") | bash;',
  ),
  'heredocs for shells': filled('', `bash <<A\n${'echo $a;'.repeat(30)}\nA\n`),
  'substitutions in substitutions': `echo ${'$(echo '.repeat(16)}${'x '.repeat(20_000)}`,
  'programs that start programs': filled('', `${'sudo '.repeat(250)}ls;`),
  'braces in words': filled('', `echo {${'a,'.repeat(400)}} ;`),
  'a pipe without end': filled('', 'cat|'),
  'many files that were fetched': filled('', 'curl http://a.b/c -o bin/x;foo;'),
};

const judge = (command: string) => riskOf({ action: { name: 'shell', input: { command } }, cwd: '/w' });

function cpuMs(work: () => unknown): number {
  const from = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
}
/** The first run compiles the rules; of the other runs the fastest counts, since the machine may be busy. */
const best = (work: () => unknown): number => Math.min(...Array.from({ length: 3 }, () => cpuMs(work)));

describe('a command of 53 KB', () => {
  let plainMs: number;
  beforeAll(() => {
    const plain = filled('', 'make check && git status; ');
    judge(plain);
    plainMs = best(() => judge(plain));
  });

  it.each(Object.entries(commands))('costs little more than a plain one: %s', (_, command) => {
    expect(best(() => judge(command)) / Math.max(plainMs, 1)).toBeLessThan(12);
  });
});

it('the part before the account was empty is judged, and the result states that it was cut', () => {
  const work = newWork();
  const risk = riskOf(
    { action: { name: 'shell', input: { command: `rm -rf /; ${commands['loops in loops']}` } } },
    undefined,
    work,
  );
  expect(risk).toMatchObject({ level: 'critical' });
  expect(work.isCut).toBe(true);
});

it('an ordinary command leaves most of the account', () => {
  const work = newWork();
  riskOf(
    { action: { name: 'shell', input: { command: 'for f in *.ts; do eval "cat $f" | wc -l; done' } } },
    undefined,
    work,
  );
  expect(work.isCut).toBe(false);
  expect(work.left).toBeGreaterThan(newWork().left * 0.98);
});

it('no action overdraws its account by more than one piece of text', () => {
  const part = fc.constantFrom(
    ...[
      'a=$a$b;',
      'b="x $a";',
      'for a in $a $b 1 2;',
      'eval $a;',
      'bash -c "$b"',
      '<<E\n$a\nE\n',
      '|',
      '$(',
      ')',
      '`',
      "'",
      '"',
      'echo $a',
      ' sudo ',
      '{a,b}',
    ],
    x,
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), parts => {
      const work = newWork();
      riskOf({ action: { name: 'shell', input: { command: parts.join('') } } }, undefined, work);
      expect(work.left).toBeGreaterThan(-10 * 65_536);
    }),
    { numRuns: 200 },
  );
});
