import type { Known } from '../interchange/vocabulary.ts';

/** What a validator says about a text: one shape for every standard. */
export interface Report {
  standard: string;
  /** The version of the standard that the text was held against. */
  version: string;
  /** The file's name as the caller knows it. */
  name: string;
  /** `file`: no events but a file that the standard describes, such as a registration. */
  format: 'json' | 'json-array' | 'jsonl' | 'file';
  /** No finding is an error. */
  ok: boolean;
  /** Events seen, and those of them without an error. */
  events: number;
  valid: number;
  errors: number;
  warnings: number;
  notes: number;
  /** In the order of the text; the first MAX_FINDINGS of them. */
  findings: Finding[];
  /** Findings that were counted and left out. */
  omitted: number;
  /** Where the standard has levels: the one that each emitter in the stream reaches. */
  levels?: Reached[] | undefined;
}

export interface Finding {
  level: Level;
  /** Stable id of the rule, such as `envelope/required`. */
  rule: string;
  line: number;
  column: number;
  /** JSON pointer into the event; empty for the event itself. */
  field: string;
  /** What is wrong here. Safe for a terminal, at most a line. */
  why: string;
}

export interface Reached {
  source: string;
  level: number;
  /** What the next level asks for and the stream does not show. */
  missing: string[];
}

/** An error breaks the standard, a warning what it recommends; a note is worth knowing. */
export type Level = 'error' | 'warning' | 'note';

/** A rule of a standard: what it asks for, in one line, and where the standard says so. */
export interface Rule {
  level: Level;
  asks: string;
  clause: string;
}

/** A standard that texts can be held against. */
export interface Standard {
  readonly title: string;
  readonly version: string;
  /** Every rule that its reports can name. The ids are stable: scripts may compare them. */
  readonly rules: Readonly<Record<string, Rule>>;
  /** `name` is only shown, except where it tells what the text is. */
  validation(name: string, asked: Asked): Validation;
}

/** What whoever asks wants beyond the standard's own word. */
export interface Asked {
  /** Warnings are errors. */
  readonly strict?: boolean | undefined;
  /** The level that every emitter is to reach. */
  readonly level?: number | undefined;
  /** More of the stream is to come: what has not ended yet is no fault. */
  readonly open?: boolean | undefined;
  /** What the Hook Interchange Format does not say itself. */
  readonly interchange?: Known | undefined;
}

/** One text being judged. It comes in pieces, so that its size does not matter. */
export interface Validation {
  write(piece: string): void;
  end(): Report;
}

export const MAX_FINDINGS = 1000;
