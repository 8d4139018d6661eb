/**
 * The whole delivery on one page. A round takes fragments from the inbox and turns them into events, the events into
 * spans, records and increments, and these into bodies (taker.ts). In parallel, the bodies of the outboxes are sent
 * (sender.ts), so rounds never wait for requests. schedule.ts decides which sessions are due and when a delivery ends.
 */
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { VERSION } from '../lib/version.ts';
import type { Dispatcher } from '../openhook/dispatch.ts';
import type { PlaceLimits } from '../store/limits.ts';
import { type Lock, takeLock } from '../store/lock.ts';
import { openStore, type Store } from '../store/store.ts';
import { dispatcherOver, endDispatch, hasCompleteFragment, problemsOf } from './hand-over.ts';
import { IdleWork } from './idle-work.ts';
import { forgetDestinations } from './known-destinations.ts';
import type { Delivered, DeliverOptions } from './options.ts';
import { reportProgress } from './progress.ts';
import { repair } from './repairs.ts';
import { LOOK_MS, Schedule } from './schedule.ts';
import { Sender } from './sender.ts';
import { KeepLimits, keepOf } from './state-limits.ts';
import { readStatusBooks } from './status-books.ts';
import { Taker, type Took } from './taker.ts';

export type { Delivered, DeliverOptions, Progress } from './options.ts';

/** The time between two looks at outboxes that are too full for another round. */
const OUTRUN_MS = 20;

/** The parts of one delivery, from the lock to its release. */
interface Delivery {
  store: Store;
  schedule: Schedule;
  taker: Taker;
  sender: Sender;
  dispatcher: Dispatcher;
  limits: KeepLimits;
  outbox: PlaceLimits;
  options: DeliverOptions;
  now: () => number;
}

export async function deliver(options: DeliverOptions): Promise<Delivered> {
  const { stateFolder: folder, byHand, waitMs } = options;
  const untilMs = performance.now() + waitMs;
  const report: Delivered = { outcome: 'busy', journaled: 0, sent: 0, problems: [], books: undefined };
  const lockAgain = () => takeLock({ folder, version: VERSION, byHand, waitMs: byHand ? waitMs : 0 });
  for (let lock = options.lock ?? (await lockAgain()); lock !== undefined; lock = await lockAgain()) {
    const isHandedOver = await deliverUnder(lock, options, untilMs, report);
    if (isHandedOver || (byHand && performance.now() > untilMs)) break;
    // A hook that saw the lock before its release leaves its fragment to this process (src/hook/kick.ts). The hook of a
    // fragment that is still being written looks at the lock when the fragment is complete.
    if (!hasCompleteFragment(folder)) break;
  }
  return report;
}

/** Returns true if another process takes over the delivery. */
async function deliverUnder(lock: Lock, options: DeliverOptions, untilMs: number, report: Delivered): Promise<boolean> {
  const { stateFolder: folder, fsync = false, keep = keepOf(), now = Date.now } = options;
  const store = openStore({ folder, access: 'own', fsync, quarantine: keep.quarantine });
  const schedule = new Schedule(store, lock, options, untilMs);
  const sender = new Sender(store, schedule, options, now);
  const endProgress = reportProgress(store, options.progress);
  const dispatcher = dispatcherOver(store, options, now);
  let isStaying = false;
  try {
    repair(store, options, now());
    const taker = new Taker({ store, schedule, dispatcher, options, now });
    const limits = new KeepLimits(store, keep, sender.isUnderWay);
    const isHandedOver = await work({
      ...{ store, schedule, taker, sender, dispatcher, limits },
      outbox: keep.places.outbox,
      options,
      now,
    });
    isStaying = await endDispatch(dispatcher, options, isHandedOver);
    report.outcome = 'done';
    report.journaled += taker.journaled;
    report.sent += sender.sent;
    report.problems = problemsOf(store, sender);
    report.books = readStatusBooks(store);
    return isHandedOver;
  } finally {
    endProgress();
    sender.close();
    if (isStaying) {
      lock.release();
      await dispatcher.finish();
    } else await dispatcher.stop(0);
    store.close();
    lock.release();
  }
}

/** Runs rounds and passes until another process takes over (true) or no work is left (false). */
async function work(delivery: Delivery): Promise<boolean> {
  const { store, schedule, taker, sender, dispatcher, limits, now } = delivery;
  const idleWork = new IdleWork(store);
  while (!schedule.isOver()) {
    sender.throwFailure();
    if (schedule.isCheckDue() && store.canSettle()) forgetDestinations(store, now());
    const took = taker.take(schedule.dueSessions(now()), !sender.isSending());
    if (took.hasWork) schedule.noteWork();
    if (took.isCommitted) sender.hurry();
    if (took.canRetry) continue;
    const full = took.full ?? limits.keep(took.hasWork);
    sender.start();
    if (full !== undefined) {
      // Not even one fragment fits on the disk. Accepted bodies free space; if none is accepted, the next hook tries
      // again.
      if ((await sender.settled()) === 0 && !took.isCommitted) throw full;
      continue;
    }
    dispatcher.pass();
    if (!took.hasWork) idleWork.pass();
    if (!(await rest(delivery, took))) break;
  }
  await sender.settled();
  sender.throwFailure();
  if (schedule.isAsked()) return true;
  await sender.finish();
  return false;
}

/** Returns false if no work is left. */
async function rest(delivery: Delivery, took: Took): Promise<boolean> {
  const { schedule, sender, dispatcher, outbox, options } = delivery;
  const isBusy = (): boolean => schedule.hasVigils() || dispatcher.isBusy();
  if (took.hasWork) {
    // Answers of destinations are processed before the next round.
    if (took.isMore || options.gatherMs === undefined) await setImmediate();
    else await pause(options.gatherMs);
    while (sender.isOutrun(outbox) && !schedule.isOver()) await pause(OUTRUN_MS);
    return true;
  }
  if (!options.byHand) {
    if (!sender.isSending() && schedule.hasLingered() && !isBusy()) return false;
    await pause(LOOK_MS);
    return true;
  }
  await sender.settled();
  sender.throwFailure();
  const { waiting, nextTryMs = 0 } = sender.passed;
  // Wait only for a retry that comes before the time limit.
  const isWorthIt = waiting > 0 && schedule.isInTime(sender.passed.nextTryMs);
  if (!isWorthIt && !isBusy()) return false;
  await pause(dispatcher.isBusy() ? 20 : Math.min(nextTryMs, 50));
  return true;
}
