/** The names of actions in Agent Hooks 0.1, and `task`, which senders use for the launch of a subagent. */
export const standardActions: ReadonlySet<string> = new Set([
  'shell',
  'read_file',
  'write_file',
  'code_edit',
  'web_search',
  'mcp',
  'task',
]);
