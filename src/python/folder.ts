/** The folder of the Python package, which is the same on all systems. */
import { join } from 'node:path';

export const pythonFolder = (home: string): string => join(home, '.config', 'otel-hooks');

/** The file in its state folder in which it noted how far it had read transcripts. */
export const PYTHON_STATE_FILE = 'otel_hook_state.json';
