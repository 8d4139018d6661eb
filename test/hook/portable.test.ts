/**
 * The shell texts that agents run must work with the programs of macOS and of busybox too, so they use no option that only
 * GNU's programs have. Shells: front-ends.ts runs the script in dash, busybox, zsh and bash as POSIX shell of version 3.2.
 */
import { describe, expect, it } from 'vitest';
import { shellCommand, shellHook } from '../../src/hook/script.ts';
import { statusLineCommand, statusLineScript } from '../../src/hook/status-line.ts';
import { commandFor, programFor } from '../../src/setup/commands.ts';

/** Options and forms that the programs of macOS do not have, or read differently. */
const ofGnu: readonly [name: string, pattern: RegExp][] = [
  [
    'a long option of a program',
    /(?:^|[\s;|&(])(?!otel-hooks)(?:cat|cp|mv|rm|ln|ls|date|stat|grep|sed|sort|head|tail|mkdir|touch|find|ps|kill)\b[^\n;|&]*\s--[a-z]/m,
  ],
  ['sed -i without a suffix', /\bsed\s+(?:-\w+\s+)*-i(?:\s|$)/],
  ['sed -r', /\bsed\s+-\w*r/],
  ['date -d or nanoseconds', /\bdate\s+(?:-d\b|[^\n]*%N)/],
  ['stat -c', /\bstat\s+(?:-\w+\s+)*-\w*c\b/],
  ['readlink -f and realpath', /\breadlink\s+-\w*f|\brealpath\b/],
  ['grep -P', /\bgrep\s+-\w*P/],
  ['sort -V', /\bsort\s+-\w*V/],
  ['xargs -r', /\bxargs\s+-\w*r/],
  ['base64 -w', /\bbase64\s+-\w*w/],
  ['find -printf', /\bfind\b[^\n]*-printf/],
  ['head -c with a sign', /\bhead\s+-[cn]\s*-/],
  ['cp -a and ls --color', /\bls\s+--color/],
  ['timeout and nproc', /(?:^|[\s;|&(])(?:timeout|nproc|tac|shuf|numfmt)\s/m],
  ['flock', /(?:^|[\s;|&(])flock\s/m],
  ['echo -e', /\becho\s+-[en]/],
  ['[[ of bash', /\[\[\s/],
  ['function of bash', /^\s*function\s+\w/m],
  ['local, declare and typeset', /^\s*(?:local|declare|typeset)\s/m],
  ['here-strings and process substitution', /<<<|<\(/],
  ['RANDOM and case changes of bash', /\$RANDOM|\$\{\w+\^\^/],
];

const program = { stateFolder: '/s', node: '/n', bin: '/b', deliver: '/d', cat: '/bin/cat', setsid: '/usr/bin/setsid' };
const wanted = {
  ...{ tool: 'some-agent', event: 'SomeEvent', edge: true, provider: 'otlp', reply: '{}', platform: 'darwin' },
  ...{ data: '/data', node: '/n', bin: '/b' },
};
const texts: readonly [string, string][] = [
  ['the script', shellHook(program)],
  [
    'the command that sources it',
    shellCommand({ script: '/s', tool: 'some-agent', event: 'SomeEvent', edge: true, reply: '{}' }),
  ],
  ['the script of a status line', statusLineScript({ hook: '/h', cat: '/bin/cat' })],
  ['the command of a status line', statusLineCommand({ script: '/s', tool: 'some-agent', event: 'SomeEvent' })],
  ['the program', programFor({ tool: 'some-agent', reply: '{}', data: '/data' }).text],
  ...(['sh', 'any shell', 'program'] as const).flatMap(posix =>
    [true, false].map((isShared): [string, string] => [
      `the command for ${posix}${isShared ? ', shared' : ''}`,
      commandFor({ ...wanted, isShared, runs: { posix, windows: 'cmd' } }).posix ?? '',
    ]),
  ),
];

describe.each(texts)('%s', (_, text) => {
  it('uses no option that only the programs of GNU have', () => {
    const code = text.replace(/^\s*#.*$/gm, '');
    expect(code).not.toBe('');
    expect(ofGnu.filter(([, pattern]) => pattern.test(code)).map(([name]) => name)).toEqual([]);
  });
});

it.each([
  ['sed -i s/a/b/ file', 'sed -i without a suffix'],
  ['x=$(date +%s%N)', 'date -d or nanoseconds'],
  ['stat -c %Y file', 'stat -c'],
  ['cp --parents a b', 'a long option of a program'],
  ['head -c -5 file', 'head -c with a sign'],
  ['cd "$(readlink -f "$0")"', 'readlink -f and realpath'],
  ['local x=1', 'local, declare and typeset'],
])('finds %s', (text, name) => {
  expect(ofGnu.filter(([, pattern]) => pattern.test(text)).map(([each]) => each)).toContain(name);
});
