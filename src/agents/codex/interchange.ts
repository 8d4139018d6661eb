/**
 * Codex' hooks in terms of the Hook Interchange Format: its registry of 2026.04, the vendor's documents and schemas
 * of autumn 2026.
 */
import { parse } from 'smol-toml';
import { grouped } from '../../interchange/layouts.ts';
import { type Layout, nothing, type Provider } from '../../interchange/provider.ts';
import { jsonText } from '../../interchange/source.ts';

const hooks = grouped('.codex/hooks.json');

export const interchange: Provider = {
  slug: 'codex',
  title: 'Codex',
  checked: '2026-11-18',
  registry: {
    '2026.04': {
      events: {
        before_tool_execute: ['PreToolUse'],
        after_tool_execute: ['PostToolUse'],
        session_start: ['SessionStart'],
        before_prompt: ['UserPromptSubmit'],
        agent_stop: ['Stop'],
      },
      tools: { shell: 'Bash' },
      mcp: undefined,
      supports: {
        ...nothing,
        structured_output: 'yes',
        input_rewrite: 'yes',
        llm_evaluated: 'yes',
        async_execution: 'yes',
      },
      blocks: { before_tool_execute: 'prevent', before_prompt: 'prevent', agent_stop: 'retry' },
    },
  },
  product: {
    events: {
      session_end: ['SessionEnd'],
      before_compact: ['PreCompact'],
      after_compact: ['PostCompact'],
      subagent_start: ['SubagentStart'],
      subagent_stop: ['SubagentStop'],
      permission_request: ['PermissionRequest'],
    },
    // Matchers of apply_patch may name it Write or Edit.
    tools: { file_write: 'Write', file_edit: 'Edit', agent: 'Agent' },
    blocks: { subagent_stop: 'retry', permission_request: 'prevent' },
    mcp: { before: 'mcp__', between: '__' },
    // Handlers that ask a model are parsed but never run.
    supports: { ...nothing, structured_output: 'yes', input_rewrite: 'yes', async_execution: 'yes' },
  },
  oneTool: ['file_write', 'file_edit'],
  answers: 'hookSpecificOutput with permissionDecision, updatedInput and additionalContext',
  also: {
    events: {
      SessionEnd: 'session_end',
      PreCompact: 'before_compact',
      PostCompact: 'after_compact',
      SubagentStart: 'subagent_start',
      SubagentStop: 'subagent_stop',
      PermissionRequest: 'permission_request',
    },
    tools: {
      read_file: 'file_read',
      apply_patch: ['file_write', 'file_edit'],
      Write: 'file_write',
      Edit: 'file_edit',
      Agent: 'agent',
      grep_files: 'search',
      web_search: 'web_search',
      spawn_agent: 'agent',
    },
  },
  data: { commandWindows: 'command', additionalContextLimit: 'number', scope: 'string' },
  plainContext: ['session_start', 'before_prompt', 'subagent_start'],
  layouts: {
    native: {
      title: 'hooks file',
      file: '.codex/hooks.json',
      isFile: /(^|[\\/])\.codex[\\/](hooks\.json|config\.toml)$/,
      ...hooks,
      read: (text, name) => (/\.toml$/i.test(name) ? readToml(text, name) : hooks.read(text, name)),
      // Codex rejects the whole file if it contains any other type.
      fileKeys: ['description'],
      matching: { how: 'expression', listsNames: true, anyMcp: 'mcp__.*' },
      fields: {
        type: true,
        command: 'command',
        timeout: { name: 'timeout', unit: 's', isWhole: true },
        async: 'async',
        status_message: 'statusMessage',
        types: {
          prompt: { prompt: 'prompt', model: 'model' },
          agent: { prompt: 'prompt', model: 'model', agent: 'agent' },
        },
      },
    },
  },
};

/** Tables of `config.toml` have the same shape. */
function readToml(text: string, name: string): ReturnType<Layout['read']> {
  try {
    return hooks.read(jsonText(parse(text)), name);
  } catch (error) {
    return {
      ok: false,
      why: `not TOML: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'it cannot be read'}`,
    };
  }
}
