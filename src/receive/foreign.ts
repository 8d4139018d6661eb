/**
 * Events of the open standards, brought to where an agent's own hooks arrive. An event names its agent, so it belongs to the
 * same session as that agent's hooks. What both tell with a native id is one event; of what has none, a session believes the
 * one who told it first, and the others add nothing.
 */
import type { Agent, Memory, Reading } from '../agents/contract/contract.ts';
import { closeCall, openCall } from '../agents/shared/pairing.ts';
import type { Fields } from '../event/event.ts';
import { own } from '../lib/read.ts';
import type { SessionState } from '../session/session-state.ts';
import type { ToldEvent, ToldReading } from '../standards/foreign-event.ts';
import { find, recognize, SURE } from './recognize.ts';

/** Of an agent that nobody here knows, hooks are all there is. */
export type Who = Pick<Agent, 'id' | 'settles'> & { readonly agent?: Agent | undefined };

const unknownAgents: Agent['settles'] = { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };

/** The agent that an event names; where it names none, the one that the hook was registered for. */
export function whoTold(event: ToldEvent, named: string | undefined, agents: readonly Agent[]): Who {
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

/** An agent's own payload inside an envelope is read as that agent's, when it surely is and of the same session. */
export function insideOf(event: ToldEvent, agents: readonly Agent[]): { agent: Agent; fields: Fields } | undefined {
  const { payload } = event;
  if (payload === undefined) return undefined;
  const known = recognize(payload, {}, agents);
  if (known === undefined || known.certainty < SURE) return undefined;
  return known.agent.session(payload, {}) === event.session ? { agent: known.agent, fields: payload } : undefined;
}

const MCP = /^mcp__(.+?)__(.+)$/s;

/** Readings of the model: actions by their names here, calls and subagents with ids. */
export function readingsOf(event: ToldEvent, who: Who, state: SessionState, memory: Memory): (Reading & ToldReading)[] {
  const isNew = state.seq === 0;
  return event.says.flatMap(said => {
    if (said.onlyFirst && !isNew) return [];
    const named = event.standard === 'agent-hooks' ? said : withNames(said, who.agent);
    if (said.event_type === 'Action.Before' || said.event_type === 'Action.After') return [withCall(named, memory)];
    if (said.pairs === undefined) return [withProvider(named)];
    return [withSubagent(named, event, memory)];
  });
}

/** Who serves a model stands before its name. */
function withProvider(said: ToldReading): ToldReading {
  const { event_type: type, facts } = said;
  if (type !== 'Model.Requested' && type !== 'Model.Responded' && type !== 'Model.Failed') return said;
  const [, provider, model] = /^([\w.-]{1,64})\/(.+)$/s.exec(said.data.model_id ?? '') ?? [];
  if (model === undefined || facts?.provider !== undefined) return said;
  return { ...said, facts: { ...facts, provider, model } };
}

/** Tools have their native names in the other standards. */
function withNames(said: ToldReading, agent: Agent | undefined): ToldReading {
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

/** A call with an id is known by it; one without is the oldest open one that looks alike. */
function withCall(said: ToldReading, memory: Memory): ToldReading {
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
  // What is denied before it runs is over: the next end is another call's.
  if (opens && denied) closeCall({ ...told, id: call }, memory);
  // One standard tells a failure twice: as the end of the action, and as an error.
  if (failed && call !== undefined) memory.remember('failed', tool, call);
  return { ...said, key: said.key ?? call, facts: { ...said.facts, call } };
}

function withSubagent(said: ToldReading, event: ToldEvent, memory: Memory): ToldReading {
  const told = { tool: `subagent ${said.facts?.agent ?? ''}`, input: undefined };
  const number = said.pairs === 'opens' ? openCall(told, memory) : closeCall(told, memory);
  // The end of a subagent that nobody saw begin must not end the session.
  if (number === undefined) return { event_type: `vendor.${event.standard}.${event.native}`, data: {} };
  return { ...said, pairs: undefined, subagent: `${event.session}.${number}` };
}

/** The teller that an agent's own hooks are. */
export const HOOKS = 'hook';

/** Beginnings and ends of subagents are not those of the session: who tells of these need not tell of that. */
const happening = ({ event_type: type, subagent }: Pick<ToldReading, 'event_type' | 'subagent'>): string =>
  subagent !== undefined && type.startsWith('Session.') ? `${type} of a subagent` : type;

/** Told by a standard, without ids that a transcript could share. */
export function isToldByStandard(state: SessionState, reading: Pick<ToldReading, 'event_type' | 'subagent'>): boolean {
  const first = own(state.tellers ?? {}, happening(reading));
  return first !== undefined && first.by !== HOOKS && !first.keyed;
}

/**
 * Whether somebody else tells of this type of event in this session: whoever did so first. With native ids on both sides
 * that does not matter, because the ids meet.
 */
export function isToldByAnother(state: SessionState, reading: ToldReading, teller: string): boolean {
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
 * A turn that a standard announced, without a name, and the name that the agent's hooks give to it: the next one that each
 * of them tells. What the agent then says of that name belongs to the turn that was announced.
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

/** The turn of a name, where it was announced without one. */
export const turnNamed = (state: SessionState, name: string | undefined): string | undefined =>
  state.turnNames?.known.findLast(([known]) => known === name)?.[1] ?? name;
