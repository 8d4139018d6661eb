/** Decides which sessions a round visits in addition to the sessions of its fragments, and when a delivery ends. */
import { existsSync } from 'node:fs';
import { type Due, dueSessions } from '../pipeline/due-sessions.ts';
import type { RoundResult } from '../pipeline/round.ts';
import { type ExcessSession, excessSessions, stillExcess } from '../pipeline/session-limits.ts';
import type { Lock } from '../store/lock.ts';
import type { Store } from '../store/store.ts';
import type { DeliverOptions } from './options.ts';
import { keepOf } from './state-limits.ts';

export const LOOK_MS = 200;
const SILENCE_CHECK_MS = 300_000;
const LONGEST_STEP_MS = 2_000;
/** The most session states that one round removes when there are too many. */
const MOST_LET_GO = 500;
/** The most sessions of each kind that one round visits: after a pause of the machine, thousands may be due. */
const MOST_VISITED = 64;
/** The journal of an undecided session is read as a whole. */
const MOST_DECIDED = 8;
const newVigil = { dueMs: 0, stepMs: LOOK_MS };

export class Schedule {
  private readonly store: Store;
  private readonly lock: Lock;
  private readonly options: DeliverOptions;
  private readonly untilMs: number;
  private checkedMs = Number.NEGATIVE_INFINITY;
  private busyMs = performance.now();
  private excess: ExcessSession[] = [];
  private silent: string[] = [];
  private undecided: string[] = [];
  private isAskedToLeave = false;
  /**
   * Sessions whose closed spans wait for a transcript, with the time of the next look at each: soon, then less often.
   */
  private readonly vigils = new Map<string, { dueMs: number; stepMs: number }>();

  /** `untilMs`: the end of the time of a delivery by hand. */
  constructor(store: Store, lock: Lock, options: DeliverOptions, untilMs: number) {
    this.store = store;
    this.lock = lock;
    this.options = options;
    this.untilMs = untilMs;
  }

  /** Another process wants the lock or has replaced this program, or the caller stops the delivery. */
  isAsked(): boolean {
    const { stop, self } = this.options;
    this.isAskedToLeave ||= stop?.aborted || !this.lock.touch() || this.lock.wanted() || isReplaced(self);
    return this.isAskedToLeave;
  }

  isOver(): boolean {
    return this.isAsked() || (this.options.byHand && performance.now() > this.untilMs);
  }

  /** A retry within this time comes before the time limit of a delivery by hand. */
  isInTime(inMs: number | undefined): boolean {
    return inMs !== undefined && performance.now() + inMs < this.untilMs;
  }

  isCheckDue(): boolean {
    return performance.now() - this.checkedMs > SILENCE_CHECK_MS;
  }

  /** All sessions are checked now and then, those that wait for a transcript more often. */
  dueSessions(nowMs: number): Required<Due> {
    const isCheck = this.isCheckDue();
    if (isCheck) {
      this.checkedMs = performance.now();
      const { silent, waiting, undecided } = dueSessions(this.store, nowMs);
      this.silent = silent;
      this.undecided = undecided;
      for (const key of waiting) if (!this.vigils.has(key)) this.vigils.set(key, newVigil);
    }
    const isDue = ([, { dueMs }]: [string, { dueMs: number }]): boolean => dueMs <= performance.now();
    const watched = [...this.vigils].filter(isDue).map(([key]) => key);
    return {
      silent: this.silent.splice(0, MOST_VISITED),
      undecided: this.undecided.splice(0, MOST_DECIDED),
      waiting: watched.slice(0, MOST_VISITED),
      excess: this.excessSessions(),
    };
  }

  private excessSessions(): string[] {
    const { keep = keepOf() } = this.options;
    if (this.excess.length === 0) this.excess = excessSessions(this.store, keep.sessions);
    return stillExcess(this.store, this.excess.splice(0, MOST_LET_GO));
  }

  checkAgain(): void {
    this.checkedMs = Number.NEGATIVE_INFINITY;
  }

  /** Schedules another look at the sessions of a round that still wait: at once if their transcripts have more rows. */
  planVigils({ looked, waiting, isMore }: Pick<RoundResult, 'looked' | 'waiting' | 'isMore'>): void {
    const before = new Map(this.vigils);
    this.dropVigils(looked);
    for (const key of waiting) {
      const { stepMs } = before.get(key) ?? newVigil;
      const dueMs = isMore ? 0 : performance.now() + stepMs;
      this.vigils.set(key, { dueMs, stepMs: Math.min(stepMs * 2, LONGEST_STEP_MS) });
    }
  }

  dropVigils(keys: readonly string[]): void {
    for (const key of keys) this.vigils.delete(key);
  }

  hasVigils(): boolean {
    return this.vigils.size > 0;
  }

  noteWork(): void {
    this.busyMs = performance.now();
  }

  hasLingered(): boolean {
    return performance.now() - this.busyMs > this.options.waitMs;
  }
}

/** The next hook starts the new version. */
const isReplaced = (self: string | undefined): boolean => self !== undefined && !existsSync(self);
