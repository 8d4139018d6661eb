import type { Known } from '../interchange/vocabulary.ts';

/**
 * The report of a validator about a text; all standards share its shape.
 *
 * @example
 * ```ts
 * const report: Report = validateAgentHooks('[]', 'events.json');
 * ```
 */
export interface Report {
  standard: string;
  /** The version of the standard. */
  version: string;
  /** The name of the text, from the caller. */
  name: string;
  /** `file`: the text holds no events; it is a file that the standard defines, such as a registration. */
  format: 'json' | 'json-array' | 'jsonl' | 'file';
  /** No finding is an error. */
  ok: boolean;
  /** The numbers of events, and of events without an error. */
  events: number;
  valid: number;
  errors: number;
  warnings: number;
  notes: number;
  /** The first MAX_FINDINGS findings, in the order of the text. */
  findings: Finding[];
  /** The number of findings beyond MAX_FINDINGS. */
  omitted: number;
  /** For standards with levels: the level that each emitter in the stream reaches. */
  levels?: Reached[] | undefined;
}

/**
 * One finding of a validator, with its place.
 *
 * @example
 * ```ts
 * const textOf = ({ line, rule, why }: Finding): string => `${line}: ${rule}: ${why}`;
 * ```
 */
export interface Finding {
  level: Level;
  /** Stable id of the rule, such as `envelope/required`. */
  rule: string;
  line: number;
  column: number;
  /** JSON pointer into the event; empty for the event itself. */
  field: string;
  /** The problem in one line, safe for a terminal. */
  why: string;
}

export interface Reached {
  source: string;
  level: number;
  /** The requirements of the next level that the stream does not show. */
  missing: string[];
}

/** An error breaks a requirement of the standard, a warning a recommendation. A note is information. */
export type Level = 'error' | 'warning' | 'note';

/** A rule of a standard: its requirement in one line, and the clause that defines it. */
export interface Rule {
  level: Level;
  asks: string;
  clause: string;
}

/** A standard that texts can be validated against. */
export interface Standard {
  readonly title: string;
  readonly version: string;
  /** All rules of its reports. The ids are stable, so that scripts can compare them. */
  readonly rules: Readonly<Record<string, Rule>>;
  /** `name` is shown in the report. Some standards also derive the format from it. */
  validation(name: string, asked: Asked): Validation;
}

/** Requirements of the caller beyond those of the standard. */
export interface Asked {
  /** Warnings are errors. */
  readonly strict?: boolean | undefined;
  /** The level that every emitter must reach. */
  readonly level?: number | undefined;
  /** The stream continues later, so items that have not ended are not errors. */
  readonly open?: boolean | undefined;
  /** Names of events and providers that the Hook Interchange Format does not define. */
  readonly interchange?: Known | undefined;
}

/** The validation of one text. The text arrives in pieces, so that its size is not limited by memory. */
export interface Validation {
  write(piece: string): void;
  end(): Report;
}

export const MAX_FINDINGS = 1000;
