/**
 * Joins events of the open standards with the session of their agent. An event of a standard names its agent, so it belongs
 * to the same session as that agent's hooks. An event with a native id in both sources is one event. For event types
 * without native ids, the first source of the session counts, and other sources add nothing.
 */
import type { Agent, Memory, Reading } from '../agents/contract/contract.ts';
import { closeCall, openCall } from '../agents/shared/pairing.ts';
import type { Fields } from '../event/event.ts';
import { own } from '../lib/read.ts';
import type { SessionState } from '../session/session-state.ts';
import type { ForeignEvent, ForeignReading } from '../standards/foreign-event.ts';
import { find, recognize, SURE } from './recognize.ts';

/** An unknown agent has hooks only. */
export type Who = Pick<Agent, 'id' | 'settles'> & { readonly agent?: Agent | undefined };

const unknownAgents: Agent['settles'] = { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };

/** The agent that an event names, else the agent that the hook was registered for. */
export function whoTold(event: ForeignEvent, named: string | undefined, agents: readonly Agent[]): Who {
  const source = event.source === undefined || event.source === 'unknown' ? undefined : idOf(event.source);
  const agent = find(source ?? '', agents) ?? (source === undefined && named ? find(named, agents) : undefined);
  if (agent) return { id: agent.id, settles: agent.settles, agent };
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

const MCP = /^mcp__(.+?)__(.+)$/s;

/** The readings of an event of a standard, with names of actions and ids of calls and subagents. */
export function readingsOf(
  event: ForeignEvent,
  who: Who,
  state: SessionState,
  memory: Memory,
): (Reading & ForeignReading)[] {
  const isNew = state.seq === 0;
  return event.readings.flatMap(said => {
    if (said.onlyFirst && !isNew) return [];
    const named = event.standard === 'agent-hooks' ? said : withNames(said, who.agent);
    if (said.event_type === 'Action.Before' || said.event_type === 'Action.After') return [withCall(named, memory)];
    if (said.pairs === undefined) return [withProvider(named)];
    return [withSubagent(named, event, memory)];
  });
}

/** Splits `provider/model`. */
function withProvider(said: ForeignReading): ForeignReading {
  const { event_type: type, facts } = said;
  if (type !== 'Model.Requested' && type !== 'Model.Responded' && type !== 'Model.Failed') return said;
  const [, provider, model] = /^([\w.-]{1,64})\/(.+)$/s.exec(said.data.model_id ?? '') ?? [];
  if (model === undefined || facts?.provider !== undefined) return said;
  return { ...said, facts: { ...facts, provider, model } };
}

/** Maps the native tool names of the other standards. */
function withNames(said: ForeignReading, agent: Agent | undefined): ForeignReading {
  const tool = said.facts?.tool;
  if (tool === undefined || (said.event_type !== 'Action.Before' && said.event_type !== 'Action.After')) return said;
  const mcp = MCP.exec(tool);
  const name = mcp ? `mcp:${mcp[2]}` : (own(agent?.actions ?? {}, tool) ?? tool);
  return {
    ...said,
    data: { ...said.data, action: { ...said.data.action, name } },
    facts: { ...said.facts, ...(mcp ? { tool: mcp[2], mcp: { server: mcp[1] ?? 'unknown' } } : {}) },
  };
}

/** A call without an id is paired with the oldest open call that is alike. */
function withCall(said: ForeignReading, memory: Memory): ForeignReading {
  if (said.event_type !== 'Action.Before' && said.event_type !== 'Action.After') return said;
  const { action } = said.data;
  const tool = said.facts?.tool ?? action.name ?? 'unknown';
  const told = { id: said.facts?.call, subagent: said.subagent, tool, input: action.input };
  const opens = said.event_type === 'Action.Before';
  if (said.facts?.call !== undefined) {
    if (opens) openCall(told, memory);
    else closeCall(told, memory);
    return said;
  }
  const denied = said.data.decision?.outcome === 'deny';
  const failed = denied || action.result?.success === false;
  if (opens) memory.forget('failed', tool);
  const call = opens
    ? openCall(told, memory)
    : (closeCall(told, memory, 'oldest of its tool') ?? (failed ? memory.recall('failed', tool) : undefined));
  // A denied call is over. The next end belongs to another call.
  if (opens && denied) closeCall({ ...told, id: call }, memory);
  // One standard reports a failure twice: as the end of the action and as an error.
  if (failed && call !== undefined) memory.remember('failed', tool, call);
  return { ...said, key: said.key ?? call, facts: { ...said.facts, call } };
}

function withSubagent(said: ForeignReading, event: ForeignEvent, memory: Memory): ForeignReading {
  const told = { tool: `subagent ${said.facts?.agent ?? ''}`, input: undefined };
  const number = said.pairs === 'opens' ? openCall(told, memory) : closeCall(told, memory);
  // The end of a subagent without a known start must not end the session.
  if (number === undefined) return { event_type: `vendor.${event.standard}.${event.native}`, data: {} };
  return { ...said, pairs: undefined, subagent: `${event.session}.${number}` };
}

/** The source name of an agent's own hooks. */
export const HOOKS = 'hook';

/** Starts and ends of subagents and of the session are separate kinds: a source may report only one of them. */
const happening = ({ event_type: type, subagent }: Pick<ForeignReading, 'event_type' | 'subagent'>): string =>
  subagent !== undefined && type.startsWith('Session.') ? `${type} of a subagent` : type;

/** Whether a standard reports this type without ids that a transcript could share. */
export function isToldByStandard(
  state: SessionState,
  reading: Pick<ForeignReading, 'event_type' | 'subagent'>,
): boolean {
  const first = own(state.tellers ?? {}, happening(reading));
  return first !== undefined && first.by !== HOOKS && !first.keyed;
}

/**
 * Whether another source reports this type of event in this session. With native ids in both sources the answer is no,
 * because equal ids make one event.
 */
export function isToldByAnother(state: SessionState, reading: ForeignReading, teller: string): boolean {
  const { event_type: type, key } = reading;
  if (type.startsWith('vendor.')) return false;
  state.tellers ??= {};
  const told = happening(reading);
  const first = own(state.tellers, told);
  if (first === undefined) state.tellers[told] = { by: teller, keyed: key !== undefined };
  else if (first.by === teller) first.keyed &&= key !== undefined;
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
