/**
 * The decision about a call, as the row of its result states it. Facts: 2.1.327 writes `permissionDecision` beside
 * `toolDenialKind`; older versions write the kind alone, or only a sentence. Checked 2026-11-19.
 */
import type { DecisionFacts, DecisionScope, DecisionSource, Fields, Outcome } from '../../event/event.ts';
import { fieldsOf, own, text, word } from '../../lib/read.ts';
import { isRecent } from './place.ts';

export interface StatedDecision {
  outcome: Outcome;
  origin: DecisionFacts;
}

/** Undefined if the row states no decision. */
export function decisionIn(row: Fields): StatedDecision | undefined {
  const stated = fieldsOf(row.permissionDecision);
  const kind = word(row.toolDenialKind) ?? (row.toolUseResult === REJECTED ? 'user-rejected' : undefined);
  if (stated.decision === 'accept') return { outcome: 'allow', origin: originOf(stated, undefined) };
  if (stated.decision === 'reject') return { outcome: 'deny', origin: originOf(stated, kind) };
  if (kind === undefined || isInterruption(row)) return undefined;
  return { outcome: 'deny', origin: { source: own(kinds, kind) ?? 'unknown', basis: 'observed' } };
}

/**
 * Returns true for an interrupted call. Its row has the kind `user-rejected` and the text of a refusal, but no
 * decision. The row of a refused call states that it was denied before it ran.
 */
export function isInterruption(row: Fields): boolean {
  if (row.permissionDecision !== undefined) return false;
  if (row.toolDenialKind === 'user-rejected' && row.toolDenialBeforeRun !== true && isRecent(word(row.version)))
    return true;
  return /^(?:Error: )?\[?(?:Tool call interrupted|Request interrupted by user)/.test(resultTextOf(row));
}

const REJECTED = 'User rejected tool use';

const kinds: Readonly<Record<string, DecisionSource>> = {
  'user-rejected': 'user',
  'automode-unavailable': 'classifier',
  'permission-rule': 'config',
};

function originOf(stated: Fields, kind: string | undefined): DecisionFacts {
  const reasonType = text(stated.reasonType);
  const source = text(stated.source) ?? '';
  const isByPerson = source.startsWith('user');
  // A headless run denies calls that no rule allows. The row states `user-rejected`, although no person was asked.
  const isUnasked = kind === 'user-rejected' && !isByPerson && reasonType === undefined;
  const reason = isUnasked ? 'mode' : isByPerson ? 'answer' : closed(reasons, reasonType);
  return {
    source: isUnasked
      ? 'mode'
      : isByPerson
        ? 'user'
        : ((reason && own(deciders, reason)) ?? own(sources, source) ?? 'unknown'),
    basis: 'observed',
    reason,
    scope: closed(scopes, text(stated.ruleSource)),
    grant: closed(grants, text(stated.grantScope)),
  };
}

const closed = <T>(values: Readonly<Record<string, T>>, stated: string | undefined): T | 'other' | undefined =>
  stated === undefined ? undefined : (own(values, stated) ?? 'other');

const reasons = {
  rule: 'rule',
  mode: 'mode',
  hook: 'hook',
  classifier: 'classifier',
  subcommandResults: 'subcommands',
  sandboxOverride: 'sandbox',
} as const satisfies Readonly<Record<string, DecisionFacts['reason']>>;

/** The parts of a command line are judged by rules. */
const deciders: Readonly<Record<string, DecisionSource>> = {
  rule: 'config',
  subcommands: 'config',
  mode: 'mode',
  hook: 'hook',
  classifier: 'classifier',
  sandbox: 'sandbox',
};

const sources: Readonly<Record<string, DecisionSource>> = { config: 'config', hook: 'hook', classifier: 'classifier' };

const scopes: Readonly<Record<string, DecisionScope>> = {
  userSettings: 'user',
  projectSettings: 'project',
  localSettings: 'local',
  policySettings: 'managed',
  flagSettings: 'flags',
  cliArg: 'flags',
  session: 'session',
};

const grants = {
  once: 'once',
  session: 'session',
  always: 'always',
} as const satisfies Readonly<Record<string, DecisionFacts['grant']>>;

function resultTextOf(row: Fields): string {
  const { content } = fieldsOf(row.message);
  const [block] = Array.isArray(content) ? content.map(fieldsOf) : [];
  const inner = block?.content;
  if (typeof inner === 'string') return inner;
  return text(fieldsOf(Array.isArray(inner) ? inner[0] : undefined).text) ?? text(row.toolUseResult) ?? '';
}
