/**
 * Finds the call that a hook is about: by its native id if the agent sends one. Otherwise, calls that look alike (same
 * subagent, tool and input) are paired first in, first out, and get numbers as ids. An agent may extend or reorder the
 * input between two hooks, so a caller can fall back to the oldest open call of the same tool.
 */
import { canonicalJson } from '../../lib/hash.ts';
import type { Memory } from '../contract/contract.ts';
import { nextNumber } from './numbers.ts';

export interface Call {
  id?: string | undefined;
  subagent?: string | undefined;
  tool: string;
  input: unknown;
}

/** An id that `openCall` created. */
const NUMBERED = /^call-\d+$/;

/** Remembers a call that starts, and returns its id. */
export function openCall(call: Call, memory: Memory): string {
  const id = call.id ?? `call-${nextNumber('calls', memory)}`;
  memory.remember('open', id, entryOf(call, memory));
  return id;
}

/**
 * Returns the call that ends here, and forgets it. Calls without a native id come first: a call with one is ended by a
 * hook that carries it.
 */
export function closeCall(call: Call, memory: Memory, otherwise?: 'oldest of its tool'): string | undefined {
  if (call.id !== undefined) {
    memory.forget('open', call.id);
    return call.id;
  }
  const entry = entryOf(call, memory);
  const alike = (known: string): boolean => known === entry;
  const ofTool = (known: string): boolean => otherwise !== undefined && toolOf(known) === toolOf(entry);
  const numbered = (fits: typeof alike) => oldest(memory, (known, id) => NUMBERED.test(id) && fits(known));
  const id = numbered(alike) ?? numbered(ofTool) ?? oldest(memory, alike) ?? oldest(memory, ofTool);
  if (id !== undefined) memory.forget('open', id);
  return id;
}

/** Returns whether the user was asked about the call that ends here. */
export function wasAsked(call: string | undefined, memory: Memory): boolean {
  if (call === undefined || memory.recall('asked', call) === undefined) return false;
  memory.forget('asked', call);
  return true;
}

/**
 * Returns the open call that the user is asked about, each call once: the call that looks like this one, or the oldest
 * call of these tools.
 */
export function askedCall(call: Call | { tools: readonly string[] }, memory: Memory): string | undefined {
  const unasked = (fits: (entry: string) => boolean): string | undefined =>
    oldest(memory, (entry, id) => fits(entry) && memory.recall('asked', id) === undefined);
  const id =
    'tools' in call
      ? unasked(entry => call.tools.includes(toolOf(entry)))
      : (call.id ?? unasked(entry => entry === entryOf(call, memory)));
  if (id !== undefined) memory.remember('asked', id, '1');
  return id;
}

const LONGEST_TOOL = 128;

/** The stored form of a call: a short hash, then the name of the tool. */
function entryOf(call: Call, memory: Memory): string {
  const like = memory.likeness([call.subagent ?? '', call.tool, canonicalJson(call.input ?? {})].join('\0'));
  return `${like} ${call.tool.slice(0, LONGEST_TOOL)}`;
}

const toolOf = (entry: string): string => entry.slice(entry.indexOf(' ') + 1);

const oldest = (memory: Memory, fits: (entry: string, id: string) => boolean): string | undefined =>
  memory.list('open').find(([id, entry]) => fits(entry, id))?.[0];
