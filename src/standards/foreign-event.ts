/** An event of an open standard in the terms of the model. `receive` finds its session and pairs calls without ids. */
import type { AgentMode, Body, Facts, Fields, Risk } from '../event/event.ts';

export interface ForeignEvent {
  readonly standard: 'agent-hooks' | 'openhook' | 'base-coat';
  /** The agent as the event spells it; undefined if the standard has no field for it. */
  readonly source: string | undefined;
  readonly session: string;
  /** The type in the standard. */
  readonly native: string;
  readonly cwd: string | undefined;
  /** The place where the agent works if it is not a folder: the address of a page, a mailbox. */
  readonly address?: string | undefined;
  readonly atMs: number | undefined;
  /** The path of the transcript, if the event has it. */
  readonly transcript?: string | undefined;
  /** The repository, if the event states it. */
  readonly repository?:
    | { owner?: string | undefined; name?: string | undefined; branch?: string | undefined }
    | undefined;
  /** The agent's own payload, if the event carries it. It has more details than the event. */
  readonly payload?: Fields | undefined;
  readonly readings: readonly ForeignReading[];
  /** The user of the agent, as the event spells it. */
  readonly user?: string | undefined;
  readonly version?: string | undefined;
  /** Names of harmless deviations, which are counted. */
  readonly odd?: readonly string[] | undefined;
}

export type ForeignReading = Body & {
  /** The native id that the reading shares with the hook of the agent. */
  key?: string | undefined;
  /** The event's id in its standard. An event with the same id is a repetition. */
  id?: string | undefined;
  facts?: Partial<Omit<Facts, 'v' | 'seq' | 'time'>> | undefined;
  actor?: 'user' | 'ai_agent' | 'system' | undefined;
  actorId?: string | undefined;
  /** Fields that the vendor adds to the event. Only fields that the configuration names are kept. */
  metadata?: Fields | undefined;
  mode?: AgentMode | undefined;
  risk?: Risk | undefined;
  subagent?: string | undefined;
  /** The result of an action in the sender's own form. */
  output?: unknown;
  atMs?: number | undefined;
  /** otel-hooks wrote the event, so its id is the id that the agent's own hook would give. */
  ours?: true | undefined;
  /** The event has no id of its subagent; it belongs to the oldest open subagent of the same kind. */
  pairs?: 'opens' | 'closes' | undefined;
  /** The reading is ignored unless it is the first one of its session. */
  onlyFirst?: true | undefined;
};

/** An event that cannot be read, and the reason. It is skipped. */
export interface Unreadable {
  readonly unreadable: 'invalid-event' | 'no-session-id';
}

export const isUnreadable = (value: object): value is Unreadable => 'unreadable' in value;
