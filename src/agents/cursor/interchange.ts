/**
 * Cursor's hooks in terms of the Hook Interchange Format: its registries of 2026.03 and 2026.04, the vendor's hook
 * reference of autumn 2026.
 */
import { flat, loose } from '../../interchange/layouts.ts';
import { type Facts, type Layout, nothing, type Provider } from '../../interchange/provider.ts';

const draft: Facts = {
  events: {
    before_tool_execute: ['beforeShellExecution', 'beforeMCPExecution', 'beforeReadFile'],
    after_tool_execute: ['afterFileEdit'],
    before_prompt: ['beforeSubmitPrompt'],
    agent_stop: ['stop'],
  },
  tools: {
    shell: 'run_terminal_cmd',
    file_read: 'read_file',
    file_write: 'edit_file',
    file_edit: 'edit_file',
    search: 'grep_search',
    find: 'file_search',
    web_search: 'web_search',
  },
  mcp: { before: '', between: '__' },
  supports: { ...nothing, structured_output: 'partly' },
  blocks: { before_tool_execute: 'prevent' },
};

const shape: Pick<Layout, 'title' | 'fields' | 'matching'> = {
  title: 'hooks file',
  // A matcher is compared with the text of the command at shell events, and with the tool at MCP events.
  matching: { how: 'expression' },
  fields: {
    command: 'command',
    timeout: { name: 'timeout', unit: 's' },
    types: { prompt: { prompt: 'prompt', model: 'model' } },
  },
};

export const interchange: Provider = {
  slug: 'cursor',
  title: 'Cursor',
  checked: '2026-11-18',
  registry: {
    '2026.03': draft,
    '2026.04': {
      ...draft,
      events: {
        ...draft.events,
        after_tool_execute: ['afterShellExecution', 'afterMCPExecution', 'afterFileEdit'],
        session_start: ['sessionStart'],
        session_end: ['sessionEnd'],
        tool_use_failure: ['postToolUseFailure'],
        file_changed: ['afterFileEdit'],
        subagent_start: ['subagentStart'],
        subagent_stop: ['subagentStop'],
        before_model: ['beforeAgentResponse'],
        after_model: ['afterAgentResponse'],
        before_tool_selection: ['beforeToolSelection'],
        cursor_agent_thought: ['afterAgentThought'],
        cursor_tab_file_read: ['beforeTabFileRead'],
        cursor_tab_file_edit: ['afterTabFileEdit'],
      },
      blocks: { ...draft.blocks, before_prompt: 'prevent', session_start: 'prevent' },
    },
  },
  // Its general events of tools came after the registry; their matchers name the kind of the tool.
  product: {
    events: {
      before_tool_execute: ['preToolUse', 'beforeShellExecution', 'beforeMCPExecution', 'beforeReadFile'],
      after_tool_execute: ['postToolUse', 'afterShellExecution', 'afterMCPExecution', 'afterFileEdit'],
      before_compact: ['preCompact'],
      before_model: [],
      before_tool_selection: [],
    },
    tools: {
      shell: 'Shell',
      file_read: 'Read',
      file_write: 'Write',
      file_edit: 'Write',
      search: 'Grep',
      find: undefined,
      web_search: 'WebSearch',
      web_fetch: 'WebFetch',
      agent: 'Task',
    },
    split: {
      before_tool_execute: {
        every: 'preToolUse',
        tools: { shell: 'beforeShellExecution', file_read: 'beforeReadFile' },
        mcp: 'beforeMCPExecution',
        namesMcp: true,
      },
      after_tool_execute: {
        every: 'postToolUse',
        tools: { shell: 'afterShellExecution', file_write: 'afterFileEdit', file_edit: 'afterFileEdit' },
        mcp: 'afterMCPExecution',
        namesMcp: true,
      },
    },
    supports: { ...nothing, structured_output: 'partly', input_rewrite: 'partly', llm_evaluated: 'partly' },
    // Cursor waits for no hook of sessionStart.
    blocks: { session_start: 'observe', subagent_start: 'prevent', subagent_stop: 'retry' },
  },
  answers: 'permission, user_message and agent_message',
  also: {
    events: { preToolUse: 'before_tool_execute', postToolUse: 'after_tool_execute', preCompact: 'before_compact' },
    tools: { Shell: 'shell', Read: 'file_read', Write: ['file_write', 'file_edit'] },
  },
  split: {
    before_tool_execute: {
      tools: {
        shell: 'beforeShellExecution',
        file_read: 'beforeReadFile',
        file_write: 'afterFileEdit',
        file_edit: 'afterFileEdit',
      },
      mcp: 'beforeMCPExecution',
      namesMcp: true,
      late: ['afterFileEdit'],
      gap: 'asks before commands, reads and MCP tools: edits, searches and the web are not covered',
    },
    after_tool_execute: {
      tools: { shell: 'afterShellExecution', file_write: 'afterFileEdit', file_edit: 'afterFileEdit' },
      mcp: 'afterMCPExecution',
      namesMcp: true,
      gap: 'tells after commands, edits and MCP tools: reads, searches and the web are not covered',
    },
  },
  otherMatchers: ['beforeShellExecution', 'afterShellExecution', 'beforeReadFile', 'afterFileEdit'],
  data: { failClosed: 'boolean', loop_limit: 'number' },
  remarks: {
    session_start: {
      kind: 'blocking_may_not_work',
      message: 'Cursor ignores the veto of a sessionStart hook (at least up to 2.4.21)',
    },
    before_prompt: {
      kind: 'blocking_may_not_work',
      message: 'a prompt that a hook refuses may stay in later requests of Cursor to the model',
    },
  },
  alsoReads: ['claude-code'],
  projectVariables: ['CURSOR_PROJECT_DIR', 'CLAUDE_PROJECT_DIR'],
  layouts: {
    native: {
      ...shape,
      ...flat('.cursor/hooks.json', 1),
      file: '.cursor/hooks.json',
      isFile: /(^|[\\/])\.cursor[\\/]hooks\.json$/,
    },
    // As in the published examples of the format. Cursor does not read this form.
    published: {
      ...shape,
      ...loose('.cursor/hooks.json'),
      title: 'file of the published examples',
      file: '.cursor/hooks.json',
      isFile: /(?!)/,
    },
  },
};
