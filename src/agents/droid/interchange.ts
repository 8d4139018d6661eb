/**
 * Factory Droid's hooks in terms of the Hook Interchange Format: its registry of 2026.04, the vendor's documents of
 * autumn 2026.
 */
import { grouped, groupedAtTop } from '../../interchange/layouts.ts';
import { type Layout, nothing, type Provider } from '../../interchange/provider.ts';

const shape: Pick<Layout, 'matching' | 'fields'> = {
  matching: { how: 'expression', listsNames: true, anyMcp: 'mcp__.*' },
  fields: { type: true, command: 'command', timeout: { name: 'timeout', unit: 's' } },
};

export const interchange: Provider = {
  slug: 'factory-droid',
  title: 'Factory Droid',
  checked: '2026-11-18',
  registry: {
    '2026.04': {
      events: {
        before_tool_execute: ['PreToolUse'],
        after_tool_execute: ['PostToolUse'],
        session_start: ['SessionStart'],
        session_end: ['SessionEnd'],
        before_prompt: ['UserPromptSubmit'],
        agent_stop: ['Stop'],
        before_compact: ['PreCompact'],
        subagent_start: ['SubagentStart'],
        subagent_stop: ['SubagentStop'],
      },
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
      supports: { ...nothing, structured_output: 'yes' },
      blocks: { before_tool_execute: 'prevent', before_prompt: 'prevent', agent_stop: 'retry' },
    },
  },
  product: {
    mcp: { before: '', between: '___' },
    matching: { how: 'expression', listsNames: true, anyMcp: '.+___.+' },
    events: { subagent_start: [], notification: ['Notification'] },
    blocks: { subagent_stop: 'retry' },
    tools: { shell: 'Execute', file_write: 'Create', web_fetch: 'FetchUrl', agent: 'Task' },
    supports: { ...nothing, structured_output: 'yes', input_rewrite: 'yes' },
  },
  answers: 'hookSpecificOutput with permissionDecision and additionalContext',
  also: {
    events: { Notification: 'notification' },
    tools: { Execute: 'shell', Create: 'file_write', FetchUrl: 'web_fetch', Task: 'agent' },
  },
  projectVariables: ['FACTORY_PROJECT_DIR'],
  plainContext: ['session_start', 'before_prompt'],
  layouts: {
    native: {
      ...shape,
      title: 'settings file',
      file: '.factory/settings.json',
      isFile: /(^|[\\/])\.factory[\\/]settings(\.local)?\.json$/,
      ...grouped('.factory/settings.json'),
    },
    hooks: {
      ...shape,
      title: 'hooks file, whose members are the events',
      file: '.factory/hooks.json',
      isFile: /(^|[\\/])\.factory[\\/]hooks\.json$/,
      ...groupedAtTop('.factory/hooks.json'),
    },
  },
};
