/**
 * The Python package sent all content by default. `status` informs users of that package once that otel-hooks does not.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type LoadedConfig, replaceConfig } from '../config/files.ts';
import { configFolder, type Surroundings } from '../config/folders.ts';
import { keys } from '../config/schema.ts';
import { PYTHON_STATE_FILE, pythonFolder } from './folder.ts';

/**
 * Returns an empty text unless the package was used here, no `content.*` is set, and the notice was not shown before.
 */
export function contentNotice({ state, config }: { state: string; config: LoadedConfig }, where: Surroundings): string {
  const shownBefore = join(configFolder(where), 'told.json');
  const states = [state, join(pythonFolder(where.home), 'state')];
  const wasUsed = states.some(folder => existsSync(join(folder, PYTHON_STATE_FILE)));
  const isChosen = keys.some(key => key.startsWith('content.') && (config.origins[key] ?? 'default') !== 'default');
  if (!wasUsed || isChosen || existsSync(shownBefore)) return '';
  try {
    replaceConfig(shownBefore, `${JSON.stringify({ v: 1, content: true })}\n`);
  } catch {
    // The notice is shown again.
  }
  return '\nThe Python package sent prompts, answers and arguments in full; here none of it leaves unless content.* asks for it: docs/privacy.md\n';
}
