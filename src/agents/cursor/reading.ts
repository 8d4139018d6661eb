import type { Fields } from '../../event/event.ts';
import { text, word } from '../../lib/read.ts';
import type { Memory } from '../contract/contract.ts';
import { readingsWith } from '../shared/readings.ts';

const FAMILY = /[\\/]agent-transcripts[\\/]([^\\/]+)[\\/]subagents[\\/][^\\/]+$/;

/** The transcript of a subagent is in the folder of its root conversation. */
export function familyOf(fields: Fields): { root: string; child: string } | undefined {
  const root = FAMILY.exec(text(fields.transcript_path) ?? '')?.[1];
  const child = word(fields.conversation_id);
  return root === undefined || child === undefined || child === root ? undefined : { root, child };
}

/** Returns the subagent of this conversation: the running one, if it is the only one without a conversation. */
export function childOf(fields: Fields, memory: Memory): string | undefined {
  const child = familyOf(fields)?.child;
  if (child === undefined) return undefined;
  const known = memory.recall('children', child);
  if (known !== undefined) return known;
  const taken = new Set(memory.list('children').map(([, id]) => id));
  const free = memory.list('subagents').filter(([id]) => !taken.has(id));
  const id = free.length === 1 ? (free[0]?.[0] ?? child) : child;
  memory.remember('children', child, id);
  return id;
}

export const reading = readingsWith((fields, memory) => ({
  facts: turnOf(fields),
  subagent: memory && childOf(fields, memory),
}));

/** Facts of a hook that belongs to no turn, although its payload carries a `generation_id`. */
export const ofNoTurn = { turn: undefined };

export const turnOf = (fields: Fields): { turn: string | undefined } => ({ turn: word(fields.generation_id) });

export function eventName(fields: Fields): string | undefined {
  return word(fields.hook_event_name) ?? word(fields.hookEventName);
}

/** `default` and `auto` leave the choice of the model to the service. */
export function modelOf(name: unknown): string | undefined {
  const model = word(name);
  return model === 'default' || model === 'auto' ? undefined : model;
}
