/** Messages about the state folder, the program and the hooks in the settings of agents. */
import { execSync } from 'node:child_process';
import { chownSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';

import { whyNotLasting } from '../../src/setup/lasting.ts';
import { isDelivering } from '../../src/store/lock.ts';
import type { House } from './house.ts';
import { type Case, type Cases, type Message, messagesIn, messagesOn } from './message-case.ts';

/** A user that is neither root nor the one who runs the test. */
const STRANGER = 54_321;

const projectOf = (house: House): string => join(house.home, 'project');
const settingsOf = (folder: string): string => join(folder, '.claude', 'settings.json');
function written(path: string, text: string, mode = 0o644): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
  return path;
}

/** Returns the words of a command in an advice, as a person types them. */
const commandIn = ({ next }: Message): string[] => /`otel-hooks ([^`]+)`/.exec(next)?.[1]?.split(' ') ?? [];

const enable = (house: House, ...words: string[]) =>
  house.runWith({ cwd: projectOf(house) }, 'enable', '--tool', 'claude-code', '--yes', '--no-proof', ...words);

/** Messages of `doctor`, which neither sends nor runs hooks. */
const doctor = async (house: House, PATH = ''): Promise<Message[]> =>
  messagesIn(
    await house.runWith({ cwd: projectOf(house), env: { PATH } }, 'doctor', '--offline', '--no-proof', '--json'),
  );

/** `doctor` that runs hooks, and a folder of PATH. */
function withHooks(house: House): { bin: string; shown(): Promise<Message[]> } {
  const bin = join(house.home, 'bin');
  const PATH = [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
  const env = { PATH, HOME: house.home, OTEL_HOOKS_LINGER: '0s' };
  const shown = async (): Promise<Message[]> => {
    const words = ['doctor', '--offline', '--yes', '--json'];
    const messages = messagesIn(await house.runWith({ cwd: projectOf(house), env }, ...words));
    while (isDelivering(house.state)) await new Promise(resolve => setTimeout(resolve, 20));
    return messages;
  };
  return { bin, shown };
}

/** An `enable` that refuses, and the repaired settings. */
function refused(house: House, words: string[], rest: Pick<Case, 'advice' | 'provoke' | 'follow'>): Case {
  mkdirSync(projectOf(house), { recursive: true });
  return { ...rest, shown: async () => messagesOn(await enable(house, ...words)) };
}

export const ofMachine: Cases = {
  'state-newer': house => ({
    advice: /update otel-hooks/,
    provoke: async () => [await house.deliver(), written(join(house.state, 'version'), '2\n')],
    // The newer version knows the format.
    follow: () => written(join(house.state, 'version'), '1\n'),
  }),
  'state-foreign': house => ({
    needsRoot: true,
    advice: /remove it/,
    provoke: () => chownSync(house.state, STRANGER, STRANGER),
    follow: () => rmSync(house.state, { recursive: true }),
  }),
  'state-foreign (another folder)': house => {
    let env: NodeJS.ProcessEnv = { PATH: '' };
    return {
      needsRoot: true,
      advice: /or choose another with OTEL_HOOKS_STATE_DIR/,
      provoke: () => chownSync(house.state, STRANGER, STRANGER),
      follow: () => {
        env = { PATH: '', OTEL_HOOKS_STATE_DIR: join(house.home, 'state') };
      },
      shown: async () => messagesIn(await house.runWith({ env }, 'doctor', '--offline', '--no-proof', '--json')),
    };
  },
  'config-owner (of the credentials)': house => {
    const { configFile } = house;
    return {
      needsRoot: true,
      advice: /: cp \S+ \S+ && mv -f \S+ \S+$/,
      provoke() {
        house.configure({ provider: 'otlp', otlp: { endpoint: 'http://127.0.0.1:9', headers: 'authorization=x' } });
        chownSync(configFile, STRANGER, STRANGER);
      },
      follow: () => execSync(`cp ${configFile} ${configFile}.own && mv -f ${configFile}.own ${configFile}`),
      shown: async () => messagesIn(await house.run('doctor', '--offline', '--no-proof', '--json')),
    };
  },
  'token-unsafe (of another user)': house => ({
    needsRoot: true,
    advice: /`otel-hooks serve --rotate-token`/,
    provoke: async () => [
      await house.run('serve', '--rotate-token'),
      chownSync(join(dirname(house.configFile), 'token'), STRANGER, STRANGER),
    ],
    follow: () => house.run('serve', '--rotate-token'),
    shown: async () => messagesIn(await house.run('doctor', '--offline', '--no-proof', '--json')),
  }),
  'state-unusable': house => ({
    advice: /version is a folder and should be a file: move it away/,
    provoke: () => mkdirSync(join(house.state, 'version')),
    follow: () => renameSync(join(house.state, 'version'), join(house.home, 'away')),
  }),
  'state-unusable (a file above the folder)': house => ({
    advice: /move this file away/,
    provoke: () => [rmSync(dirname(house.state), { recursive: true }), writeFileSync(dirname(house.state), '')],
    follow: () => renameSync(dirname(house.state), join(house.home, 'away')),
  }),
  'program-twice': house => {
    const bin = join(house.home, 'bin');
    return {
      advice: /remove it: .*`pip uninstall otel-hooks`/,
      provoke: () => [mkdirSync(projectOf(house)), written(join(bin, 'otel-hooks'), '#!/usr/bin/env python3\n', 0o755)],
      follow: () => rmSync(join(bin, 'otel-hooks')),
      shown: () => doctor(house, bin),
    };
  },
  'program-temporary': house => {
    // The clone counts as a temporary folder here.
    const top = join(import.meta.dirname, '..', '..');
    let env: NodeJS.ProcessEnv = { PATH: '', TMPDIR: top };
    return {
      advice: /install it for good.*then run `otel-hooks enable` again/,
      provoke: () => undefined,
      follow: () => {
        env = { PATH: '' };
      },
      async shown() {
        const words = ['enable', '--tool', 'claude-code', '--yes', '--no-proof', '--json'];
        const messages = messagesIn(await house.runWith({ env }, ...words));
        // A clone in a temporary folder is not a permanent installation.
        const isReal = env.TMPDIR === undefined && whyNotLasting(join(top, 'dist'), env) !== undefined;
        return messages.filter(({ code }) => !isReal || code !== 'program-temporary');
      },
    };
  },
  'status-line-replaced': house => {
    const enable = (...scope: string[]) => ['enable', '--tool', 'claude-code', ...scope, '--status-line', '--yes'];
    const file = join(projectOf(house), '.claude', 'settings.json');
    return {
      advice: /`otel-hooks enable --tool claude-code --local --status-line`/,
      provoke: () => written(file, '{"statusLine":{"type":"command","command":"echo theirs"}}'),
      follow: async () => {
        await house.runWith({ cwd: projectOf(house) }, ...enable('--local'), '--no-proof');
      },
      shown: async () => {
        const ran = await house.runWith({ cwd: projectOf(house) }, ...enable(), '--no-proof', '--json');
        return messagesIn(ran).filter(({ code }) => code !== 'program-temporary');
      },
    };
  },
  'hooks-stale': house => ({
    advice: /`otel-hooks doctor --fix`/,
    provoke: async () => [
      mkdirSync(projectOf(house)),
      await enable(house),
      written(join(house.home, '.local/share/otel-hooks/hook.sh'), '# of a Node that has moved\n'),
    ],
    follow: () => house.run('doctor', '--fix', '--yes', '--offline', '--no-proof'),
    shown: () => doctor(house),
  }),
  'hooks-twice': house => ({
    advice: /for example run `otel-hooks disable/,
    provoke: async () => [mkdirSync(projectOf(house)), await enable(house), await enable(house, '--project')],
    async follow() {
      const [message] = (await doctor(house)).filter(({ code }) => code === 'hooks-twice');
      const words = message === undefined ? [] : commandIn(message);
      expect(await house.runWith({ cwd: projectOf(house) }, ...words, '--yes')).toMatchObject({ code: 0 });
    },
    shown: () => doctor(house),
  }),
  'hooks-silent': house => ({
    advice: /take disableAllHooks out of/,
    provoke: async () => [
      written(settingsOf(house.home), '{ "disableAllHooks": true }'),
      mkdirSync(projectOf(house)),
      await enable(house),
    ],
    follow: async () => [written(settingsOf(house.home), '{}'), await enable(house)],
    shown: () => doctor(house),
  }),
  'agent-newer': house => {
    const bin = join(house.home, 'bin');
    const install = (version: string) => written(join(bin, 'package.json'), JSON.stringify({ version }));
    return {
      advice: /update otel-hooks/,
      provoke: async () => [
        mkdirSync(projectOf(house)),
        await enable(house),
        written(join(bin, 'claude'), ''),
        install('99.0.0'),
      ],
      // The newer otel-hooks was checked with this version.
      follow: async () => [install('2.0.0')],
      shown: async () =>
        messagesIn(await house.runWith({ cwd: projectOf(house), env: { PATH: bin } }, 'status', '--json')),
    };
  },
  'hook-fails': house => {
    const { bin, shown } = withHooks(house);
    return {
      advice: /npm i -g \./,
      provoke: async () => [mkdirSync(projectOf(house)), await enable(house, '--project')],
      // The last command of the advice makes this link.
      follow: () => [
        mkdirSync(bin),
        symlinkSync(join(import.meta.dirname, '../../dist/otel-hooks.cjs'), join(bin, 'otel-hooks')),
      ],
      shown,
    };
  },
  'hook-fails (without a state folder)': house => ({
    advice: /move it away; the next hook creates the folder/,
    provoke: async () => [
      mkdirSync(projectOf(house)),
      await enable(house),
      rmSync(house.state, { recursive: true }),
      writeFileSync(house.state, ''),
    ],
    follow: () => renameSync(house.state, `${house.state}.away`),
    shown: withHooks(house).shown,
  }),
  'settings-absent': house => {
    let scope = '--local';
    return {
      advice: /again with --global or --project/,
      provoke: () => mkdirSync(projectOf(house)),
      follow: () => {
        scope = '--project';
      },
      shown: async () => {
        const words = ['enable', '--tool', 'codex', '--yes', '--no-proof', scope];
        return messagesOn(await house.runWith({ cwd: projectOf(house) }, ...words));
      },
    };
  },
  'settings-refused': house =>
    refused(house, [], {
      advice: /fix line 2, then run the command again/,
      provoke: () => written(settingsOf(house.home), '{\n  "hooks": [}\n}'),
      follow: () => written(settingsOf(house.home), '{\n  "hooks": {}\n}'),
    }),
  'settings-file': house =>
    refused(house, [], {
      advice: /make it a plain file/,
      provoke: () => mkdirSync(settingsOf(house.home), { recursive: true }),
      follow: () => [rmSync(settingsOf(house.home), { recursive: true }), written(settingsOf(house.home), '{}')],
    }),
  'settings-outside': house =>
    refused(house, ['--project'], {
      advice: /replace the link by a file of the project/,
      provoke: () => [
        mkdirSync(dirname(settingsOf(projectOf(house))), { recursive: true }),
        symlinkSync(written(join(house.home, 'mine.json'), '{}'), settingsOf(projectOf(house))),
      ],
      follow: () => [rmSync(settingsOf(projectOf(house))), written(settingsOf(projectOf(house)), '{}')],
    }),
};
