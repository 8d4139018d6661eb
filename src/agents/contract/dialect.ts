/**
 * How an agent talks with its hooks: the payload that it writes, and the answers that it reads. `run-hook` translates
 * between two dialects. Everything here is loaded for each guarded action, so a dialect imports no table of conversion.
 */
import type { Fields } from '../../event/event.ts';

/** A document or an answer in the words of the Hook Interchange Format; `docs/hook-document.schema.json`. */
export interface HookDocument {
  readonly spec: 'hooks/0.1';
  /** The version of this document. */
  readonly version: 1;
  readonly event: string;
  readonly native_event: string;
  /** The agent that runs the hook, by its name in the format. */
  readonly agent: string;
  readonly hook?: string | undefined;
  readonly session_id?: string | undefined;
  readonly cwd?: string | undefined;
  readonly transcript_path?: string | undefined;
  /** A word of the vocabulary, or the agent's own name. */
  readonly tool?: string | undefined;
  readonly native_tool?: string | undefined;
  readonly mcp?: { readonly server?: string | undefined; readonly tool: string } | undefined;
  readonly tool_use_id?: string | undefined;
  readonly tool_input?: Fields | undefined;
  readonly tool_output?: unknown;
  readonly error?: unknown;
  readonly prompt?: string | undefined;
  readonly response?: string | undefined;
  readonly message?: string | undefined;
  /** Why a session started or ended, or what triggered a compaction. */
  readonly cause?: string | undefined;
  readonly stop_hook_active?: boolean | undefined;
  readonly subagent_id?: string | undefined;
  readonly subagent_type?: string | undefined;
}

/** The fields of a document that are read from one field of the payload. */
export type PlainField =
  | 'session_id'
  | 'cwd'
  | 'transcript_path'
  | 'tool_use_id'
  | 'tool_output'
  | 'error'
  | 'prompt'
  | 'response'
  | 'message'
  | 'cause'
  | 'stop_hook_active'
  | 'subagent_id'
  | 'subagent_type';

/** One use of a tool. A payload can name several: a patch of two files, or a list of commands. */
export interface Call {
  readonly tool: string;
  readonly nativeTool: string;
  readonly mcp?: HookDocument['mcp'];
  readonly input: Fields;
}

/** What a hook can ask for. `warning` is text about a fault, for a person. */
export type Effect =
  | 'deny'
  | 'ask'
  | 'allow'
  | 'reason'
  | 'context'
  | 'updated_input'
  | 'continue'
  | 'suppress_output'
  | 'system_message';

/** The answer of a hook, in the words of the format. */
export interface Answer {
  readonly decision?: 'allow' | 'deny' | 'ask' | undefined;
  readonly reason?: string | undefined;
  /** False: the agent ends its loop. */
  readonly continue?: boolean | undefined;
  readonly context?: string | undefined;
  /** The whole input of the tool, in the words of the format. */
  readonly updated_input?: Fields | undefined;
  readonly suppress_output?: boolean | undefined;
  readonly system_message?: string | undefined;
}

/** A command that has ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * What an ended command said. A `denial` by exit code counts only if the hook is declared as blocking; after a `fault`
 * the action goes on unless the hook fails closed.
 */
export type Heard =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'denial'; readonly reason: string }
  | { readonly kind: 'fault'; readonly why: string };

/** What the agent reads of `run-hook`. */
export interface Reply {
  readonly code?: number;
  readonly stdout?: string | Fields;
  readonly stderr?: string;
}

/** An answer that an agent can honour, with its native input. */
export interface Verdict extends Omit<Answer, 'updated_input'> {
  readonly updatedInput?: Fields | undefined;
}

export interface Occasion {
  readonly event: string;
  readonly native: string;
  readonly payload: Fields;
  readonly calls: readonly Call[];
}

export interface Dialect {
  /** The name in the Hook Interchange Format. */
  readonly slug: string;
  /** Other names that `--as` takes. */
  readonly aliases?: readonly string[];
  readonly title: string;
  /** The variable in which the agent names the folder of the project. */
  readonly projectVariable?: string;
  /** Canonical events by native name. */
  readonly events: Readonly<Record<string, string>>;
  /** The fields of a payload that can hold the name of its event. */
  readonly eventFields: readonly string[];
  /** Native fields by field of the document; a path is joined by dots. The first one is written. */
  readonly fields: Readonly<Partial<Record<PlainField, readonly string[]>>>;
  /** Returns the uses of tools that a payload is about. */
  calls(payload: Fields, native: string): readonly Call[];
  /** Returns the native input of a payload with other inputs of its calls; undefined if it cannot be changed. */
  rewritten?(payload: Fields, native: string, inputs: readonly (Fields | undefined)[]): Fields | undefined;
  /** Returns the payload of a document, for hooks that were written for this agent. */
  payload(document: HookDocument): Fields;
  /** Reads the answer of such a hook. */
  heard(ended: Ended, document: HookDocument): Heard;
  /** The effects that this agent honours, by native or canonical event. Events without a row honour none. */
  readonly takes: Readonly<Record<string, readonly Effect[]>>;
  /** Writes an answer. It has only the effects of `takes`. */
  reply(verdict: Verdict, occasion: Occasion): Reply;
}
