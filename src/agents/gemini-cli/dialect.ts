import { fieldsOf, text, word } from '../../lib/read.ts';
import type { Dialect } from '../contract/dialect.ts';
import {
  answered,
  answerOf,
  callOf,
  decisionOf,
  failure,
  fault,
  inputOf,
  isDecision,
  type ToolRows,
  updatedInput,
} from '../shared/dialect.ts';
import { oneToolDialect } from '../shared/one-tool-dialect.ts';

const rows: ToolRows = {
  run_shell_command: { tool: 'shell', fields: { command: 'command' } },
  read_file: { tool: 'file_read', fields: { path: 'file_path' } },
  write_file: { tool: 'file_write', fields: { path: 'file_path', content: 'content' } },
  replace: { tool: 'file_edit', fields: { path: 'file_path', old_text: 'old_string', new_text: 'new_string' } },
  grep_search: { tool: 'search', fields: { pattern: 'pattern', path: 'dir_path' } },
  glob: { tool: 'find', fields: { pattern: 'pattern', path: 'dir_path' } },
  google_web_search: { tool: 'web_search', fields: { query: 'query' } },
  // Its prompt contains the address.
  web_fetch: { tool: 'web_fetch', fields: { url: 'prompt' } },
  invoke_agent: { tool: 'agent', fields: { prompt: 'prompt' } },
};
const mcp = { before: 'mcp_', between: '_' };
const fields: Dialect['fields'] = {
  session_id: ['session_id'],
  cwd: ['cwd'],
  transcript_path: ['transcript_path'],
  tool_output: ['tool_response'],
  prompt: ['prompt'],
  response: ['prompt_response'],
  message: ['message'],
  cause: ['source', 'reason', 'trigger'],
  stop_hook_active: ['stop_hook_active'],
};

const events = {
  BeforeTool: 'before_tool_execute',
  AfterTool: 'after_tool_execute',
  SessionStart: 'session_start',
  SessionEnd: 'session_end',
  BeforeAgent: 'before_prompt',
  AfterAgent: 'agent_stop',
  PreCompress: 'before_compact',
  Notification: 'notification',
  BeforeModel: 'before_model',
  AfterModel: 'after_model',
  BeforeToolSelection: 'before_tool_selection',
};
const form = oneToolDialect({ events, rows, mcp, fields });

export const dialect: Dialect = {
  slug: 'gemini-cli',
  title: 'Gemini CLI',
  projectVariable: 'GEMINI_PROJECT_DIR',
  ...form,
  calls(payload) {
    const name = word(payload.tool_name);
    if (name === undefined) return [];
    const call = callOf(name, inputOf(payload.tool_input), rows, mcp);
    // The joined name does not show where the server's name ends.
    const { server_name: server, tool_name: tool } = fieldsOf(payload.mcp_context);
    const of = word(tool);
    return [of === undefined ? call : { ...call, mcp: { server: word(server), tool: of } }];
  },
  payload: document => ({
    ...form.payload(document),
    ...(document.mcp === undefined
      ? {}
      : { mcp_context: { server_name: document.mcp.server, tool_name: document.mcp.tool } }),
  }),
  heard(ended, document) {
    // The runner reads stderr where stdout is empty.
    const said = ended.stdout.trim() === '' ? ended.stderr : ended.stdout;
    const output = answerOf(said);
    const isText = typeof output !== 'object';
    // The product fails open for a code without a text; the format's code 2 always denies.
    if (ended.code === 2 || (ended.code > 1 && typeof output === 'string'))
      return { kind: 'denial', reason: isText ? said.trim() : (text(output.reason) ?? said.trim()) };
    // It reads JSON beside any code.
    const stops = !isText && (decisionOf(output.decision) === 'deny' || output.continue === false);
    if (ended.code !== 0 && !stops) return fault(failure(ended));
    if (output === undefined) return answered({});
    if (typeof output === 'string')
      return output.startsWith('{')
        ? fault(`its output is not JSON: ${output.slice(0, 200)}`)
        : answered({ system_message: output });
    if (!isDecision(output.decision)) return fault(`its decision is unknown: ${JSON.stringify(output.decision)}`);
    const specific = fieldsOf(output.hookSpecificOutput);
    const decision = decisionOf(output.decision);
    const changes = updatedInput(specific.tool_input, document, rows);
    return answered({
      // Its `allow` lets the action go on and grants nothing that a person would be asked for.
      decision: decision === 'allow' ? undefined : decision,
      reason: text(output.reason) ?? text(output.stopReason),
      ...(output.continue === false ? { continue: false } : {}),
      context: text(specific.additionalContext),
      // Its changes are merged into the input.
      updated_input: changes && { ...document.tool_input, ...changes },
      ...(output.suppressOutput === true ? { suppress_output: true } : {}),
      system_message: text(output.systemMessage),
    });
  },
  takes: {
    before_tool_execute: ['deny', 'reason', 'updated_input', 'continue', 'suppress_output', 'system_message'],
    after_tool_execute: ['deny', 'reason', 'context', 'continue', 'suppress_output', 'system_message'],
    session_start: ['context', 'system_message'],
    before_prompt: ['deny', 'reason', 'context', 'continue', 'system_message'],
    agent_stop: ['deny', 'reason', 'continue', 'system_message'],
    before_model: ['deny', 'reason', 'continue', 'system_message'],
    after_model: ['deny', 'reason', 'continue', 'system_message'],
  },
  reply(verdict, { native: name }) {
    const { decision, reason, context, updatedInput: input } = verdict;
    const specific = {
      ...(context === undefined ? {} : { additionalContext: context }),
      ...(input === undefined || decision === 'deny' ? {} : { tool_input: input }),
    };
    const output = {
      ...(decision === 'deny' ? { decision, reason: reason ?? 'A hook denied this.' } : {}),
      ...(verdict.continue === false ? { continue: false, stopReason: reason ?? 'A hook stopped the agent.' } : {}),
      ...(verdict.suppress_output === true ? { suppressOutput: true } : {}),
      ...(verdict.system_message === undefined ? {} : { systemMessage: verdict.system_message }),
      ...(Object.keys(specific).length > 0 ? { hookSpecificOutput: { hookEventName: name, ...specific } } : {}),
    };
    return Object.keys(output).length === 0 ? {} : { stdout: output };
  },
};
