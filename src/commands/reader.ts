import { spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';

/**
 * Calls `then` when the reader of the pipe at standard output has closed it. Returns a function that stops the
 * detection.
 *
 * A write would detect this, but a command that waits for events may write nothing for hours, and Node has no call that
 * polls a pipe for errors. `tail -f` of GNU coreutils polls its standard output, and ends with SIGPIPE when the reader
 * has closed it. Without such a `tail`, the next write ends the command.
 */
export function onReaderGone(then: () => void): () => void {
  if (process.platform === 'win32' || !fstatSync(1).isFIFO()) return () => undefined;
  // --pid: `tail` ends when this process has ended, even after a kill.
  const watcher = spawn('tail', ['-f', `--pid=${process.pid}`, '/dev/null'], {
    stdio: ['ignore', 'inherit', 'ignore'],
  });
  watcher.on('error', () => undefined);
  watcher.on('exit', (_, signal) => {
    if (signal === 'SIGPIPE') then();
  });
  watcher.unref();
  return () => void watcher.kill();
}
