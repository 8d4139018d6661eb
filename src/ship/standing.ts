/**
 * The document `ship`: for each destination its failures and waits, and when it last got metrics and accepted anything.
 * It is stored so that the next process keeps the back-off and the failures. Its times are from this machine's clock.
 * A time that is too far ahead was written before the clock was set back, and counts as over. All functions are pure:
 * a change returns a new standing; without a change, they return the same object.
 */
import { type Destination, openingKeys, type Signal, wayOf } from '../config/destinations.ts';
import { fieldsOf, isFields, number } from '../lib/read.ts';
import type { Problem } from '../problems/problem.ts';
import { isMisplaced, LONGEST_WAIT_MS } from './verdict.ts';

export interface Standing {
  readonly v: 1;
  /** By `<destination>/<signal>`. A lane without an entry has no failure. */
  readonly lanes: { readonly [key: string]: Lane };
  /** Destinations that refuse our credentials. */
  readonly pauses: { readonly [destination: string]: Pause };
  /** The time at which metrics were last sent, by destination. */
  readonly metrics: { readonly [destination: string]: number };
  /** The time of the last accepted request, rounded to ten seconds: otherwise each body would write this file again. */
  readonly taken: { readonly [destination: string]: number };
}

interface Pause {
  /** Of HTTP, or a code of gRPC, which is below 100. */
  status: number;
  untilMs: number;
  /** The stamp of the named destination that refused. The pause ends when its address or its credentials change. */
  stamp?: string | undefined;
}

/** A signal of a destination. */
export interface Lane {
  failures: number;
  /** The number of items refused since the last accepted item. */
  refused: number;
  why: string;
  untilMs: number;
  /** The heir that failed, if the request went to an heir. */
  by?: string | undefined;
  /** The stamp of the named destination that failed. The failure is outdated when the stamp changes. */
  stamp?: string | undefined;
}

/** A lane, and the heir that takes its bodies, if it has one. */
export interface LaneOf {
  destination: Destination;
  signal: Signal;
  heir?: Destination | undefined;
}

/** Metrics come last, because users look at spans and records first. */
const order: readonly Signal[] = ['traces', 'logs', 'events', 'metrics'];
export const signalsOf = (destination: Destination): Signal[] => order.filter(signal => destination.signals[signal]);

/** If a server refuses this many single items and accepts none in between, the fault is the server's. */
export const MOST_REFUSED_IN_A_ROW = 16;
const TAKEN_EVERY_MS = 10_000;

export const noStanding: Standing = { v: 1, lanes: {}, pauses: {}, metrics: {}, taken: {} };

export function parseStanding(document: unknown): Standing {
  const { lanes, pauses, metrics, taken } = fieldsOf(document);
  return {
    v: 1,
    lanes: entriesOf(lanes, lane =>
      isFields(lane)
        ? {
            failures: number(lane.failures) ?? 0,
            refused: number(lane.refused) ?? 0,
            why: typeof lane.why === 'string' ? lane.why : '',
            untilMs: number(lane.untilMs) ?? 0,
            ...(typeof lane.by === 'string' ? { by: lane.by } : {}),
            ...stampIn(lane),
          }
        : undefined,
    ),
    pauses: entriesOf(pauses, pause =>
      isFields(pause)
        ? { status: number(pause.status) ?? 0, untilMs: number(pause.untilMs) ?? 0, ...stampIn(pause) }
        : undefined,
    ),
    metrics: entriesOf(metrics, number),
    taken: entriesOf(taken, number),
  };
}

const stampIn = ({ stamp }: { stamp?: unknown }): { stamp?: string } => (typeof stamp === 'string' ? { stamp } : {});

function entriesOf<T>(value: unknown, read: (entry: unknown) => T | undefined): { [key: string]: T } {
  const found: { [key: string]: T } = {};
  for (const [key, entry] of Object.entries(fieldsOf(value))) {
    const parsed = read(entry);
    if (parsed !== undefined) found[key] = parsed;
  }
  return found;
}

const laneKey = (destination: Destination, signal: Signal): string => `${destination.id}/${signal}`;

export function laneOf(standing: Standing, { destination, signal }: LaneOf): Lane | undefined {
  const lane = standing.lanes[laneKey(destination, signal)];
  return lane?.stamp === destination.stamp ? lane : undefined;
}

/** The pause of a destination, unless its address or its credentials have changed since. */
function pauseOf(standing: Standing, { id, stamp }: Destination): Pause | undefined {
  const pause = standing.pauses[id];
  return pause?.stamp === stamp ? pause : undefined;
}

/**
 * Returns the standing after an answer that accepted or refused bodies. Either shows that our credentials are valid.
 */
export function withLane(standing: Standing, of: LaneOf, lane: Lane | undefined): Standing {
  const key = laneKey(of.destination, of.signal);
  const { id } = of.heir ?? of.destination;
  if (lane === undefined && !(key in standing.lanes) && !(id in standing.pauses)) return standing;
  const { [key]: _lane, ...lanes } = standing.lanes;
  const { [id]: _pause, ...pauses } = standing.pauses;
  const noted = lane && { ...lane, ...stampIn(of.destination) };
  return { ...standing, lanes: noted === undefined ? lanes : { ...lanes, [key]: noted }, pauses };
}

/** Returns the standing after an answer that makes the lane wait. */
export const withWait = (standing: Standing, { destination, signal }: LaneOf, lane: Lane): Standing => ({
  ...standing,
  lanes: { ...standing.lanes, [laneKey(destination, signal)]: { ...lane, ...stampIn(destination) } },
});

export const withPause = (standing: Standing, of: Destination, status: number, untilMs: number): Standing => ({
  ...standing,
  pauses: { ...standing.pauses, [of.id]: { status, untilMs, ...stampIn(of) } },
});

export const withMetricsSent = (standing: Standing, { id }: Destination, nowMs: number): Standing => ({
  ...standing,
  metrics: { ...standing.metrics, [id]: nowMs },
});

export function withTaken(standing: Standing, { id }: Destination, nowMs: number): Standing {
  const isNoted = Math.abs(nowMs - (standing.taken[id] ?? 0)) < TAKEN_EVERY_MS;
  return isNoted ? standing : { ...standing, taken: { ...standing.taken, [id]: nowMs } };
}

/** Returns the standing without these destinations. */
export function withoutDestinations(standing: Standing, ids: readonly string[]): Standing {
  const isKept = ([key]: [string, unknown]): boolean => !ids.includes(key.split('/')[0] ?? '');
  const kept = <T>(entries: { readonly [key: string]: T }): { [key: string]: T } =>
    Object.fromEntries(Object.entries(entries).filter(isKept));
  return { ...standing, lanes: kept(standing.lanes), pauses: kept(standing.pauses), metrics: kept(standing.metrics) };
}

/** Returns the time until the lane may be tried again. */
export function waitMs(standing: Standing, of: LaneOf, nowMs: number): number {
  const pause = of.heir === undefined ? pauseOf(standing, of.destination) : undefined;
  const until = [laneOf(standing, of)?.untilMs, pause?.untilMs];
  return Math.max(0, ...until.map(each => leftMs(each ?? 0, nowMs)));
}

/** Returns the rest of a wait. A wait above the limit was written before the clock was set back, so it is over. */
const leftMs = (untilMs: number, nowMs: number): number => (untilMs - nowMs > LONGEST_WAIT_MS ? 0 : untilMs - nowMs);

// ------------------------------------------------------------ heirs

/**
 * Returns the heir of a destination: the destination that takes over its bodies. A destination gets an heir if it
 * refuses our credentials or has never accepted a request. The heir was read later from the same place of the
 * configuration, and has not refused our credentials. A destination with a corrected key takes over the bodies for the
 * same addresses. A destination with a corrected address takes over the bodies of a destination that never accepted a
 * request.
 *
 * A destination that got a name has the same address and the same key under the name, which takes over its bodies.
 *
 * So a key is sent only to the server that the same place of the configuration names, data is never sent with the key
 * or to the address of another project, and a destination that has ever worked keeps its own bodies.
 */
export function heirOf(of: Destination, all: readonly Destination[], standing: Standing): Destination | undefined {
  const renamed = all.find(({ stamp, pinnedMs = 0 }) => stamp === of.id && pinnedMs > (of.pinnedMs ?? 0));
  if (renamed !== undefined) return renamed;
  if (of.source === undefined || !isStuck(of, standing)) return undefined;
  const { pinnedMs: ownMs = 0 } = of;
  const isMovable = hasTakenNothing(of, standing);
  const later = all.filter(
    each =>
      each.source === of.source &&
      each.provider === of.provider &&
      (each.pinnedMs ?? 0) > ownMs &&
      pauseOf(standing, each) === undefined &&
      signalsOf(of).every(signal =>
        isMovable ? each.signals[signal] !== undefined : each.signals[signal]?.url === of.signals[signal]?.url,
      ),
  );
  return later.sort((a, b) => (b.pinnedMs ?? 0) - (a.pinnedMs ?? 0))[0];
}

const isStuck = (of: Destination, standing: Standing): boolean =>
  pauseOf(standing, of) !== undefined || hasTakenNothing(of, standing);

/** Returns true if the destination was tried and has never accepted a request. */
const hasTakenNothing = (of: Destination, standing: Standing): boolean =>
  wayOf(of.provider) === 'otlp' &&
  standing.taken[of.id] === undefined &&
  (pauseOf(standing, of) !== undefined ||
    signalsOf(of).some(signal => (laneOf(standing, { destination: of, signal })?.failures ?? 0) > 0));

/** Returns the destinations that refuse our credentials or have never accepted a request. */
export const stuckIn = (standing: Standing, destinations: readonly Destination[]): Destination[] =>
  destinations.filter(each => isStuck(each, standing));

/** Returns the destinations that have an heir. */
export function heirsIn(
  standing: Standing,
  destinations: readonly Destination[],
): [destination: Destination, heir: Destination][] {
  return destinations.flatMap((each): [Destination, Destination][] => {
    const heir = heirOf(each, destinations, standing);
    return heir === undefined ? [] : [[each, heir]];
  });
}

// ------------------------------------------------------------ problems

/** Returns the problems that the standing shows. A destination without waiting bodies has no problem. */
export function shipProblems(
  standing: Standing,
  destinations: readonly Destination[],
  isWaiting: (destination: Destination) => boolean = () => true,
): Problem[] {
  return destinations.filter(isWaiting).flatMap(destination => {
    const pause = pauseOf(standing, destination);
    const heir = heirOf(destination, destinations, standing);
    const { endpoint } = heir ?? destination;
    const isOver = pause === undefined || heir !== undefined;
    const keys = openingKeys(destination);
    const refused: Problem[] = isOver ? [] : [{ code: 'delivery-refused', endpoint, status: pause.status, keys }];
    const lanes = signalsOf(destination).flatMap((signal): Problem[] => {
      const lane = laneOf(standing, { destination, signal });
      // A failure is outdated if the lane has a different heir now, or got an heir after it.
      return lane === undefined || lane.by !== heir?.id ? [] : laneProblems(lane, endpoint, signal);
    });
    return [...refused, ...lanes];
  });
}

export const isRefusingMetrics = (standing: Standing, destination: Destination): boolean =>
  (laneOf(standing, { destination, signal: 'metrics' })?.refused ?? 0) > 0;

function laneProblems({ failures, refused, why }: Lane, endpoint: string, signal: Signal): Problem[] {
  // The next metrics include the refused ones, so metrics count as refused as long as the lane has this entry.
  if (signal === 'metrics' && refused > 0)
    return [{ code: 'delivery-rejected', endpoint, signal, reason: why, items: refused }];
  if (refused >= MOST_REFUSED_IN_A_ROW)
    return [{ code: 'delivery-all-refused', endpoint, signal, reason: why, items: refused }];
  if (failures === 0) return [];
  const status = Number(why);
  if (isMisplaced(status)) return [{ code: 'delivery-endpoint', endpoint, signal, status }];
  return [{ code: 'delivery-failing', endpoint, signal, why, failures }];
}
