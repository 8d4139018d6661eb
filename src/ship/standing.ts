/**
 * The document `ship`: waits and failures of destinations, kept so that the next process neither hammers a server nor
 * forgets a failure. Its times are of this machine's clock. A time too far ahead was written before the clock was set
 * back, and counts as over. All functions are pure: a change returns a new standing, or the same object where nothing
 * changes.
 */
import { type Destination, openingKeys, type Signal, wayOf } from '../config/destinations.ts';
import { fieldsOf, isFields, number } from '../lib/read.ts';
import type { Problem } from '../problems/problem.ts';
import { LONGEST_WAIT_MS } from './verdict.ts';

export interface Standing {
  readonly v: 1;
  /** By `<destination>/<signal>`. A lane without an entry is in good health. */
  readonly lanes: { readonly [key: string]: Lane };
  /** Destinations that refuse our credentials. */
  readonly pauses: { readonly [destination: string]: { status: number; untilMs: number } };
  /** When metrics were last sent, by destination. */
  readonly metrics: { readonly [destination: string]: number };
  /** When a destination last accepted something, to ten seconds: otherwise each body would write this file again. */
  readonly taken: { readonly [destination: string]: number };
}

/** A signal of a destination. */
export interface Lane {
  failures: number;
  /** Items refused one after the other since the last accepted item. */
  refused: number;
  why: string;
  untilMs: number;
  /** The heir that failed, where it was not the destination itself. */
  by?: string | undefined;
}

/** A lane, and the destination that takes its bodies where it is not the lane's own. */
export interface LaneOf {
  destination: Destination;
  signal: Signal;
  heir?: Destination | undefined;
}

/** Metrics last: people wait for spans and records. */
const order: readonly Signal[] = ['traces', 'logs', 'events', 'metrics'];
export const signalsOf = (destination: Destination): Signal[] => order.filter(signal => destination.signals[signal]);

/** So many items refused one by one, with none accepted in between, are the fault of the server. */
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
          }
        : undefined,
    ),
    pauses: entriesOf(pauses, pause =>
      isFields(pause) ? { status: number(pause.status) ?? 0, untilMs: number(pause.untilMs) ?? 0 } : undefined,
    ),
    metrics: entriesOf(metrics, number),
    taken: entriesOf(taken, number),
  };
}

function entriesOf<T>(value: unknown, read: (entry: unknown) => T | undefined): { [key: string]: T } {
  const found: { [key: string]: T } = {};
  for (const [key, entry] of Object.entries(fieldsOf(value))) {
    const parsed = read(entry);
    if (parsed !== undefined) found[key] = parsed;
  }
  return found;
}

const laneKey = (destination: Destination, signal: Signal): string => `${destination.id}/${signal}`;

export const laneOf = (standing: Standing, { destination, signal }: LaneOf): Lane | undefined =>
  standing.lanes[laneKey(destination, signal)];

/** After an answer that accepted or refused bodies. The destination that gave it has accepted our credentials. */
export function withLane(standing: Standing, of: LaneOf, lane: Lane | undefined): Standing {
  const key = laneKey(of.destination, of.signal);
  const { id } = of.heir ?? of.destination;
  if (lane === undefined && !(key in standing.lanes) && !(id in standing.pauses)) return standing;
  const { [key]: _lane, ...lanes } = standing.lanes;
  const { [id]: _pause, ...pauses } = standing.pauses;
  return { ...standing, lanes: lane === undefined ? lanes : { ...lanes, [key]: lane }, pauses };
}

/** After an answer that has to be waited for. */
export const withWait = (standing: Standing, { destination, signal }: LaneOf, lane: Lane): Standing => ({
  ...standing,
  lanes: { ...standing.lanes, [laneKey(destination, signal)]: lane },
});

export const withPause = (standing: Standing, { id }: Destination, status: number, untilMs: number): Standing => ({
  ...standing,
  pauses: { ...standing.pauses, [id]: { status, untilMs } },
});

export const withMetricsSent = (standing: Standing, { id }: Destination, nowMs: number): Standing => ({
  ...standing,
  metrics: { ...standing.metrics, [id]: nowMs },
});

export function withTaken(standing: Standing, { id }: Destination, nowMs: number): Standing {
  const isNoted = Math.abs(nowMs - (standing.taken[id] ?? 0)) < TAKEN_EVERY_MS;
  return isNoted ? standing : { ...standing, taken: { ...standing.taken, [id]: nowMs } };
}

/** Without destinations that are forgotten. */
export function withoutDestinations(standing: Standing, ids: readonly string[]): Standing {
  const isKept = ([key]: [string, unknown]): boolean => !ids.includes(key.split('/')[0] ?? '');
  const kept = <T>(entries: { readonly [key: string]: T }): { [key: string]: T } =>
    Object.fromEntries(Object.entries(entries).filter(isKept));
  return { ...standing, lanes: kept(standing.lanes), pauses: kept(standing.pauses), metrics: kept(standing.metrics) };
}

/** Until the lane may be tried again. */
export function waitMs(standing: Standing, of: LaneOf, nowMs: number): number {
  const pause = of.heir === undefined ? standing.pauses[of.destination.id] : undefined;
  const until = [laneOf(standing, of)?.untilMs, pause?.untilMs];
  return Math.max(0, ...until.map(each => leftMs(each ?? 0, nowMs)));
}

/** A longer wait than the longest was written under another clock. */
const leftMs = (untilMs: number, nowMs: number): number => (untilMs - nowMs > LONGEST_WAIT_MS ? 0 : untilMs - nowMs);

// ------------------------------------------------------------ heirs

/**
 * The destination that takes the bodies of one that refuses our credentials or has never accepted anything: one that
 * was read later from the same place of the configuration, and has not refused us. A corrected key takes over the
 * backlog for the same addresses; a corrected address takes over the backlog of a destination that never accepted
 * anything. So no key is sent to a server that its own place of the configuration does not name, no data is sent with
 * the key or to the address of another project, and a destination that once worked keeps its own backlog.
 */
export function heirOf(of: Destination, all: readonly Destination[], standing: Standing): Destination | undefined {
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

/** It was tried, and has never accepted anything. */
const hasTakenNothing = (of: Destination, { lanes, pauses, taken }: Standing): boolean =>
  wayOf(of.provider) === 'otlp' &&
  taken[of.id] === undefined &&
  (pauses[of.id] !== undefined || signalsOf(of).some(signal => (lanes[laneKey(of, signal)]?.failures ?? 0) > 0));

/** Destinations that refuse our credentials or have never accepted anything. */
export const stuckIn = (standing: Standing, destinations: readonly Destination[]): Destination[] =>
  destinations.filter(each => isStuck(each, standing));

/** Destinations that have an heir. */
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

/** What a person should repair, by the standing. A destination for which nothing waits has nothing to repair. */
export function shipProblems(
  standing: Standing,
  destinations: readonly Destination[],
  isWaiting: (destination: Destination) => boolean = () => true,
): Problem[] {
  return destinations.filter(isWaiting).flatMap(destination => {
    const pause = standing.pauses[destination.id];
    const heir = heirOf(destination, destinations, standing);
    const { endpoint } = heir ?? destination;
    const isOver = pause === undefined || heir !== undefined;
    const keys = openingKeys(destination.provider);
    const refused: Problem[] = isOver ? [] : [{ code: 'delivery-refused', endpoint, status: pause.status, keys }];
    const lanes = signalsOf(destination).flatMap((signal): Problem[] => {
      const lane = laneOf(standing, { destination, signal });
      // A failure from before the heir, or of another heir, is over.
      return lane === undefined || lane.by !== heir?.id ? [] : laneProblems(lane, endpoint, signal);
    });
    return [...refused, ...lanes];
  });
}

export const isRefusingMetrics = (standing: Standing, destination: Destination): boolean =>
  (laneOf(standing, { destination, signal: 'metrics' })?.refused ?? 0) > 0;

function laneProblems({ failures, refused, why }: Lane, endpoint: string, signal: Signal): Problem[] {
  // Refused metrics are part of the next ones, so they are refused until the lane has no such entry any more.
  if (signal === 'metrics' && refused > 0)
    return [{ code: 'delivery-rejected', endpoint, signal, reason: why, items: refused }];
  if (refused >= MOST_REFUSED_IN_A_ROW)
    return [{ code: 'delivery-all-refused', endpoint, signal, reason: why, items: refused }];
  if (failures === 0) return [];
  const status = Number(why);
  const isMisplaced = status === 404 || status === 405 || (status >= 300 && status < 400);
  if (isMisplaced) return [{ code: 'delivery-endpoint', endpoint, signal, status }];
  return [{ code: 'delivery-failing', endpoint, signal, why, failures }];
}
