/**
 * What a provider says of itself, as tables: the names it has for events and tools, what it can carry, and in which
 * files and which shape its hooks lie. Whose provider it is, the format does not care: the tables come from outside.
 */
import type { Values } from '../standards/wording.ts';
import type { Hook } from './manifest.ts';
import { type Capability, LATEST, type RegistryVersion, type Tool } from './vocabulary.ts';

export interface Provider {
  /** As `provider_data` is keyed by it. */
  readonly slug: string;
  readonly title: string;
  /** What the tables rest on beside the registries. */
  readonly checked: string;
  /** What each version of the registries says of it; none where it is not in that one yet. */
  readonly registry: Readonly<Partial<Record<RegistryVersion, Facts>>>;
  /** What the product does beyond the newest registry, or not in spite of it: taken where it is asked for. */
  readonly product?: (Partial<Facts> & { readonly matching?: Matching }) | undefined;
  /** Native names that are understood too. */
  readonly also?: {
    readonly events?: Readonly<Record<string, string>> | undefined;
    readonly tools?: Readonly<Record<string, Tool | readonly Tool[]>> | undefined;
  };
  /** How a spelling of an event is compared; as it stands where it is left out. */
  spelling?(event: string): string;
  /** Events that carry what elsewhere a matcher does. */
  readonly split?: Readonly<Record<string, Split>> | undefined;
  /** Native events whose matcher is about something else than a tool. */
  readonly otherMatchers?: readonly string[] | undefined;
  /** Canonical events whose matcher is a filter of files. */
  readonly fileFilters?: readonly string[] | undefined;
  /** Keys of its own in `provider_data`, with what stands there: of any other only the value is taken as it is. */
  readonly data?: Readonly<Record<string, 'string' | 'boolean' | 'number' | 'path' | 'command'>> | undefined;
  /** What is peculiar to an event. */
  readonly remarks?: Readonly<Record<string, Remark>> | undefined;
  /** The words in which what a hook prints has to be said there. */
  readonly answers?: string | undefined;
  /** A command that blocks whatever it is run for; by default one that exits 2. */
  stub?(reason: string): { readonly command: string; readonly windows?: string | undefined };
  /** By name; the first is the one that the product reads. */
  readonly layouts: Readonly<Record<string, Layout>>;
}

export interface Facts {
  /** By canonical event, the native names; the first is the one that is written. */
  readonly events: Readonly<Record<string, readonly string[]>>;
  readonly tools: Readonly<Partial<Record<Tool, string>>>;
  readonly mcp: McpForm | undefined;
  readonly supports: Readonly<Record<Capability, Support>>;
  /** What a block does at an event; it is only watched where nothing stands. */
  readonly blocks: Readonly<Record<string, Effect>>;
}

/** `unsaid`: nobody documents it. `plugin`: by a program that is written for it. */
export type Support = 'yes' | 'partly' | 'no' | 'unsaid' | 'plugin';
/** `retry`: the agent goes on working. */
export type Effect = 'prevent' | 'retry' | 'observe';

/** A tool of an MCP server: `<before><server><between><tool>`. */
export interface McpForm {
  readonly before: string;
  readonly between: string;
  /** Other forms that are understood, tried first. */
  readonly also?: readonly { readonly before: string; readonly between: string }[] | undefined;
}

/** Of one canonical event: by tool the native event, and what of it is lost. */
export interface Split {
  readonly tools: Readonly<Partial<Record<Tool, string>>>;
  readonly mcp: string | undefined;
  /** Native events that come after what they should come before. */
  readonly late?: readonly string[] | undefined;
  /** What all of its events together do not cover. */
  readonly gap?: string | undefined;
  /** The event of MCP tools says which one in a matcher. */
  readonly namesMcp?: true | undefined;
}

export interface Remark {
  readonly kind: 'blocking_may_not_work' | 'semantic_approximation';
  readonly message: string;
}

export interface Layout {
  /** What is said of it in a table. */
  readonly title: string;
  /** Where it customarily lies, from the folder of a project. */
  readonly file: string;
  /** Whether a path is one of these. */
  readonly isFile: RegExp;
  readonly fields: HandlerFields;
  readonly matching: Matching;
  /** Where another release of the product reads it than the one that the registries know: what is true of that one. */
  readonly facts?: Partial<Facts> | undefined;
  /** Keys of an entry's group and of the whole file that are about hooks. */
  readonly groupKeys?: readonly string[] | undefined;
  readonly fileKeys?: readonly string[] | undefined;
  read(text: string, name: string): Read;
  write(entries: readonly Entry[], file: Values): readonly NativeFile[];
}

/** The native names of a handler's fields; what has none cannot be written. */
export interface HandlerFields {
  /** What is written there passes over what a hook prints. */
  readonly isDeaf?: true;
  /** Whether a handler says its type. */
  readonly type?: true;
  readonly command: string;
  /** Others that are run where that one is missing. */
  readonly otherCommands?: readonly string[] | undefined;
  readonly timeout?: { readonly name: string; readonly unit: 's' | 'ms'; readonly isWhole?: true };
  readonly cwd?: string | undefined;
  readonly env?: string | undefined;
  readonly async?: string | undefined;
  readonly status_message?: string | undefined;
  readonly platform?: Readonly<Partial<Record<'windows' | 'linux' | 'darwin', string>>> | undefined;
  /** By type of handler beside commands, its fields. */
  readonly types?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
}

/**
 * `expression`: one regular expression for all elements. `each`: an entry for each element. `none`: there is none, or
 * it is passed over.
 */
export interface Matching {
  readonly how: 'expression' | 'each' | 'none';
  /** Names alone, with `|` between them, are a list and no expression. */
  readonly listsNames?: true;
  /** Every tool of a server, where there is a word for that. */
  server?(server: string): string;
  /** Every tool of every server. */
  readonly anyMcp?: string;
  /** Patterns are no regular expressions there. */
  readonly hasNoPatterns?: true;
}

/** One native hook. */
export interface Entry {
  readonly event: string;
  readonly matcher?: string | undefined;
  readonly handler: Values;
  /** What stands beside it in its group. */
  readonly group?: Values | undefined;
  /** Whether it blocks, where the file says so. */
  readonly blocking?: boolean | undefined;
  /** What is written, where a layout makes a program of it. */
  readonly hook?: Hook | undefined;
}

export type Read =
  | { readonly ok: true; readonly entries: readonly Entry[]; readonly file: Values; readonly odd: readonly string[] }
  | { readonly ok: false; readonly why: string; readonly line?: number; readonly column?: number };

export interface NativeFile {
  readonly path: string;
  readonly text: string;
  /** It is a program. */
  readonly isExecutable?: true;
}

/** A provider with what is asked of it. */
export interface Target {
  readonly provider: Provider;
  readonly facts: Facts;
  readonly layout: Layout;
  /** A hook that is not to block cannot. */
  readonly softens: boolean;
}

export interface Choice {
  readonly registry?: RegistryVersion | undefined;
  readonly layout?: string | undefined;
  /** What the product does counts beside what the registry says. */
  readonly products?: boolean | undefined;
  /** Commands of hooks that are not to block are kept from it. */
  readonly softens?: boolean | undefined;
}

export function targetOf(provider: Provider, choice: Choice = {}): Target | { why: string } {
  const version = choice.registry ?? LATEST;
  const facts = provider.registry[version];
  if (facts === undefined) return { why: `${provider.title} is not in the registries of ${version}` };
  const [first = ''] = Object.keys(provider.layouts);
  const name = choice.layout ?? first;
  const layout = Object.hasOwn(provider.layouts, name) ? provider.layouts[name] : undefined;
  if (layout === undefined)
    return { why: `${provider.title} has no layout ${name}; known: ${Object.keys(provider.layouts).join(', ')}` };
  const softens = choice.softens === true;
  const there = together(facts, layout.facts);
  if (!choice.products || provider.product === undefined) return { provider, layout, softens, facts: there };
  const { matching = layout.matching, ...product } = provider.product;
  return {
    provider,
    softens,
    layout: { ...layout, matching },
    facts: together(together(facts, product), layout.facts),
  };
}

function together(facts: Facts, more: Partial<Facts> = {}): Facts {
  return {
    events: { ...facts.events, ...more.events },
    tools: { ...facts.tools, ...more.tools },
    mcp: more.mcp ?? facts.mcp,
    supports: { ...facts.supports, ...more.supports },
    blocks: { ...facts.blocks, ...more.blocks },
  };
}

/** What a provider lacks where nothing else is said. */
export const nothing: Facts['supports'] = {
  structured_output: 'no',
  input_rewrite: 'no',
  llm_evaluated: 'no',
  http_handler: 'no',
  async_execution: 'no',
  platform_commands: 'no',
  custom_env: 'no',
  configurable_cwd: 'no',
};
