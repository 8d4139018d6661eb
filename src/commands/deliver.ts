import { deliver } from '../deliver/deliver.ts';
import { keepOf } from '../deliver/state-limits.ts';
import { durationMs } from '../lib/duration.ts';
import { configuredIn } from '../session/pin.ts';
import { waitingIn } from '../view/books.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { foldersOf, surroundingsOf } from './place.ts';
import { problemText, table } from './text.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const wait = flagText(words, '--wait') ?? '10s';
  const waitMs = durationMs(wait);
  if (waitMs === undefined) throw new UsageError(`--wait takes a time such as 10s or 500ms, not ${wait}`);
  const { state, config } = foldersOf(words, io);
  const json = words.flags['--json'] !== undefined;
  const configured = configuredIn(config, io.cwd);
  const delivered = await deliver({
    stateFolder: state,
    byHand: true,
    waitMs,
    surroundings: surroundingsOf(words, io, config),
    print: json ? undefined : io.out,
    fsync: config.values.fsync,
    configured: configured.destinations,
    keep: keepOf(config.values),
    now: io.now,
  });
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
    for (const problem of problems) io.err(problemText(problem));
  }
  return waiting > 0 ? 1 : 0;
}
