/**
 * From the outbox to the destinations.
 *
 * Constraints
 * - A destination has one request under way at a time, and what came of it is committed before its next one. So a kill
 *   between an answer and its commit repeats at most one request, with the same bytes.
 * - A destination that is away costs nothing but its own backlog; a signal that fails does not hold up the others.
 * - One poisonous item costs that item. One server that refuses everything does not empty the outbox into quarantine.
 *
 * A signal of a destination is a lane. A lane sends its oldest bodies joined (requests laid end to end are one request).
 * What is refused for good is halved: first between bodies, then within one, down to the item that is refused alone.
 * The first half that comes to an end puts the parts that are left into the outbox in the body's place, so that a kill
 * in the middle repeats no half. Waits and failures are kept in the document `ship`, so that the next process neither
 * hammers nor forgets; times in it are this machine's, and one too far ahead (the clock was set back) counts as over.
 */
import { type Destination, openingKeys, type Signal, type Way, wayOf } from '../config/destinations.ts';
import { fieldsOf, isFields, number } from '../lib/read.ts';
import type { Problem } from '../problems/problem.ts';
import { countItems, cutBody, joinBodies } from './otlp-body.ts';
import type { Transport } from './transport.ts';
import { backoffMs, LONGEST_WAIT_MS, type Verdict, verdictOf } from './verdict.ts';

export const SHIP_DOCUMENT = 'ship';

const MOST_ITEMS = 512;
const MOST_BYTES = 4 * 1024 * 1024;
/** So many items refused one by one, with none taken in between, and it is the server that is wrong. */
const MOST_REFUSED_IN_A_ROW = 16;
const PAUSE_MS = 300_000;

/** What the shipper needs of the store. */
export interface ShipStore {
  /** Oldest first. */
  next(destination: string): readonly WaitingBody[];
  /** Undefined: gone or damaged. */
  body(destination: string, name: string): Uint8Array | undefined;
  document(name: string): unknown;
}

export interface WaitingBody {
  name: string;
  signal: Signal;
  items: number;
  sizeBytes: number;
}

/** What one answer changes; the caller makes a round of it. */
export interface Outcome {
  destination: Destination;
  signal: Signal;
  /** Bodies that go. */
  settled: string[];
  /** Parts of the first of them that stay, in its place. */
  parts: { items: number; bytes: Uint8Array }[];
  accepted: number;
  /** How long the request took that brought it, where it was taken. */
  tookMs?: number | undefined;
  rejected: { readonly [reason: string]: number };
  dropped: { readonly [reason: string]: number };
  /** Items that no request can carry. */
  quarantine: { reason: string; label: string; bytes: Uint8Array }[];
  documents: { name: string; value: unknown }[];
  /** What a person should hear of, though nothing stays wrong. */
  problems: Problem[];
  /** Nothing came of the try, for this reason; what was sent waits. */
  failed?: string | undefined;
}

/** Metrics are encoded when they leave. */
export interface MetricBodies {
  /** Sent in this order; the state is settled when all were taken. */
  bodies: readonly Uint8Array[];
  /** Older versions of the state that this one stands for. */
  superseded: number;
  /**
   * What to remember once they were taken. Asked for when that is committed: increments that came while the bodies were
   * under way are in the state by then and must stay in it.
   */
  settled(): { name: string; value: unknown }[];
}

export interface ShipperParts {
  store: ShipStore;
  destinations(): readonly Destination[];
  /** By way. Without one its bodies wait. */
  transports: { readonly [way in Way]?: Transport };
  commit(outcome: Outcome): 'committed' | 'lost';
  /** The newest state that the destination has not taken yet. */
  metrics?: ((destination: Destination, nowMs: number) => MetricBodies | undefined) | undefined;
  clock(): number;
  random(): number;
}

export interface PassOptions {
  /** Someone is waiting: what is paused or backing off is tried at once, once. */
  byHand?: boolean;
  /** Metrics leave now, whenever the last ones did. */
  final?: boolean;
  /** Asked before each request; true ends the pass. */
  leave?: () => boolean;
}

export interface Passed {
  /** Items that destinations took. */
  sent: number;
  /** Items that still lie in the outboxes. */
  waiting: number;
  /** From now until the next try is due; undefined: nothing to try, or nothing that a try would help. */
  nextTryMs: number | undefined;
  problems: Problem[];
}

export interface Shipper {
  /** Sends what can be sent now. Passes do not overlap: a second call joins the first. */
  pass(options?: PassOptions): Promise<Passed>;
}

export function createShipper(parts: ShipperParts): Shipper {
  const { store, clock, random } = parts;
  const lines = new Map<string, Line>();
  let running: Promise<Passed> | undefined;

  async function pass(options: PassOptions): Promise<Passed> {
    const destinations = parts.destinations();
    const problems: Problem[] = [];
    const sent = await Promise.all(destinations.map(each => passOne(each, destinations, options, problems)));
    const standing = readStanding(store.document(SHIP_DOCUMENT));
    return {
      sent: sent.reduce((sum, each) => sum + each, 0),
      waiting: destinations.reduce((sum, { id }) => sum + itemsIn(store.next(id)), 0),
      nextTryMs: nextTryMs(destinations, standing),
      problems: [...problems, ...problemsOf(standing, destinations)],
    };
  }

  async function passOne(
    destination: Destination,
    all: readonly Destination[],
    options: PassOptions,
    problems: Problem[],
  ): Promise<number> {
    const transport = parts.transports[wayOf(destination.provider)];
    if (transport === undefined) return 0;
    const line = lineOf(destination);
    line.hasSentMetrics = false;
    const free = new Set<Signal>(options.byHand ? signalsOf(destination) : []);
    let sent = 0;
    while (!options.leave?.()) {
      const step = nextStep(destination, all, line, free, options);
      if (step === undefined) break;
      free.delete(step.signal);
      const ended = await step.send(transport, problems);
      // A 401 concerns every signal; the free tries of the others would only repeat it.
      if (ended.isPaused) free.clear();
      sent += ended.taken;
      if (ended.isLost) break;
    }
    return sent;
  }

  function lineOf(destination: Destination): Line {
    const known = lines.get(destination.id);
    if (known) return known;
    const opened: Line = { suspects: [], last: undefined, hasSentMetrics: false };
    lines.set(destination.id, opened);
    return opened;
  }

  /** Signals take turns. */
  function nextStep(
    destination: Destination,
    all: readonly Destination[],
    line: Line,
    free: ReadonlySet<Signal>,
    options: PassOptions,
  ): Step | undefined {
    const mine = signalsOf(destination);
    const after = line.last === undefined ? -1 : mine.indexOf(line.last);
    const standing = readStanding(store.document(SHIP_DOCUMENT));
    const heir = heirOf(destination, all, standing);
    for (let i = 1; i <= mine.length; i += 1) {
      const signal = mine[(after + i) % mine.length];
      if (signal === undefined) continue;
      if (!free.has(signal) && waitMs(standing, destination, signal, clock(), heir) > 0) continue;
      const step =
        bodiesStep(destination, heir, line, signal) ??
        (heir === undefined ? metricsStep(destination, line, signal, standing, options) : undefined);
      if (step === undefined) continue;
      line.last = signal;
      return step;
    }
    return undefined;
  }

  function bodiesStep(
    destination: Destination,
    heir: Destination | undefined,
    line: Line,
    signal: Signal,
  ): Step | undefined {
    const suspect = line.suspects.find(each => each.bodies[0]?.signal === signal);
    const bodies = suspect?.bodies ?? joinable(store.next(destination.id), signal);
    if (bodies.length === 0) return undefined;
    return {
      signal,
      send: (transport, problems) => sendBodies(destination, heir, line, suspect ?? { bodies }, transport, problems),
    };
  }

  async function sendBodies(
    destination: Destination,
    heir: Destination | undefined,
    line: Line,
    group: Group,
    transport: Transport,
    problems: Problem[],
  ): Promise<Ended> {
    const [first] = group.bodies;
    if (first === undefined) return nothing;
    const { signal } = first;
    const bytes = group.cut?.[0] ?? bytesOf(destination, group.bodies);
    if (bytes === undefined) return dropUnreadable(destination, line, group);
    const items = group.cut === undefined ? itemsIn(group.bodies) : (itemsOf(signal, bytes) ?? 1);
    const sentMs = clock();
    const verdict = verdictOf(await transport(heir ?? destination, signal, bytes), clock());
    const tookMs = clock() - sentMs;
    const standing = readStanding(store.document(SHIP_DOCUMENT));

    if (verdict.kind === 'retry' || verdict.kind === 'pause') {
      return wait(destination, heir, signal, verdict, standing);
    }
    if (verdict.kind === 'refused') {
      const halves = halvesOf(signal, group, bytes, items);
      if (halves !== undefined) {
        replace(line, group, halves);
        return nothing;
      }
    }

    const rejected = verdict.kind === 'refused' ? items : Math.min(verdict.rejected, items);
    const reason = verdict.kind === 'refused' ? verdict.reason : 'partial';
    const taken = items - rejected;
    const rest = group.cut?.slice(1) ?? [];
    const lane = standing.lanes[laneKey(destination, signal)];
    const refusedInARow =
      taken > 0 ? 0 : verdict.kind === 'refused' ? (lane?.refused ?? 0) + items : (lane?.refused ?? 0);
    const isHopeless = refusedInARow >= MOST_REFUSED_IN_A_ROW;
    const now: Lane | undefined =
      refusedInARow === 0
        ? undefined
        : {
            failures: 0,
            refused: refusedInARow,
            why: reason,
            untilMs: isHopeless ? clock() + hopelessMs(refusedInARow) : 0,
          };
    const before = new Set(store.next(destination.id).map(body => body.name));
    const { endpoint } = destination;
    const found: Problem[] = [];
    if (verdict.kind === 'refused') found.push({ code: 'delivery-rejected', endpoint, signal, reason, items });
    else if (rejected > 0 || verdict.message !== '')
      found.push({ code: 'delivery-partial', endpoint, signal, items: rejected, message: verdict.message });
    const committed = parts.commit({
      destination,
      signal,
      settled: group.bodies.map(body => body.name),
      parts: rest.map(part => ({ items: itemsOf(signal, part) ?? 1, bytes: part })),
      accepted: taken,
      // A clock that jumped meanwhile says nothing.
      tookMs: taken > 0 && tookMs >= 0 ? tookMs : undefined,
      rejected: rejected === 0 ? {} : { [reason]: rejected },
      dropped: {},
      quarantine: verdict.kind === 'refused' ? [{ reason, label: signal, bytes }] : [],
      documents: standingChange(
        standing,
        destination,
        signal,
        now,
        taken > 0 && notesTaken(standing, heir ?? destination),
        heir,
      ),
      problems: found,
    });
    if (committed === 'lost') return startAnew(line);
    // Parts stand in the outbox under names of their own now, and each is tried alone.
    const fresh =
      rest.length === 0
        ? []
        : store.next(destination.id).filter(body => body.signal === signal && !before.has(body.name));
    replace(
      line,
      group,
      fresh.map(body => ({ bodies: [body] })),
    );
    problems.push(...found);
    return { taken, isLost: false, isPaused: false };
  }

  function metricsStep(
    destination: Destination,
    line: Line,
    signal: Signal,
    standing: Standing,
    { final }: PassOptions,
  ): Step | undefined {
    if (signal !== 'metrics' || parts.metrics === undefined || line.hasSentMetrics) return undefined;
    const nowMs = clock();
    const sinceMs = nowMs - (standing.metrics[destination.id] ?? Number.NEGATIVE_INFINITY);
    // A clock that was set back must not silence metrics until it has caught up.
    if (!final && sinceMs >= 0 && sinceMs < destination.metricIntervalMs) return undefined;
    const metrics = parts.metrics(destination, nowMs);
    if (metrics === undefined) return undefined;
    line.hasSentMetrics = true;
    return { signal, send: (transport, problems) => sendMetrics(destination, metrics, transport, problems) };
  }

  /**
   * The newest state stands for all before it, so a refused one is not searched for poison: the next one says it all
   * again.
   */
  async function sendMetrics(
    destination: Destination,
    metrics: MetricBodies,
    transport: Transport,
    problems: Problem[],
  ): Promise<Ended> {
    const signal = 'metrics';
    const { endpoint } = destination;
    const waiting = [...metrics.bodies];
    const found: Problem[] = [];
    let refused: string | undefined;
    for (let body = waiting.shift(); body !== undefined; body = waiting.shift()) {
      const verdict = verdictOf(await transport(destination, signal, body), clock());
      if (verdict.kind === 'retry' || verdict.kind === 'pause') {
        return wait(destination, undefined, signal, verdict, readStanding(store.document(SHIP_DOCUMENT)));
      }
      const items = countItems(body) ?? 1;
      if (verdict.kind === 'refused' && verdict.reason === '413' && items > 1) {
        const half = Math.ceil(items / 2);
        waiting.unshift(cutBody(body, 0, half), cutBody(body, half, items));
        continue;
      }
      if (verdict.kind === 'refused') {
        refused = verdict.reason;
        found.push({ code: 'delivery-rejected', endpoint, signal, reason: verdict.reason, items });
      } else if (verdict.rejected > 0 || verdict.message !== '') {
        if (verdict.rejected > 0) refused ??= 'partial';
        found.push({
          code: 'delivery-partial',
          endpoint,
          signal,
          items: verdict.rejected,
          message: verdict.message,
        });
      }
    }
    const standing = readStanding(store.document(SHIP_DOCUMENT));
    standing.metrics[destination.id] = clock();
    if (refused === undefined) notesTaken(standing, destination);
    const committed = parts.commit({
      destination,
      signal,
      settled: [],
      parts: [],
      accepted: refused === undefined ? 1 : 0,
      rejected: refused === undefined ? {} : { [refused]: 1 },
      dropped: metrics.superseded === 0 ? {} : { superseded: metrics.superseded },
      quarantine: [],
      documents: [...metrics.settled(), ...standingChange(standing, destination, signal, undefined, true)],
      problems: found,
    });
    problems.push(...found);
    return committed === 'lost' ? lost : { taken: refused === undefined ? 1 : 0, isLost: false, isPaused: false };
  }

  /** False where it was noted just now. */
  function notesTaken(standing: Standing, { id }: Destination): boolean {
    const nowMs = clock();
    if (Math.abs(nowMs - (standing.taken[id] ?? 0)) < TAKEN_EVERY_MS) return false;
    standing.taken[id] = nowMs;
    return true;
  }

  function wait(
    destination: Destination,
    heir: Destination | undefined,
    signal: Signal,
    verdict: Extract<Verdict, { kind: 'retry' | 'pause' }>,
    standing: Standing,
  ): Ended {
    const nowMs = clock();
    const key = laneKey(destination, signal);
    const lane = standing.lanes[key]?.by === heir?.id ? standing.lanes[key] : undefined;
    if (verdict.kind === 'pause' && verdict.scope === 'destination') {
      standing.pauses[(heir ?? destination).id] = { status: verdict.status, untilMs: nowMs + PAUSE_MS };
    } else {
      const failures = (lane?.failures ?? 0) + 1;
      const forMs =
        verdict.kind === 'pause' ? PAUSE_MS : Math.max(1_000, verdict.afterMs ?? backoffMs(failures, random()));
      const why = verdict.kind === 'pause' ? String(verdict.status) : verdict.why;
      const by = heir === undefined ? {} : { by: heir.id };
      standing.lanes[key] = { failures, refused: lane?.refused ?? 0, why, untilMs: nowMs + forMs, ...by };
    }
    const committed = parts.commit({
      destination,
      signal,
      settled: [],
      parts: [],
      accepted: 0,
      rejected: {},
      dropped: {},
      quarantine: [],
      documents: [{ name: SHIP_DOCUMENT, value: standing }],
      problems: [],
      failed: verdict.kind === 'pause' ? String(verdict.status) : verdict.why,
    });
    const isPaused = verdict.kind === 'pause' && verdict.scope === 'destination';
    return { taken: 0, isLost: committed === 'lost', isPaused };
  }

  function bytesOf(destination: Destination, bodies: readonly WaitingBody[]): Uint8Array | undefined {
    const found: Uint8Array[] = [];
    for (const body of bodies) {
      const bytes = readWhole(destination, body);
      if (bytes === undefined) return undefined;
      found.push(bytes);
    }
    return joinedBytes(bodies[0]?.signal, found);
  }

  /** A damaged one, laid end to end with its neighbours, would make all of them unreadable. */
  function readWhole(destination: Destination, { name, signal, items }: WaitingBody): Uint8Array | undefined {
    const bytes = store.body(destination.id, name);
    return bytes !== undefined && itemsOf(signal, bytes) === items ? bytes : undefined;
  }

  /** A body that a power cut damaged. One that another owner settled makes the commit a lost one. */
  function dropUnreadable(destination: Destination, line: Line, group: Group): Ended {
    const unreadable = group.bodies.filter(body => readWhole(destination, body) === undefined);
    const committed = parts.commit({
      destination,
      signal: group.bodies[0]?.signal ?? 'traces',
      settled: unreadable.map(body => body.name),
      parts: [],
      accepted: 0,
      rejected: {},
      dropped: { damaged: itemsIn(unreadable) },
      quarantine: [],
      documents: [],
      problems: [],
    });
    if (committed === 'lost') return startAnew(line);
    replace(line, group, []);
    return nothing;
  }

  function nextTryMs(destinations: readonly Destination[], standing: Standing): number | undefined {
    const nowMs = clock();
    let soonest: number | undefined;
    for (const destination of destinations) {
      if (parts.transports[wayOf(destination.provider)] === undefined) continue;
      const heir = heirOf(destination, destinations, standing);
      const waiting = new Set<Signal>(store.next(destination.id).map(body => body.signal));
      if (parts.metrics?.(destination, nowMs) !== undefined) waiting.add('metrics');
      for (const signal of waiting) {
        const sinceMs = nowMs - (standing.metrics[destination.id] ?? 0);
        const untilDueMs = signal === 'metrics' && sinceMs >= 0 ? destination.metricIntervalMs - sinceMs : 0;
        const inMs = Math.max(0, untilDueMs, waitMs(standing, destination, signal, nowMs, heir));
        soonest = Math.min(soonest ?? inMs, inMs);
      }
    }
    return soonest;
  }

  return {
    pass(options = {}) {
      running ??= pass(options).finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

/** Each try of a server that refuses everything costs an item, so tries grow rare. */
const hopelessMs = (refused: number): number =>
  Math.min(LONGEST_WAIT_MS, PAUSE_MS * 2 ** Math.min(refused - MOST_REFUSED_IN_A_ROW, 10));

interface Line {
  /** Parts of refused requests, each sent before all else of its signal and joined with nothing. */
  suspects: Group[];
  last: Signal | undefined;
  /** In this pass: once is enough, however fast the state changes. */
  hasSentMetrics: boolean;
}

/** Bodies that go as one request; `cut`: the one body's parts in order, of which the first goes. */
interface Group {
  bodies: WaitingBody[];
  cut?: Uint8Array[];
}

interface Step {
  signal: Signal;
  send(transport: Transport, problems: Problem[]): Promise<Ended>;
}

interface Ended {
  taken: number;
  /** Another owner has the folder: what we know of it is old. */
  isLost: boolean;
  isPaused: boolean;
}
const nothing: Ended = { taken: 0, isLost: false, isPaused: false };
const lost: Ended = { taken: 0, isLost: true, isPaused: false };

function startAnew(line: Line): Ended {
  line.suspects = [];
  return lost;
}

/** Metrics last: spans and records are what a person waits for. */
const order: readonly Signal[] = ['traces', 'logs', 'events', 'metrics'];
const signalsOf = (destination: Destination): Signal[] => order.filter(signal => destination.signals[signal]);

const itemsIn = (bodies: readonly { items: number }[]): number => bodies.reduce((sum, { items }) => sum + items, 0);

/** The oldest bodies of a signal that fit into one request; the first always does. */
export function joinable(queue: readonly WaitingBody[], signal: Signal): WaitingBody[] {
  const joined: WaitingBody[] = [];
  let items = 0;
  let sizeBytes = 0;
  for (const body of queue) {
    if (body.signal !== signal) continue;
    items += body.items;
    sizeBytes += body.sizeBytes;
    if (joined.length > 0 && (items > MOST_ITEMS || sizeBytes > MOST_BYTES)) break;
    joined.push(body);
  }
  return joined;
}

/** The group is over, or it goes on as these. */
function replace(line: Line, group: Group, by: Group[]): void {
  const at = line.suspects.indexOf(group);
  if (at < 0) line.suspects.unshift(...by);
  else line.suspects.splice(at, 1, ...by);
}

function halvesOf(signal: Signal, group: Group, bytes: Uint8Array, items: number): Group[] | undefined {
  if (group.bodies.length > 1) {
    const at = middleOf(group.bodies);
    return [{ bodies: group.bodies.slice(0, at) }, { bodies: group.bodies.slice(at) }];
  }
  // Bytes that cannot be counted are no request, and no part of them is.
  if (items < 2 || itemsOf(signal, bytes) !== items) return undefined;
  const half = Math.ceil(items / 2);
  const [left, right] =
    signal === 'events' ? cutLines(bytes, half) : [cutBody(bytes, 0, half), cutBody(bytes, half, items)];
  return [{ bodies: group.bodies, cut: [left, right, ...(group.cut?.slice(1) ?? [])] }];
}

/** Between the bodies, as near to half of the items as it can be. */
function middleOf(bodies: readonly WaitingBody[]): number {
  const all = itemsIn(bodies);
  let left = 0;
  for (let at = 1; at < bodies.length; at += 1) {
    left += bodies[at - 1]?.items ?? 0;
    const next = bodies[at]?.items ?? 0;
    if (left + next / 2 >= all / 2) return at;
  }
  return bodies.length - 1;
}

/** Neighbours as one body. */
export const joinedBytes = (signal: Signal | undefined, bodies: readonly Uint8Array[]): Buffer =>
  signal === 'events' ? Buffer.concat(bodies) : joinBodies(bodies);

function itemsOf(signal: Signal, bytes: Uint8Array): number | undefined {
  if (signal !== 'events') return countItems(bytes);
  let lines = 0;
  for (const byte of bytes) if (byte === 0x0a) lines += 1;
  return lines;
}

function cutLines(bytes: Uint8Array, lines: number): [Uint8Array, Uint8Array] {
  let at = 0;
  for (let i = 0; i < lines; i += 1) at = bytes.indexOf(0x0a, at) + 1;
  return [bytes.subarray(0, at), bytes.subarray(at)];
}

/** The document `ship`. */
interface Standing {
  v: 1;
  /** By `<destination>/<signal>`; one that is missing is in good health. */
  lanes: { [key: string]: Lane };
  /** Destinations that refuse our credentials. */
  pauses: { [destination: string]: { status: number; untilMs: number } };
  /** When metrics last left, by destination. */
  metrics: { [destination: string]: number };
  /** When a destination last took something, to ten seconds: each body would renew this file otherwise. */
  taken: { [destination: string]: number };
}

const TAKEN_EVERY_MS = 10_000;

interface Lane {
  failures: number;
  /** Items refused one after the other since the last that was taken. */
  refused: number;
  why: string;
  untilMs: number;
  /** The heir that failed, where it was not the destination itself. */
  by?: string | undefined;
}

const laneKey = (destination: Destination, signal: Signal): string => `${destination.id}/${signal}`;

function readStanding(document: unknown): Standing {
  const { lanes, pauses, metrics, taken } = fieldsOf(document);
  const standing: Standing = { v: 1, lanes: {}, pauses: {}, metrics: {}, taken: {} };
  for (const [key, lane] of Object.entries(fieldsOf(lanes))) {
    if (!isFields(lane)) continue;
    standing.lanes[key] = {
      failures: number(lane.failures) ?? 0,
      refused: number(lane.refused) ?? 0,
      why: typeof lane.why === 'string' ? lane.why : '',
      untilMs: number(lane.untilMs) ?? 0,
      ...(typeof lane.by === 'string' ? { by: lane.by } : {}),
    };
  }
  for (const [id, pause] of Object.entries(fieldsOf(pauses))) {
    if (isFields(pause))
      standing.pauses[id] = { status: number(pause.status) ?? 0, untilMs: number(pause.untilMs) ?? 0 };
  }
  for (const [id, atMs] of Object.entries(fieldsOf(metrics))) if (typeof atMs === 'number') standing.metrics[id] = atMs;
  for (const [id, atMs] of Object.entries(fieldsOf(taken))) if (typeof atMs === 'number') standing.taken[id] = atMs;
  return standing;
}

/** The document as it is after something of the lane came to an end, if that changes it. */
function standingChange(
  standing: Standing,
  destination: Destination,
  signal: Signal,
  lane: Lane | undefined,
  isChanged = false,
  heir?: Destination,
): { name: string; value: Standing }[] {
  const key = laneKey(destination, signal);
  const heard = (heir ?? destination).id;
  const changes = isChanged || lane !== undefined || key in standing.lanes || heard in standing.pauses;
  if (!changes) return [];
  if (lane === undefined) delete standing.lanes[key];
  else standing.lanes[key] = lane;
  // A destination that takes or refuses bodies has accepted our credentials.
  delete standing.pauses[heard];
  return [{ name: SHIP_DOCUMENT, value: standing }];
}

function waitMs(
  standing: Standing,
  destination: Destination,
  signal: Signal,
  nowMs: number,
  heir: Destination | undefined,
): number {
  const pause = heir === undefined ? standing.pauses[destination.id] : undefined;
  const until = [standing.lanes[laneKey(destination, signal)]?.untilMs, pause?.untilMs];
  return Math.max(0, ...until.map(each => leftMs(each ?? 0, nowMs)));
}

/**
 * Where a destination's bodies go when it refuses our credentials, or has never taken anything: to what was read later in
 * the same place, and has not refused us. A corrected key takes along what waited for the same addresses, a corrected address
 * what waited for one that never took anything. So no key goes to a server that its own place does not name, nor anybody's
 * data with the key, or to the address, of another project; and what once worked keeps what is its own.
 */
function heirOf(of: Destination, all: readonly Destination[], standing: Standing): Destination | undefined {
  if (of.source === undefined || !isStuck(of, standing)) return undefined;
  const { pinnedMs: ownMs = 0 } = of;
  const isMovable = hasTakenNothing(of, standing);
  const later = all.filter(
    each =>
      each.source === of.source &&
      each.provider === of.provider &&
      (each.pinnedMs ?? 0) > ownMs &&
      standing.pauses[each.id] === undefined &&
      signalsOf(of).every(signal =>
        isMovable ? each.signals[signal] !== undefined : each.signals[signal]?.url === of.signals[signal]?.url,
      ),
  );
  return later.sort((a, b) => (b.pinnedMs ?? 0) - (a.pinnedMs ?? 0))[0];
}

const isStuck = (of: Destination, standing: Standing): boolean =>
  standing.pauses[of.id] !== undefined || hasTakenNothing(of, standing);

/** Although it was tried. */
const hasTakenNothing = (of: Destination, { lanes, pauses, taken }: Standing): boolean =>
  wayOf(of.provider) === 'otlp' &&
  taken[of.id] === undefined &&
  (pauses[of.id] !== undefined || signalsOf(of).some(signal => (lanes[laneKey(of, signal)]?.failures ?? 0) > 0));

/** By the document `ship`: who refuses our credentials, or has never taken anything. */
export function stuckIn(document: unknown, destinations: readonly Destination[]): Destination[] {
  const standing = readStanding(document);
  return destinations.filter(each => isStuck(each, standing));
}

/** By the document `ship`: who has an heir, and which. */
export function heirsIn(
  document: unknown,
  destinations: readonly Destination[],
): [destination: Destination, heir: Destination][] {
  const standing = readStanding(document);
  return destinations.flatMap((each): [Destination, Destination][] => {
    const heir = heirOf(each, destinations, standing);
    return heir === undefined ? [] : [[each, heir]];
  });
}

/** The document `ship` as if it had never heard of these. */
export function withoutStanding(document: unknown, ids: readonly string[]): unknown {
  const standing = readStanding(document);
  for (const id of ids) {
    delete standing.pauses[id];
    delete standing.metrics[id];
    for (const signal of order) delete standing.lanes[`${id}/${signal}`];
  }
  return standing;
}

/** Nothing waits longer than the longest wait; what seems to was written under another clock. */
const leftMs = (untilMs: number, nowMs: number): number => (untilMs - nowMs > LONGEST_WAIT_MS ? 0 : untilMs - nowMs);

/** What the document `ship` says of destinations, for `status`. */
/** When each destination last took something, by id. */
export const takenIn = (document: unknown): Readonly<Record<string, number>> => readStanding(document).taken;

export function shipProblems(document: unknown, destinations: readonly Destination[]): Problem[] {
  return problemsOf(readStanding(document), destinations);
}

function problemsOf(standing: Standing, destinations: readonly Destination[]): Problem[] {
  return destinations.flatMap(destination => {
    const pause = standing.pauses[destination.id];
    const heir = heirOf(destination, destinations, standing);
    const { endpoint } = heir ?? destination;
    const isOver = pause === undefined || heir !== undefined;
    const keys = openingKeys(destination.provider);
    const found: Problem[] = isOver ? [] : [{ code: 'delivery-refused', endpoint, status: pause.status, keys }];
    for (const signal of signalsOf(destination)) {
      const lane = standing.lanes[laneKey(destination, signal)];
      // What failed before there was an heir, or when another was, is over.
      if (lane === undefined || lane.by !== heir?.id) continue;
      const status = Number(lane.why);
      if (lane.refused >= MOST_REFUSED_IN_A_ROW) {
        found.push({ code: 'delivery-all-refused', endpoint, signal, reason: lane.why, items: lane.refused });
      } else if (lane.failures > 0 && (status === 404 || status === 405 || (status >= 300 && status < 400))) {
        found.push({ code: 'delivery-endpoint', endpoint, signal, status });
      } else if (lane.failures > 0) {
        found.push({ code: 'delivery-failing', endpoint, signal, why: lane.why, failures: lane.failures });
      }
    }
    return found;
  });
}
