/** Responses: rows of one response are grouped until the next response of the same speaker begins. */
import type { Fields } from '../../event/event.ts';
import { hexDigest } from '../../lib/hash.ts';
import { fieldsOf, number, text, word } from '../../lib/read.ts';
import type { Memory, TranscriptEntry } from '../contract/contract.ts';
import { calls } from './calls.ts';
import { ended, entryAt, failureKey, overOf, type Place } from './place.ts';

/** A response with the rows read so far; small enough for the memory. */
interface Pending {
  id: string;
  response?: string | undefined;
  request?: string | undefined;
  model?: string | undefined;
  finish?: string | undefined;
  usage: number[];
  startedMs?: number | undefined;
  atMs?: number | undefined;
  subagent?: string | undefined;
  turn?: string | undefined;
  copyOf?: string | undefined;
}

const classes = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'] as const;

const UNKNOWN = -1;

export function assistant(row: Fields, at: Place): TranscriptEntry[] {
  const message = fieldsOf(row.message);
  // Fixed replies and error messages of the program are not responses of a model.
  if (message.model === '<synthetic>' || row.isApiErrorMessage === true) {
    return [...closeResponses(at), ...(row.isApiErrorMessage === true ? failed(row, at) : [])];
  }
  const id = responseId(row, message);
  if (id === undefined) return [];
  const isCopy = at.memory.recall(REPORTED, id) !== undefined;
  // A copy of a response that was read before must not end the turn a second time.
  if (!isCopy && at.memory.recall('place', 'answered') !== id) at.memory.forget('place', 'answered');
  const speaker = speakerOf(row, id, at);
  const waiting = pendingIn(at.memory, speaker);
  const isContinued = waiting?.id === id;
  // The next response of the main agent proves that the subagents it launched are over.
  const closed = isContinued ? [] : speaker === MAIN ? closeResponses(at) : waiting ? closeResponse(at, speaker) : [];
  const pending = withRow(isContinued ? waiting : begunAt(at, id), row, message, at);
  const blocks = Array.isArray(message.content) ? message.content.map(fieldsOf) : [];
  for (const block of blocks) {
    const call = word(block.id);
    if (block.type === 'tool_use' && call !== undefined) closed.push(...calls(block, call, at));
  }
  if (isCopy) return closed;
  closed.push(...keep(at, speaker, pending));
  const answer = blocks.findLast(block => block.type === 'text');
  if (!isFinal(pending.finish) || answer === undefined) return closed;
  // The answer ends the response. Later rows of the same response only repeat it.
  return [...closed, ...closeResponse(at, speaker), ...answered(at, id, text(answer.text))];
}

const responseId = (row: Fields, message: Fields): string | undefined =>
  [message.id, row.requestId].flatMap(id => shortened(id) ?? []).join('/') || shortened(row.uuid);

/** Returns a new response, which begins at the time of the request to the model. */
function begunAt(at: Place, id: string): Pending {
  const asked = Number(at.memory.recall('place', 'asked') ?? Number.NaN);
  const isKnown = !Number.isNaN(asked) && (at.atMs === undefined || asked <= at.atMs);
  return { id, usage: [], startedMs: isKnown ? asked : undefined };
}

/** Early rows of a response hold placeholders, so the largest output counts. */
function withRow(pending: Pending, row: Fields, message: Fields, at: Place): Pending {
  const usage = usageOf(fieldsOf(message.usage));
  return {
    id: pending.id,
    usage: (usage[3] ?? UNKNOWN) >= (pending.usage[3] ?? UNKNOWN) ? usage : pending.usage,
    startedMs: pending.startedMs,
    response: shortened(message.id),
    model: word(message.model) ?? pending.model,
    request: shortened(row.requestId) ?? pending.request,
    finish: word(message.stop_reason) ?? pending.finish,
    atMs: at.atMs ?? pending.atMs,
    subagent: at.subagent,
    turn: at.turn,
    copyOf: at.copyOf,
  };
}

const MAIN = 'main';

/** Old versions wrote rows of subagents into the main file without ids, so each response there is its own speaker. */
function speakerOf(row: Fields, id: string, { aside, subagent }: Place): string {
  if (subagent !== undefined) return subagent;
  return aside ? (shortened(row.agentId) ?? `side ${id}`) : MAIN;
}

/** Shortens an id for the memory: ids of gateways may contain a whole message. */
function shortened(id: unknown): string | undefined {
  const known = word(id);
  return known === undefined || known.length <= 128 ? known : `hash-${hexDigest(known).slice(0, 32)}`;
}

/** Every reason to stop except a call or a pause ends the turn. */
const isFinal = (finish: string | undefined): boolean =>
  finish !== undefined && finish !== 'tool_use' && finish !== 'pause_turn';

function answered(at: Place, id: string, response: string | undefined): TranscriptEntry[] {
  if (at.aside) return [];
  at.memory.remember('place', 'answered', id);
  return [
    entryAt(at, { event_type: 'Agent.Response', key: id, unless: 'hooked', data: { response, final: true } }),
    ...(at.subagent === undefined ? [] : [ended(at, at.subagent)]),
    overOf(at),
  ];
}

function usageOf(usage: Fields): number[] {
  const kept = classes.map(name => number(usage[name]) ?? UNKNOWN);
  kept.push(number(fieldsOf(usage.cache_creation).ephemeral_1h_input_tokens) ?? UNKNOWN);
  kept.push(number(fieldsOf(usage.output_tokens_details).thinking_tokens) ?? UNKNOWN);
  return kept;
}

export const known = (count: number | undefined): number | undefined =>
  count === undefined || count < 0 ? undefined : count;

/** Closes the responses of all speakers. */
export const closeResponses = (at: Place): TranscriptEntry[] =>
  at.memory.list(WAITING).flatMap(([speaker]) => closeResponse(at, speaker));

function closeResponse(at: Place, speaker: string): TranscriptEntry[] {
  const pending = pendingIn(at.memory, speaker);
  if (pending === undefined) return [];
  at.memory.forget(WAITING, speaker);
  at.memory.remember(REPORTED, pending.id, '1');
  const [input, written, read, output, hour, reasoning] = pending.usage.map(known);
  const parts = [input, written, read].filter(count => count !== undefined);
  return [
    entryAt(
      { ...at, subagent: pending.subagent, turn: pending.turn, atMs: pending.atMs, copyOf: pending.copyOf },
      {
        event_type: 'Model.Responded',
        key: pending.id,
        data: {
          model_id: pending.model,
          input_tokens: parts.length === 0 ? undefined : parts.reduce((sum, count) => sum + count, 0),
          output_tokens: output,
        },
        facts: {
          turn: pending.turn,
          usage: {
            cache_read_tokens: read,
            cache_write_tokens: written,
            cache_write_1h_tokens: hour,
            reasoning_tokens: reasoning,
          },
          finish: pending.finish,
          response: pending.response,
          request: pending.request,
          started_ms: pending.startedMs,
        },
      },
    ),
  ];
}

/**
 * Caches the last stored response as a value. The next row usually belongs to it, and a memory stores only texts, so
 * without this cache every row would parse the text again. The cache is used only if the text is equal, so it changes
 * no result.
 */
let last: { kept: string; pending: Pending } | undefined;

function pendingIn(memory: Memory, speaker: string): Pending | undefined {
  const kept = memory.recall(WAITING, speaker);
  if (kept === undefined) return undefined;
  return last?.kept === kept ? { ...last.pending } : (JSON.parse(kept) as Pending);
}

/** Keeps a response for its next row. If too many wait, the oldest is closed. */
function keep(at: Place, speaker: string, pending: Pending): TranscriptEntry[] {
  const kept = JSON.stringify(pending);
  last = { kept, pending: { ...pending } };
  at.memory.remember(WAITING, speaker, kept);
  const waiting = at.memory.list(WAITING);
  const oldest = waiting.length > MOST_WAITING ? waiting[0]?.[0] : undefined;
  return oldest === undefined ? [] : closeResponse(at, oldest);
}

/** The responses that wait for further rows, by speaker. */
const WAITING = 'responses';

/** The responses that were reported, by id, under the name that stored states have. */
const REPORTED = 'told';

const MOST_WAITING = 64;

function failed(row: Fields, at: Place): TranscriptEntry[] {
  const kind = /^[a-z][a-z0-9_]{0,63}$/.test(text(row.error) ?? '') ? String(row.error) : 'unknown';
  const key = word(row.uuid);
  if (key === undefined || at.aside) return [];
  at.memory.remember('place', 'answered', key);
  const shared = at.subagent === undefined ? failureKey(at.turn) : undefined;
  return [
    entryAt(at, {
      event_type: 'Model.Failed',
      key: shared ?? key,
      unless: shared === undefined ? 'hooked' : undefined,
      data: { error_type: kind },
      facts: { error_type: kind, started_ms: begunAt(at, key).startedMs },
    }),
    overOf(at),
  ];
}
