/**
 * Events of the model as envelopes of Base Coat: the way back of `base-coat.ts`. An envelope has no place for a subagent's own
 * session, so what a subagent does is told of its root's session under the subagent's name. Nothing of an action's input or
 * output has a place there either.
 *
 * What an envelope holds beside the event itself (the repository, how full the context is) was told by earlier events of its
 * session: `known` remembers it.
 */
import { type Event, factsOf, rootSessionOf } from '../../event/event.ts';
import type { BaseCoatEvent, Budget } from './envelope.ts';

/** Of open sessions and subagents, by their ids. */
export type Known = Map<string, Beside>;
type Beside = Pick<BaseCoatEvent, 'repository' | 'branch' | 'budget'>;

/** What never ends is forgotten when so many others began after it. */
const MOST_KNOWN = 1_000;

/** None for what Base Coat has no hook point for. */
export function toBaseCoat(event: Event, known: Known): BaseCoatEvent[] {
  const session = rootSessionOf(event);
  const isChild = session !== event.session_id;
  const beside = { ...known.get(event.session_id), ...learned(event) };
  const { repository, branch } = (isChild ? known.get(session) : undefined) ?? beside;
  const envelopes = pointsOf(event, isChild).map(({ hook, budget, ...of }) => ({
    hook,
    timestamp: event.timestamp,
    sessionId: session,
    agent: isChild ? factsOf(event)?.agent : event.source.tool,
    repository,
    branch,
    budget: budget ? { ...beside.budget, ...budget } : beside.budget,
    ...of,
  }));
  // The context holds less from now on: how much, what is told after it says, or nobody does.
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

/** What later envelopes say as well. */
function learned(event: Event): Beside {
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
      // What a subagent is told no user has submitted.
      return isChild ? [] : [{ hook: 'UserPromptSubmitted' }];
    case 'Action.Before': {
      const name = facts?.tool ?? event.data.action.name;
      const isBlocked = event.data.decision?.outcome === 'deny' && facts?.decision?.source === 'hook';
      const response = isBlocked ? { response: { action: 'block', reason: event.data.decision?.reason } as const } : {};
      return name === undefined ? [] : [{ hook: 'PreToolUse', tool: { name }, ...response }];
    }
    case 'Action.After': {
      const { action, decision } = event.data;
      const name = facts?.tool ?? action.name;
      // What was denied never ran: neither hook fires.
      if (name === undefined || decision?.outcome === 'deny') return [];
      const tool = { name, success: action.result?.success, durationMs: facts?.duration_ms };
      const after: Point = { hook: 'PostToolUse', tool };
      return tool.success === false ? [after, { hook: 'OnError', tool }] : [after];
    }
    case 'Context.Compaction': {
      const { tokens_before, tokens_after } = event.data;
      const before: Point = { hook: 'PreCompact', budget: budgetOf(tokens_before) };
      const after: Point = { hook: 'PostCompact', budget: budgetOf(tokens_after) };
      if (facts?.phase !== undefined) return [facts.phase === 'before' ? before : after];
      return tokens_after === undefined ? [before] : [before, after];
    }
    case 'Policy.Violation': {
      if (event.data.policy_name !== 'budget') return [];
      const { unit, state, used, limit } = facts?.budget ?? {};
      const isOther = unit === 'usd' || state === 'warning';
      return isOther ? [] : [{ hook: 'OnBudgetExceeded', budget: budgetOf(used, limit) }];
    }
    case 'Agent.Error':
      return [{ hook: 'OnError' }];
    default:
      return [];
  }
}
