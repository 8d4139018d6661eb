/** A command as a person or a script runs it, in a home of its own and in this process. */
import { main } from '../../src/cli.ts';
import type { Io } from '../../src/commands/command.ts';
import { whyNotLasting } from '../../src/setup/lasting.ts';

export interface Ran {
  code: number;
  out: string;
  err: string;
}

/**
 * In a clone below a temporary folder `enable` warns about that folder. The tests give the same result in every folder.
 */
const isCloneTemporary = whyNotLasting(import.meta.dirname, process.env) !== undefined;

/** `~` replaces the home in the output. */
export async function ranIn(home: string, words: readonly string[], change: Partial<Io> = {}): Promise<Ran> {
  const ran: Ran = { code: -1, out: '', err: '' };
  ran.code = await main(words, {
    out: text => {
      ran.out += text.replaceAll(home, '~');
    },
    err: text => {
      ran.err += text.replaceAll(home, '~');
    },
    env: { PATH: '' },
    cwd: home,
    home,
    platform: 'linux',
    color: false,
    columns: 80,
    unicode: true,
    isTerminal: false,
    ask: async () => '',
    now: () => 1_790_000_000_000,
    ...change,
  });
  if (isCloneTemporary)
    ran.err = ran.err.replace(/^otel-hooks: .*\ba folder for temporary files\b.*\n {2}next: .*\n/m, '');
  return ran;
}
