/**
 * Converts events of the model to envelopes of Base Coat; `base-coat.ts` is the other direction. An envelope has no
 * field for a subagent's session, so the envelope about a subagent carries the root session and the subagent's name.
 * Base Coat has no fields for the input or output of an action either.
 *
 * Envelopes also carry facts of earlier events of the session, such as the repository and the use of the context.
 * `known` holds them.
 */
import { type DataOf, type Event, type Facts, factsOf, rootSessionOf } from '../../event/event.ts';
import type { BaseCoatEvent, Budget } from './envelope.ts';

/** The facts of open sessions and subagents, by id. */
export type Known = Map<string, Beside>;
type Beside = Pick<BaseCoatEvent, 'repository' | 'branch' | 'budget'>;

/** A session without an end is removed after this number of later sessions. */
const MOST_KNOWN = 1_000;

/** Returns no envelopes for events without a hook point in Base Coat. */
export function toBaseCoat(event: Event, known: Known): BaseCoatEvent[] {
  const session = rootSessionOf(event);
  const isChild = session !== event.session_id;
  const beside = { ...known.get(event.session_id), ...factsFor(event) };
  const { repository, branch } = (isChild ? known.get(session) : undefined) ?? beside;
  const envelopes = pointsOf(event, isChild).map(({ hook, budget, ...of }) => ({
    hook,
    timestamp: event.timestamp,
    sessionId: session,
    agent: factsOf(event)?.agent ?? (isChild ? undefined : event.source.tool),
    repository,
    branch,
    budget: budget ? { ...beside.budget, ...budget } : beside.budget,
    ...of,
  }));
  // A compaction makes the earlier use of the context obsolete; its new use may be unknown.
  if (event.event_type === 'Context.Compaction') {
    const { effectiveLimit } = beside.budget ?? {};
    const after = envelopes.find(({ hook }) => hook === 'PostCompact')?.budget;
    beside.budget = after ?? (effectiveLimit === undefined ? undefined : { effectiveLimit });
  }
  known.delete(event.session_id);
  if (event.event_type !== 'Session.End' && event.event_type !== 'Session.Abort') known.set(event.session_id, beside);
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size > MOST_KNOWN) known.delete(oldest);
  return envelopes;
}

/** Returns the facts that later envelopes repeat. */
function factsFor(event: Event): Beside {
  const stated = factsOf(event)?.stated_budget;
  if (stated !== undefined) return { budget: budgetOf(stated.used, stated.limit) };
  if (event.event_type === 'Context.UntilCompaction') {
    const { tokens_used, tokens_limit } = event.data;
    return { budget: budgetOf(tokens_used, tokens_limit) };
  }
  if (event.event_type !== 'vendor.otel-hooks.Repository') return {};
  const { owner, name, branch } = event.data;
  return {
    ...(typeof owner === 'string' && typeof name === 'string' ? { repository: `${owner}/${name}` } : {}),
    ...(typeof branch === 'string' ? { branch } : {}),
  };
}

function budgetOf(usedTokens: number | undefined, effectiveLimit?: number): Budget | undefined {
  if (usedTokens === undefined) return undefined;
  return effectiveLimit === undefined ? { usedTokens } : { usedTokens, effectiveLimit };
}

type Point = Pick<BaseCoatEvent, 'hook' | 'tool' | 'budget' | 'response'>;

function pointsOf(event: Event, isChild: boolean): Point[] {
  const facts = factsOf(event);
  switch (event.event_type) {
    case 'Session.Start':
      return [{ hook: isChild ? 'SubagentStart' : 'SessionStart' }];
    case 'Session.End':
    case 'Session.Abort':
      return [{ hook: isChild ? 'SubagentStop' : 'SessionEnd' }];
    case 'Prompt.Submitted':
      // The prompt of a subagent comes from its parent agent and not from the user.
      return isChild ? [] : [{ hook: 'UserPromptSubmitted' }];
    case 'Action.Before':
      return beforeAction(event.data, facts);
    case 'Action.After':
      return afterAction(event.data, facts);
    case 'Context.Compaction':
      return compaction(event.data, facts);
    case 'Policy.Violation':
      return event.data.policy_name === 'budget' ? exceededBudget(facts) : [];
    case 'Agent.Error':
      return [{ hook: 'OnError' }];
    default:
      return [];
  }
}

function beforeAction({ action, decision }: DataOf<'Action.Before'>, facts: Facts | undefined): Point[] {
  const name = facts?.tool ?? action.name;
  const isBlocked = decision?.outcome === 'deny' && facts?.decision?.source === 'hook';
  // The reason that the hook gave is content, which the journal may leave out. A block without a reason is incomplete.
  const reason = decision?.reason ?? 'a hook denied the action';
  const response = isBlocked ? { response: { action: 'block', reason } as const } : {};
  return name === undefined ? [] : [{ hook: 'PreToolUse', tool: { name }, ...response }];
}

function afterAction({ action, decision }: DataOf<'Action.After'>, facts: Facts | undefined): Point[] {
  const name = facts?.tool ?? action.name;
  // A denied action never ran, so neither of its hooks fires.
  if (name === undefined || decision?.outcome === 'deny') return [];
  const tool = { name, success: action.result?.success, durationMs: facts?.duration_ms };
  const after: Point = { hook: 'PostToolUse', tool };
  return tool.success === false ? [after, { hook: 'OnError', tool }] : [after];
}

function compaction(data: DataOf<'Context.Compaction'>, facts: Facts | undefined): Point[] {
  const before: Point = { hook: 'PreCompact', budget: budgetOf(data.tokens_before) };
  const after: Point = { hook: 'PostCompact', budget: budgetOf(data.tokens_after) };
  if (facts?.phase !== undefined) return [facts.phase === 'before' ? before : after];
  return data.tokens_after === undefined ? [before] : [before, after];
}

/** Base Coat knows only budgets in tokens that are used up. */
function exceededBudget(facts: Facts | undefined): Point[] {
  const { unit, state, used, limit } = facts?.budget ?? {};
  return unit === 'usd' || state === 'warning' ? [] : [{ hook: 'OnBudgetExceeded', budget: budgetOf(used, limit) }];
}
