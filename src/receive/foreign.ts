/**
 * Joins events of the open standards with the session of their agent. An event of a standard names its agent, so it belongs
 * to the same session as that agent's hooks. An event with a native id in both sources is one event. For event types
 * without native ids, only the first source of the session counts.
 */
import type { Agent, Memory, Reading } from '../agents/contract/contract.ts';
import { agents } from '../agents/index.ts';
import { actionNamed } from '../agents/shared/action-names.ts';
import { closeCall, openCall } from '../agents/shared/pairing.ts';
import type { Fields } from '../event/event.ts';
import { isFields, own, word } from '../lib/read.ts';
import type { SessionState } from '../session/session-state.ts';
import type { ForeignEvent, ForeignReading } from '../standards/foreign-event.ts';
import { find, recognize, SURE } from './recognize.ts';

/** An unknown agent has hooks only. */
export type SourceAgent = Pick<Agent, 'id' | 'settles'> & { readonly adapter?: Agent | undefined };

const unknownAgents: Agent['settles'] = { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };

/** Returns the agent that an event names, otherwise the agent for which the hook was registered. */
export function agentOfEvent(event: ForeignEvent, named: string | undefined, agents: readonly Agent[]): SourceAgent {
  const source = event.source === undefined || event.source === 'unknown' ? undefined : idOf(event.source);
  const agent = find(source ?? '', agents) ?? (source === undefined && named ? find(named, agents) : undefined);
  if (agent) return { id: agent.id, settles: agent.settles, adapter: agent };
  return { id: source ?? idOf(named ?? '') ?? event.standard, settles: unknownAgents };
}

/** Names of products as ids: `Claude Code` is `claude-code`. */
function idOf(source: string): string | undefined {
  const id = source
    .slice(0, 128)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 64);
  return id === '' ? undefined : id;
}

/** The agent's own payload inside an envelope, if it is certain and of the same session. */
export function insideOf(event: ForeignEvent, agents: readonly Agent[]): { agent: Agent; fields: Fields } | undefined {
  const { payload } = event;
  if (payload === undefined) return undefined;
  const known = recognize(payload, {}, agents);
  if (known === undefined || known.certainty < SURE) return undefined;
  return known.agent.session(payload, {}) === event.session ? { agent: known.agent, fields: payload } : undefined;
}

/** The readings of an event of a standard, with names of actions and ids of calls and subagents. */
export function readingsOf(
  event: ForeignEvent,
  agent: SourceAgent,
  state: SessionState,
  memory: Memory,
): (Reading & ForeignReading)[] {
  const isNew = state.seq === 0;
  return event.readings.flatMap(reading => {
    if (reading.onlyFirst && !isNew) return [];
    const named = withNames(reading, agent.adapter);
    if (reading.event_type === 'Action.Before' || reading.event_type === 'Action.After')
      return [withCall(named, memory)];
    if (reading.pairs === undefined) return [withProvider(named)];
    const depth = named.pairs === 'opens' ? Object.keys(state.fold.subagents).length + 1 : undefined;
    return [withSubagent({ ...named, facts: { ...named.facts, depth } }, event, memory)];
  });
}

/** Splits `provider/model`. */
function withProvider(reading: ForeignReading): ForeignReading {
  const { event_type: type, facts } = reading;
  if (type !== 'Model.Requested' && type !== 'Model.Responded' && type !== 'Model.Failed') return reading;
  const [, provider, model] = /^([\w.-]{1,64})\/(.+)$/s.exec(reading.data.model_id ?? '') ?? [];
  if (model === undefined || facts?.provider !== undefined) return reading;
  return { ...reading, facts: { ...facts, provider, model } };
}

/** Gives the action of a reading the standard's name, and keeps the sender's name beside it. */
function withNames(reading: ForeignReading, adapter: Agent | undefined): ForeignReading {
  if (reading.ours) return reading;
  const { data, facts } = reading;
  const action = 'action' in data && isFields(data.action) ? data.action : undefined;
  const listed = 'action_name' in data && typeof data.action_name === 'string' ? data.action_name : undefined;
  const given = facts?.tool ?? word(action?.name) ?? word(listed);
  if (given === undefined || reading.event_type.startsWith('vendor.')) return reading;
  const { name, tool, mcp } = actionNamed(given, adapter, agents);
  const named = action === undefined ? { action_name: name } : { action: { ...action, name } };
  return {
    ...reading,
    data: { ...data, ...named },
    facts: { ...facts, tool, mcp: facts?.mcp ?? mcp },
  } as ForeignReading;
}

/** Pairs a call without an id with the oldest open call of the same tool and input. */
function withCall(reading: ForeignReading, memory: Memory): ForeignReading {
  if (reading.event_type !== 'Action.Before' && reading.event_type !== 'Action.After') return reading;
  const { action } = reading.data;
  const tool = reading.facts?.tool ?? action.name ?? 'unknown';
  const use = { id: reading.facts?.call, subagent: reading.subagent, tool, input: action.input };
  const opens = reading.event_type === 'Action.Before';
  if (reading.facts?.call !== undefined) {
    if (opens) openCall(use, memory);
    else closeCall(use, memory);
    return reading;
  }
  const denied = reading.data.decision?.outcome === 'deny';
  const failed = denied || action.result?.success === false;
  if (opens) memory.forget('failed', tool);
  const call = opens
    ? openCall(use, memory)
    : (closeCall(use, memory, 'oldest of its tool') ?? (failed ? memory.recall('failed', tool) : undefined));
  // A denied call is over. The next end belongs to another call.
  if (opens && denied) closeCall({ ...use, id: call }, memory);
  // One standard reports a failure twice: as the end of the action and as an error.
  if (failed && call !== undefined) memory.remember('failed', tool, call);
  return { ...reading, key: reading.key ?? call, facts: { ...reading.facts, call } };
}

function withSubagent(reading: ForeignReading, event: ForeignEvent, memory: Memory): ForeignReading {
  const use = { tool: `subagent ${reading.facts?.agent ?? ''}`, input: undefined };
  const number = reading.pairs === 'opens' ? openCall(use, memory) : closeCall(use, memory);
  // The end of a subagent without a known start must not end the session.
  if (number === undefined) return { event_type: `vendor.${event.standard}.${event.native}`, data: {} };
  return { ...reading, pairs: undefined, subagent: `${event.session}.${number}` };
}

/** The source name of an agent's own hooks. */
export const HOOKS = 'hook';

/** Starts and ends of subagents and of the session are separate kinds: a source may report only one of them. */
const kindOf = ({ event_type: type, subagent }: Pick<ForeignReading, 'event_type' | 'subagent'>): string =>
  subagent !== undefined && type.startsWith('Session.') ? `${type} of a subagent` : type;

/** Returns true if a standard reports this type without ids that a transcript could share. */
export function isReportedByStandard(
  state: SessionState,
  reading: Pick<ForeignReading, 'event_type' | 'subagent'>,
): boolean {
  const first = own(state.tellers ?? {}, kindOf(reading));
  return first !== undefined && first.by !== HOOKS && !first.keyed;
}

/**
 * Returns true if another source reports this type of event in this session. With native ids in both sources it returns
 * false, because events with equal ids are one event.
 */
export function isReportedByAnother(state: SessionState, reading: ForeignReading, source: string): boolean {
  const { event_type: type, key } = reading;
  if (type.startsWith('vendor.')) return false;
  state.tellers ??= {};
  const kind = kindOf(reading);
  const first = own(state.tellers, kind);
  if (first === undefined) state.tellers[kind] = { by: source, keyed: key !== undefined };
  else if (first.by === source) first.keyed &&= key !== undefined;
  else return key === undefined || !first.keyed;
  return false;
}

const KNOWN_NAMES = 32;

/**
 * Pairs a turn that a standard announced without an id with the next turn id of the agent's hooks. Events with that id then
 * belong to the announced turn.
 */
export function nameTurn(
  state: SessionState,
  { announced, name }: { announced?: string; name?: string | undefined },
): void {
  state.turnNames ??= { announced: undefined, name: undefined, known: [] };
  const { turnNames } = state;
  if (name !== undefined && (turnNames.name === name || turnNames.known.some(([known]) => known === name))) return;
  turnNames.announced = announced ?? turnNames.announced;
  turnNames.name = name ?? turnNames.name;
  if (turnNames.announced === undefined || turnNames.name === undefined) return;
  turnNames.known.push([turnNames.name, turnNames.announced]);
  if (turnNames.known.length > KNOWN_NAMES) turnNames.known.shift();
  turnNames.announced = undefined;
  turnNames.name = undefined;
}

/** The announced turn of a name. */
export const turnNamed = (state: SessionState, name: string | undefined): string | undefined =>
  state.turnNames?.known.findLast(([known]) => known === name)?.[1] ?? name;
