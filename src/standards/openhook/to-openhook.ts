/**
 * OpenHook 0.1 as output: events of Agent Hooks, in the order of a root session's journal, become envelopes. A fold, since
 * the end of a session carries what the session added up to.
 *
 * A subagent is no session there: what its agent does carries the session's id, and `agent_id` beside it. `session.end` goes
 * out when the session's transcript was read to its end: only then its tokens are known, and the file is whole for whoever reads it.
 * What has no place in an envelope stands under `extensions["otel-hooks"]`; what is unknown is left out.
 */
import {
  type EndReason,
  type Event,
  type Facts,
  factsOf,
  type Risk,
  rootSessionOf,
  SETTLED,
  type TimeSource,
} from '../../event/event.ts';
import { wellFormed } from '../../lib/fitted.ts';
import { uuidOf } from '../../lib/hash.ts';
import { own, put, whole } from '../../lib/read.ts';

export const openHookTypes = [
  'session.start',
  'session.end',
  'prompt.submit',
  'tool.start',
  'tool.end',
  'file.write',
] as const;
export type OpenHookType = (typeof openHookTypes)[number];

export interface Envelope {
  openhook: '0.1';
  id: string;
  source: string;
  type: OpenHookType;
  time: string;
  session_id: string;
  data?: { [field: string]: string | number | undefined };
  context?: string | undefined;
  extensions?: { 'otel-hooks': Additions };
}

/** docs/openhook.md says what each is. */
interface Additions {
  seq?: number | undefined;
  native_event?: string | undefined;
  turn_id?: string | undefined;
  agent_id?: string | undefined;
  agent_type?: string | undefined;
  decision?: string | undefined;
  decision_source?: string | undefined;
  risk?: Risk | undefined;
  id_synthetic?: true | undefined;
  duration_source?: 'events' | undefined;
  outcome?: 'unknown' | undefined;
  transcript?: 'none' | undefined;
}

/** What the journal does not hold, as far as the caller knows it and may tell it. */
export interface Beyond {
  /** The folder that the agent works in. */
  cwd?: string | undefined;
  /** The path of the session's transcript. */
  transcript?: string | undefined;
  /** The caller looked for the transcript, and there is none: `session.end` says so. */
  hasNoTranscript?: boolean | undefined;
}

/** What must be known of the events before. JSON, and bounded. */
export interface OpenHookState {
  v: 1;
  cwd?: string | undefined;
  start?: { ms: number; by: TimeSource } | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  input?: number | undefined;
  output?: number | undefined;
  /** Calls that have begun, oldest first. */
  open: { [call: string]: OpenCall };
  /** The end that waits until all is told. */
  ended?: Ended | undefined;
}

interface OpenCall {
  tool: string | undefined;
  ms: number;
  by: TimeSource | undefined;
  path?: string | undefined;
  agent?: string | undefined;
  type?: string | undefined;
}

interface Ended {
  id: string;
  source: string;
  time: string;
  session: string;
  reason: string | undefined;
  duration: number | undefined;
  totals: { input: number | undefined; output: number | undefined } | undefined;
  more: Additions;
}

const MOST_OPEN = 1_024;

export const noOpenHook = (): OpenHookState => ({ v: 1, open: {} });

/** The envelopes that this event makes, and those that waited for it. Changes `state`, which the caller owns. */
export function toOpenHook(state: OpenHookState, event: Event, beyond: Beyond = {}): Envelope[] {
  const facts: Partial<Facts> = factsOf(event) ?? {};
  const isRoot = event.parent_session_id === undefined || event.parent_session_id === event.session_id;
  if (event.event_type === SETTLED) {
    const isWhole = event.data.reason !== 'timeout';
    return String(event.data.of).startsWith('session:') ? endOf(state, beyond, isWhole) : [];
  }
  const out: Envelope[] = [];
  const say = (type: OpenHookType, data: Envelope['data'], more: Additions = {}, part?: string): void => {
    const id = part === undefined ? event.event_id : uuidOf(TAG, event.event_id, part);
    const from = { id, source: sourceOf(event), time: event.timestamp, session: rootSessionOf(event) };
    out.push(envelope(state, from, type, data, { ...additionsOf(event, facts, isRoot), ...more }, beyond));
  };
  for (const call of facts.over ?? []) {
    const open = take(state, call);
    if (open)
      say('tool.end', { tool_name: open.tool, tool_call_id: call }, { ...agentOf(open), outcome: 'unknown' }, call);
  }
  switch (event.event_type) {
    case 'Session.Start':
      if (!isRoot) break;
      out.push(...endOf(state, beyond));
      state.cwd = facts.cwd ?? state.cwd;
      state.start ??= { ms: Date.parse(event.timestamp), by: facts.time ?? 'native' };
      noteModel(state, facts.model, facts.provider);
      say('session.start', { model: facts.model });
      break;
    case 'Session.End':
    case 'Session.Abort': {
      if (!isRoot) break;
      noteModel(state, facts.model, facts.provider);
      const { end_reason: reason, usage } = event.data;
      const { totals } = facts;
      out.push(...endOf(state, beyond));
      state.ended = {
        id: event.event_id,
        source: sourceOf(event),
        time: event.timestamp,
        session: rootSessionOf(event),
        reason: reason && own(reasons, reason),
        duration: whole(usage?.duration_ms) ?? sinceStart(state, event, facts),
        totals: totals && { input: totals.input_tokens, output: totals.output_tokens },
        more: additionsOf(event, facts, isRoot),
      };
      break;
    }
    case 'Prompt.Submitted':
      if (!isRoot) break;
      out.push(...endOf(state, beyond));
      // As characters are counted there, where the text itself was kept; else as it was journaled.
      say('prompt.submit', {
        prompt_length: event.data.prompt === undefined ? event.data.prompt_length : [...event.data.prompt].length,
      });
      break;
    case 'Model.Responded': {
      const { model_id: model, input_tokens: input, output_tokens: output } = event.data;
      if (isRoot) noteModel(state, model ?? facts.model, facts.provider);
      if (input !== undefined) state.input = (state.input ?? 0) + input;
      if (output !== undefined) state.output = (state.output ?? 0) + output;
      break;
    }
    case 'Action.Before': {
      const tool = toolOf(event.data.action.name, facts);
      const call = facts.call ?? uuidOf(TAG, event.event_id, 'call');
      open(state, call, {
        tool,
        ms: Date.parse(event.timestamp),
        by: facts.time,
        path: facts.path,
        agent: isRoot ? undefined : event.session_id,
        type: facts.agent,
      });
      say('tool.start', { tool_name: tool, tool_call_id: call }, syntheticOf(facts));
      break;
    }
    case 'Action.After': {
      const { action, decision } = event.data;
      const named = toolOf(action.name, facts);
      const call = facts.call ?? oldest(state, named) ?? uuidOf(TAG, event.event_id, 'call');
      const before = take(state, call);
      const tool = named ?? before?.tool;
      const isDenied = decision?.outcome === 'deny';
      const success = isDenied ? false : action.result?.success;
      const between = betweenOf(before, event, facts);
      say(
        'tool.end',
        {
          tool_name: tool,
          tool_call_id: call,
          status: success === undefined ? undefined : success ? 'success' : 'error',
          duration_ms: whole(facts.duration_ms) ?? between,
        },
        {
          ...syntheticOf(facts),
          duration_source: whole(facts.duration_ms) === undefined && between !== undefined ? 'events' : undefined,
        },
      );
      const path = facts.path ?? before?.path;
      if (success && path !== undefined && Object.hasOwn(writes, action.name ?? ''))
        say(
          'file.write',
          { path, operation: writes[action.name ?? ''], model: modelOf(state), tool_call_id: call },
          {},
          'file.write',
        );
      break;
    }
  }
  return out;
}

/** What waits still, when nothing more comes: the end of a session whose transcript nobody will read. */
export const restOfOpenHook = (state: OpenHookState, beyond: Beyond = {}): Envelope[] => endOf(state, beyond);

const TAG = 'otel-hooks/openhook/1';

const reasons: Readonly<Record<EndReason, string>> = {
  exit: 'user_exit',
  manual_reset: 'user_exit',
  completed: 'completed',
  error: 'error',
  idle_timeout: 'timeout',
};

/** Actions that change a file, and how; whether one that writes or edits makes the file nobody says. */
export const writes: Readonly<Record<string, 'delete' | undefined>> = {
  write_file: undefined,
  code_edit: undefined,
  delete_file: 'delete',
};

function endOf(state: OpenHookState, beyond: Beyond, isWhole = true): Envelope[] {
  const { ended } = state;
  if (ended === undefined) return [];
  state.ended = undefined;
  const say = (type: OpenHookType, data: Envelope['data'], more: Additions, id = ended.id): Envelope =>
    envelope(state, { ...ended, id }, type, data, more, beyond);
  const out = Object.entries(state.open).map(([call, open]) =>
    say(
      'tool.end',
      { tool_name: open.tool, tool_call_id: call },
      { native_event: ended.more.native_event, ...agentOf(open), outcome: 'unknown' },
      uuidOf(TAG, ended.id, call),
    ),
  );
  state.open = {};
  const isTold = state.input !== undefined || state.output !== undefined;
  const { input, output } = isTold ? state : (ended.totals ?? {});
  out.push(
    say(
      'session.end',
      {
        transcript_path: beyond.transcript,
        reason: ended.reason,
        model: state.model,
        duration_ms: ended.duration,
        ...(isWhole ? { input_tokens: input, output_tokens: output } : {}),
      },
      beyond.hasNoTranscript ? { ...ended.more, transcript: 'none' } : ended.more,
    ),
  );
  return out;
}

/** In the order of the standard's own writers; empty parts are left out. */
function envelope(
  state: OpenHookState,
  { id, source, time, session }: { id: string; source: string; time: string; session: string },
  type: OpenHookType,
  data: Envelope['data'],
  additions: Additions,
  { cwd = state.cwd }: Beyond,
): Envelope {
  return {
    openhook: '0.1',
    id,
    source,
    type,
    time,
    session_id: session,
    ...(isEmpty(data ?? {}) ? {} : { data }),
    ...(cwd === undefined ? {} : { context: uriOf(cwd) }),
    ...(isEmpty(additions) ? {} : { extensions: { 'otel-hooks': additions } }),
  };
}

const isEmpty = (part: object): boolean => Object.values(part).every(value => value === undefined);

const additionsOf = (event: Event, facts: Partial<Facts>, isRoot: boolean): Additions => ({
  seq: facts.seq,
  native_event: facts.native,
  turn_id: facts.turn,
  agent_id: isRoot ? undefined : event.session_id,
  agent_type: facts.agent,
  decision: 'decision' in event.data ? (event.data.decision as { outcome?: string } | undefined)?.outcome : undefined,
  decision_source: facts.decision?.source,
  risk: event.risk,
});

const agentOf = ({ agent, type }: OpenCall): Additions => ({ agent_id: agent, agent_type: type });

/** Numbers that pairing gave to calls without ids are no ids of the agent's either. */
const syntheticOf = ({ call }: Partial<Facts>): Additions =>
  call === undefined || /^call-\d+$/.test(call) ? { id_synthetic: true } : {};

/** As agents themselves name what a server of the Model Context Protocol offers. */
const toolOf = (name: string | undefined, { tool, mcp }: Partial<Facts>): string | undefined =>
  mcp === undefined || tool === undefined ? (tool ?? name) : `mcp__${mcp.server}__${tool}`;

const sourceOf = ({ source }: Event): string => (/^[a-z][a-z0-9-]*$/.test(source.tool) ? source.tool : 'unknown');

function noteModel(state: OpenHookState, model: string | undefined, provider: string | undefined): void {
  if (model === undefined) return;
  state.model = model;
  state.provider = provider;
}

const modelOf = ({ model, provider }: OpenHookState): string | undefined =>
  model === undefined || provider === undefined ? model : `${provider}/${model}`;

/** Both ends are of one clock, or nobody knows. */
function sinceStart({ start }: OpenHookState, event: Event, { time }: Partial<Facts>): number | undefined {
  const ms = Date.parse(event.timestamp) - (start?.ms ?? Number.NaN);
  return start?.by === (time ?? 'native') && ms >= 0 ? ms : undefined;
}

function betweenOf(before: OpenCall | undefined, event: Event, { time }: Partial<Facts>): number | undefined {
  const ms = Date.parse(event.timestamp) - (before?.ms ?? Number.NaN);
  return before?.by === time && ms >= 0 ? ms : undefined;
}

function open(state: OpenHookState, call: string, opened: OpenCall): void {
  put(state.open, call, opened);
  const [oldest, ...others] = Object.keys(state.open);
  if (others.length >= MOST_OPEN && oldest !== undefined) delete state.open[oldest];
}

function take(state: OpenHookState, call: string): OpenCall | undefined {
  const known = own(state.open, call);
  if (known !== undefined) delete state.open[call];
  return known;
}

const oldest = ({ open }: OpenHookState, tool: string | undefined): string | undefined =>
  Object.entries(open).find(([, each]) => each.tool === tool)?.[0];

/** A path as a URI: of a drive, of a server, or as it is. Whatever is no plain character of a path is encoded. */
function uriOf(folder: string): string {
  const isWindows = /^(?:[A-Za-z]:|\\\\)/.test(folder);
  const path = (isWindows ? folder.replaceAll('\\', '/') : folder)
    .split('/')
    .map(part => (/^[A-Za-z]:$/.test(part) ? part : encodeURIComponent(wellFormed(part))))
    .join('/');
  if (path.startsWith('//')) return `file:${path}`;
  return path.startsWith('/') ? `file://${path}` : `file:///${path}`;
}
