/**
 * Kiro's hooks (CLI 2.19 and 3.0, IDE 1.0; checked 2026-11-18). CLI 3 and the IDE read every file in `hooks`. CLI 2
 * reads only the hooks of the active agent, each in its own file. Our hooks are therefore written into a separate file
 * and into the file of every existing agent. No agent is created, because the user would have to select it. Timeouts
 * are in milliseconds in CLI 2, and in seconds elsewhere. A cache time is never set, because a cached hook does not
 * run.
 */
import { join } from 'node:path';
import type { Settings } from '../contract/contract.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';

const ofAgent: Shape = {
  root: 'hooks',
  events: ['agentSpawn', 'userPromptSubmit', 'preToolUse', 'postToolUse', 'stop'],
  entry: ({ posix, windows }, event) => ({
    ...(/ToolUse$/.test(event) ? { matcher: '*' } : {}),
    command: posix ?? windows,
    timeout_ms: 5000,
  }),
};

const ofAll: Shape = {
  root: 'hooks',
  version: 'v1',
  eventField: 'trigger',
  events: [
    'SessionStart',
    'UserPromptSubmit',
    'PreToolUse',
    'PostToolUse',
    'Stop',
    'PreTaskExec',
    'PostTaskExec',
    'PostFileCreate',
    'PostFileSave',
    'PostFileDelete',
  ],
  entry: ({ posix, windows }, trigger) => ({
    name: `otel-hooks-${trigger}`,
    trigger,
    action: { type: 'command', command: posix ?? windows },
    timeout: 10,
  }),
};

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['kiro', 'kiro-cli'], folders: ({ home }) => [join(home, '.kiro')] },
  runs: { posix: 'sh', windows: 'either' },
  files(scope, { home, project }, _read, names) {
    const folder = join(scope === 'global' ? home : project, '.kiro');
    const agents = names(join(folder, 'agents')).filter(name => name.endsWith('.json'));
    return [
      jsonHooks(join(folder, 'hooks', 'otel-hooks.json'), ofAll),
      ...agents.map(name => jsonHooks(join(folder, 'agents', name), ofAgent)),
    ];
  },
  afterwards:
    'Start a new session. Kiro CLI 2 runs only the hooks of the active agent: run enable again after you create an agent.',
  proof: (session, cwd) => ({
    event: 'SessionStart',
    payload: { hook_event_name: 'SessionStart', session_id: `sess_${session}`, cwd },
  }),
};
