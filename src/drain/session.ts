/** What the state folder keeps of a root session between rounds. JSON with a version; some KB while it runs. */

import type { Agent } from '../agents/contract.ts';
import type { Remembered } from '../agents/memory.ts';
import { type FoldState, openFold } from '../assemble/state.ts';
import type { Limits, Sampler } from '../config/config.ts';
import { hexDigest } from '../lib/hash.ts';

/** What a session's first event decided for all of it. */
export interface Pinned {
  /** Ids of the destinations that get what this session yields. */
  destinations: string[];
  resource: { readonly [name: string]: string };
  denyAsError: boolean;
  /** Share of traces that leave, by trace id. */
  /** What the hook's TRACEPARENT becomes, and what it said, where that is a valid one. */
  caller: { policy: 'link' | 'parent'; traceId: string; spanId: string } | undefined;
  sampler: Sampler;
  limits: Limits;
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
  /** Events without native ids: how many like this one there were. */
  ordinals: { [likeness: string]: number };
  /** The last payloads: hash, parent process, arrival. */
  recent: [hash: string, parent: string, atMs: number][];
  seq: number;
  /** Wall clock minus boot clock, so that a clock that jumps does not bend the session. */
  clock: { boot: string; offsetMs: number } | undefined;
  /** Arrival of the newest event, on this machine's clock: silence is measured from here. */
  arrivedMs: number;
  fold: FoldState;
}

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
  fold: openFold(agent.id, session, agent.settles),
});
