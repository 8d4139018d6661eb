import { keepsFromDestinations } from '../config/destinations.ts';
import { deliver, type Progress } from '../deliver/deliver.ts';
import { keepOf } from '../deliver/state-limits.ts';
import { waitingIn } from '../deliver/status-books.ts';
import { compileBriefly } from '../lib/compile.ts';
import { durationMs } from '../lib/duration.ts';
import { LINE_CLEARED } from '../lib/terminal.ts';
import { merged } from '../problems/problem.ts';
import { configuredIn } from '../session/pin.ts';
import { cutTo } from '../view/tree.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { foldersOf, surroundingsOf } from './place.ts';
import { problemText, table } from './text.ts';

export async function run(words: Words, io: Io): Promise<number> {
  compileBriefly();
  const wait = flagText(words, '--wait') ?? '10s';
  const waitMs = durationMs(wait);
  if (waitMs === undefined) throw new UsageError(`--wait takes a time such as 10s or 500ms, not ${wait}`);
  const { state, config } = foldersOf(words, io);
  const json = words.flags['--json'] !== undefined;
  const configured = configuredIn(config, io.cwd);
  const progress = progressOn(io, json);
  const delivered = await deliver({
    stateFolder: state,
    byHand: true,
    waitMs,
    surroundings: surroundingsOf(words, io, config),
    print: json ? undefined : text => progress.beside(() => io.out(text)),
    progress: progress.show,
    fsync: config.values.fsync,
    configured: configured.destinations,
    keep: keepOf(config.values),
    now: io.now,
  }).finally(progress.end);
  if (delivered.outcome === 'busy' || delivered.books === undefined) {
    io.err(
      'otel-hooks: another delivery is at work and did not hand over in time; nothing was done.\n  next: otel-hooks status\n',
    );
    return 1;
  }
  const waiting = waitingIn(delivered.books);
  const problems = [...config.problems, ...configured.problems, ...delivered.problems];
  if (json) {
    const { journaled, sent } = delivered;
    io.out(`${JSON.stringify({ v: 1, journaled, sent, waiting, problems }, null, 2)}\n`);
  } else {
    io.out(
      table([
        ['fragments journaled', String(delivered.journaled)],
        ['items sent', String(delivered.sent)],
        ['waiting', String(waiting)],
      ]),
    );
    for (const problem of merged(problems)) io.err(problemText(problem));
  }
  // A mistake in an address keeps data on the machine, so it is reported even if nothing waits for that address.
  return waiting > 0 || problems.some(keepsFromDestinations) ? 1 : 0;
}

/** A shorter delivery shows no progress. */
const SHOWN_AFTER_MS = 700;

interface ProgressLine {
  show: ((progress: Progress) => void) | undefined;
  /** Prints another line between two updates. */
  beside(print: () => void): void;
  end(): void;
}

/** One line on standard error that overwrites itself, only at a terminal. */
function progressOn(io: Io, isJson: boolean): ProgressLine {
  if (isJson || io.isErrTerminal !== true) return { show: undefined, beside: print => print(), end: () => undefined };
  const startMs = performance.now();
  let isDrawn = false;
  const clear = (): void => {
    if (isDrawn) io.err(LINE_CLEARED);
    isDrawn = false;
  };
  return {
    show({ hooks, read, sent, waiting }) {
      if (performance.now() - startMs < SHOWN_AFTER_MS) return;
      const text = `${read} of ${hooks} hooks read, ${sent} items sent, ${waiting} waiting`;
      io.err(`${LINE_CLEARED}${cutTo(text, { ...io, columns: Math.max(20, Math.min(io.columns, 80) - 1) })}`);
      isDrawn = true;
    },
    beside(print) {
      clear();
      print();
    },
    end: clear,
  };
}
