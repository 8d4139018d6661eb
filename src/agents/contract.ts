/**
 * What an agent's folder says about its agent. Everything is a table or a pure function: payload in, events out.
 * Nothing here knows OpenTelemetry, the disk or the clock.
 */
import type { AgentMode, Body, Facts, Fields } from '../event/event.ts';

/** What an agent lacks, and why: nothing is silently missing. */
export interface Absent {
  readonly absent: string;
}
export const absent = (why: string): Absent => ({ absent: why });
export const isAbsent = (value: unknown): value is Absent =>
  typeof value === 'object' && value !== null && 'absent' in value;

/**
 * What a reader must remember between the events of one session. It is handed in and kept by the caller, as JSON, with
 * the session's state. `remember` drops the oldest entry of its kind beyond the limit, so it stays small by construction.
 */
export interface Memory {
  /** A short hash of content under the installation's key: tells what is alike, and nobody else what it was. */
  likeness(content: string): string;
  recall(kind: string, key: string): string | undefined;
  remember(kind: string, key: string, value: string): void;
  forget(kind: string, key: string): void;
  /** The entries of a kind, oldest first. */
  list(kind: string): [key: string, value: string][];
}

/** One event as an agent's reader yields it; identity, times and redaction are added by the drain. */
export type Reading = Body & {
  /** The native id that makes this event one, whichever source tells it. None: payload hash and ordinal. */
  key?: string | undefined;
  facts?: Partial<Omit<Facts, 'v' | 'seq' | 'time'>> | undefined;
  actor?: 'user' | 'ai_agent' | 'system' | undefined;
  mode?: AgentMode | undefined;
  /** Set when the event is a subagent's: its native id. */
  subagent?: string | undefined;
  /** The agent's own time of the event, where it states one (Unix ms). */
  atMs?: number | undefined;
};

/** The kinds of span that wait until they are settled. */
export type Settling = 'action' | 'turn' | 'subagent' | 'session';

export interface HookEvent {
  /** Deliver is worth starting at once: sessions, prompts, ends of turns and subagents. */
  readonly edge?: true;
  /** Fields that hold closed sets or numbers, never content; they may be kept on vendor events. */
  readonly plain?: readonly string[];
  /** `false`: `enable` does not register it, because it tells us nothing or because a silent hook would change what the agent does. */
  readonly register?: false;
  read(fields: Fields, memory: Memory): Reading[];
}

/** One place in a settings file that runs a command of ours, and the text edit that adds or removes it. */
export interface SettingsFile {
  readonly scopes: readonly Scope[];
  path(scope: Scope, places: Places): string;
  /** `text` undefined: there is no file yet. Throws nothing: an unexpected file is a refusal with its place. */
  add(text: string | undefined, commands: ReadonlyMap<string, string>): Edit;
  remove(text: string): Edit;
}
export type Scope = 'global' | 'project' | 'local';
export interface Places {
  readonly home: string;
  readonly project: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}
/** `text` undefined after a removal: the file held nothing but ours and goes. */
export type Edit =
  | { ok: true; text: string | undefined; changed: boolean; events: string[] }
  | { ok: false; line: number; column: number; why: string };

/** One hook of a session that is played to show what comes of it. */
export interface DemoHook {
  /** Pause before it. */
  afterMs: number;
  event: string;
  /** The agent's id of the action that it is about. */
  call: string | undefined;
  payload: Fields;
  /** Starts with the former one, as hooks of parallel calls do. */
  together?: true;
}

/** As a duration: the time since the action began. Real processes take as long as they take. */
export const SINCE_BEFORE = -1;

export interface Agent {
  /** Folder name, registry key, `--tool`, `source.tool`. */
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly title: string;
  /** Provider of the agent's models where its payloads do not say (`gen_ai.provider.name`). */
  readonly provider?: string;
  /** What the facts here were verified against. */
  readonly source: { readonly docs: string; readonly version: string; readonly checked: string };
  /** How surely is this payload this agent's? 0 to 1. */
  signs(fields: Fields): number;
  eventName(fields: Fields): string | undefined;
  session(fields: Fields): string | undefined;
  cwd(fields: Fields): string | undefined;
  version?(fields: Fields): string | undefined;
  /** Every native event that is known. An unknown one is kept as `vendor.<id>.<native name>`. */
  readonly events: Readonly<Record<string, HookEvent>>;
  /** Names of built-in tools that may stand on metrics, with their Agent Hooks action name. */
  readonly actions: Readonly<Record<string, string>>;
  /** What closes each kind of span for good: the closing hook, or the transcript read past it. */
  readonly settles: Readonly<Record<Settling, 'hook' | 'transcript'>>;
  readonly transcript: Absent;
  /** What its hooks must print, if anything; never a decision. */
  readonly reply: { readonly stdout: string };
  readonly settings: SettingsFile | Absent;
  /** A believable session of it. */
  readonly demo: ((session: string, folder: string) => DemoHook[]) | Absent;
}
