/**
 * The table that aligns the native events of agents with Agent Hooks (section 8 of the standard), row by row.
 * docs/standards.md gives the reason for each row in which otel-hooks differs from the table.
 */
import { describe, expect, test } from 'vitest';
import { agentNamed } from '../../src/agents/index.ts';
import { memoryOver, type Remembered } from '../../src/agents/shared/memory.ts';

/** Fields that the payloads of the five agents use. */
const payload = {
  session_id: 's-1',
  sessionId: 's-1',
  conversation_id: 's-1',
  trajectory_id: 's-1',
  generation_id: 'g-1',
  execution_id: 'g-1',
  cwd: '/code',
  prompt: 'Fix it',
  text: 'Done',
  prompt_response: 'Done',
  last_assistant_message: 'Done',
  command: 'ls',
  file_path: '/code/a',
  edits: [{ old_string: 'a', new_string: 'b' }],
  tool_name: 'Bash',
  toolName: 'bash',
  tool_use_id: 't-1',
  tool_input: { command: 'ls' },
  toolArgs: { command: 'ls' },
  tool_response: {},
  toolResult: { resultType: 'success' },
  tool_info: { command_line: 'ls', cwd: '/code', file_path: '/code/a', mcp_tool_name: 'find', mcp_server_name: 'x' },
  llm_request: { model: 'gemini-2.5-pro', messages: [] },
  llm_response: { candidates: [{ finishReason: 'STOP' }], usageMetadata: { totalTokenCount: 3 } },
  error: { message: 'no', name: 'E' },
  trigger: 'auto',
  notification_type: 'permission_prompt',
  message: 'May I?',
  reason: 'complete',
  status: 'completed',
  source: 'startup',
  agent_type: 'Plan',
};

function typesOf(agent: string, native: string, more: object = {}): string[] {
  const remembered: Remembered = {};
  const memory = memoryOver(remembered, content => content.slice(0, 8));
  const event = agentNamed(agent)?.events[native];
  if (event === undefined) throw new Error(`${agent} has no event ${native}`);
  return event
    .read({ ...payload, hook_event_name: native, agent_action_name: native, ...more }, memory)
    .map(each => each.event_type);
}

test.each([
  ['Session.Start', 'claude-code', 'SessionStart'],
  ['Session.Start', 'gemini-cli', 'SessionStart'],
  ['Session.Start', 'copilot', 'SessionStart'],
  ['Session.End', 'claude-code', 'SessionEnd'],
  ['Session.End', 'gemini-cli', 'SessionEnd'],
  ['Session.End', 'copilot', 'SessionEnd'],
  ['Prompt.Submitted', 'cursor', 'beforeSubmitPrompt'],
  ['Prompt.Submitted', 'windsurf', 'pre_user_prompt'],
  ['Prompt.Submitted', 'claude-code', 'UserPromptSubmit'],
  ['Prompt.Submitted', 'gemini-cli', 'BeforeAgent'],
  ['Prompt.Submitted', 'copilot', 'userPromptSubmitted'],
  ['Agent.Response', 'cursor', 'afterAgentResponse'],
  ['Agent.Response', 'windsurf', 'post_cascade_response'],
  ['Agent.Response', 'claude-code', 'Stop'],
  ['Agent.Response', 'gemini-cli', 'AfterAgent'],
  ['Model.Requested', 'gemini-cli', 'BeforeModel'],
  ['Model.Responded', 'gemini-cli', 'AfterModel'],
  ['Action.Before', 'cursor', 'beforeShellExecution'],
  ['Action.Before', 'cursor', 'beforeMCPExecution'],
  ['Action.Before', 'windsurf', 'pre_run_command'],
  ['Action.Before', 'windsurf', 'pre_read_code'],
  ['Action.Before', 'windsurf', 'pre_write_code'],
  ['Action.Before', 'windsurf', 'pre_mcp_tool_use'],
  ['Action.Before', 'claude-code', 'PreToolUse'],
  ['Action.Before', 'gemini-cli', 'BeforeTool'],
  ['Action.Before', 'copilot', 'preToolUse'],
  ['Action.After', 'cursor', 'afterShellExecution'],
  ['Action.After', 'cursor', 'afterFileEdit'],
  ['Action.After', 'cursor', 'afterMCPExecution'],
  ['Action.After', 'windsurf', 'post_run_command'],
  ['Action.After', 'windsurf', 'post_write_code'],
  ['Action.After', 'windsurf', 'post_read_code'],
  ['Action.After', 'claude-code', 'PostToolUse'],
  ['Action.After', 'claude-code', 'PostToolUseFailure'],
  ['Action.After', 'gemini-cli', 'AfterTool'],
  ['Action.After', 'copilot', 'postToolUse'],
  ['Context.Compaction', 'claude-code', 'PreCompact'],
  ['Agent.Notification', 'claude-code', 'Notification'],
  ['Agent.Notification', 'claude-code', 'PermissionRequest'],
  ['Agent.Notification', 'gemini-cli', 'Notification'],
  ['Agent.Error', 'copilot', 'errorOccurred'],
])('%s is the event of %s that it calls %s', (type, agent, native) => {
  expect(typesOf(agent, native)).toContain(type);
});

describe('otel-hooks differs from the table', () => {
  test('stop of Cursor ends a turn: sessionEnd ends the session', () => {
    expect(typesOf('cursor', 'stop')).not.toContain('Session.End');
    expect(typesOf('cursor', 'sessionEnd')).toContain('Session.End');
  });

  test('SubagentStart of Claude Code starts a subagent, and the tool EnterPlanMode starts a plan', () => {
    expect(typesOf('claude-code', 'SubagentStart')).toEqual(['Session.Start']);
    expect(typesOf('claude-code', 'PreToolUse', { tool_name: 'EnterPlanMode' })).toContain('Agent.Plan.Start');
    expect(typesOf('claude-code', 'PostToolUse', { tool_name: 'ExitPlanMode' })).toContain('Agent.Plan.End');
  });

  test('BeforeAgent of Gemini CLI starts a turn and no plan', () => {
    expect(typesOf('gemini-cli', 'BeforeAgent')).not.toContain('Agent.Plan.Start');
  });

  test('a failed call of Claude Code is a failed action, and not counted a second time as Agent.Error', () => {
    expect(typesOf('claude-code', 'PostToolUseFailure')).toEqual(['Action.After']);
  });

  test('beforeReadFile of Cursor runs after the read, so it ends the action', () => {
    expect(typesOf('cursor', 'beforeReadFile')).toEqual(['Action.After']);
  });

  test('PreCompress of Gemini CLI is sent before every request, so the chat file reports compactions', () => {
    expect(typesOf('gemini-cli', 'PreCompress')).toEqual([]);
  });

  test('a thought of Cursor is no response of a model', () => {
    expect(typesOf('cursor', 'afterAgentThought')).not.toContain('Model.Responded');
  });
});
