import { rmSync } from 'node:fs';

const TRIES = 50;
const PAUSE_MS = 100;

/** With all that is in it, while a process that is about to end may still put something there. */
export async function removeFolder(folder: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (tries === TRIES) throw error;
      await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
    }
  }
}
