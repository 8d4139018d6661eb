import type { Destination } from '../config/destinations.ts';
import type { Problem } from '../problems/problem.ts';
import type { Surroundings } from '../session/pin.ts';
import type { Lock } from '../store/lock.ts';
import type { Waits } from '../transcripts/settlement.ts';
import type { Keep } from './state-limits.ts';
import type { StatusBooks } from './status-books.ts';

export interface DeliverOptions {
  stateFolder: string;
  /**
   * A person started it: it takes over at once, tries paused lanes, and ends when no data waits or the time is over.
   */
  byHand: boolean;
  /** By hand: the longest duration. Otherwise: the time for which it waits for more fragments. */
  waitMs: number;
  surroundings: Omit<Surroundings, 'installation' | 'hashKey'>;
  /** Prints for `console` destinations. Without it, their data waits. */
  print?: ((lines: string) => void) | undefined;
  /** Fragments become events and bodies, and no body is sent. */
  sendsNothing?: true | undefined;
  fsync?: boolean | undefined;
  /** Destinations of the present configuration, which may correct those that sessions were pinned to. */
  configured?: readonly Destination[] | undefined;
  /** The limits of the state folder. The defaults apply without them. */
  keep?: Keep | undefined;
  /** A file of this program. If it is missing, an upgrade has replaced the program. */
  self?: string | undefined;
  /** The largest number of fragments of one round. It does not affect the sent data. */
  round?: { fragments: number; bytes: number } | undefined;
  /** The time for which closed spans wait for their transcripts; by hand zero. */
  waits?: Waits | undefined;
  /** The time limit of commands of projects. The default applies without it. */
  dispatchLimits?: { syncMs: number; asyncMs: number; orderMs?: number } | undefined;
  /**
   * A pause after a round that took all fragments. Many small rounds cost more than a large one, and slow the writers
   * of the inbox.
   */
  gatherMs?: number | undefined;
  /** Ends the delivery after the current round. */
  stop?: AbortSignal | undefined;
  /**
   * It runs in a separate process. After a hand-over, the process stays until the commands of projects that it started
   * have ended.
   */
  staysForCommands?: boolean | undefined;
  /** The lock, if the caller has taken it. */
  lock?: Lock | undefined;
  /** Called several times a second. */
  progress?: ((progress: Progress) => void) | undefined;
  now?: () => number;
}

export interface Progress {
  /** The number of hooks that waited at the start, and the number of those that were processed. */
  hooks: number;
  read: number;
  /** Items that destinations accepted, and items that still wait. */
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
