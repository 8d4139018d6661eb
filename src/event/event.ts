/**
 * The model: Agent Hooks 0.1 as one discriminated union.
 *
 * A journal line is one event, so the journal is itself a valid Agent Hooks stream. Facts for which the standard has no
 * field are under `metadata["dev.otel-hooks"]` (see Facts). Unknown event types and vendor types are kept unchanged.
 */
import { put } from '../lib/read.ts';

/**
 * The version of Agent Hooks that the events have.
 *
 * @example
 * ```ts
 * const head = { spec_version: SPEC_VERSION };
 * ```
 */
export const SPEC_VERSION = '0.1.0';

/**
 * All types of events that Agent Hooks 0.1 defines.
 *
 * @example
 * ```ts
 * const isKnown = (type: string): boolean => (eventTypes as readonly string[]).includes(type);
 * ```
 */
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

/**
 * The types of events that Agent Hooks 0.1 defines.
 *
 * @example
 * ```ts
 * const type: EventType = 'Action.Before';
 * ```
 */
export type EventType = (typeof eventTypes)[number];

/** A JSON object of unknown content. */
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
/** A choice of the agent, in numbers and single words. The standard leaves these fields open. */
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

/**
 * The part of an event that depends on its type.
 *
 * @example
 * ```ts
 * const body: Body = { event_type: 'Session.End', data: { end_reason: 'exit' } };
 * ```
 */
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

/** The source of a time. A duration is computed only if both ends have the same source. */
export type TimeSource = 'native' | 'transcript' | 'arrival';

/**
 * Facts beyond the standard, at `metadata["dev.otel-hooks"]`. The set of fields is closed; content is included only if
 * the configuration asks for its class. `v` is the version of this object; a reader that does not know the version
 * ignores the object.
 *
 * @example
 * ```ts
 * const positionOf = ({ seq }: Facts): number => seq;
 * ```
 */
export interface Facts {
  v: 1;
  /** Position in the journal of the root session, from 1. */
  seq: number;
  time: TimeSource;
  /** The native name of the event. */
  native?: string | undefined;
  /** The session that this session continues or was forked from: its id, and its last segment, if they are known. */
  previous?: { session?: string | undefined; segment?: number | undefined } | undefined;
  /** The id of the root session, if `session_id` is a subagent. */
  root?: string | undefined;
  /** The native id of the prompt or turn that the event belongs to. */
  turn?: string | undefined;
  /** The native id of the action. */
  call?: string | undefined;
  /** Ids of actions that have ended with an unknown outcome. */
  over?: string[] | undefined;
  /** The native name of the action (Bash, Edit). */
  tool?: string | undefined;
  mcp?: { server: string } | undefined;
  /**
   * The kind of the subagent (Explore, code-reviewer), on all events of a subagent. On other events: the name of the agent
   * definition that is at work, if the sender states one.
   */
  agent?: string | undefined;
  /** The subagent that this action launches: its id, if known, and its kind. */
  launches?: { id?: string | undefined; agent?: string | undefined } | undefined;
  /** How deep this subagent is nested, from 1, if its sender reports no launching calls. */
  depth?: number | undefined;
  /** The call that launched this subagent, if the record of the subagent names it. */
  launched_by?: string | undefined;
  /** The native duration of the action, without the time in which it waited for people. */
  duration_ms?: number | undefined;
  error_type?: string | undefined;
  exit_code?: number | undefined;
  executable?: string | undefined;
  /** The skill that an action loads: its name if the configuration asks for arguments, otherwise `custom`. */
  skill?: string | undefined;
  /** The arguments of the action that are not content. */
  options?: OptionFacts | undefined;
  interrupted?: boolean | undefined;
  decision?: DecisionFacts | undefined;
  phase?: 'before' | 'after' | undefined;
  /** The file of an action and the command line of a shell, only if the configuration asks for them. */
  path?: string | undefined;
  command?: string | undefined;
  /** The files that this action writes, one entry per file. */
  edits?: Edit[] | undefined;
  /** The folder in which the agent works, or the URI of another place, only if the configuration asks for them. */
  cwd?: string | undefined;
  context_uri?: string | undefined;
  /** The budget that is nearly or completely used up. */
  budget?: BudgetFacts | undefined;
  /** The use of the budget that the sender states with an event of another type. */
  stated_budget?: { used: number; limit: number } | undefined;
  /** The shares of the context window, in percent, that the use has just reached. */
  crossed?: number[] | undefined;
  /** What the running session has cost so far, as the agent states it. No counter takes it. */
  session_cost_usd?: number | undefined;
  /** The limits of the user's plan, as the agent states them. */
  rate_limits?: RateLimit[] | undefined;
  /** Sizes and keyed hashes of content that was left out, by field name. */
  content?: { [field: string]: { length: number; hash?: string | undefined } } | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  /**
   * Parts of the tokens of a response: `data.input_tokens` includes both cache parts, `data.output_tokens` includes the
   * reasoning. Unknown parts are undefined.
   */
  usage?: Usage | undefined;
  /** Totals of a whole session, from its end, for agents that do not report single responses. */
  totals?: (Usage & { input_tokens?: number | undefined; output_tokens?: number | undefined }) | undefined;
  /**
   * The event is the sum of all responses of a turn or of a run of the session, because the agent does not report
   * single responses.
   */
  sum?: 'turn' | 'session' | undefined;
  /** The reason why the model stopped, in the words of the provider (end_turn, tool_use). */
  finish?: string | undefined;
  /** The sender reports each error with an event of its own. */
  is_error?: true | undefined;
  /** The failure ends one attempt. The agent may try again, so it does not end the turn. */
  is_attempt?: true | undefined;
  /** The sender has no event for the end of a turn, so the outcome of this turn stays unknown. */
  no_turn_end?: true | undefined;
  /** The ids that the provider gave to the response and to the request. */
  response?: string | undefined;
  request?: string | undefined;
  /** The time of the request, from the record of the agent (Unix ms). */
  started_ms?: number | undefined;
  /** The cost of a response that the agent reports. */
  cost_usd?: number | undefined;
  /** The cost by a price list. Without `usd`, the list has no price for the model. */
  cost?: Cost | undefined;
  permission_mode?: string | undefined;
  /** The id of the Agent Trace record that names the lines which this event wrote. */
  trace_record?: string | undefined;
  traceparent?: string | undefined;
  /** Names of payload fields of a vendor event that are known to be harmless. */
  fields?: string[] | undefined;
}

/** The spans of time for which plans limit the use. `other`: a span that is not among them. */
export const limitWindows = [
  'five_hour',
  'seven_day',
  'seven_day_opus',
  'seven_day_sonnet',
  'day',
  'month',
  'other',
] as const;
export type LimitWindow = (typeof limitWindows)[number];

/** The use of one limit of the user's plan. */
export interface RateLimit {
  window: LimitWindow;
  /** The used share, from 0. Above 1, the limit is exceeded. */
  used: number;
  /** The time at which the use begins anew (Unix seconds). */
  resets_at?: number | undefined;
}

/** Arguments of an action that are numbers, truth values, or words of closed sets. */
export interface OptionFacts {
  timeout_ms?: number | undefined;
  background?: boolean | undefined;
  offset?: number | undefined;
  limit?: number | undefined;
  output_mode?: string | undefined;
  case_insensitive?: boolean | undefined;
  multiline?: boolean | undefined;
  replace_all?: boolean | undefined;
  edit_mode?: string | undefined;
  lsp_operation?: string | undefined;
  /** The model that a call asks for its subagent. */
  agent_model?: string | undefined;
}

/** The change of one file, as the agent states it. */
export interface EditFacts {
  operation?: 'create' | 'update' | 'delete' | undefined;
  /** The written lines, from 1 and inclusive, one entry per contiguous part of the agent's own patch. */
  lines?: (readonly [first: number, last: number])[] | undefined;
}
export interface Edit extends EditFacts {
  /** The keyed hash of the path relative to the folder in which the session began. */
  hash: string;
  /** The path relative to that folder, only if the configuration asks for paths. */
  path?: string | undefined;
}

export interface Cost {
  usd?: number | undefined;
  /** The most that the tokens can have cost. It is set where the tokens that came from a cache are unknown. */
  upper_usd?: number | undefined;
  prices: string;
}

export interface BudgetFacts {
  /** `envelope`: the sender states use and limit in the envelope of its events. */
  of: 'session' | 'turn' | 'envelope';
  unit: 'tokens' | 'usd';
  state: 'warning' | 'exceeded';
  used: number;
  limit: number;
}

export interface Usage {
  cache_read_tokens?: number | undefined;
  /** All tokens that were written to a cache, and the part of them that is cached for an hour. */
  cache_write_tokens?: number | undefined;
  cache_write_1h_tokens?: number | undefined;
  reasoning_tokens?: number | undefined;
}

/** The origin of a decision. Every field has a closed set of values, so metrics may carry all of them. */
export interface DecisionFacts {
  source: DecisionSource;
  /** `observed`: the agent reported it. `inferred`: otel-hooks concluded it. */
  basis: 'observed' | 'inferred';
  /** The kind of reason that the agent states. */
  reason?: DecisionReason | undefined;
  /** The settings that hold the rule. */
  scope?: DecisionScope | undefined;
  /** How long the permission holds. */
  grant?: DecisionGrant | undefined;
}
export type DecisionReason = 'rule' | 'mode' | 'hook' | 'classifier' | 'subcommands' | 'sandbox' | 'answer' | 'other';
export type DecisionScope = 'user' | 'project' | 'local' | 'managed' | 'flags' | 'session' | 'other';
export type DecisionGrant = 'once' | 'session' | 'always' | 'other';
export type DecisionSource = 'config' | 'hook' | 'user' | 'classifier' | 'mode' | 'policy' | 'sandbox' | 'unknown';

export const FACTS = 'dev.otel-hooks';

/** The write of a file that OpenHook reports. */
export const FILE_WRITE = 'vendor.openhook.file.write';

/**
 * What all runs of the program have used so far, for one model: `facts.totals` and `facts.cost_usd`. It says nothing of
 * single responses. With `facts.previous` the numbers include those of another session.
 */
export const TOTALS = 'vendor.otel-hooks.Totals';

/** The transcript of `data.of` is read to its end, or otel-hooks no longer waits for it. */
export const SETTLED = 'vendor.otel-hooks.Settled';

/**
 * The fields that every event has.
 *
 * @example
 * ```ts
 * const sessionOf = ({ session_id }: Envelope): string => session_id;
 * ```
 */
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

/**
 * An event of Agent Hooks 0.1: the model that otel-hooks makes of every hook.
 *
 * @example
 * ```ts
 * const isEnd = (event: Event): boolean => event.event_type === 'Session.End';
 * ```
 */
export type Event = Envelope & Body;

/** The events of these types. Some members of the union have more than one type. */
export type EventOf<T extends EventType, E = Event> = E extends { event_type: infer U }
  ? Extract<U, T> extends never
    ? never
    : E
  : never;

/**
 * The data of one type of event.
 *
 * @example
 * ```ts
 * const data: DataOf<'Session.Start'> = { start_reason: 'resume' };
 * ```
 */
export type DataOf<T extends EventType> = Body extends infer B
  ? B extends { event_type: infer E; data: infer D }
    ? T extends E
      ? D
      : never
    : never
  : never;

/**
 * Returns our facts of an event; undefined for events of other writers.
 *
 * @example
 * ```ts
 * const native = factsOf(event)?.native;
 * ```
 */
export function factsOf(event: Event): Facts | undefined {
  const facts = event.metadata?.[FACTS];
  return facts?.v === 1 ? facts : undefined;
}

/** Returns the metadata of vendors beside our facts. */
export function metadataOf({ metadata }: Pick<Envelope, 'metadata'>): Fields | undefined {
  let others: { [key: string]: unknown } | undefined;
  for (const name in metadata) {
    if (name === FACTS) continue;
    others ??= {};
    put(others, name, metadata[name]);
  }
  return others;
}

/** Returns the model of a request or response without its provider. The standard writes `provider/model`. */
export const modelOf = ({ model_id }: ModelCall, { model }: Partial<Facts>): string | undefined =>
  model_id === undefined || (model !== undefined && model_id.endsWith(`/${model}`)) ? model : model_id;

/**
 * Returns the id of the session whose trace holds the event: the root session, also for events of subagents.
 *
 * @example
 * ```ts
 * const session = rootSessionOf(event);
 * ```
 */
export function rootSessionOf(event: Event): string {
  return factsOf(event)?.root ?? event.parent_session_id ?? event.session_id;
}

export const isVendor = (event: Event): event is Event & { event_type: `vendor.${string}`; data: Fields } =>
  event.event_type.startsWith('vendor.');
