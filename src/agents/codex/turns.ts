/** Turns of a rollout: their start, prompts, end and interruption, and compactions. */
import { fieldsOf, text, word } from '../../lib/read.ts';
import type { TranscriptEntry } from '../contract/contract.ts';
import { entryAt, isAside, note, type Place, recalled, responseTimes } from './place.ts';
import { answerKey, endKey, startKey } from './tools.ts';

export function turnBegan(place: Place): TranscriptEntry[] {
  const turns = (recalled(place, 'turns') ?? 0) + 1;
  note(place, 'turns', turns);
  const turn = word(place.payload.turn_id) ?? `turn-${turns}`;
  note(place, 'turn', turn);
  note(place, 'prompts', 0);
  note(place, responseTimes.requested, place.atMs);
  note(place, responseTimes.lastRow, undefined);
  note(place, responseTimes.nextRequested, undefined);
  if (place.file.subagent === undefined) return [...leftOver(place), ...resumed(place, turn)];
  return [
    entryAt({ ...place, turn }, { event_type: 'Session.Start', key: startKey(turn), data: { start_reason: 'new' } }),
  ];
}

/** Ends a turn whose end has no row, because the program was killed. It ends when the next turn begins. */
function leftOver(place: Place): TranscriptEntry[] {
  const { turn, memory, atMs } = place;
  return turn === undefined || memory.recall('place', 'over') === turn ? [] : [{ over: 'turn', id: turn, atMs }];
}

/**
 * Resumes the session for each later turn of a headless program, which runs one turn. In a terminal, no row states it.
 */
function resumed(place: Place, turn: string): TranscriptEntry[] {
  const { turn_trigger: trigger } = fieldsOf(place.payload.turn_attribution);
  if (isAside(place) || trigger !== 'exec' || recalled(place, 'turns') === 1) return [];
  const start = { event_type: 'Session.Start', data: { start_reason: 'resume' } } as const;
  return [entryAt({ ...place, turn: undefined }, { ...start, key: `resume:${turn}`, unless: 'hooked' })];
}

export function prompted(place: Place, id: string | undefined, prompt: string | undefined): TranscriptEntry[] {
  if (isAside(place)) return [];
  const prompts = (recalled(place, 'prompts') ?? 0) + 1;
  note(place, 'prompts', prompts);
  return [
    entryAt(place, {
      event_type: 'Prompt.Submitted',
      key: id ?? `prompt:${place.turn ?? ''}:${prompts}`,
      unless: 'hooked',
      data: { prompt },
      actor: place.file.subagent === undefined ? 'user' : 'ai_agent',
    }),
  ];
}

export function turnEnded(place: Place): TranscriptEntry[] {
  const { payload } = place;
  const turn = word(payload.turn_id) ?? place.turn ?? 'turn-0';
  const at = { ...place, turn };
  if (isAside(place)) return [];
  const error = payload.error === undefined || payload.error === null ? undefined : payload.error;
  if (error === undefined) {
    const answer = entryAt(at, {
      event_type: 'Agent.Response',
      key: answerKey(turn),
      data: { response: text(payload.last_agent_message), final: true },
      facts: { over: running(place) },
    });
    return [answer, ...overs(at, 'completed')];
  }
  const message = text(error) ?? text(fieldsOf(error).message);
  const asked = recalled(place, responseTimes.requested);
  const facts = {
    error_type: 'model_error',
    model: place.memory.recall('place', 'model'),
    provider: place.memory.recall('place', 'provider'),
    started_ms: asked !== undefined && place.atMs !== undefined && asked <= place.atMs ? asked : undefined,
  };
  return [
    entryAt(at, {
      event_type: 'Model.Failed',
      key: `failed:${turn}`,
      data: { error_type: facts.error_type, error_message: message },
      facts,
    }),
    entryAt(at, {
      event_type: 'Agent.Error',
      key: `failed:${turn}`,
      data: { error_type: 'ModelError', error_message: message, origin_event: 'Model.Failed' },
      facts,
    }),
    ...overs(at, 'error'),
  ];
}

export function turnAborted(place: Place): TranscriptEntry[] {
  const turn = word(place.payload.turn_id) ?? place.turn ?? 'turn-0';
  const at = { ...place, turn };
  if (isAside(place)) return [];
  return [
    entryAt(at, {
      event_type: 'Agent.Response',
      key: answerKey(turn),
      data: { final: true },
      facts: { interrupted: true, over: running(place) },
    }),
    ...overs(at, 'error', 'Session.Abort'),
  ];
}

/** Commands that continue in the background: they were not aborted, and their end is unknown. */
export function running({ memory }: Place): string[] | undefined {
  const calls = memory.list('process').map(([, call]) => call);
  return calls.length === 0 ? undefined : calls.slice(-128);
}

function overs(
  place: Place,
  reason: 'completed' | 'error',
  type: 'Session.End' | 'Session.Abort' = 'Session.End',
): TranscriptEntry[] {
  const { file, turn, atMs } = place;
  note(place, 'over', turn);
  if (file.subagent === undefined) return [{ over: 'turn', id: turn, atMs }];
  return [
    entryAt(place, {
      event_type: type,
      key: endKey(turn ?? ''),
      data: { end_reason: reason },
    }),
    { over: 'subagent', id: file.subagent, atMs },
  ];
}

export function compacted(place: Place): TranscriptEntry[] {
  note(place, responseTimes.requested, place.atMs);
  if (isAside(place)) return [];
  return [
    entryAt(place, {
      event_type: 'Context.Compaction',
      key: `compacted:${place.turn ?? ''}:${place.atMs ?? ''}`,
      unless: 'hooked',
      data: {},
      actor: 'system',
    }),
  ];
}
