/**
 * Reads the hooks of a discovery file, `.openhook.json`. The user agrees to the whole file, so a file with an
 * unreadable part has no hooks.
 */
import { boundPassed } from '../../lib/json-bounds.ts';
import { isFields } from '../../lib/read.ts';

export interface Subscription {
  /** The number of the hook in the file, from 1. Messages use it instead of the command, which may hold a key. */
  number: number;
  command: string;
  /** Types, or `*` for all types. An unknown type subscribes to no event. */
  events: readonly string[];
  isAsync: boolean;
}

const MOST_HOOKS = 64;
const LONGEST_COMMAND = 8_192;
const BOUNDS = { depth: 32, parts: 10_000 };

export function subscriptionsIn(text: string): { hooks: Subscription[] } | { why: string } {
  const passed = boundPassed(text, BOUNDS);
  if (passed !== undefined) return { why: `it is ${passed.why}` };
  let read: unknown;
  try {
    read = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return { why: 'it is not JSON' };
  }
  if (!isFields(read)) return { why: 'it is not an object' };
  const { openhook, hooks } = read;
  if (typeof openhook !== 'string' || !/^\d+\.\d+$/.test(openhook))
    return { why: 'openhook is no version such as 0.1' };
  if (!Array.isArray(hooks)) return { why: 'hooks is not an array' };
  if (hooks.length > MOST_HOOKS) return { why: `it has more than ${MOST_HOOKS} hooks` };
  const found: Subscription[] = [];
  for (const [i, hook] of hooks.entries()) {
    const one = isFields(hook) ? subscriptionOf(hook, i + 1) : 'is not an object';
    if (typeof one === 'string') return { why: `hook ${i + 1} ${one}` };
    found.push(one);
  }
  return { hooks: found };
}

function subscriptionOf(hook: { readonly [key: string]: unknown }, number: number): Subscription | string {
  const { command, events = ['*'], async: isAsync = false } = hook;
  if (typeof command !== 'string' || command.trim() === '') return 'has no command';
  if (command.length > LONGEST_COMMAND || command.includes('\0')) return 'has a command that no shell takes';
  if (!Array.isArray(events) || events.some(each => typeof each !== 'string'))
    return 'has events that are not a list of types';
  if (typeof isAsync !== 'boolean') return 'has an async that is neither true nor false';
  return { number, command, events: events as string[], isAsync };
}

export const wants = ({ events }: Subscription, type: string): boolean => events.includes('*') || events.includes(type);
