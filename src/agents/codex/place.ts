import type { Fields } from '../../event/event.ts';
import { isFields, number, text, word } from '../../lib/read.ts';
import type { Memory, ReadFile, TranscriptReading } from '../contract/contract.ts';

export interface Place {
  type: string;
  payload: Fields;
  ordinal: number | undefined;
  memory: Memory;
  file: ReadFile;
  atMs: number | undefined;
  turn: string | undefined;
}

const bareItems = new Set(['message', 'reasoning', 'function_call', 'function_call_output']);

export function placeOf(row: Fields, memory: Memory, file: ReadFile): Place {
  const time = Date.parse(text(row.timestamp) ?? '');
  const bare = isOldHeader(row) ? 'session_meta' : bareItems.has(String(row.type)) ? 'response_item' : '';
  return {
    type: isFields(row.payload) ? (text(row.type) ?? '') : bare,
    payload: isFields(row.payload) ? row.payload : row,
    ordinal: number(row.ordinal),
    memory,
    file,
    atMs: Number.isNaN(time) ? undefined : time,
    turn: memory.recall('place', 'turn'),
  };
}

export const recalled = (place: Place, key: string): number | undefined => {
  const known = place.memory.recall('place', key);
  return known === undefined ? undefined : Number(known);
};

export const note = (place: Place, key: string, value: number | string | undefined): void => {
  if (value === undefined) place.memory.forget('place', key);
  else place.memory.remember('place', key, String(value));
};

/**
 * The times around a response, under the names that stored states have: of the row that it answers, of the row that
 * the next response answers, and of its own last row.
 */
export const responseTimes = { requested: 'asked', nextRequested: 'heard', lastRow: 'said' } as const;

/** Events that hooks report as well, with the mode of the agent. */
const withMode: ReadonlySet<string> = new Set([
  'Session.Start',
  'Session.End',
  'Prompt.Submitted',
  'Action.Before',
  'Action.After',
  'Agent.Response',
]);

export function entryAt(place: Place, reading: TranscriptReading): TranscriptReading {
  const policy = withMode.has(reading.event_type) ? place.memory.recall('place', 'policy') : undefined;
  return {
    ...reading,
    mode: policy === undefined ? reading.mode : 'agent',
    atMs: reading.atMs ?? place.atMs,
    facts: {
      permission_mode: policy === undefined ? undefined : policy === 'never' ? 'bypassPermissions' : 'default',
      turn: place.turn,
      agent: place.file.subagent === undefined ? undefined : (place.memory.recall('place', 'kind') ?? 'default'),
      ...reading.facts,
    },
  };
}

/** Returns true for a thread whose tokens count, but which does not start or end turns of the session. */
export const isAside = ({ memory }: Place): boolean => memory.recall('place', 'aside') !== undefined;

/** Versions before the envelope: a first line with the id, then bare items. */
export const isOldHeader = (row: Fields): boolean =>
  row.type === undefined && word(row.id) !== undefined && word(row.timestamp) !== undefined && 'instructions' in row;
