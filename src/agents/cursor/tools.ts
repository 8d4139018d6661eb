/** Cursor's names of its tools. The set is open: these names were seen. */
import type { Facts, Fields } from '../../event/event.ts';
import { fieldsOf, isFields, own, text, word } from '../../lib/read.ts';

export const actions = {
  Delete: 'delete_file',
  Grep: 'grep',
  Read: 'read_file',
  Shell: 'shell',
  Task: 'agent',
  WebFetch: 'web_search',
  WebSearch: 'web_search',
  Write: 'write_file',
} as const satisfies Record<string, string>;

const actionNames: Readonly<Record<string, string>> = actions;

const MCP = /^MCP:(.+)$/s;

/** Returns the tool of an MCP server if the name shows it; the name does not show the server. */
export const mcpToolOf = (fields: Fields): string | undefined => MCP.exec(text(fields.tool_name) ?? '')?.[1];

export function actionName(fields: Fields): string {
  const tool = text(fields.tool_name) ?? 'unknown';
  const mcp = mcpToolOf(fields);
  return mcp === undefined ? (own(actionNames, tool) ?? tool) : `mcp:${mcp}`;
}

export function toolFacts(fields: Fields, server?: string): Pick<Facts, 'tool' | 'mcp'> {
  const mcp = mcpToolOf(fields);
  if (mcp === undefined) return { tool: text(fields.tool_name) ?? 'unknown' };
  return { tool: mcp, mcp: { server: server ?? 'unknown' } };
}

export function launchedBy(fields: Fields, id?: string): Facts['launches'] {
  if (fields.tool_name !== 'Task') return undefined;
  return { id, agent: word(inputOf(fields.tool_input).subagent_type) };
}

/** Some inputs are objects, some are JSON in a string. */
export function inputOf(value: unknown): Fields {
  if (typeof value !== 'string') return fieldsOf(value);
  try {
    const parsed: unknown = JSON.parse(value);
    return isFields(parsed) ? parsed : { raw: value };
  } catch {
    // Not JSON: the text itself is the input.
    return value === '' ? {} : { raw: value };
  }
}
