/** The folders of otel-hooks, from the flags, the environment and the configuration. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type LoadedConfig, loadConfig } from '../config/files.ts';
import { dataFolder, stateFolder } from '../config/folders.ts';
import { loadProxies, type Proxies } from '../config/proxies.ts';
import { flagText, type Io, type Words } from './command.ts';

export interface Folders {
  state: string;
  data: string;
  config: LoadedConfig;
}

export function foldersOf(words: Words, io: Io): Folders {
  const where = { env: io.env, home: io.home, platform: io.platform };
  const config = loadConfig({ ...where, cwd: io.cwd, file: flagText(words, '--config') });
  const named = flagText(words, '--state-dir') || io.env.OTEL_HOOKS_STATE_DIR || config.values.state_dir;
  return { state: resolve(io.cwd, named || stateFolder(where)), data: dataFolder(where), config };
}

/** The surroundings of all sessions. They share the configuration file of the command, in any folder. */
export const surroundingsOf = (words: Words, io: Io, { globalFile }: LoadedConfig) => ({
  env: io.env.OTEL_HOOKS_CONFIG ? { ...io.env, OTEL_HOOKS_CONFIG: globalFile } : io.env,
  home: io.home,
  platform: io.platform,
  ownVariables: true,
  configFile: flagText(words, '--config') === undefined ? undefined : globalFile,
});

/** The proxies for requests of this command. */
export const proxiesOn =
  (words: Words, { env, home, platform }: Io) =>
  (): Proxies =>
    loadProxies({ env, home, platform, file: flagText(words, '--config') });

/** The folder of the built program. This file is in it, in a chunk below it, or among the sources beside it. */
export function distFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const places = [here, dirname(here), resolve(here, '../../dist')];
  return places.find(place => existsSync(`${place}/otel-hooks.cjs`)) ?? dirname(here);
}
