/**
 * Converts events of Agent Hooks, in the order of a root session's journal, to envelopes of OpenHook 0.1. The
 * conversion is a fold, because the end of a session carries the session's totals.
 *
 * OpenHook has no subagent sessions: an envelope about a subagent carries the root session's id, and the subagent's id
 * as `agent_id`. `session.end` is returned after the session's transcript was read to its end: only then the tokens are
 * known and the transcript file is complete. Facts without a field in an envelope go to `extensions["otel-hooks"]`;
 * unknown values are left out.
 */
import {
  type DataOf,
  type Edit,
  type EndReason,
  type Event,
  type Facts,
  FILE_WRITE,
  type Fields,
  factsOf,
  type Risk,
  rootSessionOf,
  SETTLED,
  type TimeSource,
} from '../../event/event.ts';
import { wellFormed } from '../../lib/fitted.ts';
import { uuidOf } from '../../lib/hash.ts';
import { number, own, put, whole } from '../../lib/read.ts';

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

/** docs/openhook.md describes the fields. */
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

/** Facts that the journal does not hold. The caller adds those that it knows and may disclose. */
export interface Beyond {
  /** The folder that the agent works in. */
  cwd?: string | undefined;
  /** The path of the session's transcript. */
  transcript?: string | undefined;
  /** The caller found no transcript; `session.end` then carries `transcript: none`. */
  hasNoTranscript?: boolean | undefined;
}

/** The facts of earlier events. JSON of bounded size. */
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
  /** The end of the session, which waits until the transcript is read. */
  ended?: Ended | undefined;
}

interface OpenCall {
  tool: string | undefined;
  ms: number;
  by: TimeSource | undefined;
  edits?: Edit[] | undefined;
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

/**
 * Returns the envelopes of this event, and those that waited for it. `facts.over` ends calls that have no end event.
 * Changes `state`, which the caller owns.
 */
export function toOpenHook(state: OpenHookState, event: Event, beyond: Beyond = {}): Envelope[] {
  if (event.event_type === SETTLED) {
    const isWhole = event.data.reason !== 'timeout';
    return String(event.data.of).startsWith('session:') ? endOf(state, beyond, isWhole) : [];
  }
  const facts: Partial<Facts> = factsOf(event) ?? {};
  const isRoot = event.parent_session_id === undefined || event.parent_session_id === event.session_id;
  const step: Step = { state, event, facts, isRoot, beyond, out: [] };
  for (const call of facts.over ?? []) {
    const open = take(state, call);
    if (open)
      add(
        step,
        'tool.end',
        { tool_name: open.tool, tool_call_id: call },
        { ...agentOf(open), outcome: 'unknown' },
        call,
      );
  }
  addEnvelopesOf(step, event);
  return step.out;
}

/** One event on its way to envelopes. */
interface Step {
  state: OpenHookState;
  event: Event;
  facts: Partial<Facts>;
  isRoot: boolean;
  beyond: Beyond;
  out: Envelope[];
}

function addEnvelopesOf(step: Step, event: Event): void {
  const { state, facts, isRoot } = step;
  if (event.event_type === 'Model.Responded') addTokens(step, event.data);
  else if (event.event_type === 'Action.Before') startCall(step, event.data);
  else if (event.event_type === 'Action.After') endCall(step, event.data);
  else if (event.event_type === FILE_WRITE) passWrite(step, event.data);
  if (!isRoot) return;
  switch (event.event_type) {
    case 'Session.Start':
      step.out.push(...endOf(state, step.beyond));
      state.cwd = facts.cwd ?? state.cwd;
      state.start ??= { ms: Date.parse(event.timestamp), by: facts.time ?? 'native' };
      noteModel(state, facts.model, facts.provider);
      add(step, 'session.start', { model: facts.model });
      break;
    case 'Session.End':
    case 'Session.Abort':
      noteModel(state, facts.model, facts.provider);
      step.out.push(...endOf(state, step.beyond));
      state.ended = endedBy(step, event.data);
      break;
    case 'Prompt.Submitted': {
      const { prompt, prompt_length: length } = event.data;
      step.out.push(...endOf(state, step.beyond));
      // OpenHook counts characters. Without the text, the journaled length is the only one that is known.
      add(step, 'prompt.submit', { prompt_length: prompt === undefined ? length : [...prompt].length });
      break;
    }
  }
}

/** Adds an envelope. An envelope with a `part` gets a separate id, because another envelope has the event's id. */
function add(step: Step, type: OpenHookType, data: Envelope['data'], more: Additions = {}, part?: string): void {
  const { state, event, facts, isRoot, beyond } = step;
  const id = part === undefined ? event.event_id : uuidOf(TAG, event.event_id, part);
  const from = { id, source: sourceOf(event), time: event.timestamp, session: rootSessionOf(event) };
  step.out.push(envelope(state, { ...from, type, data }, { ...additionsOf(event, facts, isRoot), ...more }, beyond));
}

function endedBy({ state, event, facts, isRoot }: Step, data: DataOf<'Session.End'>): Ended {
  const { end_reason: reason, usage } = data;
  const { totals } = facts;
  return {
    id: event.event_id,
    source: sourceOf(event),
    time: event.timestamp,
    session: rootSessionOf(event),
    reason: reason && own(reasons, reason),
    duration: whole(usage?.duration_ms) ?? sinceStart(state, event, facts),
    totals: totals && { input: totals.input_tokens, output: totals.output_tokens },
    more: additionsOf(event, facts, isRoot),
  };
}

function addTokens({ state, facts, isRoot }: Step, data: DataOf<'Model.Responded'>): void {
  const { model_id: model, input_tokens: input, output_tokens: output } = data;
  if (isRoot) noteModel(state, model ?? facts.model, facts.provider);
  if (input !== undefined) state.input = (state.input ?? 0) + input;
  if (output !== undefined) state.output = (state.output ?? 0) + output;
}

function startCall(step: Step, data: DataOf<'Action.Before'>): void {
  const { state, event, facts, isRoot } = step;
  const tool = toolOf(data.action.name, facts);
  const call = facts.call ?? uuidOf(TAG, event.event_id, 'call');
  open(state, call, {
    tool,
    ms: Date.parse(event.timestamp),
    by: facts.time,
    edits: facts.edits,
    agent: isRoot ? undefined : event.session_id,
    type: facts.agent,
  });
  add(step, 'tool.start', { tool_name: tool, tool_call_id: call }, syntheticOf(facts));
}

function endCall(step: Step, { action, decision }: DataOf<'Action.After'>): void {
  const { state, event, facts } = step;
  const named = toolOf(action.name, facts);
  const call = facts.call ?? oldest(state, named) ?? uuidOf(TAG, event.event_id, 'call');
  const before = take(state, call);
  const success = decision?.outcome === 'deny' ? false : action.result?.success;
  const nativeMs = whole(facts.duration_ms);
  const between = betweenOf(before, event, facts);
  add(
    step,
    'tool.end',
    {
      tool_name: named ?? before?.tool,
      tool_call_id: call,
      status: statusOf(success),
      duration_ms: nativeMs ?? between,
    },
    {
      ...syntheticOf(facts),
      duration_source: nativeMs === undefined && between !== undefined ? 'events' : undefined,
    },
  );
  if (success) addWrites(step, facts.edits ?? before?.edits ?? [], call);
}

/** Adds one envelope for each contiguous part of a file that was written, or one for the file if no lines are known. */
function addWrites(step: Step, edits: readonly Edit[], call: string | undefined): void {
  let part = 0;
  for (const { hash, path = hash, operation, lines } of edits) {
    for (const [first, last] of lines ?? [[]]) {
      const data = {
        path,
        operation,
        start_line: first,
        end_line: last,
        model: modelOf(step.state),
        tool_call_id: call,
      };
      add(step, 'file.write', data, {}, part === 0 ? 'file.write' : `file.write ${part}`);
      part += 1;
    }
  }
}

/** Passes on the write that another program reported. */
function passWrite(step: Step, { operation, start_line, end_line }: Fields): void {
  const data = { operation: words.has(operation) ? String(operation) : undefined, ...linesOf(start_line, end_line) };
  for (const { hash, path = hash } of step.facts.edits ?? []) {
    const model = modelOf(step.state);
    add(step, 'file.write', { path, ...data, model, tool_call_id: step.facts.call });
  }
}

const words: ReadonlySet<unknown> = new Set(['create', 'update', 'delete']);

const linesOf = (first: unknown, last: unknown): Envelope['data'] => ({
  start_line: whole(number(first)),
  end_line: whole(number(last)),
});

function statusOf(success: boolean | undefined): 'success' | 'error' | undefined {
  if (success === undefined) return undefined;
  return success ? 'success' : 'error';
}

/**
 * Returns the envelopes that still wait when no more events come: the end of a session whose transcript stays unread.
 */
export const restOfOpenHook = (state: OpenHookState, beyond: Beyond = {}): Envelope[] => endOf(state, beyond);

const TAG = 'otel-hooks/openhook/1';

const reasons: Readonly<Record<EndReason, string>> = {
  exit: 'user_exit',
  manual_reset: 'user_exit',
  completed: 'completed',
  error: 'error',
  idle_timeout: 'timeout',
};

function endOf(state: OpenHookState, beyond: Beyond, isWhole = true): Envelope[] {
  const { ended } = state;
  if (ended === undefined) return [];
  state.ended = undefined;
  const build = (type: OpenHookType, data: Envelope['data'], more: Additions, id = ended.id): Envelope =>
    envelope(state, { ...ended, id, type, data }, more, beyond);
  const out = Object.entries(state.open).map(([call, open]) =>
    build(
      'tool.end',
      { tool_name: open.tool, tool_call_id: call },
      { native_event: ended.more.native_event, ...agentOf(open), outcome: 'unknown' },
      uuidOf(TAG, ended.id, call),
    ),
  );
  state.open = {};
  const hasTokens = state.input !== undefined || state.output !== undefined;
  const { input, output } = hasTokens ? state : (ended.totals ?? {});
  out.push(
    build(
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

/** Writes the fields in the order of the standard's own writers, and leaves out empty parts. */
function envelope(
  state: OpenHookState,
  {
    id,
    source,
    time,
    session,
    type,
    data,
  }: Pick<Envelope, 'id' | 'source' | 'time' | 'type' | 'data'> & { session: string },
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

/** `call-<number>` is an id that pairing made for a call without an id. */
const syntheticOf = ({ call }: Partial<Facts>): Additions =>
  call === undefined || /^call-\d+$/.test(call) ? { id_synthetic: true } : {};

/** Tools of a Model Context Protocol server get the name that agents use: `mcp__<server>__<tool>`. */
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

/** The time since the session's start; undefined if start and end were not measured with the same clock. */
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

/**
 * Returns a path as a `file:` URI: a path with a drive letter, of a server, or of POSIX. Special characters are
 * encoded.
 */
function uriOf(folder: string): string {
  const isWindows = /^(?:[A-Za-z]:|\\\\)/.test(folder);
  const path = (isWindows ? folder.replaceAll('\\', '/') : folder)
    .split('/')
    .map(part => (/^[A-Za-z]:$/.test(part) ? part : encodeURIComponent(wellFormed(part))))
    .join('/');
  if (path.startsWith('//')) return `file:${path}`;
  return path.startsWith('/') ? `file://${path}` : `file:///${path}`;
}
