/**
 * Where the state folder is, for a front end that nobody told. The order is the one of every other setting: flag,
 * environment, config file, default. The config file is read for this one key, because the events of a user who moved
 * the folder must lie where `status` looks.
 */
type Env = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  env: Env;
  platform: string;
  home(): string;
  cwd(): string;
}

export function locateStateFolder(
  flag: string | undefined,
  at: Surroundings,
  readText: (path: string) => string,
): string {
  const chosen = flag || at.env.OTEL_HOOKS_STATE_DIR || configured(at, readText) || defaultStateFolder(at);
  return isAbsolute(chosen) ? chosen : `${at.cwd()}/${chosen}`;
}

export function defaultStateFolder({ env, platform, home }: Omit<Surroundings, 'cwd'>): string {
  if (env.XDG_STATE_HOME && isAbsolute(env.XDG_STATE_HOME)) return `${env.XDG_STATE_HOME}/otel-hooks`;
  if (platform === 'win32') return `${env.LOCALAPPDATA || `${home()}/AppData/Local`}/otel-hooks/state`;
  if (platform === 'darwin') return `${home()}/Library/Application Support/otel-hooks/state`;
  return `${home()}/.local/state/otel-hooks`;
}

export function defaultConfigFolder({ env, platform, home }: Omit<Surroundings, 'cwd'>): string {
  if (env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME)) return `${env.XDG_CONFIG_HOME}/otel-hooks`;
  if (platform === 'win32') return `${env.APPDATA || `${home()}/AppData/Roaming`}/otel-hooks/config`;
  if (platform === 'darwin') return `${home()}/Library/Application Support/otel-hooks/config`;
  return `${home()}/.config/otel-hooks`;
}

function configured(at: Surroundings, readText: (path: string) => string): string | undefined {
  try {
    const config: unknown = JSON.parse(readText(at.env.OTEL_HOOKS_CONFIG || `${defaultConfigFolder(at)}/config.json`));
    if (typeof config !== 'object' || config === null || !('state_dir' in config)) return undefined;
    const chosen = config.state_dir;
    if (typeof chosen !== 'string') return undefined;
    return chosen.startsWith('~/') ? at.home() + chosen.slice(1) : chosen;
  } catch {
    // No such file, or one that `config` complains about: the default is what it then says is used.
    return undefined;
  }
}

const isAbsolute = (path: string): boolean => path[0] === '/' || /^(?:\\|[A-Za-z]:[/\\])/.test(path);
