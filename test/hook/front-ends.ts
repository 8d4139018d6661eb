/** The front ends as agents run them: real processes, a package folder with a stub in deliver's place, a state folder. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Decoded, decodeFragment, type Fragment } from '../../src/hook/fragment.ts';
import { shellCommand, shellHook } from '../../src/hook/script.ts';
import { removeFolder } from '../../src/lib/remove-folder.ts';
import { isInstalled } from '../needs.ts';

export interface FrontEnd {
  name: string;
  /** The required program, if it is not installed. */
  missing?: string;
  command(house: House, call: Call): string[];
}

export interface Call {
  tool?: string;
  event?: string;
  edge?: boolean;
  provider?: string;
  reply?: string;
}

export interface House {
  folder: string;
  state: string;
  inbox: string;
  bin: string;
  script: string;
}

const bin = fileURLToPath(new URL('../../dist/otel-hooks.cjs', import.meta.url));

/** Everything under one temporary folder that any user may enter. */
export function build(options: { name?: string; prepared?: boolean; deliver?: string | null } = {}): House {
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-hook-'));
  chmodSync(folder, 0o755);
  const home = join(folder, options.name ?? 'home');
  const house: House = {
    folder,
    state: join(home, 'state'),
    inbox: join(home, 'state', 'inbox'),
    bin: join(home, 'otel-hooks.cjs'),
    script: join(home, 'hook.sh'),
  };
  mkdirSync(home);
  copyFileSync(bin, house.bin);
  chmodSync(house.bin, 0o755);
  const deliver = join(home, 'deliver.js');
  if (options.deliver !== null) writeFileSync(deliver, options.deliver ?? telling);
  const setsid = ['/usr/bin/setsid', '/bin/setsid'].find(path => existsSync(path));
  writeFileSync(
    house.script,
    shellHook({ stateFolder: house.state, node: process.execPath, bin: house.bin, deliver, cat: '/bin/cat', setsid }),
  );
  if (options.prepared !== false) {
    for (const path of [house.state, house.inbox, join(house.state, 'problems')]) mkdirSync(path, { mode: 0o700 });
    alive(house);
  }
  return house;
}

/** Writes into the state folder that it was started, and with which environment. */
const telling = `
const { writeFileSync } = require('node:fs');
const state = process.argv[process.argv.indexOf('--state-dir') + 1];
writeFileSync(state + '/kicked-' + process.pid, JSON.stringify({
  args: process.argv.slice(2), cwd: process.cwd(), options: process.env.NODE_OPTIONS ?? null,
  config: process.env.OTEL_HOOKS_CONFIG,
}), { flush: true });
`;

/** A lock with a living owner: this process. */
export const alive = (house: House): void => writeFileSync(join(house.state, 'lock'), `${process.pid} {"v":1}\n`);

/** A process that a hook has started may still be at work in the folder. */
export const demolish = (house: House): Promise<void> => removeFolder(house.folder);

export interface Ran {
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface Circumstances {
  env?: Record<string, string>;
  cwd?: string;
  uid?: number;
  /** A redirection that sh makes before it runs the front end, such as `<&-`. */
  redirect?: string;
}

const clean = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: '/nonexistent' };

export function run(command: string[], payload: string | Uint8Array, around: Circumstances = {}): Promise<Ran> {
  const words = around.redirect ? ['/bin/sh', '-c', `exec "$@" ${around.redirect}`, 'sh', ...command] : command;
  const [program = '', ...args] = words;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...clean, ...around.env },
      cwd: around.cwd ?? '/tmp',
      // The test killed the process, which distinguishes it from a process that exited.
      timeout: 60_000,
      killSignal: 'SIGKILL',
      ...(around.uid === undefined ? {} : { uid: around.uid, gid: around.uid }),
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', chunk => {
      stdout += chunk;
    });
    child.stderr.on('data', chunk => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', status => resolve({ status, stdout, stderr }));
    // A front end may end before it has read all of its input.
    child.stdin.on('error', () => {});
    child.stdin.end(payload);
  });
}

export const harmless: Ran = { status: 0, stdout: '', stderr: '' };

export function fragments(house: House): Fragment[] {
  return decoded(house).map(each => {
    if (!each.ok) throw new Error(`a fragment is ${each.why}`);
    return each.fragment;
  });
}

export function decoded(house: House): Decoded[] {
  if (!existsSync(house.inbox)) return [];
  return readdirSync(house.inbox).map(name => {
    const path = join(house.inbox, name);
    return decodeFragment(name, readFileSync(path), statSync(path).mtimeMs);
  });
}

/** The output of the stub in deliver's place, once it exists. */
export async function kicks(house: House, expected: number): Promise<unknown[]> {
  const deadline = Date.now() + (expected === 0 ? 300 : 10_000);
  for (;;) {
    const found = existsSync(house.state) ? readdirSync(house.state).filter(name => name.startsWith('kicked-')) : [];
    const texts = found.map(name => readFileSync(join(house.state, name), 'utf8'));
    const isComplete = texts.every(text => text.endsWith('}'));
    if ((expected > 0 && texts.length >= expected && isComplete) || Date.now() > deadline)
      return texts.map(text => JSON.parse(text));
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** `before`: a command of the shell that runs before the hook's. */
function shell(name: string, words: string[], before = ''): FrontEnd {
  const [program = ''] = words;
  return {
    name,
    ...(isInstalled(program) ? {} : { missing: program }),
    command: (house, call) => [
      ...words,
      '-c',
      before + shellCommand({ script: house.script, tool: 'some-agent', event: 'SomeEvent', ...call }),
    ],
  };
}

export const shells: FrontEnd[] = [
  // The shell that agents run. On a minimal system it is the only one.
  shell('sh', ['/bin/sh']),
  shell('dash', ['dash']),
  shell('bash', ['bash']),
  // The bash of macOS is version 3.2.
  shell('bash --posix', ['bash', '--posix'], 'BASH_COMPAT=3.2; '),
  shell('busybox ash', ['busybox', 'ash']),
  shell('zsh', ['zsh']),
];

export const node: FrontEnd = {
  name: 'node',
  command: (house, { tool = 'some-agent', event = 'SomeEvent', edge, provider, reply }) => [
    house.bin,
    'hook',
    ...['--tool', tool, `--event=${event}`, '--state-dir', house.state],
    ...(edge ? ['--edge'] : []),
    ...(provider ? ['--provider', provider] : []),
    ...(reply ? ['--reply', reply] : []),
  ],
};

export const frontEnds: FrontEnd[] = [...shells, node];
