/**
 * Risk, by the settings of each session: the rules that ship with other scores where that is asked for, and people's own.
 */
import type { Config } from '../config/config.ts';
import { builtInWith, type Looked, type Pattern, type RuleSet, riskOf, ruleSet } from '../enrich/risk/risk.ts';
import { type Rule, rules } from '../enrich/risk/rules.ts';
import type { Risk } from '../event/event.ts';
import { nearest } from '../lib/nearest.ts';
import type { Problem } from '../problems/problem.ts';
import type { Judge } from '../receive/drain.ts';
import { re2 } from './re2.ts';
import type { RiskSettings } from './session-state.ts';

export const judgeRisk: Judge = ({ pinned: { risk } }, looked) => {
  if (risk?.enabled === false) return undefined;
  const sets = risk === undefined ? shipped : setsOf(risk);
  const key = likeness(looked);
  if (key === undefined) return riskOf(looked, risk === undefined ? undefined : sets);
  const known = judged.get(sets) ?? new Map<string, Risk | undefined>();
  judged.set(sets, known);
  if (known.has(key)) return known.get(key);
  const found = riskOf(looked, risk === undefined ? undefined : sets);
  if (known.size >= MOST_JUDGED) known.clear();
  known.set(key, found);
  return found;
};

/** Each action comes by twice, before and after, and the same ones come again all day. */
const judged = new WeakMap<readonly RuleSet[], Map<string, Risk | undefined>>();
const MOST_JUDGED = 500;
/** Stands for the rules that ship, which are made when first asked for. */
const shipped: readonly RuleSet[] = [];

function likeness({ action: { name, input }, cwd, mode, server }: Looked): string | undefined {
  const longest = input?.command ?? input?.content ?? input?.new_string;
  if (typeof longest === 'string' && longest.length > 4_000) return undefined;
  try {
    const key = JSON.stringify([name, input, cwd, mode, server]);
    return key.length > 8_000 ? undefined : key;
  } catch {
    // Nested too deeply.
    return undefined;
  }
}

/** Settings come with each session's state, anew in each round; compiling is dear. */
const ready = new Map<string, readonly RuleSet[]>();
const MOST_READY = 16;

function setsOf(settings: RiskSettings): readonly RuleSet[] {
  const key = JSON.stringify(settings);
  const known = ready.get(key);
  if (known !== undefined) return known;
  const { rules: own, overrides } = settings;
  const usable = own.flatMap(rule => ('set' in prepared(rule) ? [rule] : []));
  const sets = [builtInWith(overrides), ...(usable.length > 0 ? [ruleSet(usable, search)] : [])];
  if (ready.size >= MOST_READY) ready.clear();
  ready.set(key, sets);
  return sets;
}

/** Nothing is set: undefined. A rule that cannot be used costs itself. */
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
    return { set: ruleSet([rule], search) };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

function search(pattern: string, flags: string): Pattern {
  const compiled = re2(pattern, flags);
  return text => compiled.matcher(text).find();
}
