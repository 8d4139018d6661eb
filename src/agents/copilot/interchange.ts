/**
 * Copilot's hooks in terms of the Hook Interchange Format, which has two providers for Copilot: the command line and VS
 * Code. Sources: its registries of 2026.03 and 2026.04, the vendors' hook references of autumn 2026.
 */

import { flat } from '../../interchange/layouts.ts';
import { type Facts, nothing, type Provider } from '../../interchange/provider.ts';
import { quoted } from '../../interchange/replacement-commands.ts';

const cliDraft: Facts = {
  events: {
    before_tool_execute: ['preToolUse'],
    after_tool_execute: ['postToolUse'],
    session_start: ['sessionStart'],
    session_end: ['sessionEnd'],
    before_prompt: ['userPromptSubmitted'],
    error_occurred: ['errorOccurred'],
  },
  tools: {
    shell: 'bash',
    file_read: 'view',
    file_write: 'create',
    file_edit: 'edit',
    search: 'grep',
    find: 'glob',
    web_fetch: 'web_fetch',
    agent: 'task',
  },
  mcp: { before: '', between: '/' },
  supports: { ...nothing, structured_output: 'partly', platform_commands: 'partly', configurable_cwd: 'yes' },
  blocks: { before_tool_execute: 'prevent' },
};

const cliEvents: Facts['events'] = { ...cliDraft.events, tool_use_failure: ['errorOccurred'] };

export const copilotCli: Provider = {
  slug: 'copilot-cli',
  title: 'GitHub Copilot CLI',
  checked: '2026-11-18',
  registry: { '2026.03': cliDraft, '2026.04': { ...cliDraft, events: cliEvents } },
  product: {
    mcp: { before: '', between: '-' },
    events: {
      agent_stop: ['agentStop'],
      subagent_start: ['subagentStart'],
      subagent_stop: ['subagentStop'],
      before_compact: ['preCompact'],
      tool_use_failure: ['postToolUseFailure'],
      permission_request: ['permissionRequest'],
      notification: ['notification'],
    },
    blocks: { agent_stop: 'retry', subagent_stop: 'retry', permission_request: 'prevent' },
    supports: { ...cliDraft.supports, custom_env: 'yes' },
    // The pattern has to match the whole name.
    matching: { how: 'expression', anyMcp: '.+-.+' },
  },
  also: {
    events: {
      agentStop: 'agent_stop',
      subagentStart: 'subagent_start',
      subagentStop: 'subagent_stop',
      preCompact: 'before_compact',
      postToolUseFailure: 'tool_use_failure',
      permissionRequest: 'permission_request',
      notification: 'notification',
    },
  },
  answers: 'permissionDecision and permissionDecisionReason',
  data: { comment: 'string' },
  remarks: {
    before_tool_execute: {
      kind: 'blocking_may_not_work',
      message:
        'releases of Copilot CLI differ in whether a hook that exits with 2 stops a tool: one that prints permissionDecision does in all of them',
    },
  },
  // A failing hook is ignored for every exit code, so a hook must deny explicitly.
  stub(reason) {
    const answer = JSON.stringify({ permissionDecision: 'deny', permissionDecisionReason: reason });
    return {
      command: `printf '%s\\n' ${quoted(answer)}`,
      windows: `Write-Output '${answer.replaceAll("'", "''")}'`,
    };
  },
  alsoReads: ['claude-code'],
  layouts: {
    native: {
      title: 'hooks file',
      file: '.github/hooks/hooks.json',
      isFile: /(^|[\\/])\.(github|copilot)[\\/]hooks[\\/][^\\/]+\.json$/,
      ...flat('.github/hooks/hooks.json', 1),
      fileKeys: ['disableAllHooks'],
      matching: { how: 'none' },
      fields: {
        type: true,
        command: 'bash',
        otherCommands: ['command', 'powershell'],
        timeout: { name: 'timeoutSec', unit: 's' },
        cwd: 'cwd',
        env: 'env',
        platform: { windows: 'powershell' },
      },
    },
  },
};

const codeDraft: Facts = {
  events: {
    before_tool_execute: ['PreToolUse'],
    after_tool_execute: ['PostToolUse'],
    session_start: ['SessionStart'],
    before_prompt: ['UserPromptSubmit'],
    agent_stop: ['Stop'],
    before_compact: ['PreCompact'],
    subagent_start: ['SubagentStart'],
    subagent_stop: ['SubagentStop'],
  },
  tools: {},
  mcp: undefined,
  supports: {
    ...nothing,
    structured_output: 'yes',
    input_rewrite: 'yes',
    platform_commands: 'yes',
    custom_env: 'yes',
    configurable_cwd: 'yes',
  },
  blocks: { before_tool_execute: 'prevent', before_prompt: 'prevent', agent_stop: 'retry' },
};

export const vsCodeCopilot: Provider = {
  slug: 'vs-code-copilot',
  title: 'Copilot in VS Code',
  checked: '2026-11-18',
  registry: { '2026.03': codeDraft, '2026.04': codeDraft },
  product: { blocks: { before_prompt: 'observe', subagent_stop: 'retry' } },
  answers: 'hookSpecificOutput with permissionDecision, updatedInput and additionalContext',
  remarks: {
    before_prompt: {
      kind: 'blocking_may_not_work',
      message: 'Copilot in VS Code may send prompts that a hook refused',
    },
  },
  alsoReads: ['claude-code', 'copilot-cli'],
  layouts: {
    native: {
      title: 'hooks file',
      file: '.github/hooks/hooks.json',
      // Never recognized by its path: the provider of the command line has the same folder and takes precedence.
      isFile: /(?!)/,
      ...flat('.github/hooks/hooks.json'),
      matching: { how: 'none' },
      fields: {
        type: true,
        command: 'command',
        timeout: { name: 'timeout', unit: 's' },
        cwd: 'cwd',
        env: 'env',
        platform: { windows: 'windows', linux: 'linux', darwin: 'osx' },
      },
    },
  },
};
