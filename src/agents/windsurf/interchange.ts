/**
 * Windsurf's hooks in terms of the Hook Interchange Format: its registries of 2026.03 and 2026.04, the vendor's
 * documents of autumn 2026.
 */
import { flat } from '../../interchange/layouts.ts';
import { type Facts, nothing, type Provider } from '../../interchange/provider.ts';

const draft: Facts = {
  events: {
    before_tool_execute: ['pre_read_code', 'pre_write_code', 'pre_run_command', 'pre_mcp_tool_use'],
    after_tool_execute: ['post_read_code', 'post_write_code', 'post_run_command', 'post_mcp_tool_use'],
    before_prompt: ['pre_user_prompt'],
    agent_stop: ['post_cascade_response'],
  },
  // Its events name the tools.
  tools: {},
  mcp: { before: '', between: '__' },
  supports: { ...nothing, configurable_cwd: 'yes' },
  blocks: { before_tool_execute: 'prevent' },
};

export const interchange: Provider = {
  slug: 'windsurf',
  title: 'Windsurf',
  checked: '2026-11-18',
  registry: {
    '2026.03': draft,
    '2026.04': {
      ...draft,
      events: {
        ...draft.events,
        windsurf_transcript_response: ['post_cascade_response_with_transcript'],
        windsurf_worktree_setup: ['post_setup_worktree'],
      },
      blocks: { ...draft.blocks, before_prompt: 'prevent' },
    },
  },
  split: {
    before_tool_execute: {
      tools: {
        shell: 'pre_run_command',
        file_read: 'pre_read_code',
        file_write: 'pre_write_code',
        file_edit: 'pre_write_code',
      },
      mcp: 'pre_mcp_tool_use',
      uncovered: 'asks before commands, reads, writes and MCP tools: searches and the web are not covered',
    },
    after_tool_execute: {
      tools: {
        shell: 'post_run_command',
        file_read: 'post_read_code',
        file_write: 'post_write_code',
        file_edit: 'post_write_code',
      },
      mcp: 'post_mcp_tool_use',
      uncovered: 'tells after commands, reads, writes and MCP tools: searches and the web are not covered',
    },
  },
  data: { show_output: 'boolean', working_directory: 'path', powershell: 'command' },
  remarks: {
    agent_stop: {
      kind: 'semantic_approximation',
      message: 'post_cascade_response comes after every answer of Windsurf, not only at the end',
    },
  },
  layouts: {
    native: {
      title: 'hooks file',
      file: '.windsurf/hooks.json',
      isFile: /(^|[\\/])\.?(windsurf|Windsurf)[\\/]hooks\.json$/,
      ...flat('.windsurf/hooks.json'),
      matching: { how: 'none' },
      fields: { command: 'command', otherCommands: ['powershell'], cwd: 'working_directory' },
    },
  },
};
