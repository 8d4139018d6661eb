/**
 * Gemini CLI's hooks in terms of the Hook Interchange Format: its registries of 2026.03 and 2026.04, the product's
 * documents of autumn 2026.
 */
import { grouped, listed } from '../../interchange/layouts.ts';
import { escaped } from '../../interchange/matchers.ts';
import { type Facts, nothing, type Provider } from '../../interchange/provider.ts';

const draft: Facts = {
  events: {
    before_tool_execute: ['BeforeTool'],
    after_tool_execute: ['AfterTool'],
    session_start: ['SessionStart'],
    session_end: ['SessionEnd'],
    before_prompt: ['BeforeAgent'],
    agent_stop: ['AfterAgent'],
    before_compact: ['PreCompress'],
    notification: ['Notification'],
    before_model: ['BeforeModel'],
    after_model: ['AfterModel'],
    before_tool_selection: ['BeforeToolSelection'],
  },
  tools: {
    shell: 'run_shell_command',
    file_read: 'read_file',
    file_write: 'write_file',
    file_edit: 'replace',
    search: 'grep_search',
    find: 'glob',
    web_search: 'google_web_search',
    web_fetch: 'web_fetch',
  },
  // Older documents have two underscores. If a server's name contains an underscore, its end is ambiguous.
  mcp: { before: 'mcp_', between: '_', also: [{ before: 'mcp__', between: '__' }] },
  supports: { ...nothing, structured_output: 'partly' },
  blocks: {
    before_tool_execute: 'prevent',
    before_prompt: 'prevent',
    agent_stop: 'retry',
    // No matrix of the format has these events, but Gemini CLI asks these hooks for a decision.
    before_model: 'prevent',
    before_tool_selection: 'prevent',
  },
};

export const interchange: Provider = {
  slug: 'gemini-cli',
  title: 'Gemini CLI',
  checked: '2026-11-18',
  registry: {
    '2026.03': draft,
    '2026.04': {
      ...draft,
      supports: { ...draft.supports, input_rewrite: 'yes', custom_env: 'yes' },
      blocks: { ...draft.blocks, after_tool_execute: 'prevent' },
    },
  },
  answers: 'decision, reason and hookSpecificOutput with tool_input and additionalContext',
  also: { tools: { google_search: 'web_search' } },
  data: { name: 'string', description: 'string', sequential: 'boolean' },
  projectVariables: ['GEMINI_PROJECT_DIR', 'CLAUDE_PROJECT_DIR'],
  layouts: {
    native: {
      title: 'settings file',
      file: '.gemini/settings.json',
      isFile: /(^|[\\/])\.gemini[\\/]settings\.json$/,
      ...grouped('.gemini/settings.json', group => group.sequential === true),
      groupKeys: ['sequential'],
      fileKeys: ['hooksConfig'],
      matching: { how: 'expression', anyMcp: 'mcp_.*' },
      fields: { type: true, command: 'command', timeout: { name: 'timeout', unit: 'ms' }, env: 'env' },
    },
    // As in the published examples of the format. Gemini CLI does not read this form.
    published: {
      title: 'list of the published examples',
      file: '.gemini/hooks.json',
      isFile: /(^|[\\/])\.gemini[\\/]hooks\.json$/,
      ...listed('.gemini/hooks.json', { event: 'trigger', matcher: 'toolMatcher' }),
      matching: { how: 'each', server: server => `mcp_${escaped(server)}_.*` },
      fields: { command: 'command', timeout: { name: 'timeoutMs', unit: 'ms' } },
    },
  },
};
