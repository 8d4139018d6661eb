/** A user's machine in a temporary folder: the program installed, hooks enabled, and the agent that runs them. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'jsonc-parser';
import { readStatusBooks, type StatusBooks, waitingIn } from '../../src/deliver/status-books.ts';
import { removeFolder } from '../../src/lib/remove-folder.ts';
import { isDelivering } from '../../src/store/lock.ts';
import { openStore } from '../../src/store/store.ts';
import { packInto } from '../package/tarball.ts';

export interface House {
  folder: string;
  home: string;
  project: string;
  state: string;
  settings: string;
  /** The Node program. */
  bin: string;
  deliver: string;
  env: Record<string, string>;
}

export type Mouth = 'sh' | 'node';

/** The one agent that tests set up; its settings file is read as the agent reads it. */
export const AGENT = 'claude-code';
const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * `packed`: what npm would publish, installed into an empty folder. `built`: a copy of dist, which is quicker. In both
 * cases, a rebuild of the sources does not affect a running test.
 */
export function furnish(how: 'packed' | 'built', prefix = 'otel-hooks-wire-', parent = tmpdir()): House {
  const folder = mkdtempSync(join(parent, prefix));
  chmodSync(folder, 0o755);
  const home = join(folder, 'home');
  const project = join(folder, 'project');
  const app = join(folder, 'app');
  for (const each of [home, project, app]) mkdirSync(each);
  const dist = how === 'packed' ? installed(app, folder) : copied(app);
  return {
    folder,
    home,
    project,
    state: join(home, '.local', 'state', 'otel-hooks'),
    settings: join(home, '.claude', 'settings.json'),
    bin: join(dist, 'otel-hooks.cjs'),
    deliver: join(dist, 'deliver.js'),
    env: { HOME: home, PATH: process.env.PATH ?? '/usr/bin:/bin' },
  };
}

function installed(app: string, folder: string): string {
  const npmHome = join(folder, 'npm-home');
  mkdirSync(npmHome);
  const env = { PATH: process.env.PATH, HOME: npmHome, npm_config_update_notifier: 'false' };
  const tarball = packInto(folder, env);
  writeFileSync(join(app, 'package.json'), '{ "private": true }\n');
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', '--silent', tarball], {
    cwd: app,
    env,
  });
  return join(app, 'node_modules', 'otel-hooks', 'dist');
}

function copied(app: string): string {
  cpSync(join(root, 'dist'), join(app, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(app, 'package.json'));
  return join(app, 'dist');
}

/** None of our processes is left in the house. */
export const quiet = (house: House): Promise<void> =>
  until(() => !existsSync(join(house.state, 'lock')) || !isDelivering(house.state), 15_000);

export async function vacate(house: House): Promise<void> {
  await quiet(house);
  // A process that a hook has just started may still be checking that it has no work.
  await removeFolder(house.folder);
}

export interface Ran {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** The result that P1 promises for every hook. */
export const harmless: Ran = { status: 0, stdout: '', stderr: '' };

/** A command of the program, as a person types it. */
export function otelHooks(house: House, words: readonly string[], env: Record<string, string> = {}): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [house.bin, ...words], {
    cwd: house.project,
    env: { ...house.env, ...env },
    encoding: 'utf8',
    timeout: 60_000,
    // A command that waits for a file in a system call handles no signal.
    killSignal: 'SIGKILL',
  });
  return { status, stdout, stderr };
}

export function enable(house: House, endpoint: string | undefined): Ran {
  const where = endpoint === undefined ? [] : ['--endpoint', endpoint];
  return otelHooks(house, ['enable', '--tool', AGENT, '--global', '--yes', '--no-proof', ...where]);
}

/** The commands of the settings file, by event. */
export function commandsIn(house: House): Map<string, string> {
  const settings = parse(readFileSync(house.settings, 'utf8')) as {
    hooks: { [event: string]: { hooks: { command: string }[] }[] };
  };
  return new Map(
    Object.entries(settings.hooks).map(([event, groups]) => [event, groups.at(-1)?.hooks.at(-1)?.command ?? '']),
  );
}

export interface Agent {
  house: House;
  commands: ReadonlyMap<string, string>;
}

export interface Hook {
  event: string;
  payload: string | Uint8Array | Iterable<Uint8Array>;
  mouth?: Mouth;
  env?: Record<string, string>;
  uid?: number;
  /** The calling agent, if it differs from the agent that was set up. */
  tool?: string;
}

/** Runs a hook as the agent does: through a shell, the payload on standard input, waiting for its end. */
export function runHook({ house, commands }: Agent, hook: Hook): Promise<Ran> {
  const command = commands.get(hook.event) ?? commands.get('PreToolUse') ?? '';
  const isEdge = / edge[ ']/.test(command);
  const [program, args] =
    hook.mouth === 'node'
      ? [
          process.execPath,
          [house.bin, 'hook', '--tool', hook.tool ?? AGENT, '--event', hook.event, ...(isEdge ? ['--edge'] : [])],
        ]
      : ['/bin/sh', ['-c', hook.tool === undefined ? command : command.replace(`'${AGENT} `, `'${hook.tool} `)]];
  return new Promise((settled, failed) => {
    const child = spawn(program, args, {
      cwd: house.project,
      // Shorter than the half minute for which a delivery waits for more.
      env: { ...house.env, OTEL_HOOKS_LINGER: '1s', ...hook.env },
      ...(hook.uid === undefined ? {} : { uid: hook.uid, gid: hook.uid }),
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', part => {
      stdout += part;
    });
    child.stderr.on('data', part => {
      stderr += part;
    });
    child.on('error', failed);
    child.on('close', status => settled({ status, stdout, stderr }));
    // A hook may end before it has read all of its input.
    child.stdin.on('error', () => undefined);
    const { payload } = hook;
    if (typeof payload === 'string' || payload instanceof Uint8Array) child.stdin.end(payload);
    else void pipeline(payload, child.stdin).catch(() => undefined);
  });
}

export const payloadOf = (fields: object): string => JSON.stringify(fields);

export function books(house: House): StatusBooks | undefined {
  if (!existsSync(house.state)) return undefined;
  const store = openStore({ folder: house.state, access: 'read' });
  try {
    return readStatusBooks(store);
  } finally {
    store.close();
  }
}

/** All data was sent and the delivery has ended. */
export async function delivered(house: House, withinMs = 20_000): Promise<StatusBooks> {
  let found: StatusBooks | undefined;
  await until(() => {
    found = books(house);
    return found !== undefined && waitingIn(found) === 0 && !isDelivering(house.state);
  }, withinMs);
  if (found === undefined) throw new Error('there is no state folder');
  return found;
}

export interface Status extends StatusBooks {
  balanced: boolean;
  delivering: boolean;
  quarantine: { files: number; sizeBytes: number };
  problems: { code: string }[];
}

/** The JSON output for scripts. */
export function status(house: House, env: Record<string, string> = {}): Status {
  const { stdout, stderr } = otelHooks(house, ['status', '--json'], env);
  if (stdout === '') throw new Error(`status printed nothing: ${stderr}`);
  return JSON.parse(stdout) as Status;
}

export async function until(holds: () => boolean, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`not so after ${withinMs} ms: ${holds}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}
