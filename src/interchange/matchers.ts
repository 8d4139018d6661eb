/**
 * Converts matchers and events between the vocabulary of the format and that of a provider. No conversion makes a
 * matcher match more tools.
 */
import { type Element, elementsOf, type Matcher, matcherOf } from './manifest.ts';
import type { McpForm, Target } from './provider.ts';
import { ANY_MCP, aliasOf, isTool, type Tool } from './vocabulary.ts';

export interface MatcherLoss {
  readonly kind: 'unknown_matcher_name' | 'tool_unsupported' | 'matcher_not_honoured' | 'semantic_approximation';
  readonly message: string;
  /** The hook no longer runs for the tools of this matcher. */
  readonly isLost: boolean;
}

/** The matcher of one native entry; both fields are undefined for every tool. */
export interface NativeMatcher {
  readonly text: string | undefined;
  readonly elements: readonly Element[] | undefined;
}

export interface EncodedMatcher {
  readonly matchers: readonly NativeMatcher[];
  readonly losses: readonly MatcherLoss[];
}

export function encodeMatcher(matcher: Matcher | undefined, target: Target): EncodedMatcher {
  const elements = elementsOf(matcher);
  if (elements === undefined) return { matchers: [{ text: undefined, elements }], losses: [] };
  const { layout } = target;
  const losses: MatcherLoss[] = [];
  const written = elements.flatMap(element => {
    const found = encodeElement(element, target);
    if (found.loss) losses.push(found.loss);
    return found.text === undefined ? [] : [{ element, text: found.text, isExpression: found.isExpression === true }];
  });
  if (elements.length === 0) losses.push(lost('matcher_not_honoured', 'an empty array of matchers matches nothing'));
  const { how, listsNames } = layout.matching;
  if (how !== 'expression' || written.length === 0) return { matchers: eachOf(written), losses };
  return {
    matchers: [
      native(
        joined(written, listsNames),
        written.map(({ element }) => element),
      ),
    ],
    losses,
  };
}

/** Returns one matcher for each native name. Tools that share a name share its matcher: otherwise the hook runs twice. */
function eachOf(written: readonly { element: Element; text: string }[]): NativeMatcher[] {
  const found = new Map<string, Element[]>();
  for (const { element, text } of written) found.set(text, [...(found.get(text) ?? []), element]);
  return [...found].map(([text, elements]) => native(text, elements));
}

/** An empty pattern matches every tool, which is written as no matcher. */
const native = (text: string, elements: readonly Element[]): NativeMatcher =>
  text === '' ? { text: undefined, elements: undefined } : { text, elements };

/** For targets that have no matchers or ignore them. */
export function withoutMatchers(matcher: Matcher | undefined, { provider }: Target): EncodedMatcher {
  const elements = elementsOf(matcher);
  const matchers = [{ text: undefined, elements: undefined }];
  if (elements === undefined) return { matchers, losses: [] };
  if (elements.length === 0)
    return { matchers: [], losses: [lost('matcher_not_honoured', 'an empty array of matchers matches nothing')] };
  const message = `${provider.title} has no matchers: there it runs for every tool, not only for ${elements.map(shownElement).join(', ')}`;
  return { matchers, losses: [{ kind: 'matcher_not_honoured', message, isLost: false }] };
}

export const shownElement = (element: Element): string =>
  typeof element === 'string'
    ? element
    : 'pattern' in element
      ? `/${element.pattern}/`
      : `mcp ${element.mcp.server}${element.mcp.tool === undefined ? '' : `/${element.mcp.tool}`}`;

const lost = (kind: MatcherLoss['kind'], message: string): MatcherLoss => ({ kind, message, isLost: true });

interface EncodedElement {
  readonly text?: string;
  readonly isExpression?: boolean;
  readonly loss?: MatcherLoss;
}

function encodeElement(element: Element, { provider, facts, layout }: Target): EncodedElement {
  const { matching } = layout;
  if (typeof element === 'string') {
    if (isTool(element)) {
      const text = facts.tools[element];
      return text === undefined
        ? { loss: lost('tool_unsupported', `${provider.title} has no tool for ${element}`) }
        : { text };
    }
    if (element === ANY_MCP && matching.anyMcp) return { text: matching.anyMcp, isExpression: true };
    if (everyTool.includes(element))
      return { loss: lost('matcher_not_honoured', `'${element}' is no matcher: for every tool there is none`) };
    const message = `${element} is no word of the format: it is taken for the name of a tool of ${provider.title}`;
    return { text: element, loss: { kind: 'unknown_matcher_name', message, isLost: false } };
  }
  if ('pattern' in element) {
    const message = matching.hasNoPatterns
      ? `${provider.title} has no regular expressions: ${element.pattern} will hardly match there`
      : `${element.pattern} is compared with the names that ${provider.title} has for tools, which may be others`;
    const kind = matching.hasNoPatterns ? 'matcher_not_honoured' : 'semantic_approximation';
    return { text: element.pattern, isExpression: true, loss: { kind, message, isLost: false } };
  }
  const { server, tool } = element.mcp;
  const form = facts.mcp;
  if (form === undefined)
    return { loss: lost('matcher_not_honoured', `${provider.title} has no names for tools of MCP servers`) };
  if (tool !== undefined) return { text: `${form.before}${server}${form.between}${tool}` };
  if (matching.server) return { text: matching.server(server) };
  if (matching.how !== 'expression')
    return {
      loss: lost('matcher_not_honoured', `${provider.title} cannot name all tools of the MCP server ${server}`),
    };
  return { text: `${escaped(`${form.before}${server}${form.between}`)}.*`, isExpression: true };
}

/** The spellings of "every tool" in native files. */
const everyTool = ['', '*', '.*'];

/** Returns a pattern that matches only this text. */
export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const isName = (text: string): boolean => /^\w+$/.test(text);

interface Written {
  readonly text: string;
  readonly isExpression: boolean;
}

/** When a list of names becomes an expression, each name still matches only the whole name. */
function joined(written: readonly Written[], listsNames: true | undefined): string {
  const [only] = written;
  if (written.length === 1 && only !== undefined) return only.isExpression ? only.text : escaped(only.text);
  const isList = written.every(({ text, isExpression }) => !isExpression && isName(text));
  return written
    .map(({ text, isExpression }) => {
      // A pattern with alternatives gets brackets, because its last alternative would otherwise join the next element.
      if (isExpression) return alternatives(text).length > 1 ? `(?:${text})` : text;
      return isList || !listsNames ? escaped(text) : `^${escaped(text)}$`;
    })
    .join('|');
}

/** Returns the matcher of a native text; undefined for every tool. */
export function decodeMatcher(native: string, target: Target): Matcher | undefined {
  if (everyTool.includes(native)) return undefined;
  const { how } = target.layout.matching;
  if (how !== 'expression') return matcherOf(serverIn(native, target) ?? decodeName(native, target));
  const parts = alternatives(native.replace(/^\^?\((?:\?:)?([^()\\]*)\)\$?$/, '$1'));
  const elements = parts.map(part => decodePart(part, target));
  const all = elements.every(each => each !== undefined) ? unique(elements.flat()) : undefined;
  return all === undefined ? { pattern: native } : matcherOf(all);
}

/** Splits at bars. An escaped bar is an ordinary character. */
function alternatives(expression: string): string[] {
  const parts = [''];
  for (const [piece] of expression.matchAll(/\\[\s\S]|[\s\S]/g)) {
    if (piece === '|') parts.push('');
    else parts.push(`${parts.pop()}${piece}`);
  }
  return parts;
}

function decodePart(part: string, target: Target): readonly Element[] | undefined {
  if (part === target.layout.matching.anyMcp) return [ANY_MCP];
  const server = serverIn(part, target);
  if (server !== undefined) return server;
  const name = /^\^?((?:[^\\^$.*+?()[\]{}|]|\\\W)+)\$?$/.exec(part)?.[1];
  return name === undefined ? undefined : decodeName(unescaped(name), target);
}

/** A pattern for every tool of a server: its prefix and any rest. */
function serverIn(part: string, { facts }: Target): readonly Element[] | undefined {
  const { mcp: form } = facts;
  const text = unescaped(/^\^?((?:[^\\^$.*+?()[\]{}|]|\\\W)+)\.\*\$?$/.exec(part)?.[1] ?? '');
  for (const { before, between } of form === undefined ? [] : [...(form.also ?? []), form]) {
    const server = text.slice(before.length, -between.length);
    if (text === `${before}${server}${between}` && server !== '' && !isForeign(text, before))
      return [{ mcp: { server } }];
  }
  return undefined;
}

/** For providers whose MCP names have a prefix. */
const isForeign = (name: string, before: string): boolean => before === '' && name.startsWith('mcp__');

const unescaped = (text: string): string => text.replace(/\\(\W)/g, '$1');

/** A native name can stand for two tools of the format. */
export function decodeName(name: string, { provider, facts, layout }: Target): readonly Element[] {
  const named = (Object.entries(facts.tools) as [Tool, string][]).filter(([, native]) => native === name);
  if (named.length > 0) return named.map(([tool]) => tool);
  const also = provider.also?.tools;
  const known = also && Object.hasOwn(also, name) ? also[name] : undefined;
  if (known !== undefined) return typeof known === 'string' ? [known] : known;
  if (name === layout.matching.anyMcp) return [ANY_MCP];
  const ofServer = /^@([^/]+)(?:\/(.+))?$/.exec(name);
  if (layout.matching.server && ofServer?.[1] !== undefined && ofServer[1] !== 'builtin')
    return [{ mcp: { server: ofServer[1], ...(ofServer[2] === undefined ? {} : { tool: ofServer[2] }) } }];
  const mcp = mcpIn(name, facts.mcp);
  return [mcp === undefined ? name : { mcp }];
}

/**
 * The first separator divides server and tool, because names of servers do not contain it. Names of servers may contain
 * a dash, and names of tools seldom do, so there the last separator divides them.
 */
function mcpIn(name: string, form: McpForm | undefined): { server: string; tool: string } | undefined {
  if (form === undefined) return undefined;
  for (const { before, between } of [...(form.also ?? []), form]) {
    if (!name.startsWith(before) || isForeign(name, before)) continue;
    const rest = name.slice(before.length);
    const at = between === '-' ? rest.lastIndexOf(between) : rest.indexOf(between);
    if (at > 0 && at + between.length < rest.length)
      return { server: rest.slice(0, at), tool: rest.slice(at + between.length) };
  }
  return undefined;
}

export const unique = (elements: readonly Element[]): readonly Element[] => {
  const seen = new Set<string>();
  return elements.filter(element => {
    const key = JSON.stringify(element);
    return !seen.has(key) && seen.add(key);
  });
};

/** Returns the native names of an event; the first one is written. */
export function encodeEvent(event: string, { facts }: Target): readonly string[] {
  const alias = aliasOf(event);
  for (const name of [event, alias]) {
    const found = name !== undefined && Object.hasOwn(facts.events, name) ? facts.events[name] : undefined;
    if (found !== undefined && found.length > 0) return found;
  }
  return [];
}

/** Returns the event of a native name. A native event can stand for several events. */
export function decodeEvent(native: string, { provider, facts }: Target): string | undefined {
  const same = provider.spelling ?? (name => name);
  const wanted = same(native);
  for (const [event, names] of Object.entries(facts.events))
    if (names.some(name => same(name) === wanted)) return event;
  for (const [name, event] of Object.entries(provider.also?.events ?? {})) if (same(name) === wanted) return event;
  return undefined;
}

/** Returns the tools of a native event of a provider that splits events by tool. */
export function decodeSplit(
  native: string,
  matcher: string | undefined,
  target: Target,
): { event: string; elements: readonly Element[] | undefined } | undefined {
  for (const [event, split] of Object.entries(target.provider.split ?? {})) {
    if (split.late?.includes(native) || !encodeEvent(event, target).includes(native)) continue;
    if (native === split.every) {
      const found = matcher === undefined ? undefined : elementsOf(decodeMatcher(matcher, target));
      return { event, elements: found };
    }
    const tools = (Object.entries(split.tools) as [Tool, string][]).filter(([, name]) => name === native);
    if (tools.length > 0) return { event, elements: tools.map(([tool]) => tool) };
    if (split.mcp !== native) continue;
    const named = split.namesMcp && matcher !== undefined ? elementsOf(decodeMatcher(matcher, target)) : undefined;
    return { event, elements: named?.every(each => typeof each === 'object' && 'mcp' in each) ? named : [ANY_MCP] };
  }
  return undefined;
}
