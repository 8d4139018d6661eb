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
  let chosen = flag || at.env.OTEL_HOOKS_STATE_DIR;
  if (!chosen) {
    let config = '';
    try {
      config = readText(at.env.OTEL_HOOKS_CONFIG || `${defaultFolder('config', at)}/config.json`);
    } catch {
      // There is none, or none that can be read, about which `config` complains.
    }
    // Few move the folder, and every event would pay for the parser.
    chosen = (config.includes('state_dir') && configured(config, at)) || defaultFolder('state', at);
  }
  return chosen[0] === '/' || isAbsolute(chosen) ? chosen : `${at.cwd()}/${chosen}`;
}

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

function configured(text: string, at: Surroundings): string | undefined {
  try {
    const config: unknown = JSON.parse(text);
    if (typeof config !== 'object' || config === null || !('state_dir' in config)) return undefined;
    const chosen = config.state_dir;
    if (typeof chosen !== 'string') return undefined;
    return chosen.startsWith('~/') ? at.home() + chosen.slice(1) : chosen;
  } catch {
    // `config` complains about such a file; the default is what it then says is used.
    return undefined;
  }
}

const isAbsolute = (path: string): boolean => path[0] === '/' || /^(?:\\|[A-Za-z]:[/\\])/.test(path);
