/** The ids of the registry, for the types of the library. A test compares them with the registry. */
export const agentIds = [
  'claude-code',
  'codex',
  'gemini-cli',
  'cursor',
  'copilot',
  'windsurf',
  'kiro',
  'opencode',
  'cline',
  'antigravity',
  'droid',
] as const;

/**
 * An agent that otel-hooks knows.
 *
 * @example
 * ```ts
 * const agent: AgentId = 'claude-code';
 * ```
 */
export type AgentId = (typeof agentIds)[number];
