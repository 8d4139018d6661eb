/** A thread of `import`: dist/import-thread.js. */
import { parentPort, workerData } from 'node:worker_threads';
import { VERSION } from './lib/version.ts';
import { readTasks, type ThreadData } from './pipeline/import-threads.ts';

const data: ThreadData = workerData;
// An upgrade may have replaced this file since the import began.
if (parentPort === null || data.version !== VERSION) process.exit(1);
const port = parentPort;
const tasks = readTasks(data, (answer, owned) => port.postMessage(answer, owned));
port.on('message', message => tasks.take(message));
await tasks.work();
