/** Shows output that is longer than the screen in the user's pager: `$PAGER`, or `less -FRX`. */
import { spawn } from 'node:child_process';
import { forTerminal } from '../lib/terminal.ts';
import { isInPath } from '../setup/standing.ts';
import type { Io, Words } from './command.ts';

export async function paged(text: string, words: Words, io: Io): Promise<void> {
  const pager = pagerOf(text, words, io);
  if (pager === undefined || !(await ranPager(pager, forTerminal(text), io))) io.out(text);
}

/** Returns undefined if the text is printed without a pager. */
function pagerOf(text: string, words: Words, io: Io): string | undefined {
  const { rows = 0, env, platform } = io;
  if (!(io.isOutTerminal ?? io.isTerminal) || words.flags['--no-pager'] !== undefined) return undefined;
  // The prompt of the shell needs a line as well.
  if (rows > 0 && text.split('\n').length < rows) return undefined;
  const named = env.PAGER?.trim();
  if (named !== undefined) return named === '' || named === 'cat' ? undefined : named;
  return platform !== 'win32' && isInPath('less', { env }, platform) ? 'less' : undefined;
}

/** The exit codes of a shell when the program does not exist. */
const noProgram: readonly (number | null)[] = [126, 127];

/** Returns false if the pager did not start. */
function ranPager(pager: string, text: string, { env }: Io): Promise<boolean> {
  return new Promise(settled => {
    // F: quit when it fits the screen, R: colors, X: leave the text on the screen.
    const child = spawn(pager, {
      shell: true,
      env: { LESS: 'FRX', LV: '-c', ...env },
      stdio: ['pipe', 'inherit', 'inherit'],
    });
    // Ctrl-C is for the pager while it runs.
    const ignored = (): void => undefined;
    process.on('SIGINT', ignored);
    const end = (started: boolean): void => {
      process.off('SIGINT', ignored);
      settled(started);
    };
    child.on('error', () => end(false));
    child.on('close', code => end(!noProgram.includes(code)));
    // The user may quit the pager before the end of the text.
    child.stdin.on('error', ignored);
    child.stdin.end(text);
  });
}
