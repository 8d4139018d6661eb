import {
  type Event,
  type Facts,
  factsOf,
  metadataOf,
  type Risk,
  type RiskLevel,
  type TimeSource,
} from '../event/event.ts';
import type { Finished, FinishedSpan } from './finished.ts';
import type { FoldState, KnownTurn, OpenRisk, Origin } from './state.ts';

/** A longer duration is an error of the agent. It would make all parent spans of the action too long. */
export const LONGEST_ACTION_MS = 7 * 24 * 3_600_000;

export interface At {
  event: Event;
  facts: Partial<Facts>;
  atMs: number;
  subagent: string | undefined;
  out: Finished;
  /** Set for an event of the past: the turn that it belonged to, if known. */
  late: { turn: KnownTurn | undefined } | undefined;
  isRecorded: boolean;
}

/** Returns mode, actor and metadata of the event that opens a span. */
export const originOf = (event: Event): Origin & { mode: string | undefined } => ({
  mode: event.agent_mode,
  actor: event.actor,
  metadata: metadataOf(event),
});

export const begunBy = ({ mode, actor, metadata }: Origin): Pick<FinishedSpan, 'mode' | 'actor' | 'metadata'> => ({
  mode,
  actor,
  metadata,
});

/** Event types that show the agent at work: they open a turn, a subagent or an ended session. */
export function opensWork(event: Event): boolean {
  switch (event.event_type) {
    case 'Prompt.Submitted':
    case 'Agent.Plan.Start':
    case 'Agent.Response':
    case 'Model.Requested':
    case 'Model.Failed':
    case 'Action.Before':
    case 'Action.After':
      return true;
    case 'Model.Responded':
      // A sum of the whole session comes after its work.
      return factsOf(event)?.sum !== 'session';
    default:
      return false;
  }
}

/** Returns the source of an event's time; undefined if it is the time of arrival. */
export const clockOf = ({ facts }: At): TimeSource | undefined => (facts.time === 'arrival' ? undefined : facts.time);

/** The source of a duration. Ends from different clocks are no better than arrival times. */
export function clockFor(state: FoldState, at: At, started: TimeSource | undefined, endMs: number): TimeSource {
  const ended = endMs === state.lastMs ? state.lastTime : endMs === at.atMs ? clockOf(at) : undefined;
  return started === ended ? (ended ?? 'arrival') : 'arrival';
}

export function ends(startMs: number, endMs: number): { startMs: number; endMs: number; clamped: boolean } {
  return endMs < startMs ? { startMs: endMs, endMs, clamped: true } : { startMs, endMs, clamped: false };
}

const levels: readonly (RiskLevel | undefined)[] = [undefined, 'low', 'medium', 'high', 'critical'];

export function higher(a: OpenRisk | undefined, b: Risk | undefined): OpenRisk | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const byScore = (b.score ?? -1) - (a.score ?? -1);
  const byLevel = levels.indexOf(b.level) - levels.indexOf(a.level);
  return (byScore || byLevel) > 0 ? b : a;
}

export function odd(out: Finished, kind: string): void {
  out.oddities[kind] = (out.oddities[kind] ?? 0) + 1;
}
