/** Generated documents agree with the code. If one is stale: `npm run docs`, then read the difference. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hookDocumentSchema } from '../../src/interchange/hook-document.ts';
import { incrementsOf } from '../../src/telemetry/increments.ts';
import { ours } from '../../src/telemetry/names.ts';
import { resourceOf } from '../../src/telemetry/resource.ts';
import { readJourney } from '../journeys/read.ts';
import { readableRecordOf } from '../otlp.ts';
import { limits, mapped, play } from '../play.ts';
import { agentsPage } from './agents-page.ts';
import { withDecisions, withSettings } from './agents-tables.ts';
import { withChecks } from './checks.ts';
import { libraryPage } from './library-page.ts';
import { withLevels } from './openhook-page.ts';
import { withProviders } from './providers-page.ts';
import { checkedVersionsSource, realAgentsPage, withAgents } from './real-agents-page.ts';
import { allAttributes, commandsPage, signalOf, telemetryPage, typeOf } from './reference.ts';
import { riskPage } from './risk-page.ts';
import { withEffects, withGuards } from './run-hook-page.ts';
import { withVolumes } from './volume-table.ts';
import { wrapped } from './wrap.ts';

const root = join(import.meta.dirname, '..', '..');
const openhook = readFileSync(join(root, 'docs', 'openhook.md'), 'utf8');
const interchange = readFileSync(join(root, 'docs', 'hook-interchange.md'), 'utf8');
const runHook = readFileSync(join(root, 'docs', 'run-hook.md'), 'utf8');
const settingUp = readFileSync(join(root, 'docs', 'setting-up.md'), 'utf8');
const whoDecided = readFileSync(join(root, 'docs', 'who-decided.md'), 'utf8');
const sampling = readFileSync(join(root, 'docs', 'sampling.md'), 'utf8');
const conformance = readFileSync(join(root, 'docs', 'conformance.md'), 'utf8');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

it.each([
  ['docs/agents.md', agentsPage],
  ['README.md', () => withAgents(readme)],
  ['docs/real-agents.md', realAgentsPage],
  ['docs/commands.md', commandsPage],
  ['docs/telemetry.md', telemetryPage],
  ['docs/reference/library.md', libraryPage],
  ['docs/risk.md', riskPage],
  ['docs/conformance.md', () => withChecks(conformance)],
  ['docs/hook-interchange.md', () => withProviders(interchange)],
  ['docs/openhook.md', () => withLevels(openhook)],
  ['docs/run-hook.md', () => withGuards(withEffects(runHook))],
  ['docs/setting-up.md', () => withSettings(settingUp)],
  ['docs/who-decided.md', () => withDecisions(whoDecided)],
  ['docs/sampling.md', () => withVolumes(sampling)],
])('%s is the output of `npm run docs`', async (file, written) => {
  await expect(wrapped(written())).toMatchFileSnapshot(join(root, file));
});

it('docs/hook-document.schema.json is the output of `npm run docs`', async () => {
  // Lists of words stand on one line, as the formatter writes them.
  const words = (list: string): string => list.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/\[ | \]/g, each => each.trim());
  const text = `${JSON.stringify(hookDocumentSchema(), null, 2).replaceAll(/\[[^[\]{}]*\]/g, words)}\n`;
  await expect(text).toMatchFileSnapshot(join(root, 'docs', 'hook-document.schema.json'));
});

it('src/agents/checked-versions.ts is the output of `npm run docs`', async () => {
  await expect(checkedVersionsSource()).toMatchFileSnapshot(join(root, 'src', 'agents', 'checked-versions.ts'));
});

it('docs/telemetry.md lists all data that sessions send, with its place and type', () => {
  const known = new Map(allAttributes().map(attribute => [attribute.name, attribute]));
  const seen = new Set<string>();
  const check = (place: string, attributes: object): void => {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith(ours.vendorPrefix)) continue;
      seen.add(name);
      const { on, types } = known.get(name) ?? {};
      expect([...(on ?? [])], name).toContain(place);
      const type = types?.get(signalOf(place));
      // A whole amount is an integer.
      expect(type === 'double' ? ['int', 'double'] : [type], `${name} on ${place}: ${value}`).toContain(typeOf(value));
    }
  };
  const folder = join(root, 'test', 'journeys', 'cases');
  for (const file of readdirSync(folder)) {
    const { hooks, shape } = readJourney(readFileSync(join(folder, file), 'utf8'));
    const { spans, records, events } = play(hooks, false, shape);
    const wire = mapped(spans);
    for (const [i, span] of spans.entries()) check(span.kind, wire[i]?.attributes ?? {});
    const from = { agent: '', session: '', provider: undefined, denyAsError: false, limits };
    for (const record of records) check('logs', readableRecordOf(record, from, resourceOf({})).attributes);
    for (const { attributes } of incrementsOf(events, spans, '', () => true)) check('metrics', attributes);
  }
  expect(seen.size).toBeGreaterThan(60);
});
