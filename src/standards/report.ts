/** What a validator says about a text: one shape for every standard. */
export interface Report {
  standard: string;
  /** The version of the standard that the text was held against. */
  version: string;
  /** The file's name as the caller knows it. */
  name: string;
  format: 'json' | 'json-array' | 'jsonl';
  /** No finding is an error. */
  ok: boolean;
  /** Events seen, and those of them without an error. */
  events: number;
  valid: number;
  errors: number;
  warnings: number;
  /** In the order of the text; the first MAX_FINDINGS of them. */
  findings: Finding[];
  /** Findings that were counted and left out. */
  omitted: number;
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

export type Level = 'error' | 'warning';

/** A rule of a standard: what it asks for, in one line, and where the standard says so. */
export interface Rule {
  level: Level;
  asks: string;
  clause: string;
}

export const MAX_FINDINGS = 1000;
