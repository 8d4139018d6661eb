import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readShell, type Script, type Word } from '../../../src/enrich/risk/shell.ts';

const drawWord = ({ text, inner }: Word): string =>
  [JSON.stringify(text).slice(1, -1), ...inner.map(script => `{${draw(script)}}`)].join('');

/** Pipelines by `;`, commands by `|`, words by `_`. */
const draw = ({ pipelines }: Script): string =>
  pipelines
    .map(commands =>
      commands
        .map(({ assignments, words, redirections, group }) =>
          [
            ...assignments.map(drawWord),
            ...words.map(drawWord),
            ...(group ? [`(${draw(group)})`] : []),
            ...redirections.map(({ operator, target }) => `${operator}${drawWord(target)}`),
          ].join('_'),
        )
        .join(' | '),
    )
    .join(' ; ');

const cases: [line: string, drawn: string][] = [
  ['rm -rf ./build', 'rm_-rf_./build'],
  ['a && b || c; d & e', 'a ; b ; c ; d ; e'],
  ['a|b |& c', 'a | b | c'],
  [`echo "a; b | c" 'd && e'`, 'echo_a; b | c_d && e'],
  [`r''m -r"f" \\/x`, 'rm_-rf_/x'],
  [`$'\\x72\\155' $'a\\tb'`, 'rm_a\\tb'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: syntax of the shell.
  ['echo $HOME "${HOME}/x" $A "${B:-$(c d)}"', 'echo_~_~/x_$A_$B{c_d}'],
  ["echo '$HOME' \\$A", 'echo_$HOME_$A'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: syntax of the shell.
  ['echo ${#A} ${A:+set} ${A+$B} $env:C ${env:C}', 'echo_0_set_$B_$C_$C'],
  ['rm .\\bin ~\\a $env:HOME\\b C:\\c\\d a\\ b', 'rm_.\\\\bin_~\\\\a_~\\\\b_C:\\\\c\\\\d_a b'],
  ['echo "$(a "$(b)" | c)" x', 'echo_$(){a_$(){b} | c}_x'],
  ['echo `a \\`b\\``', 'echo_$(){a_$(){b}}'],
  ['echo $((1 + (2))) x', 'echo_$()_x'],
  ['bash <(curl x) > /tmp/o 2>&1', 'bash_$(){curl_x}_>/tmp/o_>&1'],
  ['a >x 2>>y <z &>w >|v', 'a_>x_>>y_<z_&>w_>|v'],
  ['ls # && rm x\npwd', 'ls ; pwd'],
  ['echo a#b', 'echo_a#b'],
  ['A=1 B="c d" env', 'A=1_B=c d_env'],
  ['(a; b) | c', '(a ; b) | c'],
  ['{ a; b; } > c', '(a ; b)_>c'],
  ['if a; then b; else c; fi', 'a ; b ; c'],
  ['while read -r l; do e; done < f', 'read_-r_l ; e ; <f'],
  ['f() { a; }; f', '(a) ; f'],
  ['a \\\n  b', 'a_b'],
  ['cat <<EOF\nrm $A $(b)\nEOF\nc', 'cat_<<rm $A $()\\n{b} ; c'],
  ["cat <<'EOF' > f; d\nrm $A $(b)\nEOF\nc", 'cat_<<rm $A $(b)\\n_>f ; d ; c'],
  ['cat <<-A <<B\n\ta\n\tA\nb\nB', 'cat_<<\\ta\\n_<<b\\n'],
  ['x "$(cat <<EOF\nhi\nEOF\n)" y', 'x_$(){cat_<<hi\\n}_y'],
  ['a <<< "b c"', 'a_<<<b c'],
  ['echo "open', 'echo_open'],
  ["echo 'open", 'echo_open'],
  ['echo $(open', 'echo_$(){open}'],
  ['cat <<EOF\nopen', 'cat_<<open'],
  ['a ) b', 'a ; b'],
  ['', ''],
];

describe('the reader of shell texts', () => {
  it.each(cases)('%s', (line, drawn) => expect(draw(readShell(line))).toBe(drawn));

  it('keeps the number of a redirected output', () => {
    const [[command] = []] = readShell('a > b 2> c 2>> d').pipelines;
    expect(command?.redirections.map(({ from, operator }) => from + operator)).toEqual(['>', '2>', '2>>']);
  });

  it('does not list a variable if only its length or another word is inserted', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: syntax of the shell.
    const [[command] = []] = readShell('echo ${#A} ${B:+set} ${C:-x} $env:D').pipelines;
    expect(command?.words.flatMap(word => word.variables)).toEqual(['C', 'D']);
  });

  it('lists the defined functions', () => expect(readShell(':(){ :|:& };:').functions).toEqual([':']));

  it('returns words for any text', () => {
    const bits = fc.constantFrom(
      '"',
      "'",
      '$(',
      ')',
      '`',
      '${',
      '}',
      '{',
      '(',
      '<<E',
      '\nE\n',
      '\n',
      '|',
      '&',
      ';',
      '\\',
      '$',
      "$'",
      '<(',
      '>',
      ' ',
      'a',
      '#',
      '\u0000',
      '\ud800',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(bits, fc.string()), { maxLength: 60 }), parts => {
        expect(Array.isArray(readShell(parts.join('')).pipelines)).toBe(true);
      }),
      { numRuns: 500, seed: 7 },
    );
  });

  it.each([
    '"',
    "'",
    '$(',
    '`',
    '${',
    '${a:-',
    '(',
    '{ ',
    '<(',
    '<<E\n',
    '\\',
    '$((',
    "$'",
    'a(',
    '"$(',
    '<<E $(\n',
    '|',
    '$(`',
  ])('looks at each character a bounded number of times: %s, over and over', bit => {
    // With quadratic cost this would take minutes and fail by the time limit.
    for (let i = 0; i < 2; i += 1) readShell(bit.repeat(60_000 / bit.length));
    expect(readShell(bit.repeat(30_000)).functions.length).toBeLessThan(30_000);
  });
});
