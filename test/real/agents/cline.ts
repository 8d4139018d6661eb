import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Driver, Place } from '../contract.ts';

export const driver: Driver = {
  id: 'cline',
  dialect: 'chat',
  command: 'cline',
  transcripts: ['.cline/data/sessions'],
  importDiffers: {
    '^turn .* is (missing|new)$': 'no hook of the CLI names a prompt',
    ' has another parent$': 'no hook of the CLI names a prompt',
    '^session .*: vcs.': 'import does not look at the repository of the past',
  },
  prepare({ home, modelPort }) {
    const folder = join(home, '.cline', 'data', 'settings');
    mkdirSync(folder, { recursive: true });
    const settings = {
      provider: 'openai-compatible',
      apiKey: 'dummy',
      model: 'mock-model',
      baseUrl: `http://127.0.0.1:${modelPort}/v1`,
    };
    const providers = {
      version: 1,
      modes: {},
      lastUsedProvider: 'openai-compatible',
      providers: {
        'openai-compatible': { settings, updatedAt: '2026-01-02T03:04:05.000Z', tokenSource: 'manual' },
      },
    };
    writeFileSync(join(folder, 'providers.json'), JSON.stringify(providers, null, 2));
  },
  environment: () => ({ CLINE_TELEMETRY_DISABLED: '1' }),
  headless: step => [
    '--json',
    '-P',
    'openai',
    '-m',
    'mock-model',
    ...(step.args ?? []),
    ...(step.prompt === undefined ? [] : [step.prompt]),
  ],
  notices: [
    {
      line: /"type":"content_update".*"stream":"(?:stdout|stderr)"/,
      reason: 'Cline reports the output of a command in pieces; their number depends on the time of each write.',
    },
  ],
  plain: line =>
    line
      .replaceAll(/\b(agent|conv)_\d{13}_\w+/g, '$1_<id>')
      .replaceAll(/\b\d{13}_[0-9a-z]{4,8}\b/g, '<id>')
      .replaceAll(/"(?:pid|durationMs)":\d+/g, '"<number>"'),
  terminal: step => ['-i', '-P', 'openai', '-m', 'mock-model', ...(step.args ?? [])],
  newestSession({ home }: Place) {
    const folder = join(home, '.cline', 'data', 'sessions');
    const found = readdirSync(folder, { withFileTypes: true })
      .filter(each => each.isDirectory() && !each.name.includes('__'))
      .map(({ name }) => ({ id: name, atMs: statSync(join(folder, name)).mtimeMs }));
    return found.sort((a, b) => b.atMs - a.atMs)[0]?.id;
  },
};
