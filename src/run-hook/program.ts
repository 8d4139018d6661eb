/** The program of `run-hook`; the bin loads it for this command alone. */
import { runHook } from './run-hook.ts';

void runHook(process.argv.slice(process.argv.indexOf('run-hook') + 1));
