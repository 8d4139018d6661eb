/** The state of a root session between rounds: JSON with a version, some KB while the session runs. */

import type { Agent } from '../agents/contract/contract.ts';
import type { Remembered } from '../agents/shared/memory.ts';
import { type FoldState, openFold } from '../assemble/state.ts';
import type { Limits, Sampler } from '../config/config.ts';
import type { ContentPlaces, Included, Kept, LogLevel, Semconv, TypeLevel } from '../config/words.ts';
import type { Rates } from '../enrich/cost.ts';
import type { Rule } from '../enrich/risk/rules.ts';
import type { Watch, WatchSettings } from '../enrich/watch.ts';
import type { ContentClass, Modes } from '../event/content-classes.ts';
import { hexDigest } from '../lib/hash.ts';

/** The configuration of a session, decided at its first event. */
export interface Pinned {
  /** Ids of the destinations of this session. */
  destinations: string[];
  /** The providers that its hook commands named. */
  providers?: string[] | undefined;
  /**
   * Set if a broken configuration keeps the session from all destinations: the facts of its first hook, so that they
   * can be used again.
   */
  undecided?:
    | { cwd: string | undefined; header: Readonly<Record<string, string>>; isUserTold?: true | undefined }
    | undefined;
  resource: { readonly [name: string]: string };
  denyAsError: boolean;
  /** Each turn is a trace of its own. */
  shape?: 'turn' | undefined;
  /** `off`: turns have no spans. */
  turns?: 'off' | undefined;
  /** False: repository facts are not recorded. */
  repository?: false | undefined;
  /** The valid TRACEPARENT of the first hook, and its use. */
  caller: { policy: 'link' | 'parent'; traceId: string; spanId: string; flags?: number | undefined } | undefined;
  /** The share of sessions whose traces are sent, by the id of the first trace. */
  sampler: Sampler;
  /** Spans that are sent although the session is not sampled. */
  keep?: readonly Kept[] | undefined;
  limits: Limits;
  /** The version of the GenAI names. Absent: the newest. */
  semconv?: Exclude<Semconv, 'latest'> | undefined;
  /** `v0`: spans have the names of the Python package otel-hooks. */
  spanNames?: 'v0' | undefined;
  /** Risk settings. Absent: the default rules. */
  risk?: RiskSettings | undefined;
  /** Settings of loops and budgets. Absent: the defaults. */
  watch?: WatchSettings | undefined;
  /** Metric settings. Absent: closed sets, the default number of series, exemplars. */
  metrics?: MetricSettings | undefined;
  /** Cost settings. Absent: the built-in price list. */
  cost?: CostSettings | undefined;
  /** Content settings. Absent: no content is kept. */
  content?: ContentSettings | undefined;
  /** The lowest level of records that are sent. Absent: all. */
  level?: LogLevel | undefined;
  /** Other levels by type of event or its beginning. */
  levels?: { readonly [pattern: string]: TypeLevel } | undefined;
  /** The user, in the configured mode. */
  user?: string | undefined;
}

export interface MetricSettings {
  include?: readonly Included[] | undefined;
  series?: number | undefined;
  exemplars?: boolean | undefined;
}

export interface CostSettings {
  enabled: boolean;
  /** By model: its rates, or its provider in the price list. */
  prices: { readonly [model: string]: Rates | string };
}

export interface ContentSettings {
  modes: Modes;
  on: ContentPlaces;
  /** Classes of which hashes are kept beside the text. */
  hashes?: readonly ContentClass[] | undefined;
  /** Longest text, in characters. */
  longest: number;
  /** The key of content hashes, instead of the installation's key. */
  hashKey?: string | undefined;
  /** Paths of vendor metadata that is kept. */
  metadata?: readonly string[] | undefined;
  /** RE2 patterns of further secrets, and of texts that are not secrets. */
  patterns: readonly string[];
  allow: readonly string[];
}

export interface RiskSettings {
  enabled: boolean;
  rules: readonly Rule[];
  overrides: { readonly [id: string]: number | 'off' };
}

/** How far the transcripts of a session were read. */
export interface TranscriptState {
  /** The main file, as hooks or an import named it. */
  main?: string | undefined;
  cwd?: string | undefined;
  subagents: { id: string; path: string }[];
  files: { [path: string]: FileState };
  /** Turns and subagents whose end was read, with its time, newest last. */
  over: [what: string, atMs: number][];
  /** Since when each closed span waits for the transcript, by the name in its Settled event. */
  waits: { [of: string]: number };
  /** The session whose rows are at the start of this session's file. */
  kin?: { key: string; session: string } | undefined;
  /** The state was rebuilt from the journal, so rows that are read again are known by their ids only. */
  isAgain?: true | undefined;
  /**
   * An import stopped early. For a day the rest is left to the next import, since delivery would count it as of today.
   */
  isPart?: true | undefined;
  /** A wait ended before the file was complete, so the sums are incomplete. */
  tooLate?: true | undefined;
}

export interface FileState {
  /** Everything before this offset was read. */
  at: number;
  /** Hash of the last bytes before the offset. A different hash means that the file was rewritten. */
  mark?: string | undefined;
  memory: Remembered;
  /** Time of the last row. Rows without a time take it over. */
  lastMs?: number | undefined;
  /** The origin of the file is known. */
  isKnown?: true | undefined;
  /** The version of the agent in the last row that states one. */
  agentVersion?: string | undefined;
  /** The version of a document that was read last. */
  version?: string | undefined;
  /** Read up to here before the file was rewritten. Rows up to here are known by their ids only. */
  again?: number | undefined;
}

export interface SessionState {
  v: 1;
  key: string;
  agent: string;
  session: string;
  pinned: Pinned;
  memory: Remembered;
  /** Short forms of the last event ids, oldest first. */
  seen: string[];
  /** The first source of each event type: the agent's hooks, or a standard. */
  tellers?: { [type: string]: { by: string; keyed: boolean } };
  /** Turns that were announced without an id, and the ids that the agent gave them. */
  turnNames?: { announced: string | undefined; name: string | undefined; known: [name: string, turn: string][] };
  /** Numbers of equal events without native ids. */
  ordinals: { [likeness: string]: number };
  /** The last payloads: hash, parent process, arrival. */
  recent: [hash: string, parent: string, atMs: number][];
  seq: number;
  /** Wall clock minus boot clock, so that a jump of the clock does not distort the session. */
  clock: { boot: string; offsetMs: number } | undefined;
  /** Arrival of the newest event, on this machine's clock. Silence begins here. */
  arrivedMs: number;
  /** Number of journal events from before the state was rebuilt. Their output was sent. */
  former?: number | undefined;
  /** Arrival of the first hook. From then on, hooks report what transcripts repeat. */
  hookedMs?: number | undefined;
  /** When a session began that continues another one. Older rows are copies of that session. */
  bornMs?: number | undefined;
  /** A hook reported the start, so hooks cover the whole session. */
  isHookedWhole?: true | undefined;
  /** Events that a transcript reported in place of hooks, oldest first. A later hook about them adds nothing. */
  inPlace?: string[] | undefined;
  transcripts?: TranscriptState | undefined;
  /** State of the detection of loops and budgets. */
  watch?: Watch | undefined;
  /** The working folder in a repository, and the last known commit. */
  repository?: { cwd: string; revision: string | undefined } | undefined;
  fold: FoldState;
}

export const noTranscripts = (): TranscriptState => ({ subagents: [], files: {}, over: [], waits: {} });

export const SEEN_IDS = 4_096;
export const RECENT_PAYLOADS = 32;
export const ORDINALS = 512;

/** The only source of file names, so that an id from outside never becomes a path. */
export const sessionKey = (agent: string, session: string): string =>
  hexDigest('otel-hooks/session/1', agent, session).slice(0, 32);

export const newSession = (
  { agent, session, key }: { agent: Pick<Agent, 'id' | 'settles'>; session: string; key: string },
  pinned: Pinned,
): SessionState => ({
  v: 1,
  key,
  agent: agent.id,
  session,
  pinned,
  memory: {},
  seen: [],
  ordinals: {},
  recent: [],
  seq: 0,
  clock: undefined,
  arrivedMs: 0,
  fold: openFold(agent.id, session, agent.settles, pinned.shape),
});

/** The transcript that hooks named, else a file that was read and carries the session's id in its name. */
export function transcriptOf({ session, transcripts }: SessionState): string | undefined {
  const found = Object.keys(transcripts?.files ?? {}).find(
    path => session.length >= SHORTEST_NAME && path.includes(session),
  );
  return transcripts?.main ?? found;
}

/** Shorter ids may occur in other paths. */
export const SHORTEST_NAME = 8;
