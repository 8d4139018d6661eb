/**
 * What an agent's folder says about its agent. Everything is a table or a pure function: payload in, events out.
 * Nothing here knows OpenTelemetry, the disk or the clock.
 */
import type { AgentMode, Body, Facts, Fields } from '../../event/event.ts';
import type { Provider } from '../../interchange/provider.ts';
import type { Truth } from '../shared/truth.ts';

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
  /**
   * What an action gave back, as the agent has it: kept only where results were asked for; whether two are equal is
   * asked always.
   */
  output?: unknown;
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
  /**
   * `false`: `enable` does not register it, because it tells us nothing or because a silent hook would change what the
   * agent does.
   */
  readonly register?: false;
  read(fields: Fields, memory: Memory): Reading[];
}

/** Who ran the hook, as its front end saw it: for payloads that do not name their session. */
export interface Sender {
  readonly cwd?: string | undefined;
  /** Its parent process, and the boot that this id belongs to. */
  readonly ppid?: string | undefined;
  readonly boot?: string | undefined;
}

/**
 * How an agent is set up: where its hooks are registered and in which shape, what runs them, and what it asks of a
 * person.
 */
export interface Settings {
  readonly scopes: readonly Scope[];
  /** What shows that it is installed: programs in PATH, and folders that it makes. */
  readonly installed: { readonly programs: readonly string[]; folders(places: Places): readonly string[] };
  readonly runs: { readonly posix: PosixRunner; readonly windows: WindowsRunner };
  /**
   * Every file of a scope that may hold entries of ours. `read`: a file's text, where it can be read; `names`: what is
   * in a folder.
   */
  files(
    scope: Scope,
    places: SettingsPlaces,
    read: (path: string) => string | undefined,
    names: Look['names'],
  ): readonly SettingsFile[];
  /** What a person still has to do there, or should know, once it is written. */
  readonly afterwards: string;
  /** What in a person's settings keeps its hooks from running. */
  obstacles?(places: SettingsPlaces, read: (path: string) => string | undefined): readonly Obstacle[];
  /**
   * Files outside of `files` whose hooks the agent runs as well: of plugins, extensions and organizations. Commands of ours
   * there come in addition to those of the settings.
   */
  runsToo?(places: SettingsPlaces, read: (path: string) => string | undefined, names: Look['names']): readonly string[];
  /** The payload of a first event, as the agent would send it: what the written command is tried with. */
  proof(session: string, folder: string, atMs: number): { readonly event: string; readonly payload: Fields };
}

export interface Obstacle {
  readonly file: string;
  /** Goes on after "hooks are registered, but". */
  readonly why: string;
  readonly next: string;
}

/**
 * `sh`: a POSIX shell gets the command. `any shell`: whichever the person uses. `program`: it may be started without a shell.
 * `itself`: the file is run as it lies there.
 */
export type PosixRunner = 'sh' | 'any shell' | 'program' | 'itself';
/** `either`: which of the two is not documented. */
export type WindowsRunner = 'cmd' | 'powershell' | 'either';

/** What an agent is to run for an event: for this machine one of the two, for a file that machines share both. */
export interface HookCommand {
  readonly posix?: string | undefined;
  readonly windows?: string | undefined;
}

/** One file that runs commands of ours, and the text edits that add or remove them. */
export interface SettingsFile {
  readonly path: string;
  /** It is a program: made executable where it is new. */
  readonly isExecutable?: true;
  /**
   * `text` undefined: there is no file yet. Throws nothing: an unexpected file is a refusal with its place. Without this
   * function, ours are not written here any more, only looked for.
   */
  add?(text: string | undefined, commands: ReadonlyMap<string, HookCommand>): Edit;
  remove(text: string): Edit;
  /** Our entries as they stand there; none where it cannot be read. */
  entries(text: string): readonly Entry[];
  /** The number of hooks of other programs in the file. Absent: such a file never holds any beside ours. */
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
  /** What its transcript has by then, without times; a subagent's own in a file of its own. */
  rows?: Fields[];
  /** Rows that follow once the hook has ended: what came of an action. */
  rowsAfter?: Fields[];
  rowsIn?: string;
}

/** As a duration: the time since the action began. Real processes take as long as they take. */
export const SINCE_BEFORE = -1;

/**
 * What an agent writes down of its sessions, and how it is read.
 *
 * The host (src/transcripts) owns the disk: it opens files, remembers how far each was read, waits for tails that are not
 * written yet, and limits everything. The reader says where files lie and what a row means. It is pure and total: a row in,
 * readings out, whatever the row is; it never throws, and what it does not know it leaves out.
 *
 * A session's files are read up to the moment of each edge hook *before* that hook's own events, so that what happened
 * first is told first; rows without a time go with the row before them. Then, once the session is quiet, to the end.
 */
export interface Transcript {
  /** What the session's hook says of its files; the host keeps the first word of each. */
  told?(fields: Fields): ToldFiles;
  /**
   * The files of one session, the main one first: asked anew at each reading, since files appear late and in between.
   * No path leaves the folders that the session or the person's home names; the host checks that each is a plain file.
   */
  files(session: SessionPlace, look: Look): TranscriptFile[];
  /** For import: all main files of the agent on this machine. */
  installed(places: Places, look: Look): TranscriptFile[];
  /**
   * For import: whose file it is, by its name and beginning: 64 rows, more of them where nobody knows it by these, or the
   * document. More than one where a store holds many sessions; each then comes back as `session` of the file. None: not
   * a main file of this agent.
   */
  sessions(file: TranscriptFile, start: Start, look?: Look): FoundSession[];
  readonly read: Reader;
  /** Files of another form, as other versions keep them; known by their names. */
  readonly others?: readonly { readonly fits: (path: string) => boolean; readonly read: Reader }[];
  /** Forms in which it keeps sessions too, and which are not read: an import counts them and says why. */
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

export interface ToldFiles {
  main?: string | undefined;
  /** The own file of the subagent that the hook is about. */
  subagent?: { id: string; path: string } | undefined;
}

export interface SessionPlace extends Pick<Places, 'home' | 'env'> {
  readonly session: string;
  readonly cwd: string | undefined;
  /** What hooks told, or what import was given. */
  readonly main: string | undefined;
  readonly subagents: readonly { readonly id: string; readonly path: string }[];
}

/** The host's eyes, bounded. Paths are absolute. */
export interface Look {
  /** Names in a folder in sorted order; none where there is no folder. */
  names(folder: string): readonly string[];
  /** The first 4 KB of a plain file as text; empty where there is none. */
  head(path: string): string;
}

export interface TranscriptFile {
  readonly path: string;
  /** The subagent whose own file this is: its readings carry the id unless they say another. */
  readonly subagent?: string | undefined;
  /** Which session of a store that holds many. */
  readonly session?: string | undefined;
  /** Small files that belong to it (a subagent's card, a database's log): read whole, where they are there. */
  readonly beside?: readonly string[] | undefined;
}

export interface FoundSession {
  readonly session: string;
  readonly cwd?: string | undefined;
  /** The newest time it knows (Unix ms); without one the file's. */
  readonly atMs?: number | undefined;
}

/** The beginning of a file: rows of a line file, or the document. */
export interface Start {
  readonly rows: readonly Fields[];
  readonly document: Document | undefined;
}

/** One JSON object per line, appended. Read from a remembered offset; each row once. */
export interface LineReader {
  readonly format: 'lines';
  /**
   * The row's own time (Unix ms). Without this function `timestamp` is asked: a text as ISO 8601 has it, or Unix ms.
   */
  at?(row: Fields): number | undefined;
  /**
   * The row's own id, where a session that goes on from another one begins with copies of its rows. The first one of a file
   * says whose copy it is; what the other session has told is not told again.
   */
  origin?(row: Fields): string | undefined;
  /** The agent's version that the row states; `known`: that of the rows before it. */
  version?(row: Fields, known: string | undefined): string | undefined;
  /**
   * Of a long row, with its long texts cut to some 200 characters or less and a hash of the whole: does `row` say the same of it
   * as of the whole one, `output` apart? Not asked where results are kept.
   * Results of calls are half of what a transcript holds, and nobody asks more of them than how they begin.
   */
  readonly isBrief?: (row: Fields) => boolean;
  /**
   * `memory` belongs to this file alone and lives as long as its offset: a rewritten file begins with an empty one. What
   * is grouped over rows (blocks of one response) waits in it. A line above 8 MB comes pruned: long texts are `''`, long
   * lists cut, everything else is there.
   */
  row(row: Fields, memory: Memory, file: ReadFile): Told[];
  /** What still waits in `memory`, asked when nothing more comes: the turn, the subagent or the session has settled. */
  rest?(memory: Memory, file: ReadFile): Told[];
}

/**
 * A file that is rewritten, or a database: read whole whenever it changed; what was told before is known by its keys.
 */
export interface DocumentReader {
  readonly format: 'document';
  document(document: Document, file: ReadFile): Told[];
}

export interface ReadFile extends TranscriptFile {
  /** The root session's id. */
  readonly root: string;
  /** Contents of `beside`, in its order; undefined where there is none (yet), or where it is too large. */
  readonly companions: readonly (Buffer | undefined)[];
}

export interface Document {
  readonly sizeBytes: number;
  /** Bytes at a place, for what is read by pages; fewer where the file ends. */
  slice(at: number, length: number): Buffer;
  /** Parsed as JSON; undefined where it is none (half written, say) or above 64 MB. */
  json(): unknown;
}

/** What a row says: events, and that something is over. */
export type Told = TranscriptReading | Over;

/**
 * An event from a transcript. Its key is the native id: the same one that the hook's event of that type has, so that both
 * are one event whichever comes first. `atMs` is the row's own time.
 */
export type TranscriptReading = Reading & {
  key: string;
  /**
   * Set where hooks tell the same without an id that both share (types of event have one teller each): such a reading
   * counts only in a session that no hook tells of.
   */
  unless?: 'hooked' | undefined;
  /** The session whose row this repeats, where the row says so: that one tells it, if it is known here. */
  copyOf?: string | undefined;
};

/**
 * Evidence that a turn, a subagent or the session is told to its end; a held span settles by it. Where `id` is missing,
 * the turn that runs, or the file's own subagent. `atMs`: the row's time; it settles only what began before.
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
  /** Provider of the agent's models where its payloads do not say (`gen_ai.provider.name`). */
  readonly provider?: string;
  /** What the facts here were verified against. */
  readonly source: { readonly docs: string; readonly version: string; readonly checked: string };
  /** How surely is this payload this agent's? 0 to 1. */
  signs(fields: Fields): number;
  eventName(fields: Fields): string | undefined;
  /**
   * For payloads that do not say which event they are: what their fields show, should the command not name it either.
   */
  eventByShape?(fields: Fields): string | undefined;
  session(fields: Fields, sender: Sender): string | undefined;
  cwd(fields: Fields): string | undefined;
  /** The agent's version, where its hooks state it. */
  version?(fields: Fields): string | undefined;
  /** Every native event that is known. An unknown one is kept as `vendor.<id>.<native name>`. */
  readonly events: Readonly<Record<string, HookEvent>>;
  /** Names of built-in tools that may stand on metrics, with their Agent Hooks action name. */
  readonly actions: Readonly<Record<string, string>>;
  /**
   * Kinds of subagents that come with it, and may stand on metrics: whatever else people name theirs is `custom` there.
   */
  readonly subagents?: readonly string[];
  /** What is known of its sessions, and how well. */
  readonly truth: Truth;
  /** What closes each kind of span for good: the closing hook, or the transcript read past it. */
  readonly settles: Readonly<Record<Settling, 'hook' | 'transcript'>>;
  /** How what it writes down of a session is read. */
  readonly transcript: Transcript | Absent;
  /** What its hooks must print, if anything; never a decision. */
  readonly reply: { readonly stdout: string };
  readonly settings: Settings | Absent;
  /**
   * The providers of the Hook Interchange Format that the agent is. A dynamic import, because only the commands that convert
   * hooks load these tables; the process that each hook may start does not contain them.
   */
  readonly interchange: (() => Promise<readonly Provider[]>) | Absent;
  /** A believable session of it. */
  readonly demo: ((session: string, folder: string) => DemoHook[]) | Absent;
}
