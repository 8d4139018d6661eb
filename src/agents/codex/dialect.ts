import type { Fields } from '../../event/event.ts';
import { fieldsOf, word } from '../../lib/read.ts';
import { mcp } from '../claude-code/dialect.ts';
import type { Call, Dialect, HookDocument } from '../contract/dialect.ts';
import { jsonReply, type ToolRows } from '../shared/dialect.ts';
import { oneToolDialect } from '../shared/one-tool-dialect.ts';
import { partsOf, patchOf } from './patch-parts.ts';

const rows: ToolRows = {
  Bash: { tool: 'shell', fields: { command: 'command' } },
  spawn_agent: { tool: 'agent', fields: { prompt: 'message' } },
};
const PATCH = 'apply_patch';

const events = {
  PreToolUse: 'before_tool_execute',
  PostToolUse: 'after_tool_execute',
  SessionStart: 'session_start',
  SessionEnd: 'session_end',
  UserPromptSubmit: 'before_prompt',
  Stop: 'agent_stop',
  PreCompact: 'before_compact',
  SubagentStart: 'subagent_start',
  SubagentStop: 'subagent_stop',
  PermissionRequest: 'permission_request',
};
const form = oneToolDialect({ events, rows, mcp });

export const dialect: Dialect = {
  slug: 'codex',
  title: 'Codex',
  ...form,
  calls,
  rewritten(payload, native, inputs) {
    if (payload.tool_name !== PATCH) return form.rewritten(payload, native, inputs);
    const parts = partsOf(String(fieldsOf(payload.tool_input).command));
    const changed = parts.map(({ call, text }, i) => {
      const input = inputs[i];
      return input === undefined ? text : patchOf(call, input);
    });
    const whole = changed.includes(undefined) ? undefined : `*** Begin Patch\n${changed.join('')}*** End Patch\n`;
    return whole === undefined ? undefined : { ...fieldsOf(payload.tool_input), command: whole };
  },
  payload: document => ({ ...form.payload(document), ...patchPayload(document) }),
  heard: (ended, document) => {
    const heard = form.heard(ended, document);
    if (heard.kind !== 'answer' || document.tool === undefined) return heard;
    const patch = word(heard.answer.updated_input?.command);
    const isFile = document.tool === 'file_write' || document.tool === 'file_edit';
    const [part, ...others] = isFile && patch !== undefined ? partsOf(patch) : [];
    if (part === undefined) return heard;
    if (others.length > 0) return { kind: 'fault', why: 'its patch changes several files in place of one' };
    return { kind: 'answer', answer: { ...heard.answer, updated_input: part.call.input } };
  },
  takes: {
    before_tool_execute: ['deny', 'allow', 'reason', 'context', 'updated_input', 'system_message'],
    after_tool_execute: ['deny', 'reason', 'context', 'continue', 'system_message'],
    session_start: ['context', 'continue', 'system_message'],
    before_prompt: ['deny', 'reason', 'context', 'continue', 'system_message'],
    agent_stop: ['deny', 'reason', 'continue', 'system_message'],
    subagent_start: ['context', 'continue', 'system_message'],
    subagent_stop: ['deny', 'reason', 'continue', 'system_message'],
    permission_request: ['deny', 'allow', 'reason', 'system_message'],
    before_compact: ['continue', 'system_message'],
  },
  reply(verdict, occasion) {
    const isRewrite = verdict.updatedInput !== undefined && verdict.decision === undefined;
    return jsonReply(isRewrite ? { ...verdict, decision: 'allow' } : verdict, occasion);
  },
};

/** A patch is one call for each of its files, so that a guard sees every path. */
function calls(payload: Fields): readonly Call[] {
  const patch = word(fieldsOf(payload.tool_input).command);
  const parts = payload.tool_name === PATCH && patch !== undefined ? partsOf(patch) : [];
  return parts.length > 0 ? parts.map(({ call }) => call) : form.calls(payload);
}

/** A file is changed by a patch. */
function patchPayload(document: HookDocument): Fields {
  const { tool, tool_input: input = {} } = document;
  if (tool !== 'file_write' && tool !== 'file_edit') return {};
  const part = patchOf({ tool, nativeTool: PATCH, input }, input);
  return { tool_name: PATCH, tool_input: { command: `*** Begin Patch\n${part ?? ''}*** End Patch\n` } };
}
