/** Documents that are read off the code say what the code says. Stale: `npm run docs`, then look at the difference. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agentsPage, withAgents } from './agents-page.ts';
import { commandsPage, telemetryPage } from './reference.ts';
import { riskPage } from './risk-page.ts';

const root = join(import.meta.dirname, '..', '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

it.each([
  ['docs/agents.md', agentsPage],
  ['docs/commands.md', commandsPage],
  ['docs/telemetry.md', telemetryPage],
  ['docs/risk.md', riskPage],
  ['README.md', () => withAgents(readme)],
])('%s is what `npm run docs` writes', async (file, written) => {
  await expect(written()).toMatchFileSnapshot(join(root, file));
});
