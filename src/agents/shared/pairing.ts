/**
 * Which call does a hook speak of? By its native id where the agent sends one. Else calls that look alike (same subagent,
 * tool and input) are taken first in, first out, and get numbers as ids; an agent may lengthen or reorder its input between
 * two hooks, so a caller may settle for the oldest open call of the same tool.
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

/** An id that was given here. */
const NUMBERED = /^call-\d+$/;

/** Remembers a call that starts. */
export function openCall(call: Call, memory: Memory): string {
  const id = call.id ?? `call-${nextNumber('calls', memory)}`;
  memory.remember('open', id, entryOf(call, memory));
  return id;
}

/** The call that ends here, which is open no longer. One with an id of its own will be ended by it. */
export function closeCall(call: Call, memory: Memory, otherwise?: 'oldest of its tool'): string | undefined {
  const entry = entryOf(call, memory);
  const alike = (known: string): boolean => known === entry;
  const ofTool = (known: string): boolean => otherwise !== undefined && toolOf(known) === toolOf(entry);
  const numbered = (fits: typeof alike) => oldest(memory, (known, id) => NUMBERED.test(id) && fits(known));
  const id = call.id ?? numbered(alike) ?? numbered(ofTool) ?? oldest(memory, alike) ?? oldest(memory, ofTool);
  if (id !== undefined) memory.forget('open', id);
  return id;
}

/** Was a person asked about the call that ends here? */
export function wasAsked(call: string | undefined, memory: Memory): boolean {
  if (call === undefined || memory.recall('asked', call) === undefined) return false;
  memory.forget('asked', call);
  return true;
}

/**
 * The open call that a person is asked about, each once: the one that looks like this, or the oldest of these tools.
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

/** A short hash, then the tool's name. */
function entryOf(call: Call, memory: Memory): string {
  const like = memory.likeness([call.subagent ?? '', call.tool, canonicalJson(call.input ?? {})].join('\0'));
  return `${like} ${call.tool.slice(0, LONGEST_TOOL)}`;
}

const toolOf = (entry: string): string => entry.slice(entry.indexOf(' ') + 1);

const oldest = (memory: Memory, fits: (entry: string, id: string) => boolean): string | undefined =>
  memory.list('open').find(([id, entry]) => fits(entry, id))?.[0];
