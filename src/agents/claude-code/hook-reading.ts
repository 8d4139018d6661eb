import type { Fields } from '../../event/event.ts';
import { text, word } from '../../lib/read.ts';
import type { Reading } from '../contract/contract.ts';
import { readingsWith } from '../shared/readings.ts';
import { modeOf } from './place.ts';

/** Completes a reading with the turn, the subagent and the mode that each hook states. */
export const reading = readingsWith(fields => ({
  facts: factsOf(fields),
  subagent: word(fields.agent_id),
  mode: modeOf(text(fields.permission_mode)),
}));

function factsOf(fields: Fields): NonNullable<Reading['facts']> {
  return {
    turn: word(fields.prompt_id),
    agent: word(fields.agent_type) ?? word(fields.subagent_type),
    permission_mode: word(fields.permission_mode),
  };
}
