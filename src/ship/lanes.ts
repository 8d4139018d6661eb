/**
 * A lane is a signal of a destination. The functions here decide, as values, which bodies a request joins, how a
 * refused request is halved, and which outcome an answer has. All of them are pure.
 */
import type { Destination, Signal } from '../config/destinations.ts';
import type { Problem } from '../problems/problem.ts';
import type { DocumentChange } from '../store/document.ts';
import { isLineOfSession, sessionOfItem } from '../telemetry/session-of-item.ts';
import { bodyWithout, countItems, cutBody, joinBodies } from './otlp-body.ts';
import {
  type Lane,
  type LaneOf,
  laneOf,
  MOST_REFUSED_IN_A_ROW,
  type Standing,
  withLane,
  withMetricsSent,
  withPause,
  withTaken,
  withWait,
} from './standing.ts';
import { backoffMs, LONGEST_WAIT_MS, type Verdict } from './verdict.ts';

const MOST_ITEMS = 512;
const MOST_BYTES = 4 * 1024 * 1024;
const PAUSE_MS = 300_000;

export interface WaitingBody {
  name: string;
  signal: Signal;
  items: number;
  sizeBytes: number;
}

/** Bodies of one request. `cut`: the parts of a single body in order, of which the request sends the first. */
export interface Group {
  bodies: readonly WaitingBody[];
  cut?: readonly Uint8Array[];
}

/** The changes that follow from one answer. The caller commits them as a round. */
export interface Outcome {
  destination: Destination;
  signal: Signal;
  /** The destination that answered, if it took over the bodies of another destination. */
  heir?: Destination | undefined;
  /** Bodies that leave the outbox. */
  settled: string[];
  /** Parts of the first settled body that stay in the outbox in its place. */
  parts: { items: number; bytes: Uint8Array }[];
  accepted: number;
  /** Duration of the request, if it was accepted. */
  tookMs?: number | undefined;
  rejected: { readonly [reason: string]: number };
  dropped: { readonly [reason: string]: number };
  /** Items that no request can carry. */
  quarantine: { reason: string; label: string; bytes: Uint8Array }[];
  /** The new standing, if it changed. */
  standing?: Standing | undefined;
  /** Changes of the metric state. */
  documents: DocumentChange[];
  /** Problems to report once, because the standing does not keep them. */
  problems: Problem[];
  /** The reason why the request failed. Its bodies wait. */
  failed?: string | undefined;
}

// ------------------------------------------------------------ requests

export const itemsIn = (bodies: readonly { items: number }[]): number =>
  bodies.reduce((sum, { items }) => sum + items, 0);

/** Returns the oldest bodies of a signal that fit into one request. It always includes the first body. */
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

/** Joins several bodies into one. */
export const joinedBytes = (signal: Signal | undefined, bodies: readonly Uint8Array[]): Buffer =>
  signal === 'events' ? Buffer.concat(bodies) : joinBodies(bodies);

/** Returns the number of items; undefined if the bytes are not a valid request. */
export function itemsOf(signal: Signal, bytes: Uint8Array): number | undefined {
  if (signal !== 'events') return countItems(bytes);
  let lines = 0;
  for (const byte of bytes) if (byte === 0x0a) lines += 1;
  return lines;
}

/** Divides a refused request in two: between its bodies, then within one. Returns undefined if it cannot be divided. */
export function halvesOf(signal: Signal, group: Group, bytes: Uint8Array, items: number): Group[] | undefined {
  if (group.bodies.length > 1) {
    const at = middleOf(group.bodies);
    return [{ bodies: group.bodies.slice(0, at) }, { bodies: group.bodies.slice(at) }];
  }
  // If the items of the bytes cannot be counted, the bytes are not a valid request and cannot be divided.
  if (items < 2 || itemsOf(signal, bytes) !== items) return undefined;
  return [{ bodies: group.bodies, cut: [...cutInHalf(signal, bytes, items), ...(group.cut?.slice(1) ?? [])] }];
}

/** The index between the bodies that is nearest to half of the items. */
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

export function cutInHalf(signal: Signal, bytes: Uint8Array, items: number): [Uint8Array, Uint8Array] {
  const half = Math.ceil(items / 2);
  if (signal !== 'events') return [cutBody(bytes, 0, half), cutBody(bytes, half, items)];
  let at = 0;
  for (let i = 0; i < half; i += 1) at = bytes.indexOf(0x0a, at) + 1;
  return [bytes.subarray(0, at), bytes.subarray(at)];
}

/** Returns the request without the items of a session; undefined if the bytes are not a valid request. */
export function withoutSession(
  signal: Exclude<Signal, 'metrics'>,
  bytes: Uint8Array,
  session: string,
): { bytes: Uint8Array; items: number } | undefined {
  if (signal === 'events') {
    const lines = Buffer.from(bytes)
      .toString()
      .split(/(?<=\n)/);
    const kept = lines.filter(line => line !== '' && !isLineOfSession(line, session));
    return { bytes: Buffer.from(kept.join('')), items: kept.length };
  }
  if (countItems(bytes) === undefined) return undefined;
  const rest = bodyWithout(bytes, item => sessionOfItem(signal, bytes, item) === session);
  return { bytes: rest, items: countItems(rest) ?? 0 };
}

/**
 * Returns the groups with one of them replaced by others. If the group is not in the list, it was made from the outbox,
 * and the others come first.
 */
export function replaced(groups: readonly Group[], group: Group, by: readonly Group[]): Group[] {
  const at = groups.indexOf(group);
  return at < 0 ? [...by, ...groups] : [...groups.slice(0, at), ...by, ...groups.slice(at + 1)];
}

// ------------------------------------------------------------ outcomes

type Settled = Extract<Verdict, { kind: 'taken' | 'refused' }>;
type Unsettled = Extract<Verdict, { kind: 'retry' | 'pause' }>;

/** One sent request and its bodies. */
export interface Sent extends LaneOf {
  group: Group;
  bytes: Uint8Array;
  items: number;
  tookMs: number;
}

/** Returns the outcome of an answer that accepted the bodies, or refused a request that cannot be divided further. */
export function settledOutcome(sent: Sent, verdict: Settled, standing: Standing, nowMs: number): Outcome {
  const { destination, signal, heir, group, bytes, items, tookMs } = sent;
  const isRefused = verdict.kind === 'refused';
  const rejected = isRefused ? items : Math.min(verdict.rejected, items);
  const reason = isRefused ? verdict.reason : 'partial';
  const accepted = items - rejected;
  const refusedBefore = laneOf(standing, sent)?.refused ?? 0;
  const refused = accepted > 0 ? 0 : refusedBefore + (isRefused ? items : 0);
  const noted = accepted > 0 ? withTaken(standing, heir ?? destination, nowMs) : standing;
  const next = withLane(noted, sent, refused === 0 ? undefined : refusedLane(refused, reason, nowMs));
  return {
    ...nothingOf(sent),
    heir,
    settled: group.bodies.map(body => body.name),
    parts: (group.cut?.slice(1) ?? []).map(part => ({ items: itemsOf(signal, part) ?? 1, bytes: part })),
    accepted,
    // The duration is negative if the clock was set back during the request.
    tookMs: accepted > 0 && tookMs >= 0 ? tookMs : undefined,
    rejected: rejected === 0 ? {} : { [reason]: rejected },
    quarantine: isRefused ? [{ reason, label: refusedLabel(heir ?? destination, signal), bytes }] : [],
    standing: next === standing ? undefined : next,
    problems: answerProblems(sent, verdict, rejected),
  };
}

/**
 * Returns the part of a quarantined file's name that identifies the destination, so that it can be sent there again.
 */
const refusedLabel = ({ id }: Destination, signal: Signal): string => `${id}-${signal}`;

export interface RefusedFile {
  name: string;
  reason: string;
  destination: string;
  signal: Exclude<Signal, 'metrics'>;
}

/** Returns undefined if the quarantined file does not come from a request that a destination refused. */
export function refusedFile(name: string): RefusedFile | undefined {
  const [, reason, destination, signal] = /^([^.]+)\.([0-9a-f]{16})-(traces|logs|events)-\d+-\d+$/.exec(name) ?? [];
  if (reason === undefined || destination === undefined || signal === undefined) return undefined;
  return { name, reason, destination, signal: signal as RefusedFile['signal'] };
}

/** Each request to a server that refuses everything costs an item, so the back-off grows with the refused items. */
function refusedLane(refused: number, why: string, nowMs: number): Lane {
  const over = refused - MOST_REFUSED_IN_A_ROW;
  const untilMs = over < 0 ? 0 : nowMs + Math.min(LONGEST_WAIT_MS, PAUSE_MS * 2 ** Math.min(over, 10));
  return { failures: 0, refused, why, untilMs };
}

export function answerProblems(
  { destination: { endpoint }, signal, items }: Pick<Sent, 'destination' | 'signal' | 'items'>,
  verdict: Settled,
  rejected: number,
): Problem[] {
  if (verdict.kind === 'refused')
    return [{ code: 'delivery-rejected', endpoint, signal, reason: verdict.reason, items }];
  const { message } = verdict;
  return rejected > 0 || message !== ''
    ? [{ code: 'delivery-partial', endpoint, signal, items: rejected, message }]
    : [];
}

/** Returns the outcome of an answer after which the lane, or the whole destination, waits. `random`: from 0 to 1. */
export function waitOutcome(
  of: LaneOf,
  verdict: Unsettled,
  standing: Standing,
  { nowMs, random }: { nowMs: number; random: number },
): Outcome {
  const why = verdict.kind === 'pause' ? String(verdict.status) : verdict.why;
  return { ...nothingOf(of), standing: standingOfWait(), failed: why };

  function standingOfWait(): Standing {
    const { destination, heir } = of;
    if (verdict.kind === 'pause' && verdict.scope === 'destination')
      return withPause(standing, heir ?? destination, verdict.status, nowMs + PAUSE_MS);
    const known = laneOf(standing, of);
    const lane = known?.by === heir?.id ? known : undefined;
    const failures = (lane?.failures ?? 0) + 1;
    const forMs = verdict.kind === 'pause' ? PAUSE_MS : Math.max(1_000, verdict.afterMs ?? backoffMs(failures, random));
    const by = heir === undefined ? {} : { by: heir.id };
    return withWait(standing, of, { failures, refused: lane?.refused ?? 0, why, untilMs: nowMs + forMs, ...by });
  }
}

/** Returns the outcome of bodies that a power cut damaged. If another process settled them, the commit fails. */
export const damagedOutcome = (of: LaneOf, bodies: readonly WaitingBody[]): Outcome => ({
  ...nothingOf(of),
  settled: bodies.map(body => body.name),
  dropped: { damaged: itemsIn(bodies) },
});

/**
 * Returns the outcome of a metric state after answers to all of its bodies. `refused`: why a body was refused, if any.
 */
export function metricsOutcome(
  destination: Destination,
  answers: { refused: string | undefined; superseded: number; problems: Problem[]; documents: DocumentChange[] },
  standing: Standing,
  nowMs: number,
): Outcome {
  const { refused, superseded, problems, documents } = answers;
  const of: LaneOf = { destination, signal: 'metrics' };
  const sent = withMetricsSent(standing, destination, nowMs);
  return {
    ...nothingOf(of),
    accepted: refused === undefined ? 1 : 0,
    rejected: refused === undefined ? {} : { [refused]: 1 },
    dropped: superseded === 0 ? {} : { superseded },
    standing:
      refused === undefined
        ? withLane(withTaken(sent, destination, nowMs), of, undefined)
        : withLane(sent, of, {
            ...{ failures: 0, why: refused, untilMs: 0 },
            refused: (laneOf(standing, of)?.refused ?? 0) + 1,
          }),
    documents,
    problems,
  };
}

const nothingOf = ({ destination, signal }: LaneOf): Outcome => ({
  destination,
  signal,
  settled: [],
  parts: [],
  accepted: 0,
  rejected: {},
  dropped: {},
  quarantine: [],
  documents: [],
  problems: [],
});
