/** Processes the fragments of the inbox into the outboxes, one round at a time. */
import { join } from 'node:path';
import { installationOf } from '../documents/installation.ts';
import { noted } from '../documents/problem-notes.ts';
import { isDiskError } from '../lib/disk-error.ts';
import type { Dispatcher } from '../openhook/dispatch.ts';
import type { Due } from '../pipeline/due-sessions.ts';
import { computeRound, type RoundResult } from '../pipeline/round.ts';
import type { Problem } from '../problems/problem.ts';
import { increase } from '../store/ledger.ts';
import { isFull } from '../store/reserve.ts';
import type { Store } from '../store/store.ts';
import { diskEyes } from '../transcripts/eyes.ts';
import { impatient, patient } from '../transcripts/settlement.ts';
import type { DeliverOptions } from './options.ts';
import { type RoundPart, smallerParts } from './parts-of-round.ts';
import type { Schedule } from './schedule.ts';

/** The largest number of fragments of one round. It is limited, so that spans appear while a backlog is processed. */
const ROUND = { fragments: 2_000, bytes: 32 * 1024 * 1024 };

export interface Took {
  /** The round had fragments or due sessions, apart from sessions that wait for a transcript. */
  hasWork: boolean;
  isCommitted: boolean;
  /** More fragments are waiting. */
  isMore: boolean;
  /** The disk is full: no round was made. */
  full?: Error;
  /** A round with fewer fragments may fit on the disk. */
  canRetry?: boolean;
}

interface TakerParts {
  store: Store;
  schedule: Schedule;
  dispatcher: Dispatcher;
  options: DeliverOptions;
  now: () => number;
}

export class Taker {
  /** Fragments that were journaled. */
  journaled = 0;
  private readonly parts: TakerParts;
  private readonly eyes = diskEyes();
  private readonly whole: { fragments: number; bytes: number };
  /** The number of fragments of a round on a full disk. A small round fits sooner, and frees space. */
  private most: number;

  constructor(parts: TakerParts) {
    this.parts = parts;
    this.whole = parts.options.round ?? ROUND;
    this.most = this.whole.fragments;
  }

  /** One round. `isUrgent`: it may spend the reserve, since no request is under way that may need it. */
  take(due: Required<Due>, isUrgent: boolean): Took {
    const { store, schedule, now } = this.parts;
    // Before the inbox is listed: transcripts are read up to this time, and the hooks of all earlier rows are then listed.
    const nowMs = now();
    const { fragments, rejects, more } = store.take({ ...this.whole, fragments: this.most });
    const count = fragments.length + rejects.length + due.silent.length + due.undecided.length + due.excess.length;
    const took: Took = { hasWork: count > 0, isCommitted: false, isMore: more };
    const isTrial = store.process(fragments.map(({ name }) => name));
    // Sessions that are only looked at wait for another round, so that no fragment is blamed for one of them.
    if (isTrial) schedule.checkAgain();
    if (!took.hasWork && due.waiting.length === 0) return took;
    try {
      took.isCommitted = this.process({ fragments, rejects, due: isTrial ? {} : due }, isUrgent, nowMs);
      this.most = Math.min(this.most * 2, this.whole.fragments);
      return took;
    } catch (error) {
      if (!isFull(error)) throw error;
      const fewer = Math.floor(Math.min(this.most, fragments.length) / 8);
      this.most = Math.max(1, fewer);
      return { ...took, full: error as Error, canRetry: fewer > 0 };
    }
  }

  /**
   * Returns true when something was done. A round that fails is processed in parts, down to the one fragment at fault.
   */
  private process(whole: RoundPart, isUrgent: boolean, nowMs: number): boolean {
    const { store } = this.parts;
    const { epoch } = store;
    const parts = [whole];
    let isDone = false;
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      // Another owner committed a round in between: its fragments and these are offered again.
      if (store.epoch !== epoch) return true;
      try {
        isDone = this.commit(part, isUrgent, nowMs) || isDone;
      } catch (error) {
        const smaller = isDiskError(error) ? undefined : smallerParts(part);
        if (smaller === undefined) throw error;
        if (smaller.length === 0) isDone = this.giveUp(part.due) || isDone;
        parts.unshift(...smaller);
      }
    }
    return isDone;
  }

  /** A session that failed alone. Returns true when its state was removed; its journal stays. */
  private giveUp({ waiting = [], excess = [] }: Due): boolean {
    this.parts.schedule.dropVigils(waiting);
    // Otherwise a state that cannot be ended would never be removed.
    if (excess.length === 0) return false;
    this.parts.store.commit({
      sessions: excess.map(key => ({ key, state: undefined })),
      tally: ledger => increase(ledger.counters, 'forgotten.sessions.failed', excess.length),
    });
    return true;
  }

  /** Returns false when the round changed nothing and was not committed. A lost round is offered again. */
  private commit(part: RoundPart, isUrgent: boolean, nowMs: number): boolean {
    const { store, schedule, dispatcher } = this.parts;
    const { installation, changes } = installationOf(store);
    const result = computeRound(store, part, part.due, this.world(installation, nowMs));
    schedule.planVigils(result);
    if (isIdle(part, result)) return false;
    const problems = [...result.problems, ...this.failures(part)];
    const documents = [
      ...(result.round.documents ?? []),
      ...changes,
      ...noted(store, problems, nowMs, result.pinnings),
      ...store.newDay(),
    ];
    if (store.commit({ ...result.round, documents, isUrgent }) === 'committed') {
      this.journaled += result.journaled;
      dispatcher.look(result.looked, documents);
    }
    return true;
  }

  private world({ id, key }: { id: string; key: string }, nowMs: number): Parameters<typeof computeRound>[3] {
    const { surroundings, byHand, waits = byHand ? impatient : patient, stateFolder } = this.parts.options;
    const formerStates = [stateFolder, join(surroundings.home, '.config', 'otel-hooks', 'state')];
    return { ...surroundings, installation: id, hashKey: key, nowMs, eyes: this.eyes, waits, formerStates };
  }

  private failures({ rejects }: RoundPart): Problem[] {
    const failed = rejects.filter(({ reason }) => reason === 'failed' || reason === 'crashed');
    return failed.map(({ reason }) => ({
      code: 'fragment-failed',
      folder: this.parts.options.stateFolder,
      why: reason as 'failed' | 'crashed',
    }));
  }
}

/** The round visited sessions without new events. */
function isIdle({ fragments, rejects, due }: RoundPart, { round, isMore, isDecided }: RoundResult): boolean {
  const { silent = [], excess = [] } = due;
  if (fragments.length + rejects.length + silent.length + excess.length > 0) return false;
  return round.journal?.length === 0 && !isMore && !isDecided;
}
