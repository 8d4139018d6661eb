/** What the state folder keeps of a root session between rounds. JSON with a version; some KB while it runs. */

import type { Agent } from '../agents/contract/contract.ts';
import type { Remembered } from '../agents/shared/memory.ts';
import { type FoldState, openFold } from '../assemble/state.ts';
import type { Limits, Sampler } from '../config/config.ts';
import type { ContentPlaces, Included, LogLevel, Semconv } from '../config/schema.ts';
import type { Rates } from '../enrich/cost.ts';
import type { Rule } from '../enrich/risk/rules.ts';
import type { Watch, WatchSettings } from '../enrich/watch.ts';
import type { Modes } from '../event/content-classes.ts';
import { hexDigest } from '../lib/hash.ts';

/** What a session's first event decided for all of it. */
export interface Pinned {
  /** Ids of the destinations that get what this session yields. */
  destinations: string[];
  /** What its commands named of these, where they did. */
  providers?: string[] | undefined;
  /** A mistake in the configuration kept it from all destinations: what the hook said is asked again, until it is mended. */
  undecided?:
    | { cwd: string | undefined; header: Readonly<Record<string, string>>; isUserTold?: true | undefined }
    | undefined;
  resource: { readonly [name: string]: string };
  denyAsError: boolean;
  /** Each turn is a trace of its own. */
  shape?: 'turn' | undefined;
  /** Turns have no spans. */
  turns?: 'off' | undefined;
  /** Nothing of the repository is told. */
  repository?: false | undefined;
  /** What the hook's TRACEPARENT becomes, and what it said, where that is a valid one. */
  caller: { policy: 'link' | 'parent'; traceId: string; spanId: string } | undefined;
  /** Share of traces that leave, by trace id. */
  sampler: Sampler;
  limits: Limits;
  /** Which names of the GenAI conventions leave; absent: the newest. */
  semconv?: Exclude<Semconv, 'latest'> | undefined;
  /** Spans are named as the Python package of this name did. */
  spanNames?: 'v0' | undefined;
  /** What is set of risk; absent: the rules that ship, as they are. */
  risk?: RiskSettings | undefined;
  /** What is set of loops and budgets; absent: the usual. */
  watch?: WatchSettings | undefined;
  /** What is set of metrics; absent: closed sets, so many series, with exemplars. */
  metrics?: MetricSettings | undefined;
  /** What is set of cost; absent: by the table that ships. */
  cost?: CostSettings | undefined;
  /** What is set of content; absent: none stays. */
  content?: ContentSettings | undefined;
  /** The least weight of records that leave; absent: all do. */
  level?: LogLevel | undefined;
  /** Who works here, in the mode asked for. */
  user?: string | undefined;
}

export interface MetricSettings {
  include?: readonly Included[] | undefined;
  series?: number | undefined;
  exemplars?: boolean | undefined;
}

export interface CostSettings {
  enabled: boolean;
  /** By model: its rates, or who serves it by the table. */
  prices: { readonly [model: string]: Rates | string };
}

export interface ContentSettings {
  modes: Modes;
  on: ContentPlaces;
  /** Longest text, in characters. */
  longest: number;
  /** Hashes of content are under this key instead of the installation's. */
  hashKey?: string | undefined;
  /** Which of vendors' metadata stays. */
  metadata?: readonly string[] | undefined;
  /** What else is a secret, and what is none: RE2. */
  patterns: readonly string[];
  allow: readonly string[];
}

export interface RiskSettings {
  enabled: boolean;
  rules: readonly Rule[];
  overrides: { readonly [id: string]: number | 'off' };
}

/** How far the session's transcripts were read. */
export interface TranscriptState {
  /** What hooks said of its files, or who imported it. */
  main?: string | undefined;
  cwd?: string | undefined;
  subagents: { id: string; path: string }[];
  files: { [path: string]: FileState };
  /** What the files have told to its end, and when that was: newest last. */
  over: [what: string, atMs: number][];
  /** Since when a closed span waits for its transcript, by the name that settles it. */
  waits: { [of: string]: number };
  /** The session whose rows this one's file begins with. */
  kin?: { key: string; session: string } | undefined;
  /** The state was lost and made again from the journal: what is read anew is known by its ids alone. */
  isAgain?: true | undefined;
  /** An import stopped before its end. What is left is the next import's, for a day: a delivery would count it as of today. */
  isPart?: true | undefined;
  /** A wait was over before the file had told all: the session's sums are not whole. */
  tooLate?: true | undefined;
}

export interface FileState {
  /** Everything before is told. */
  at: number;
  /** Hash of the last bytes before it: another one means that the file was written anew. */
  mark?: string | undefined;
  memory: Remembered;
  /** Time of the last row; rows without one share it. */
  lastMs?: number | undefined;
  /** The id of its first row was asked for. */
  isKnown?: true | undefined;
  /** The agent's, as its rows said it last. */
  agentVersion?: string | undefined;
  /** Of a document: as what it was read last. */
  version?: string | undefined;
  /** Told up to here before it was written anew: what comes again is known by its ids alone, however old. */
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
  /** Who told each type of event first: an agent's own hooks, or a standard. */
  tellers?: { [type: string]: { by: string; keyed: boolean } };
  /** Turns that were announced without a name, and what the agent calls them. */
  turnNames?: { announced: string | undefined; name: string | undefined; known: [name: string, turn: string][] };
  /** Events without native ids: how many like this one there were. */
  ordinals: { [likeness: string]: number };
  /** The last payloads: hash, parent process, arrival. */
  recent: [hash: string, parent: string, atMs: number][];
  seq: number;
  /** Wall clock minus boot clock, so that a clock that jumps does not bend the session. */
  clock: { boot: string; offsetMs: number } | undefined;
  /** Arrival of the newest event, on this machine's clock: silence is measured from here. */
  arrivedMs: number;
  /** So many events of its journal are of before it was forgotten: what they tell has left. */
  former?: number | undefined;
  /** Arrival of the first hook: from here on hooks tell what transcripts would tell once more. */
  hookedMs?: number | undefined;
  /** Hooks told how it began, so they tell of all of it. */
  isHookedWhole?: true | undefined;
  /** What a transcript told in place of hooks, oldest first: a hook that tells of the same later adds nothing. */
  inPlace?: string[] | undefined;
  transcripts?: TranscriptState | undefined;
  /** What repeats, and what was used so far. */
  watch?: Watch | undefined;
  /** The folder that it works in, where that is in a repository, and the commit that was last seen there. */
  repository?: { cwd: string; revision: string | undefined } | undefined;
  fold: FoldState;
}

export const noTranscripts = (): TranscriptState => ({ subagents: [], files: {}, over: [], waits: {} });

export const SEEN_IDS = 4_096;
export const RECENT_PAYLOADS = 32;
export const ORDINALS = 512;

/** Folder names come from here alone, so that no id of a stranger ever becomes a path. */
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

/** As its hooks named it; else the file that was read, where it is this session's alone, as its name then says. */
export function transcriptOf({ session, transcripts }: SessionState): string | undefined {
  const found = Object.keys(transcripts?.files ?? {}).find(
    path => session.length >= SHORTEST_NAME && path.includes(session),
  );
  return transcripts?.main ?? found;
}

/** Shorter ids occur in other paths by chance. */
export const SHORTEST_NAME = 8;
