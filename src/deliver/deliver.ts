/**
 * The whole way on one page: fragments are taken from the inbox, become events, the events spans, records and increments,
 * these bodies, all of it one round; and whatever lies in the outboxes is sent. Taking never waits for sending.
 */

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Destination } from '../config/destinations.ts';
import type { Fragment } from '../hook/fragment.ts';
import { isDiskError } from '../lib/disk-error.ts';
import { VERSION } from '../lib/version.ts';
import { createDispatcher, type Dispatcher } from '../openhook/dispatch.ts';
import { type Due, dueSessions } from '../pipeline/due-sessions.ts';
import { recalled } from '../pipeline/rebuild.ts';
import { roundOf } from '../pipeline/round.ts';
import { type ExcessSession, excessSessions, stillExcess } from '../pipeline/session-limits.ts';
import type { Problem } from '../problems/problem.ts';
import type { Surroundings } from '../session/pin.ts';
import { appendToFile, printTo } from '../ship/local.ts';
import { roundOf as settlementOf } from '../ship/settlement.ts';
import { createShipper, heirsIn, type Passed, SHIP_DOCUMENT, type Shipper } from '../ship/ship.ts';
import { createHttpTransport } from '../ship/transport.ts';
import { increase, type Ledger } from '../store/ledger.ts';
import type { IsUnderWay } from '../store/limits.ts';
import { type Lock, takeLock } from '../store/lock.ts';
import { isFull } from '../store/reserve.ts';
import { openStore, type Store } from '../store/store.ts';
import type { Increment } from '../telemetry/increments.ts';
import { encodeMetrics, settleMetrics } from '../telemetry/metric-points.ts';
import { type MetricState, metricsDocument } from '../telemetry/metric-state.ts';
import { diskEyes, type Eyes } from '../transcripts/eyes.ts';
import { impatient, patient, type Waits } from '../transcripts/settlement.ts';
import { destinationsIn, forgetDestinations, handOverMetrics, noteCorrections } from './known-destinations.ts';
import { reconciliation } from './reconciliation.ts';
import { type Keep, keepOf, keepWithin, spoolOf, tellPipeline } from './state-limits.ts';
import { readStatusBooks, type StatusBooks } from './status-books.ts';

export interface DeliverOptions {
  stateFolder: string;
  /** A person started it: it takes over at once, tries what is paused, and leaves when nothing waits or time is up. */
  byHand: boolean;
  /** By hand: how long at most. Kicked: how long to linger for more. */
  waitMs: number;
  surroundings: Omit<Surroundings, 'installation' | 'hashKey'>;
  /** Where `console` destinations are printed; without it they wait. */
  print?: ((lines: string) => void) | undefined;
  fsync?: boolean | undefined;
  /** Where data would go by the configuration of this moment, which may have corrected what sessions were pinned to. */
  configured?: readonly Destination[] | undefined;
  /** What the state folder may hold; without it the defaults. */
  keep?: Keep | undefined;
  /** Files of this program: when they are gone, an upgrade took our place. */
  self?: string | undefined;
  /** How much one round takes at most; what leaves is the same whatever this is. */
  round?: { fragments: number; bytes: number } | undefined;
  /** How long what is closed waits for its transcript; by hand not at all. */
  waits?: Waits | undefined;
  /** How long commands of projects may take; without it the usual. */
  dispatchLimits?: { syncMs: number; asyncMs: number; orderMs?: number } | undefined;
  /**
   * A pause after a round that took all there was. Many small rounds cost more than a large one, and are in the way of
   * who writes the inbox.
   */
  gatherMs?: number | undefined;
  /** Leaves after the round that is under way, whatever waits. */
  stop?: AbortSignal | undefined;
  /**
   * A process of its own: when another is to deliver, it stays until the commands of projects that it started have
   * ended.
   */
  staysForCommands?: boolean | undefined;
  /** The lock, where the caller has taken it. */
  lock?: Lock | undefined;
  /** Told now and then how far it is. */
  progress?: ((progress: Progress) => void) | undefined;
  now?: () => number;
}

export interface Progress {
  /** Hooks that were waiting at the start, and how many of them are read. */
  hooks: number;
  read: number;
  /** Items that destinations took, and those that still wait for one. */
  sent: number;
  waiting: number;
}

export interface Delivered {
  outcome: 'done' | 'busy';
  journaled: number;
  sent: number;
  problems: Problem[];
  books: StatusBooks | undefined;
}

/** One round takes at most so much, so that spans appear while a backlog is worked off. */
const ROUND = { fragments: 2_000, bytes: 32 * 1024 * 1024 };
const LOOK_MS = 200;
/** States of sessions that one round lets go when there are too many. */
const MOST_LET_GO = 500;
const SILENCE_CHECK_MS = 300_000;
const KEEP_CHECK_MS = 600_000;
const TELL_MS = 15_000;
/** When time is up: so long commands of a project may still take to end by themselves. */
const DISPATCH_GRACE_MS = 1_000;
/** When another is to deliver, it waits so long for them: those of a session come in the order of its events. */
const DISPATCH_ORDER_MS = 3_000;

export async function deliver(options: DeliverOptions): Promise<Delivered> {
  const { stateFolder, byHand, waitMs, now = Date.now } = options;
  const untilMs = performance.now() + waitMs;
  const report: Delivered = { outcome: 'busy', journaled: 0, sent: 0, problems: [], books: undefined };
  const incidents: Problem[] = [];
  let given = options.lock;
  for (;;) {
    const lock =
      given ?? (await takeLock({ folder: stateFolder, version: VERSION, byHand, waitMs: byHand ? waitMs : 0 }));
    given = undefined;
    if (lock === undefined) return report;
    const { quarantine } = options.keep ?? keepOf();
    const store = openStore({ folder: stateFolder, access: 'own', fsync: options.fsync ?? false, quarantine });
    const http = createHttpTransport();
    let ended: Ended;
    let dispatcher: Dispatcher | undefined;
    let isStaying = false;
    const told = telling(store, options.progress);
    try {
      const reconciled = reconciliation(store);
      if (reconciled) store.commit(reconciled);
      noteCorrections(store, options.configured ?? [], now());
      const shipper = shipperOver(store, http.send, options, incidents, now);
      dispatcher = createDispatcher(store, {
        ...options.surroundings,
        limits: options.dispatchLimits,
        recalled: key => recalled(store, key),
        noted: problems => noted(store, problems, now()),
      });
      ended = await work(store, lock, shipper, dispatcher, options, report, untilMs, now);
      isStaying = ended === 'asked' && options.staysForCommands === true;
      const orderMs = options.dispatchLimits?.orderMs ?? DISPATCH_ORDER_MS;
      if (isStaying) await dispatcher.handOver(orderMs);
      else await dispatcher.stop(ended === 'asked' ? orderMs : byHand ? DISPATCH_GRACE_MS : 0);
      // What a pass ran into is news once; the last pass says what is wrong still.
      const problems = [...incidents, ...report.problems].map((problem): [string, Problem] => [
        JSON.stringify(problem),
        problem,
      ]);
      report.problems = [...new Map(problems).values()];
      if (!store.canSettle()) report.problems.push({ code: 'state-unusable', folder: stateFolder, error: 'ENOSPC' });
      report.outcome = 'done';
      report.books = readStatusBooks(store);
    } finally {
      told.end();
      http.close();
      if (isStaying) {
        lock.release();
        await dispatcher?.finish();
      } else await dispatcher?.stop(0);
      store.close();
      lock.release();
    }
    if (ended === 'asked' || (byHand && performance.now() > untilMs)) return report;
    // A hook that saw the lock before its release leaves its fragment to this process (src/hook/kick.ts). The hook of a
    // fragment that is still being written looks at the lock when it is complete, and a later version's is not ours.
    if (!hasCompleteFragment(stateFolder)) return report;
  }
}

const PROGRESS_MS = 200;

/** Counts from the ledger in memory: the folders may hold many thousand files. */
function telling(store: Store, progress: DeliverOptions['progress']): { end(): void } {
  if (progress === undefined) return { end: () => undefined };
  const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);
  const settled = ({ fragments }: Ledger): number =>
    fragments.journaled + fragments.quarantined + sum(fragments.dropped);
  const accounts = ({ destinations }: Ledger) =>
    Object.values(destinations).flatMap(({ traces, logs, events }) => [traces, logs, events]);
  const accepted = (ledger: Ledger): number => accounts(ledger).reduce((all, each) => all + each.accepted, 0);
  const left = (ledger: Ledger): number =>
    accounts(ledger).reduce(
      (all, { produced, accepted, rejected, dropped }) => all + produced - accepted - sum(rejected) - sum(dropped),
      0,
    );
  const first = store.ledger();
  const [settledBefore, acceptedBefore] = [settled(first), accepted(first)];
  const hooks = store.books().fragments.waiting;
  const timer = setInterval(() => {
    const ledger = store.ledger();
    const read = Math.min(hooks, settled(ledger) - settledBefore);
    progress({ hooks, read, sent: accepted(ledger) - acceptedBefore, waiting: left(ledger) });
  }, PROGRESS_MS);
  return { end: () => clearInterval(timer) };
}

/** `asked`: another process wants the lock, or this one was told to stop. */
type Ended = 'asked' | 'done';

async function work(
  store: Store,
  lock: Lock,
  shipper: Shipper & { isUnderWay: IsUnderWay },
  dispatcher: Dispatcher,
  options: DeliverOptions,
  report: Delivered,
  untilMs: number,
  now: () => number,
): Promise<Ended> {
  const keep = options.keep ?? keepOf();
  const whole = options.round ?? ROUND;
  /** Fewer at a time on a full disk: a small round finds room sooner, and makes some. */
  let most = whole.fragments;
  const eyes = diskEyes();
  const vigils: Vigils = new Map();
  let checkedMs = Number.NEGATIVE_INFINITY;
  let keptMs = Number.NEGATIVE_INFINITY;
  let toldMs = Number.NEGATIVE_INFINITY;
  let busyMs = performance.now();
  let tryMs = 0;
  let excess: ExcessSession[] = [];
  let isFirst = true;
  let isLeaving = false;
  let shipping: Promise<void> | undefined;
  /** What a pass left in the outboxes; what is only on its way through them is no backlog. */
  let left: Increment[] = [];
  let failure: Error | undefined;
  const leave = (): boolean => {
    isLeaving ||= options.stop?.aborted || !lock.touch() || lock.wanted() || isReplaced(options.self);
    return isLeaving || (options.byHand && performance.now() > untilMs);
  };
  const leaveOrWait = (): boolean => leave() || !store.canSettle();
  let last: Pick<Passed, 'waiting' | 'nextTryMs'> = { waiting: 0, nextTryMs: undefined };
  const note = (passed: Passed): void => {
    report.sent += passed.sent;
    report.problems = passed.problems;
    last = passed;
  };
  const ship = async (): Promise<void> => {
    try {
      note(await shipper.pass({ byHand: options.byHand && isFirst, final: options.byHand, leave: leaveOrWait }));
      left = spoolOf(store);
      tryMs = performance.now() + Math.max(LOOK_MS, Math.min(last.nextTryMs ?? 1_000, 60_000));
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
    } finally {
      isFirst = false;
      shipping = undefined;
    }
  };
  const tell = (): void => {
    toldMs = performance.now();
    const installation = store.document('installation') as { id: string } | undefined;
    const all = destinationsIn(store);
    // Whose key is refused for good has left its metrics to another.
    const former = new Set(heirsIn(store.document(SHIP_DOCUMENT), all).map(([of]) => of.id));
    const metered = all.filter(({ id, signals }) => signals.metrics && !former.has(id));
    if (installation) tellPipeline(store, metered, installation.id, left, now());
  };
  while (!leave()) {
    if (failure) throw failure;
    const isCheck = performance.now() - checkedMs > SILENCE_CHECK_MS;
    if (isCheck) checkedMs = performance.now();
    const due = isCheck ? dueSessions(store, now()) : { silent: [], waiting: [], undecided: [] };
    const { silent, undecided } = due;
    if (isCheck && store.canSettle()) forgetDestinations(store, now());
    for (const key of due.waiting) if (!vigils.has(key)) vigils.set(key, noVigil);
    const waiting = [...vigils].flatMap(([key, { dueMs }]) => (dueMs <= performance.now() ? [key] : []));
    const taken = store.take({ ...whole, fragments: Math.min(most, whole.fragments) });
    if (excess.length === 0) excess = excessSessions(store, keep.sessions);
    const someExcess = stillExcess(store, excess.splice(0, MOST_LET_GO));
    const hasWork =
      taken.fragments.length + taken.rejects.length + silent.length + undecided.length + someExcess.length > 0;
    let full: unknown;
    const isTrial = store.process(taken.fragments.map(({ name }) => name));
    // Sessions that are only looked at wait for another round, so that no fragment is blamed for one of them.
    if (isTrial) checkedMs = Number.NEGATIVE_INFINITY;
    const looks = isTrial ? {} : { silent, waiting, undecided, excess: someExcess };
    try {
      if (hasWork || waiting.length > 0) {
        // What is being sent may need the reserve at any moment.
        const isUrgent = shipping === undefined;
        const turnOptions = { ...options, eyes, vigils, dispatcher, isUrgent };
        const isCommitted = turn(store, taken, looks, turnOptions, report, now());
        if (hasWork) busyMs = performance.now();
        if (isCommitted) tryMs = 0;
        most = Math.min(most * 2, whole.fragments);
      }
      // After each round, which may have added, and now and then for what grows old.
      if (hasWork || performance.now() - keptMs > KEEP_CHECK_MS) {
        keptMs = performance.now();
        keepWithin(store, keep, shipper.isUnderWay);
      }
    } catch (error) {
      if (!isFull(error)) throw error;
      full = error;
      most = Math.floor(Math.min(most, taken.fragments.length) / 8);
      if (most > 0) continue;
    }
    if (shipping === undefined && performance.now() >= tryMs && store.canSettle()) {
      if (options.byHand || performance.now() - toldMs > TELL_MS) tell();
      handOverMetrics(store, now());
      shipping = ship();
    }
    if (full === undefined) dispatcher.pass();
    if (full !== undefined) {
      // Not even one finds room. What leaves makes some; if nothing does, the next hook starts another try.
      const { sent } = report;
      await shipping;
      if (report.sent === sent) throw full;
      most = 1;
      continue;
    }
    if (hasWork) {
      // A breath for answers that came in, then the next round.
      if (taken.more || options.gatherMs === undefined) await new Promise(resolve => setImmediate(resolve));
      else await pause(options.gatherMs);
    } else if (options.byHand) {
      await shipping;
      // Worth waiting for only what is tried again before time is up.
      const isWorthIt =
        last.waiting > 0 && last.nextTryMs !== undefined && performance.now() + last.nextTryMs < untilMs;
      if (!failure && !isWorthIt && vigils.size === 0 && !dispatcher.isBusy()) break;
      await pause(dispatcher.isBusy() ? 20 : Math.min(last.nextTryMs ?? 0, 50));
    } else if (
      shipping === undefined &&
      performance.now() - busyMs > options.waitMs &&
      vigils.size === 0 &&
      !dispatcher.isBusy()
    ) {
      break;
    } else {
      await pause(LOOK_MS);
    }
  }
  await shipping;
  if (failure) throw failure;
  if (isLeaving) return 'asked';
  if (store.canSettle()) tell();
  note(await shipper.pass({ final: true, leave: leaveOrWait }));
  return 'done';
}

/**
 * Sessions with something closed that waits for its transcript, and when each is looked at again: soon, then less
 * often.
 */
type Vigils = Map<string, { dueMs: number; stepMs: number }>;
const noVigil = { dueMs: 0, stepMs: LOOK_MS };
const LONGEST_STEP_MS = 2_000;

interface TurnOptions extends DeliverOptions {
  eyes: Eyes;
  vigils: Vigils;
  dispatcher: Dispatcher;
  isUrgent: boolean;
}

/** One round. Lost to another owner, it is nothing: the fragments are offered again. True when something was done. */
function turn(
  store: Store,
  taken: { fragments: readonly Fragment[]; rejects: readonly { name: string; reason: string }[] },
  due: Due,
  options: TurnOptions,
  report: Delivered,
  nowMs: number,
): boolean {
  const { epoch } = store;
  const { fragments, rejects } = taken;
  const { silent = [], waiting = [], undecided = [], excess = [] } = due;
  try {
    const installation = installationOf(store);
    const told = roundOf(store, taken, due, {
      ...options.surroundings,
      installation: installation.id,
      hashKey: installation.key,
      nowMs,
      eyes: options.eyes,
      waits: options.waits ?? (options.byHand ? impatient : patient),
      formerStates: [options.stateFolder, join(options.surroundings.home, '.config', 'otel-hooks', 'state')],
    });
    const { round, problems, journaled } = told;
    watch(options.vigils, told);
    // Looked, and nothing had come: nothing to keep.
    const isIdle = fragments.length + rejects.length + silent.length + excess.length === 0;
    if (isIdle && round.journal?.length === 0 && !told.isMore && !told.isDecided) return false;
    const failures = rejects.flatMap(({ reason }): Problem[] =>
      reason === 'failed' || reason === 'crashed'
        ? [{ code: 'fragment-failed', folder: options.stateFolder, why: reason }]
        : [],
    );
    const documents = [
      ...(round.documents ?? []),
      ...installation.documents,
      ...noted(store, [...problems, ...failures], nowMs),
    ];
    if (store.commit({ ...round, documents, isUrgent: options.isUrgent }) === 'committed') {
      report.journaled += journaled;
      options.dispatcher.look(told.looked, documents);
    }
    return true;
  } catch (error) {
    if (isDiskError(error)) throw error;
    // Not the disk: something in here could not bear one of them. What came first, so that nothing in it is blamed for
    // a
    // session that was only looked at; then each of these by itself.
    const nothing = { fragments: [], rejects: [] };
    const looks: Due[] = [
      ...silent.map(key => ({ silent: [key] })),
      ...waiting.map(key => ({ waiting: [key] })),
      ...undecided.map(key => ({ undecided: [key] })),
      ...excess.map(key => ({ excess: [key] })),
    ];
    const hasCome = fragments.length + rejects.length > 0;
    if (looks.length > 1 || (looks.length === 1 && hasCome)) {
      let isDone = hasCome && turn(store, taken, {}, options, report, nowMs);
      for (const look of looks) {
        // Another owner came between: what we hold is offered again.
        if (store.epoch !== epoch) return true;
        isDone = turn(store, nothing, look, options, report, nowMs) || isDone;
      }
      return isDone;
    }
    if (looks.length === 1) {
      // Nothing of it is lost: it stays as it is until it is looked for once more.
      for (const key of waiting) options.vigils.delete(key);
      // A state that cannot even be ended would otherwise hold its place for ever. Its journal stays.
      const gone = excess.map(key => ({ key, state: undefined }));
      if (gone.length > 0)
        store.commit({
          sessions: gone,
          tally: ledger => increase(ledger.counters, 'forgotten.sessions.failed', gone.length),
        });
      return gone.length > 0;
    }
    // Half and half, down to the one; it alone is set aside, and a person hears of it.
    const [only] = fragments;
    if (only === undefined) throw error;
    if (fragments.length === 1) {
      return turn(
        store,
        { fragments: [], rejects: [...rejects, { name: only.name, reason: 'failed' as const }] },
        {},
        options,
        report,
        nowMs,
      );
    }
    const middle = Math.ceil(fragments.length / 2);
    turn(store, { fragments: fragments.slice(0, middle), rejects }, {}, options, report, nowMs);
    if (store.epoch !== epoch) return true;
    return turn(store, { fragments: fragments.slice(middle), rejects: [] }, {}, options, report, nowMs);
  }
}

/** Who of the round waits still is looked at again, at once where there is more to read. */
function watch(vigils: Vigils, told: { looked: string[]; waiting: string[]; isMore: boolean }): void {
  const before = new Map(vigils);
  for (const key of told.looked) vigils.delete(key);
  for (const key of told.waiting) {
    const { stepMs } = before.get(key) ?? noVigil;
    const dueMs = told.isMore ? 0 : performance.now() + stepMs;
    vigils.set(key, { dueMs, stepMs: Math.min(stepMs * 2, LONGEST_STEP_MS) });
  }
}

/** Who we are on this machine, made once: an id for resources, and the key that content is hashed under. */
function installationOf(store: Store): { id: string; key: string; documents: { name: string; value: unknown }[] } {
  const known = store.document('installation') as { id: string; key: string } | undefined;
  if (known) return { ...known, documents: [] };
  const made = { id: randomBytes(16).toString('hex'), key: randomBytes(32).toString('hex') };
  return { ...made, documents: [{ name: 'installation', value: made }] };
}

export interface NotedProblem {
  problem: Problem;
  count: number;
  firstMs: number;
  lastMs: number;
}

const MOST_PROBLEMS = 64;

/** Problems of sessions' configurations are kept for `status`, each once, the oldest going first. */
export function noted(store: Store, problems: readonly Problem[], nowMs: number): { name: string; value: unknown }[] {
  if (problems.length === 0) return [];
  const known = new Map(Object.entries((store.document('problems') ?? {}) as { [key: string]: NotedProblem }));
  for (const problem of problems) {
    const key = JSON.stringify(problem);
    const before = known.get(key);
    known.delete(key);
    known.set(key, { problem, count: (before?.count ?? 0) + 1, firstMs: before?.firstMs ?? nowMs, lastMs: nowMs });
  }
  return [{ name: 'problems', value: Object.fromEntries([...known].slice(-MOST_PROBLEMS)) }];
}

function shipperOver(
  store: Store,
  http: ReturnType<typeof createHttpTransport>['send'],
  options: DeliverOptions,
  incidents: Problem[],
  now: () => number,
): Shipper & { isUnderWay: IsUnderWay } {
  /** By destination: what was read for a request whose outcome is not committed yet. */
  const underWay = new Map<string, Set<string>>();
  const shipper = createShipper({
    store: {
      next: store.next,
      document: store.document,
      body(destination, name) {
        underWay.set(destination, (underWay.get(destination) ?? new Set()).add(name));
        return store.body(destination, name);
      },
    },
    destinations: () => destinationsIn(store),
    transports: {
      otlp: http,
      file: appendToFile(options.fsync),
      'agent-hooks-log': appendToFile(options.fsync),
      'agent-hooks-http': http,
      ...(options.print ? { console: printTo(options.print) } : {}),
    },
    // What an answer changes is a round of its own, before the next request of that destination.
    commit(outcome) {
      underWay.delete(outcome.destination.id);
      const round = settlementOf(outcome);
      const documents = [...(round.documents ?? []), ...noted(store, outcome.problems, now())];
      const committed = store.commit({ ...round, documents, isUrgent: true });
      if (committed === 'committed') incidents.push(...outcome.problems);
      // Some deliveries go on for months.
      incidents.splice(0, incidents.length - MOST_PROBLEMS);
      return committed;
    },
    metrics(destination, nowMs) {
      const name = metricsDocument(destination.id);
      const state = store.document(name) as MetricState | undefined;
      const encoded = state && encodeMetrics(state, nowMs, destination.temporality);
      if (state === undefined || encoded === undefined) return undefined;
      return {
        bodies: encoded.bodies.map(body => body.bytes),
        superseded: state.version - state.accepted - 1,
        settled() {
          const current = (store.document(name) as MetricState | undefined) ?? encoded.settled;
          return [{ name, value: settleMetrics(current, encoded.settled) }];
        },
      };
    },
    clock: now,
    random: Math.random,
  });
  return { ...shipper, isUnderWay: (destination, name) => underWay.get(destination)?.has(name) ?? false };
}

function hasCompleteFragment(stateFolder: string): boolean {
  const store = openStore({ folder: stateFolder, access: 'read' });
  try {
    return store.take({ fragments: 1_000, bytes: 0 }).fragments.length > 0;
  } finally {
    store.close();
  }
}

/** An upgrade took our file away: the next hook starts the new one. */
const isReplaced = (self: string | undefined): boolean => self !== undefined && !existsSync(self);

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
