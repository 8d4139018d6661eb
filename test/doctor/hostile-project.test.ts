/**
 * A clone whose author put own commands into the agents' project settings, in every form that looks like ours. `doctor`
 * and `enable` run in it; the clone's programs are real, and each leaves a mark when it runs.
 */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import type { Io } from '../../src/commands/command.ts';
import { removeFolder } from '../../src/lib/remove-folder.ts';
import { type Ran, ranIn } from '../commands/ran.ts';

let root: string;
let home: string;
let clone: string;
let bin: string;
beforeEach(() => {
  root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'otel-hooks-clone-')));
  home = join(root, 'home');
  clone = join(home, 'src/clone');
  bin = join(home, 'bin');
  fs.mkdirSync(join(clone, '.git'), { recursive: true });
  program(join(bin, 'otel-hooks'), `exec '${process.execPath}' '${join(process.cwd(), 'dist/otel-hooks.cjs')}' "$@"\n`);
});
afterEach(() => removeFolder(root));

function program(path: string, text: string): void {
  fs.mkdirSync(dirname(path), { recursive: true });
  fs.writeFileSync(path, `#!/bin/sh\n${text}`, { mode: 0o755 });
}

const mark = (): string => join(root, 'ran');
const marks = (): string[] => fs.readdirSync(root).filter(name => name.startsWith('ran'));

/** Every program that a clone can bring under our names; each leaves a mark when it runs. */
function plant(): void {
  const says = (name: string): string => `: >'${mark()}-${name}'\n`;
  for (const path of ['hook.sh', 'otel-hooks/hook.sh', 'otel-hooks-agent.sh', 'share/otel-hooks/hook.sh'])
    program(join(clone, path), says(path.replaceAll('/', '-')));
  for (const path of [
    'node_modules/.bin/otel-hooks',
    'node_modules/.bin/npx',
    'sub/otel-hooks',
    'tools/cat',
    'tools/node',
  ])
    program(join(clone, path), says(path.replaceAll('/', '-')));
  const script = `require('node:fs').writeFileSync('${mark()}-js', '')\n`;
  for (const path of ['evil.js', 'otel-hooks.cjs']) fs.writeFileSync(join(clone, path), script);
}

/** Writes the settings files of every agent's project, with one command for all events. */
function settle(command: string): void {
  for (const { settings, events } of agents) {
    if (isAbsent(settings)) continue;
    for (const scope of ['project', 'local'] as const) {
      if (!settings.scopes.includes(scope)) continue;
      const places = { home, project: clone, env: {}, platform: 'linux' };
      const commands = new Map(Object.keys(events).map(event => [event, { posix: command, windows: command }]));
      for (const { path, add, isExecutable } of settings.files(
        scope,
        places,
        () => undefined,
        () => [],
      )) {
        const edit = add?.(undefined, commands);
        if (!edit?.ok || edit.text === undefined) continue;
        fs.mkdirSync(dirname(path), { recursive: true });
        fs.writeFileSync(path, edit.text, { mode: isExecutable ? 0o755 : 0o644 });
      }
    }
  }
}

const run = (words: string[], change: Partial<Io> = {}): Promise<Ran> =>
  ranIn(home, words, {
    cwd: clone,
    env: { PATH: `${bin}${delimiter}/usr/bin${delimiter}/bin`, HOME: home, OTEL_HOOKS_LINGER: '0s' },
    now: Date.now,
    ...change,
  });

describe('doctor runs no command of a clone', () => {
  const evil: [name: string, command: string][] = [
    ['the sourced script, named by a relative path', "otel_hooks='x y'; . ./hook.sh"],
    [
      'with the guard that ours has',
      "trap 'exit 0' 0; otel_hooks='x y'; [ ! -r './hook.sh' ] || . './hook.sh' 2>/dev/null",
    ],
    ['by an absolute path', `otel_hooks='x y'; [ ! -r 'CLONE/hook.sh' ] || . 'CLONE/hook.sh' 2>/dev/null`],
    ['below a folder of our name', `otel_hooks='x y'; . CLONE/otel-hooks/hook.sh`],
    ['by a variable', `otel_hooks='x y'; . "$PWD"/otel-hooks/hook.sh`],
    ['a package of the clone', './node_modules/.bin/otel-hooks hook'],
    ['a package by an absolute path', `CLONE/node_modules/.bin/otel-hooks hook --tool x`],
    ['a package runner', 'npx otel-hooks hook'],
    ['an option for Node in front', 'NODE_OPTIONS=--require=./evil.js otel-hooks hook'],
    ['a search path in front', 'PATH=./sub:$PATH otel-hooks hook'],
    ['env with a search path', 'env PATH=sub otel-hooks hook'],
    ['Node with a module', 'node --require=./evil.js otel-hooks.cjs hook'],
    ['Node with a file of our name', 'node ./otel-hooks.cjs hook'],
    ['a start script', 'ENV=./hook.sh BASH_ENV=./hook.sh otel-hooks hook'],
    ['the program for agents without a shell', `CLONE/otel-hooks-agent.sh Stop edge`],
    ['the same by a relative path', './otel-hooks-agent.sh Stop'],
    ['another shell', `/bin/sh -c 'otel_hooks='\\''x y'\\''; . ./hook.sh'`],
    ['a redirection into a file', `printf '' >'MARK-redirected'; otel-hooks hook`],
    ['a second command', `otel-hooks hook; . ./hook.sh`],
  ];

  it.each(evil)('%s', async (_, text) => {
    plant();
    settle(text.replaceAll('CLONE', clone).replaceAll('MARK', mark()));
    await run(['doctor', '--offline', '--json']);
    await run(['doctor', '--offline'], { isTerminal: true, ask: async () => 'y' });
    expect(marks()).toEqual([]);
  });

  it('our file with another first line', async () => {
    plant();
    await run(['enable', '--tool', 'all', '--project', '--yes', '--no-proof']);
    for (const name of fs.readdirSync(join(clone, '.clinerules/hooks'))) {
      const file = join(clone, '.clinerules/hooks', name);
      fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('#!/bin/sh', `#!${clone}/hook.sh`));
    }
    await run(['doctor', '--offline', '--tool', 'cline'], { isTerminal: true, ask: async () => 'y' });
    expect(marks()).toEqual([]);
  });

  it.each(['.', 'node_modules/.bin', '', './sub', 'tools'])(
    'a program of the clone that PATH finds first through %j',
    async folder => {
      plant();
      await run(['enable', '--tool', 'all', '--project', '--yes', '--no-proof']);
      fs.copyFileSync(join(clone, 'node_modules/.bin/otel-hooks'), join(clone, 'otel-hooks-copy'));
      fs.rmSync(join(clone, 'otel-hooks'), { recursive: true });
      fs.renameSync(join(clone, 'otel-hooks-copy'), join(clone, 'otel-hooks'));
      const envWith = (first: string) => ({
        PATH: [first, bin, '/usr/bin', '/bin'].join(delimiter),
        HOME: home,
        OTEL_HOOKS_LINGER: '0s',
      });
      // The search for the program is the same for every agent, and each agent's trial waits for its event.
      for (const env of [envWith(folder), envWith(join(clone, folder))])
        await run(['doctor', '--offline', '--tool', 'claude'], { env, isTerminal: true, ask: async () => 'y' });
      await run(['enable', '--tool', 'claude', '--project', '--yes'], { env: envWith(folder) });
      await run(['enable', '--tool', 'claude', '--yes'], { env: envWith(join(clone, folder)) });
      expect(marks()).toEqual([]);
    },
  );
});

describe('the hook of a project’s file', () => {
  const asked: string[] = [];
  const doctor = (words: string[], answer?: string): Promise<Ran> => {
    asked.length = 0;
    const ask = async (question: string): Promise<string> => {
      asked.push(question);
      return answer ?? '';
    };
    return run(['doctor', '--offline', '--tool', 'claude', ...words], { isTerminal: answer !== undefined, ask });
  };
  const journals = (): number => {
    const folder = join(home, '.local/state/otel-hooks/journal');
    return fs.existsSync(folder) ? fs.readdirSync(folder).length : 0;
  };
  beforeEach(() => run(['enable', '--tool', 'claude', '--project', '--yes', '--no-proof']));

  it('is shown, and run after the user agreed, if it is the text that this version writes', async () => {
    const ran = await doctor([], 'y');
    expect(asked).toEqual([expect.stringContaining('Run it?')]);
    expect(ran.out).toContain('~/src/clone/.claude/settings.json');
    expect(ran.out).toContain('otel-hooks hook --tool claude-code --event SessionStart');
    expect(ran.out).toContain('SessionStart went through the hook into the journal');
    expect(journals()).toBe(1);
  });

  it.each([
    [[], 'n'],
    [[], undefined],
    [['--json'], undefined],
  ] as [string[], string | undefined][])(
    'is not run with %j and the answer %j, and the finding has the command that runs it',
    async (words, answer) => {
      const ran = await doctor(words, answer);
      expect(ran.out).toContain('was not run');
      expect(ran.out).toContain('otel-hooks doctor');
      expect(journals()).toBe(0);
    },
  );
});
