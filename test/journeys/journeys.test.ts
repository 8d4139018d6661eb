/**
 * The hooks of a session, and its trace as a tree. `UPDATE=1 npx vitest run test/journeys` rewrites the expected part.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Played, play, treeOf } from '../play.ts';
import { readJourney } from './read.ts';

const folder = join(import.meta.dirname, 'cases');

const summary = (played: Played): string => {
  const fates = [...new Set(played.fates)].map(fate => `${fate} ${played.fates.filter(each => each === fate).length}`);
  const odd = Object.entries(played.oddities).map(([kind, count]) => `${kind} ${count}`);
  return `fragments: ${fates.join(', ')}\nevents: ${played.events.length}, records: ${played.records.length}, spans: ${played.spans.length}\n${odd.length > 0 ? `odd: ${odd.join(', ')}\n` : ''}`;
};

for (const file of readdirSync(folder).sort()) {
  const path = join(folder, file);
  const { hooks, shape, watch, head, expected } = readJourney(readFileSync(path, 'utf8'));
  const name = /^# (.*)$/m.exec(head)?.[1] ?? file;

  test(`${file}: ${name}`, () => {
    const played = play(hooks, false, shape, undefined, watch);
    const actual = `${treeOf(played.spans)}--\n${summary(played)}`;
    if (process.env.UPDATE) writeFileSync(path, `${head}---- trace\n${actual}`);
    else expect(actual).toBe(expected);
    checkShape(played);
  });
}

/** Rules that hold for the trace of every journey. */
function checkShape(played: Played): void {
  const ids = played.spans.map(span => JSON.stringify([span.trace, span.key]));
  expect(new Set(ids).size, 'no span leaves twice').toBe(ids.length);
  const left = new Set(ids);
  for (const span of played.spans) {
    expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
    const ended = [...played.states.values()].every(state => state.fold.endedMs !== undefined);
    if (span.parent && ended)
      expect(left, `parent of ${ids[played.spans.indexOf(span)]}`).toContain(JSON.stringify([span.trace, span.parent]));
  }
}
