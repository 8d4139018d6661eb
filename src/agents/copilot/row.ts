/** A row of the event log, and the values that all of its readings share. */
import type { Fields } from '../../event/event.ts';
import type { Memory, TranscriptReading } from '../contract/contract.ts';

export interface Row {
  id: string;
  /** The turn of the main agent. */
  turn: string | undefined;
  atMs: number | undefined;
  data: Fields;
  /** The subagent of the row: the call that launched it. */
  subagent: string | undefined;
  /** A row of the chat agent in VS Code. */
  isChat: boolean;
  memory: Memory;
}

export function entryOf(row: Row, reading: Omit<TranscriptReading, 'key'> & { key?: string }): TranscriptReading {
  return {
    key: row.id,
    atMs: row.atMs,
    subagent: row.subagent,
    ...reading,
    facts: { turn: row.turn, ...reading.facts },
  } as TranscriptReading;
}

/** Returns a reading that a hook of the chat agent in VS Code also reports, with the same id or without an id. */
export const sharedEntry = (row: Row, reading: Parameters<typeof entryOf>[1]): TranscriptReading =>
  entryOf(row, { unless: row.isChat ? 'hooked' : undefined, ...reading });
