/**
 * What an event of an open standard says, in the model's words. The drain finds its session and pairs calls without
 * ids; which agent it is about, it says itself.
 */
import type { AgentMode, Body, Facts, Fields, Risk } from '../event/event.ts';

export interface ToldEvent {
  readonly standard: 'agent-hooks' | 'openhook' | 'base-coat';
  /** The agent as the event spells it; absent where the standard has no word for it. */
  readonly source: string | undefined;
  readonly session: string;
  /** Its type there. */
  readonly native: string;
  readonly cwd: string | undefined;
  /** Where the agent works, if that is no folder: the address of a page, a mailbox. */
  readonly address?: string | undefined;
  readonly atMs: number | undefined;
  /** The session's transcript, where the event names one. */
  readonly transcript?: string | undefined;
  /** The agent's own payload, where the event carries it: it knows more than the event. */
  readonly payload?: Fields | undefined;
  readonly says: readonly ToldReading[];
  /** Who works with the agent, as the event says it. */
  readonly user?: string | undefined;
  readonly version?: string | undefined;
  /** Oddities that cost nothing, for the books. */
  readonly odd?: readonly string[] | undefined;
}

export type ToldReading = Body & {
  /** The native id that it shares with the agent's own hooks. */
  key?: string | undefined;
  /** The event's id in its standard: repeated, it is the same event. */
  id?: string | undefined;
  facts?: Partial<Omit<Facts, 'v' | 'seq' | 'time'>> | undefined;
  actor?: 'user' | 'ai_agent' | 'system' | undefined;
  actorId?: string | undefined;
  /** What its vendor adds to the event, of which nothing passes that was not asked for. */
  metadata?: Fields | undefined;
  mode?: AgentMode | undefined;
  risk?: Risk | undefined;
  subagent?: string | undefined;
  atMs?: number | undefined;
  /** Written by otel-hooks: its id is the one that the agent's own hook would give. */
  ours?: true | undefined;
  /** A subagent without an id: the oldest open one of its kind is meant. */
  pairs?: 'opens' | 'closes' | undefined;
  /** Counts only as the first sign of its session. */
  onlyFirst?: true | undefined;
};

/** What cannot be read, and why: it costs itself. */
export interface Unreadable {
  readonly unreadable: 'invalid-event' | 'no-session-id';
}

export const isUnreadable = (value: object): value is Unreadable => 'unreadable' in value;
