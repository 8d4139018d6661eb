/**
 * The folders of otel-hooks: those of XDG on Linux or if its variables are set, otherwise the usual places of macOS and
 * Windows.
 */
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  platform: string;
}

/** An empty variable counts as unset. */
export function homeOf(env: Surroundings['env']): string {
  if (env.HOME) return env.HOME;
  try {
    return homedir() || userInfo().homedir;
  } catch {
    // A container may run under a uid without a user.
    return '/';
  }
}

export const configFolder = (where: Surroundings): string =>
  folder(where, 'XDG_CONFIG_HOME', '.config', 'APPDATA', 'config');

export const stateFolder = (where: Surroundings): string =>
  where.env.OTEL_HOOKS_STATE_DIR || folder(where, 'XDG_STATE_HOME', '.local/state', 'LOCALAPPDATA', 'state');

export const dataFolder = (where: Surroundings): string =>
  folder(where, 'XDG_DATA_HOME', '.local/share', 'LOCALAPPDATA', 'data');

/** `part` separates the three folders on systems with one place for all of them. */
function folder(
  { env, home, platform }: Surroundings,
  xdg: string,
  linux: string,
  windows: 'APPDATA' | 'LOCALAPPDATA',
  part: 'config' | 'state' | 'data',
): string {
  const set = env[xdg];
  // The XDG specification says that relative values are ignored.
  if (set !== undefined && isAbsolute(set)) return join(set, 'otel-hooks');
  if (platform === 'win32') {
    const base = env[windows] || join(home, 'AppData', windows === 'APPDATA' ? 'Roaming' : 'Local');
    return join(base, 'otel-hooks', part);
  }
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'otel-hooks', part);
  return join(home, linux, 'otel-hooks');
}
