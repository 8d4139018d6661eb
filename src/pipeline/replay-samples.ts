/**
 * Measures how far an agent conforms to the open standards through otel-hooks. The agent's samples run through the
 * pipeline, and the standards' validators check the events. Facts that samples cannot show, such as an event without a
 * hook, are in the agent's folder.
 */
import {
  type Agent,
  isAbsent,
  type LineReader,
  readerFor,
  type TranscriptReading,
} from '../agents/contract/contract.ts';
import { agents } from '../agents/index.ts';
import { memoryOver, type Remembered } from '../agents/shared/memory.ts';
import { limitsOf } from '../config/config.ts';
import { writingActions } from '../enrich/edits.ts';
import { type Event, type EventType, eventTypes, type Fields, factsOf, isVendor } from '../event/event.ts';
import { keyedHash } from '../lib/hash.ts';
import { newSession, type Pinned, sessionKey } from '../session/session-state.ts';
import { agentHooks } from '../standards/agent-hooks/agent-hooks-validator.ts';
import { openHook } from '../standards/openhook/openhook-validator.ts';
import {
  type Envelope,
  noOpenHook,
  type OpenHookType,
  restOfOpenHook,
  toOpenHook,
} from '../standards/openhook/to-openhook.ts';
import type { Finding, Standard } from '../standards/validation.ts';
import { noCounts, type RoundContext, SessionInRound } from './session-in-round.ts';
import { takeFragment } from './take-fragment.ts';

export interface Samples {
  readonly hooks: readonly HookSample[];
  readonly transcripts: readonly TranscriptSample[];
}
/** Payloads of one recording, in order. */
export interface HookSample {
  readonly name: string;
  readonly payloads: readonly Fields[];
}
export interface TranscriptSample {
  readonly name: string;
  readonly session: string;
  readonly path: string;
  readonly rows: readonly Fields[];
}

export interface Conformance {
  agent: string;
  title: string;
  version: string;
  samples: number;
  /** Samples that were not accepted, with the reason. */
  refused: { name: string; why: string }[];
  openhook: { version: string; level: 0 | 1 | 2 | 3; requirements: Requirement[] };
  /** `concluded`: otel-hooks derives the type from other events. */
  agentHooks: { version: string; reported: ReportedType[]; concluded: EventType[]; unreported: EventType[] };
  /**
   * True if the agent writes transcripts but no sample is a transcript: the types that they report are missing here.
   */
  isUnplayed: boolean;
  /** Findings about the resulting events. */
  findings: (Finding & { standard: string })[];
}
export interface Requirement {
  /** 0: for information, not required by any level. */
  level: 0 | 1 | 2 | 3;
  asks: string;
  /** `unavailable`: the standard asks for it only where it is available. */
  state: 'met' | 'concluded' | 'unavailable' | 'missing';
  /** The hooks that report it, or the reason for the state. */
  how: string;
  by?: { hooks: readonly string[]; transcript: boolean } | undefined;
}
interface ReportedType {
  type: EventType;
  hooks: string[];
  transcript: boolean;
}

export function conformanceOf(agent: Agent, samples: Samples): Conformance {
  const played = play(agent, samples);
  const requirements = requirementsOf(agent, played);
  const reported = eventTypes.flatMap(type => {
    const by = played.reported.get(type);
    return by === undefined ? [] : [{ type, hooks: [...by.hooks].sort(), transcript: by.transcript }];
  });
  return {
    agent: agent.id,
    title: agent.title,
    version: agent.source.version,
    samples: samples.hooks.length + samples.transcripts.length,
    refused: played.refused,
    openhook: { version: openHook.version, level: levelOf(requirements), requirements },
    agentHooks: {
      version: agentHooks.version,
      reported,
      concluded: eventTypes.filter(type => !played.reported.has(type) && concluded.has(type)),
      unreported: eventTypes.filter(type => !played.reported.has(type) && !concluded.has(type)),
    },
    isUnplayed: !isAbsent(agent.transcript) && samples.transcripts.length === 0,
    findings: [
      ...findingsIn('agent-hooks', agentHooks, played.events),
      ...findingsIn('openhook', openHook, played.envelopes),
    ],
  };
}

/** Types that otel-hooks derives: from silence, repeated actions, settings and sums. */
const concluded: ReadonlySet<EventType> = new Set([
  'Session.Abort',
  'Retry.Triggered',
  'Retry.Loop.Detected',
  'Retry.Loop.Aborted',
  'Context.UntilCompaction',
  'Policy.Violation',
]);

interface By {
  hooks: Set<string>;
  transcript: boolean;
}
interface Played {
  reported: Map<string, By>;
  envelopeTypes: Map<OpenHookType, By>;
  events: Event[];
  envelopes: Envelope[];
  refused: { name: string; why: string }[];
}

const START_MS = Date.UTC(2026, 0, 1);

function play(agent: Agent, samples: Samples): Played {
  const played: Played = { reported: new Map(), envelopeTypes: new Map(), events: [], envelopes: [], refused: [] };
  for (const sample of samples.hooks) playHooks(agent, sample, played);
  for (const sample of samples.transcripts) playTranscript(agent, sample, played);
  return played;
}

const contextAt = (nowMs: number): RoundContext => ({
  hash: content => keyedHash('conformance', content),
  nowMs,
  counts: noCounts(),
});

/** Returns false for events that otel-hooks derives. */
const ofAgent = ({ event_type: type }: Event): boolean => !type.startsWith('vendor.otel-hooks.');

function playHooks(agent: Agent, { name, payloads }: HookSample, played: Played): void {
  const sessions = new Map<string, SessionInRound>();
  const events: Event[] = [];
  for (const [i, fields] of payloads.entries()) {
    const payload = Buffer.from(JSON.stringify(fields));
    const fragment = {
      name: `0-0-${i}-sample`,
      header: { tool: agent.id, ppid: '1' },
      payload,
      atMs: START_MS + i * 1_000,
      sizeBytes: payload.length,
    };
    const taken = takeFragment(fragment, agents, opening => {
      const known =
        sessions.get(opening.key) ?? new SessionInRound(newSession(opening, pinned), contextAt(fragment.atMs));
      sessions.set(opening.key, known);
      return known;
    });
    if (taken.fate === 'rejected') {
      played.refused.push({ name: payloads.length > 1 ? `${name}:${i + 1}` : name, why: taken.reason });
      continue;
    }
    for (const session of taken.sessions) events.push(...session.events.splice(0).filter(ofAgent));
  }
  take(played, events, 'hooks');
}

function playTranscript(agent: Agent, { name, session: id, path, rows }: TranscriptSample, played: Played): void {
  const reader = isAbsent(agent.transcript) ? undefined : readerFor(agent.transcript, path);
  if (reader?.format !== 'lines') {
    played.refused.push({ name, why: 'its transcripts are not read by lines' });
    return;
  }
  const state = newSession({ agent, session: id, key: sessionKey(agent.id, id) }, pinned);
  const events = readingsIn(reader, rows, { path, root: id }).flatMap((reading, i) => {
    const session = new SessionInRound(state, contextAt(START_MS + i));
    session.report(reading, { atMs: undefined, subagent: undefined, isAgain: false });
    return session.events.filter(ofAgent);
  });
  take(played, events, 'transcript');
}

function readingsIn(
  { row, rest }: LineReader,
  rows: readonly Fields[],
  place: { path: string; root: string },
): TranscriptReading[] {
  const file = { ...place, companions: [] };
  const remembered: Remembered = {};
  const memory = memoryOver(remembered, content => content.slice(0, 8));
  const entries = [...rows.flatMap(each => row(each, memory, file)), ...(rest?.(memory, file) ?? [])];
  return entries.filter((each): each is TranscriptReading => !('over' in each));
}

function take(played: Played, events: readonly Event[], from: 'hooks' | 'transcript'): void {
  const note = <T>(into: Map<T, By>, what: T, hook: string | undefined): void => {
    const by = into.get(what) ?? { hooks: new Set(), transcript: false };
    into.set(what, by);
    if (from === 'transcript') by.transcript = true;
    else if (hook !== undefined) by.hooks.add(hook);
  };
  const state = noOpenHook();
  const addEnvelopes = (envelopes: readonly Envelope[]): void => {
    for (const envelope of envelopes) {
      played.envelopes.push(envelope);
      note(played.envelopeTypes, envelope.type, envelope.extensions?.['otel-hooks'].native_event);
    }
  };
  for (const event of events) {
    played.events.push(event);
    if (!isVendor(event)) note(played.reported, event.event_type, factsOf(event)?.native);
    addEnvelopes(toOpenHook(state, event));
  }
  addEnvelopes(restOfOpenHook(state));
}

/** Validates each value separately, because samples are not a stream. */
function findingsIn(id: string, standard: Standard, values: readonly object[]): Conformance['findings'] {
  return values.flatMap(value => {
    const validation = standard.validation('sample', {});
    validation.write(JSON.stringify(value));
    return validation.end().findings.map(finding => ({ standard: id, ...finding }));
  });
}

function requirementsOf(agent: Agent, { envelopeTypes }: Played): Requirement[] {
  const asked = (level: 1 | 2, type: OpenHookType): Requirement => {
    const { hooks = new Set<string>(), transcript = false } = envelopeTypes.get(type) ?? {};
    const registered = [...hooks].filter(name => agent.events[name]?.register === undefined).sort();
    if (registered.length > 0 || transcript) {
      const how = [...registered, ...(transcript ? ['transcript'] : [])].join(', ');
      return { level, asks: type, state: 'met', how, by: { hooks: registered, transcript } };
    }
    if (type === 'session.end')
      return {
        level,
        asks: type,
        state: 'concluded',
        how: 'no hook reports it: after an hour of silence, reason timeout',
      };
    const silent = [...hooks].sort();
    const how =
      silent.length > 0
        ? `${silent.join(', ')}: understood, not registered`
        : 'no hook and no transcript of it reports';
    return { level, asks: type, state: 'missing', how };
  };
  return [
    asked(1, 'session.end'),
    asked(2, 'session.start'),
    asked(2, 'prompt.submit'),
    asked(2, 'tool.start'),
    asked(2, 'tool.end'),
    transcriptOf(agent),
    { level: 3, asks: '.openhook.json', state: 'met', how: 'enable --openhook' },
    Object.values(agent.actions).some(name => Object.hasOwn(writingActions, name))
      ? { level: 0, asks: 'file.write', state: 'met', how: 'with a keyed hash of the path' }
      : { level: 0, asks: 'file.write', state: 'missing', how: 'no action of it is known to write files' },
  ];
}

function transcriptOf({ transcript }: Agent): Requirement {
  const path = { level: 2, asks: 'transcript_path' } as const;
  if (isAbsent(transcript)) return { ...path, state: 'unavailable', how: transcript.absent };
  return transcript.namedFiles === undefined
    ? {
        ...path,
        state: 'unavailable',
        how: 'its hooks name none; where a file named after the session is found, that one',
      }
    : { ...path, state: 'met', how: 'as its hooks name it' };
}

/** A level is reached when no requirement up to it is missing. */
function levelOf(requirements: readonly Requirement[]): 0 | 1 | 2 | 3 {
  const lowest = requirements.filter(({ level, state }) => level > 0 && state === 'missing').map(({ level }) => level);
  return (Math.min(4, ...lowest) - 1) as 0 | 1 | 2 | 3;
}

const pinned: Pinned = {
  destinations: [],
  resource: {},
  denyAsError: false,
  caller: undefined,
  sampler: { kind: 'always_on', ratio: 1 },
  limits: limitsOf({}),
};
