/**
 * The words of the Hook Interchange Format: events, tools and capabilities. They live in registries with a date for a
 * version, which grow without the format; what providers make of the words is in their own tables (`provider.ts`).
 */
export const registryVersions = ['2026.03', '2026.04'] as const;
export type RegistryVersion = (typeof registryVersions)[number];
export const LATEST: RegistryVersion = '2026.04';

/** What each core event is about. */
export const coreEvents = {
  before_tool_execute: 'a tool is going to run',
  after_tool_execute: 'a tool has run',
  session_start: 'a session begins, or goes on',
  session_end: 'a session is over',
  before_prompt: 'a prompt was sent, and the agent has not seen it',
  agent_stop: 'the agent has finished its answer',
} as const;

/** Events that more than one provider may have. */
export const extendedEvents = {
  before_compact: 'the context is going to be compacted',
  after_compact: 'the context was compacted',
  notification: 'the agent notifies its user',
  error_occurred: 'the agent met an error',
  tool_use_failure: 'a tool failed',
  file_changed: 'a file was made, changed or saved',
  subagent_start: 'a subagent begins',
  subagent_stop: 'a subagent is done',
  permission_request: 'permission is asked for',
  permission_denied: 'permission was refused without asking',
  before_model: 'a model is going to be asked',
  after_model: 'a model has answered',
  before_tool_selection: 'a model is going to choose a tool',
} as const;

/** Names of one event in two registries. */
const aliases: Readonly<Record<string, string>> = { file_saved: 'file_changed', file_changed: 'file_saved' };
export const aliasOf = (event: string): string | undefined =>
  Object.hasOwn(aliases, event) ? aliases[event] : undefined;

/** Only of these a matcher says anything: elsewhere there is no tool to be matched. */
const toolEvents = [
  'before_tool_execute',
  'after_tool_execute',
  'tool_use_failure',
  'permission_request',
  'permission_denied',
];
export const isToolEvent = (event: string): boolean => toolEvents.includes(event);

export const tools = [
  'shell',
  'file_read',
  'file_write',
  'file_edit',
  'search',
  'find',
  'web_search',
  'web_fetch',
  'agent',
] as const;
export type Tool = (typeof tools)[number];
export const isTool = (name: string): name is Tool => (tools as readonly string[]).includes(name);

/** Any tool of any MCP server, which the format has no matcher for: what a provider's event for these is read as. */
export const ANY_MCP = 'mcp';

export type Strategy = 'block' | 'warn' | 'exclude';

/** What a hook may need beyond a command that is run, and what becomes of it by default where a target lacks that. */
export const capabilities = {
  structured_output: { strategy: 'warn', what: 'an answer in JSON' },
  input_rewrite: { strategy: 'block', what: "changing a tool's arguments" },
  llm_evaluated: { strategy: 'exclude', what: 'a model that decides' },
  http_handler: { strategy: 'warn', what: 'a request instead of a command' },
  async_execution: { strategy: 'warn', what: 'running without being waited for' },
  platform_commands: { strategy: 'warn', what: 'a command for each system' },
  custom_env: { strategy: 'warn', what: 'environment variables' },
  configurable_cwd: { strategy: 'warn', what: 'a working directory' },
} as const satisfies Record<string, { strategy: Strategy; what: string }>;
export type Capability = keyof typeof capabilities;
export const capabilityNames = Object.keys(capabilities) as Capability[];

export const defaultStrategy = (capability: string): Strategy =>
  Object.hasOwn(capabilities, capability) ? capabilities[capability as Capability].strategy : 'warn';

/** What lies outside the format: whose events and names there are, and the engine that patterns are written for. */
export interface Known {
  readonly events: ReadonlySet<string>;
  readonly providers: ReadonlySet<string>;
  /** Why a text is no pattern. */
  patternError(pattern: string): string | undefined;
}
