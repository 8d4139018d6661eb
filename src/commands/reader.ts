import { spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';

/**
 * Calls `then` when the pipe behind standard output has lost its reader; returns a function that ends the watch.
 *
 * A write would notice, but a command that waits for events may have nothing to write for hours, and Node has no call that
 * polls a pipe for errors. `tail -f` of GNU coreutils does poll its standard output, and dies by SIGPIPE when the reader is
 * gone. Where there is no such `tail`, the next write ends the command.
 */
export function onReaderGone(then: () => void): () => void {
  if (process.platform === 'win32' || !fstatSync(1).isFIFO()) return () => undefined;
  // --pid: the watcher ends with this process, however this process ends.
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
