/**
 * The vocabulary of the Hook Interchange Format: events, tools and capabilities. It comes from registries with dates as
 * versions, which change independently of the format. The tables in `provider.ts` map it to providers.
 */
export const registryVersions = ['2026.03', '2026.04'] as const;
export type RegistryVersion = (typeof registryVersions)[number];
export const LATEST: RegistryVersion = '2026.04';

/** The core events with their descriptions. */
export const coreEvents = {
  before_tool_execute: 'a tool is going to run',
  after_tool_execute: 'a tool has run',
  session_start: 'a session begins, or goes on',
  session_end: 'a session is over',
  before_prompt: 'a prompt was sent, and the agent has not seen it',
  agent_stop: 'the agent has finished its answer',
} as const;

/** Events of more than one provider. */
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

/** Events that have different names in two registries. */
const aliases: Readonly<Record<string, string>> = { file_saved: 'file_changed', file_changed: 'file_saved' };
export const aliasOf = (event: string): string | undefined =>
  Object.hasOwn(aliases, event) ? aliases[event] : undefined;

/** Events of tools. Matchers of other events have no meaning. */
const toolEvents = [
  'before_tool_execute',
  'after_tool_execute',
  'tool_use_failure',
  'permission_request',
  'permission_denied',
];
export const isToolEvent = (event: string): boolean => toolEvents.includes(event);

/** Events of files. Their matchers are patterns of paths. */
export const isFileEvent = (event: string): boolean =>
  ['file_changed', 'file_saved', 'file_created', 'file_deleted'].includes(event);

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

/** Any tool of any MCP server. The format has no matcher for it; `decode` needs it for native events of MCP tools. */
export const ANY_MCP = 'mcp';

export type Strategy = 'block' | 'warn' | 'exclude';

/**
 * Capabilities that a hook can need besides running a command, with the default strategy for targets that lack them.
 */
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

/** Facts from outside the format: providers, events, and the regular-expression engine of patterns. */
export interface Known {
  readonly events: ReadonlySet<string>;
  readonly providers: ReadonlySet<string>;
  /** Returns the event that an agent calls so; undefined if no agent has it. */
  eventOf?(native: string): string | undefined;
  /** Returns the reason why a text is not a valid pattern. */
  patternError(pattern: string): string | undefined;
}
