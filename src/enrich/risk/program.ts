/** The columns of the table in programs.ts: everything that the rules of risk need to know of one program. */
import type { Word } from './shell.ts';
import type { Flow, Walk } from './walk.ts';

/** One start of a program, with its arguments and its input. */
export interface Invocation {
  readonly program: string;
  readonly row: Program;
  /** The words of the arguments, as the shell has read them. */
  readonly words: readonly Word[];
  /** The texts of these words. */
  readonly args: readonly string[];
  /** `-rf` is r, f and rf; `--force=yes` is force. */
  readonly flags: readonly string[];
  /** Arguments that are not options. */
  readonly operands: readonly string[];
  /** Output of the substitutions in the words. */
  readonly substituted: Flow;
  /** Standard input. */
  readonly input: Flow;
  readonly isSudo: boolean;
  readonly walk: Walk;
}

/** All columns are optional. A program without a row is only matched by its name and its line. */
export interface Program {
  /** It starts the program that follows its options: sudo, env, xargs. */
  readonly starts?: Starter;
  /** It starts a command elsewhere, such as in a container: returns the words of that command. */
  readonly startsWithin?: (words: readonly Word[]) => readonly Word[];
  /** Returns the code that it executes. */
  readonly executes?: (invocation: Invocation) => Execution;
  /** It executes a programming language, from an argument or from its input. */
  readonly isInterpreter?: true;
  /** `executes` and `queries` hold for any case of the letters of its name. */
  readonly isAnyCase?: true;
  /** Options whose value is not an operand; the default is `--exclude` and the like. */
  readonly excludes?: RegExp;
  /** Its arguments set variables. */
  readonly assigns?: true;
  /** A person or an agent sees its output. */
  readonly isPrinter?: true;
  /** Returns the paths whose content it reads. */
  readonly reads?: (invocation: Invocation) => readonly string[];
  /** Its output contains the files that its operands name. */
  readonly showsOperands?: true;
  /** Its output shows names or counts, and no values of the files. */
  readonly hidesValues?: (invocation: Invocation) => boolean;
  readonly writes?: (invocation: Invocation) => readonly Written[];
  readonly deletes?: (invocation: Invocation) => readonly Deleted[];
  /** Returns texts with statements for a database. */
  readonly queries?: (invocation: Invocation) => readonly string[];
  /** Returns the data that it sends to other machines. */
  readonly sends?: (invocation: Invocation) => Sent | undefined;
  /** Returns the whole output; undefined: the usual output, see `outputOf`. */
  readonly outputs?: (invocation: Invocation) => Flow | undefined;
  /** Adds to the usual output, and remembers the effects on folders and files. */
  readonly adds?: (invocation: Invocation, out: Flow) => void;
  /** The name of a database, a container or a file states that it is for tests. */
  readonly isOfTest?: (invocation: Invocation) => boolean;
}

export interface Starter {
  /** Options that take a value. */
  readonly valued: readonly string[];
  /** Operands before the name of the program. */
  readonly operands?: number;
  readonly isRoot?: true;
  /** Assignments of variables may precede the name of the program. */
  readonly hasAssignments?: true;
  /** The paths of its input become arguments. */
  readonly addsInput?: true;
  /** With this option it starts no program. */
  readonly unless?: RegExp;
}

export interface Execution {
  /** Flows that become code. */
  readonly flows?: readonly Flow[];
  /** Files that become code. */
  readonly files?: readonly string[];
  /** Further origins of the code: download, decoded. */
  readonly tags?: readonly string[];
  /** Text that a shell executes, and the input of that shell. */
  readonly script?: string | undefined;
  readonly input?: Flow;
  /** A command that it starts without a shell. */
  readonly command?: readonly Word[];
}

export interface Written {
  readonly path: string;
  readonly how: 'append' | 'replace';
  /** The program that counts as the writer; default: the program itself. */
  readonly by?: string;
}

export interface Deleted {
  readonly path: string;
  readonly how: 'recursive' | 'single';
}

export interface Sent {
  /** secret, file, input, personal. */
  readonly what: ReadonlySet<string>;
  readonly hosts: readonly string[];
}

/** The value of the first option that matches: `-o VALUE` or `--output=VALUE`; '' without one. */
export function optionValue(args: readonly string[], options: RegExp): string {
  const at = args.findIndex(arg => options.test(arg));
  const arg = args[at] ?? '';
  if (at < 0) return '';
  return arg.startsWith('--') && arg.includes('=') ? arg.slice(arg.indexOf('=') + 1) : (args[at + 1] ?? '');
}

/** An assignment that selects a test environment. */
export const SELECTS_TEST = /^(?:[A-Z]+_)?ENV=["']?test/;

/** A variable, an argument or the name of a database states that the program works on a test environment. */
export const isOfTest = (invocation: Invocation): boolean =>
  invocation.walk.isTest ||
  invocation.args.some(arg => SELECTS_TEST.test(arg) || arg === '--env=test') ||
  (invocation.row.isOfTest?.(invocation) ?? false);
