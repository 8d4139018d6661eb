/**
 * The Node front end: standard input into the inbox, then a look whether somebody delivers it.
 *
 * Whatever happens, the agent sees a process that printed nothing (or the one answer it was told to print) and ended
 * with 0: a hook that fails must not be able to stop or to steer an agent. What went wrong is noted beside the inbox.
 *
 * This and what it imports is all that a hook loads; each further module is paid for by every event of every session.
 */
import { readFileSync, writeSync } from './builtins.ts';
import { travellingFrom } from './environment.ts';
import { encodeHeader, encodeTrailer, maxFragmentBytes } from './fragment.ts';
import { closeFragment, createFragment, noteProblem, openInbox, writeAll } from './inbox.ts';
import { isDelivering, kick } from './kick.ts';
import { locateStateFolder } from './state-folder.ts';
import {
  codeOf,
  type Input,
  isTerminal,
  isWholeObject,
  largeBufferBytes,
  openInput,
  smallBufferBytes,
} from './stdin.ts';

const patienceMs = 5_000;

/** `deliver` is the program that a kick starts. Never returns to a caller that could print: it ends the process. */
export function hook(argv: readonly string[], deliver: string): void {
  try {
    const flags = readFlags(argv);
    if (flags.reply) answer(flags.reply);
    const stateFolder = locateStateFolder(
      flags.stateDir,
      { env: process.env, platform: process.platform, home, cwd: () => process.cwd() },
      path => readFileSync(path, 'utf8'),
    );
    if (record(flags, stateFolder) && !flush(flags, stateFolder, deliver)) leave();
  } catch {
    // No place to note it: not even the state folder is known.
    leave();
  }
}

interface Flags {
  tool?: string;
  event?: string;
  provider?: string;
  stateDir?: string;
  /** What this agent requires on standard output; never a decision. */
  reply?: string;
  flushMs?: number;
  isEdge: boolean;
}

/** The event is on disk when this returns true; false, when there was nothing to keep or no way to keep it. */
function record(flags: Flags, stateFolder: string): boolean {
  let step = 'stdin';
  try {
    if (isTerminal(0)) return leave();
    step = 'folder';
    const inbox = openInbox(stateFolder);
    if (inbox === undefined) return leave();
    step = 'write';
    const { fd, unique } = createFragment(inbox, process.pid, process.ppid);
    copy(openInput(0, patienceMs), fd, headerOf(flags), unique);
    closeFragment(fd);
    return true;
  } catch (error) {
    noteProblem(stateFolder, `${step}-${codeOf(error) || 'unknown'}`);
    return leave();
  }
}

/**
 * Header, payload, trailer through one buffer: a common event is one write. The end of a payload beyond any limit is
 * not waited for; its file stays without a trailer and too large, for deliver to count.
 */
function copy(input: Input, fd: number, fields: Readonly<Record<string, string>>, unique: string): void {
  let header = encodeHeader(fields, true);
  const trailer = encodeTrailer(unique);
  // No character of a string takes more than three bytes.
  let buffer = Buffer.allocUnsafeSlow(Math.max(smallBufferBytes, header.length * 4));
  let start = buffer.write(header);
  if (start !== header.length) {
    header = encodeHeader(fields);
    start = buffer.write(header);
  }
  let filled = start;
  let written = 0;
  for (;;) {
    const size = input.read(buffer, filled);
    filled += size;
    if (size === 0 || (written === 0 && isWholeObject(buffer, start, filled))) break;
    if (filled < buffer.length) continue;
    if (buffer.length < largeBufferBytes) {
      const larger = Buffer.allocUnsafeSlow(largeBufferBytes);
      buffer.copy(larger);
      buffer = larger;
      continue;
    }
    writeAll(fd, buffer, filled);
    written += filled;
    filled = 0;
    if (written > maxFragmentBytes) return;
  }
  if (filled + trailer.length > buffer.length) {
    writeAll(fd, buffer, filled);
    filled = 0;
  }
  filled += buffer.write(trailer, filled);
  writeAll(fd, buffer, filled);
}

function headerOf(flags: Flags): Record<string, string> {
  return {
    tool: flags.tool ?? '',
    event: flags.event ?? '',
    provider: flags.provider ?? '',
    cwd: here(),
    at: `${Date.now()}`,
    ppid: `${process.ppid}`,
    ...travellingFrom(process.env),
  };
}

/** Starts deliver where it is needed. True: somebody is waited for, and ends the process. */
function flush(flags: Flags, stateFolder: string, deliver: string): boolean {
  try {
    if (flags.flushMs !== undefined) {
      // It is not killed when the time is up: what it holds stays on disk, and it may still finish.
      const args = ['--wait', `${flags.flushMs}ms`];
      const started = kick({ deliver, stateFolder, args }, leave);
      if (started) setTimeout(leave, flags.flushMs + 250);
      else noteProblem(stateFolder, 'kick-missing');
      return started;
    }
    if (!flags.isEdge && isDelivering(stateFolder)) return false;
    if (!kick({ deliver, stateFolder, args: ['--kicked'] })) noteProblem(stateFolder, 'kick-missing');
  } catch (error) {
    noteProblem(stateFolder, `kick-${codeOf(error) || 'unknown'}`);
  }
  return false;
}

/** A word that is not known is passed over: an older front end must not fail over a newer setting. */
function readFlags(argv: readonly string[]): Flags {
  const flags: Flags = { isEdge: false };
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    const equals = word.indexOf('=');
    const flag = equals < 0 ? word : word.slice(0, equals);
    const value = (): string => (equals < 0 ? (argv[++at] ?? '') : word.slice(equals + 1));
    if (flag === '--tool') flags.tool = value();
    else if (flag === '--event') flags.event = value();
    else if (flag === '--edge') flags.isEdge = true;
    else if (flag === '--state-dir') flags.stateDir = value();
    else if (flag === '--reply') flags.reply = value();
    else if (flag === '--flush') flags.flushMs = readDurationMs(value());
    // Several may be named one by one.
    else if (flag === '--provider') flags.provider = flags.provider ? `${flags.provider},${value()}` : value();
    else if (flag === '--config') value();
  }
  return flags;
}

/** `5s`, `500ms`, `1m`; a bare number is seconds. What cannot be read is 5 s, and nothing waits longer than 5 min. */
function readDurationMs(text: string): number {
  const [, amount, unit] = /^([0-9]+(?:\.[0-9]+)?)(ms|s|m)?$/.exec(text) ?? [];
  if (amount === undefined) return 5_000;
  const factor = unit === 'ms' ? 1 : unit === 'm' ? 60_000 : 1_000;
  return Math.min(Math.round(Number(amount) * factor), 300_000);
}

function answer(text: string): void {
  try {
    writeSync(1, `${text}\n`);
  } catch {
    // The agent does not listen; the event is kept all the same.
  }
}

function here(): string {
  try {
    return process.cwd();
  } catch {
    // The folder was removed under the agent.
    return '';
  }
}

// Node would ask the same variable, but loading its module costs more than the question.
const home = (): string => process.env.HOME || (require('node:os') as typeof import('node:os')).homedir();

/** At once, without Node's own farewell: listeners and handles of a preloaded module must not keep an agent waiting. */
function leave(): never {
  const { reallyExit } = process as { reallyExit?: (code: number) => never };
  if (reallyExit !== undefined) reallyExit.call(process, 0);
  return process.exit(0);
}
