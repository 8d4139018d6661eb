/** The flags of `run-hook`. They hold what the hook declares, so that no manifest is read at run time. */
import type { Effect } from '../agents/contract/dialect.ts';
import { own } from '../lib/read.ts';

type Strategy = 'block' | 'warn' | 'exclude';

export interface Flags {
  as: string;
  event?: string;
  hook?: string;
  from?: string;
  isBlocking: boolean;
  isNative: boolean;
  failsClosed: boolean;
  timeoutMs: number;
  timeoutBlocks: boolean;
  cwd?: string;
  env: Record<string, string>;
  degradation: Record<string, Strategy>;
  /** One word is a line for the shell; several are a program with its arguments. */
  command: readonly string[];
}

const DEFAULT_TIMEOUT_S = 30;
/** The longest delay of a timer. */
const LONGEST_TIMEOUT_S = 2_000_000;

/** The systems of `process.platform`, by their names in the format. */
const systems: Readonly<Record<string, string>> = { '--windows': 'win32', '--linux': 'linux', '--darwin': 'darwin' };
const strategies = ['block', 'warn', 'exclude'];

/** Returns the flags, or the reason why they cannot be used. */
export function flagsOf(words: readonly string[], platform: string): Flags | { readonly why: string } {
  const end = words.indexOf('--');
  const given = end < 0 ? words : words.slice(0, end);
  const flags: Flags = {
    as: '',
    isBlocking: false,
    isNative: false,
    failsClosed: false,
    timeoutMs: DEFAULT_TIMEOUT_S * 1000,
    timeoutBlocks: false,
    env: {},
    degradation: {},
    command: end < 0 ? [] : words.slice(end + 1),
  };
  for (let i = 0; i < given.length; ) {
    const read = readFlag(flags, given.slice(i, i + 2), platform);
    if (typeof read !== 'number') return read;
    i += read;
  }
  if (flags.as === '') return { why: '--as is missing: the agent that runs the hook' };
  return flags;
}

/** Reads one flag and returns the number of its words. */
function readFlag(
  flags: Flags,
  [word = '', following]: readonly string[],
  platform: string,
): number | { readonly why: string } {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  const name = at < 0 ? word : word.slice(0, at);
  const value = at < 0 ? following : word.slice(at + 1);
  const turnOn = at < 0 ? own(switches, name) : undefined;
  if (turnOn !== undefined) {
    turnOn(flags);
    return 1;
  }
  if (!name.startsWith('--')) return { why: `${JSON.stringify(name)} is not a flag; the command stands behind --` };
  const system = own(systems, name);
  const take = own(values, name);
  if (system === undefined && take === undefined) return { why: `unknown flag ${name}` };
  if (value === undefined) return { why: `${name} needs a value` };
  if (system === platform) flags.command = [value];
  const why = take?.(flags, value);
  return why === undefined ? (at < 0 ? 2 : 1) : { why };
}

const switches: Readonly<Record<string, (flags: Flags) => void>> = {
  '--blocking': flags => {
    flags.isBlocking = true;
  },
  '--native': flags => {
    flags.isNative = true;
  },
};

const values: Readonly<Record<string, (flags: Flags, value: string) => string | undefined>> = {
  '--as': (flags, value) => {
    flags.as = value;
    return undefined;
  },
  '--event': (flags, value) => {
    flags.event = value;
    return undefined;
  },
  '--hook': (flags, value) => {
    flags.hook = value;
    return undefined;
  },
  '--from': (flags, value) => {
    flags.from = value;
    return undefined;
  },
  '--cwd': (flags, value) => {
    flags.cwd = value;
    return undefined;
  },
  '--timeout': (flags, value) => {
    const seconds = Number(value);
    if (value.trim() === '' || !(seconds >= 0)) return `--timeout is a number of seconds, not ${value}`;
    // 0 is "not set" in the format: the default applies, so that every command ends.
    if (seconds > 0) flags.timeoutMs = Math.max(1, Math.min(seconds, LONGEST_TIMEOUT_S) * 1000);
    return undefined;
  },
  '--timeout-action': (flags, value) => {
    if (value !== 'warn' && value !== 'block') return `--timeout-action is warn or block, not ${value}`;
    flags.timeoutBlocks = value === 'block';
    return undefined;
  },
  '--fail': (flags, value) => {
    if (value !== 'open' && value !== 'closed') return `--fail is open or closed, not ${value}`;
    flags.failsClosed = value === 'closed';
    return undefined;
  },
  '--env': (flags, value) => {
    const at = value.indexOf('=');
    if (at <= 0) return `--env is NAME=VALUE, not ${value}`;
    flags.env[value.slice(0, at)] = value.slice(at + 1);
    return undefined;
  },
  '--degrade': (flags, value) => {
    for (const each of value.split(',')) {
      const [capability = '', strategy = ''] = each.split('=');
      if (capability === '' || !strategies.includes(strategy))
        return `--degrade is CAPABILITY=block, =warn or =exclude, not ${each}`;
      flags.degradation[capability] = strategy as Strategy;
    }
    return undefined;
  },
};

/** The strategy for an effect that the agent cannot honour, by its capability in the format. */
export function strategyOf(effect: Effect, { degradation }: Flags): Strategy {
  return effect === 'updated_input'
    ? (degradation.input_rewrite ?? 'block')
    : (degradation.structured_output ?? 'warn');
}
