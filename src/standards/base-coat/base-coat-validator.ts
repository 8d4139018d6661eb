/** Validates texts against Base Coat: envelopes of events and responses, and files that register hooks. */
import { type EventJudge, eventsValidation } from '../events-text.ts';
import type { Standard } from '../validation.ts';
import { type Issue, isObject, kindOf, mistyped, notOneOf, pathOf, shown, type Values, valueAt } from '../wording.ts';
import { frontMatter } from './front-matter.ts';
import { hookPointOf } from './hook-points.ts';
import { isRegistration, judgeRegistration } from './registration.ts';
import { type Remark, type RuleId, rules } from './rules.ts';
import { eventSchema, responseSchema } from './schema.ts';

export const baseCoat: Standard = {
  title: 'Base Coat',
  // The document has no version; it names the issue that tracks it.
  version: '#145',
  rules,
  validation(name, asked) {
    const about = { id: 'base-coat', ...baseCoat };
    if (!/\.(md|markdown)$/i.test(name)) return eventsValidation(about, name, asked, judge(name));
    const page = frontMatter();
    const file = eventsValidation(about, name, asked, {
      event: () => [],
      end: () => ({ found: page.found(), format: 'file' }),
    });
    return {
      write: page.write,
      end() {
        // The judged text is not JSON; an empty object takes its place.
        file.write('{}');
        return file.end();
      },
    };
  },
};

function judge(name: string): EventJudge<RuleId> {
  let isFile = false;
  return {
    event(value, _, inStream) {
      if (inStream || !isRegistration(value)) return judgeBaseCoat(value);
      isFile = true;
      return judgeRegistration(value, name);
    },
    end: () => ({ found: [], format: isFile ? 'file' : undefined }),
  };
}

/** Judges one envelope of an event or of a response. */
export function judgeBaseCoat(value: unknown): Remark[] {
  if (!isObject(value))
    return [{ rule: 'value/unknown', path: [], why: `an envelope is an object, not ${kindOf(value)}` }];
  if ('hook' in value || 'sessionId' in value) return judgeEvent(value);
  if ('action' in value) return judgeResponse(value, []);
  return [{ rule: 'value/unknown', path: [], why: 'the object has no field hook, action or hooks' }];
}

function judgeEvent(value: Values): Remark[] {
  const { response, ...event } = value;
  const remarks = (eventSchema.safeParse(event).error?.issues ?? []).map(issue => eventRemark(issue, value));
  if (isObject(response)) remarks.push(...judgeResponse(response, ['response']));
  const { hook, tool, budget } = value;
  if ((hook === 'PreToolUse' || hook === 'PostToolUse') && tool === undefined)
    remarks.push({ rule: 'event/expected', path: [], why: `${hook} without tool` });
  if (hook === 'PostToolUse' && isObject(tool) && tool.success === undefined)
    remarks.push({ rule: 'event/expected', path: ['tool'], why: 'tool without success' });
  if (hook === 'OnBudgetExceeded' && !(isObject(budget) && 'usedTokens' in budget && 'effectiveLimit' in budget))
    remarks.push({
      rule: 'event/expected',
      path: budget === undefined ? [] : ['budget'],
      why: 'OnBudgetExceeded without usedTokens and effectiveLimit',
    });
  for (const [path, holder] of [
    [[], value],
    [['tool'], tool],
  ] as const)
    for (const key of isObject(holder) ? Object.keys(holder).filter(key => content.test(key)) : [])
      remarks.push({ rule: 'event/privacy', path: [...path, key], why: `${shown(key)} is likely to hold content` });
  return remarks;
}

const content =
  /^(user_?)?(prompt|input|output|arguments|args|content|user|email|command|result|stdout|stderr)(_?(text|name|id))?$/i;

function eventRemark(issue: Issue, value: Values): Remark {
  const path = pathOf(issue);
  const actual = valueAt(value, path);
  const field = path.join('.');
  if (actual === undefined) return { rule: 'event/required', path, why: `${field} is missing` };
  if (typeof actual === 'string' && actual !== '') {
    if (field === 'hook') {
      const meant = hookPointOf(actual);
      const hint = meant === undefined ? '' : `; platforms call ${meant} so`;
      return { rule: 'event/hook', path, why: `${shown(actual)} is no hook point${hint}` };
    }
    if (field === 'timestamp')
      return {
        rule: 'event/timestamp',
        path,
        why: `${shown(actual)} is not a date-time such as '2026-02-08T19:22:11Z'`,
      };
    if (field === 'repository') return { rule: 'event/repository', path, why: `${shown(actual)} is not owner/name` };
  }
  return { rule: 'event/type', path, why: mistyped(issue, field, actual) };
}

/** `at` is the path of a response beside an event. */
function judgeResponse(value: Values, at: readonly string[]): Remark[] {
  const remarks = (responseSchema.safeParse(value).error?.issues ?? []).map((issue): Remark => {
    const inner = pathOf(issue);
    const path = [...at, ...inner];
    const actual = valueAt(value, inner);
    if (actual === undefined) return { rule: 'response/required', path, why: `${inner.join('.')} is missing` };
    if (issue.code === 'invalid_value') return { rule: 'response/action', path, why: notOneOf(actual, issue.values) };
    return { rule: 'response/type', path, why: mistyped(issue, inner.join('.'), actual) };
  });
  const { action, additionalContext, reason } = value;
  const modified = ['modifiedInput', 'modifiedOutput'].filter(key => key in value);
  if (action !== 'modify')
    for (const key of modified)
      remarks.push({ rule: 'response/modified', path: [...at, key], why: `${key} in a response of ${shown(action)}` });
  const lacks =
    action === 'modify' && modified.length === 0
      ? 'the changed value'
      : action === 'injectContext' && !(Array.isArray(additionalContext) && additionalContext.length > 0)
        ? 'additionalContext'
        : action === 'block' && reason === undefined
          ? 'a reason'
          : undefined;
  if (lacks !== undefined)
    remarks.push({ rule: 'response/expected', path: at, why: `${String(action)} without ${lacks}` });
  return remarks;
}
