/**
 * The tables of a provider: its names of events and tools, its capabilities, and the places and shapes of its files.
 * The format does not know the providers; the tables come from the folders of agents.
 */
import type { Values } from '../standards/wording.ts';
import type { Hook } from './manifest.ts';
import { type Capability, LATEST, type RegistryVersion, type Tool } from './vocabulary.ts';

export interface Provider {
  /** The key in `provider_data`. */
  readonly slug: string;
  readonly title: string;
  /** The sources of the tables, besides the registries. */
  readonly checked: string;
  /** The facts of each version of the registries; missing if that version does not have the provider. */
  readonly registry: Readonly<Partial<Record<RegistryVersion, Facts>>>;
  /** Differences between the product and the newest registry. They are used only if the caller asks for them. */
  readonly product?: Product | undefined;
  /** Other native names that are read. */
  readonly also?: {
    readonly events?: Readonly<Record<string, string>> | undefined;
    readonly tools?: Readonly<Record<string, Tool | readonly Tool[]>> | undefined;
  };
  /** Normalizes a spelling of an event for comparison; undefined if spellings are compared unchanged. */
  spelling?(event: string): string;
  /** Events whose native names replace matchers. */
  readonly split?: Readonly<Record<string, Split>> | undefined;
  /** Native events whose matcher is not about tools. */
  readonly otherMatchers?: readonly string[] | undefined;
  /** Canonical events whose matcher is a pattern of file names. */
  readonly fileFilters?: readonly string[] | undefined;
  /** Tools of the vocabulary that are one tool of the product under several names. */
  readonly oneTool?: readonly Tool[] | undefined;
  /** The known keys in `provider_data` with their types. Values of other keys are written unchanged. */
  readonly data?: Readonly<Record<string, 'string' | 'boolean' | 'number' | 'path' | 'command'>> | undefined;
  /** Variables of the environment that hold the folder of the project; the first one is written. */
  readonly projectVariables?: readonly string[] | undefined;
  /** Providers whose files this product reads, too. */
  readonly alsoReads?: readonly string[] | undefined;
  /** Canonical events where plain text on standard output is added to the context. */
  readonly plainContext?: readonly string[] | undefined;
  /** Remarks about single events. */
  readonly remarks?: Readonly<Record<string, Remark>> | undefined;
  /** The format in which the product reads the output of a hook. */
  readonly answers?: string | undefined;
  /** Returns a command that always blocks; by default one that exits with 2. */
  stub?(reason: string): { readonly command: string; readonly windows?: string | undefined };
  /** The layouts by name; the product reads the first one. */
  readonly layouts: Readonly<Record<string, Layout>>;
}

/** What today's product does, where it differs from the newest registry. An event without native names is unknown. */
export interface Product extends Partial<Facts> {
  readonly matching?: Matching | undefined;
  readonly split?: Provider['split'];
  /** The layout that today's product reads. */
  readonly layout?: string | undefined;
}

export interface Facts {
  /** The native names by canonical event; the first one is written. */
  readonly events: Readonly<Record<string, readonly string[]>>;
  readonly tools: Readonly<Partial<Record<Tool, string | undefined>>>;
  readonly mcp: McpForm | undefined;
  readonly supports: Readonly<Record<Capability, Support>>;
  /** The effect of a block by event. On other events a hook can only watch. */
  readonly blocks: Readonly<Record<string, Effect>>;
}

/** `unsaid`: not documented. `plugin`: only with a program that is written for it. */
export type Support = 'yes' | 'partly' | 'no' | 'unsaid' | 'plugin';
/** `retry`: the agent continues to work. */
export type Effect = 'prevent' | 'retry' | 'observe';

/** A tool of an MCP server: `<before><server><between><tool>`. */
export interface McpForm {
  readonly before: string;
  readonly between: string;
  /** Other forms that are read; they are tried first. */
  readonly also?: readonly { readonly before: string; readonly between: string }[] | undefined;
}

/** The split of a canonical event: its native event per tool, and the losses. */
export interface Split {
  /** The native event of every tool, whose matcher names the tool. It is used for tools without an event of their own. */
  readonly every?: string | undefined;
  readonly tools: Readonly<Partial<Record<Tool, string>>>;
  readonly mcp: string | undefined;
  /** Native events that fire after the action, although the canonical event fires before it. */
  readonly late?: readonly string[] | undefined;
  /** The tools that no native event covers, so that the native events together are not every tool. */
  readonly gap?: string | undefined;
  /** The tools that no native event covers, although the native events together are read as every tool. */
  readonly uncovered?: string | undefined;
  /** The matcher of the event for MCP tools names the tool. */
  readonly namesMcp?: true | undefined;
}

export interface Remark {
  readonly kind: 'blocking_may_not_work' | 'semantic_approximation';
  readonly message: string;
}

export interface Layout {
  /** The description in tables. */
  readonly title: string;
  /** The usual path of the file, relative to the project. */
  readonly file: string;
  /** Matches the paths of such files. */
  readonly isFile: RegExp;
  readonly fields: HandlerFields;
  readonly matching: Matching;
  /** The form of a filter of files; without it, any text is written unchanged. */
  readonly fileFilter?: 'glob' | 'expression' | undefined;
  /** The path in a release other than that of the registries, with the facts of that release. */
  readonly facts?: Partial<Facts> | undefined;
  /** Keys of a group and of the whole file that belong to hooks. */
  readonly groupKeys?: readonly string[] | undefined;
  readonly fileKeys?: readonly string[] | undefined;
  read(text: string, name: string): Read;
  write(entries: readonly Entry[], file: Values): readonly NativeFile[];
}

/** The native names of the fields of a handler. A field without a name cannot be written. */
export interface HandlerFields {
  /** The product ignores the output of a hook with this field. */
  readonly isDeaf?: true;
  /** True if native handlers state their type. */
  readonly type?: true;
  readonly command: string;
  /** Other fields whose command runs if the first one is missing. */
  readonly otherCommands?: readonly string[] | undefined;
  readonly timeout?: { readonly name: string; readonly unit: 's' | 'ms'; readonly isWhole?: true };
  readonly cwd?: string | undefined;
  readonly env?: string | undefined;
  readonly async?: string | undefined;
  readonly status_message?: string | undefined;
  readonly platform?: Readonly<Partial<Record<'windows' | 'linux' | 'darwin', string>>> | undefined;
  /** The fields of handlers other than commands, by type. */
  readonly types?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
}

/**
 * `expression`: one regular expression for all elements. `each`: one entry for each element. `none`: the product has no
 * matchers or ignores them.
 */
export interface Matching {
  readonly how: 'expression' | 'each' | 'none';
  /** A list of names joined by `|` is not an expression. */
  readonly listsNames?: true;
  /** The word for every tool of a server. */
  server?(server: string): string;
  /** The word for every tool of every server. */
  readonly anyMcp?: string;
  /** Patterns are not regular expressions. */
  readonly hasNoPatterns?: true;
}

/** One native hook. */
export interface Entry {
  readonly event: string;
  readonly matcher?: string | undefined;
  readonly handler: Values;
  /** The other keys of the group. */
  readonly group?: Values | undefined;
  /** True if the hook blocks; undefined if the file does not state it. */
  readonly blocking?: boolean | undefined;
  /** The hook, for layouts that write a program. */
  readonly hook?: Hook | undefined;
}

export type Read =
  | { readonly ok: true; readonly entries: readonly Entry[]; readonly file: Values; readonly odd: readonly string[] }
  | { readonly ok: false; readonly why: string; readonly line?: number; readonly column?: number };

export interface NativeFile {
  readonly path: string;
  readonly text: string;
  /** The file is a program. */
  readonly isExecutable?: true;
}

/** A provider with the choices of the caller. */
export interface Target {
  readonly provider: Provider;
  readonly facts: Facts;
  readonly layout: Layout;
  /** Hooks that must not block are softened. */
  readonly softens: boolean;
  /** How commands of another dialect are written; undefined: as they are, without a remark. */
  readonly commands?: Choice['commands'];
  /** The runtime translates the hook at hand. */
  readonly isTranslated?: true;
  /** The same target by the registry alone, if this one follows the product. */
  readonly registry?: Target | undefined;
  /** The version of the registry. */
  readonly version: RegistryVersion;
}

export interface Choice {
  readonly registry?: RegistryVersion | undefined;
  readonly layout?: string | undefined;
  /** The behaviour of the product overrides the registry. */
  readonly products?: boolean | undefined;
  /** The commands of hooks that must not block are softened. */
  readonly softens?: boolean | undefined;
  /** `runtime`: commands of another dialect run through `otel-hooks run-hook`. `plain`: a guard gets a loss instead. */
  readonly commands?: 'runtime' | 'plain' | undefined;
}

export function targetOf(provider: Provider, choice: Choice = {}): Target | { why: string } {
  const version = choice.registry ?? LATEST;
  const facts = provider.registry[version];
  if (facts === undefined) return { why: `${provider.title} is not in the registries of ${version}` };
  const product = choice.products ? provider.product : undefined;
  const name = choice.layout ?? product?.layout ?? Object.keys(provider.layouts)[0] ?? '';
  const layout = Object.hasOwn(provider.layouts, name) ? provider.layouts[name] : undefined;
  if (layout === undefined)
    return { why: `${provider.title} has no layout ${name}; known: ${Object.keys(provider.layouts).join(', ')}` };
  const softens = choice.softens === true;
  const { commands } = choice;
  if (product === undefined)
    return { provider, layout, softens, commands, version, facts: together(facts, layout.facts) };
  const { matching = layout.matching, split = provider.split } = product;
  return {
    provider: { ...provider, split },
    softens,
    commands,
    layout: { ...layout, matching },
    facts: together(together(facts, product), layout.facts),
    version,
    ...registryOf(provider, choice),
  };
}

function registryOf(provider: Provider, choice: Choice): { registry?: Target } {
  const found = targetOf(provider, { ...choice, products: false });
  return 'why' in found ? {} : { registry: found };
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

/** The defaults for missing entries: nothing is supported. */
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
