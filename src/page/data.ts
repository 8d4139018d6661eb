/** The values that the server of `otel-hooks view` sends to its page, and that a file of `show --html` holds. */

import type { SpanCounts } from '../journal/span-counts.ts';
import type { PackedRows } from './packed-rows.ts';

export interface SessionRow extends SpanCounts {
  /** The name of the journal; of the first one, if the session was resumed under other ids. */
  key: string;
  session: string;
  agent: string;
  firstMs: number;
  lastMs: number;
  /** Without the time between the parts of a resumed session. */
  lengthMs: number;
  state: 'running' | 'ended' | 'aborted';
  /** The ids of the parts of a resumed session, the first one first. */
  resumedAs?: string[] | undefined;
  isTrial: boolean;
  repository?: string | undefined;
  branch?: string | undefined;
  cwd?: string | undefined;
  models: string[];
  risk?: string | undefined;
}

/** The sessions that the page does not have yet. */
export interface SessionList {
  v: 2;
  stateFolder: string;
  /** The page asks with this name and number for later changes. Another `made` means: these are all sessions. */
  made: string;
  n: number;
  rows: PackedRows;
  /** The keys of sessions that no longer exist. */
  gone: string[];
}

export interface PageSpan {
  id: string;
  parent?: string | undefined;
  trace: string;
  kind: 'session' | 'turn' | 'plan' | 'subagent' | 'action' | 'chat';
  name: string;
  startMs: number;
  endMs: number;
  isOpen?: true | undefined;
  error?: string | undefined;
  isDenied?: true | undefined;
  risk?: string | undefined;
  /** When a person was asked, and for how long. */
  askedMs?: number | undefined;
  waitMs?: number | undefined;
  /** The model of a response. */
  model?: string | undefined;
  /** Who allowed or denied the action: the source, and what is known of the reason. */
  decidedBy?: string | undefined;
  /** Short texts, such as the outcome, the decision and its source. */
  notes: string[];
  /** The usage of a turn, a response, a subagent or a session. */
  usage?: Usage | undefined;
}

export interface Usage {
  input?: number | undefined;
  output?: number | undefined;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
  costUsd?: number | undefined;
}

export interface PageEvent {
  atMs: number;
  type: string;
  level: string;
  line: string;
  /** The span to which the event belongs. */
  span?: string | undefined;
}

/** The fill of the context after a response, or as the agent reports it. */
export interface ContextPoint {
  atMs: number;
  tokens?: number | undefined;
  /** The size of the context, if the agent states it. */
  limit?: number | undefined;
  isCompaction?: true | undefined;
}

/** The journal of a session, or the part of it that the page does not have yet. */
export interface JournalPart {
  key: string;
  /** The page asks with this name and its counts for the part after them. Another `made` means: begin again. */
  made: string;
  spans: PageSpan[];
  /** All open spans; they replace the earlier open ones. */
  open: PageSpan[];
  events: PageEvent[];
  context: ContextPoint[];
  damagedLines: number;
  /** Classes of content that the journal holds. */
  content: string[];
  /** The session that this one continues. */
  previous?: string | undefined;
  commits: string[];
}

export interface SessionPart {
  v: 1;
  row: SessionRow;
  /** One journal, or several if the session was resumed under other ids. */
  journals: JournalPart[];
}

export interface SpanDetails {
  v: 1;
  attributes: [name: string, value: string][];
  links: string[];
  records: { atMs: number; level: string; line: string; attributes: [name: string, value: string][] }[];
}

export interface ImportState {
  v: 1;
  state: 'possible' | 'running' | 'done' | 'failed' | 'none';
  transcripts: number;
  bytes: number;
  doneTranscripts: number;
  doneBytes: number;
  message?: string | undefined;
}

/** A whole session, in a file of `show --html`. */
export interface Snapshot {
  v: 1;
  part: SessionPart;
  details: { [span: string]: SpanDetails };
  /** Says who made the file and what it leaves out. */
  note: string;
}
