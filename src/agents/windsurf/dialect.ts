import type { Fields } from '../../event/event.ts';
import { fieldsOf, text, word } from '../../lib/read.ts';
import type { Call, Dialect } from '../contract/dialect.ts';
import { answered, callOf, heardByCode, native, plainFields, replyByCode, type ToolRows } from '../shared/dialect.ts';

/** Its events name the tool: each half of an event is a row. */
const rows: ToolRows = {
  run_command: { tool: 'shell', fields: { command: 'command_line', cwd: 'cwd' } },
  read_code: { tool: 'file_read', fields: { path: 'file_path' } },
  write_code: { tool: 'file_write', fields: { path: 'file_path' } },
};
const fields: Dialect['fields'] = {
  session_id: ['trajectory_id'],
  cwd: ['tool_info.cwd'],
  prompt: ['tool_info.user_prompt'],
  response: ['tool_info.response'],
  transcript_path: ['tool_info.transcript_path'],
  tool_output: ['tool_info.mcp_result'],
};

export const dialect: Dialect = {
  slug: 'windsurf',
  title: 'Windsurf',
  events: {
    pre_run_command: 'before_tool_execute',
    pre_read_code: 'before_tool_execute',
    pre_write_code: 'before_tool_execute',
    pre_mcp_tool_use: 'before_tool_execute',
    post_run_command: 'after_tool_execute',
    post_read_code: 'after_tool_execute',
    post_write_code: 'after_tool_execute',
    post_mcp_tool_use: 'after_tool_execute',
    pre_user_prompt: 'before_prompt',
    post_cascade_response: 'agent_stop',
    post_cascade_response_with_transcript: 'agent_stop',
    post_setup_worktree: 'worktree_create',
  },
  eventFields: ['agent_action_name'],
  fields,
  calls(payload, name): readonly Call[] {
    const info = fieldsOf(payload.tool_info);
    const [, half] = /^(?:pre|post)_(.+)$/.exec(name) ?? [];
    if (half === 'mcp_tool_use') {
      const tool = text(info.mcp_tool_name) ?? '';
      const mcp = { server: word(info.mcp_server_name), tool };
      return [{ tool, nativeTool: tool, mcp, input: fieldsOf(info.mcp_tool_arguments) }];
    }
    if (half === undefined || rows[half] === undefined) return [];
    const call = callOf(half, info, rows);
    return half === 'write_code' ? editsOf(call) : [call];
  },
  payload(document) {
    const { tool, mcp, tool_input: input = {} } = document;
    const when = document.event === 'before_tool_execute' ? 'pre' : 'post';
    const [half, row] = Object.entries(rows).find(
      ([, each]) => each.tool === (tool === 'file_edit' ? 'file_write' : tool),
    ) ?? [undefined, undefined];
    const plain = plainFields(document, fields);
    const info = fieldsOf(plain.tool_info);
    if (mcp !== undefined) {
      const named = { mcp_server_name: mcp.server, mcp_tool_name: mcp.tool, mcp_tool_arguments: input };
      return { agent_action_name: `${when}_mcp_tool_use`, ...plain, tool_info: { ...info, ...named } };
    }
    if (tool !== undefined && half !== undefined && row !== undefined) {
      const { old_text: before = '', new_text: after, content = after, ...rest } = input;
      const edits = half === 'write_code' ? { edits: [{ old_string: before, new_string: content }] } : {};
      const own = half === 'write_code' ? native(rest, row.fields) : native(input, row.fields);
      return { agent_action_name: `${when}_${half}`, ...plain, tool_info: { ...info, ...own, ...edits } };
    }
    const name = Object.keys(dialect.events).find(each => dialect.events[each] === document.event);
    return {
      agent_action_name: tool === undefined ? name : `${when}_${tool}`,
      ...plain,
      tool_info: { ...info, ...input },
    };
  },
  heard: ended => heardByCode(ended) ?? answered({}),
  takes: {
    before_tool_execute: ['deny', 'reason'],
    before_prompt: ['deny', 'reason'],
  },
  reply: replyByCode,
};

/** One call for each edit. An edit of nothing writes the file. */
function editsOf(call: Call): readonly Call[] {
  const { edits, ...rest } = call.input;
  if (!Array.isArray(edits) || edits.length === 0) return [call];
  return edits.map((edit): Call => {
    const { old_string: before, new_string: after } = fieldsOf(edit) as Fields;
    return before === '' || before === undefined
      ? { ...call, input: { ...rest, content: after } }
      : { ...call, tool: 'file_edit', input: { ...rest, old_text: before, new_text: after } };
  });
}
