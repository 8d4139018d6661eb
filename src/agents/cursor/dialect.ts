import type { Fields } from '../../event/event.ts';
import { fieldsOf, text, word } from '../../lib/read.ts';
import type { Call, Dialect, HookDocument } from '../contract/dialect.ts';
import {
  answered,
  answerOf,
  callOf,
  decisionOf,
  fault,
  heardByCode,
  inputOf,
  isDecision,
  mcpOf,
  nativeCall,
  plainFields,
  rewrittenInput,
  type ToolRows,
  updatedInput,
} from '../shared/dialect.ts';

/** The tools of the events of any tool. */
const rows: ToolRows = {
  Shell: { tool: 'shell', fields: { command: 'command', cwd: 'cwd' } },
  Read: { tool: 'file_read', fields: { path: 'path' } },
  Write: { tool: 'file_write', fields: { path: 'path', content: 'contents' } },
  Edit: { tool: 'file_edit', fields: { path: 'path', old_text: 'old_string', new_text: 'new_string' } },
  Grep: { tool: 'search', fields: { pattern: 'pattern', path: 'path' } },
  Glob: { tool: 'find', fields: { pattern: 'pattern', path: 'path' } },
  WebSearch: { tool: 'web_search', fields: { query: 'search_term' } },
  WebFetch: { tool: 'web_fetch', fields: { url: 'url' } },
  Task: { tool: 'agent', fields: { prompt: 'prompt' } },
};
const fields: Dialect['fields'] = {
  session_id: ['conversation_id', 'session_id'],
  cwd: ['cwd', 'workspace_roots.0'],
  transcript_path: ['transcript_path'],
  tool_use_id: ['tool_use_id'],
  tool_output: ['tool_output', 'result_json', 'output'],
  error: ['error_message'],
  prompt: ['prompt'],
  response: ['text'],
  cause: ['reason', 'status', 'trigger'],
  subagent_id: ['subagent_id'],
  subagent_type: ['subagent_type'],
};

export const dialect: Dialect = {
  slug: 'cursor',
  title: 'Cursor',
  projectVariable: 'CURSOR_PROJECT_DIR',
  events: {
    beforeShellExecution: 'before_tool_execute',
    beforeMCPExecution: 'before_tool_execute',
    beforeReadFile: 'before_tool_execute',
    preToolUse: 'before_tool_execute',
    afterShellExecution: 'after_tool_execute',
    afterMCPExecution: 'after_tool_execute',
    afterFileEdit: 'after_tool_execute',
    postToolUse: 'after_tool_execute',
    postToolUseFailure: 'tool_use_failure',
    beforeSubmitPrompt: 'before_prompt',
    stop: 'agent_stop',
    sessionStart: 'session_start',
    sessionEnd: 'session_end',
    subagentStart: 'subagent_start',
    subagentStop: 'subagent_stop',
    preCompact: 'before_compact',
    afterAgentResponse: 'after_model',
  },
  eventFields: ['hook_event_name', 'hookEventName'],
  fields,
  calls(payload, name): readonly Call[] {
    if (/ShellExecution$/.test(name)) return [shell(name, payload)];
    if (/MCPExecution$/.test(name)) return [ofServer(payload)];
    if (name === 'beforeReadFile')
      return [{ tool: 'file_read', nativeTool: name, input: { path: payload.file_path, content: payload.content } }];
    if (name === 'afterFileEdit') return editsOf(payload);
    const tool = word(payload.tool_name);
    if (tool === undefined) return [];
    const input = inputOf(payload.tool_input);
    if (tool.startsWith('MCP:')) return [{ tool, nativeTool: tool, mcp: { tool: tool.slice(4) }, input }];
    return [callOf(tool, input, rows)];
  },
  rewritten: (payload, name, [input]) =>
    name === 'preToolUse' && input !== undefined
      ? rewrittenInput(String(payload.tool_name), inputOf(payload.tool_input), input, rows)
      : undefined,
  payload(document) {
    const plain = plainFields(document, fields);
    return { ...plain, workspace_roots: document.cwd === undefined ? [] : [document.cwd], ...ownFields(document) };
  },
  heard(ended, document) {
    const byCode = heardByCode(ended);
    if (byCode !== undefined) return byCode;
    const output = answerOf(ended.stdout);
    if (output === undefined) return answered({});
    if (typeof output === 'string') return fault(`its output is not JSON: ${output.slice(0, 200)}`);
    if (!isDecision(output.permission)) return fault(`its permission is unknown: ${JSON.stringify(output.permission)}`);
    const decision = decisionOf(output.permission);
    const followUp = text(output.followup_message);
    const isRefused = document.event === 'before_prompt' && output.continue === false;
    return answered({
      // Guards answer `allow` to everything harmless, and it grants nothing.
      decision: followUp !== undefined || isRefused ? 'deny' : decision === 'allow' ? undefined : decision,
      reason:
        followUp ??
        text(output.agent_message) ??
        text(output.agentMessage) ??
        text(output.user_message) ??
        text(output.userMessage),
      context: text(output.additional_context) ?? text(output.additionalContext),
      updated_input: updatedInput(output.updated_input, document, rows),
    });
  },
  takes: {
    before_tool_execute: ['deny', 'ask', 'allow', 'reason'],
    preToolUse: ['deny', 'allow', 'reason', 'updated_input'],
    beforeReadFile: ['deny', 'allow', 'reason'],
    postToolUse: ['context'],
    session_start: ['context'],
    before_prompt: ['deny', 'reason'],
    agent_stop: ['deny', 'reason'],
    subagent_start: ['deny', 'allow', 'reason'],
    subagent_stop: ['deny', 'reason'],
  },
  reply({ decision, reason, context, updatedInput: input }, { event, native: name }) {
    const isRetry = event === 'agent_stop' || event === 'subagent_stop';
    if (event === 'before_prompt')
      return { stdout: decision === 'deny' ? { continue: false, user_message: reason } : { continue: true } };
    if (isRetry) return { stdout: decision === 'deny' ? { followup_message: reason } : {} };
    const says = reason === undefined ? {} : { user_message: reason, agent_message: reason };
    const asks = ['before_tool_execute', 'subagent_start'].includes(event);
    return {
      stdout: {
        // With `failClosed`, an empty answer denies.
        ...(asks ? { permission: decision ?? 'allow' } : {}),
        ...(decision === undefined ? {} : says),
        ...(context === undefined ? {} : { additional_context: context }),
        ...(input === undefined || decision === 'deny' || name !== 'preToolUse' ? {} : { updated_input: input }),
      },
    };
  },
};

const shell = (name: string, { command, cwd }: Fields): Call => ({
  tool: 'shell',
  nativeTool: name,
  input: { command, ...(word(cwd) === undefined ? {} : { cwd }) },
});

function ofServer(payload: Fields): Call {
  const name = text(payload.tool_name) ?? '';
  const split = mcpOf(name, { before: '', between: '__' });
  const server = split?.server ?? word(payload.url) ?? word(payload.command)?.split(/\s+/)[0];
  return {
    tool: name,
    nativeTool: name,
    mcp: { server, tool: split?.tool ?? name },
    input: inputOf(payload.tool_input),
  };
}

function editsOf(payload: Fields): readonly Call[] {
  const edits = Array.isArray(payload.edits) ? payload.edits : [];
  return edits.map(edit => {
    const { old_string: before, new_string: after } = fieldsOf(edit);
    const input = { path: payload.file_path, old_text: before, new_text: after };
    return { tool: 'file_edit', nativeTool: 'afterFileEdit', input };
  });
}

/** The event and the fields of a document's tool. Commands, reads and MCP tools have events of their own. */
function ownFields(document: HookDocument): Fields {
  const { event, tool, mcp, tool_input: input = {} } = document;
  const before = event === 'before_tool_execute';
  if (event !== 'after_tool_execute' && !before) {
    const name = Object.keys(dialect.events).find(each => dialect.events[each] === event);
    return { hook_event_name: name ?? document.native_event };
  }
  if (tool === 'shell') return { hook_event_name: before ? 'beforeShellExecution' : 'afterShellExecution', ...input };
  if (mcp !== undefined)
    return {
      hook_event_name: before ? 'beforeMCPExecution' : 'afterMCPExecution',
      tool_name: mcp.tool,
      tool_input: JSON.stringify(input),
      command: mcp.server ?? '',
    };
  if (before && tool === 'file_read')
    return { hook_event_name: 'beforeReadFile', file_path: input.path, content: input.content ?? '' };
  const call = nativeCall(document, rows);
  return { hook_event_name: before ? 'preToolUse' : 'postToolUse', tool_name: call?.name, tool_input: call?.input };
}
