/** Finds the native events and matchers of a hook, and the losses of its event and matcher. */
import { isObject, type Values } from '../standards/wording.ts';
import { expressionOf, globOf } from './file-filters.ts';
import { capabilitiesOf } from './hook-capabilities.ts';
import type { AddLoss } from './losses.ts';
import { type Element, elementsOf, type Hook, type Matcher } from './manifest.ts';
import {
  decodeEvent,
  decodeMatcher,
  encodeEvent,
  encodeMatcher,
  shownElement,
  unique,
  withoutMatchers,
} from './matchers.ts';
import type { Effect, Layout, Split, Target } from './provider.ts';
import { ANY_MCP, isFileEvent, isTool, isToolEvent, type Tool, tools } from './vocabulary.ts';

export interface Place {
  readonly native: string;
  /** The event that `decode` reads. It differs from the hook's event if the native event comes too late. */
  readonly event: string;
  readonly matcher: string | undefined;
  /** The tools that the hook still runs for; undefined for every tool. */
  readonly elements: readonly Element[] | undefined;
  readonly effect: Effect;
}

/** Returns the manifest's `provider_data` for this provider. */
export function ownData({ provider_data: data }: Hook, { provider }: Target): Values {
  const own = data && Object.hasOwn(data, provider.slug) ? data[provider.slug] : undefined;
  return isObject(own) ? own : {};
}

export function placesOf(hook: Hook, target: Target, addLoss: AddLoss): Place[] {
  const { provider, facts } = target;
  const { event } = hook;
  const own = ownData(hook, target);
  const split = provider.split && Object.hasOwn(provider.split, event) ? provider.split[event] : undefined;
  const spelled = spelledEvent(event, own, target, split);
  const natives = encodeEvent(event, target);
  const native = spelled ?? natives[0];
  const severity = hook.blocking === true ? 'error' : 'warning';
  if (native === undefined) {
    addLoss({ kind: 'event_unsupported', severity, message: `${provider.title} has no event ${event}: left out` });
    return [];
  }
  if (split !== undefined && spelled === undefined)
    return splitPlaces(hook, split, natives, target, addLoss).map(place => withOwnMatcher(place, own, split, target));
  const effect = effectOf(event, facts.blocks);
  const matchers = nativeMatchers(hook, native, own, target, addLoss);
  if (matchers.length === 0)
    addLoss({ kind: 'matcher_not_honoured', severity, message: 'no event or tool is left for the hook: left out' });
  if (matchers.length > 1 && target.layout.matching.how === 'each')
    addLoss({
      kind: 'matcher_split',
      severity: 'info',
      message: `becomes ${matchers.length} entries, one for each matcher`,
    });
  return matchers.map(matcher => ({ native, event, effect, ...matcher }));
}

/** Returns true if a native matcher matches every tool. */
export const isEverything = (matcher: string): boolean => matcher === '' || matcher === '*';

const ownMatcher = ({ matcher }: Values): string | undefined =>
  typeof matcher === 'string' && !isEverything(matcher) ? matcher : undefined;

/** Adds the file's own matcher, which concerns no tool, or a tool that the vocabulary lacks. */
function withOwnMatcher(place: Place, own: Values, split: Split, { provider }: Target): Place {
  const matcher = place.matcher ?? ownMatcher(own);
  const takes = provider.otherMatchers?.includes(place.native) || (split.namesMcp && place.native === split.mcp);
  return takes ? { ...place, matcher } : place;
}

export const effectOf = (event: string, blocks: Readonly<Record<string, Effect>>): Effect =>
  (Object.hasOwn(blocks, event) ? blocks[event] : undefined) ?? 'observe';

/** Returns the file's own name of the event if it still means the same event. */
function spelledEvent(event: string, own: Values, target: Target, split: Split | undefined): string | undefined {
  if (typeof own.event !== 'string') return undefined;
  if (split && own.event !== split.every && encodeEvent(event, target).includes(own.event)) return undefined;
  return decodeEvent(own.event, target) === event || own.event === event ? own.event : undefined;
}

type Matched = Pick<Place, 'matcher' | 'elements'>;

function nativeMatchers(hook: Hook, native: string, own: Values, target: Target, addLoss: AddLoss): Matched[] {
  const { provider, layout, facts } = target;
  const spelled = ownMatcher(own);
  const { spelling } = own;
  if (!isToolEvent(hook.event) || provider.otherMatchers?.includes(native))
    return [{ matcher: matcherOfOther(hook, own, target, addLoss), elements: undefined }];
  const elements = elementsOf(hook.matcher);
  if (typeof spelling === 'string' && isSame(elementsOf(decodeMatcher(spelling, target)), elements))
    return [{ matcher: spelling, elements: layout.matching.how === 'none' ? undefined : elements }];
  const hasMatchers = layout.matching.how !== 'none';
  if (hasMatchers) addSharedLosses(elements ?? [], tool => facts.tools[tool], target, addLoss);
  const { matchers, losses } = hasMatchers
    ? encodeMatcher(hook.matcher, target)
    : withoutMatchers(hook.matcher, target);
  for (const { kind, message, isLost } of losses)
    addLoss({
      kind,
      severity: kind === 'semantic_approximation' ? 'info' : isLost && hook.blocking ? 'error' : 'warning',
      message,
    });
  return matchers.map(({ text, elements: meant }) => ({
    matcher: hasMatchers ? text : spelled,
    elements: meant,
  }));
}

/** Adds a loss for each tool that the hook runs for because it shares its native name with a tool of the matcher. */
export function addSharedLosses(
  elements: readonly Element[],
  nameOf: (tool: Tool) => string | undefined,
  { provider }: Target,
  addLoss: AddLoss,
): void {
  for (const element of elements) {
    if (typeof element !== 'string' || !isTool(element)) continue;
    const native = nameOf(element);
    const isOne = provider.oneTool?.includes(element);
    for (const other of native === undefined ? [] : tools)
      if ((nameOf(other) === native || (isOne && provider.oneTool?.includes(other))) && !elements.includes(other))
        addLoss({
          kind: 'semantic_approximation',
          severity: 'warning',
          message: `${provider.title} has one name for ${element} and ${other}: the hook runs for ${other}, too`,
        });
  }
}

/** Returns the matcher of an event without a tool. */
function matcherOfOther({ event, matcher }: Hook, own: Values, target: Target, addLoss: AddLoss): string | undefined {
  const { provider } = target;
  const { spelling } = own;
  const isFile = isFileEvent(event);
  const isFiltered = provider.fileFilters?.includes(event) === true;
  const filter = isFiltered ? filterOf(matcher, target, addLoss) : undefined;
  if (matcher !== undefined && !isFiltered && !isToolEvent(event))
    addLoss({
      kind: 'matcher_not_honoured',
      severity: isFile ? 'warning' : 'info',
      message: isFile
        ? `${provider.title} has no filter of files: the hook runs for every file, not only for ${JSON.stringify(matcher)}`
        : `${event} is not an event of a tool: its matcher has no meaning`,
    });
  const everything = typeof spelling === 'string' && isEverything(spelling) ? spelling : undefined;
  return ownMatcher(own) ?? filter ?? everything;
}

/** For events of files, the matcher is a pattern of file names: an expression, or a text that is taken for a glob. */
function filterOf(matcher: Matcher | undefined, { provider, layout }: Target, addLoss: AddLoss): string | undefined {
  const isPattern = isObject(matcher) && 'pattern' in matcher;
  const text = isPattern ? String(matcher.pattern) : matcher;
  const { fileFilter } = layout;
  const filter = typeof text !== 'string' ? undefined : inFormOf(fileFilter, text, isPattern);
  if (filter === undefined && matcher !== undefined)
    addLoss({
      kind: 'matcher_not_honoured',
      severity: 'warning',
      message: `${provider.title} has no ${fileFilter === 'glob' ? 'glob' : 'filter'} that is ${JSON.stringify(matcher)}: the hook runs for every file`,
    });
  return filter || undefined;
}

function inFormOf(form: Layout['fileFilter'], text: string, isPattern: boolean): string | undefined {
  if (form === undefined || text === '') return text;
  if (form === 'glob') return isPattern ? globOf(text) : text;
  return isPattern ? text : expressionOf(text);
}

export function isSame(some: readonly Element[] | undefined, others: readonly Element[] | undefined): boolean {
  const keys = (elements: readonly Element[] | undefined): string =>
    elements === undefined
      ? ''
      : unique(elements)
          .map(element => JSON.stringify(element))
          .sort()
          .join();
  return (some === undefined) === (others === undefined) && keys(some) === keys(others);
}

const isNamed = (element: Element): boolean => typeof element === 'string' && isTool(element);

/** Returns true if a split has an event for exactly these tools. */
const hasOwnEvent = (element: Element, split: Split): boolean =>
  typeof element === 'string' && isTool(element)
    ? Object.hasOwn(split.tools, element)
    : element === ANY_MCP || (typeof element === 'object' && 'mcp' in element);

/**
 * Returns the tools without an event of their own, and their place at the event of every tool. Only that event can
 * change arguments, so a hook that does takes it for every tool.
 */
function generalPlaces(
  hook: Hook,
  elements: readonly Element[],
  { every, ...split }: Split,
  target: Target,
  addLoss: AddLoss,
): { ofEvery: readonly Element[]; general: Place[] } {
  if (every === undefined) return { ofEvery: [], general: [] };
  const { event } = hook;
  const effect = effectOf(event, target.facts.blocks);
  const isRewriter = capabilitiesOf(hook).includes('input_rewrite');
  const ofEvery = elements.filter(element => (isRewriter && isNamed(element)) || !hasOwnEvent(element, split));
  if (ofEvery.length === 0 && elements.length > 0) return { ofEvery, general: [] };
  const matchers = nativeMatchers({ ...hook, matcher: ofEvery }, every, {}, target, addLoss);
  return { ofEvery, general: matchers.map(each => ({ native: every, event, effect, ...each })) };
}

interface Found {
  native: string;
  matcher: string | undefined;
  elements: Element[];
}

/** Returns the place at the event of a tool. Some of these events come after the action. */
function timed(found: Found, { event, blocking }: Hook, split: Split, target: Target, addLoss: AddLoss): Place {
  const { provider, facts } = target;
  const { native } = found;
  const named = { ...found, elements: unique(found.elements) };
  if (!split.late?.includes(native)) return { ...named, event, effect: effectOf(event, facts.blocks) };
  for (const element of found.elements)
    addLoss({
      kind: 'timing_shift',
      severity: blocking === true ? 'error' : 'warning',
      message: `${provider.title} has no event before ${shownElement(element)}: ${native} comes after it, so the hook can only observe`,
    });
  return { ...named, event: event.replace('before_', 'after_'), effect: 'observe' };
}

/** Returns the places of an event that the provider splits into one native event per tool. */
function splitPlaces(hook: Hook, split: Split, natives: readonly string[], target: Target, addLoss: AddLoss): Place[] {
  const { provider, facts } = target;
  const { event } = hook;
  const effect = effectOf(event, facts.blocks);
  const severity = hook.blocking === true ? 'error' : 'warning';
  const known = new Set(Object.values(facts.events).flat());
  const found = new Map<string, Found>();
  const every = (): Place[] => {
    const gap = split.gap ?? split.uncovered;
    if (gap !== undefined) addLoss({ kind: 'semantic_approximation', severity, message: `${provider.title} ${gap}` });
    return (split.every === undefined ? natives : [split.every]).map(native => ({
      native,
      event,
      matcher: undefined,
      elements: undefined,
      effect,
    }));
  };
  const put = (native: string, element: Element, matcher?: string): void => {
    const place = found.get(`${native} ${matcher}`) ?? { native, matcher, elements: [] };
    place.elements.push(element);
    found.set(`${native} ${matcher}`, place);
  };

  const elements = elementsOf(hook.matcher);
  if (elements === undefined) return every();
  const { ofEvery, general } = generalPlaces(hook, elements, split, target, addLoss);
  let isForEvery = false;
  for (const element of elements) {
    if (ofEvery.includes(element)) continue;
    if (typeof element === 'string' && isTool(element)) {
      const native = split.tools[element];
      if (native === undefined || !known.has(native))
        addLoss({
          kind: 'tool_unsupported',
          severity,
          message: `${provider.title} has no event for ${element} (${event}): the hook does not run for it`,
        });
      else put(native, element);
    } else if (element === ANY_MCP || (typeof element === 'object' && 'mcp' in element)) {
      putMcp(element);
    } else if (hook.blocking === true) {
      addLoss({
        kind: 'matcher_not_honoured',
        severity: 'warning',
        message: `${provider.title} has no matcher for ${shownElement(element)}: the hook runs for every tool there`,
      });
      isForEvery = true;
    } else {
      addLoss({
        kind: typeof element === 'string' ? 'unknown_matcher_name' : 'matcher_not_honoured',
        severity: 'warning',
        message: `${provider.title} has no matcher for ${shownElement(element)}: the hook does not run for it`,
      });
    }
  }
  addSharedLosses(elements, tool => split.tools[tool], target, addLoss);
  if (found.size === 0 && general.length === 0 && !isForEvery)
    addLoss({ kind: 'matcher_not_honoured', severity, message: 'no event or tool is left for the hook: left out' });
  if (found.size > 1 && !isForEvery)
    addLoss({ kind: 'matcher_split', severity: 'info', message: `becomes ${found.size} entries, one for each event` });
  const places = [...general, ...[...found.values()].map(each => timed(each, hook, split, target, addLoss))];
  return isForEvery ? [...every(), ...places.filter(({ native }) => !natives.includes(native))] : places;

  function putMcp(element: Element): void {
    const native = split.mcp;
    if (native === undefined || !known.has(native)) {
      const message = `${provider.title} has no event for MCP tools (${event}): they are not listened to`;
      addLoss({ kind: 'tool_unsupported', severity, message });
      return;
    }
    if (split.every !== undefined && capabilitiesOf(hook).includes('input_rewrite')) {
      const message = `${native} of ${provider.title} cannot change the arguments of ${shownElement(element)}: the hook does not run for it`;
      addLoss({ kind: 'tool_unsupported', severity: 'error', message });
      return;
    }
    const mcp = typeof element === 'object' && 'mcp' in element ? element.mcp : undefined;
    if (split.namesMcp && mcp !== undefined) {
      put(native, element, encodeMatcher(element, target).matchers[0]?.text);
      return;
    }
    if (mcp !== undefined)
      addLoss({
        kind: 'matcher_not_honoured',
        severity: 'warning',
        message: `${native} of ${provider.title} is for all MCP tools, not only for ${shownElement(element)}`,
      });
    put(native, ANY_MCP);
  }
}
