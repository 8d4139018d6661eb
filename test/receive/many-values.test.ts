/** Payloads that are small as text and huge in memory: they are detected in the text, before a parser reads it. */
import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { SETTLED } from '../../src/event/event.ts';
import { hasMoreValues } from '../../src/lib/json-values.ts';
import { itemsIn } from '../../src/receive/items.ts';
import { play, START_MS } from '../play.ts';

const MOST = 1_000_000;
const bash = '"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"c","cwd":"/w"';

const payloads: Readonly<Record<string, [payload: string, outcome: string]>> = {
  'a list of empty objects': [`[${'{},'.repeat(MOST)}{}]`, 'too-many-events'],
  'a line for each empty object': ['{}\n'.repeat(MOST + 1), 'too-many-events'],
  'lists in lists': ['['.repeat(MOST + 1), 'too-many-events'],
  'a list of numbers': [`[${'1,'.repeat(MOST)}1]`, 'too-many-events'],
  'objects in objects': ['{"a":'.repeat(MOST + 1), 'too-many-values'],
  'one object with a name for each value': [
    `{${Array.from({ length: MOST }, (_, i) => `"name-${i}":1`).join()},"z":1}`,
    'too-many-values',
  ],
};

test.each(Object.entries(payloads))('%s is set aside', (_, [payload, reason]) => {
  expect(itemsIn(Buffer.from(payload))).toEqual({ reason });
});

it('an action whose result holds a million values is journaled without most of them', () => {
  const payload = `{${bash},"tool_response":{"stdout":"","list":[${'{},'.repeat(MOST)}{}]}}`;
  const { fates, odd, events } = play([{ atMs: START_MS, payload, header: { tool: 'claude-code' } }]);
  expect(fates).toEqual(['journaled']);
  expect(odd).toEqual(['payload_cut']);
  // Without a transcript the action settles at once.
  expect(events.map(event => event.event_type)).toEqual(['Action.After', SETTLED]);
});

it('a text inside an envelope that holds a million values is set aside', () => {
  const data = '{}\n'.repeat(MOST + 1);
  expect(itemsIn(Buffer.from(JSON.stringify({ specversion: '1.0', id: '1', source: 's', type: 't', data })))).toEqual({
    reason: 'invalid-event',
  });
});

it('values are counted as a parser would, and never in texts', () => {
  const countOf = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0;
    const parts = Array.isArray(value) ? value : Object.values(value);
    return 1 + Math.max(0, parts.length - 1) + parts.reduce<number>((sum, part) => sum + countOf(part), 0);
  };
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: 'large' }), value => {
      const text = JSON.stringify(value);
      const count = countOf(value);
      // A text that is not longer than the limit cannot contain more values, so short texts are tested only on one
      // side.
      expect(hasMoreValues(text, count)).toBe(false);
      if (count > 0) expect(hasMoreValues(text, count - 1)).toBe(true);
    }),
  );
});
