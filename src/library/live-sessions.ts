/**
 * The sessions of a bridge, ordered by the time of their last event, oldest first. Their number is limited. A timer
 * ends silent sessions and frees ended sessions, even if no more events arrive. The timer does not keep the process
 * alive.
 */
import { isOpen } from '../assemble/assemble.ts';
import type { SessionInRound } from '../pipeline/session-in-round.ts';
import type { SessionStats } from './stats.ts';

export interface SessionLimits {
  openSessions: number;
  silenceMs: number;
  endedMs: number;
}

interface Live {
  session: SessionInRound;
  lastMs: number;
}

export class LiveSessions {
  readonly #limits: SessionLimits;
  /** Ends a session and sends its output. */
  readonly #end: (session: SessionInRound, nowMs: number) => void;
  readonly #live = new Map<string, Live>();
  readonly #tick: (nowMs: number) => boolean;
  #silenced = 0;
  #evicted = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `tick` is called with each sweep. It returns false when sessions must wait for room in the queue. */
  constructor(
    limits: SessionLimits,
    end: (session: SessionInRound, nowMs: number) => void,
    tick: (nowMs: number) => boolean,
  ) {
    this.#limits = limits;
    this.#end = end;
    this.#tick = tick;
  }

  get(key: string): SessionInRound | undefined {
    return this.#live.get(key)?.session;
  }

  has(key: string): boolean {
    return this.#live.has(key);
  }

  all(): SessionInRound[] {
    return [...this.#live.values()].map(({ session }) => session);
  }

  /** Records an event of a session, which makes it the newest session. */
  touch(session: SessionInRound, nowMs: number): void {
    const { key } = session.state;
    const live = this.#live.get(key) ?? { session, lastMs: nowMs };
    live.lastMs = nowMs;
    this.#live.delete(key);
    this.#live.set(key, live);
    if (this.#live.size > this.#limits.openSessions) this.#evict(nowMs);
    this.#schedule();
  }

  /** Removes and yields all sessions. */
  *drain(): Generator<SessionInRound, undefined> {
    for (const [key, { session }] of this.#live) {
      this.#live.delete(key);
      yield session;
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  stats(): SessionStats {
    const sessions = this.all();
    const open = sessions.filter(({ state }) => isOpen(state.fold)).length;
    return { open, ended: sessions.length - open, silenced: this.#silenced, evicted: this.#evicted };
  }

  #evict(nowMs: number): void {
    const [oldest] = this.#live;
    if (oldest === undefined) return;
    const [key, { session }] = oldest;
    this.#live.delete(key);
    if (!isOpen(session.state.fold)) return;
    this.#evicted += 1;
    this.#end(session, nowMs);
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#live.size === 0) return;
    const { silenceMs, endedMs } = this.#limits;
    const everyMs = Math.min(Math.max(Math.min(silenceMs, endedMs) / 2, 10), LONGEST_WAIT_MS);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sweep(Date.now());
      this.#schedule();
    }, everyMs).unref();
  }

  #sweep(nowMs: number): void {
    const { silenceMs, endedMs } = this.#limits;
    const least = Math.min(silenceMs, endedMs);
    for (const [key, { session, lastMs }] of this.#live) {
      // All further sessions had a later event.
      if (nowMs - lastMs < least || !this.#tick(nowMs)) return;
      if (isOpen(session.state.fold)) {
        if (nowMs - lastMs < silenceMs) continue;
        this.#silenced += 1;
        this.#end(session, nowMs);
      } else if (nowMs - lastMs < endedMs) continue;
      this.#live.delete(key);
    }
  }
}

const LONGEST_WAIT_MS = 30_000;
