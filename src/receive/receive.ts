import { type Agent, isAbsent, type NamedFiles, type Reading } from '../agents/contract/contract.ts';
import { memoryOver } from '../agents/shared/memory.ts';
import { UNKNOWN_EVENT } from '../agents/shared/unknown-event.ts';
import type { Hash } from '../enrich/redact.ts';
import type { Fields } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { isId } from '../identify/event-ids.ts';
import { plainName } from '../identify/identify.ts';
import { own } from '../lib/read.ts';
import { statedEvent, statedMetric } from '../python/payload-fields.ts';
import type { SessionState } from '../session/session-state.ts';
import type { ForeignEvent, ForeignReading } from '../standards/foreign-event.ts';
import { agentOfEvent, HOOKS, insideOf, readingsOf, type SourceAgent } from './foreign.ts';
import { type Bad, type Item, itemsIn, textOf, type Unread } from './items.ts';
import { recognize, SURE } from './recognize.ts';

export type Reject = Unread | 'bad-session-id' | 'no-event-name';

export interface Opening {
  agent: Pick<Agent, 'id' | 'settles'>;
  session: string;
  key: string;
  cwd: string | undefined;
  /** The user, if the first event names one. */
  user?: string | undefined;
}

/** The agent and session of an item, and its reader. */
export interface EventSource {
  agent: SourceAgent;
  session: string;
  native: string;
  cwd: string | undefined;
  /** The address at which the agent works, if it does not work in a folder. */
  address?: string | undefined;
  certainty: number;
  odd: readonly string[];
  /** The source: the agent's hooks, or a standard. */
  reporter: string;
  /** Time and id of an envelope. */
  atMs: number | undefined;
  id: string | undefined;
  user?: string | undefined;
  /** The repository that the event states. */
  repository?: ForeignEvent['repository'];
  /** The version of the agent. */
  version: string | undefined;
  /** Paths of transcripts that the payload names. */
  files: NamedFiles | undefined;
  isEdge: boolean;
  read(state: SessionState, hash: Hash): ForeignReading[];
}

export type Received =
  | { readonly reason: Reject }
  | {
      /** In order of arrival. */
      readonly sources: readonly EventSource[];
      /** Items of a list that could not be read, beside others that could. */
      readonly bad: readonly Bad<Reject>[];
      readonly oddities: readonly string[];
    };

/** Cuts a fragment into items and finds their agents and sessions. A single reason when no item can be read. */
export function receive(fragment: Fragment, agents: readonly Agent[]): Received {
  const read = itemsIn(fragment.payload);
  if ('reason' in read) return read;
  const sources: EventSource[] = [];
  const bad: Bad<Reject>[] = [...read.bad];
  for (const item of read.items) {
    const source = sourceOf(item, fragment, agents);
    if (typeof source === 'string') bad.push({ reason: source, text: textOf(item.fields) });
    else sources.push(source);
  }
  const [first] = bad;
  if (sources.length === 0 && first !== undefined) return { reason: first.reason };
  const oddities = [...(read.isCut ? ['payload_cut'] : []), ...sources.flatMap(source => source.odd)];
  if (sources.some(({ certainty }) => certainty < SURE)) oddities.push('unsure_agent');
  return { sources, bad, oddities };
}

/** Returns the reason why an item would be quarantined. The HTTP front end returns it to the sender. */
export function refusalOf(
  item: Item,
  fragment: Pick<Fragment, 'header' | 'boot'>,
  agents: readonly Agent[],
): Reject | undefined {
  const source = sourceOf(item, fragment, agents);
  return typeof source === 'string' ? source : undefined;
}

export function sourceOf(
  item: Item,
  fragment: Pick<Fragment, 'header' | 'boot'>,
  agents: readonly Agent[],
): EventSource | Reject {
  const { header } = fragment;
  const { fields, event, wrapped } = item;
  const word = { flag: header.tool, variable: header.OTEL_HOOKS_SOURCE_TOOL };
  if (event !== undefined) {
    const inside = insideOf(event, agents);
    if (!isId(event.session)) return 'bad-session-id';
    const agent = inside
      ? { id: inside.agent.id, settles: inside.agent.settles, agent: inside.agent }
      : agentOfEvent(event, word.flag ?? word.variable, agents);
    const native = inside?.agent.eventName(inside.fields);
    return {
      agent,
      session: event.session,
      native: native ?? event.native,
      cwd: event.cwd ?? header.cwd,
      address: event.address,
      certainty: 1,
      odd: event.odd ?? [],
      reporter: inside && native !== undefined ? HOOKS : event.standard,
      atMs: event.atMs ?? wrapped?.atMs,
      id: wrapped?.id,
      user: event.user,
      repository: event.repository,
      version: event.version ?? inside?.agent.version?.(inside.fields),
      files: event.transcript === undefined ? undefined : { main: event.transcript },
      isEdge: event.readings.some(reading => reading.event_type === 'Session.End'),
      read: (state, hash) =>
        inside && native !== undefined
          ? normalize(inside.agent, native, inside.fields, state, hash)
          : readingsOf(event, agent, state, memoryOver(state.memory, hash)),
    };
  }
  const recognized = recognize(fields, word, agents);
  if (recognized === undefined) return 'unknown-agent';
  const { agent, certainty } = recognized;
  const metric = statedMetric(fields);
  const session = metric?.session ?? agent.session(fields, { cwd: header.cwd, ppid: header.ppid, boot: fragment.boot });
  if (session === undefined) return 'no-session-id';
  if (!isId(session)) return 'bad-session-id';
  const native =
    metric?.native ?? agent.eventName(fields) ?? header.event ?? statedEvent(fields) ?? agent.eventByShape?.(fields);
  if (native === undefined) return 'no-event-name';
  return {
    agent: { id: agent.id, settles: agent.settles, adapter: agent },
    session,
    native,
    cwd: agent.cwd(fields) ?? header.cwd,
    certainty,
    odd: unknownIn(agent, native, metric?.read),
    reporter: HOOKS,
    atMs: wrapped?.atMs,
    id: wrapped?.id,
    version: agent.version?.(fields),
    files: isAbsent(agent.transcript) ? undefined : agent.transcript.namedFiles?.(fields),
    isEdge: own(agent.events, native)?.edge === true,
    read: (state, hash) =>
      metric?.read
        ? [metric.read(agent.actions, memoryOver(state.memory, hash))]
        : normalize(agent, native, fields, state, hash),
  };
}

/** A metric has a name of its own, which no table of an agent has. */
const unknownIn = (agent: Agent, native: string, metric: unknown): string[] =>
  metric !== undefined || Object.hasOwn(agent.events, native)
    ? []
    : [`${UNKNOWN_EVENT}${agent.id}.${plainName(native)}`];

function normalize(agent: Agent, native: string, fields: Fields, state: SessionState, hash: Hash): Reading[] {
  const known = Object.hasOwn(agent.events, native) ? agent.events[native] : undefined;
  if (known) return known.read(fields, memoryOver(state.memory, hash));
  return [{ event_type: `vendor.${agent.id}.${plainName(native)}`, data: {} }];
}
