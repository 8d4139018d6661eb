/** Messages about files and variables of the configuration, destinations and commands of projects. */
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openStore } from '../../src/store/store.ts';
import type { House } from './house.ts';
import { type Case, type Cases, type Message, messagesIn } from './message-case.ts';

const OWN = 'http://127.0.0.1:9';
const otlp = { provider: 'otlp', otlp: { endpoint: OWN } };

/** A user that is neither root nor the one who runs the test. */
const STRANGER = 54_321;

const projectOf = (house: House): string => join(house.home, 'project');
function written(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

/** `status` in a shell with these variables. */
const statusWith = async (house: House, env: NodeJS.ProcessEnv): Promise<Message[]> =>
  messagesIn(await house.runWith({ env: { PATH: '', ...env } }, 'status', '--json'));

/** A variable that the hooks of a session pass on. */
async function session(house: House, id: string, header: Record<string, string>, cwd = house.home): Promise<void> {
  house.hookedWith(header, id, { hook_event_name: 'SessionStart', cwd }, { hook_event_name: 'SessionEnd', cwd });
  await house.deliver();
}

/** The hooks of a session pass the variable on, and those of the next session do not. */
const ofVariable = (house: House, advice: RegExp, variable: string, value: string): Case => ({
  advice,
  provoke: () => session(house, 'm-1', { [variable]: value }),
  follow: () => session(house, 'm-2', {}),
});

/** A project with a discovery file, in which a session worked. */
async function withDiscovery(house: House, text: string): Promise<string> {
  house.configure({ openhook: { enabled: true } });
  const file = written(projectOf(house), '.openhook.json', text);
  await session(house, 'm-1', {}, projectOf(house));
  return file;
}

export const ofConfiguration: Cases = {
  'config-unreadable': house => ({
    advice: /or remove it/,
    async provoke() {
      mkdirSync(house.configFile, { recursive: true });
      await session(house, 'm-1', {});
    },
    follow: () => rmSync(house.configFile, { recursive: true }),
  }),
  'config-place': house => ({
    advice: /name a file outside of the project by its absolute path/,
    async provoke() {
      mkdirSync(join(projectOf(house), '.git'), { recursive: true });
      const file = written(projectOf(house), 'mine.json', '{}');
      await session(house, 'm-1', { OTEL_HOOKS_CONFIG: file }, projectOf(house));
    },
    async follow() {
      const file = written(join(house.home, 'elsewhere'), 'mine.json', '{}');
      await session(house, 'm-2', { OTEL_HOOKS_CONFIG: file }, projectOf(house));
    },
  }),
  'config-owner': house => ({
    needsRoot: true,
    advice: /remove it/,
    async provoke() {
      chownSync(written(projectOf(house), '.otel-hooks.json', '{}'), STRANGER, STRANGER);
      await session(house, 'm-1', {}, projectOf(house));
    },
    follow: () => rmSync(join(projectOf(house), '.otel-hooks.json')),
  }),
  'variable-unsupported': house => ofVariable(house, /unset it/, 'OTEL_BSP_SCHEDULE_DELAY', '5000'),
  'variable-unknown': house => {
    let name = 'OTEL_HOOKS_PROVIDR';
    return {
      advice: /did you mean OTEL_HOOKS_PROVIDER\?/,
      provoke: () => undefined,
      follow: () => {
        name = 'OTEL_HOOKS_PROVIDER';
      },
      shown: () => statusWith(house, { [name]: 'console' }),
    };
  },
  'provider-not-configured': house => ({
    advice: /add "console" to "provider" in the config file/,
    async provoke() {
      house.configure(otlp);
      await session(house, 'm-1', { provider: 'console' });
    },
    follow: () => house.run('config', 'set', 'provider', 'otlp,console'),
  }),
  'destinations-full': house => ({
    advice: /that no session used for a week is removed, and `otel-hooks deliver` then sends/,
    async provoke() {
      const store = openStore({ folder: house.state, access: 'own' });
      const documents = Array.from({ length: 256 }, (_, i) => {
        const id = i.toString(16).padStart(16, '0');
        const value = { v: 1, id, provider: 'otlp', endpoint: `${OWN}/${i}`, signals: {}, pinnedMs: house.nowMs };
        return { name: `destination-${id}`, value };
      });
      store.commit({ documents });
      store.close();
      const collector = await house.collector();
      house.configure({ provider: 'otlp', otlp: { endpoint: collector.url } });
      await session(house, 'm-1', {});
    },
    async follow() {
      house.nowMs += 8 * 86_400_000;
      await house.deliver();
    },
  }),
  'openhook-unanswered': house => ({
    advice: /otel-hooks openhook trust \S+project$/,
    provoke: () => withDiscovery(house, JSON.stringify({ openhook: '0.1', hooks: [{ command: 'true' }] })),
    follow: () => house.runWith({ isTerminal: true, ask: async () => 'yes' }, 'openhook', 'trust', projectOf(house)),
  }),
  'openhook-unanswered (a no)': house => ({
    advice: /see them, and agree or refuse/,
    provoke: () => withDiscovery(house, JSON.stringify({ openhook: '0.1', hooks: [{ command: 'true' }] })),
    follow: () => house.runWith({ isTerminal: true, ask: async () => 'no' }, 'openhook', 'trust', projectOf(house)),
  }),
  'openhook-failed': house => ({
    advice: /`otel-hooks prune --problems` removes this message/,
    async provoke() {
      await withDiscovery(house, JSON.stringify({ openhook: '0.1', hooks: [{ command: 'exit 3' }] }));
      await house.run('openhook', 'trust', projectOf(house), '--yes');
      await session(house, 'm-2', {}, projectOf(house));
    },
    follow: () => house.run('prune', '--problems'),
  }),
  'config-place (a file of the project)': house => {
    const file = join(projectOf(house), '.otel-hooks.json');
    return {
      advice: /or `otel-hooks config --trust` a \.otel-hooks\.json/,
      async provoke() {
        mkdirSync(join(projectOf(house), '.git'), { recursive: true });
        written(projectOf(house), '.otel-hooks.json', JSON.stringify(otlp));
        await session(house, 'm-1', { OTEL_HOOKS_CONFIG: file }, projectOf(house));
      },
      async follow() {
        expect(await house.runWith({ cwd: projectOf(house) }, 'config', '--trust', '--yes')).toMatchObject({ code: 0 });
        await session(house, 'm-2', {}, projectOf(house));
      },
    };
  },
  'config-owner (a file of your own)': house => ({
    needsRoot: true,
    advice: /or create your own file in the project/,
    async provoke() {
      chownSync(written(join(house.home, 'work'), '.otel-hooks.json', '{}'), STRANGER, STRANGER);
      mkdirSync(join(house.home, 'work', 'project'));
      await session(house, 'm-1', {}, join(house.home, 'work', 'project'));
    },
    async follow() {
      written(join(house.home, 'work', 'project'), '.otel-hooks.json', '{}');
      await session(house, 'm-2', {}, join(house.home, 'work', 'project'));
    },
  }),
  'provider-not-configured (the flag is removed)': house => ({
    advice: /or remove --provider from the hook's command/,
    async provoke() {
      house.configure(otlp);
      await session(house, 'm-1', { provider: 'console' });
    },
    follow: () => session(house, 'm-2', {}),
  }),
  'openhook-invalid': house => ({
    advice: /`otel-hooks validate --standard openhook \S+\.openhook\.json` names the place/,
    provoke: () => withDiscovery(house, '{ "openhook": "0.1", "hooks": [{}] }'),
    async follow() {
      const file = join(projectOf(house), '.openhook.json');
      const named = await house.run('validate', '--standard', 'openhook', file);
      expect([named.code, named.out]).toEqual([1, expect.stringMatching(/:1:\d+ error/)]);
      written(projectOf(house), '.openhook.json', '{ "openhook": "0.1", "hooks": [] }');
      expect(await house.run('validate', '--standard', 'openhook', file)).toMatchObject({ code: 0 });
    },
  }),
};
