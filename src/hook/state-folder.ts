/**
 * Finds the state folder for a front end without the flag `--state`. The order is that of every setting: flag,
 * environment, config file, default. The config file is read for this one key, because events must be in the folder
 * that `status` reads, also if the user moved it.
 */
import { statSync } from './builtins.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  env: Env;
  platform: string;
  home(): string;
  cwd(): string;
  /** A config file that a flag names, absolute. */
  named?: string | undefined;
}

export function locateStateFolder(
  flag: string | undefined,
  at: Surroundings,
  readText: (path: string) => string,
): string {
  let chosen = flag || at.env.OTEL_HOOKS_STATE_DIR;
  for (const file of chosen ? [] : configFiles(at)) {
    try {
      const config = readText(file);
      // Few users move the folder, so the parser is loaded only if the key is present.
      if (config.includes('state_dir')) chosen = configured(config, file, at);
      if (config !== '') break;
    } catch {
      // There is no config file, or it cannot be read; `otel-hooks config` reports this.
    }
  }
  chosen ||= defaultFolder('state', at);
  // With a slash at the end, the system would follow a link.
  while (chosen.length > 1 && chosen.endsWith('/')) chosen = chosen.slice(0, -1);
  return isAbsolute(chosen) ? chosen : `${at.cwd()}/${chosen}`;
}

/** The first file that exists is used. The Python package of the same name has one place on all systems. */
function configFiles(at: Surroundings): string[] {
  const { OTEL_HOOKS_CONFIG: named, XDG_CONFIG_HOME: xdg } = at.env;
  if (at.named) return [at.named];
  if (named && isUsers(fromHome(named, at.home), at)) return [fromHome(named, at.home)];
  const usual = `${defaultFolder('config', at)}/config.json`;
  const hasOther = !xdg && (at.platform === 'darwin' || at.platform === 'win32');
  return hasOther ? [usual, `${at.home()}/.config/otel-hooks/config.json`] : [usual];
}

/**
 * Settings of agents that come with a clone can set variables, so a relative path and a file of the project are not the
 * user's choice. The configuration refuses and reports them too.
 */
function isUsers(file: string, at: Surroundings): boolean {
  if (!isAbsolute(file)) return false;
  const { realpathSync } = require('node:fs') as typeof import('node:fs');
  const real = (path: string): string => {
    try {
      return realpathSync(path).replaceAll('\\', '/');
    } catch {
      // The file does not exist.
      return path;
    }
  };
  const isInside = (path: string, folder: string): boolean => `${path}/`.startsWith(`${folder}/`);
  const home = real(at.home());
  let top = real(at.cwd());
  for (
    let folder = top;
    folder !== '' && !isInside(home, folder);
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))
  )
    if (isTrusted(statSync(`${folder}/.git`, { throwIfNoEntry: false })?.uid)) top = folder;
  return isInside(home, top) || !isInside(real(file), top);
}

/** The same rule as in the configuration: a `.git` of another user makes no project. */
const isTrusted = (uid: number | undefined): boolean =>
  uid !== undefined && (uid === 0 || uid === (process.geteuid?.() ?? uid));

const customs = {
  state: { xdg: 'XDG_STATE_HOME', posix: '.local/state', windows: 'LOCALAPPDATA', appData: 'Local' },
  config: { xdg: 'XDG_CONFIG_HOME', posix: '.config', windows: 'APPDATA', appData: 'Roaming' },
} as const;

export function defaultFolder(kind: 'state' | 'config', { env, platform, home }: Omit<Surroundings, 'cwd'>): string {
  const { xdg, posix, windows, appData } = customs[kind];
  const base = env[xdg];
  if (base && (base[0] === '/' || isAbsolute(base))) return `${base}/otel-hooks`;
  if (platform === 'win32') return `${env[windows] || `${home()}/AppData/${appData}`}/otel-hooks/${kind}`;
  if (platform === 'darwin') return `${home()}/Library/Application Support/otel-hooks/${kind}`;
  return `${home()}/${posix}/otel-hooks`;
}

function configured(text: string, file: string, at: Surroundings): string | undefined {
  try {
    const config: unknown = JSON.parse(withoutComments(text));
    if (typeof config !== 'object' || config === null || !('state_dir' in config)) return undefined;
    if (typeof config.state_dir !== 'string' || config.state_dir === '') return undefined;
    const path = fromHome(config.state_dir, at.home);
    return isAbsolute(path) ? path : file.replace(/[^/\\]*$/, () => path);
  } catch {
    // `otel-hooks config` reports such a file; the default applies.
    return undefined;
  }
}

/** Removes comments and trailing commas outside of strings. */
const withoutComments = (text: string): string =>
  text
    .replace(/^\uFEFF/, '')
    .replace(/("(?:\\.|[^"\\])*")|\/\/.*|\/\*[\s\S]*?\*\//g, '$1')
    .replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, '$1');

const fromHome = (path: string, home: () => string): string =>
  path === '~' || path.startsWith('~/') ? home() + path.slice(1) : path;

/** A flag names a file in the same way. */
export const fileNamed = (path: string, cwd: string, home: () => string): string =>
  isAbsolute(fromHome(path, home)) ? fromHome(path, home) : `${cwd}/${path}`;

const isAbsolute = (path: string): boolean => path[0] === '/' || /^(?:\\|[A-Za-z]:[/\\])/.test(path);
