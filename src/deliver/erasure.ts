/**
 * Erases a session from this machine.
 *
 * The first round stores the tombstone and removes journal and state. After it, hooks and transcripts of the session
 * add no data. The rounds after it remove the session from waiting bodies, the quarantine, the metrics and the files of
 * Agent Hooks logs. Rounds are atomic, and each step searches for the remaining data. So after a kill, the next
 * delivery or the repeated command does the rest. The caller has the lock.
 */
import type { Signal } from '../config/destinations.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import { isDiskError } from '../lib/disk-error.ts';
import { withoutEntry } from '../pipeline/index-round.ts';
import { noneErased, withDone, withPending } from '../receive/erased.ts';
import { withoutSession } from '../ship/lanes.ts';
import { withoutLines } from '../ship/local.ts';
import { accountsOf, ERASED, increase } from '../store/ledger.ts';
import type { BodyFile } from '../store/outbox.ts';
import { DAMAGED_JOURNAL } from '../store/quarantine.ts';
import type { Round, Store } from '../store/store.ts';
import { forgetSession } from '../telemetry/metric-state.ts';
import { isLineOfSession } from '../telemetry/session-of-item.ts';
import { varint } from '../telemetry/wire.ts';
import { destinationsIn } from './known-destinations.ts';

/** The largest number of items that one round rewrites. */
const ROUND_BYTES = 32 * 1024 * 1024;

/** The places of a session's data, besides its journal and its state. */
export interface Traces {
  items: Record<Exclude<Signal, 'metrics'>, number>;
  quarantine: string[];
  /** Logs of Agent Hooks events with lines of the session. */
  logs: string[];
}

/** Stores the tombstone, and removes journal, state and the marks of the session. */
export function beginErasure(store: Store, key: string, session: string, nowMs: number): void {
  for (;;) {
    const changed = new ChangedDocuments(store);
    changed.write(documents.erased, withPending(changed.read(documents.erased) ?? noneErased, key, session, nowMs));
    withoutEntry(changed, key);
    const mark = documents.openhook.of(key);
    if (changed.read(mark) !== undefined) changed.write(mark, undefined);
    const processes = changed.read(documents.processes);
    if (processes?.some(each => each[2] === session))
      changed.write(
        documents.processes,
        processes.filter(each => each[2] !== session),
      );
    for (const agent of store.idsOf(documents.origins)) {
      const origins = Object.entries(changed.read(documents.origins.of(agent)) ?? {});
      const others = origins.filter(([, [owner]]) => owner !== key);
      if (others.length < origins.length) changed.write(documents.origins.of(agent), Object.fromEntries(others));
    }
    const hasJournal = store.journals().includes(key);
    const round: Round = {
      epoch: store.epoch,
      documents: changed.changes(),
      sessions: [{ key, state: undefined }],
      prune: hasJournal ? [key] : [],
      tally: ledger => {
        if (hasJournal) increase(ledger.counters, `dropped.journal.${ERASED}`);
      },
    };
    if (store.commit(round) === 'committed') return;
  }
}

/**
 * Completes all erasures that have begun. Returns the logs that could not be rewritten; their erasures stay begun, and
 * each delivery tries them again.
 */
export function finishErasures(store: Store): LeftLog[] {
  const left: LeftLog[] = [];
  const tried = new Set<string>();
  for (;;) {
    const pending = Object.entries(store.read(documents.erased)?.pending ?? {});
    const [key, entry] = pending.find(([each]) => !tried.has(each)) ?? [];
    if (key === undefined || entry === undefined) return left;
    const { epoch } = store;
    const failed = finishErasure(store, key, entry.session);
    // Another owner has committed a round, so its view of the folder counts.
    if (store.epoch !== epoch) continue;
    tried.add(key);
    left.push(...failed);
  }
}

export interface LeftLog {
  path: string;
  why: string;
}

function finishErasure(store: Store, key: string, session: string): LeftLog[] {
  const { epoch } = store;
  const commit = (round: Round): void => void store.commit({ ...round, epoch });
  for (const id of store.destinations()) eraseFromOutbox(store, id, session, commit);
  eraseFromQuarantine(store, key, session, commit);
  eraseFromMetrics(store, session, commit);
  const left = logsIn(store).flatMap((path): LeftLog[] => {
    try {
      withoutLines(path, line => isLineOfSession(line, session));
      return [];
    } catch (error) {
      if (!isDiskError(error)) throw error;
      return [{ path, why: String((error as NodeJS.ErrnoException).code) }];
    }
  });
  if (left.length > 0) return left;
  const changed = new ChangedDocuments(store);
  changed.write(documents.erased, withDone(changed.read(documents.erased) ?? noneErased, key));
  commit({ documents: changed.changes() });
  return [];
}

type Commit = (round: Round) => void;

/** Finds what an erasure would remove, and changes nothing. */
export function tracesOf(store: Store, key: string, session: string): Traces {
  const found: Traces = { items: { traces: 0, logs: 0, events: 0 }, quarantine: [], logs: [] };
  for (const id of store.destinations())
    for (const body of store.next(id)) {
      const rest = restOf(store, id, body, session);
      if (rest !== undefined && body.signal !== 'metrics') found.items[body.signal] += body.items - rest.items;
    }
  found.quarantine = store.quarantined().filter(name => isOfSession(store, name, key, session));
  found.logs = logsIn(store).filter(path => withoutLines(path, line => isLineOfSession(line, session), 'look'));
  return found;
}

const logsIn = (store: Store): string[] => [
  ...new Set(destinationsIn(store).flatMap(({ signals }) => signals.events?.path ?? [])),
];

function eraseFromOutbox(store: Store, id: string, session: string, commit: Commit): void {
  for (let body = ''; ; ) {
    const part: { body: BodyFile; rest: { bytes: Uint8Array; items: number } }[] = [];
    let sizeBytes = 0;
    let isMore = false;
    for (const each of store.next(id)) {
      // The rest of a body keeps its place in the outbox, so every body up to here has been checked.
      if (each.name <= body) continue;
      if (sizeBytes > ROUND_BYTES) {
        isMore = true;
        break;
      }
      body = each.name;
      const rest = restOf(store, id, each, session);
      if (rest === undefined) continue;
      sizeBytes += each.sizeBytes;
      part.push({ body: each, rest });
    }
    if (part.length > 0) commit(roundWithout(id, part));
    if (!isMore) return;
  }
}

function roundWithout(
  id: string,
  part: readonly { body: BodyFile; rest: { bytes: Uint8Array; items: number } }[],
): Round {
  return {
    settled: part.map(({ body }) => ({ destination: id, name: body.name })),
    bodies: part.flatMap(({ body: { name, signal, isSkeleton }, rest }) =>
      rest.items === 0 ? [] : [{ destination: id, signal, ...rest, isSkeleton, inPlaceOf: name }],
    ),
    isUrgent: true,
    tally(ledger) {
      const accounts = accountsOf(ledger, id);
      for (const { body, rest } of part) increase(accounts[body.signal].dropped, ERASED, body.items - rest.items);
    },
  };
}

/** Returns the body without the items of the session; undefined if it has none of them. */
function restOf(
  store: Store,
  id: string,
  { name, signal, items }: BodyFile,
  session: string,
): { bytes: Uint8Array; items: number } | undefined {
  const bytes = store.body(id, name);
  if (signal === 'metrics' || !holds(bytes, session) || bytes === undefined) return undefined;
  const rest = withoutSession(signal, bytes, session);
  return rest === undefined || rest.items === items ? undefined : rest;
}

/** Raw payloads hold the id as a JSON text, bodies hold it unchanged. Short ids match only as a whole. */
function holds(bytes: Buffer | undefined, session: string): boolean {
  if (bytes === undefined) return false;
  if (bytes.includes(JSON.stringify(session))) return true;
  return bytes.includes(Buffer.concat([Buffer.of(0x0a), varint(Buffer.byteLength(session)), Buffer.from(session)]));
}

/** The name of a damaged journal has the key of its session, since its bytes are packed. */
const isOfSession = (store: Store, name: string, key: string, session: string): boolean =>
  name.startsWith(`${DAMAGED_JOURNAL}.${key}-`) || holds(store.quarantinedBytes(name), session);

function eraseFromQuarantine(store: Store, key: string, session: string, commit: Commit): void {
  const released = store.quarantined().filter(name => isOfSession(store, name, key, session));
  if (released.length === 0) return;
  commit({
    released,
    isUrgent: true,
    tally: ledger => increase(ledger.counters, `dropped.quarantine.${ERASED}`, released.length),
  });
}

/** Returns the series with the id of the session, if the configuration asks for such series. */
function eraseFromMetrics(store: Store, session: string, commit: Commit): void {
  const changed = new ChangedDocuments(store);
  for (const id of store.idsOf(documents.metrics)) {
    const document = documents.metrics.of(id);
    const state = changed.own(document);
    if (state !== undefined && forgetSession(state, session)) changed.write(document, state);
  }
  if (changed.changes().length > 0) commit({ documents: changed.changes() });
}
