/** The man page in roff, generated from the table of commands. */
import { VERSION } from '../lib/version.ts';
import { type Command, type Flag, globalFlags } from './command.ts';

export function manPage(commands: readonly Command[]): string {
  return `${[
    `.TH OTEL-HOOKS 1 "" "otel-hooks ${VERSION}" "User Commands"`,
    '.SH NAME',
    'otel-hooks \\- turn the hooks of coding agents into OpenTelemetry traces, logs and metrics',
    '.SH SYNOPSIS',
    '.B otel-hooks',
    '.I COMMAND',
    '[flags]',
    '.SH COMMANDS',
    ...commands.flatMap(commandLines),
    '.SH GLOBAL FLAGS',
    ...globalFlags.flatMap(flagLines),
    '.SH EXIT STATUS',
    'Exit codes: 0: done. 1: a problem was found, or work is left. 2: wrong usage. The command hook, which agents call, always exits with 0.',
    '.SH FILES',
    '.TP',
    '.I $XDG_CONFIG_HOME/otel-hooks/config.json',
    'The configuration of the user.',
    '.TP',
    '.I .otel-hooks.json',
    'The configuration of a project.',
    '.TP',
    '.I $XDG_STATE_HOME/otel-hooks',
    'Recorded sessions, and data that waits.',
  ].join('\n')}\n`;
}

const commandLines = ({ name, summary, usage, notes = [], flags, example }: Command): string[] => [
  `.SS ${roff(name)}`,
  `${sentence(roff(summary))}`,
  '.PP',
  '.nf',
  roff(usage),
  '.fi',
  ...(notes.length > 0 ? ['.PP', ...notes.map(roff)] : []),
  ...flags.flatMap(flagLines),
  '.PP',
  'Example:',
  '.PP',
  '.nf',
  ...example.split('\n').map(roff),
  '.fi',
];

const flagLines = ({ name, short, value, summary }: Flag): string[] => [
  '.TP',
  `.B ${roff([short, name].filter(word => word !== undefined).join(', '))}${value === undefined ? '' : ` ${roff(value)}`}`,
  sentence(roff(summary)),
];

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** Escapes characters that roff would interpret: backslashes, dashes, and a dot or a quote at the start of a line. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1');
