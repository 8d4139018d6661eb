/** The type of a command, and the parser of its words. */
import { nearest } from '../lib/nearest.ts';
import { own } from '../lib/read.ts';

export interface Flag {
  name: string;
  /** The name of the flag's value in the help. A flag without it is a switch. */
  value?: string;
  short?: string;
  summary: string;
  /** The accepted values, for completions. */
  choices?: readonly string[];
  /** Further words without a dash are further values, as in the Python package. */
  takesSeveral?: true;
}

export interface Command {
  name: string;
  summary: string;
  usage: string;
  /** More text for the help. */
  notes?: string[];
  flags: Flag[];
  /**
   * The candidates of each word after the command, for completions: a list, or the placeholder of the help (SESSION,
   * FILE).
   */
  words?: readonly (string | readonly string[])[];
  /** The number of words besides flags; none by default. */
  mostWords?: number;
  /** The output is the content of a file, even without `--json` and `--format`. */
  printsDocument?: true;
  example: string;
  load(): Promise<{ run(words: Words, io: Io): Promise<number> | number }>;
}

export interface Words {
  flags: { readonly [name: string]: string | true };
  rest: string[];
}

/** Output, input, environment and clock of a command. */
export interface Io {
  out(text: string): void;
  /** Waits for a slow reader of `out`, so that large output does not fill the memory. */
  drained?(): Promise<void>;
  /**
   * Calls `then` when the reader of `out` has closed it, if this can be detected without a write. Returns a function
   * that stops the detection.
   */
  onReaderGone?(then: () => void): () => void;
  err(text: string): void;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  home: string;
  platform: NodeJS.Platform;
  /** Whether the output is a terminal that supports colors. */
  color: boolean;
  columns: number;
  /** The width of a terminal. */
  rows?: number;
  unicode: boolean;
  isTerminal: boolean;
  /** Whether `out` is a terminal; `isTerminal` by default. */
  isOutTerminal?: boolean;
  /** Whether `err` is a terminal. */
  isErrTerminal?: boolean;
  /** A terminal that shows output and reads keys. */
  screen?: {
    /** Its present size, which changes with its window. */
    size(): { columns: number; rows: number };
    /** Returns a function that ends the watch. */
    onResize(then: () => void): () => void;
    /** Reads single keys, which are not echoed and send no signals, until the returned function is called. */
    onKey(then: (key: string) => void): () => void;
  };
  /** Throws `Interrupted`. */
  ask(question: string): Promise<string>;
  now(): number;
}

export const globalFlags: Flag[] = [
  { name: '--json', summary: 'print JSON instead of text, where there is output' },
  { name: '--state-dir', value: 'DIR', summary: 'the state folder, instead of the customary one' },
  { name: '--config', value: 'FILE', summary: 'the configuration file, instead of the customary one' },
  { name: '--help', short: '-h', summary: 'what the command does, with an example' },
];

export type Parsed = { ok: true; words: Words } | { ok: false; message: string };

/** Reads a command's words: `--flag value`, `--flag=value`, `--` ends the flags. */
export function parseWords(command: Command, args: readonly string[]): Parsed {
  const known = [...command.flags, ...globalFlags];
  const flags: Record<string, string | true> = {};
  const rest: string[] = [];
  for (let i = 0; i < args.length; ) {
    const arg = args[i] ?? '';
    if (arg === '--') {
      rest.push(...args.slice(i + 1));
      break;
    }
    if (!arg.startsWith('-') || arg === '-') {
      rest.push(arg);
      i += 1;
      continue;
    }
    const read = readFlag(known, args.slice(i));
    if ('message' in read) return { ok: false, message: read.message };
    const { name, value } = read;
    const before = flags[name];
    // A flag that is repeated makes one list.
    flags[name] = typeof value === 'string' && typeof before === 'string' ? `${before},${value}` : value;
    i += read.used;
  }
  const odd = rest[command.mostWords ?? 0];
  if (odd !== undefined) return { ok: false, message: `does not know what to do with ${JSON.stringify(odd)}` };
  return { ok: true, words: { flags, rest } };
}

type ReadFlag = { name: string; value: string | true; used: number } | { message: string };

/** Reads the flag at the beginning of `args`. `used` counts its words. */
function readFlag(known: readonly Flag[], [arg = '', ...following]: readonly string[]): ReadFlag {
  const at = arg.indexOf('=');
  const name = at < 0 ? arg : arg.slice(0, at);
  const given = at < 0 ? undefined : arg.slice(at + 1);
  const flag = known.find(each => each.name === name || each.short === name);
  if (flag === undefined) {
    const meant = nearest(
      name,
      known.map(each => each.name),
    );
    return { message: `unknown flag ${name}${meant === undefined ? '' : `; did you mean ${meant}?`}` };
  }
  if (flag.value === undefined)
    return given === undefined ? { name: flag.name, value: true, used: 1 } : { message: `${flag.name} takes no value` };
  const own = given ?? following[0];
  if (own === undefined) return { message: `${flag.name} needs a value: ${flag.name} ${flag.value}` };
  const words = given === undefined ? following.slice(1) : following;
  const end = flag.takesSeveral ? words.findIndex(word => word.startsWith('-')) : 0;
  const more = words.slice(0, end < 0 ? words.length : end);
  return { name: flag.name, value: [own, ...more].join(','), used: (given === undefined ? 2 : 1) + more.length };
}

export function helpOf(command: Command): string {
  const lines = [`otel-hooks ${command.name}: ${command.summary}`, '', `  ${command.usage}`, ''];
  for (const flag of [...command.flags, ...globalFlags]) {
    const names = [flag.short, flag.name].filter(name => name !== undefined).join(', ');
    lines.push(`  ${`${names}${flag.value === undefined ? '' : ` ${flag.value}`}`.padEnd(26)} ${flag.summary}`);
  }
  if (command.notes) lines.push('', ...command.notes);
  lines.push('', 'Example:', ...command.example.split('\n').map(line => `  ${line}`), '');
  return lines.join('\n');
}

/** The user pressed Ctrl-C or ended the input instead of answering: the change is not made. */
export class Interrupted extends Error {}

/** A usage error that a command finds after its words were parsed. */
export class UsageError extends Error {}

/** There is no terminal for a question. Scripts match this message. */
export class NoTerminal extends UsageError {
  constructor(flag: string) {
    super(`No TTY detected. Use ${flag} to run non-interactively.`);
  }
}

export const flagText = (words: Words, name: string): string | undefined => {
  const value = words.flags[name];
  return typeof value === 'string' ? value : undefined;
};

/** Returns the time of `--since`; a day begins at midnight in the zone of this machine. */
export const sinceOf = (since: string | undefined, nowMs: number): number =>
  since === undefined ? Number.NEGATIVE_INFINITY : momentOf('--since', since, { nowMs, days: 0 });

/** Returns the time of `--until`, exclusive: a day belongs to the time before it. */
export const untilOf = (until: string | undefined, nowMs: number): number =>
  until === undefined ? Number.POSITIVE_INFINITY : momentOf('--until', until, { nowMs, days: 1 });

function momentOf(flag: string, text: string, { nowMs, days }: { nowMs: number; days: number }): number {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.map(Number) ?? [];
  if (year !== undefined && month !== undefined && day !== undefined) {
    const midnight = new Date(year, month - 1, day);
    if (midnight.getMonth() === month - 1) return new Date(year, month - 1, day + days).getTime();
  }
  const match = /^(\d{1,5})([mhdw])$/.exec(text);
  const units: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
  const unitMs = own(units, match?.[2] ?? '');
  if (match?.[1] === undefined || unitMs === undefined) {
    throw new UsageError(`${flag} takes a time such as 12h, 30d or 4w, or a day such as 2026-11-30, not ${text}`);
  }
  return nowMs - Number(match[1]) * unitMs;
}

export interface Interruptible {
  isAsked(): boolean;
  /** Behaves like Ctrl-C. */
  ask(): void;
  /** Ends early if it is interrupted. */
  pause(ms: number): Promise<void>;
  end(): void;
}

/** The first Ctrl-C asks the command to end at a safe point; the second one ends it at once. */
export function interruptible(): Interruptible {
  let isAsked = false;
  let wake: (() => void) | undefined;
  const ask = (): void => {
    isAsked = true;
    wake?.();
  };
  process.once('SIGINT', ask);
  process.once('SIGTERM', ask);
  return {
    isAsked: () => isAsked,
    ask,
    pause: ms =>
      new Promise<void>(resolve => {
        if (isAsked) return resolve();
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    end() {
      process.off('SIGINT', ask);
      process.off('SIGTERM', ask);
    },
  };
}
