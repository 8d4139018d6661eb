import type { Reading } from '../agents/contract/contract.ts';
import { joinCompaction } from '../enrich/compactions.ts';
import type { Hash } from '../enrich/redact.ts';
import { signatureOf } from '../enrich/signature.ts';
import { type Alike, type Noted, noteLoopsAndBudgets, noWatch } from '../enrich/watch.ts';
import { type Action, type Body, type Event, FACTS, type Facts, factsOf, SPEC_VERSION } from '../event/event.ts';
import { usualLoops } from '../event/loop-limits.ts';
import { canonicalJson } from '../lib/hash.ts';
import { isFields } from '../lib/read.ts';
import type { SessionState } from '../session/session-state.ts';
import { enriched, type Odd } from './enrichers.ts';
import { eventId, remember, seenBy, shortOf } from './event-ids.ts';

/** Events that follow from this event and earlier ones: retries, loops, budgets. */
export function watched(
  state: SessionState,
  event: Event,
  { data, output }: Reading,
  hash: Hash,
  odd: Odd | undefined,
): Event[] {
  state.watch ??= noWatch();
  const seen = state.watch;
  enriched('watch', odd, () => {
    seen.compacting ??= [];
    joinCompaction(seen.compacting, event);
  });
  const settings = state.pinned.watch ?? { loops: usualLoops };
  const noted = enriched('watch', odd, () =>
    noteLoopsAndBudgets(seen, event, alikeIn(data, output, factsOf(event)?.content, hash), settings),
  );
  return (noted ?? []).flatMap(each => noteOf(state, event, each) ?? []);
}

/** Hashes of input and result for the comparison with earlier actions. */
function alikeIn(data: Body['data'], output: unknown, content: Facts['content'], hash: Hash): Alike {
  if (!('action' in data) || !isFields(data.action)) return {};
  const { name, input, result } = data.action as Action;
  const reported = result?.error_message ?? result?.output ?? output;
  const error = result?.success === false ? errorText(reported) : undefined;
  return {
    input: commandHash(name, input, hash) ?? content?.input?.hash ?? inputHash(input, hash),
    result:
      error === undefined
        ? (content?.error_message?.hash ?? content?.output?.hash ?? outputHash(reported, hash))
        : hash(signatureOf(error)),
  };
}

/** A model describes the same command differently each time, so only the command is compared. */
const commandHash = (name: string | undefined, input: Action['input'], hash: Hash): string | undefined =>
  name === 'shell' && typeof input?.command === 'string' ? hash(input.command.trim()) : undefined;

const inputHash = (input: Action['input'], hash: Hash): string | undefined =>
  input === undefined || Object.keys(input).length === 0 ? undefined : hash(canonicalJson(input));

/** The text of an error. Agents state it as a text, or among the fields of the result. */
function errorText(error: unknown): string | undefined {
  if (typeof error === 'string') return error;
  if (!isFields(error)) return undefined;
  const texts = [error.error, error.message, error.stderr, error.stdout].filter(text => typeof text === 'string');
  return texts.length === 0 ? undefined : texts.join('\n');
}

const LONGEST_LOOKED_AT = 16_384;

/** The start and the length distinguish two outputs well enough. */
function outputHash(output: unknown, hash: Hash): string | undefined {
  if (output === undefined) return undefined;
  try {
    const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
    return hash(`${text.length} ${text.slice(0, LONGEST_LOOKED_AT)}`);
  } catch {
    // Nested too deeply to be compared.
    return undefined;
  }
}

/** A derived event has the place and time of its cause, and an id computed from the cause's id. */
function noteOf(state: SessionState, from: Event, { body, key, facts, risk, from: former }: Noted): Event | undefined {
  const { call, tool, mcp, agent, turn, root, time = 'arrival' }: Partial<Facts> = factsOf(from) ?? {};
  const id = eventId(state, from.session_id, body.event_type, `${former?.id ?? from.event_id}:${key}`);
  const seen = seenBy(state);
  if (seen.has(shortOf(id))) return undefined;
  remember(state, seen, shortOf(id));
  state.seq += 1;
  return {
    spec_version: SPEC_VERSION,
    event_id: id,
    event_type: body.event_type,
    timestamp: former?.timestamp ?? from.timestamp,
    source: from.source,
    session_id: from.session_id,
    parent_session_id: from.parent_session_id,
    actor: { type: 'system' },
    agent_mode: from.agent_mode,
    risk: state.pinned.risk?.enabled === false ? undefined : risk,
    data: body.data,
    metadata: { [FACTS]: { v: 1, seq: state.seq, time, root, call, tool, mcp, agent, turn, ...facts } },
  } as Event;
}
