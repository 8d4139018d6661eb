/** Encodes journaled sessions as OTLP/JSON, with the same fold, encoding and ids as delivery. It changes no file. */
import { remaining, step } from '../assemble/assemble.ts';
import type { FinishedRecord, FinishedSpan } from '../assemble/finished.ts';
import type { Destination } from '../config/destinations.ts';
import { type OtlpSignal, signals } from '../config/schema.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import type { Event } from '../event/event.ts';
import { eventsOf, foldFrom } from '../journal/journal-events.ts';
import { newSession, type SessionState } from '../session/session-state.ts';
import type { Store } from '../store/store.ts';
import { encodeMetrics } from '../telemetry/metric-points.ts';
import { decodeRequest, type JsonObject } from '../telemetry/otlp-decode.ts';
import { outgoingOf } from './outgoing.ts';
import { type PreviewWorld, pinnedNow, withoutMetrics, worldOver } from './pin-now.ts';
import { recalled } from './rebuild.ts';
import type { SessionOutput } from './session-in-round.ts';
import type { RoundWorld } from './sessions-of-round.ts';

/** The number of events that were read, or requests with their data. */
export interface Part {
  events: number;
  requests: JsonObject[];
}

/**
 * Yields each signal in the form of the session's first destination that accepts the signal. Open spans are left out.
 * The counters of all these sessions come last.
 */
export function* otlpOf(store: Store, keys: readonly string[], world: PreviewWorld): Generator<Part> {
  const whole = worldOver(store, world);
  const changed = new ChangedDocuments(withoutMetrics(store));
  const metered = new Map<string, Destination>();
  for (const key of keys) {
    let open: Opened | undefined;
    for (const events of eventsOf(store, key)) {
      const [first] = events;
      if (first === undefined) continue;
      open ??= opened(store, key, first, changed, whole);
      const { state, fold, takers } = open;
      if (takers.metrics) metered.set(takers.metrics.id, takers.metrics);
      const spans: FinishedSpan[] = [];
      const records: FinishedRecord[] = [];
      for (const event of events) {
        const result = step(fold, event);
        spans.push(...result.spans);
        records.push(...result.records);
      }
      yield { events: events.length, requests: [] };
      yield* requestsOf({ state, lines: '', count: 0, events, spans, records }, takers, changed, world.nowMs);
    }
    const spans = open === undefined ? [] : remaining(open.fold);
    if (open === undefined || spans.length === 0) continue;
    const output = { state: open.state, lines: '', count: 0, events: [], spans, records: [] };
    yield* requestsOf(output, open.takers, changed, world.nowMs);
  }
  for (const { id, temporality } of metered.values()) {
    const metrics = changed.read(documents.metrics.of(id));
    const bodies = metrics && encodeMetrics(metrics, world.nowMs, temporality)?.bodies;
    yield { events: 0, requests: (bodies ?? []).flatMap(({ bytes }) => decoded('metrics', bytes)) };
  }
}

function* requestsOf(output: SessionOutput, takers: Takers, changed: ChangedDocuments, nowMs: number): Generator<Part> {
  for (const { destination, signal, bytes } of outgoingOf([output], changed, nowMs).bodies) {
    if (signal === 'events' || takers[signal]?.id !== destination) continue;
    yield { events: 0, requests: decoded(signal, bytes) };
  }
}

function decoded(signal: OtlpSignal, bytes: Uint8Array): JsonObject[] {
  const request = decodeRequest(signal, bytes);
  return request === undefined ? [] : [request];
}

type Takers = { [signal in OtlpSignal]?: Destination };

interface Opened {
  state: SessionState;
  fold: SessionState['fold'];
  takers: Takers;
}

function opened(store: Store, key: string, first: Event, changed: ChangedDocuments, world: RoundWorld): Opened {
  const known = recalled(store, key);
  const { agent, session, fold } = foldFrom(first, known?.pinned.shape);
  let ids = known?.pinned.destinations ?? [];
  let state = known;
  if (state === undefined || ids.length === 0) {
    const now = pinnedNow({ agent, session }, key, world);
    for (const each of now.destinations) changed.write(documents.destinations.of(each.id), each);
    ids = now.pinned.destinations;
    state ??= newSession(now.opening, now.pinned);
  }
  const places = ids.flatMap(id => changed.read(documents.destinations.of(id)) ?? []);
  const takers: Opened['takers'] = {};
  for (const signal of signals) takers[signal] = places.find(each => each.signals[signal] !== undefined);
  const destinations = [...new Set(Object.values(takers).flatMap(each => each?.id ?? []))];
  return { state: { ...state, fold, pinned: { ...state.pinned, destinations } }, fold, takers };
}
