/**
 * The input of the command that prints Claude Code's status line (documentation of the status line, checked
 * 2026-11-19). It is no hook: the program runs the command after each change of the session, up to several times a
 * second. So a statement that repeats the one before it yields no event.
 */
import type { Fields, LimitWindow, RateLimit } from '../../event/event.ts';
import { fieldsOf, isFields, number, word } from '../../lib/read.ts';
import type { Memory, Reading } from '../contract/contract.ts';
import { readingsWith } from '../shared/readings.ts';

/** No hook has the two members window and cost together. Its name is missing, or `Status`. */
export const isStatusLine = (fields: Fields): boolean =>
  isFields(fields.context_window) && isFields(fields.cost) && isFields(fields.model);

export function readStatusLine(fields: Fields, memory: Memory): Reading[] {
  return [...contextOf(fields, memory), ...stateOf(fields, memory)];
}

const reading = readingsWith(fields => ({ facts: { model: word(fieldsOf(fields.model).id) } }));

const isNews = (memory: Memory, kind: string, stated: unknown): boolean => {
  const text = JSON.stringify(stated);
  if (memory.recall('status-line', kind) === text) return false;
  memory.remember('status-line', kind, text);
  return true;
};

/** Returns how full the model's context window is. */
function contextOf(fields: Fields, memory: Memory): Reading[] {
  const { context_window_size, used_percentage, current_usage } = fieldsOf(fields.context_window);
  const limit = number(context_window_size);
  const usage = fieldsOf(current_usage);
  const parts = [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens].flatMap(
    count => number(count) ?? [],
  );
  const used = parts.length === 0 ? undefined : parts.reduce((sum, count) => sum + count, 0);
  const percentage = number(used_percentage);
  if (used === undefined && percentage === undefined) return [];
  const data = {
    tokens_used: used,
    tokens_limit: limit,
    percentage_used: percentage,
    tokens_remaining: used === undefined || limit === undefined ? undefined : Math.max(0, limit - used),
  };
  if (!isNews(memory, 'context', data)) return [];
  return [reading(fields, { event_type: 'Context.UntilCompaction', data, actor: 'system' })];
}

const windows: readonly LimitWindow[] = ['five_hour', 'seven_day', 'seven_day_opus', 'seven_day_sonnet'];

/** Returns the cost of the session so far, and the used share of the plan's limits. */
function stateOf(fields: Fields, memory: Memory): Reading[] {
  const cost = number(fieldsOf(fields.cost).total_cost_usd);
  const rates = fieldsOf(fields.rate_limits);
  const plain: Record<string, number> = cost === undefined ? {} : { total_cost_usd: cost };
  const limits: RateLimit[] = [];
  for (const window of windows) {
    const { used_percentage, resets_at } = fieldsOf(rates[window]);
    const percentage = number(used_percentage);
    if (percentage === undefined || percentage < 0) continue;
    plain[`${window}_used_percentage`] = percentage;
    limits.push({ window, used: percentage / 100, resets_at: number(resets_at) });
  }
  if (!isNews(memory, 'state', [plain, limits])) return [];
  return [
    reading(fields, {
      event_type: 'vendor.claude-code.StatusLine',
      data: plain,
      actor: 'system',
      facts: {
        fields: Object.keys(plain),
        session_cost_usd: cost,
        rate_limits: limits.length > 0 ? limits : undefined,
      },
    }),
  ];
}
