/**
 * The Node front end: writes standard input into the inbox, then starts delivery if none runs.
 *
 * In every case the agent sees a process that printed nothing (or the one answer that the agent requires) and ended
 * with 0, because a hook that fails must neither stop nor steer an agent. Failures are noted in the folder `problems`.
 *
 * This is all that a hook runs, and every event of every session pays for it. A function that is called once costs more
 * to compile than to run, so the common case has few functions, and rare cases are in separate files.
 */
import { existsSync, fstatSync, lstatSync, openSync, readFileSync, readSync, statSync, writeSync } from './builtins.ts';
import { travellingFrom } from './environment.ts';
import { encodeHeader, encodeTrailer, fragmentName } from './fragment.ts';
import { isDelivering, kick, kickOnce } from './kick.ts';
import { isOfAnother, makeFolders, noteProblem, writeAll } from './state-files.ts';
import { fileNamed, locateStateFolder } from './state-folder.ts';
import { codeOf, copyLarge, endsInBrace, isJson, readPatiently, unblockedStdin } from './stdin.ts';

/** Most events fit; a larger one costs a system call and a page fault for every 4 KB. */
const bufferBytes = 64 * 1024;

/**
 * `deliver` is the program that a kick starts. This function ends the process instead of returning, because its caller
 * could print.
 */
export function hook(argv: readonly string[], deliver: string): void {
  let stateFolder: string | undefined;
  let step = 'stdin';
  try {
    const { tool, event, provider, stateDir, config, reply, flushMs, isEdge } = readFlags(argv);
    if (reply) answer(reply);
    const { env, platform } = process;
    // Deliver works in another folder. A relative path in the variable is passed unchanged, and deliver refuses it.
    const named = config && fileNamed(config, here(), home);
    if (named) env.OTEL_HOOKS_CONFIG = named;
    stateFolder = locateStateFolder(stateDir, { env, platform, home, cwd: process.cwd, named }, readText);

    // Input from a terminal comes from a person and not from an agent, and the read would never end. /dev/null is a
    // character device as well, so the module that distinguishes both is loaded only for character devices.
    if (fstatSync(0).isCharacterDevice() && (require('node:tty') as typeof import('node:tty')).isatty(0)) leave();

    // Only the owner gets rights. The umask is replaced, because a umask that removes the rights of the owner would
    // make the files unusable.
    process.umask(0o077);
    step = 'folder';
    const inbox = `${stateFolder}/inbox`;
    if (!areOurs(stateFolder, inbox)) leave();

    // The program is missing while an upgrade replaces the package. Without a program that delivers them, events would
    // pile up.
    if (!existsSync(deliver)) {
      noteProblem(stateFolder, 'kick-missing');
      leave();
    }

    step = 'write';
    const boot = firstWord('/proc/sys/kernel/random/boot_id').slice(0, 8);
    const { fd, unique } = newFragment(inbox, boot);
    const fields = {
      tool,
      event,
      provider,
      config: named,
      cwd: here(),
      at: `${Date.now()}`,
      ppid: `${process.ppid}`,
      ...travellingFrom(env),
    };
    copyInput(fd, fields, encodeTrailer(unique), stateFolder);

    // The event is stored. Start deliver unless it runs.
    step = 'kick';
    if (flushMs !== undefined) {
      if (flush(stateFolder, deliver, flushMs)) return;
    } else if (isEdge || !isDelivering(stateFolder)) {
      // The payload may have arrived slowly, so the time is read again.
      kickOnce({ deliver, stateFolder, args: ['--kicked'], from: here() }, isEdge, boot, firstWord('/proc/uptime'));
    }
  } catch (error) {
    // Without a state folder the failure cannot be recorded.
    if (stateFolder !== undefined) noteProblem(stateFolder, `${step}-${codeOf(error) || 'unknown'}`);
  }
  leave();
}

/** Creates the missing folders. Returns false if one of them is a link or belongs to another user. */
function areOurs(stateFolder: string, inbox: string): boolean {
  for (const folder of [stateFolder, inbox]) {
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found === undefined) {
      if (isOfAnother(stateFolder, home())) return false;
      makeFolders(stateFolder);
    }
    // Checked again, because another user may have made it in the meantime.
    const now = found ?? lstatSync(folder);
    if (!now.isDirectory() || (process.geteuid !== undefined && now.uid !== process.geteuid())) return false;
  }
  return true;
}

/** Creates a file under a name that no other process can have. A large payload is read back (`copyLarge`). */
function newFragment(inbox: string, boot: string): { fd: number; unique: string } {
  const { pid, ppid } = process;
  const uptime = firstWord('/proc/uptime');
  const random = firstWord('/proc/sys/kernel/random/uuid');
  for (let attempt = 0; ; attempt++) {
    const unique = random || `${ppid}.${process.hrtime.bigint()}.${attempt}`;
    try {
      return { fd: openSync(`${inbox}/${fragmentName(boot, uptime, pid, unique)}`, 'wx+', 0o600), unique };
    } catch (error) {
      if (attempt === 9 || codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

/**
 * Header, payload and trailer through one buffer: a common event is one write. No character of a string takes more than
 * three bytes, and the trailer always fits.
 *
 * The end of the input: with `--tool` the caller is an agent, and one JSON object is enough, because an agent may keep
 * the pipe open and a blocking read has no timer. Without `--tool` the input may be a stream of events from a slow
 * writer, so it is read to its end. An input with more bytes after the first object is read to its end as well.
 */
function copyInput(fd: number, fields: Parameters<typeof encodeHeader>[0], trailer: string, stateFolder: string): void {
  let header = encodeHeader(fields, true);
  const buffer = Buffer.allocUnsafeSlow(Math.max(bufferBytes, header.length * 4) + trailer.length);
  const limit = buffer.length - trailer.length;
  let start = buffer.write(header);
  if (start !== header.length) {
    header = encodeHeader(fields);
    start = buffer.write(header);
  }
  let filled = start;
  let input = 0;
  for (;;) {
    let size: number;
    try {
      size = readSync(input, buffer, filled, limit - filled, null);
    } catch (error) {
      size = readPatiently(error, input, buffer.subarray(0, limit), filled, stateFolder);
    }
    filled += size;
    if (size === 0 || (fields.tool && endsInBrace(buffer, filled) && isJson(buffer, start, filled))) {
      filled += buffer.write(trailer, filled);
      writeAll(fd, buffer, filled);
      return;
    }
    if (filled === limit) {
      copyLarge(fd, buffer, limit, fields.tool ? start : -1, trailer, stateFolder);
      return;
    }
    input ||= unblockedStdin();
  }
}

/**
 * Waits for deliver, up to a limit; false when it could not be started. Deliver is not killed when the time is up: its
 * fragments stay on the disk, and it may still finish.
 */
function flush(stateFolder: string, deliver: string, flushMs: number): boolean {
  const started = kick({ deliver, stateFolder, args: ['--wait', `${flushMs}ms`], from: here() }, leave);
  if (started) setTimeout(leave, flushMs + 250);
  else noteProblem(stateFolder, 'kick-failed');
  return started;
}

interface Flags {
  tool: string;
  event: string;
  provider: string;
  stateDir: string;
  config: string;
  /** Writes the text that this agent requires on standard output. It is never a decision. */
  reply: string;
  flushMs: number | undefined;
  isEdge: boolean;
}

/** Unknown flags are ignored: an older front end must not fail because of a newer setting. */
function readFlags(argv: readonly string[]): Flags {
  const flags: Flags = {
    tool: '',
    event: '',
    provider: '',
    stateDir: '',
    config: '',
    reply: '',
    flushMs: undefined,
    isEdge: false,
  };
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    const equals = word.indexOf('=');
    const flag = equals < 0 ? word : word.slice(0, equals);
    if (flag === '--edge') flags.isEdge = true;
    else if (setFlag(flags, flag, equals < 0 ? (argv[at + 1] ?? '') : word.slice(equals + 1)) && equals < 0) at += 1;
  }
  return flags;
}

/** Returns false for an unknown flag; its value is then read as the next word. */
function setFlag(flags: Flags, flag: string, value: string): boolean {
  if (flag === '--tool') flags.tool = value;
  else if (flag === '--event') flags.event = value;
  else if (flag === '--state-dir') flags.stateDir = value;
  else if (flag === '--config') flags.config = value;
  else if (flag === '--reply') flags.reply = value;
  else if (flag === '--flush') flags.flushMs = readDurationMs(value);
  // Several providers may be given, each with its own flag.
  else if (flag === '--provider') flags.provider = flags.provider ? `${flags.provider},${value}` : value;
  else return false;
  return true;
}

/** Reads `5s`, `500ms`, `1m`, or a number of seconds. An unreadable value is 5 s; the maximum is 5 min. */
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
    // The agent does not read the answer. The event is stored.
  }
}

function here(): string {
  try {
    return process.cwd();
  } catch {
    // The folder was removed while the agent worked in it.
    return '';
  }
}

function firstWord(file: string): string {
  try {
    // Node reads UTF-8 text on a faster path.
    const text = readFileSync(file, 'utf8');
    const end = text.indexOf(' ');
    return text.slice(0, end < 0 ? text.length - 1 : end);
  } catch {
    // Not Linux, or a container without /proc. The file name then has 0 in this place.
    return '';
  }
}

/** The type is checked first: the read of a pipe or a device that a variable names would not end. */
const readText = (path: string): string =>
  statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'utf8') : '';

function home(): string {
  // Node would read the same variable, but loading its module costs more than reading it here.
  if (process.env.HOME) return process.env.HOME;
  try {
    const { homedir, userInfo } = require('node:os') as typeof import('node:os');
    return homedir() || userInfo().homedir;
  } catch {
    // A container may run under a uid without a user.
    return '/';
  }
}

/** Exits without Node's normal shutdown: listeners and handles of a preloaded module must not keep an agent waiting. */
function leave(): never {
  const { reallyExit } = process as { reallyExit?: (code: number) => never };
  if (reallyExit !== undefined) reallyExit.call(process, 0);
  return process.exit(0);
}
