/** Shows output that is longer than the screen in the user's pager: `$PAGER`, or `less -FRX`. */
import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { forTerminal } from '../lib/terminal.ts';
import { isInPath } from '../setup/standing.ts';
import type { Io, Words } from './command.ts';

/** Each piece is made after its reader took the former ones. `pieces` are iterated again if the pager does not start. */
export async function paged(pieces: Iterable<string>, words: Words, io: Io): Promise<void> {
  const pager = pagerOf(words, io);
  if (pager === undefined) return printed(pieces, io);
  const { head, rest, isLong } = beginningOf(pieces, io.rows ?? 0);
  const all = resumed(head, rest);
  if (!isLong) return printed(all, io);
  if (!(await ranPager(pager, all, io))) await printed(pieces, io);
}

async function printed(pieces: Iterable<string>, io: Io): Promise<void> {
  for (const piece of pieces) {
    io.out(piece);
    await io.drained?.();
  }
}

/** Returns undefined if text of any length is printed without a pager. */
function pagerOf(words: Words, io: Io): string | undefined {
  const { env, platform } = io;
  if (!(io.isOutTerminal ?? io.isTerminal) || words.flags['--no-pager'] !== undefined) return undefined;
  const named = env.PAGER?.trim();
  if (named !== undefined) return named === '' || named === 'cat' ? undefined : named;
  return platform !== 'win32' && isInPath('less', { env }, platform) ? 'less' : undefined;
}

interface Beginning {
  head: string[];
  rest: Iterator<string>;
  /** The text does not fit a screen of this number of rows. */
  isLong: boolean;
}

/** Takes the pieces that fill the screen. */
function beginningOf(pieces: Iterable<string>, rows: number): Beginning {
  const head: string[] = [];
  const rest = pieces[Symbol.iterator]();
  // The prompt of the shell needs a line as well.
  for (let lines = 1; lines < rows; ) {
    const next = rest.next();
    if (next.done) return { head, rest, isLong: false };
    head.push(next.value);
    lines += next.value.split('\n').length - 1;
  }
  return { head, rest, isLong: true };
}

function* resumed(head: readonly string[], rest: Iterator<string>): Generator<string, undefined> {
  yield* head;
  for (let next = rest.next(); !next.done; next = rest.next()) yield next.value;
}

/** The exit codes of a shell when the program does not exist. */
const noProgram: readonly (number | null)[] = [126, 127];

/** The errors of a pipe whose reader has closed it. */
const closedEarly: readonly unknown[] = ['EPIPE', 'ECONNRESET', 'EOF', 'ERR_STREAM_PREMATURE_CLOSE'];

/** Returns false if the pager did not start. */
function ranPager(pager: string, pieces: Iterable<string>, { env }: Io): Promise<boolean> {
  return new Promise((settled, failed) => {
    // F: quit when it fits the screen, R: colors, X: leave the text on the screen.
    const child = spawn(pager, {
      shell: true,
      env: { LESS: 'FRX', LV: '-c', ...env },
      stdio: ['pipe', 'inherit', 'inherit'],
    });
    // Ctrl-C is for the pager while it runs.
    const ignored = (): void => undefined;
    process.on('SIGINT', ignored);
    let cause: unknown;
    const end = (started: boolean): void => {
      process.off('SIGINT', ignored);
      if (cause === undefined) settled(started);
      else failed(cause);
    };
    child.on('error', () => end(false));
    child.on('close', code => end(!noProgram.includes(code)));
    pipeline(Readable.from(escaped(pieces)), child.stdin).catch(error => {
      // The user may quit the pager before the end of the text.
      if (!closedEarly.includes(error.code)) cause = error;
    });
  });
}

function* escaped(pieces: Iterable<string>): Generator<string, undefined> {
  for (const piece of pieces) yield forTerminal(piece);
}
