/** Completions in the real shells: the candidates after Tab. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exampleAgent } from '../../src/agents/index.ts';
import { type Shell, shells } from '../../src/commands/completion-scripts.ts';
import { commands } from '../../src/commands/registry.ts';
import { needs } from '../needs.ts';
import { type House, newHouse } from '../waiting/house.ts';

let house: House;
let bin: string;
beforeAll(async () => {
  house = newHouse();
  house.configure({
    ...{ provider: 'otlp', otlp: { endpoint: 'http://127.0.0.1:9' } },
    destinations: { team: { endpoint: 'http://127.0.0.1:9/team' } },
  });
  house.hooked('5e5510-a', 'SessionStart', 'SessionEnd');
  house.hooked('$(touch expanded)', 'SessionStart', 'SessionEnd');
  await house.run('deliver', '--wait', '300ms');
  bin = join(house.home, 'bin');
  mkdirSync(bin);
  // The program under its name in PATH, as npm links it.
  const program = join(import.meta.dirname, '..', '..', 'dist', 'otel-hooks.cjs');
  writeFileSync(join(bin, 'otel-hooks'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(join(bin, 'otel-hooks'), 0o755);
  for (const shell of shells)
    writeFileSync(join(house.home, `completion.${shell}`), (await house.run('completion', shell)).out);
});
afterAll(() => house.close());

/** Presses Tab behind the line in a real shell. Returns the candidates. */
const completed: { readonly [S in Shell]: (line: string) => string[] } = {
  bash(line) {
    const script = `source ~/completion.bash; COMP_LINE=$1; COMP_POINT=\${#1}; COMP_WORDS=($1); COMP_CWORD=\${#COMP_WORDS[@]}
      _otel_hooks; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return linesOf(ran('bash', '--norc', '-c', script, 'bash', line));
  },
  // The completion system of zsh runs only in its line editor, so the shell runs in a terminal of its own.
  zsh(line) {
    const script = `zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell 'PS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit && compinit -u -D; source ~/completion.zsh'
      zpty -w shell 'compadd() { local -a matches; local each; builtin compadd -O matches "$@"; for each in "\${matches[@]}"; do print -r -- "<>$each<>"; done >>~/found; builtin compadd "$@" }'
      zpty -w shell 'rm -f ~/found; print READY'
      zpty -r shell seen '*READY*READY*'
      zpty -n -w shell ${JSON.stringify(line)}$'\\t'
      for i in {1..100}; do sleep 0.05; [[ -s ~/found ]] && break; done
      sleep 0.1; zpty -d shell; cat ~/found`;
    return linesOf(ran('zsh', '-f', '-c', script)).flatMap(each => /^<>(.+)<>$/.exec(each)?.[1] ?? []);
  },
  fish(line) {
    const script = 'source ~/completion.fish; complete -C $argv[1]';
    return linesOf(ran('fish', '--no-config', '-c', script, line)).map(each => each.split('\t')[0] ?? '');
  },
};

function ran(...[program, ...words]: [string, ...string[]]): string {
  const env = { HOME: house.home, PATH: `${bin}:${process.env.PATH}`, TERM: 'dumb', LANG: 'C.UTF-8' };
  const { stdout, stderr } = spawnSync(program, words, { env, cwd: house.home, encoding: 'utf8', timeout: 20_000 });
  expect(stderr).not.toMatch(/error|not found/i);
  return stdout;
}

const linesOf = (text: string): string[] => [...new Set(text.split('\n').filter(line => line !== ''))];

const cases: [line: string, some: string[], notThese: string[]][] = [
  ['otel-hooks de', ['deliver', 'demo', 'destinations'], ['status']],
  ['otel-hooks deliver --', ['--wait', '--json'], ['--tool']],
  ['otel-hooks enable --tool ', [exampleAgent.id], ['--yes']],
  ['otel-hooks destinations re', ['redirect', 'resend'], ['drop']],
  ['otel-hooks destinations drop ', ['otlp-127.0.0.1:9'], ['redirect']],
  ['otel-hooks erase ', ['5e5510-a'], ['--yes']],
  ['otel-hooks config set otlp.end', ['otlp.endpoint'], ['provider']],
  ['otel-hooks config set destinations.team.end', ['destinations.team.endpoint'], ['otlp.endpoint']],
  ['otel-hooks completion ', ['bash', 'zsh', 'fish'], []],
  ['otel-hooks validate comp', ['completion.bash'], ['validate']],
];

for (const shell of shells)
  test.for(cases)(`${shell} completes: %s`, ([line, some, notThese], context) => {
    needs(context, shell);
    const found = completed[shell](line);
    expect(found).toEqual(expect.arrayContaining(some));
    expect(notThese.filter(word => found.includes(word))).toEqual([]);
  });

test.for(shells)('%s expands no id of a session', (shell, context) => {
  needs(context, shell);
  expect(completed[shell]('otel-hooks show ')).not.toContain('expanded');
  expect(existsSync(join(house.home, 'expanded'))).toBe(false);
});

test('bash completes the part of a destination after a colon', context => {
  needs(context, 'bash');
  expect(completed.bash('otel-hooks destinations drop otlp-127.0.0.1:')).toEqual(['9']);
});

test.each(shells)('%s gets every command and every flag of the table', async shell => {
  const { out } = await house.run('completion', shell);
  for (const { name, flags } of commands) {
    expect(out).toContain(name);
    for (const flag of flags) expect(out).toContain(shell === 'fish' ? `-l ${flag.name.slice(2)}` : flag.name);
  }
});

test('another shell is refused with the list', async () => {
  expect(await house.run('completion', 'tcsh')).toMatchObject({
    code: 2,
    err: expect.stringContaining('takes a shell: bash, zsh, fish'),
  });
});
