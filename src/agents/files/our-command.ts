/**
 * Decides whether a command in a user's settings is ours, so that it may be replaced and removed. The decision depends
 * on what the command runs, not on words in it: the user's `echo "otel-hooks hook"` is not ours, and neither is `lint
 * && otel-hooks hook`, which the user composed.
 *
 * Our commands are: the sourced script of `enable` and the programs that it writes beside the script, `otel-hooks hook
 * …` in the forms of npm and of Windows, and the commands of the Python package of the same name, with uvx or pipx and
 * with its old variable. Commands of older versions and of other installations count too. A command that is recognized
 * here is not trusted: a clone can contain a command that looks like ours. So otel-hooks runs only commands that this
 * version would write (`src/commands/proof.ts`).
 */
import type { Fields } from '../../event/event.ts';
import { isFields } from '../../lib/read.ts';
import type { HookCommand } from '../contract/contract.ts';
import { simpleCommands } from './shell-words.ts';

/** `args` is the exec form, where each argument is one element. */
export function isOurCommand(command: unknown, args?: unknown): boolean {
  if (typeof command !== 'string' || command.length > MAX_LENGTH) return false;
  if (Array.isArray(args)) return args.every(arg => typeof arg === 'string') && runsHook([command, ...args]);
  if (isForWindows(command)) return true;
  const inner = handedToShell.exec(command)?.[1];
  if (inner !== undefined) return isOurCommand(inner.replaceAll("'\\''", "'"));
  const commands = simpleCommands(command);
  if (!commands) return false;
  const isNamed = commands.some(([first, ...more]) => first?.startsWith('otel_hooks=') && more.length === 0);
  let found = false;
  for (const words of commands) {
    const set = assignments(words);
    if (!set.every(isOurAssignment)) return false;
    const rest = words.slice(set.length);
    if (runsHook(rest) || (isNamed && sourcesHook(rest))) found = true;
    else if (!isIdle(rest)) return false;
  }
  return found;
}

/**
 * A handler in the form of agents: `{ "type": "command", "command": … }`. Some have a command per system, one has an
 * action.
 */
export function isOurHandler(handler: Fields): boolean {
  if (handler.type !== undefined && handler.type !== 'command') return false;
  const commands = commandsIn(handler);
  return commands.length > 0 && commands.every(command => isOurCommand(command, handler.args));
}

/** Returns true if a value of a hooks file of any shape contains a handler of ours. */
export function holdsOurs(value: unknown, depth = 0): boolean {
  if (depth > DEEPEST) return false;
  if (Array.isArray(value)) return value.some(each => holdsOurs(each, depth + 1));
  if (!isFields(value)) return false;
  return isOurHandler(value) || Object.values(value).some(each => holdsOurs(each, depth + 1));
}

const DEEPEST = 12;

const commandKeys = ['command', 'bash', 'linux', 'osx', 'powershell', 'commandWindows', 'windows', 'exec'] as const;

function commandsIn(handler: Fields): unknown[] {
  const at = isFields(handler.action) ? handler.action : handler;
  return commandKeys.flatMap(key => (at[key] === undefined ? [] : [at[key]]));
}

/** Returns the command of a handler for each kind of system. */
export function commandOf(handler: Fields): HookCommand {
  const commands = commandsIn(handler).filter(command => typeof command === 'string');
  return { posix: commands.find(command => !isForWindows(command)), windows: commands.find(isForWindows) };
}

/** Returns the providers that our commands name; the Python package wrote a command for each provider. */
export function providersOf(commands: readonly HookCommand[]): string | undefined {
  const named = commands.map(providerOf);
  const all = new Set(named.flatMap(each => each?.split(',') ?? []));
  return all.size === 0 || named.includes(undefined) ? undefined : [...all].join(',');
}

function providerOf({ posix, windows }: HookCommand): string | undefined {
  const command = posix ?? windows ?? '';
  return (
    / --provider[ =]([\w.:,/-]+)/.exec(command)?.[1] ??
    /\botel_hooks='[\w.:/-]+ [\w.:/-]+ (?:edge|-) ([\w.:,/-]+)'/.exec(command.replaceAll("'\\''", "'"))?.[1] ??
    /otel-hooks-[a-z-]+\.sh'? [\w.:/-]+ (?:edge|-) ([\w.:,/-]+)$/.exec(command)?.[1]
  );
}

/**
 * The commands that `enable` writes for the shells of Windows, matched as a whole: cmd and PowerShell have syntax that
 * sh does not have.
 */
function isForWindows(command: string): boolean {
  return windowsForms.some(form => form.test(command));
}
const words = String.raw`(?: (?:[\w.:,/-]+|'?\{\}'?))*`;
const script = String.raw`\[Environment\]::SetEnvironmentVariable\('NODE_OPTIONS',''\); (?:& '(?:[^']|'')+' '(?:[^']|'')*otel-hooks\.cjs' hook${words}|if \(Get-Command otel-hooks\.cmd -ErrorAction SilentlyContinue\) \{ otel-hooks\.cmd hook${words} \}); exit 0`;
const windowsForms = [
  new RegExp(`^${script}$`),
  new RegExp(`^powershell -NoProfile -NonInteractive -Command "${script}"$`),
  new RegExp(
    String.raw`^set NODE_OPTIONS=& (?:"[^"]+" "[^"]*otel-hooks\.cjs"|where /q otel-hooks\.cmd && otel-hooks\.cmd) hook${words} & exit 0$`,
  ),
];

/** For agents that run the user's shell. */
const handedToShell = /^\/bin\/sh -c '((?:[^']|'\\'')*)'$/;

const MAX_LENGTH = 8192;

/** `enable` writes its scripts into a folder of our name and uses absolute paths. */
const ownScript = /^\/(?:.*\/)?otel-hooks\/(?:data\/)?[^/]+$/;

function sourcesHook([dot, path = '', ...rest]: string[]): boolean {
  return (dot === '.' || dot === 'source') && isOwnScript(path) && baseName(path) === 'hook.sh' && rest.length === 0;
}

const isOwnScript = (path: string): boolean => ownScript.test(path) && isFixed(path);

const program = /^otel-hooks(@[\w.^~*-]+)?(\.cjs|\.js|\.exe|\.cmd|\.ps1)?$/i;
/** Words that users put before a program: interpreters, package runners, and flags that name no file. */
const runner = /^(node|nodejs|bun|bunx|npx|npm|pnpm|yarn|uvx|uv|pipx|exec|run|dlx|x|tool|env)(\.exe|\.cmd)?$/i;
const runnerFlag = /^(&|--|-[ypqs]|--(yes|quiet|silent|from|package|spec)(=otel-hooks(@[\w.^~*-]+)?)?)$/;

function runsHook(words: string[]): boolean {
  const [first = ''] = words;
  if (/^otel-hooks-[a-z-]+\.sh$/.test(baseName(first)))
    return isOwnScript(first) && words.slice(1).every(word => /^[\w.:,/-]+$/.test(word));
  const at = words.findIndex(word => program.test(baseName(word)));
  if (at === -1 || !isSearchedOrAbsolute(words[at] ?? '') || !words.slice(0, at).every(mayStandBefore)) return false;
  // `npx -p otel-hooks otel-hooks hook` names the package, then the program.
  const next = program.test(words[at + 1] ?? '') ? at + 2 : at + 1;
  return words[next] === 'hook';
}

const mayStandBefore = (word: string): boolean =>
  (runner.test(baseName(word)) && isSearchedOrAbsolute(word)) ||
  runnerFlag.test(word) ||
  (isAssignment(word) && isOurAssignment(word));

/** A program of this machine, not of the working folder: found in PATH or named by an absolute path. */
const isSearchedOrAbsolute = (word: string): boolean =>
  isFixed(word) && (baseName(word) === word || /^(?:\/|\\|[A-Za-z]:[\\/])/.test(word));

/** A text without anything that a shell expands, and without `..`. */
const isFixed = (word: string): boolean =>
  !/[$`~*?[]|(?:^|[\\/])\.\.(?:[\\/]|$)/.test(word.replace(/@[\w.^~*-]+$/, ''));

/** Assignments in our commands: the event's name, an empty NODE_OPTIONS, or the variable of the Python package. */
const isOurAssignment = (word: string): boolean =>
  /^(otel_hooks=.*|NODE_OPTIONS=|OTEL_HOOKS_SOURCE_TOOL=[\w-]*)$/.test(word);

/** Further parts of our own commands: tests, guards, and the neutral answer that an agent requires. */
function isIdle(words: string[]): boolean {
  const [name, second, third] = words[0] === '!' ? words.slice(1) : words;
  if (name === undefined || name === ':' || name === 'true' || name === 'printf') return true;
  if (name === '[') return words.includes('-r');
  if (name === 'exit') return second === '0';
  if (name === 'set') return second?.startsWith('-') === true;
  if (name === 'trap') return second === '' || second === 'exit 0';
  return name === 'command' && second === '-v' && third === 'otel-hooks';
}

const isAssignment = (word: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*=/.test(word);

function assignments(words: string[]): string[] {
  const end = words.findIndex(word => !isAssignment(word));
  return end === -1 ? words : words.slice(0, end);
}

const baseName = (path: string): string => path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
