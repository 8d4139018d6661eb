import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Driver, Place } from '../contract.ts';

export const driver: Driver = {
  id: 'copilot',
  dialect: 'chat',
  command: 'copilot',
  transcripts: ['.copilot/session-state'],
  notices: [
    { line: /^Package extraction took /, reason: 'the first start in a home unpacks the program' },
    { line: /Cannot invoke native session after disposal/, reason: 'Copilot prints it in some runs as it ends' },
  ],
  // Parallel commands get their numbers in any order.
  plain: line => line.replaceAll(/(?<=shellId: )\d+/g, '<n>'),
  importDiffers: {
    '^session .*: agent_hooks.(event.id|session.end_reason) ': 'the log states the start under an id of its own',
    '^session .*: vcs.': 'import does not look at the repository of the past',
  },
  prepare({ home }, { settings }) {
    mkdirSync(join(home, '.copilot'), { recursive: true });
    if (settings !== undefined) writeFileSync(join(home, '.copilot', 'settings.json'), JSON.stringify(settings));
  },
  environment: ({ modelPort }) => ({
    COPILOT_OFFLINE: 'true',
    COPILOT_AUTO_UPDATE: 'false',
    COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${modelPort}/v1`,
    COPILOT_PROVIDER_API_KEY: 'dummy',
    COPILOT_MODEL: 'gpt-4.1',
  }),
  headless: step => [
    '--disable-client-telemetry',
    '--no-auto-update',
    ...(step.args ?? ['--allow-all-tools']),
    ...(step.prompt === undefined ? [] : ['-p', step.prompt]),
  ],
  terminal: step => ['--disable-client-telemetry', '--no-auto-update', ...(step.args ?? [])],
  newestSession({ home }: Place) {
    const folder = join(home, '.copilot', 'session-state');
    const found = readdirSync(folder).map(id => ({ id, atMs: statSync(join(folder, id, 'events.jsonl')).mtimeMs }));
    return found.sort((a, b) => b.atMs - a.atMs)[0]?.id;
  },
};
