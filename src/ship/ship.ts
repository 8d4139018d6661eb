/**
 * Sends the bodies of the outbox to the destinations.
 *
 * Constraints
 * - A destination gets one request at a time, and its outcome is committed before the next one. So a kill between an
 *   answer and its commit repeats at most one request, with the same bytes.
 * - An unreachable destination delays only its own bodies. A signal that fails does not delay the others.
 * - A refused item does not lose the items of its body. If a server refuses everything, most of the outbox stays and is
 *   not quarantined.
 *
 * A lane (lanes.ts) joins its oldest bodies, since concatenated requests are one request. A refused request is halved:
 * first between bodies, then within one body, until the refused item is alone. When the first half is settled, the
 * other parts replace the body in the outbox, so that a kill does not repeat a settled half. Waits and failures are in
 * the document `ship` (standing.ts).
 */
import { type Destination, type Signal, type Way, wayOf } from '../config/destinations.ts';
import type { Problem } from '../problems/problem.ts';
import type { DocumentChange } from '../store/document.ts';
import {
  answerProblems,
  cutInHalf,
  damagedOutcome,
  type Group,
  halvesOf,
  itemsIn,
  itemsOf,
  joinable,
  joinedBytes,
  metricsOutcome,
  type Outcome,
  replaced,
  settledOutcome,
  type WaitingBody,
  waitOutcome,
} from './lanes.ts';
import { countItems } from './otlp-body.ts';
import { heirOf, isRefusingMetrics, type LaneOf, type Standing, shipProblems, signalsOf, waitMs } from './standing.ts';
import type { Transport } from './transport.ts';
import { isTooLarge, type Verdict, verdictOf } from './verdict.ts';

/** The part of the store that the shipper uses. */
export interface ShipStore {
  /** Oldest first. */
  next(destination: string): readonly WaitingBody[];
  /** Returns undefined if the body was removed or is damaged. */
  body(destination: string, name: string): Uint8Array | undefined;
  standing(): Standing;
}

/** Metrics are encoded when they are sent. */
export interface MetricBodies {
  /** Sent in this order. The state is settled when the destination has accepted all of them. */
  bodies: readonly Uint8Array[];
  /** Older versions of the state that this one includes. */
  superseded: number;
  /**
   * Returns the state after the destination has accepted the bodies. It is called at the commit: increments that
   * arrived during the request are in the state by then, and must stay in it.
   */
  settled(): DocumentChange[];
}

export interface MetricSource {
  /** Returns true if the destination has not accepted the newest state yet. */
  isWaiting(destination: Destination): boolean;
  /** Returns the newest state, if the destination has not accepted it yet. */
  encoded(destination: Destination, nowMs: number): MetricBodies | undefined;
}

export interface ShipperParts {
  store: ShipStore;
  destinations(): readonly Destination[];
  /** The transports by kind. Bodies wait if there is no transport of their kind. */
  transports: { readonly [way in Way]?: Transport };
  commit(outcome: Outcome): 'committed' | 'lost';
  metrics?: MetricSource | undefined;
  clock(): number;
  random(): number;
}

export interface PassOptions {
  /** A person started the delivery: paused lanes and lanes that back off are tried once, immediately. */
  byHand?: boolean;
  /** Metrics are sent now, even if their interval is not over. */
  final?: boolean;
  /** Called before each request; true ends the pass. */
  leave?: () => boolean;
}

export interface Passed {
  /** Items that destinations accepted. */
  sent: number;
  /** Items that are still in the outboxes. */
  waiting: number;
  /** The time until the next try. Undefined if no body waits for a later try. */
  nextTryMs: number | undefined;
  problems: Problem[];
}

export interface Shipper {
  /** Sends all bodies that can be sent now. Passes do not overlap: a second call joins the first. */
  pass(options?: PassOptions): Promise<Passed>;
}

export function createShipper(parts: ShipperParts): Shipper {
  const lines = new Map<string, Line>();
  let running: Promise<Passed> | undefined;

  async function pass(options: PassOptions): Promise<Passed> {
    const { store } = parts;
    const all = parts.destinations();
    const problems: Problem[] = [];
    const sent = await Promise.all(
      all.map(destination => {
        const transport = parts.transports[wayOf(destination.provider)];
        if (transport === undefined) return 0;
        const line = lines.get(destination.id) ?? new Line(parts);
        lines.set(destination.id, line);
        return line.pass({ destination, all, transport, options, problems });
      }),
    );
    const standing = store.standing();
    const isWaiting = (each: Destination): boolean =>
      store.next(each.id).length > 0 || parts.metrics?.isWaiting(each) === true || isRefusingMetrics(standing, each);
    return {
      sent: sent.reduce((sum, each) => sum + each, 0),
      waiting: all.reduce((sum, { id }) => sum + itemsIn(store.next(id)), 0),
      nextTryMs: nextTryMs(parts, all),
      problems: [...problems, ...shipProblems(standing, all, isWaiting)],
    };
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

function nextTryMs(parts: ShipperParts, all: readonly Destination[]): number | undefined {
  const { store, metrics, transports } = parts;
  const nowMs = parts.clock();
  const standing = store.standing();
  const tries = all.flatMap(destination => {
    if (transports[wayOf(destination.provider)] === undefined) return [];
    const heir = heirOf(destination, all, standing);
    const waiting = new Set<Signal>(store.next(destination.id).map(body => body.signal));
    if (metrics?.isWaiting(destination)) waiting.add('metrics');
    return [...waiting].map(signal => {
      const sinceMs = nowMs - (standing.metrics[destination.id] ?? 0);
      const untilDueMs = signal === 'metrics' && sinceMs >= 0 ? destination.metricIntervalMs - sinceMs : 0;
      return Math.max(0, untilDueMs, waitMs(standing, { destination, signal, heir }, nowMs));
    });
  });
  return tries.length === 0 ? undefined : Math.min(...tries);
}

/** A destination in one pass. */
interface Turn {
  destination: Destination;
  all: readonly Destination[];
  transport: Transport;
  options: PassOptions;
  /** Problems of all destinations in this pass. */
  problems: Problem[];
}

interface Step {
  signal: Signal;
  send(): Promise<Ended>;
}

interface Ended {
  accepted: number;
  /** True if another process owns the state folder now, so the suspects are outdated. */
  isLost: boolean;
  isPaused: boolean;
}

const nothing: Ended = { accepted: 0, isLost: false, isPaused: false };

/** The requests to one destination, one at a time. */
class Line {
  private readonly parts: ShipperParts;
  /** Parts of refused requests. Each is sent before all other bodies of its signal, and is not joined with others. */
  private suspects: Group[] = [];
  private last: Signal | undefined;
  /** Metrics are sent once per pass, even if their state changes faster. */
  private hasSentMetrics = false;

  constructor(parts: ShipperParts) {
    this.parts = parts;
  }

  /** Returns the number of accepted items. */
  async pass(turn: Turn): Promise<number> {
    const { byHand, leave } = turn.options;
    this.hasSentMetrics = false;
    const free = new Set<Signal>(byHand ? signalsOf(turn.destination) : []);
    let accepted = 0;
    while (!leave?.()) {
      const step = this.nextStep(turn, free);
      if (step === undefined) break;
      this.last = step.signal;
      free.delete(step.signal);
      const ended = await step.send();
      // A 401 concerns every signal, so the extra tries of the other signals are cancelled.
      if (ended.isPaused) free.clear();
      accepted += ended.accepted;
      if (ended.isLost) break;
    }
    return accepted;
  }

  /** The signals take turns. */
  private nextStep(turn: Turn, free: ReadonlySet<Signal>): Step | undefined {
    const { destination, all } = turn;
    const mine = signalsOf(destination);
    const after = this.last === undefined ? 0 : mine.indexOf(this.last) + 1;
    const standing = this.parts.store.standing();
    const heir = heirOf(destination, all, standing);
    const nowMs = this.parts.clock();
    for (const signal of [...mine.slice(after), ...mine.slice(0, after)]) {
      const of = { destination, signal, heir };
      if (!free.has(signal) && waitMs(standing, of, nowMs) > 0) continue;
      const step = this.bodiesStep(turn, of) ?? (heir === undefined ? this.metricsStep(turn, of, standing) : undefined);
      if (step !== undefined) return step;
    }
    return undefined;
  }

  private bodiesStep(turn: Turn, of: LaneOf): Step | undefined {
    const { signal } = of;
    const suspect = this.suspects.find(each => each.bodies[0]?.signal === signal);
    const group = suspect ?? { bodies: joinable(this.parts.store.next(of.destination.id), signal) };
    return group.bodies.length === 0 ? undefined : { signal, send: () => this.sendBodies(turn, of, group) };
  }

  private async sendBodies(turn: Turn, of: LaneOf, group: Group): Promise<Ended> {
    const { store, clock } = this.parts;
    const { destination, signal, heir } = of;
    const bytes = group.cut?.[0] ?? this.bytesOf(of, group.bodies);
    if (bytes === undefined) return this.dropUnreadable(of, group);
    const items = group.cut === undefined ? itemsIn(group.bodies) : (itemsOf(signal, bytes) ?? 1);
    const sentMs = clock();
    const verdict = verdictOf(await turn.transport(heir ?? destination, signal, bytes), clock());
    const tookMs = clock() - sentMs;
    if (verdict.kind === 'retry' || verdict.kind === 'pause') return this.wait(of, verdict);
    const halves = verdict.kind === 'refused' ? halvesOf(signal, group, bytes, items) : undefined;
    if (halves !== undefined) {
      this.suspects = replaced(this.suspects, group, halves);
      return nothing;
    }
    const before = new Set(store.next(destination.id).map(body => body.name));
    const outcome = settledOutcome({ ...of, group, bytes, items, tookMs }, verdict, store.standing(), clock());
    if (this.parts.commit(outcome) === 'lost') return this.beginAnew();
    // The parts are now bodies of the outbox. Each is sent separately.
    const isPart = (body: WaitingBody): boolean => body.signal === signal && !before.has(body.name);
    const parts = outcome.parts.length === 0 ? [] : store.next(destination.id).filter(isPart);
    this.suspects = replaced(
      this.suspects,
      group,
      parts.map(body => ({ bodies: [body] })),
    );
    turn.problems.push(...outcome.problems);
    return { ...nothing, accepted: outcome.accepted };
  }

  private metricsStep(turn: Turn, of: LaneOf, standing: Standing): Step | undefined {
    const { clock, metrics } = this.parts;
    const { destination, signal } = of;
    if (signal !== 'metrics' || metrics === undefined || this.hasSentMetrics) return undefined;
    const nowMs = clock();
    const sinceMs = nowMs - (standing.metrics[destination.id] ?? Number.NEGATIVE_INFINITY);
    // If the clock was set back, metrics must not wait until the clock reaches the old time.
    if (!turn.options.final && sinceMs >= 0 && sinceMs < destination.metricIntervalMs) return undefined;
    const encoded = metrics.encoded(destination, nowMs);
    if (encoded === undefined) return undefined;
    this.hasSentMetrics = true;
    return { signal, send: () => this.sendMetrics(turn, of, encoded) };
  }

  /**
   * Sends the newest state, which includes all older ones. A refused state is not divided, because the next state
   * replaces it.
   */
  private async sendMetrics(turn: Turn, of: LaneOf, metrics: MetricBodies): Promise<Ended> {
    const { store, clock } = this.parts;
    const { destination, signal } = of;
    const waiting = [...metrics.bodies];
    const problems: Problem[] = [];
    let refused: string | undefined;
    for (let body = waiting.shift(); body !== undefined; body = waiting.shift()) {
      const verdict = verdictOf(await turn.transport(destination, signal, body), clock());
      if (verdict.kind === 'retry' || verdict.kind === 'pause') return this.wait(of, verdict);
      const items = countItems(body) ?? 1;
      if (verdict.kind === 'refused' && isTooLarge(verdict.reason) && items > 1) {
        waiting.unshift(...cutInHalf(signal, body, items));
        continue;
      }
      if (verdict.kind === 'refused') refused = verdict.reason;
      else if (verdict.rejected > 0) refused ??= 'partial';
      const rejected = verdict.kind === 'refused' ? items : verdict.rejected;
      // The document `ship` marks metrics as refused until they are accepted.
      if (verdict.kind === 'taken') problems.push(...answerProblems({ destination, signal, items }, verdict, rejected));
    }
    const { superseded } = metrics;
    const answers = { refused, superseded, problems, documents: metrics.settled() };
    const outcome = metricsOutcome(destination, answers, store.standing(), clock());
    turn.problems.push(...problems);
    return { accepted: outcome.accepted, isLost: this.parts.commit(outcome) === 'lost', isPaused: false };
  }

  private wait(of: LaneOf, verdict: Extract<Verdict, { kind: 'retry' | 'pause' }>): Ended {
    const { store, clock, random } = this.parts;
    const outcome = waitOutcome(of, verdict, store.standing(), { nowMs: clock(), random: random() });
    const isPaused = verdict.kind === 'pause' && verdict.scope === 'destination';
    return { accepted: 0, isLost: this.parts.commit(outcome) === 'lost', isPaused };
  }

  private bytesOf(of: LaneOf, bodies: readonly WaitingBody[]): Uint8Array | undefined {
    const found: Uint8Array[] = [];
    for (const body of bodies) {
      const bytes = this.wholeBody(of, body);
      if (bytes === undefined) return undefined;
      found.push(bytes);
    }
    return joinedBytes(of.signal, found);
  }

  /** Returns the bytes of a body, unless it is damaged: joined with others, it would make all of them unreadable. */
  private wholeBody({ destination }: LaneOf, { name, signal, items }: WaitingBody): Uint8Array | undefined {
    const bytes = this.parts.store.body(destination.id, name);
    return bytes !== undefined && itemsOf(signal, bytes) === items ? bytes : undefined;
  }

  private dropUnreadable(of: LaneOf, group: Group): Ended {
    const unreadable = group.bodies.filter(body => this.wholeBody(of, body) === undefined);
    if (this.parts.commit(damagedOutcome(of, unreadable)) === 'lost') return this.beginAnew();
    this.suspects = replaced(this.suspects, group, []);
    return nothing;
  }

  private beginAnew(): Ended {
    this.suspects = [];
    return { ...nothing, isLost: true };
  }
}
