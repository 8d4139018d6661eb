import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Driver, Place } from '../contract.ts';

const tools = 'Bash,Read,Write,Edit,Grep,Glob,Agent';

export const driver: Driver = {
  id: 'claude-code',
  dialect: 'anthropic',
  command: 'claude',
  transcripts: ['.claude/projects'],
  vendor: ['PostToolBatch', 'PostCompact'],
  importDiffers: {
    '^action .*: agent_hooks.agent.mode is undefined': 'the rows of a subagent state no mode',
    '^chat compaction .*: agent_hooks.event.id ':
      'the end of the session closes it: a hook, or a row of the transcript',
  },
  prepare({ home, project }, { settings }) {
    mkdirSync(join(home, '.claude'), { recursive: true });
    const dialogs = {
      hasCompletedOnboarding: true,
      theme: 'dark',
      customApiKeyResponses: { approved: ['dummy'], rejected: [] },
      projects: { [project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    };
    writeFileSync(join(home, '.claude.json'), JSON.stringify(dialogs));
    writeFileSync(
      join(home, '.claude', 'settings.json'),
      `${JSON.stringify({ skipDangerousModePermissionPrompt: true, ...settings }, null, 2)}\n`,
    );
  },
  environment: ({ modelPort }) => ({
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${modelPort}`,
    ANTHROPIC_API_KEY: 'dummy',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_BUG_COMMAND: '1',
    CLAUDE_CODE_MAX_RETRIES: '4',
    IS_SANDBOX: '1',
  }),
  // Ids of subagents and background tasks, their durations, and the names of the hooks that ran beside a compaction.
  plain: line =>
    line
      .replaceAll(/\ba[0-9a-f]{16}\b/g, '<agent>')
      .replaceAll(/(?<=agentId: |\/tasks\/)[0-9a-z]+/g, '<agent>')
      .replaceAll(/(\\n)?(Pre|Post)Compact \[trap .*?\] completed successfully/g, '')
      .replaceAll(/(?<=duration_ms>|duration_ms: )\d+/g, '<duration>'),
  headless(step) {
    const args = step.args ?? [];
    const all = args.includes('--allowedTools') || args.includes('--permission-mode') ? [] : ['--allowedTools', tools];
    return ['-p', ...(step.prompt === undefined ? [] : [step.prompt]), ...args, ...all];
  },
  terminal: step => step.args ?? [],
  newestSession({ home }: Place) {
    const projects = join(home, '.claude', 'projects');
    const files = readdirSync(projects).flatMap(folder =>
      readdirSync(join(projects, folder))
        .filter(name => name.endsWith('.jsonl'))
        .map(name => ({ id: name.replace(/\.jsonl$/, ''), atMs: statSync(join(projects, folder, name)).mtimeMs })),
    );
    return files.sort((a, b) => b.atMs - a.atMs)[0]?.id;
  },
};
