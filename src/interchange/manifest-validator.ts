/** Validates texts against the Hook Interchange Format: manifests in JSON and in YAML. */
import type { Position } from '../lib/json-position.ts';
import { nearest } from '../lib/nearest.ts';
import { eventsValidation } from '../standards/events-text.ts';
import type { Asked, Standard, Validation } from '../standards/validation.ts';
import {
  type Issue,
  isObject,
  kindOf,
  mistyped,
  notOneOf,
  pathOf,
  shown,
  type Values,
  valueAt,
} from '../standards/wording.ts';
import { elementsOf, type Matcher, manifestSchema, misshapen, specs } from './manifest.ts';
import { type Remark, type RuleId, rules } from './rules.ts';
import { isYaml, MOST_CHARACTERS, readYaml } from './source.ts';
import { capabilityNames, coreEvents, extendedEvents, isTool, isToolEvent, type Known } from './vocabulary.ts';

export const hookInterchange: Standard = {
  title: 'Hook Interchange',
  version: '0.1',
  rules,
  validation(name, asked) {
    let text = '';
    return {
      write(piece) {
        text += piece.slice(0, Math.max(0, MOST_CHARACTERS + 1 - text.length));
      },
      end: () => judged(text, name, asked).end(),
    };
  },
};

function judged(text: string, name: string, asked: Asked): Validation {
  const about = { id: 'hook-interchange', ...hookInterchange };
  const isTooLong = text.length > MOST_CHARACTERS;
  if (!isTooLong && !isYaml(text, name)) {
    const validation = eventsValidation(about, name, asked, {
      isOneValue: true,
      event: value => judgeManifest(value, asked.interchange),
      end: () => ({ found: [], format: 'file' }),
    });
    validation.write(text);
    return validation;
  }
  const found = isTooLong ? [] : judgeYaml(text, asked.interchange);
  if (isTooLong)
    found.push({
      rule: 'limit/size',
      path: [],
      why: `longer than ${MOST_CHARACTERS} characters`,
      at: { line: 1, column: 1 },
    });
  const validation = eventsValidation(about, name, asked, {
    isOneValue: true,
    event: () => [],
    end: () => ({ found, format: 'file' }),
  });
  // The judged text is not JSON; an empty object takes its place.
  validation.write('{}');
  return validation;
}

function judgeYaml(text: string, known: Known | undefined): (Remark & { at: Position })[] {
  const source = readYaml(text);
  if (!source.ok) return source.errors.map(({ rule, why, at }) => ({ rule, why, at, path: [] }));
  return judgeManifest(source.value, known).map(remark => ({ ...remark, at: source.at(remark.path) }));
}

/** Returns the remarks about a manifest. Without `known`, names and patterns are not judged. */
export function judgeManifest(value: unknown, known?: Known): Remark[] {
  if (!isObject(value))
    return [
      { rule: 'manifest/required', path: [], why: `a manifest with spec and hooks is an object, not ${kindOf(value)}` },
    ];
  const remarks = (manifestSchema.safeParse(value).error?.issues ?? []).map(issue => issueRemark(issue, value));
  const { spec, hooks } = value;
  if (typeof spec === 'string' && /^hooks\/\d+\.\d+$/.test(spec)) remarks.push(...judgeVersion(spec));
  for (const [i, hook] of (Array.isArray(hooks) ? hooks : []).entries())
    if (isObject(hook)) remarks.push(...judgeHook(hook, ['hooks', i], spec, known));
  return remarks;
}

function judgeVersion(spec: string): Remark[] {
  if (specs.includes(spec)) return [];
  const isOfMajor = specs.some(known => known.split('.')[0] === spec.split('.')[0]);
  return [
    isOfMajor
      ? { rule: 'manifest/newer', path: ['spec'], why: `${shown(spec)} is newer than ${specs.join(' and ')}` }
      : { rule: 'manifest/spec', path: ['spec'], why: `spec is ${shown(spec)}, of another major version` },
  ];
}

function issueRemark(issue: Issue, value: Values): Remark {
  const path = pathOf(issue);
  const actual = valueAt(value, path);
  return path.length < 2 || path[0] !== 'hooks'
    ? manifestRemark(issue, path, actual)
    : hookRemark(issue, path as ['hooks', number, ...(string | number)[]], actual);
}

function manifestRemark(issue: Issue, path: (string | number)[], actual: unknown): Remark {
  const field = path.slice(2).join('.') || path.join('.');
  if (actual === undefined) return { rule: 'manifest/required', path, why: `${field} is missing` };
  if (field === 'hooks' && Array.isArray(actual)) return { rule: 'manifest/required', path, why: 'hooks is empty' };
  if (field === 'spec' && typeof actual === 'string')
    return { rule: 'manifest/spec', path, why: `spec is ${shown(actual)}, not hooks/1.0 or hooks/0.1` };
  return { rule: 'manifest/required', path, why: mistyped(issue, field, actual) };
}

function hookRemark(issue: Issue, path: ['hooks', number, ...(string | number)[]], actual: unknown): Remark {
  const [, , place] = path;
  const field = path.slice(2).join('.') || path.join('.');
  if (place === undefined) return { rule: 'hook/type', path, why: `a hook is ${kindOf(actual)}, not an object` };
  const isHandler = place === 'handler' && path.length > 3;
  if (actual === undefined)
    return { rule: isHandler ? 'handler/required' : 'hook/required', path, why: `${field} is missing` };
  const ofType = isHandler ? 'handler/type' : 'hook/type';
  const rule = place === 'degradation' ? 'hook/degradation' : ofType;
  if (issue.code === 'invalid_value' && typeof actual === 'string')
    return { rule, path, why: `${field}: ${notOneOf(actual, issue.values)}` };
  if (isHandler && field === 'handler.command' && typeof actual === 'string')
    return { rule: 'handler/required', path, why: 'handler.command is blank: there is nothing to run' };
  if (issue.code === 'too_small' && typeof actual === 'number')
    return { rule: 'handler/type', path, why: `${field} is negative` };
  const why =
    issue.code === 'invalid_value' ? `${field} is ${kindOf(actual)}, not a string` : mistyped(issue, field, actual);
  return { rule, path, why };
}

type Add = (rule: RuleId, at: readonly (string | number)[], why: string) => void;

function judgeHook(hook: Values, path: (string | number)[], spec: unknown, known: Known | undefined): Remark[] {
  const { blocking, handler, matcher } = hook;
  const remarks: Remark[] = [];
  const add: Add = (rule, at, why) => void remarks.push({ rule, path: [...path, ...at], why });
  judgeNames(hook, known, add);
  judgeEvent(hook, known, add);
  if (blocking === true && isObject(handler) && handler.async === true)
    add('handler/async', ['handler', 'async'], 'async stands beside blocking');
  if (isObject(handler)) remarks.push(...judgeHandler(handler, [...path, 'handler'], spec));
  const odds = misshapen(matcher);
  for (const odd of odds) add('matcher/shape', odd.path, `matcher: ${odd.why}`);
  if (odds.length === 0) remarks.push(...judgeMatcher(hook, path, known));
  return remarks;
}

/** Judges the names of capabilities and providers. */
function judgeNames(
  { degradation, provider_data: data, capabilities }: Values,
  known: Known | undefined,
  add: Add,
): void {
  const words = isObject(degradation) ? Object.keys(degradation) : [];
  const listed = Array.isArray(capabilities) ? capabilities.filter(each => typeof each === 'string') : [];
  for (const word of words)
    if (!isCapability(word)) add('hook/capability', ['degradation', word], `${shown(word)} is no capability`);
  for (const [i, word] of listed.entries())
    if (!isCapability(word)) add('hook/capability', ['capabilities', i], `${shown(word)} is no capability`);
  for (const slug of known && isObject(data) ? Object.keys(data) : [])
    if (!known?.providers.has(slug)) add('hook/provider', ['provider_data', slug], `${shown(slug)} is no provider`);
}

function judgeEvent({ event, blocking, matcher }: Values, known: Known | undefined, add: Add): void {
  if (typeof event !== 'string' || event === '') return;
  if (known && ![coreEvents, extendedEvents].some(table => Object.hasOwn(table, event)) && !known.events.has(event))
    add('hook/event', ['event'], `${shown(event)} is an event of no registry${spellingHint(event, known)}`);
  if (blocking === true && observed.includes(event)) add('hook/blocking', ['blocking'], `${event} can only be watched`);
  if (matcher !== undefined && matcher !== null && !isToolEvent(event))
    add('matcher/idle', ['matcher'], `${event} is no event of a tool`);
}

/** The format's name for an event that is spelled as an agent spells it, or nearly as the format does. */
function spellingHint(event: string, { eventOf, events }: Known): string {
  const native = eventOf?.(event);
  if (native !== undefined) return `: it is the name of an agent; the format calls it ${native}`;
  const near = nearest(event, [...Object.keys(coreEvents), ...Object.keys(extendedEvents), ...events]);
  return near === undefined ? '' : `: did you mean ${near}?`;
}

/** Events that no hook can stop, because they report something that has happened. */
const observed = [
  'after_tool_execute',
  'session_end',
  'notification',
  'after_compact',
  'tool_use_failure',
  'file_changed',
];

const isCapability = (word: unknown): boolean => (capabilityNames as readonly unknown[]).includes(word);

function judgeMatcher({ matcher, event }: Values, path: (string | number)[], known: Known | undefined): Remark[] {
  if (matcher === null) return [{ rule: 'matcher/null', path: [...path, 'matcher'], why: 'matcher is null' }];
  if (Array.isArray(matcher) && matcher.length === 0)
    return [{ rule: 'matcher/empty', path: [...path, 'matcher'], why: 'matcher is an empty array' }];
  return (elementsOf(matcher as Matcher | undefined) ?? []).flatMap((element, i): Remark[] => {
    const at = [...path, 'matcher', ...(Array.isArray(matcher) ? [i] : [])];
    if (typeof element === 'string')
      return isTool(element) || (typeof event === 'string' && !isToolEvent(event))
        ? []
        : [{ rule: 'matcher/name', path: at, why: `${shown(element)} is not in the tool vocabulary` }];
    if (!('pattern' in element)) return [];
    const why = known?.patternError(element.pattern);
    return why === undefined
      ? []
      : [{ rule: 'matcher/pattern', path: [...at, 'pattern'], why: `pattern ${shown(element.pattern)}: ${why}` }];
  });
}

function judgeHandler(handler: Values, path: (string | number)[], spec: unknown): Remark[] {
  const { type, command, url, prompt, platform, cwd } = handler;
  const remarks: Remark[] = [];
  const add: Add = (rule, at, why) => void remarks.push({ rule, path: [...path, ...at], why });
  if (type === 'command' && command === undefined) add('handler/required', [], 'command is missing');
  if (type === 'http' && url === undefined) add('handler/expected', [], 'http without url');
  if (type === 'http' && typeof url === 'string' && !/^https:\/\//i.test(url))
    add('handler/https', ['url'], `${shown(url)} is no address of https`);
  if (type === 'prompt' && prompt === undefined) add('handler/expected', [], 'prompt without a prompt');
  if (typeof type === 'string' && type !== '' && !['command', 'http', 'prompt', 'agent'].includes(type))
    add('handler/unknown', ['type'], `${shown(type)} is no type of handler`);
  if (typeof cwd === 'string' && leavesProject(cwd))
    add('handler/folder', ['cwd'], `cwd is ${shown(cwd)}, outside of the project: name a folder from its root`);
  if (type === 'http') judgeHeaders(handler.headers, add);
  if (type === 'prompt' || type === 'agent') add('handler/model', ['type'], `${shown(type)} asks a model`);
  const mac = spec === 'hooks/1.0' ? ['osx', 'darwin'] : ['darwin', 'osx'];
  for (const system of isObject(platform) ? Object.keys(platform) : [])
    if (!['windows', 'linux', ...mac].includes(system))
      add('handler/platform', ['platform', system], `${shown(system)} is no system`);
  return remarks;
}

/** Returns true for an absolute path, and for one whose `..` lead above the root of the project. */
function leavesProject(cwd: string): boolean {
  if (/^([/\\~]|[A-Za-z]:)/.test(cwd)) return true;
  let depth = 0;
  for (const part of cwd.split(/[/\\]/)) {
    if (part === '..') depth -= 1;
    else if (part !== '' && part !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

function judgeHeaders(headers: unknown, add: Add): void {
  for (const [name, value] of Object.entries(isObject(headers) ? headers : {}))
    if (typeof value === 'string' && /\$\{?[A-Za-z_]/.test(value))
      add('handler/variables', ['headers', name], `${shown(name)} takes a variable`);
}
