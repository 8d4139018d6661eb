/**
 * The contract between an agent's folder and the rest. An adapter consists of tables and pure functions: payloads in,
 * events out. It knows nothing of OpenTelemetry, the disk or the clock.
 */
import type { AgentMode, Body, EditFacts, Facts, Fields } from '../../event/event.ts';
import type { Provider } from '../../interchange/provider.ts';
import type { Truth } from '../shared/truth.ts';

/** A part that an agent lacks, with the reason, so that nothing is silently missing. */
export interface Absent {
  readonly absent: string;
}
export const absent = (why: string): Absent => ({ absent: why });
export const isAbsent = (value: unknown): value is Absent =>
  typeof value === 'object' && value !== null && 'absent' in value;

/**
 * Values that a reader keeps between the events of one session. The caller passes the memory in and stores it as JSON
 * with the state of the session. `remember` drops the oldest entry of a kind beyond the limit, so the memory stays
 * small.
 */
export interface Memory {
  /**
   * Returns a short hash of content under the installation's key: equal contents have equal hashes, and no reader of
   * the hash learns the content.
   */
  likeness(content: string): string;
  recall(kind: string, key: string): string | undefined;
  remember(kind: string, key: string, value: string): void;
  forget(kind: string, key: string): void;
  /** The entries of a kind, oldest first. */
  list(kind: string): [key: string, value: string][];
}

/** One event as an agent's reader returns it. Later stages add identity and times and redact it. */
export type Reading = Body & {
  /**
   * The native id of the event, equal in hook and transcript. Without it, the hash of the payload and an ordinal
   * identify the event.
   */
  key?: string | undefined;
  facts?: Partial<Omit<Facts, 'v' | 'seq' | 'time'>> | undefined;
  actor?: 'user' | 'ai_agent' | 'system' | undefined;
  mode?: AgentMode | undefined;
  /**
   * The result of an action in the agent's own form. It is kept only if the user asked for results; equal results are
   * always detected.
   */
  output?: unknown;
  /** The file or folder that an event of a vendor is about. It is kept only if the user asked for paths. */
  path?: string | undefined;
  /** The files that the action wrote, if its result states more about them than its input does. */
  edits?: readonly WrittenFile[] | undefined;
  /** The native id of the subagent that the event belongs to. */
  subagent?: string | undefined;
  /** The agent's own time of the event (Unix ms). */
  atMs?: number | undefined;
};

export interface WrittenFile extends EditFacts {
  path: string;
}

/** The kinds of spans that wait until they are settled. */
export type Settling = 'action' | 'turn' | 'subagent' | 'session';

export interface HookEvent {
  /** An event after which delivery starts at once: starts of sessions, prompts, ends of turns and subagents. */
  readonly edge?: true;
  /** Fields that hold closed sets or numbers, never content. A vendor event may keep them. */
  readonly plain?: readonly string[];
  /**
   * Whether `enable` registers the event; without a value, it does.
   *
   * * `all`: only with `--all-events`.
   * * `named`: only with `--include EVENT`, because it is very frequent, or because a slow hook changes the agent's
   *   behaviour.
   * * `files`: only with `--include EVENT=FILE|FILE`; the agent watches these files.
   * * `status-line`: only with `--status-line`. It is a command of the settings and not a hook.
   * * `false`: never, because another event reports the same, or because a silent hook would change the agent's
   *   behaviour.
   */
  readonly register?: Registration;
  read(fields: Fields, memory: Memory): Reading[];
}

export type Registration = 'all' | 'named' | 'files' | 'status-line' | false;

/** The process that ran the hook, as its front end saw it. It identifies the session if the payload does not. */
export interface Sender {
  readonly cwd?: string | undefined;
  /** The parent process, and the boot in which its id is valid. */
  readonly ppid?: string | undefined;
  readonly boot?: string | undefined;
}

/**
 * How hooks are registered with an agent: files and their shapes, the shell that runs the commands, and the steps left
 * to the user.
 */
export interface Settings {
  readonly scopes: readonly Scope[];
  /** Evidence that the agent is installed: programs in PATH, and folders that it creates. */
  readonly installed: { readonly programs: readonly string[]; folders(places: Places): readonly string[] };
  readonly runs: { readonly posix: PosixRunner; readonly windows: WindowsRunner };
  /**
   * Every file of a scope that may hold entries of ours. `read` returns the text of a readable file, `names` the names
   * in a folder.
   */
  files(
    scope: Scope,
    places: SettingsPlaces,
    read: (path: string) => string | undefined,
    names: Look['names'],
  ): readonly SettingsFile[];
  /** Steps and facts for the user after the file was written. */
  readonly afterwards: string;
  /** Files of narrower scopes whose own status line replaces the one of a scope in this folder. */
  replacesLine?(
    scope: Scope,
    places: SettingsPlaces,
    read: (path: string) => string | undefined,
  ): readonly { file: string; scope: Scope }[];
  /** Settings of the user that keep hooks from running. */
  obstacles?(places: SettingsPlaces, read: (path: string) => string | undefined): readonly Obstacle[];
  /**
   * Further files whose hooks the agent runs: files of plugins, extensions and organizations. Our commands there run in
   * addition to the ones in the settings.
   */
  runsToo?(places: SettingsPlaces, read: (path: string) => string | undefined, names: Look['names']): readonly string[];
  /** The payload of a first event, as the agent would send it. `enable` tries the written command with it. */
  proof(session: string, folder: string, atMs: number): { readonly event: string; readonly payload: Fields };
}

export interface Obstacle {
  readonly file: string;
  /** Completes the sentence "hooks are registered, but". */
  readonly why: string;
  readonly next: string;
}

/**
 * `sh`: a POSIX shell runs the command. `any shell`: the user's shell runs it. `program`: it may be started without a
 * shell. `itself`: the agent runs the file itself.
 */
export type PosixRunner = 'sh' | 'any shell' | 'program' | 'itself';
/** `either`: the shell is not documented. */
export type WindowsRunner = 'cmd' | 'powershell' | 'either';

/** The command for an event: one of the two for this machine, both in a file that machines share. */
export interface HookCommand {
  readonly posix?: string | undefined;
  readonly windows?: string | undefined;
  /** The names of files that the agent watches for this event, joined by `|`. */
  readonly files?: string | undefined;
}

/** A file that runs our commands, and the text edits that add or remove them. */
export interface SettingsFile {
  readonly path: string;
  /** The file is a program: a new one is made executable. */
  readonly isExecutable?: true;
  /**
   * `text` is undefined if there is no file yet. The function never throws: an unexpected file gives a refusal with its
   * place. Without this function, our entries are only looked for in the file, and no longer written.
   */
  add?(text: string | undefined, commands: ReadonlyMap<string, HookCommand>): Edit;
  remove(text: string): Edit;
  /** Our entries in the file; none if it cannot be parsed. */
  entries(text: string): readonly Entry[];
  /** The number of hooks of other programs in the file. Absent if such a file never holds any. */
  others?(text: string): number;
}

export interface Entry {
  readonly event: string;
  readonly command: HookCommand;
}

export type Scope = 'global' | 'project' | 'local';
export interface Places {
  readonly home: string;
  readonly project: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}
export interface SettingsPlaces extends Places {
  readonly platform: string;
}
/** `text` is undefined after a removal if the file held only our entries: it is deleted. */
export type Edit =
  | { ok: true; text: string | undefined; changed: boolean; events: string[] }
  | { ok: false; line: number; column: number; why: string };

/** One hook of the session that the demonstration plays. */
export interface DemoHook {
  /** The pause before the hook. */
  afterMs: number;
  event: string;
  /** The agent's id of the action that the hook is about. */
  call: string | undefined;
  payload: Fields;
  /** The hook starts together with the previous one, as hooks of parallel calls do. */
  together?: true;
  /**
   * The rows that the transcript has before the hook, without times. `rowsIn` names another file, such as a subagent's.
   */
  rows?: Fields[];
  /** Rows that are written after the hook: the result of an action. */
  rowsAfter?: Fields[];
  rowsIn?: string;
}

/** As a duration: the time since the action began, because real processes vary. */
export const SINCE_BEFORE = -1;

/**
 * The transcripts of an agent, and how they are read.
 *
 * The host (src/transcripts) owns the disk: it opens files, stores how far each was read, waits for incomplete tails,
 * and enforces limits. The reader knows where files are and what a row means. It is pure and total: it takes any row,
 * returns readings, never throws, and omits unknown parts.
 *
 * Before the events of an edge hook are recorded, the files are read up to the time of that hook, so that events keep
 * their order. A row without a time has the time of the row before it. When the session is quiet, the files are read to
 * the end.
 */
export interface Transcript {
  /** The transcript files that a hook names. The host keeps the first statement about each. */
  namedFiles?(fields: Fields): NamedFiles;
  /**
   * The files of one session, the main file first. The host calls this at each reading, because files appear late.
   * Every path lies in folders that the session or the user's home names; the host checks that each is a plain file.
   */
  files(session: SessionPlace, look: Look): TranscriptFile[];
  /** For import: all main files of the agent on this machine. */
  installed(places: Places, look: Look): TranscriptFile[];
  /**
   * For import: the sessions of a file, by its name and its beginning (64 rows, more if these do not suffice, or the
   * document). A store can hold many sessions; each of them then comes back as `session` of the file. None if it is no
   * main file of this agent.
   */
  sessions(file: TranscriptFile, start: Start, look?: Look): FoundSession[];
  readonly read: Reader;
  /** Readers for files of other versions in another format, which their names identify. */
  readonly others?: readonly { readonly fits: (path: string) => boolean; readonly read: Reader }[];
  /**
   * Returns true for versions that end each run with a row of totals, which they may write after the last hook. A closed
   * session waits for this row: `over` names it as the end of a session.
   */
  hasTotals?(version: string): boolean;
  /** The transcript states the end of a session that no hook reports, so open sessions are looked at now and then. */
  readonly statesEnd?: true;
  /** Forms of transcripts that are not read: an import counts the files and states the reason. */
  readonly unread?: readonly UnreadForm[];
}

export type Reader = LineReader | DocumentReader;

export const readerFor = ({ read, others = [] }: Transcript, path: string): Reader =>
  others.find(other => other.fits(path))?.read ?? read;

export interface UnreadForm {
  readonly why: string;
  readonly fits: (path: string) => boolean;
  installed(places: Places, look: Look): readonly string[];
}

export interface NamedFiles {
  main?: string | undefined;
  /** The file of the subagent that the hook is about. */
  subagent?: { id: string; path: string } | undefined;
}

export interface SessionPlace extends Pick<Places, 'home' | 'env'> {
  readonly session: string;
  readonly cwd: string | undefined;
  /** The path that hooks named, or that import was given. */
  readonly main: string | undefined;
  readonly subagents: readonly { readonly id: string; readonly path: string }[];
}

/** Access to the disk, limited by the host. Paths are absolute. */
export interface Look {
  /** Returns the names in a folder, sorted; none if there is no folder. */
  names(folder: string): readonly string[];
  /** Returns the first 4 KB of a plain file as text; empty if there is none. */
  head(path: string): string;
}

export interface TranscriptFile {
  readonly path: string;
  /** The subagent that the file belongs to. Its readings carry this id unless they name another. */
  readonly subagent?: string | undefined;
  /** The session, if the file is a store of many sessions. */
  readonly session?: string | undefined;
  /**
   * Small files that belong to it (the card of a subagent, the log of a database). They are read as a whole if they
   * exist.
   */
  readonly beside?: readonly string[] | undefined;
}

export interface FoundSession {
  readonly session: string;
  readonly cwd?: string | undefined;
  /** The newest time in the file (Unix ms). Without it, the time of the file counts. */
  readonly atMs?: number | undefined;
}

/** The beginning of a file: the first rows of a line file, or the document. */
export interface Start {
  readonly rows: FirstRows;
  readonly document: Document | undefined;
}

/** The first rows of a line file. A row is read when it is asked for. */
export interface FirstRows {
  some(is: (row: Fields) => unknown): boolean;
  find(is: (row: Fields) => unknown): Fields | undefined;
  [Symbol.iterator](): Iterator<Fields, undefined>;
}

/** A file of one JSON object per line, which the agent appends to. It is read from a stored offset, each row once. */
export interface LineReader {
  readonly format: 'lines';
  /** Returns the row's own time (Unix ms). Without this function, `timestamp` is read: ISO 8601 text or Unix ms. */
  at?(row: Fields): number | undefined;
  /**
   * Returns the row's own id. A session that continues another one begins with copies of its rows; the id of the first
   * row identifies the other session, and rows that were read there are skipped.
   */
  origin?(row: Fields): string | undefined;
  /** Returns the agent's version that the row states; `known` is the version of the rows before it. */
  version?(row: Fields, known: string | undefined): string | undefined;
  /**
   * Beginnings of types that the reader does not use. A row whose first member is such a `type` has no effect, and is
   * skipped without being parsed.
   */
  readonly skips?: readonly string[];
  /**
   * Returns true if a shortened form of a long row gives the same readings as the whole row, except for `output`. In
   * the shortened form, long texts are cut to about 200 characters and hashed. It is not called if results are kept.
   * Half of a transcript are results of calls, of which only the beginning is read.
   */
  readonly isBrief?: (row: Fields) => boolean;
  /**
   * `memory` belongs to this file and lives as long as its offset: a rewritten file begins with an empty one. Groups of
   * rows (blocks of one response) wait in it. A line above 8 MB comes pruned: long texts are `''`, long lists are cut,
   * the rest is complete.
   */
  row(row: Fields, memory: Memory, file: ReadFile): TranscriptEntry[];
  /**
   * Returns the readings that still wait in `memory`. It is called when no more rows follow: the turn, the subagent or
   * the session has settled.
   */
  rest?(memory: Memory, file: ReadFile): TranscriptEntry[];
}

/**
 * A file that the agent rewrites, or a database. It is read as a whole after each change; keys identify readings that
 * were recorded before.
 */
export interface DocumentReader {
  readonly format: 'document';
  document(document: Document, file: ReadFile): TranscriptEntry[];
}

export interface ReadFile extends TranscriptFile {
  /** The root session's id. */
  readonly root: string;
  /** The contents of `beside`, in its order; undefined for a file that is missing or too large. */
  readonly companions: readonly (Buffer | undefined)[];
}

export interface Document {
  readonly sizeBytes: number;
  /** Returns the bytes at an offset, for formats that are read by pages; fewer at the end of the file. */
  slice(at: number, length: number): Buffer;
  /** Returns the parsed JSON; undefined if it is not JSON (half written, for example) or above 64 MB. */
  json(): unknown;
  /** Returns the content of the file with this suffix added to its name; undefined if it is missing or above 64 MB. */
  beside?(ending: string): Buffer | undefined;
}

/** The results of a row: readings, and evidence that a turn, a subagent or the session is over. */
export type TranscriptEntry = TranscriptReading | Over;

/**
 * An event from a transcript. Its key is the native id that the hook of this event has too, so both are one event in
 * either order. `atMs` is the row's own time.
 */
export type TranscriptReading = Reading & {
  key: string;
  /**
   * Set if hooks report the same event without an id that both share. Such a reading counts only in a session without
   * hooks.
   */
  unless?: 'hooked' | undefined;
  /** The row corrects no action that a hook has ended, because the hook knows the times better. */
  corrects?: 'open actions' | undefined;
  /** The session whose row this one copies, if the row states it. If that session is known here, it reports the row. */
  copyOf?: string | undefined;
};

/**
 * Evidence that a turn, a subagent or the session is over. It settles a held span. Without `id`, it is the running turn
 * or the file's own subagent. `atMs` is the row's time; only spans that began before it settle.
 */
export interface Over {
  over: 'turn' | 'subagent' | 'session';
  id?: string | undefined;
  atMs?: number | undefined;
}

export interface Agent {
  /** Folder name, registry key, `--tool`, `source.tool`. */
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly title: string;
  /** The provider of the agent's models (`gen_ai.provider.name`), if its payloads do not state it. */
  readonly provider?: string;
  /** The documentation and the version that the facts were verified against. */
  readonly source: { readonly docs: string; readonly version: string; readonly checked: string };
  /** Returns the certainty, 0 to 1, that a payload is from this agent. */
  signs(fields: Fields): number;
  eventName(fields: Fields): string | undefined;
  /** Returns the event that the fields indicate, if neither the payload nor the command names the event. */
  eventByShape?(fields: Fields): string | undefined;
  session(fields: Fields, sender: Sender): string | undefined;
  cwd(fields: Fields): string | undefined;
  /** Returns the agent's version, if its hooks state it. */
  version?(fields: Fields): string | undefined;
  /** Every known native event. An unknown one is kept as `vendor.<id>.<native name>`. */
  readonly events: Readonly<Record<string, HookEvent>>;
  /** Names of built-in tools, which metrics may carry, with their Agent Hooks action names. */
  readonly actions: Readonly<Record<string, string>>;
  /** Built-in kinds of subagents, which metrics may carry. Kinds that users define are `custom` there. */
  readonly subagents?: readonly string[];
  /** How well each fact about its sessions is known. */
  readonly truth: Truth;
  /** The source that closes each kind of span: the closing hook, or the transcript read past it. */
  readonly settles: Readonly<Record<Settling, 'hook' | 'transcript'>>;
  /** How its transcripts are read. */
  readonly transcript: Transcript | Absent;
  /** The output that its hooks must print, if any; never a decision. */
  readonly reply: { readonly stdout: string };
  readonly settings: Settings | Absent;
  /** The variable of a hook with a file whose lines the agent runs in the shell of each later command. */
  readonly environmentFile?: string;
  /**
   * The providers of the Hook Interchange Format that stand for this agent. A dynamic import, because only the commands
   * that convert hooks load these tables; the process that each hook may start does not contain them.
   */
  readonly interchange: (() => Promise<readonly Provider[]>) | Absent;
  /** A realistic session for the demonstration. */
  readonly demo: ((session: string, folder: string) => DemoHook[]) | Absent;
}
