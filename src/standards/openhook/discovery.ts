/** Validates a discovery file, `.openhook.json`. */
import { text } from '../../lib/read.ts';
import { isObject, kindOf, notOneOf, shown, type Values } from '../wording.ts';
import type { Remark } from './openhook-validator.ts';
import { types } from './schema.ts';

/** An object with `hooks` and without `type` is taken for a discovery file. */
export const isDiscovery = (value: unknown): value is Values =>
  isObject(value) && Object.hasOwn(value, 'hooks') && !Object.hasOwn(value, 'type');

export function judgeDiscovery(value: unknown): Remark[] {
  if (!isObject(value))
    return [{ rule: 'discovery/hooks', path: [], why: `a discovery file is an object, not ${kindOf(value)}` }];
  const { openhook, hooks } = value;
  const remarks: Remark[] = unknownKeys(value, ['openhook', 'hooks'], []);
  if (openhook === undefined) remarks.push({ rule: 'discovery/hooks', path: [], why: 'openhook is missing' });
  else if (typeof openhook !== 'string' || !/^\d+\.\d+$/.test(openhook)) {
    remarks.push({
      rule: 'envelope/version',
      path: ['openhook'],
      why: `${shown(openhook)} is not a version such as '0.1'`,
    });
  } else if (openhook !== '0.1') {
    remarks.push({ rule: 'envelope/unknown-version', path: ['openhook'], why: `${shown(openhook)} was judged as 0.1` });
  }
  if (!Array.isArray(hooks)) {
    const why = hooks === undefined ? 'hooks is missing' : `hooks is ${kindOf(hooks)}, not an array`;
    remarks.push({ rule: 'discovery/hooks', path: hooks === undefined ? [] : ['hooks'], why });
    return remarks;
  }
  for (const [i, hook] of hooks.slice(0, 1_000).entries()) remarks.push(...judgeHook(hook, ['hooks', i]));
  return remarks;
}

function judgeHook(hook: unknown, path: readonly (string | number)[]): Remark[] {
  if (!isObject(hook)) return [{ rule: 'discovery/hooks', path, why: `a hook is an object, not ${kindOf(hook)}` }];
  const { command, events, async: isAsync } = hook;
  const remarks = unknownKeys(hook, ['command', 'events', 'async'], path);
  if (command === undefined) remarks.push({ rule: 'discovery/command', path, why: 'command is missing' });
  else if (typeof command !== 'string' || command.trim() === '') {
    const why = typeof command === 'string' ? 'command is empty' : `command is ${kindOf(command)}, not a string`;
    remarks.push({ rule: 'discovery/command', path: [...path, 'command'], why });
  }
  if (isAsync !== undefined && typeof isAsync !== 'boolean') {
    remarks.push({
      rule: 'discovery/async',
      path: [...path, 'async'],
      why: `async is ${kindOf(isAsync)}, not a boolean`,
    });
  }
  if (events === undefined) return remarks;
  if (!Array.isArray(events)) {
    remarks.push({
      rule: 'discovery/events',
      path: [...path, 'events'],
      why: `events is ${kindOf(events)}, not an array`,
    });
    return remarks;
  }
  if (events.length === 0)
    remarks.push({ rule: 'discovery/no-events', path: [...path, 'events'], why: 'events is empty' });
  for (const [i, entry] of events.slice(0, 100).entries()) {
    if (entry === '*' || types.includes(text(entry) ?? '')) continue;
    const at = [...path, 'events', i];
    remarks.push(
      typeof entry === 'string'
        ? { rule: 'discovery/event-type', path: at, why: notOneOf(entry, ['*', ...types]) }
        : { rule: 'discovery/events', path: at, why: `an entry of events is ${kindOf(entry)}, not a string` },
    );
  }
  return remarks;
}

const unknownKeys = (value: Values, known: readonly string[], path: readonly (string | number)[]): Remark[] =>
  Object.keys(value)
    .filter(key => !known.includes(key))
    .slice(0, 50)
    .map(key => ({ rule: 'discovery/unknown-key', path: [...path, key], why: `${shown(key)} is not known here` }));
