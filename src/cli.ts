/** The command line, except `hook`: finds the command, parses its words, loads it and runs it. */

import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { exampleAgent } from './agents/index.ts';
import {
  type Command,
  globalFlags,
  helpOf,
  Interrupted,
  type Io,
  NoTerminal,
  parseWords,
  UsageError,
  type Words,
} from './commands/command.ts';
import { docsFolder, withPaths } from './commands/docs.ts';
import { manPage } from './commands/man-page.ts';
import { onReaderGone } from './commands/reader.ts';
import { commands } from './commands/registry.ts';
import { problemText } from './commands/text.ts';
import { homeOf } from './config/folders.ts';
import { nearest } from './lib/nearest.ts';
import { asShown } from './lib/shown.ts';
import { forTerminal } from './lib/terminal.ts';
import { StateRefused } from './store/folder.ts';

export async function main(args: readonly string[], world: Io): Promise<number> {
  const io = safe(world);
  const [first, ...others] = commandFirst(args);
  if (first === undefined || first === '--help' || first === '-h') return overview(io, 0);
  if (first === 'help') return help(others[0], io);
  const name = first === '--version' || first === '-v' ? 'version' : first;
  const command = commands.find(each => each.name === name);
  if (command === undefined) return unknown(name, io);
  if (others.includes('--help') || others.includes('-h')) {
    io.out(withPaths(helpOf(command)));
    return 0;
  }
  const parsed = parseWords(command, others);
  if (!parsed.ok) return misused(command, parsed.message, io);
  try {
    const { run } = await command.load();
    return await run(parsed.words, isDocument(command, parsed.words, io) ? { ...io, out: world.out } : io);
  } catch (error) {
    if (error instanceof NoTerminal) return misused(command, error.message, io, '');
    if (error instanceof UsageError) return misused(command, error.message, io);
    if (error instanceof Interrupted) {
      io.out('\nNothing was changed.\n');
      return 130;
    }
    if (!(error instanceof StateRefused)) throw error;
    io.err(problemText(error.problem));
    return 1;
  }
}

/** All output of commands is escaped here, JSON included, where `\u009b` means the same. */
const safe = (io: Io): Io => ({
  ...io,
  out: text => io.out(forTerminal(text)),
  err: text => io.err(forTerminal(text)),
  ask: question => io.ask(forTerminal(question)),
});

/** Output to a program or a file stays unchanged, byte for byte. On a terminal it is escaped as well. */
function isDocument(command: Command, { flags }: Words, io: Io): boolean {
  const isSeen = io.isOutTerminal ?? io.isTerminal;
  const isData = ['--json', '--csv', '--format'].some(name => flags[name] !== undefined);
  return !isSeen && (command.printsDocument === true || isData);
}

/** Flags of all commands may precede the command. */
function commandFirst(args: readonly string[]): readonly string[] {
  let at = 0;
  for (let word = args[0]; word !== undefined; word = args[at]) {
    const flag = globalFlags.find(({ name, short }) => [name, short].includes(word.split('=')[0]));
    if (flag === undefined) return [word, ...args.slice(0, at), ...args.slice(at + 1)];
    at += flag.value === undefined || word.includes('=') ? 1 : 2;
  }
  return args;
}

function overview(io: Io, code: number): number {
  const width = Math.max(...commands.map(command => command.name.length));
  const docs = docsFolder();
  io.out(
    [
      'otel-hooks: hooks of coding agents become one OpenTelemetry trace per session.',
      '',
      '  otel-hooks COMMAND [flags]',
      '',
      ...commands.map(command => `  ${command.name.padEnd(width)}  ${command.summary}`),
      '',
      'See it work:        otel-hooks demo',
      `On your own agent:  otel-hooks enable --tool ${exampleAgent.id} --global`,
      'More of a command:  otel-hooks help COMMAND',
      ...(docs === undefined ? [] : [`Documents:          ${docs}`]),
      '',
    ].join('\n'),
  );
  return code;
}

function help(name: string | undefined, io: Io): number {
  if (name === undefined) return overview(io, 0);
  if (name === '--man') {
    io.out(manPage(commands));
    return 0;
  }
  const command = commands.find(each => each.name === name);
  if (command === undefined) return unknown(name, io);
  io.out(withPaths(helpOf(command)));
  return 0;
}

function unknown(name: string, io: Io): number {
  const meant = nearest(
    name,
    commands.map(command => command.name),
  );
  io.err(`otel-hooks: unknown command ${asShown(name)}${meant === undefined ? '' : `; did you mean ${meant}?`}\n`);
  io.err('  next: otel-hooks help\n');
  return 2;
}

function misused(command: Command, message: string, io: Io, who = `otel-hooks ${command.name}: `): number {
  io.err(`${who}${asShown(message)}\n  next: otel-hooks help ${command.name}\n`);
  return 2;
}

function worldOf(): Io {
  const { stdout, stderr, stdin, env } = process;
  return {
    out: text => void stdout.write(text),
    async drained() {
      if (stdout.writableNeedDrain) await once(stdout, 'drain');
    },
    onReaderGone,
    err: text => void stderr.write(text),
    env,
    cwd: process.cwd(),
    home: homeOf(env),
    platform: process.platform,
    color: stdout.isTTY === true && env.NO_COLOR === undefined && env.TERM !== 'dumb',
    // Piped output is not cut. A terminal of an unknown width has 0 columns.
    columns: stdout.isTTY ? stdout.columns || 80 : Number.POSITIVE_INFINITY,
    ...(stdout.isTTY && stdout.rows > 0 ? { rows: stdout.rows } : {}),
    unicode: /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '') || process.platform === 'darwin',
    isTerminal: stdin.isTTY === true && stdout.isTTY === true,
    isOutTerminal: stdout.isTTY === true,
    isErrTerminal: stderr.isTTY === true,
    ...(stdin.isTTY && stdout.isTTY && env.TERM !== 'dumb' ? { screen: screenOf(stdin, stdout) } : {}),
    async ask(question) {
      const lines = createInterface({ input: stdin, output: stdout });
      try {
        return await new Promise((resolve, reject) => {
          lines.once('close', () => reject(new Interrupted()));
          lines.question(question).then(resolve, reject);
        });
      } finally {
        lines.close();
      }
    },
    now: Date.now,
  };
}

function screenOf(stdin: typeof process.stdin, stdout: typeof process.stdout): NonNullable<Io['screen']> {
  return {
    // A terminal of an unknown size has 0 columns.
    size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
    onResize(then) {
      stdout.on('resize', then);
      return () => void stdout.off('resize', then);
    },
    onKey(then) {
      const read = (bytes: Buffer): void => then(bytes.toString());
      stdin.setRawMode(true);
      stdin.on('data', read);
      stdin.resume();
      return () => {
        stdin.off('data', read);
        stdin.setRawMode(false);
        stdin.pause();
      };
    },
  };
}

/**
 * Runs a command line; the bin calls it. If the reader closes the pipe (`| head`), the command ends without a failure.
 */
export async function start(args: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  // Errors can no longer be printed; the command continues.
  process.stderr.on('error', () => undefined);
  try {
    process.exitCode = await main(args, worldOf());
  } catch (error) {
    const isDebug = process.env.OTEL_HOOKS_DEBUG === 'true' && error instanceof Error;
    const why = error instanceof Error ? error.message : String(error);
    process.stderr.write(forTerminal(`otel-hooks: ${why}\n${isDebug ? `${error.stack}\n` : ''}`));
    process.exitCode = 1;
  }
}
