/** Code that programs execute: scripts, heredocs, arguments such as `-c CODE`, and the code of packages. */
import { type Execution, type Invocation, optionValue } from '../program.ts';
import type { Word } from '../shell.ts';
import type { Flow } from '../walk.ts';
import { codeLooked, executesInput, isCodeOption } from './code.ts';
import { foundPaths } from './find.ts';

/** Code that begins with a substitution is the output of that substitution. */
const BEGINS_WITH_SUBSTITUTION = /^\s*(?:\$\(\)|\$[A-Za-z_]\w*)|[;&|]\s*\$\(\)/;

const isShellCodeOption = (arg: string): boolean => /^-[a-zA-Z]*c[a-zA-Z]*$/.test(arg);

export const executedByShell = (invocation: Invocation): Execution =>
  executedFrom(invocation, invocation.args.findIndex(isShellCodeOption), true);

export const executedByInterpreter = (invocation: Invocation): Execution =>
  executedFrom(
    invocation,
    invocation.args.findIndex(arg => isCodeOption(arg) || arg === '-m'),
    false,
  );

function executedFrom({ args, words, substituted, input }: Invocation, option: number, isShell: boolean): Execution {
  if (option >= 0 && args[option] !== '-m') {
    const code = args[option + 1] ?? '';
    // `xargs` adds its input as the missing code.
    const flows = [...(code === '' ? [input] : []), ...(BEGINS_WITH_SUBSTITUTION.test(code) ? [substituted] : [])];
    return isShell ? { flows, script: code, input } : { flows };
  }
  // `python3 - ARG` reads the code from its input; for a shell, `-` only ends the options.
  const at = args.findIndex(arg => !arg.startsWith('-') || (arg === '-' && !isShell));
  const operand = args[at];
  if (operand === '/dev/stdin' || operand === '-') return { flows: [input] };
  if (option >= 0) return {};
  if (operand !== undefined && !args.includes('-s')) return executedFile(operand, words[at], substituted);
  return { flows: [input], script: isShell ? input.text : undefined };
}

const executedFile = (path: string, word: Word | undefined, substituted: Flow): Execution => ({
  files: [path],
  flows: (word?.inner.length ?? 0) > 0 ? [substituted] : [],
});

/** PowerShell: `-Command` takes the rest of the line, `-File` a path. */
export function executedByPowerShell({ args, words, substituted, input }: Invocation): Execution {
  const command = args.findIndex(arg => /^-c(?:ommand)?$/i.test(arg));
  if (command >= 0) return { script: args.slice(command + 1).join(' ') };
  const file = args.findIndex(arg => /^-f(?:ile)?$/i.test(arg)) + 1;
  const at = file > 0 ? file : args.findIndex(arg => !arg.startsWith('-'));
  const operand = args[at];
  if (operand === '/dev/stdin' || operand === undefined || args.includes('-s')) return { flows: [input] };
  return executedFile(operand, words[at], substituted);
}

export function executedByEval({ args, substituted }: Invocation): Execution {
  const script = args.join(' ');
  return { flows: BEGINS_WITH_SUBSTITUTION.test(script) ? [substituted] : [], script };
}

export function executedByInvokeExpression({ args, substituted, input }: Invocation): Execution {
  const line = args.join(' ');
  const isDownload = /\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|webclient)\b/i.test(line);
  const tags = [...(isDownload ? ['download'] : []), ...(/frombase64string/i.test(line) ? ['decoded'] : [])];
  return { flows: [substituted, input], tags };
}

export function executedByCmd({ args }: Invocation): Execution {
  const at = args.findIndex(arg => /^\/[ck]$/i.test(arg));
  return at < 0 ? {} : { script: args.slice(at + 1).join(' ') };
}

export function executedBySu({ args }: Invocation): Execution {
  const at = args.indexOf('-c');
  return at < 0 ? {} : { script: args[at + 1] ?? '' };
}

/** The packages that an installer installs contain code. */
export const executedByInstaller = ({ args }: Invocation): Execution => ({ files: args });

export const executedBySsh = ({ args, input }: Invocation): Execution => ({
  script: args.slice(hostAt(args) + 1).join(' '),
  input,
});

function hostAt(args: readonly string[]): number {
  let at = 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (/^-[bcDEeFIiJLlmOopQRSWw]$/.test(arg)) at += 1;
    else if (!arg.startsWith('-')) break;
  }
  return at;
}

/** `find -exec`: the command gets the roots, or a path that represents the files that the tests of `find` select. */
export function executedByFind({ args, words }: Invocation): Execution {
  const at = args.findIndex(arg => /^-(?:exec|execdir|ok)$/.test(arg));
  if (at < 0) return {};
  const end = args.findIndex((arg, i) => i > at && (arg === ';' || arg === '+'));
  const command = words.slice(at + 1, end < 0 ? undefined : end).filter(word => word.text !== '{}');
  const found = foundPaths(args).map(text => ({ text, variables: [], inner: [], quoted: true }));
  return { command: [...command, ...found] };
}

/** A program that takes a line for a shell, on this machine or on another one. */
const lineFrom =
  (lineOf: (args: readonly string[]) => string) =>
  ({ args }: Invocation): Execution => {
    const script = lineOf(args);
    return script === '' ? {} : { script };
  };

export const lineOfOption = (option: RegExp): ((invocation: Invocation) => Execution) =>
  lineFrom(args => optionValue(args, option));

/** `vagrant ssh -c LINE`: only after this verb. */
export const lineOfVerb = (verb: string, option: RegExp): ((invocation: Invocation) => Execution) =>
  lineFrom(args => (args[0] === verb ? optionValue(args, option) : ''));

const withBlanks = (args: readonly string[]): string[] => args.filter(arg => /\s/.test(arg));

export const lineOfScreen = lineFrom(args => withBlanks(args).join('; '));

export const lineOfTmux = lineFrom(args =>
  /^(?:new|new-session|new-window|neww|split-window|send-keys|send|respawn-pane)$/.test(args[0] ?? '')
    ? withBlanks(args.slice(1)).join('; ')
    : '',
);

export const lineOfHeroku = lineFrom(args =>
  /^run(?::detached)?$/.test(args[0] ?? '')
    ? args
        .slice(1)
        .filter((arg, at) => !/^(?:-a|--app)$/.test(args[at] ?? '') && !/^--?[a-z]/.test(arg))
        .join(' ')
    : '',
);

export const lineOfAdb = lineFrom(args => (args[0] === 'shell' ? args.slice(1).join(' ') : ''));

/** The code of an interpreter: its heredoc or its argument. */
export function codeOf({ row, args, input }: Pick<Invocation, 'row' | 'args' | 'input'>): {
  /** Set if the code comes from the input. */
  heredoc: string | undefined;
  code: string | undefined;
} {
  if (!row.isInterpreter) return { heredoc: undefined, code: undefined };
  const heredoc = executesInput(args) && input.text !== undefined ? codeLooked(input.text) : undefined;
  const argument = args.find((_, at) => isCodeOption(args[at - 1] ?? ''));
  return { heredoc, code: heredoc ?? (argument === undefined ? undefined : codeLooked(argument)) };
}
