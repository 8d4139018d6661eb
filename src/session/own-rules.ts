/** Judges risk by the settings of each session: the default rules, with changed scores, and the user's own rules. */
import type { Config } from '../config/config.ts';
import { builtInWith, type Pattern, type RuleSet, riskOf, ruleSet } from '../enrich/risk/risk.ts';
import { type Rule, rules } from '../enrich/risk/rules.ts';
import type { JudgedAction } from '../enrich/risk/subjects.ts';
import { newWork } from '../enrich/risk/work.ts';
import type { Risk } from '../event/event.ts';
import type { Judge } from '../identify/enrichers.ts';
import { canonicalJson } from '../lib/hash.ts';
import { nearest } from '../lib/nearest.ts';
import type { Problem } from '../problems/problem.ts';
import { re2 } from './re2.ts';
import type { RiskSettings } from './session-state.ts';

export const judgeRisk: Judge = ({ pinned: { risk } }, looked, odd) => {
  if (risk?.enabled === false) return undefined;
  const sets = risk === undefined ? shipped : setsOf(risk);
  const key = likeness(looked);
  let known = judged.get(sets);
  if (known === undefined) {
    known = new Map();
    judged.set(sets, known);
  }
  if (key !== undefined && known.has(key)) return known.get(key);
  const work = newWork();
  const found = riskOf(looked, risk === undefined ? undefined : sets, work);
  if (work.isCut) odd?.(RISK_CUT);
  // A cut judgement is counted at each use.
  if (key === undefined || work.isCut) return found;
  if (known.size >= MOST_JUDGED) known.clear();
  known.set(key, found);
  return found;
};

/** The limit of work for one action was reached before all of the action was judged. */
const RISK_CUT = 'risk_cut';

/**
 * Judgements of recent actions. Each action is judged before and after, and the same actions repeat. A cache by value.
 */
const judged = new WeakMap<readonly RuleSet[], Map<string, Risk | undefined>>();
const MOST_JUDGED = 500;
/** The default rules, compiled at first use. */
const shipped: readonly RuleSet[] = [];

/**
 * The same text for the same action. The sorted JSON of the input is computed anyway, because the input is also compared
 * and hashed.
 */
function likeness({ action: { name, input }, cwd, mode, server }: JudgedAction): string | undefined {
  if (!isBrief(input)) return undefined;
  const key = `${JSON.stringify([name, cwd, mode, server])}${canonicalJson(input)}`;
  return key.length > 8_000 ? undefined : key;
}

/** Returns true if the action is so small that a lookup costs less than a judgement. Stops as soon as it is larger. */
function isBrief(input: unknown): boolean {
  if (typeof input !== 'object' || input === null) return false;
  const waiting: unknown[] = [input];
  let characters = 0;
  for (let at = 0; at < waiting.length; at += 1) {
    const value = waiting[at];
    if (typeof value === 'string') characters += value.length;
    else if (typeof value === 'object' && value !== null)
      for (const key in value) {
        characters += key.length;
        if (waiting.push(value[key as keyof typeof value]) > MOST_PARTS) return false;
      }
    if (characters > 4_000) return false;
  }
  return true;
}

/** Fewer parts than the levels that the sorted JSON tells apart, so that different inputs have different texts. */
const MOST_PARTS = 60;

/**
 * Compiled settings. They come with the state of each session in every round, and compiling is slow. A cache by value.
 */
const ready = new Map<string, readonly RuleSet[]>();
const MOST_READY = 16;

function setsOf(settings: RiskSettings): readonly RuleSet[] {
  const key = JSON.stringify(settings);
  const known = ready.get(key);
  if (known !== undefined) return known;
  const { rules: own, overrides } = settings;
  const usable = own.flatMap(rule => ('set' in prepared(rule) ? [rule] : []));
  const sets = [builtInWith(overrides), ...(usable.length > 0 ? [ruleSet(usable, search, true)] : [])];
  if (ready.size >= MOST_READY) ready.clear();
  ready.set(key, sets);
  return sets;
}

/** Undefined when nothing is set. An invalid rule is left out, with a problem. */
export function riskSettings({ values }: Pick<Config, 'values'>): {
  settings: RiskSettings | undefined;
  problems: Problem[];
} {
  const enabled = values['risk.enabled'] ?? true;
  const own = values['risk.rules'] ?? [];
  const overrides = values['risk.overrides'] ?? {};
  const problems: Problem[] = [];
  if (enabled && own.length === 0 && Object.keys(overrides).length === 0) return { settings: undefined, problems };
  const ids = rules.map(rule => rule.id);
  for (const id of Object.keys(overrides)) {
    if (ids.includes(id)) continue;
    const like = nearest(id, ids);
    const why = `there is no such rule${like === undefined ? '' : `; ${like} is one`}`;
    problems.push({
      code: 'config-value',
      key: 'risk.overrides',
      value: id,
      why,
      used: 'the others',
    });
  }
  const kept: Rule[] = [];
  for (const rule of own) {
    const made = prepared(rule);
    if ('set' in made) kept.push(rule);
    else
      problems.push({
        code: 'config-value',
        key: 'risk.rules',
        value: rule.id,
        why: made.why,
        used: 'the others',
      });
  }
  return { settings: { enabled, rules: kept, overrides }, problems };
}

function prepared(rule: Rule): { set: RuleSet } | { why: string } {
  try {
    return { set: ruleSet([rule], search, true) };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

function search(pattern: string, flags: string): Pattern {
  const compiled = re2(pattern, flags);
  return text => compiled.matcher(text).find();
}
