/**
 * Where a hook goes at a target: the native events with their matchers, and what of event and matcher is lost there.
 */
import { isObject, type Values } from '../standards/wording.ts';
import type { Tell } from './losses.ts';
import { type Element, elementsOf, type Hook } from './manifest.ts';
import {
  decodeEvent,
  decodeMatcher,
  encodeEvent,
  encodeMatcher,
  shownElement,
  unique,
  withoutMatchers,
} from './matchers.ts';
import type { Effect, Split, Target } from './provider.ts';
import { ANY_MCP, isTool, isToolEvent } from './vocabulary.ts';

export interface Place {
  readonly native: string;
  /** The event that it is read as: another one than the hook's where it comes too late. */
  readonly event: string;
  readonly matcher: string | undefined;
  /** What it still listens to; undefined for every tool. */
  readonly elements: readonly Element[] | undefined;
  readonly effect: Effect;
}

/** What the manifest says for this provider alone. */
export function ownData({ provider_data: data }: Hook, { provider }: Target): Values {
  const own = data && Object.hasOwn(data, provider.slug) ? data[provider.slug] : undefined;
  return isObject(own) ? own : {};
}

export function placesOf(hook: Hook, target: Target, tell: Tell): Place[] {
  const { provider, facts } = target;
  const { event } = hook;
  const own = ownData(hook, target);
  const split = provider.split && Object.hasOwn(provider.split, event) ? provider.split[event] : undefined;
  const spelled = spelledEvent(event, own, target, split);
  const natives = encodeEvent(event, target);
  const native = spelled ?? natives[0];
  const severity = hook.blocking === true ? 'error' : 'warning';
  if (native === undefined) {
    tell({ kind: 'event_unsupported', severity, message: `${provider.title} has no event ${event}: left out` });
    return [];
  }
  if (split !== undefined && spelled === undefined)
    return splitPlaces(hook, split, natives, target, tell).map(place => withOwnMatcher(place, own, split, target));
  const effect = effectOf(event, facts.blocks);
  const matchers = nativeMatchers(hook, native, own, target, tell);
  if (matchers.length === 0)
    tell({ kind: 'matcher_not_honoured', severity, message: 'nothing is left that it would listen to: left out' });
  if (matchers.length > 1 && target.layout.matching.how === 'each')
    tell({
      kind: 'matcher_split',
      severity: 'info',
      message: `becomes ${matchers.length} entries, one for each matcher`,
    });
  return matchers.map(matcher => ({ native, event, effect, ...matcher }));
}

/** Nothing is what a matcher of everything says. */
export const isEverything = (matcher: string): boolean => matcher === '' || matcher === '*';

const ownMatcher = ({ matcher }: Values): string | undefined =>
  typeof matcher === 'string' && !isEverything(matcher) ? matcher : undefined;

/** What a file's own matcher is about there is no tool, or one that the format has no word for. */
function withOwnMatcher(place: Place, own: Values, split: Split, { provider }: Target): Place {
  const matcher = place.matcher ?? ownMatcher(own);
  const takes = provider.otherMatchers?.includes(place.native) || (split.namesMcp && place.native === split.mcp);
  return takes ? { ...place, matcher } : place;
}

export const effectOf = (event: string, blocks: Readonly<Record<string, Effect>>): Effect =>
  (Object.hasOwn(blocks, event) ? blocks[event] : undefined) ?? 'observe';

/** A file's own spelling of an event is used as long as it means the same. */
function spelledEvent(event: string, own: Values, target: Target, split: Split | undefined): string | undefined {
  if (typeof own.event !== 'string') return undefined;
  if (split && encodeEvent(event, target).includes(own.event)) return undefined;
  return decodeEvent(own.event, target) === event || own.event === event ? own.event : undefined;
}

type Matched = Pick<Place, 'matcher' | 'elements'>;

function nativeMatchers(hook: Hook, native: string, own: Values, target: Target, tell: Tell): Matched[] {
  const { provider, layout } = target;
  const spelled = ownMatcher(own);
  const { spelling } = own;
  if (!isToolEvent(hook.event) || provider.otherMatchers?.includes(native)) {
    const filter = provider.fileFilters?.includes(hook.event) ? filterOf(hook) : undefined;
    if (hook.matcher !== undefined && filter === undefined && !isToolEvent(hook.event))
      tell({
        kind: 'matcher_not_honoured',
        severity: 'info',
        message: `${hook.event} is no event of a tool: its matcher says nothing`,
      });
    const everything = typeof spelling === 'string' && isEverything(spelling) ? spelling : undefined;
    return [{ matcher: spelled ?? filter ?? everything, elements: undefined }];
  }
  const elements = elementsOf(hook.matcher);
  if (typeof spelling === 'string' && isSame(elementsOf(decodeMatcher(spelling, target)), elements))
    return [{ matcher: spelling, elements: layout.matching.how === 'none' ? undefined : elements }];
  const isHeard = layout.matching.how !== 'none';
  const { matchers, losses } = isHeard ? encodeMatcher(hook.matcher, target) : withoutMatchers(hook.matcher, target);
  for (const { kind, message, isLost } of losses)
    tell({
      kind,
      severity: kind === 'semantic_approximation' ? 'info' : isLost && hook.blocking ? 'error' : 'warning',
      message,
    });
  return matchers.map(({ text, elements: told }) => ({
    matcher: isHeard ? text : spelled,
    elements: told,
  }));
}

/** Of a file's event the text is a pattern of files. */
function filterOf({ matcher }: Hook): string | undefined {
  if (typeof matcher === 'string') return matcher || undefined;
  return isObject(matcher) && 'pattern' in matcher ? String(matcher.pattern) || undefined : undefined;
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

/** The event itself says which tool it is about. */
function splitPlaces(hook: Hook, split: Split, natives: readonly string[], target: Target, tell: Tell): Place[] {
  const { provider, facts } = target;
  const { event } = hook;
  const effect = effectOf(event, facts.blocks);
  const severity = hook.blocking === true ? 'error' : 'warning';
  const known = new Set(Object.values(facts.events).flat());
  const found = new Map<string, { native: string; matcher: string | undefined; elements: Element[] }>();
  const every = (): Place[] => {
    if (split.gap !== undefined)
      tell({ kind: 'semantic_approximation', severity: 'warning', message: `${provider.title} ${split.gap}` });
    return natives.map(native => ({ native, event, matcher: undefined, elements: undefined, effect }));
  };
  const put = (native: string, element: Element, matcher?: string): void => {
    const place = found.get(`${native} ${matcher}`) ?? { native, matcher, elements: [] };
    place.elements.push(element);
    found.set(`${native} ${matcher}`, place);
  };

  const elements = elementsOf(hook.matcher);
  if (elements === undefined) return every();
  let isForEvery = false;
  for (const element of elements) {
    if (typeof element === 'string' && isTool(element)) {
      const native = split.tools[element];
      if (native === undefined || !known.has(native))
        tell({
          kind: 'tool_unsupported',
          severity,
          message: `${provider.title} has no event for ${element} (${event}): it is not listened to`,
        });
      else put(native, element);
    } else if (element === ANY_MCP || (typeof element === 'object' && 'mcp' in element)) {
      putMcp(element);
    } else if (hook.blocking === true) {
      tell({
        kind: 'matcher_not_honoured',
        severity: 'warning',
        message: `${provider.title} has no matcher for ${shownElement(element)}: the hook runs for every tool there, rather too often than too seldom`,
      });
      isForEvery = true;
    } else {
      tell({
        kind: typeof element === 'string' ? 'unknown_matcher_name' : 'matcher_not_honoured',
        severity: 'warning',
        message: `${provider.title} has no matcher for ${shownElement(element)}: it is not listened to`,
      });
    }
  }
  if (found.size === 0 && !isForEvery)
    tell({ kind: 'matcher_not_honoured', severity, message: 'nothing is left that it would listen to: left out' });
  if (found.size > 1 && !isForEvery)
    tell({ kind: 'matcher_split', severity: 'info', message: `becomes ${found.size} entries, one for each event` });
  const places = [...found.values()].map(place => late(place));
  return isForEvery ? [...every(), ...places.filter(({ native }) => !natives.includes(native))] : places;

  function putMcp(element: Element): void {
    const native = split.mcp;
    if (native === undefined || !known.has(native)) {
      const message = `${provider.title} has no event for MCP tools (${event}): they are not listened to`;
      tell({ kind: 'tool_unsupported', severity, message });
      return;
    }
    const mcp = typeof element === 'object' && 'mcp' in element ? element.mcp : undefined;
    if (split.namesMcp && mcp !== undefined) {
      put(native, element, encodeMatcher(element, target).matchers[0]?.text);
      return;
    }
    if (mcp !== undefined)
      tell({
        kind: 'matcher_not_honoured',
        severity: 'warning',
        message: `${native} of ${provider.title} is for all MCP tools, not only for ${shownElement(element)}`,
      });
    put(native, ANY_MCP);
  }

  function late({
    native,
    matcher,
    elements: told,
  }: {
    native: string;
    matcher: string | undefined;
    elements: Element[];
  }): Place {
    const named = { native, matcher, elements: unique(told) };
    if (!split.late?.includes(native)) return { ...named, event, effect };
    for (const element of told)
      tell({
        kind: 'timing_shift',
        severity: 'warning',
        message: `${provider.title} has no event before ${shownElement(element)}: ${native} comes after it, so that the hook can only watch`,
      });
    return { ...named, event: event.replace('before_', 'after_'), effect: 'observe' };
  }
}
