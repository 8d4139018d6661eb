/**
 * Converts between manifests and native files. `encode` fits a manifest and writes native files, and then verifies that
 * reading these files returns the same hooks. `decode` reads a native file. All functions are pure.
 */
import { isObject, type Values } from '../standards/wording.ts';
import { type Fit, type Fitted, fittedTo, rendered } from './fit.ts';
import { has } from './hook-capabilities.ts';
import { type AddLoss, type Loss, lossAdder } from './losses.ts';
import {
  type Element,
  elementsOf,
  type Handler,
  type Hook,
  type Manifest,
  type Matcher,
  matcherOf,
  nameOf,
  SPEC,
} from './manifest.ts';
import { decodeEvent, decodeMatcher, decodeName, decodeSplit, encodeEvent } from './matchers.ts';
import { effectOf, isEverything, isSame, placesOf } from './native-places.ts';
import type { Entry, HandlerFields, McpForm, NativeFile, Target } from './provider.ts';
import { addRegistryLoss } from './registry-differences.ts';
import { runtimeHandler, unwrapped, withUnwrapped } from './runtime-command.ts';
import { ANY_MCP, isTool, isToolEvent } from './vocabulary.ts';

export type Encoded =
  | { ok: true; files: readonly NativeFile[]; losses: readonly Loss[]; fit: Fit }
  /** No hook could be written, or reading the written files returned other hooks. */
  | { ok: false; why: string; losses: readonly Loss[]; fit: Fit };

export function convertManifest(manifest: Manifest, target: Target): Encoded {
  const fitted = fittedTo(manifest, target);
  const losses = [...fitted.losses];
  const { provider, layout } = target;
  if (!fitted.isConvertible)
    return { ok: false, why: `${provider.title} supports none of its hooks`, losses, fit: fitted };
  const file: Record<string, unknown> = {};
  const entries = fitted.hooks.flatMap(each => {
    const addLoss = lossAdder(losses, each.index + 1, nameOf(each.hook, each.index));
    const data = rendered(each.hook, target, addLoss);
    Object.assign(file, data.file);
    return entriesOf(each, data, target);
  });
  for (const [index, hook] of manifest.hooks.entries())
    addRegistryLoss(hook, target, lossAdder(losses, index + 1, nameOf(hook, index)));
  const files = layout.write(entries, file);
  losses.sort((a, b) => (a.hook ?? Number.MAX_SAFE_INTEGER) - (b.hook ?? Number.MAX_SAFE_INTEGER));
  const why = verify(fitted, files, target);
  return why === undefined ? { ok: true, files, losses, fit: fitted } : { ok: false, why, losses, fit: fitted };
}

function entriesOf(
  { hook, places, outcome }: Fitted,
  data: { handler: Values; group: Values },
  target: Target,
): Entry[] {
  return places.map(({ native, matcher }) => ({
    event: native,
    handler: {
      ...nativeHandler({ ...hook, handler: handlerFor(hook, native, outcome, target) }, target),
      ...data.handler,
    },
    group: data.group,
    hook,
    ...(matcher === undefined ? {} : { matcher }),
  }));
}

/** A hook that always blocks is written in the words of the target. */
const handlerFor = (hook: Hook, native: string, outcome: Fitted['outcome'], target: Target): Handler =>
  outcome === 'block' ? hook.handler : runtimeHandler(hook, native, target);

function nativeHandler({ handler, provider_data: data }: Hook, { provider, layout }: Target): Values {
  const { fields } = layout;
  const own = data && Object.hasOwn(data, provider.slug) ? data[provider.slug] : undefined;
  const only = own?.only;
  const written: Record<string, unknown> = {};
  const put = (name: string | undefined, value: unknown): void => {
    if (name !== undefined && value !== undefined) written[name] = value;
  };
  const ofType = fields.types && Object.hasOwn(fields.types, handler.type) ? fields.types[handler.type] : undefined;
  // Some native files state the type of commands although it is the default.
  if (fields.type || handler.type !== 'command' || own?.type === 'command') written.type = handler.type;
  if (handler.type === 'command')
    put(typeof only === 'string' && fields.otherCommands?.includes(only) ? only : fields.command, handler.command);
  for (const [field, name] of Object.entries(ofType ?? {})) put(name, handler[field]);
  for (const [system, name] of Object.entries(fields.platform ?? {})) put(name, handler.platform?.[system]);
  put(fields.cwd, handler.cwd);
  put(fields.env, handler.env);
  if (fields.timeout) put(fields.timeout.name, nativeTimeout(handler.timeout, fields.timeout.unit));
  put(fields.status_message, handler.status_message);
  if (handler.async === true) put(fields.async, true);
  return written;
}

const nativeTimeout = (seconds: number | undefined, unit: 's' | 'ms'): number | undefined =>
  seconds === undefined || seconds === 0 ? undefined : unit === 'ms' ? Number((seconds * 1000).toFixed(6)) : seconds;

export type Decoded =
  | { ok: true; manifest: Manifest; losses: readonly Loss[]; leftOut: number }
  | { ok: false; why: string };

export const ONLY_LEFT_OUT = 'it registers no hook but those that are left out';

/** Converts a native file to a manifest, without the handlers for which `isLeftOut` is true. */
export function decode(
  text: string,
  name: string,
  target: Target,
  isLeftOut: (handler: Values) => boolean = () => false,
): Decoded {
  const { provider, layout } = target;
  const read = layout.read(text, name);
  if (!read.ok) {
    const place = read.line === undefined ? '' : ` (line ${read.line}, column ${read.column})`;
    return { ok: false, why: `${read.why}${place}` };
  }
  const losses: Loss[] = read.odd.map(message => ({ kind: 'field_dropped', severity: 'warning', message }));
  const hooks: Hook[] = [];
  const entries = read.entries.filter(({ handler }) => !isLeftOut(handler));
  const leftOut = read.entries.length - entries.length;
  for (const entry of entries) {
    const hook = decodeEntry(entry, target, lossAdder(losses, hooks.length + 1, `Hook ${hooks.length + 1}`));
    if (hook !== undefined) hooks.push(hook);
  }
  const file = Object.fromEntries(Object.entries(read.file).filter(([key]) => layout.fileKeys?.includes(key)));
  const others = Object.keys(read.file).filter(key => !layout.fileKeys?.includes(key) && !key.startsWith('_'));
  if (others.length > 0)
    losses.push({
      kind: 'field_dropped',
      severity: 'info',
      message: `${others.join(', ')}: not part of the hooks, left in the file`,
    });
  const folded = foldedSplits(hooks, target);
  const [first, ...rest] = folded;
  if (first === undefined)
    return { ok: false, why: leftOut > 0 ? ONLY_LEFT_OUT : `it registers no hook of ${provider.title}` };
  const manifest = {
    spec: SPEC,
    hooks: [Object.keys(file).length === 0 ? first : withOwn(first, { file }, target), ...rest],
  };
  return { ok: true, manifest, losses, leftOut };
}

function decodeEntry(entry: Entry, target: Target, addLoss: AddLoss): Hook | undefined {
  const { event: native, matcher, handler, blocking } = entry;
  const split = decodeSplit(native, matcher, target);
  const event = split?.event ?? decodeEvent(native, target) ?? native;
  const own: Record<string, unknown> = {};
  if (split === undefined && encodeEvent(event, target)[0] !== native) own.event = native;
  if (own.event !== undefined && event === native)
    addLoss({
      kind: 'event_unknown',
      severity: 'warning',
      message: `${native} is an event of ${target.provider.title} without an entry in a registry: its native name is kept`,
    });
  const read = decodeHandler(handler, target, own);
  if (read === undefined) {
    addLoss({ kind: 'field_dropped', severity: 'warning', message: `an entry of ${native} has no command: left out` });
    return undefined;
  }
  const isSplit = split !== undefined;
  const found = isSplit ? matcherOf(split.elements) : matcherOfEntry(entry, event, own, target, addLoss);
  const isGeneral = isSplit && native === target.provider.split?.[event]?.every;
  if (isSplit && !isGeneral && matcher !== undefined && !isEverything(matcher) && !split.elements?.every(isMcp))
    own.matcher = matcher;
  keepGroup(entry, own, target);
  const hook: Hook = {
    event,
    ...(found === undefined ? {} : { matcher: found }),
    handler: read,
    blocking: blocking ?? (handler.async !== true && isLikelyToBlock(event, target)),
  };
  if (isGeneral && !isWritten(hook, entry, target)) own.event = native;
  if (matcher !== undefined && own.matcher === undefined && (!isSplit || own.event !== undefined))
    keepSpelling(hook, matcher, own, target);
  const whole = Object.keys(own).length === 0 ? hook : withOwn(hook, own, target);
  const ofRuntime = unwrapped(read.command);
  return ofRuntime === undefined ? whole : withUnwrapped(whole, ofRuntime);
}

/** Returns the matcher of a tool event. A matcher of another event is kept in `own` for the provider. */
function matcherOfEntry(
  { event: native, matcher }: Entry,
  event: string,
  own: Record<string, unknown>,
  target: Target,
  addLoss: AddLoss,
): Matcher | undefined {
  const { provider, layout } = target;
  if (matcher === undefined) return undefined;
  if (isToolEvent(event) && !provider.otherMatchers?.includes(native) && layout.matching.how !== 'none') {
    const found = decodeMatcher(matcher, target);
    for (const element of elementsOf(found) ?? []) addNameLoss(element, provider.title, addLoss);
    return found;
  }
  if (isEverything(matcher)) return undefined;
  if (layout.fileFilter !== undefined && provider.fileFilters?.includes(event))
    return layout.fileFilter === 'glob' ? matcher : { pattern: matcher };
  own.matcher = matcher;
  return undefined;
}

/** Keeps the group's keys that the format has no fields for. */
function keepGroup({ group = {} }: Entry, own: Record<string, unknown>, { layout }: Target): void {
  const rest = Object.fromEntries(Object.entries(group).filter(([key]) => !layout.groupKeys?.includes(key)));
  for (const key of layout.groupKeys ?? []) if (key in group) own[key] = group[key];
  if (Object.keys(rest).length > 0) own.group = rest;
}

/** Most native files do not state whether a hook blocks. If it can block, it probably does. */
const isLikelyToBlock = (event: string, { facts, provider }: Target): boolean =>
  deciding.includes(event) && effectOf(event, { ...facts.blocks, ...provider.product?.blocks }) !== 'observe';

/** Events whose hooks are asked for a decision. Hooks of other events may be able to block, but rarely do. */
const deciding = ['before_tool_execute', 'before_prompt', 'agent_stop', 'subagent_stop', 'permission_request'];

const isMcp = (element: Element): boolean => typeof element === 'object' && 'mcp' in element;

function addNameLoss(element: Element, title: string, addLoss: AddLoss): void {
  if (typeof element !== 'string' || isTool(element)) return;
  addLoss({
    kind: 'unknown_matcher_name',
    severity: 'warning',
    message: `${element} is a tool of ${title} without a name in the vocabulary: its native name is kept`,
  });
}

/** Returns true if `encode` writes this entry without a remark about its spelling. */
function isWritten(hook: Hook, { event, matcher }: Entry, target: Target): boolean {
  const [one, ...others] = placesOf(hook, target, () => {});
  return others.length === 0 && one?.native === event && one.matcher === matcher;
}

/** Keeps the native matcher if `encode` would write another one. */
function keepSpelling(hook: Hook, matcher: string, own: Record<string, unknown>, target: Target): void {
  if (matcher === '') return;
  const [one, ...others] = placesOf(withOwn(hook, own, target), target, () => {});
  if (others.length > 0 || one?.matcher !== matcher) own.spelling = matcher;
}

const withOwn = (hook: Hook, own: Values, { provider }: Target): Hook => ({
  ...hook,
  provider_data: { [provider.slug]: { ...hook.provider_data?.[provider.slug], ...own } },
});

/** Returns the handler with the fields that the format knows. The other fields are kept in `own`. */
function decodeHandler(native: Values, target: Target, own: Record<string, unknown>): Handler | undefined {
  const { fields } = target.layout;
  const type = typeof native.type === 'string' ? native.type : 'command';
  const decoding: Decoding = { native, read: { type }, taken: new Set(['type']) };
  if (type !== 'command') takeTyped(decoding, type, target, own);
  else if (!takeCommand(decoding, fields, own)) return undefined;
  if (has('platform_commands', target)) takePlatforms(decoding, fields);
  if (has('configurable_cwd', target)) take(decoding, 'cwd', fields.cwd, isText);
  if (has('custom_env', target)) take(decoding, 'env', fields.env, isTexts);
  if (has('async_execution', target)) take(decoding, 'async', fields.async, value => typeof value === 'boolean');
  take(decoding, 'status_message', fields.status_message, isText);
  takeTimeout(decoding, fields);
  for (const [key, value] of Object.entries(native))
    if (!decoding.taken.has(key) && !key.startsWith('_')) own[key] = value;
  return decoding.read as unknown as Handler;
}

interface Decoding {
  native: Values;
  /** The handler so far. */
  read: Record<string, unknown>;
  /** Native fields that the handler holds. */
  taken: Set<string>;
}

function take(
  { native, read, taken }: Decoding,
  field: string,
  name: string | undefined,
  is: (value: unknown) => boolean,
): void {
  if (name === undefined || taken.has(name) || !is(native[name])) return;
  read[field] = native[name];
  taken.add(name);
}

/** Returns false if the native handler has no command. */
function takeCommand(decoding: Decoding, fields: HandlerFields, own: Record<string, unknown>): boolean {
  const { native } = decoding;
  if (native.type === 'command' && !fields.type) own.type = native.type;
  const names = [fields.command, ...(fields.otherCommands ?? [])];
  const name = names.find(each => isText(native[each]) && native[each] !== '');
  if (name === undefined) return false;
  take(decoding, 'command', name, isText);
  if (name !== fields.command) own.only = name;
  return true;
}

function takeTyped(decoding: Decoding, type: string, target: Target, own: Record<string, unknown>): void {
  const { types } = target.layout.fields;
  const ofType = types && Object.hasOwn(types, type) ? types[type] : undefined;
  for (const [field, name] of Object.entries(ofType ?? {})) take(decoding, field, name, value => value !== undefined);
  // The provider's table lacks this type of handler, but its file has one: `encode` writes it unchanged.
  if (ofType === undefined || !has(type === 'http' ? 'http_handler' : 'llm_evaluated', target)) own.type = type;
}

function takePlatforms({ native, read, taken }: Decoding, fields: HandlerFields): void {
  const systems = Object.entries(fields.platform ?? {}).filter(([, name]) => !taken.has(name) && isText(native[name]));
  for (const [, name] of systems) taken.add(name);
  if (systems.length > 0) read.platform = Object.fromEntries(systems.map(([system, name]) => [system, native[name]]));
}

function takeTimeout({ native, read, taken }: Decoding, { timeout }: HandlerFields): void {
  const value = timeout === undefined ? undefined : native[timeout.name];
  if (timeout === undefined || typeof value !== 'number' || !(value > 0)) return;
  read.timeout = timeout.unit === 'ms' ? value / 1000 : value;
  taken.add(timeout.name);
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isTexts = (value: unknown): boolean => isObject(value) && Object.values(value).every(isText);

/** Joins hooks with the same command on all native events of a split event into one hook for every tool. */
function foldedSplits(hooks: readonly Hook[], target: Target): Hook[] {
  const dropped = new Set<Hook>();
  const changed = new Map<Hook, Hook>();
  for (const [event, split] of Object.entries(target.provider.split ?? {})) {
    const whole = encodeEvent(event, target).map(native => decodeSplit(native, undefined, target)?.elements);
    if (split.gap !== undefined || split.every !== undefined || whole.length < 2) continue;
    for (const same of alike(hooks.filter(hook => hook.event === event))) {
      const [first] = same;
      const isWhole =
        same.length === whole.length &&
        whole.every(elements => same.some(hook => isSame(elementsOf(hook.matcher), elements)));
      if (first === undefined || !isWhole) continue;
      const { matcher: _, ...rest } = first;
      changed.set(first, rest as Hook);
      for (const other of same) if (other !== first) dropped.add(other);
    }
  }
  return hooks.filter(hook => !dropped.has(hook)).map(hook => changed.get(hook) ?? hook);
}

/** Returns groups of hooks that differ only in their matchers. */
function alike(hooks: readonly Hook[]): Hook[][] {
  const groups = new Map<string, Hook[]>();
  for (const hook of hooks) {
    const { event, handler, blocking, provider_data: data } = hook;
    const key = JSON.stringify([event, handler, blocking, data]);
    const same = groups.get(key) ?? [];
    same.push(hook);
    groups.set(key, same);
  }
  return [...groups.values()];
}

/** Returns the difference between the files' hooks and the intended hooks; undefined if they are equal. */
export function verify(
  { hooks }: Pick<Fit, 'hooks'>,
  files: readonly NativeFile[],
  target: Target,
): string | undefined {
  const { provider, layout } = target;
  const hasMatchers = layout.matching.how !== 'none' || provider.split !== undefined;
  const found: Meant[] = [];
  for (const file of files) {
    const read = layout.read(file.text, file.path);
    if (!read.ok) return `the result cannot be read again: ${read.why}`;
    for (const entry of read.entries) {
      const hook = decodeEntry(entry, target, () => {});
      if (hook === undefined) continue;
      const { event, handler, matcher } = hook;
      const elements = hasMatchers ? elementsOf(matcher) : undefined;
      const names = filterIn(event, entry.matcher, target) ?? namesOf(event, elements, target, entry.event);
      found.push({ native: entry.event, handler: handlerKey(handler), names });
    }
  }
  const meant = hooks.flatMap(({ hook, places }) =>
    places.map(({ native, event, matcher, elements }): Meant => {
      const read = readAs(native, event, target);
      // A pattern is written unchanged, and reading it may return a list of names.
      const isPattern = matcher !== undefined && elements?.some(each => typeof each === 'object' && 'pattern' in each);
      const meant = isPattern ? elementsOf(decodeMatcher(matcher, target)) : elements;
      const names = filterIn(event, matcher, target) ?? namesOf(read, meant, target, native);
      return { native, handler: handlerKey(hook.handler), names };
    }),
  );
  const wanted = sequences(meant);
  const got = sequences(found);
  for (const [native, atoms] of wanted) {
    const others = got.get(native) ?? [];
    if (atoms.join('\n') !== others.join('\n'))
      return `the hooks of ${native} are read again as others than were meant (${others.length} for ${atoms.length})`;
  }
  const more = [...got.keys()].find(native => !wanted.has(native));
  return more === undefined ? undefined : `hooks of ${more} are read again that were not meant`;
}

/** Returns the filter of an event of files; undefined for other events. */
const filterIn = (event: string, matcher: string | undefined, { provider, layout }: Target): string[] | undefined =>
  layout.fileFilter !== undefined && provider.fileFilters?.includes(event) ? [matcher ?? '*'] : undefined;

/** A native name can stand for two events, and `decode` reads one of them. */
function readAs(native: string, event: string, target: Target): string {
  const read = decodeSplit(native, undefined, target)?.event ?? decodeEvent(native, target) ?? native;
  return read !== event && encodeEvent(event, target).includes(native) ? read : event === native ? native : event;
}

const handlerKey = ({ type, command, url, prompt }: Handler): string =>
  JSON.stringify([type, command ?? null, url ?? null, prompt ?? null]);

interface Meant {
  readonly native: string;
  readonly handler: string;
  readonly names: string[];
}

/**
 * Returns, by native event, the handlers and their tools in order. Neighbours that differ only in their matchers are
 * joined. Handlers of two native events have no order: an agent runs each event on its own.
 */
function sequences(entries: readonly Meant[]): Map<string, string[]> {
  const found = new Map<string, Meant[]>();
  for (const entry of entries) {
    const ofEvent = found.get(entry.native) ?? [];
    found.set(entry.native, ofEvent);
    const last = ofEvent.at(-1);
    if (last?.handler === entry.handler) last.names.push(...entry.names);
    else ofEvent.push({ ...entry, names: [...entry.names] });
  }
  return new Map(
    [...found].map(([native, atoms]) => [
      native,
      atoms.map(({ handler, names }) => `${handler} ${names.sort().join(' ')}`),
    ]),
  );
}

/**
 * Returns the native names of a hook's tools. For a split event, the names of its native events stand for every tool.
 */
function namesOf(
  event: string,
  elements: readonly Element[] | undefined,
  target: Target,
  native?: string | undefined,
): string[] {
  const { provider, facts } = target;
  const split = provider.split && Object.hasOwn(provider.split, event) ? provider.split[event] : undefined;
  if (elements === undefined) {
    if (split === undefined) return ['*'];
    const all = encodeEvent(event, target);
    return native !== undefined && all.includes(native) ? [native] : [...all];
  }
  const named = (element: Element): string => {
    if (typeof element !== 'string')
      return 'mcp' in element ? mcpName(element.mcp, facts.mcp) : JSON.stringify(element);
    if (element === ANY_MCP) return split?.mcp ?? ANY_MCP;
    return isTool(element) ? (split?.tools[element] ?? facts.tools[element] ?? element) : element;
  };
  // A name that the vocabulary lacks can be the provider's own name for a tool of the vocabulary.
  const isForeign = (element: Element): element is string =>
    typeof element === 'string' && element !== ANY_MCP && !isTool(element);
  const names = elements.flatMap(element => (isForeign(element) ? decodeName(element, target) : [element]).map(named));
  return [...new Set(names)];
}

/** Compares the joined name, because a server's name may contain the separator. */
const mcpName = (
  { server, tool = '*' }: { server: string; tool?: string | undefined },
  form: McpForm | undefined,
): string => (form === undefined ? JSON.stringify([server, tool]) : `${form.before}${server}${form.between}${tool}`);
