/**
 * Claude Code's hooks in terms of the Hook Interchange Format: its registries of 2026.03 and 2026.04, the vendor's
 * hook reference of autumn 2026.
 */
import { grouped } from '../../interchange/layouts.ts';
import { type Facts, nothing, type Provider } from '../../interchange/provider.ts';

const events: Facts['events'] = {
  before_tool_execute: ['PreToolUse'],
  after_tool_execute: ['PostToolUse'],
  session_start: ['SessionStart'],
  session_end: ['SessionEnd'],
  before_prompt: ['UserPromptSubmit'],
  agent_stop: ['Stop'],
  before_compact: ['PreCompact'],
  notification: ['Notification'],
  error_occurred: ['StopFailure'],
  subagent_start: ['SubagentStart'],
  subagent_stop: ['SubagentStop'],
  permission_request: ['PermissionRequest'],
  config_change: ['ConfigChange'],
};

const draft: Facts = {
  events,
  tools: {
    shell: 'Bash',
    file_read: 'Read',
    file_write: 'Write',
    file_edit: 'Edit',
    search: 'Grep',
    find: 'Glob',
    web_search: 'WebSearch',
    web_fetch: 'WebFetch',
    agent: 'Agent',
  },
  mcp: { before: 'mcp__', between: '__' },
  supports: {
    ...nothing,
    structured_output: 'yes',
    input_rewrite: 'yes',
    llm_evaluated: 'yes',
    http_handler: 'yes',
    async_execution: 'yes',
  },
  blocks: { before_tool_execute: 'prevent', before_prompt: 'prevent', agent_stop: 'retry' },
};

export const interchange: Provider = {
  slug: 'claude-code',
  title: 'Claude Code',
  checked: '2026-11-18',
  registry: {
    '2026.03': draft,
    '2026.04': {
      ...draft,
      events: {
        ...events,
        after_compact: ['PostCompact'],
        tool_use_failure: ['PostToolUseFailure'],
        file_changed: ['FileChanged'],
        permission_denied: ['PermissionDenied'],
        instructions_loaded: ['InstructionsLoaded'],
        cwd_changed: ['CwdChanged'],
        task_created: ['TaskCreated'],
        task_completed: ['TaskCompleted'],
        teammate_idle: ['TeammateIdle'],
        elicitation: ['Elicitation'],
        elicitation_result: ['ElicitationResult'],
      },
      // A hook can select its interpreter, but cannot have a different command for each operating system.
      supports: { ...draft.supports, platform_commands: 'partly' },
      blocks: { ...draft.blocks, permission_request: 'prevent' },
    },
  },
  // The matrix of the format has no row for these events.
  product: { blocks: { subagent_stop: 'retry', before_compact: 'prevent' } },
  answers: 'hookSpecificOutput with permissionDecision, updatedInput and additionalContext',
  also: { tools: { Task: 'agent' } },
  data: { shell: 'string', if: 'string', once: 'boolean', asyncRewake: 'boolean' },
  projectVariables: ['CLAUDE_PROJECT_DIR'],
  plainContext: ['session_start', 'before_prompt'],
  layouts: {
    native: {
      title: 'settings file',
      file: '.claude/settings.json',
      isFile: /(^|[\\/])\.claude[\\/]settings(\.local)?\.json$/,
      ...grouped('.claude/settings.json'),
      fileKeys: ['disableAllHooks'],
      matching: { how: 'expression', listsNames: true, anyMcp: 'mcp__.*' },
      fields: {
        type: true,
        command: 'command',
        timeout: { name: 'timeout', unit: 's' },
        async: 'async',
        status_message: 'statusMessage',
        types: {
          http: { url: 'url', headers: 'headers', allowed_env_vars: 'allowedEnvVars' },
          prompt: { prompt: 'prompt', model: 'model' },
          agent: { prompt: 'prompt', model: 'model', agent: 'agent' },
        },
      },
    },
  },
};
