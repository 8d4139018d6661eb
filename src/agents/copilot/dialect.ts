import type { Fields } from '../../event/event.ts';
import { fieldsOf, text } from '../../lib/read.ts';
import { dialect as claude } from '../claude-code/dialect.ts';
import type { Dialect } from '../contract/dialect.ts';
import {
  answered,
  answerOf,
  decisionOf,
  failure,
  fault,
  heardInJson,
  inputOf,
  isDecision,
  oneCall,
  plainFields,
  rewrittenInput,
  type ToolRows,
  toolPayload,
  updatedInput,
} from '../shared/dialect.ts';
import { oneToolDialect } from '../shared/one-tool-dialect.ts';

const rows: ToolRows = {
  bash: { tool: 'shell', fields: { command: 'command' } },
  powershell: { tool: 'shell', fields: { command: 'command' } },
  view: { tool: 'file_read', fields: { path: 'path' } },
  create: { tool: 'file_write', fields: { path: 'path', content: 'file_text' } },
  edit: { tool: 'file_edit', fields: { path: 'path', old_text: 'old_str', new_text: 'new_str' } },
  grep: { tool: 'search', fields: { pattern: 'pattern', path: 'path' } },
  glob: { tool: 'find', fields: { pattern: 'pattern', path: 'path' } },
  web_fetch: { tool: 'web_fetch', fields: { url: 'url' } },
  task: { tool: 'agent', fields: { prompt: 'prompt' } },
};
/** Hooks under names in PascalCase get other names of tools, with the same inputs. */
const both: ToolRows = {
  ...rows,
  Bash: { tool: 'shell', fields: { command: 'command' } },
  Read: { tool: 'file_read', fields: { path: 'path' } },
  Write: { tool: 'file_write', fields: { path: 'path', content: 'file_text' } },
  Edit: { tool: 'file_edit', fields: { path: 'path', old_text: 'old_str', new_text: 'new_str' } },
};
const mcp = { before: '', between: '-' };
const fields: Dialect['fields'] = {
  session_id: ['sessionId', 'session_id'],
  cwd: ['cwd'],
  transcript_path: ['transcriptPath', 'transcript_path'],
  tool_output: ['toolResult', 'tool_result'],
  error: ['error'],
  prompt: ['prompt'],
  response: ['response', 'last_assistant_message'],
  message: ['message'],
  cause: ['source', 'reason', 'trigger', 'stopReason', 'stop_reason'],
  stop_hook_active: ['stop_hook_active'],
  subagent_id: ['agentId', 'agent_id'],
  subagent_type: ['agentName', 'agentType', 'agent_type'],
};
const inPascalCase = (payload: Fields): boolean => 'tool_name' in payload;

export const dialect: Dialect = {
  slug: 'copilot-cli',
  aliases: ['copilot'],
  title: 'GitHub Copilot CLI',
  events: {
    preToolUse: 'before_tool_execute',
    postToolUse: 'after_tool_execute',
    postToolUseFailure: 'tool_use_failure',
    sessionStart: 'session_start',
    sessionEnd: 'session_end',
    userPromptSubmitted: 'before_prompt',
    agentStop: 'agent_stop',
    subagentStart: 'subagent_start',
    subagentStop: 'subagent_stop',
    preCompact: 'before_compact',
    permissionRequest: 'permission_request',
    notification: 'notification',
    errorOccurred: 'error_occurred',
    PreToolUse: 'before_tool_execute',
    PostToolUse: 'after_tool_execute',
    PostToolUseFailure: 'tool_use_failure',
    SessionStart: 'session_start',
    SessionEnd: 'session_end',
    UserPromptSubmit: 'before_prompt',
    Stop: 'agent_stop',
    SubagentStop: 'subagent_stop',
    PreCompact: 'before_compact',
    PermissionRequest: 'permission_request',
    Notification: 'notification',
    ErrorOccurred: 'error_occurred',
  },
  eventFields: ['hook_event_name'],
  fields,
  calls: payload =>
    oneCall(payload, both, mcp, inPascalCase(payload) ? ['tool_name', 'tool_input'] : ['toolName', 'toolArgs']),
  rewritten(payload, _native, [input]) {
    if (input === undefined) return undefined;
    const [name, before] = inPascalCase(payload)
      ? [payload.tool_name, payload.tool_input]
      : [payload.toolName, payload.toolArgs];
    return rewrittenInput(String(name), inputOf(before), input, both);
  },
  payload: document => ({
    ...plainFields(document, fields),
    ...toolPayload(document, rows, mcp, ['toolName', 'toolArgs']),
  }),
  heard(ended, document) {
    const isGuard = document.event === 'before_tool_execute';
    if (ended.code === 2) return { kind: 'denial', reason: ended.stderr.trim() || ended.stdout.trim() };
    // Before a tool, the product fails closed.
    if (ended.code !== 0) return isGuard ? { kind: 'denial', reason: failure(ended) } : fault(failure(ended));
    const output = answerOf(ended.stdout.replace(/^\{"type":"progress".*\n?/gm, ''));
    if (output === undefined) return answered({});
    if (typeof output === 'string') return fault(`its output is not JSON: ${output.slice(0, 200)}`);
    const word = output.permissionDecision ?? output.behavior ?? output.decision;
    if (!isDecision(word)) return fault(`its decision is unknown: ${JSON.stringify(word)}`);
    const inner = fieldsOf(output.hookSpecificOutput);
    if (word === undefined && inner.permissionDecision !== undefined) return heardInJson(ended, document, rows);
    return answered({
      decision: decisionOf(word),
      reason: text(output.permissionDecisionReason) ?? text(output.message) ?? text(output.reason),
      context: text(output.additionalContext),
      updated_input: updatedInput(output.modifiedArgs, document, rows),
    });
  },
  takes: {
    before_tool_execute: ['deny', 'ask', 'allow', 'reason', 'updated_input', 'context'],
    after_tool_execute: ['context'],
    session_start: ['context'],
    agent_stop: ['deny', 'reason'],
    subagent_start: ['context'],
    subagent_stop: ['deny', 'reason'],
    permission_request: ['deny', 'allow', 'reason'],
    notification: ['context'],
  },
  reply({ decision, reason, context, updatedInput: input }, { event }) {
    const isPermission = event === 'permission_request';
    const decided =
      event === 'before_tool_execute'
        ? { permissionDecision: decision, permissionDecisionReason: reason }
        : isPermission
          ? { behavior: decision, message: reason }
          : { decision: decision === 'deny' ? 'block' : decision, reason };
    const output = {
      ...(decision === undefined ? {} : decided),
      ...(context === undefined ? {} : { additionalContext: context }),
      ...(input === undefined || decision === 'deny' ? {} : { modifiedArgs: input }),
    };
    return Object.keys(output).length === 0 ? {} : { stdout: output };
  },
};

/** Tools of Visual Studio Code, whose payloads have the fields of Claude Code. */
const codeRows: ToolRows = {
  run_in_terminal: { tool: 'shell', fields: { command: 'command' } },
  read_file: { tool: 'file_read', fields: { path: 'filePath' } },
  create_file: { tool: 'file_write', fields: { path: 'filePath', content: 'content' } },
  replace_string_in_file: {
    tool: 'file_edit',
    fields: { path: 'filePath', old_text: 'oldString', new_text: 'newString' },
  },
  grep_search: { tool: 'search', fields: { pattern: 'query' } },
  file_search: { tool: 'find', fields: { pattern: 'query' } },
  fetch_webpage: { tool: 'web_fetch', fields: { url: 'url' } },
  runSubagent: { tool: 'agent', fields: { prompt: 'prompt' } },
};
const codeMcp = { before: 'mcp_', between: '_' };

export const vsCodeDialect: Dialect = {
  ...oneToolDialect({ events: claude.events, rows: codeRows, mcp: codeMcp }),
  slug: 'vs-code-copilot',
  title: 'Copilot in VS Code',
  projectVariable: claude.projectVariable,
  takes: {
    before_tool_execute: ['deny', 'ask', 'allow', 'reason', 'context', 'updated_input', 'continue', 'system_message'],
    after_tool_execute: ['deny', 'reason', 'context', 'continue', 'system_message'],
    session_start: ['context', 'continue', 'system_message'],
    before_prompt: ['continue', 'system_message'],
    agent_stop: ['deny', 'reason', 'continue', 'system_message'],
    subagent_start: ['context', 'system_message'],
    subagent_stop: ['deny', 'reason', 'continue', 'system_message'],
  },
};
