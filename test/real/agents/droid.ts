import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Driver, Place } from '../contract.ts';

export const driver: Driver = {
  id: 'droid',
  dialect: 'chat',
  command: 'droid',
  transcripts: ['.factory/sessions'],
  rewrites: ['.factory/settings.json'],
  sumsOnly: 'the file beside a transcript has the tokens of the whole session',
  importDiffers: {
    '^session .*: agent_hooks.(event.id|session.end_reason|agent.mode|actor.type) ':
      'the transcript states the start and end without a reason',
    '^session .*: vcs.': 'import does not look at the repository of the past',
  },
  prepare({ home, modelPort }, { settings }) {
    mkdirSync(join(home, '.factory'), { recursive: true });
    const model = {
      model: 'mock',
      displayName: 'Mock',
      baseUrl: `http://127.0.0.1:${modelPort}/v1`,
      apiKey: 'dummy',
      provider: 'generic-chat-completion-api',
      maxOutputTokens: 4096,
    };
    writeFileSync(
      join(home, '.factory', 'settings.json'),
      JSON.stringify(
        { customModels: [model], enableDroidShield: false, cloudSessionSync: false, ...settings },
        null,
        2,
      ),
    );
  },
  environment: () => ({
    FACTORY_DROID_AUTO_UPDATE_ENABLED: 'false',
    FACTORY_DISABLE_KEYRING: '1',
    FACTORY_AIRGAP_ENABLED: 'true',
  }),
  headless: step => [
    'exec',
    '-m',
    'custom:Mock-0',
    ...(step.args ?? ['--auto', 'high']),
    ...(step.prompt === undefined ? [] : [step.prompt]),
  ],
  terminal: step => step.args ?? [],
  newestSession({ home }: Place) {
    const folder = join(home, '.factory', 'sessions');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.jsonl'));
    const found = files.flatMap(name => {
      const path = join(folder, name);
      const isChild = readFileSync(path, 'utf8').split('\n')[0]?.includes('callingSessionId') === true;
      const id = /([^/]+)\.jsonl$/.exec(name)?.[1];
      return isChild || id === undefined ? [] : [{ id, atMs: statSync(path).mtimeMs }];
    });
    return found.sort((a, b) => b.atMs - a.atMs)[0]?.id;
  },
};
