import type { Destination } from '../config/destinations.ts';
import type { Problem } from '../problems/problem.ts';
import type { Surroundings } from '../session/pin.ts';
import type { Lock } from '../store/lock.ts';
import type { Waits } from '../transcripts/settlement.ts';
import type { Keep } from './state-limits.ts';
import type { StatusBooks } from './status-books.ts';

export interface DeliverOptions {
  stateFolder: string;
  /** A person started it: it takes over at once, tries paused lanes, and ends when nothing waits or the time is up. */
  byHand: boolean;
  /** By hand: the longest duration. Otherwise: how long it lingers for more. */
  waitMs: number;
  surroundings: Omit<Surroundings, 'installation' | 'hashKey'>;
  /** Prints for `console` destinations. Without it they wait. */
  print?: ((lines: string) => void) | undefined;
  /** Fragments become events and bodies; nothing is sent. */
  sendsNothing?: true | undefined;
  fsync?: boolean | undefined;
  /** Destinations of the present configuration, which may correct those that sessions were pinned to. */
  configured?: readonly Destination[] | undefined;
  /** Limits of the state folder. Without them the defaults. */
  keep?: Keep | undefined;
  /** A file of this program. When it is gone, an upgrade has replaced the program. */
  self?: string | undefined;
  /** The most that one round takes. It does not change what is sent. */
  round?: { fragments: number; bytes: number } | undefined;
  /** How long closed spans wait for their transcript; by hand not at all. */
  waits?: Waits | undefined;
  /** How long commands of projects may take. Without it the defaults. */
  dispatchLimits?: { syncMs: number; asyncMs: number; orderMs?: number } | undefined;
  /**
   * A pause after a round that took all fragments. Many small rounds cost more than a large one, and slow the writers
   * of the inbox.
   */
  gatherMs?: number | undefined;
  /** Ends the delivery after the round that is under way. */
  stop?: AbortSignal | undefined;
  /** A process of its own: after a hand-over it stays until the commands of projects that it started have ended. */
  staysForCommands?: boolean | undefined;
  /** The lock, where the caller has taken it. */
  lock?: Lock | undefined;
  /** Called several times a second. */
  progress?: ((progress: Progress) => void) | undefined;
  now?: () => number;
}

export interface Progress {
  /** Hooks that waited at the start, and how many of them are read. */
  hooks: number;
  read: number;
  /** Items that destinations accepted, and those that still wait for one. */
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
