/** A process of `import`: dist/import-process.js. The import forks it and ends it. */
import { VERSION } from './lib/version.ts';
import { type ProcessData, readTasks } from './pipeline/import-processes.ts';

// Ctrl-C in a terminal reaches this process as well. The import decides when to end.
process.on('SIGINT', () => undefined);
// The import has ended or was killed, perhaps while this process loaded its program.
process.on('disconnect', () => process.exit());
if (!process.connected) process.exit();
process.once('message', (data: ProcessData) => {
  // An upgrade may have replaced this file since the import began.
  if (data.version !== VERSION) process.exit(1);
  const tasks = readTasks(data, answer => process.send?.(answer));
  process.on('message', message => tasks.take(message));
  void tasks.work();
});
