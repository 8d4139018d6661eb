/**
 * The model: Agent Hooks 0.1 as one discriminated union.
 *
 * A journal line is one of these, so the journal is itself a valid Agent Hooks stream. What the standard has no place
 * for stands under `metadata["dev.otel-hooks"]` (see Facts). Unknown event types and vendor types are kept, never
 * guessed.
 */
import { put } from '../lib/read.ts';

export const SPEC_VERSION = '0.1.0';

export const eventTypes = [
  'Session.Start',
  'Session.End',
  'Session.Abort',
  'Prompt.Submitted',
  'Agent.Plan.Start',
  'Agent.Plan.End',
  'Agent.Decision',
  'Agent.Response',
  'Model.Requested',
  'Model.Responded',
  'Model.Failed',
  'Action.Before',
  'Action.After',
  'Retry.Triggered',
  'Retry.Loop.Detected',
  'Retry.Loop.Aborted',
  'Context.UntilCompaction',
  'Context.Compaction',
  'Policy.Violation',
  'Policy.Blocked',
  'Policy.Override',
  'Agent.Notification',
  'Agent.Error',
] as const;

export type EventType = (typeof eventTypes)[number];

/** A JSON object whose content we do not vouch for. */
export type Fields = { readonly [key: string]: unknown };

export type StartReason = 'new' | 'resume' | 'restart';
export type EndReason = 'exit' | 'completed' | 'error' | 'manual_reset' | 'idle_timeout';
export type AgentMode = 'agent' | 'plan' | 'execute' | 'chat' | 'edit';
export type Outcome = 'allow' | 'deny' | 'ask';
export type RiskLevel = 'low' | 'medium' | 'high' | 'critical';

export interface Source {
  tool: string;
  version?: string | undefined;
}
export interface Actor {
  type: 'user' | 'ai_agent' | 'system';
  id?: string | undefined;
  name?: string | undefined;
}
export interface Risk {
  score?: number | undefined;
  level?: RiskLevel | undefined;
  factors?: string[] | undefined;
}
export interface Action {
  name?: string | undefined;
  input?: Fields | undefined;
  result?: ActionResult | undefined;
}
export interface ActionResult {
  success?: boolean | undefined;
  exit_code?: number | undefined;
  error_message?: string | undefined;
  output?: string | undefined;
}
export interface Decision {
  outcome: Outcome;
  reason?: string | undefined;
}
export interface ModelCall {
  model_id?: string | undefined;
  input_tokens?: number | undefined;
  output_tokens?: number | undefined;
  latency_ms?: number | undefined;
  retry_count?: number | undefined;
}
export interface Loop {
  iteration_count?: number | undefined;
  action_name?: string | undefined;
  tokens_consumed?: number | undefined;
  elapsed_ms?: number | undefined;
}
/** What the agent itself chose, in numbers and single words: the standard leaves open how that is told. */
export interface Choice {
  decision_type?: string | undefined;
  selected?: string | undefined;
  options_count?: number | undefined;
  confidence?: number | undefined;
  summary_length?: number | undefined;
}
export interface Policy {
  policy_name?: string | undefined;
  rule?: string | undefined;
  reason?: string | undefined;
  override_by?: string | undefined;
}

export type Body =
  | { event_type: 'Session.Start'; data: { start_reason?: StartReason | undefined } }
  | {
      event_type: 'Session.End' | 'Session.Abort';
      data: {
        end_reason?: EndReason | undefined;
        usage?:
          | { total_tokens?: number | undefined; total_actions?: number | undefined; duration_ms?: number | undefined }
          | undefined;
      };
    }
  | {
      event_type: 'Prompt.Submitted';
      data: {
        prompt?: string | undefined;
        prompt_hash?: string | undefined;
        prompt_length?: number | undefined;
        is_followup?: boolean | undefined;
        decision?: Decision | undefined;
      };
    }
  | {
      event_type: 'Agent.Plan.Start' | 'Agent.Plan.End';
      data: { plan_type?: 'plan' | 'explore' | 'default' | undefined; step_count?: number | undefined };
    }
  | {
      event_type: 'Agent.Decision';
      data: { decision?: Decision | undefined; action_name?: string | undefined } & Choice;
    }
  | {
      event_type: 'Agent.Response';
      data: {
        response?: string | undefined;
        response_length?: number | undefined;
        response_hash?: string | undefined;
        final?: boolean | undefined;
      };
    }
  | { event_type: 'Model.Requested' | 'Model.Responded'; data: ModelCall }
  | {
      event_type: 'Model.Failed';
      data: ModelCall & { error_type?: string | undefined; error_message?: string | undefined };
    }
  | {
      event_type: 'Action.Before' | 'Action.After';
      data: { action: Action; decision?: Decision | undefined };
    }
  | {
      event_type: 'Retry.Triggered';
      data: { attempt?: number | undefined; action_name?: string | undefined; reason?: string | undefined };
    }
  | { event_type: 'Retry.Loop.Detected' | 'Retry.Loop.Aborted'; data: Loop }
  | {
      event_type: 'Context.UntilCompaction';
      data: {
        tokens_used?: number | undefined;
        tokens_limit?: number | undefined;
        percentage_used?: number | undefined;
        tokens_remaining?: number | undefined;
      };
    }
  | {
      event_type: 'Context.Compaction';
      data: {
        trigger?: 'auto' | 'manual' | 'system' | undefined;
        tokens_before?: number | undefined;
        tokens_after?: number | undefined;
        tokens_removed?: number | undefined;
        strategy?: string | undefined;
      };
    }
  | {
      event_type: 'Policy.Violation' | 'Policy.Blocked' | 'Policy.Override';
      data: Policy & { action?: Action | undefined };
    }
  | {
      event_type: 'Agent.Notification';
      data: { type?: string | undefined; message?: string | undefined; details?: Fields | undefined };
    }
  | {
      event_type: 'Agent.Error';
      data: { error_type?: string | undefined; error_message?: string | undefined; origin_event?: string | undefined };
    }
  | { event_type: `vendor.${string}`; data: Fields };

/** Where a time comes from. A duration has both ends from one source. */
export type TimeSource = 'native' | 'transcript' | 'arrival';

/**
 * What we know beyond the standard, at `metadata["dev.otel-hooks"]`. Closed facts; content only where its class was
 * asked for. `v` is the version of this object; a reader that does not know it ignores the object.
 */
export interface Facts {
  v: 1;
  /** Position in the journal of the root session, from 1. */
  seq: number;
  time: TimeSource;
  /** The agent's own name of the event. */
  native?: string | undefined;
  /**
   * The session that this one follows or was forked from: its id, and which part of it ran last, as far as they are
   * known.
   */
  previous?: { session?: string | undefined; segment?: number | undefined } | undefined;
  /** The root session's id, where session_id is a subagent's. */
  root?: string | undefined;
  /** The agent's own id of the prompt or turn that this belongs to. */
  turn?: string | undefined;
  /** The agent's own id of the action. */
  call?: string | undefined;
  /** Ids of actions that are known to be over, without word of how they ended. */
  over?: string[] | undefined;
  /** The name the agent gives to what it executes (Bash, Edit). */
  tool?: string | undefined;
  mcp?: { server: string } | undefined;
  /** Kind of subagent (Explore, code-reviewer): on everything that a subagent does. */
  agent?: string | undefined;
  /** Subagent that this action launched, or will launch: its id when known, its kind. */
  launches?: { id?: string | undefined; agent?: string | undefined } | undefined;
  /** The call that launched this subagent, where the subagent's own record names it. */
  launched_by?: string | undefined;
  /** Native duration of the action, without waiting for people. */
  duration_ms?: number | undefined;
  error_type?: string | undefined;
  exit_code?: number | undefined;
  executable?: string | undefined;
  /** The skill that an action loads: its name where arguments were asked for, else `custom`. */
  skill?: string | undefined;
  interrupted?: boolean | undefined;
  /** Who decided, and whether the agent said so or we concluded it. */
  decision?: { source: DecisionSource; basis: 'observed' | 'inferred' } | undefined;
  phase?: 'before' | 'after' | undefined;
  /** The file that an action is about, the line that a shell is given: only where they were asked for. */
  path?: string | undefined;
  command?: string | undefined;
  /** Where the agent works, likewise: a folder, or the address of what else it works in. */
  cwd?: string | undefined;
  context_uri?: string | undefined;
  /** Of a budget that is nearly or wholly used up. */
  budget?: BudgetFacts | undefined;
  /** Sizes and keyed hashes of content that was left out, by name of the field. */
  content?: { [field: string]: { length: number; hash?: string | undefined } } | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  /**
   * Parts of a response's tokens: `data.input_tokens` holds both cache parts, `data.output_tokens` the reasoning.
   * Unknown is absent.
   */
  usage?: Usage | undefined;
  /** What is stated of a whole session at its end, where nothing tells of its responses one by one. */
  totals?: (Usage & { input_tokens?: number | undefined; output_tokens?: number | undefined }) | undefined;
  /**
   * No single response: what all responses of a turn, or of a session's run, used together, where the agent tells no
   * more.
   */
  sum?: 'turn' | 'session' | undefined;
  /** Why the model stopped, in the provider's words (end_turn, tool_use). */
  finish?: string | undefined;
  /** The provider's id of a response, and of the request. */
  response?: string | undefined;
  request?: string | undefined;
  /** When the agent sent what a response answers, by its own record (Unix ms). */
  started_ms?: number | undefined;
  /** What the agent itself says a response cost. */
  cost_usd?: number | undefined;
  /** What it costs by a list of prices, and by which; without an amount, the list has no price for it. */
  cost?: Cost | undefined;
  permission_mode?: string | undefined;
  /** The record of Agent Trace that tells which lines came of this. */
  trace_record?: string | undefined;
  traceparent?: string | undefined;
  /** Raw payload fields of a vendor event that are known to be harmless. */
  fields?: string[] | undefined;
}

export interface Cost {
  usd?: number | undefined;
  prices: string;
}

export interface BudgetFacts {
  of: 'session' | 'turn';
  unit: 'tokens' | 'usd';
  state: 'warning' | 'exceeded';
  used: number;
  limit: number;
}

export interface Usage {
  cache_read_tokens?: number | undefined;
  /** All that was written to a cache, and of it what lives for an hour. */
  cache_write_tokens?: number | undefined;
  cache_write_1h_tokens?: number | undefined;
  reasoning_tokens?: number | undefined;
}

export type DecisionSource = 'config' | 'hook' | 'user' | 'classifier' | 'mode' | 'policy' | 'sandbox' | 'unknown';

export const FACTS = 'dev.otel-hooks';

/** A file was written, as OpenHook tells it. */
export const FILE_WRITE = 'vendor.openhook.file.write';

/** All is told of what `data.of` names, or nothing more of it is waited for. */
export const SETTLED = 'vendor.otel-hooks.Settled';

export interface Envelope {
  spec_version: string;
  event_id: string;
  timestamp: string;
  source: Source;
  session_id: string;
  parent_session_id?: string | undefined;
  user?: { id?: string | undefined; name?: string | undefined } | undefined;
  actor?: Actor | undefined;
  agent_mode?: AgentMode | undefined;
  risk?: Risk | undefined;
  metadata?: { [FACTS]?: Facts | undefined; [key: string]: unknown } | undefined;
}

export type Event = Envelope & Body;

/** The events of one type, or of several. Some members of the union carry more than one type. */
export type EventOf<T extends EventType, E = Event> = E extends { event_type: infer U }
  ? Extract<U, T> extends never
    ? never
    : E
  : never;

/** The data of one type of event. */
export type DataOf<T extends EventType> = Body extends infer B
  ? B extends { event_type: infer E; data: infer D }
    ? T extends E
      ? D
      : never
    : never
  : never;

/** Our facts of an event; events that others wrote have none. */
export function factsOf(event: Event): Facts | undefined {
  const facts = event.metadata?.[FACTS];
  return facts?.v === 1 ? facts : undefined;
}

/** What vendors added beside our facts. */
export function metadataOf({ metadata }: Pick<Envelope, 'metadata'>): Fields | undefined {
  let others: { [key: string]: unknown } | undefined;
  for (const name in metadata) {
    if (name === FACTS) continue;
    others ??= {};
    put(others, name, metadata[name]);
  }
  return others;
}

/** The model that a request or a response names, without who serves it: the standard writes `provider/model`. */
export const modelOf = ({ model_id }: ModelCall, { model }: Partial<Facts>): string | undefined =>
  model_id === undefined || (model !== undefined && model_id.endsWith(`/${model}`)) ? model : model_id;

/** The id of the session that an event's trace belongs to: the root's, also for a subagent's events. */
export function rootSessionOf(event: Event): string {
  return factsOf(event)?.root ?? event.parent_session_id ?? event.session_id;
}

export const isVendor = (event: Event): event is Event & { event_type: `vendor.${string}`; data: Fields } =>
  event.event_type.startsWith('vendor.');
