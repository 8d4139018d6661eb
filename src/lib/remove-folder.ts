import { rmSync } from 'node:fs';

const TRIES = 50;
const PAUSE_MS = 100;

/** Removes a folder with its content, and retries because a process that is ending may still write there. */
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
