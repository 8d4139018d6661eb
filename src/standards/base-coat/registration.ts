/**
 * Validates registrations of hooks: `mcp.json` uses the names of Base Coat, and files of a platform
 * (`.github/hooks/*.json`, the front matter of an agent's page) use the names of the platform. The other content of
 * these files is not judged.
 */
import * as z from 'zod';
import { isObject, kindOf, mistyped, pathOf, shown, type Values, valueAt } from '../wording.ts';
import { endsTurn, hookPointOf, isNativeName, platformName } from './hook-points.ts';
import type { Remark } from './rules.ts';

type Kind = 'mcp.json' | 'hooks file' | 'agent page';
type Where = readonly (string | number)[];

/**
 * Returns true if a value registers hooks: it has a key that no envelope has, or it is only the part below that key.
 */
export const isRegistration = (value: unknown): value is Values =>
  isObject(value) && (('hooks' in value && !('hook' in value) && !('action' in value)) || isPart(value));

/** Returns true if a value is the part below `hooks`, as messages and pages quote it. */
function isPart(value: Values): boolean {
  const members = Object.entries(value);
  return members.length > 0 && members.every(([name, entries]) => hookPointOf(name) && Array.isArray(entries));
}

export function judgeRegistration(value: Values, name: string): Remark[] {
  if (!('hooks' in value)) {
    const judged = judgeHooks(value, kindOfFile({ hooks: value }, name));
    return [
      { rule: 'file/part', path: [], why: 'hook points stand at the top' },
      ...judged.map(remark => ({ ...remark, path: remark.path.slice(1) })),
    ];
  }
  const kind = kindOfFile(value, name);
  const { version } = value;
  const remarks = judgeHooks(value.hooks, kind);
  if (kind === 'hooks file' && version !== 1)
    remarks.push({
      rule: 'file/required',
      path: version === undefined ? [] : ['version'],
      why: version === undefined ? 'version is missing' : `version is ${shown(version)}, not 1`,
    });
  return remarks;
}

/** If the file name does not show the kind of the file, the entries do. */
function kindOfFile(value: Values, name: string): Kind {
  if (/(^|[\\/.])mcp\.json$/i.test(name)) return 'mcp.json';
  if ('version' in value) return 'hooks file';
  const entries = isObject(value.hooks) ? Object.values(value.hooks).flat() : [];
  return entries.some(entry => isObject(entry) && 'tool' in entry) ? 'mcp.json' : 'hooks file';
}

export function judgeHooks(hooks: unknown, kind: Kind): Remark[] {
  if (!isObject(hooks))
    return [{ rule: 'file/type', path: ['hooks'], why: `hooks is ${kindOf(hooks)}, not an object` }];
  const names = Object.keys(hooks);
  if (names.length === 0) return [{ rule: 'file/empty', path: ['hooks'], why: 'hooks is empty' }];
  const remarks = names.flatMap(name => {
    const path = ['hooks', name];
    const entries = hooks[name];
    const about = judgeName(name, kind, path);
    if (!Array.isArray(entries))
      return [
        ...about,
        { rule: 'file/type', path, why: `${shown(name)} is ${kindOf(entries)}, not an array` } as Remark,
      ];
    return [...about, ...entries.slice(0, 1_000).flatMap((entry, i) => judgeEntry(entry, kind, [...path, i]))];
  });
  const spelled = (first: RegExp): string | undefined => names.find(name => first.test(name));
  const [camel, pascal] = [spelled(/^[a-z]/), spelled(/^[A-Z]/)];
  if (kind === 'hooks file' && camel !== undefined && pascal !== undefined)
    remarks.push({
      rule: 'file/dialects',
      path: ['hooks', names.indexOf(camel) < names.indexOf(pascal) ? pascal : camel],
      why: `${shown(camel)} beside ${shown(pascal)}`,
    });
  return remarks;
}

function judgeName(name: string, kind: Kind, path: Where): Remark[] {
  const point = hookPointOf(name);
  if (point === undefined)
    return [
      isNativeName(name) && kind !== 'mcp.json'
        ? { rule: 'file/native-name', path, why: `${shown(name)} is a platform's event beside the hook points` }
        : { rule: 'file/unknown-event', path, why: `${shown(name)} is no hook point` },
    ];
  if (kind === 'mcp.json')
    return name === point
      ? []
      : [{ rule: 'file/platform-name', path, why: `${shown(name)} is a platform's name of ${point}` }];
  const native = platformName(point, 'hooksFile');
  if (native === undefined) return [{ rule: 'file/extension', path, why: `no platform sends ${point}` }];
  if (endsTurn(name)) return [{ rule: 'file/turn-end', path, why: `${shown(name)} is the end of a turn` }];
  // Pages of agents use the PascalCase names of settings files.
  const known = [native, 'sessionEnd', ...(kind === 'agent page' ? [platformName(point, 'settingsFile')] : [])];
  if (known.includes(name)) return [];
  const why = `${point} is ${native} there`;
  return [{ rule: isNativeName(name) ? 'file/native-name' : 'file/platform-name', path, why }];
}

const toolEntry = z.looseObject({ tool: z.string().min(1), priority: z.number().optional() });

const commandEntry = z.looseObject({
  type: z.string().min(1),
  bash: z.string().min(1).optional(),
  powershell: z.string().min(1).optional(),
  command: z.string().min(1).optional(),
  cwd: z.string().optional(),
  timeoutSec: z.number().positive().optional(),
});

function judgeEntry(entry: unknown, kind: Kind, path: Where): Remark[] {
  if (!isObject(entry)) return [{ rule: 'file/type', path, why: `an entry is ${kindOf(entry)}, not an object` }];
  // Settings files have groups of handlers.
  if (kind !== 'mcp.json' && Array.isArray(entry.hooks) && !('type' in entry))
    return entry.hooks
      .slice(0, 1_000)
      .flatMap((inner, i) => judgeEntry(isGroup(inner) ? undefined : inner, kind, [...path, 'hooks', i]));
  const schema = kind === 'mcp.json' ? toolEntry : commandEntry;
  const remarks = (schema.safeParse(entry).error?.issues ?? []).map((issue): Remark => {
    const inner = pathOf(issue);
    const actual = valueAt(entry, inner);
    const field = inner.join('.');
    if (actual === undefined) return { rule: 'file/required', path, why: `${field} is missing` };
    return { rule: 'file/type', path: [...path, ...inner], why: mistyped(issue, field, actual) };
  });
  const { tool, type, bash, powershell, command } = entry;
  if (kind === 'mcp.json' && typeof tool === 'string' && tool !== '' && !/^[^.\s]+\.\S+$/.test(tool))
    remarks.push({ rule: 'file/tool', path: [...path, 'tool'], why: `${shown(tool)} names no server` });
  if (kind === 'mcp.json' || type !== 'command' || bash !== undefined || command !== undefined) return remarks;
  if (powershell === undefined) remarks.push({ rule: 'file/required', path, why: 'no command is there to be run' });
  else remarks.push({ rule: 'file/bash', path: [...path, 'powershell'], why: 'powershell alone' });
  return remarks;
}

const isGroup = (value: unknown): boolean => isObject(value) && Array.isArray(value.hooks);
