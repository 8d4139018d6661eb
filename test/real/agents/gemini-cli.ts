import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Driver } from '../contract.ts';

/** `policy`: rules in the form of Gemini CLI, in TOML. */
interface Settings {
  policy?: string;
}

export const driver: Driver = {
  id: 'gemini-cli',
  dialect: 'gemini',
  command: 'gemini',
  transcripts: ['.gemini/tmp'],
  rewrites: ['.gemini/settings.json'],
  notices: [
    { line: /^\[STARTUP\] /, reason: 'Gemini CLI measures its own start, and prints it in some runs' },
    { line: /^ {4}at /, reason: 'an error has a stack with the numbers of its lines' },
  ],
  importDiffers: {
    '^turn .* is (missing|new)$': 'hooks and chat share no id of a prompt',
    ' has another parent$': 'hooks and chat share no id of a prompt',
    '^session .*: agent_hooks.(event.id|session.end_reason) ': 'no row states how a run ended',
    '^session .*: vcs.': 'import does not look at the repository of the past',
  },
  prepare({ home }, { settings }) {
    const { policy }: Settings = settings ?? {};
    const own = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      tools: { shell: { enableInteractiveShell: false } },
    };
    write(join(home, '.gemini', 'settings.json'), JSON.stringify(own, null, 2));
    if (policy !== undefined) write(join(home, '.gemini', 'policies', 'own.toml'), policy);
  },
  environment: ({ modelPort }) => ({
    GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${modelPort}`,
    GEMINI_API_KEY: 'dummy',
    GEMINI_SANDBOX: 'false',
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
  }),
  headless: step => [
    '-m',
    'gemini-2.5-pro',
    ...(step.args ?? ['--yolo']),
    ...(step.prompt === undefined ? [] : ['-p', step.prompt]),
  ],
  plain: line =>
    line
      // Gemini CLI lists its built-in skills in the order in which their files were read.
      .replaceAll(/<available_skills>.*?<\/available_skills>/g, list =>
        [...list.matchAll(/<skill>.*?<\/skill>/g)]
          .map(([skill]) => skill)
          .toSorted()
          .join(''),
      )
      .replaceAll(/Process Group PGID: \d+/g, 'Process Group PGID: <id>')
      .replaceAll(/-\d{4}-\d\d-\d\dT[\d-]+Z/g, '<time>'),
  terminal: step => ['-m', 'gemini-2.5-pro', ...(step.args ?? [])],
};

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
