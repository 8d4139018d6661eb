/** What becomes of an answer in an agent that cannot honour all of it. */
import type { Answer, Dialect, Effect, Occasion, Verdict } from '../agents/contract/dialect.ts';
import { type Flags, strategyOf } from './flags.ts';

export interface Judged {
  readonly verdict: Verdict;
  /** Texts for a person: effects that are lost, and faults. */
  readonly warnings: readonly string[];
}

export const effectsAt = (
  { takes }: Dialect,
  { native, event }: Pick<Occasion, 'native' | 'event'>,
): readonly Effect[] => takes[native] ?? takes[event] ?? [];

/** Combines the answers about the calls of one payload. The strictest decision counts. */
export function combined(answers: readonly Answer[]): Answer {
  const strictest = (['deny', 'ask', 'allow'] as const).find(each => answers.some(({ decision }) => decision === each));
  // One permission among several calls permits only its own call.
  const decision = strictest === 'allow' && answers.some(each => each.decision !== 'allow') ? undefined : strictest;
  const joined = (field: 'reason' | 'context' | 'system_message'): string | undefined => {
    const relevant = field === 'reason' ? answers.filter(each => each.decision === decision) : answers;
    const texts = relevant.flatMap(each => (each[field] === undefined ? [] : [each[field]]));
    return texts.length === 0 ? undefined : [...new Set(texts)].join('\n');
  };
  return {
    decision,
    reason: joined('reason'),
    context: joined('context'),
    system_message: joined('system_message'),
    ...(answers.some(each => each.continue === false) ? { continue: false } : {}),
    ...(answers.some(each => each.suppress_output === true) ? { suppress_output: true } : {}),
  };
}

interface Case {
  readonly agent: string;
  readonly native: string;
  readonly flags: Flags;
  readonly takes: readonly Effect[];
  readonly verdict: { -readonly [K in keyof Verdict]: Verdict[K] };
  readonly warnings: string[];
}

/** Fits an answer to the effects that the agent honours. */
export function judged(
  answer: Answer,
  updatedInput: Verdict['updatedInput'],
  dialect: Dialect,
  occasion: Occasion,
  flags: Flags,
): Judged {
  const { updated_input: input, ...rest } = answer;
  const isRewritten = input !== undefined;
  const verdict: Case['verdict'] = { ...rest, ...(updatedInput === undefined ? {} : { updatedInput }) };
  const takes = effectsAt(dialect, occasion);
  const about: Case = { agent: dialect.title, native: occasion.native, flags, takes, verdict, warnings: [] };
  decide(about);
  if (isRewritten) rewrite(about);
  goOn(about);
  say(about);
  return { verdict, warnings: about.warnings };
}

function deny({ takes, verdict, warnings, agent, native }: Case, reason: string): void {
  if (!takes.includes('deny')) {
    delete verdict.decision;
    warnings.push(`${agent} cannot stop ${native}, which goes on: ${reason}`);
    return;
  }
  if (verdict.decision === 'deny') return;
  verdict.decision = 'deny';
  verdict.reason = reason;
}

function decide(about: Case): void {
  const { verdict, takes, agent } = about;
  const { decision, reason } = verdict;
  if (decision === 'deny') {
    verdict.reason = reason ?? 'A hook denied this.';
    deny(about, verdict.reason);
  }
  if (decision === 'ask' && !takes.includes('ask'))
    deny(
      about,
      `a person has to agree, and a hook of ${agent} cannot ask here${reason === undefined ? '' : `: ${reason}`}`,
    );
  // Without the permission, the agent's own rules decide.
  if (decision === 'allow' && !takes.includes('allow')) delete verdict.decision;
}

function rewrite(about: Case): void {
  const { verdict, takes, warnings, agent, native, flags } = about;
  if (takes.includes('updated_input') && verdict.updatedInput !== undefined) return;
  delete verdict.updatedInput;
  if (verdict.decision === 'deny') return;
  const lost = `a hook changed the input, and ${agent} does not take another input at ${native}`;
  const strategy = strategyOf('updated_input', flags);
  if (strategy === 'block') deny(about, lost);
  else warnings.push(`${lost}: the action goes on unchanged`);
}

function goOn(about: Case): void {
  const { verdict, takes, warnings, agent, flags } = about;
  if (verdict.continue !== false || takes.includes('continue')) return;
  delete verdict.continue;
  if (verdict.decision === 'deny') return;
  const lost = `a hook ended the work, and ${agent} cannot end it here`;
  if (strategyOf('continue', flags) === 'exclude' || !takes.includes('deny')) warnings.push(lost);
  else deny(about, verdict.reason === undefined ? lost : `${lost}: ${verdict.reason}`);
}

/** Texts go to the model or to a person where the agent shows them. */
function say(about: Case): void {
  const { verdict, takes, agent } = about;
  if (verdict.system_message !== undefined && !takes.includes('system_message')) {
    if (takes.includes('context'))
      verdict.context = [verdict.context, verdict.system_message].filter(each => each !== undefined).join('\n');
    else lose(about, 'system_message', `${agent} shows no message of a hook here: ${verdict.system_message}`);
    delete verdict.system_message;
  }
  if (verdict.context !== undefined && !takes.includes('context')) {
    lose(about, 'context', `${agent} takes no context of a hook here: ${verdict.context}`);
    delete verdict.context;
  }
  if (verdict.suppress_output === true && !takes.includes('suppress_output')) {
    lose(about, 'suppress_output', `${agent} cannot hide the output of a tool`);
    delete verdict.suppress_output;
  }
}

function lose(about: Case, effect: Effect, what: string): void {
  const { warnings, flags, verdict } = about;
  if (strategyOf(effect, flags) === 'block' && verdict.decision !== 'deny') deny(about, what);
  else warnings.push(what);
}
