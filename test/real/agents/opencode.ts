import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Driver } from '../contract.ts';

export const driver: Driver = {
  id: 'opencode',
  dialect: 'chat',
  command: 'opencode',
  transcripts: ['.local/share/opencode'],
  importDiffers: {
    '^session .*: vcs.': 'import does not look at the repository of the past',
  },
  prepare({ home, agent, modelPort }, { settings }) {
    const folder = join(home, '.config', 'opencode');
    mkdirSync(folder, { recursive: true });
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'Mock',
      options: { baseURL: `http://127.0.0.1:${modelPort}/v1`, apiKey: 'dummy' },
      models: {
        mock: {
          name: 'Mock',
          reasoning: true,
          tool_call: true,
          limit: { context: 200_000, output: 8_000 },
          cost: { input: 1, output: 2, cache_read: 0.5 },
        },
      },
    };
    const config = { autoupdate: false, share: 'disabled', model: 'mock/mock', provider: { mock: provider } };
    writeFileSync(join(folder, 'opencode.json'), JSON.stringify({ ...config, ...settings }, null, 2));
    // The package that OpenCode fetches at its first start with a plugin.
    for (const name of ['package.json', 'package-lock.json']) cpSync(join(agent, name), join(folder, name));
    symlinkSync(join(agent, 'node_modules'), join(folder, 'node_modules'));
  },
  environment: () => ({
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }),
  headless: step => [
    'run',
    '--format',
    'json',
    ...(step.args ?? []),
    ...(step.prompt === undefined ? [] : [step.prompt]),
  ],
  terminal: step => step.args ?? [],
  plain: line =>
    line.replaceAll(/"date":"[^"]*"/g, '"date":"<time>"').replaceAll(/\b(ses|msg|prt)_[0-9A-Za-z]+/g, '$1_<id>'),
};
