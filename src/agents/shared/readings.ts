/** Completes the readings of an adapter with values that all of them share. */
import type { Fields } from '../../event/event.ts';
import type { Memory, Reading, TranscriptReading } from '../contract/contract.ts';

/** The agent acts, unless the reading names another actor. */
export function byAgent(reading: TranscriptReading): TranscriptReading;
export function byAgent(reading: Reading): Reading;
export function byAgent(reading: Reading): Reading {
  return { actor: 'ai_agent', ...reading };
}

/**
 * A reading of a row that shares no id with a hook. It counts only in a session without hooks, so that nothing is counted
 * twice.
 */
export const unlessHooked = (reading: TranscriptReading): TranscriptReading =>
  byAgent({ unless: 'hooked', ...reading });

export type Shared = Pick<Reading, 'facts' | 'subagent' | 'mode' | 'atMs'>;

/**
 * Returns a function that completes a reading of one hook with what `sharedOf` takes from the fields of that hook. Values of
 * the reading itself win.
 */
export const readingsWith =
  (sharedOf: (fields: Fields, memory: Memory | undefined) => Shared) =>
  (fields: Fields, reading: Reading, memory?: Memory): Reading => {
    const shared = sharedOf(fields, memory);
    return {
      ...byAgent(reading),
      facts: { ...shared.facts, ...reading.facts },
      subagent: reading.subagent ?? shared.subagent,
      mode: reading.mode ?? shared.mode,
      atMs: reading.atMs ?? shared.atMs,
    };
  };
