/**
 * Is a command in somebody's settings ours? Told by what the command runs, not by words that occur in it: a person's
 * `echo "otel-hooks hook"` is theirs, and so is `lint && otel-hooks hook`, which they put together.
 *
 * Ours are the sourced script of `enable`, `otel-hooks hook …` as npm installs it or Windows needs it, and what the
 * Python package of the same name wrote, behind uvx or pipx and with its old variable in front.
 */
import type { Fields } from '../event/event.ts';

/** `args`: the exec form, where each argument is one element. */
export function isOurCommand(command: unknown, args?: unknown): boolean {
  if (typeof command !== 'string' || command.length > MAX_LENGTH) return false;
  if (Array.isArray(args)) return args.every(arg => typeof arg === 'string') && runsHook([command, ...args]);
  const commands = simpleCommands(command);
  if (!commands) return false;
  const isNamed = commands.some(words => assignments(words).some(word => word.startsWith('otel_hooks=')));
  let found = false;
  for (const words of commands) {
    const rest = words.slice(assignments(words).length);
    if (runsHook(rest) || (isNamed && sourcesHook(rest))) found = true;
    else if (!isIdle(rest)) return false;
  }
  return found;
}

/** A handler as several agents have it: `{ "type": "command", "command": … }`. */
export function isOurHandler(handler: Fields): boolean {
  return handler.type === 'command' && isOurCommand(handler.command, handler.args);
}

const MAX_LENGTH = 8192;

function sourcesHook([dot, path, ...rest]: string[]): boolean {
  return (dot === '.' || dot === 'source') && path !== undefined && baseName(path) === 'hook.sh' && rest.length === 0;
}

const program = /^otel-hooks(@[\w.^~*-]+)?(\.cjs|\.js|\.exe|\.cmd|\.ps1)?$/i;
/** What people put before a program: interpreters, package runners with their words, their flags. */
const runner = /^(node|nodejs|bun|bunx|npx|npm|pnpm|yarn|uvx|uv|pipx|exec|run|dlx|x|tool|env)(\.exe|\.cmd)?$|^-/i;

function runsHook(words: string[]): boolean {
  const at = words.findIndex(word => program.test(baseName(word)));
  if (at === -1 || !words.slice(0, at).every(word => runner.test(baseName(word)) || isAssignment(word))) return false;
  // `npx -p otel-hooks otel-hooks hook` names the package and then the program.
  const next = program.test(words[at + 1] ?? '') ? at + 2 : at + 1;
  return words[next] === 'hook';
}

/** What our own commands contain besides: tests, guards, and the neutral answer that an agent wants. */
function isIdle(words: string[]): boolean {
  const [name, second, third] = words[0] === '!' ? words.slice(1) : words;
  if (name === undefined || name === ':' || name === 'true' || name === 'printf') return true;
  if (name === '[') return words.includes('-r');
  if (name === 'exit') return second === '0';
  if (name === 'trap') return second === '' || second === 'exit 0';
  return name === 'command' && second === '-v' && third === 'otel-hooks';
}

const isAssignment = (word: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*=/.test(word);

function assignments(words: string[]): string[] {
  const end = words.findIndex(word => !isAssignment(word));
  return end === -1 ? words : words.slice(0, end);
}

const baseName = (path: string): string => path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);

/**
 * A shell command as lists of words, one for each simple command; undefined when it holds what only a shell can read.
 * A backslash counts as a character unless it protects one that a shell treats specially: paths of Windows have many.
 */
function simpleCommands(text: string): string[][] | undefined {
  const commands: string[][] = [[]];
  let word: string | undefined;
  const endWord = () => {
    if (word !== undefined) commands.at(-1)?.push(word);
    word = undefined;
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    if (char === "'") {
      const close = text.indexOf("'", at + 1);
      if (close === -1) return undefined;
      word = (word ?? '') + text.slice(at + 1, close);
      at = close;
    } else if (char === '"') {
      word ??= '';
      for (at++; text[at] !== '"'; at++) {
        if (at >= text.length || text[at] === '`' || (text[at] === '$' && text[at + 1] === '(')) return undefined;
        if (text[at] === '\\' && /["$`]/.test(text[at + 1] ?? '')) at++;
        word += text[at];
      }
    } else if (char === '\\' && /[\s'"$&;|]/.test(text[at + 1] ?? '')) {
      word = (word ?? '') + text[++at];
    } else if (char === '`' || char === '(' || char === ')' || char === '{' || char === '}') {
      return undefined;
    } else if (char === '&' && word?.endsWith('>')) {
      word += char;
    } else if (/[;&|\n]/.test(char)) {
      endWord();
      commands.push([]);
    } else if (/\s/.test(char)) {
      endWord();
    } else {
      word = (word ?? '') + char;
    }
  }
  endWord();
  return commands.map(words => words.filter(each => !/^\d?[<>]/.test(each)));
}
