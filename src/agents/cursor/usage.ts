/** The tokens of a turn. Several hooks repeat the totals of the turn so far; the last one counts. */
import type { Fields } from '../../event/event.ts';
import { count, text, word } from '../../lib/read.ts';
import type { Memory, Reading } from '../contract/contract.ts';
import { childOf, modelOf, reading } from './reading.ts';

/** The tokens of a turn until it is over. Unknown numbers are null. */
interface TurnUsage {
  turn: string;
  conversation: string;
  subagent: string | undefined;
  model: string | undefined;
  counters: readonly (number | null)[];
}

/** `input_tokens` contains both cache parts. */
const COUNTERS = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'] as const;

/** Later numbers of a turn replace earlier ones: each covers the whole turn. */
export function keepUsage(fields: Fields, memory: Memory): void {
  const turn = word(fields.generation_id);
  const counters = COUNTERS.map(name => count(fields[name]) ?? null);
  if (turn === undefined || counters.every(tokens => tokens === null)) return;
  const usage: TurnUsage = {
    turn,
    conversation: text(fields.conversation_id) ?? '',
    subagent: childOf(fields, memory),
    model: modelOf(fields.model),
    counters,
  };
  memory.remember('usage', turn, JSON.stringify(usage));
}

export const isEarlierTurn =
  (fields: Fields) =>
  ({ turn, conversation }: TurnUsage): boolean =>
    turn !== fields.generation_id && conversation === fields.conversation_id;

export function usageOver(fields: Fields, memory: Memory, isOver: (usage: TurnUsage) => boolean): Reading[] {
  const over = memory.list('usage').map(([, entry]) => JSON.parse(entry) as TurnUsage);
  return over.filter(isOver).map(({ turn, subagent, model, counters }) => {
    memory.forget('usage', turn);
    const [input, output, read, write] = counters.map(tokens => tokens ?? undefined);
    return reading(fields, {
      event_type: 'Model.Responded',
      key: turn,
      data: { model_id: model, input_tokens: input, output_tokens: output },
      subagent,
      facts: { turn, sum: 'turn', usage: { cache_read_tokens: read, cache_write_tokens: write } },
    });
  });
}
