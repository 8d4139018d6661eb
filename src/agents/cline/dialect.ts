import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, own, text, word } from '../../lib/read.ts';
import type { Call, Dialect, HookDocument } from '../contract/dialect.ts';
import {
  answered,
  callOf,
  fault,
  heardByCode,
  inputOf,
  json,
  nativeCall,
  nativeEvent,
  plainFields,
  rewrittenInput,
  type ToolRows,
  updatedInput,
} from '../shared/dialect.ts';

const rows: ToolRows = {
  run_commands: { tool: 'shell', fields: { command: 'command' } },
  execute_command: { tool: 'shell', fields: { command: 'command' } },
  read_files: { tool: 'file_read', fields: { path: 'path' } },
  read_file: { tool: 'file_read', fields: { path: 'path' } },
  editor: { tool: 'file_edit', fields: { path: 'path', old_text: 'old_text', new_text: 'new_text' } },
  write_to_file: { tool: 'file_write', fields: { path: 'path', content: 'content' } },
  search_codebase: { tool: 'search', fields: { pattern: 'query' } },
  search_files: { tool: 'search', fields: { pattern: 'regex', path: 'path' } },
  list_files: { tool: 'find', fields: { path: 'path' } },
  fetch_web_content: { tool: 'web_fetch', fields: { url: 'url' } },
  web_fetch: { tool: 'web_fetch', fields: { url: 'url' } },
  web_search: { tool: 'web_search', fields: { query: 'query' } },
  spawn_agent: { tool: 'agent', fields: { prompt: 'task' } },
};
/** Editing without an old text writes a file. */
const writing = { path: 'path', content: 'new_text' };
/** Tools that take a list: the field of the list, and that of each element. */
const lists: Readonly<Record<string, { list: string; field: string }>> = {
  run_commands: { list: 'commands', field: 'command' },
  read_files: { list: 'files', field: 'path' },
  search_codebase: { list: 'queries', field: 'query' },
};
const mcp = { before: '', between: '__' };
const fields: Dialect['fields'] = {
  session_id: ['taskId'],
  tool_use_id: ['tool_call.id'],
  tool_output: ['postToolUse.result'],
  prompt: ['userPromptSubmit.prompt'],
  response: ['turn.outputText'],
  message: ['notification.message'],
  cause: ['reason'],
  subagent_id: ['agent_id'],
};

export const dialect: Dialect = {
  slug: 'cline',
  title: 'Cline',
  events: {
    PreToolUse: 'before_tool_execute',
    PostToolUse: 'after_tool_execute',
    TaskStart: 'session_start',
    TaskResume: 'session_start',
    TaskCancel: 'session_end',
    UserPromptSubmit: 'before_prompt',
    TaskComplete: 'agent_stop',
    PreCompact: 'before_compact',
    tool_call: 'before_tool_execute',
    tool_result: 'after_tool_execute',
    agent_start: 'session_start',
    agent_resume: 'session_start',
    agent_abort: 'session_end',
    prompt_submit: 'before_prompt',
    agent_end: 'agent_stop',
  },
  eventFields: ['hookName'],
  fields,
  calls(payload) {
    const { name, input } = useOf(payload);
    if (name === undefined) return [];
    const listed = elementsOf(name, input);
    if (listed !== undefined)
      return listed.map(each => callOf(name, isFields(each) ? each : { [own(lists, name)?.field ?? '']: each }, rows));
    if (name === 'use_mcp_tool') {
      const tool = text(input.tool_name) ?? '';
      return [
        { tool, nativeTool: name, mcp: { server: word(input.server_name), tool }, input: inputOf(input.arguments) },
      ];
    }
    if (writes(name, input)) return [{ ...callOf(name, input, { editor: { tool: 'file_write', fields: writing } }) }];
    return [callOf(name, input, rows, mcp)];
  },
  rewritten(payload, _native, inputs) {
    const { name, input } = useOf(payload);
    if (name === undefined) return undefined;
    const listed = elementsOf(name, input);
    if (listed !== undefined) return withElements(name, input, listed, inputs);
    const [changed] = inputs;
    if (changed === undefined || name === 'use_mcp_tool') return undefined;
    if (!writes(name, input)) return rewrittenInput(name, input, changed, rows);
    return rewrittenInput(name, input, changed, { editor: { tool: 'file_write', fields: writing } });
  },
  payload(document) {
    const isTool = document.tool !== undefined;
    const name = nativeEvent(document, dialect.events);
    const key = `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
    const plain = plainFields(document, fields);
    return {
      hookName: name,
      ...plain,
      ...(isTool ? { [key]: { ...fieldsOf(plain[key]), ...parameters(document) } } : {}),
    };
  },
  heard(ended, document) {
    // The product lets the action go on; the programs that `convert` writes for bare commands deny.
    const byCode = heardByCode(ended);
    if (byCode !== undefined) return byCode;
    const control = /^HOOK_CONTROL\t(.*)$/m.exec(ended.stdout)?.[1];
    const said = (control ?? ended.stdout).trim();
    if (said === '') return answered({});
    const output = json(said) ?? json(said.slice(said.lastIndexOf('\n{') + 1));
    if (!isFields(output)) return fault(`its output is not JSON: ${said.slice(0, 200)}`);
    return answered({
      decision: output.cancel === true ? 'deny' : output.review === true ? 'ask' : undefined,
      reason: text(output.errorMessage),
      context: text(output.contextModification) ?? text(output.context),
      updated_input: updatedInput(output.overrideInput, document, rows),
    });
  },
  takes: {
    before_tool_execute: ['deny', 'reason', 'context', 'updated_input'],
    after_tool_execute: ['context'],
    session_start: ['deny', 'reason', 'context'],
    before_prompt: ['deny', 'reason', 'context'],
  },
  reply({ decision, reason, context, updatedInput: input }) {
    if (decision === 'deny') return { stdout: { cancel: true, errorMessage: reason ?? 'A hook denied this.' } };
    return {
      stdout: {
        cancel: false,
        ...(context === undefined ? {} : { contextModification: context }),
        ...(input === undefined ? {} : { overrideInput: input }),
      },
    };
  },
};

function useOf(payload: Fields): { name: string | undefined; input: Fields } {
  const use = fieldsOf(payload.tool_call ?? payload.tool_result);
  const older = fieldsOf(payload.preToolUse ?? payload.postToolUse);
  const input = use.input ?? older.parameters;
  return { name: word(use.name) ?? word(older.toolName), input: inputOf(input) };
}

const writes = (name: string, input: Fields): boolean => name === 'editor' && typeof input.old_text !== 'string';

/** The older payload has nested values as JSON in texts. */
function elementsOf(name: string, input: Fields): readonly unknown[] | undefined {
  const row = own(lists, name);
  const list = row === undefined ? undefined : input[row.list];
  const read = typeof list === 'string' ? json(list) : list;
  return Array.isArray(read) && read.length > 0 ? read : undefined;
}

function withElements(
  name: string,
  input: Fields,
  elements: readonly unknown[],
  inputs: readonly (Fields | undefined)[],
): Fields {
  const { list = '', field = '' } = own(lists, name) ?? {};
  const changed = elements.map((element, i) => {
    const fresh = inputs[i];
    if (fresh === undefined) return element;
    const one = rewrittenInput(name, isFields(element) ? element : {}, fresh, rows);
    return isFields(element) ? one : one[field];
  });
  return { ...input, [list]: changed };
}

function parameters(document: HookDocument): Fields {
  const call: Pick<Call, 'input'> & { name: string } = nativeCall(document, rows, mcp) ?? { name: '', input: {} };
  return { toolName: call.name, parameters: call.input };
}
