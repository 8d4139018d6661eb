/** Sends the bodies of the outboxes to the destinations, in parallel to the rounds that take fragments. */

import type { Destination } from '../config/destinations.ts';
import { loadProxies } from '../config/proxies.ts';
import { documents } from '../documents/documents.ts';
import { noted } from '../documents/problem-notes.ts';
import { MOST_PROBLEMS } from '../problems/noted-problems.ts';
import type { Problem } from '../problems/problem.ts';
import type { Outcome } from '../ship/lanes.ts';
import { appendToFile, printTo } from '../ship/local.ts';
import { createShipper, type MetricBodies, type Passed, type Shipper } from '../ship/ship.ts';
import { noStanding } from '../ship/standing.ts';
import { createHttpTransport, type HttpTransport } from '../ship/transport.ts';
import { changeOf } from '../store/document.ts';
import type { PlaceLimits } from '../store/limits.ts';
import type { Store } from '../store/store.ts';
import type { Increment } from '../telemetry/increments.ts';
import { encodeMetrics, settleMetrics } from '../telemetry/metric-points.ts';
import type { Plain } from '../telemetry/resource.ts';
import { destinationsIn, dropExcluded, handOverMetrics, meteredIn } from './known-destinations.ts';
import type { DeliverOptions } from './options.ts';
import { LOOK_MS, type Schedule } from './schedule.ts';
import { roundOfOutcome } from './settlement.ts';
import { addPipelineMetrics, pipelineResource, spoolOf } from './state-limits.ts';

const REPORT_MS = 15_000;
const LONGEST_PAUSE_MS = 60_000;

export class Sender {
  /** Items that destinations accepted. */
  sent = 0;
  /** The result of the last pass. */
  passed: Passed = { sent: 0, waiting: 0, nextTryMs: undefined, problems: [] };
  /** The problems of single answers. */
  incidents: Problem[] = [];
  private readonly store: Store;
  private readonly schedule: Schedule;
  private readonly options: DeliverOptions;
  private readonly now: () => number;
  private readonly http: HttpTransport;
  private readonly shipper: Shipper;
  /** Names of bodies that belong to a request whose outcome is not committed yet, by destination. */
  private readonly underWay = new Map<string, Set<string>>();
  /** The pass that is under way. */
  private passing: Promise<void> | undefined;
  private isFirst = true;
  private tryMs = 0;
  private shownMs = Number.NEGATIVE_INFINITY;
  /** Sizes of the outboxes after a pass. Bodies that are only on their way through an outbox are no backlog. */
  private spool: Increment[] = [];
  private resource: Plain | undefined;
  private failure: Error | undefined;

  constructor(store: Store, schedule: Schedule, options: DeliverOptions, now: () => number) {
    this.store = store;
    this.schedule = schedule;
    this.options = options;
    this.now = now;
    const { env, home, platform, configFile } = options.surroundings;
    this.http = createHttpTransport(() => loadProxies({ env, home, platform, file: configFile }));
    this.shipper = this.newShipper();
  }

  isSending(): boolean {
    return this.passing !== undefined;
  }

  readonly isUnderWay = (destination: string, name: string): boolean =>
    this.underWay.get(destination)?.has(name) ?? false;

  /** The next start sends at once, since a round has filled the outboxes. */
  hurry(): void {
    this.tryMs = 0;
  }

  /** Starts a pass when one is due. Throws what an earlier pass threw. */
  start(): void {
    this.throwFailure();
    if (this.options.sendsNothing) return;
    if (this.passing !== undefined || performance.now() < this.tryMs || !this.store.canSettle()) return;
    if (this.options.byHand || performance.now() - this.shownMs > REPORT_MS) this.reportPipeline();
    handOverMetrics(this.store, this.now());
    dropExcluded(this.store);
    this.passing = this.pass();
  }

  /**
   * Returns true if rounds outrun the requests: the outboxes are more than half full, and the destination with the most
   * waiting data accepts it. Its data would be removed before it is sent.
   */
  isOutrun(limits: PlaceLimits): boolean {
    if (this.passing === undefined) return false;
    const waiting = this.store.destinations().map(id => {
      const bodies = this.store.next(id);
      return { id, files: bodies.length, sizeBytes: bodies.reduce((sum, body) => sum + body.sizeBytes, 0) };
    });
    return (['sizeBytes', 'files'] as const).some(measure => {
      const all = waiting.reduce((sum, each) => sum + each[measure], 0);
      const [most] = waiting.toSorted((a, b) => b[measure] - a[measure]);
      return most !== undefined && all > limits[measure] / 2 && this.accepts(most.id);
    });
  }

  private accepts(id: string): boolean {
    const { lanes, pauses } = this.store.read(documents.ship) ?? noStanding;
    return pauses[id] === undefined && !Object.keys(lanes).some(lane => lane.startsWith(`${id}/`));
  }

  /** Waits for the pass that is under way. Returns the number of items that were accepted meanwhile. */
  async settled(): Promise<number> {
    const before = this.sent;
    await this.passing;
    return this.sent - before;
  }

  throwFailure(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  /** The last pass of a delivery: metrics are sent, whenever they were sent last. */
  async finish(): Promise<void> {
    if (this.options.sendsNothing) return;
    if (this.store.canSettle()) this.reportPipeline();
    this.note(await this.shipper.pass({ final: true, leave: () => this.mustLeave() }));
  }

  close(): void {
    this.http.close();
  }

  private async pass(): Promise<void> {
    const { byHand } = this.options;
    try {
      const leave = (): boolean => this.mustLeave();
      this.note(await this.shipper.pass({ byHand: byHand && this.isFirst, final: byHand, leave }));
      this.spool = spoolOf(this.store);
      const inMs = Math.min(this.passed.nextTryMs ?? 1_000, LONGEST_PAUSE_MS);
      this.tryMs = performance.now() + Math.max(LOOK_MS, inMs);
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
    } finally {
      this.isFirst = false;
      this.passing = undefined;
    }
  }

  private mustLeave(): boolean {
    return this.schedule.isOver() || !this.store.canSettle();
  }

  private note(passed: Passed): void {
    this.sent += passed.sent;
    this.passed = passed;
  }

  /** Losses and backlogs become metrics of the destinations. */
  private reportPipeline(): void {
    this.shownMs = performance.now();
    const installation = this.store.read(documents.installation);
    if (installation === undefined) return;
    this.resource ??= pipelineResource(installation.id);
    addPipelineMetrics(this.store, meteredIn(this.store), this.resource, this.spool, this.now());
  }

  private newShipper(): Shipper {
    const { store, options, http, underWay } = this;
    return createShipper({
      store: {
        next: destination => store.next(destination),
        standing: () => store.read(documents.ship) ?? noStanding,
        body(destination, name) {
          underWay.set(destination, (underWay.get(destination) ?? new Set()).add(name));
          return store.body(destination, name);
        },
      },
      destinations: () => destinationsIn(store),
      transports: {
        otlp: http.send,
        file: appendToFile(options.fsync),
        'agent-hooks-log': appendToFile(options.fsync),
        'agent-hooks-http': http.send,
        ...(options.print ? { console: printTo(options.print) } : {}),
      },
      commit: outcome => this.commit(outcome),
      metrics: {
        isWaiting({ id }) {
          const state = store.read(documents.metrics.of(id));
          return state !== undefined && state.accepted < state.version;
        },
        encoded: (destination, nowMs) => metricBodies(store, destination, nowMs),
      },
      clock: this.now,
      random: Math.random,
    });
  }

  /** The changes of an answer are committed as one round, before the next request to that destination. */
  private commit(outcome: Outcome): 'committed' | 'lost' {
    this.underWay.delete(outcome.destination.id);
    const round = roundOfOutcome(outcome);
    const changes = [...(round.documents ?? []), ...noted(this.store, outcome.problems, this.now())];
    const committed = this.store.commit({ ...round, documents: changes, isUrgent: true });
    // Bounded, since a delivery may last for months.
    if (committed === 'committed') this.incidents = [...this.incidents, ...outcome.problems].slice(-MOST_PROBLEMS);
    return committed;
  }
}

function metricBodies(store: Store, destination: Destination, nowMs: number): MetricBodies | undefined {
  const document = documents.metrics.of(destination.id);
  const state = store.read(document);
  const encoded = state && encodeMetrics(state, nowMs, destination.temporality);
  if (state === undefined || encoded === undefined) return undefined;
  return {
    bodies: encoded.bodies.map(body => body.bytes),
    superseded: state.version - state.accepted - 1,
    settled: () => [changeOf(document, settleMetrics(store.read(document) ?? encoded.settled, encoded.settled))],
  };
}
