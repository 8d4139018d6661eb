/** Reads the next part of a session's journal and turns it into jobs. */

import { awaited } from '../assemble/assemble.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import type { Event } from '../event/event.ts';
import { type SessionState, transcriptOf } from '../session/session-state.ts';
import {
  type Beyond,
  type Envelope,
  type OpenHookState,
  restOfOpenHook,
  toOpenHook,
} from '../standards/openhook/to-openhook.ts';
import type { Store } from '../store/store.ts';
import { type Job, type JobWorld, jobsIn, jobsLeft } from './jobs.ts';
import type { Mark } from './mark.ts';

export interface BatchWorld extends JobWorld {
  recalled(key: string): SessionState | undefined;
}

export interface SessionBatch {
  jobs: Job[];
  /** The session's document after these jobs were started. */
  document: Mark;
}

/** A batch has about this many commands: a kill between the commit and their start loses them. */
const BATCH = 8;
const CHUNK_BYTES = 256 * 1024;
const LONGEST_LINE = 64 * 1024 * 1024;
/** Events that happened longer before the session's first hook are history that a transcript supplied. */
const PAST_MS = 3_600_000;

/** Returns the next jobs of a session; undefined if its journal has no new events. */
export function nextBatch(store: Store, key: string, world: BatchWorld): SessionBatch | undefined {
  // The batch changes the state in place.
  const document = new ChangedDocuments(store).own(documents.openhook.of(key));
  if (document === undefined) return undefined;
  const { state, left = [] } = document;
  if (left.length > 0) return { jobs: jobsLeft(document, left, world), document: { ...document, left: undefined } };
  const session = world.recalled(key);
  const chunk = chunkOf(store, key, document.at);
  const mayEnd = session === undefined || awaited(session.fold).length === 0;
  if (chunk === undefined && !(mayEnd && state.ended !== undefined)) return undefined;
  const beyond = { cwd: document.cwd, transcript: session && transcriptOf(session) };
  const jobsFor = jobsIn(document, world);
  const jobs: Job[] = [];
  let rest = chunk?.lines ?? '';
  while (rest !== '' && jobs.length < BATCH) {
    const end = rest.indexOf('\n') + 1;
    const { atMs, envelopes } = envelopesIn(rest.slice(0, end), state, beyond);
    rest = rest.slice(end);
    if (atMs >= document.sinceMs - PAST_MS) jobs.push(...envelopes.flatMap(jobsFor));
  }
  const at = chunk === undefined ? document.at : chunk.endBytes - Buffer.byteLength(rest);
  if (rest === '' && mayEnd && state.ended !== undefined && chunkOf(store, key, at) === undefined)
    jobs.push(...restOfOpenHook(state, beyond).flatMap(jobsFor));
  return { jobs, document: { ...document, at } };
}

/** Returns whole lines from this byte on. A line that is longer than a chunk is returned alone. */
function chunkOf(store: Store, key: string, at: number): { lines: string; endBytes: number } | undefined {
  for (const most of [CHUNK_BYTES, LONGEST_LINE]) {
    const chunk = store.journalFrom(key, at, most);
    if (chunk !== undefined && chunk.lines !== '') return chunk;
  }
  return undefined;
}

/** A line that is damaged or that the conversion cannot handle is skipped. */
function envelopesIn(line: string, state: OpenHookState, beyond: Beyond): { atMs: number; envelopes: Envelope[] } {
  try {
    const event = JSON.parse(line) as Event;
    return { atMs: Date.parse(event.timestamp), envelopes: toOpenHook(state, event, beyond) };
  } catch {
    return { atMs: 0, envelopes: [] };
  }
}
