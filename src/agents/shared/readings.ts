/** Completes the readings of an adapter with values that all of them share. */
import type { Fields } from '../../event/event.ts';
import type { Memory, Reading, TranscriptReading } from '../contract/contract.ts';

/**
 * A reading of a row that shares no id with a hook. It counts only in a session without hooks, so that nothing is counted
 * twice.
 */
export const unlessHooked = (reading: TranscriptReading): TranscriptReading => ({ unless: 'hooked', ...reading });

export type Shared = Pick<Reading, 'facts' | 'subagent' | 'mode' | 'atMs'>;

/**
 * Returns a function that completes a reading of one hook with what `sharedOf` takes from the fields of that hook. Values of
 * the reading itself win. `sharedOf` makes a new object of facts for each call. Each result has all properties, because
 * V8 is slow with objects of many shapes.
 */
export const readingsWith =
  (sharedOf: (fields: Fields, memory: Memory | undefined) => Shared) =>
  (fields: Fields, reading: Reading, memory?: Memory): Reading => {
    const shared = sharedOf(fields, memory);
    return {
      event_type: reading.event_type,
      data: reading.data,
      key: reading.key,
      actor: reading.actor,
      output: reading.output,
      path: reading.path,
      edits: reading.edits,
      facts: shared.facts === undefined ? reading.facts : Object.assign(shared.facts, reading.facts),
      subagent: reading.subagent ?? shared.subagent,
      mode: reading.mode ?? shared.mode,
      atMs: reading.atMs ?? shared.atMs,
    } as Reading;
  };
