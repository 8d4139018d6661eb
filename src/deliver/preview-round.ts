/**
 * Computes the requests that delivery would send, and changes nothing. It runs the same rounds, fold, encoding and
 * joining as delivery, so the bytes are those that delivery sends, unless more hooks arrive in between.
 */
import type { Destination } from '../config/destinations.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import { replay } from '../journal/replay.ts';
import { dueSessions } from '../pipeline/due-sessions.ts';
import { outgoingOf } from '../pipeline/outgoing.ts';
import { type PreviewWorld, pinnedNow, withoutMetrics, worldOver } from '../pipeline/pin-now.ts';
import { recalled } from '../pipeline/rebuild.ts';
import { computeRound } from '../pipeline/round.ts';
import type { SessionOutput } from '../pipeline/session-in-round.ts';
import type { RoundWorld } from '../pipeline/sessions-of-round.ts';
import { newSession } from '../session/session-state.ts';
import { joinable, joinedBytes } from '../ship/lanes.ts';
import { jsonOf } from '../ship/transport.ts';
import type { Document } from '../store/document.ts';
import type { Signal } from '../store/ledger.ts';
import type { Round, Store } from '../store/store.ts';
import { encodeMetrics } from '../telemetry/metric-points.ts';

export interface Request {
  signal: Signal;
  items: number;
  /** The body before compression. */
  bytes: Uint8Array;
}

export interface DestinationPreview {
  destination: Destination;
  isAssumed: boolean;
  requests: Request[];
}

export interface Preview {
  session: string;
  agent: string;
  /** The session has open items, which delivery does not send yet. */
  isOpen: boolean;
  events: number;
  /** The number of events that delivery has not read yet. */
  waiting: number;
  destinations: DestinationPreview[];
}

const MOST_FRAGMENTS = { fragments: 2_000, bytes: 64 * 1024 * 1024 };

/** Returns the requests of the sessions whose ids begin with the word, including what was sent before. */
export function previewOf(store: Store, wanted: string, world: PreviewWorld): Preview[] {
  const { view, changed, whole } = upcoming(store, world);
  const keys = new Set([...store.journals(), ...changed.keys()]);
  return [...keys].flatMap(key => {
    const known = recalled(view, key);
    const replayed = replay(view.journal(key) ?? '', known?.pinned.shape);
    if (replayed === undefined || !replayed.session.startsWith(wanted)) return [];
    const now = pinnedNow(replayed, key, whole);
    const state = known ?? newSession(now.opening, now.pinned);
    const isAssumed = state.pinned.destinations.length === 0;
    const ids = isAssumed ? now.pinned.destinations : state.pinned.destinations;
    const output: SessionOutput = {
      // All spans of the journal are here, also those that wait in the state for a decision of the sampler.
      state: { ...state, fold: { ...state.fold, keeping: undefined }, pinned: { ...state.pinned, destinations: ids } },
      lines: view.journal(key) ?? '',
      count: replayed.events.length,
      events: replayed.events,
      spans: replayed.finished,
      records: replayed.records,
    };
    const added = new ChangedDocuments(withoutMetrics(view));
    for (const each of now.destinations) added.write(documents.destinations.of(each.id), each);
    const { bodies } = outgoingOf([output], added, world.nowMs);
    return {
      session: replayed.session,
      agent: replayed.agent,
      isOpen: replayed.open.length > 0,
      events: replayed.events.length,
      waiting: changed.get(key)?.length ?? 0,
      destinations: ids.flatMap(id => {
        const destination = added.read(documents.destinations.of(id));
        if (destination === undefined) return [];
        const here = bodies.filter(body => body.destination === id);
        return { destination, isAssumed, requests: requestsOf(destination, here, added, world.nowMs) };
      }),
    };
  });
}

/** Returns the requests that a delivery by hand would send now for all sessions. */
export function previewOfAll(store: Store, world: PreviewWorld): DestinationPreview[] {
  const { view, bodies } = upcoming(store, world);
  return view.idsOf(documents.destinations).flatMap(id => {
    const destination = view.read(documents.destinations.of(id));
    if (destination === undefined) return [];
    const before = store.next(id).flatMap(({ name: body, signal, items }) => {
      const bytes = store.body(id, body);
      return bytes === undefined ? [] : [{ signal, items, bytes }];
    });
    const here = [...before, ...bodies.filter(body => body.destination === id)];
    const requests = requestsOf(destination, here, view, world.nowMs);
    return requests.length === 0 ? [] : [{ destination, isAssumed: false, requests }];
  });
}

interface Upcoming {
  /** The store after the rounds. */
  view: Store;
  bodies: NonNullable<Round['bodies']>;
  /** The lines that the rounds would journal. */
  changed: ReadonlyMap<string, readonly string[]>;
  whole: RoundWorld;
}

/** Takes the waiting fragments of the inbox as a delivery by hand would. */
function upcoming(store: Store, world: PreviewWorld): Upcoming {
  const sessions = new Map<string, string | undefined>();
  const written = new Map<string, unknown>();
  const changed = new Map<string, string[]>();
  const bodies: NonNullable<Round['bodies']> = [];
  const view: Store = {
    ...store,
    session(key) {
      const text = sessions.get(key);
      if (!sessions.has(key)) return store.session(key);
      return text === undefined ? undefined : { state: JSON.parse(text), journalBytes: 0 };
    },
    read<T>(document: Document<T>) {
      const { name } = document;
      return written.has(name) ? (structuredClone(written.get(name)) as T | undefined) : store.read(document);
    },
    idsOf: family => [
      ...new Set([...store.idsOf(family), ...[...written.keys()].flatMap(name => family.idOf(name) ?? [])]),
    ],
    journal(key) {
      const lines = changed.get(key)?.map(line => `${line}\n`) ?? [];
      const kept = store.journal(key);
      return kept === undefined && lines.length === 0 ? undefined : (kept ?? '') + lines.join('');
    },
  };
  const whole = worldOver(store, world);
  for (;;) {
    const taken = store.take(MOST_FRAGMENTS);
    const { round, isMore } = computeRound(view, taken, dueSessions(view, world.nowMs), whole);
    for (const { key, lines } of round.journal ?? []) {
      const known = changed.get(key) ?? [];
      changed.set(key, known);
      for (const line of Buffer.from(lines).toString().split('\n')) if (line !== '') known.push(line);
    }
    for (const { key, state } of round.sessions ?? [])
      sessions.set(key, state === undefined ? undefined : JSON.stringify(state));
    for (const { name, value } of round.documents ?? []) written.set(name, value);
    bodies.push(...(round.bodies ?? []));
    if (taken.fragments.length === 0 && !isMore) return { view, bodies, changed, whole };
  }
}

/** Joins bodies as delivery does: each signal separately, metrics last. */
function requestsOf(
  destination: Destination,
  bodies: readonly { signal: Signal; items: number; bytes: Uint8Array }[],
  stored: Pick<Store, 'read'>,
  nowMs: number,
): Request[] {
  const requests: Request[] = [];
  for (const signal of ['traces', 'logs', 'events'] as const) {
    let left = bodies
      .filter(body => body.signal === signal)
      .map((body, i) => ({ ...body, name: String(i), sizeBytes: body.bytes.length }));
    while (left.length > 0) {
      const joined = joinable(left, signal);
      const names = new Set(joined.map(body => body.name));
      const bytes = left.filter(body => names.has(body.name)).map(body => body.bytes);
      requests.push({
        signal,
        items: joined.reduce((sum, { items }) => sum + items, 0),
        bytes: joinedBytes(signal, bytes),
      });
      left = left.filter(body => !names.has(body.name));
    }
  }
  const state = stored.read(documents.metrics.of(destination.id));
  const metrics = destination.signals.metrics && state && encodeMetrics(state, nowMs, destination.temporality);
  for (const { bytes, items } of metrics ? metrics.bodies : []) requests.push({ signal: 'metrics', items, bytes });
  return requests.map(request => ({ ...request, bytes: asSent(destination, request) }));
}

/** Converts a body to JSON for destinations that use `http/json`. */
function asSent({ signals }: Destination, { signal, bytes }: Request): Uint8Array {
  const isJson = signal !== 'events' && signals[signal]?.protocol === 'http/json';
  return (isJson ? jsonOf(signal, bytes) : undefined) ?? bytes;
}
