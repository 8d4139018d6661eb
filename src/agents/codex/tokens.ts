/** Responses and their tokens: a rollout states the totals of a thread, from which each response is computed. */
import type { Fields, LimitWindow, RateLimit } from '../../event/event.ts';
import { count, fieldsOf, isFields, number, word } from '../../lib/read.ts';
import type { TranscriptEntry } from '../contract/contract.ts';
import { entryAt, isAside, note, type Place, recalled, responseTimes } from './place.ts';

const classes = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_input_tokens',
  'reasoning_output_tokens',
  'total_tokens',
] as const;

type Total = { [name in (typeof classes)[number]]?: number };

const usageOf = (usage: unknown): Total | undefined => {
  if (!isFields(usage)) return undefined;
  const known = classes.flatMap(name => {
    const known = count(usage[name]);
    return known === undefined ? [] : [[name, known] as const];
  });
  return known.length === 0 ? undefined : Object.fromEntries(known);
};

export const totalOf = (payload: Fields): Total | undefined => usageOf(fieldsOf(payload.info).total_token_usage);

/** The total of the thread after a response, or the previous total again. */
export function readTokenCount(place: Place): TranscriptEntry[] {
  const { payload, memory, file } = place;
  const total = totalOf(payload);
  if (total === undefined) return [];
  const key = `${memory.recall('place', 'thread') ?? file.subagent ?? file.root}:${sizeOf(total)}`;
  // Records state the tokens of each response. This row alone states the window and the plan's limits.
  if (memory.recall('place', 'records') !== undefined) return filled(place, key);
  const known = memory.recall('place', 'total');
  const last = usageOf(fieldsOf(payload.info).last_token_usage);
  const before: Total = JSON.parse(known ?? '{}');
  note(place, 'total', JSON.stringify(total));
  const used: Total = {};
  for (const name of classes) {
    const count = total[name];
    if (count !== undefined) used[name] = count - (before[name] ?? 0);
  }
  const counts = Object.values(used);
  if (counts.every(count => count === 0)) return [];
  // A smaller total begins a new count. A fork without its parent's rows, and a part of a rollout, continue from an
  // unknown total.
  const thread = memory.recall('place', 'thread');
  const isLater = recalled(place, 'forked') !== undefined || thread === undefined;
  const isOther = counts.some(count => count < 0) || (known === undefined && isLater);
  const response = isOther ? last : used;
  if (response === undefined) return [];
  note(place, 'counted', JSON.stringify(response));
  return responded(place, key, undefined, response);
}

/** The record of one response: from the first record on, totals add nothing. */
export function record(place: Place): TranscriptEntry[] {
  const { payload } = place;
  const usage = usageOf(payload.usage);
  const response = word(payload.response_id);
  if (usage === undefined || response === undefined) return [];
  // The first record may follow the total that contains it.
  const isCounted = recalled(place, 'records') === undefined && isSame(usage, place.memory.recall('place', 'counted'));
  note(place, 'records', 1);
  if (isCounted) return [];
  return responded({ ...place, turn: word(payload.turn_id) ?? place.turn }, response, response, usage);
}

/** A class of tokens that the record does not state is not compared. */
export const isSame = (usage: Total, readTokenCount: string | undefined): boolean => {
  const known = JSON.parse(readTokenCount ?? '{}') as Total;
  return readTokenCount !== undefined && classes.every(name => (usage[name] ?? 0) === (known[name] ?? 0));
};

const sizeOf = (total: Total): number => total.total_tokens ?? (total.input_tokens ?? 0) + (total.output_tokens ?? 0);

function responded(place: Place, key: string, response: string | undefined, used: Total): TranscriptEntry[] {
  const { memory } = place;
  const asked = recalled(place, responseTimes.requested);
  const atMs = recalled(place, responseTimes.lastRow) ?? place.atMs;
  const reading = entryAt(place, {
    event_type: 'Model.Responded',
    key,
    data: {
      model_id: memory.recall('place', 'model'),
      input_tokens: used.input_tokens,
      output_tokens: used.output_tokens,
    },
    facts: {
      model: memory.recall('place', 'model'),
      provider: memory.recall('place', 'provider'),
      response,
      started_ms: asked !== undefined && atMs !== undefined && asked <= atMs ? asked : undefined,
      usage: {
        cache_read_tokens: used.cached_input_tokens,
        cache_write_tokens: used.cache_write_input_tokens,
        reasoning_tokens: used.reasoning_output_tokens,
      },
    },
    atMs,
  });
  note(place, responseTimes.requested, recalled(place, responseTimes.nextRequested) ?? asked);
  note(place, responseTimes.lastRow, undefined);
  note(place, responseTimes.nextRequested, undefined);
  return [reading, ...filled(place, key)];
}

/** Returns how full the context is. */
function filled(place: Place, key: string): TranscriptEntry[] {
  const info = fieldsOf(place.payload.info);
  const used = number(fieldsOf(info.last_token_usage).total_tokens);
  const limit = number(info.model_context_window);
  if (used === undefined || limit === undefined || limit <= 0 || used > limit || isAside(place)) return [];
  return [
    entryAt(place, {
      event_type: 'Context.UntilCompaction',
      key,
      data: {
        tokens_used: used,
        tokens_limit: limit,
        percentage_used: Math.round((used / limit) * 1_000) / 10,
        tokens_remaining: limit - used,
      },
      facts: { model: place.memory.recall('place', 'model'), rate_limits: limitsOf(place.payload) },
    }),
  ];
}

/** The spans of time of the plan's limits, in minutes. */
const windows: { readonly [minutes: number]: LimitWindow } = {
  300: 'five_hour',
  1440: 'day',
  10080: 'seven_day',
  43200: 'month',
};

/** Returns the use of the plan's limits; undefined if the row states none. */
function limitsOf(payload: Fields): RateLimit[] | undefined {
  const { primary, secondary } = fieldsOf(payload.rate_limits);
  const limits = [primary, secondary].flatMap((each): RateLimit[] => {
    const { used_percent, window_minutes, resets_at } = fieldsOf(each);
    const percent = number(used_percent);
    if (percent === undefined || percent < 0) return [];
    const window = windows[number(window_minutes) ?? 0] ?? 'other';
    return [{ window, used: percent / 100, resets_at: number(resets_at) }];
  });
  return limits.length > 0 ? limits : undefined;
}
