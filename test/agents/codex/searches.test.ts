/** Rows of searches in rollouts: with an id they are one action, without an id they are counted. */
import { expect, test } from 'vitest';
import { transcript } from '../../../src/agents/codex/transcript.ts';
import type { LineReader } from '../../../src/agents/contract/contract.ts';
import { memoryOver, type Remembered } from '../../../src/agents/shared/memory.ts';

const call = (action: string, more: object = {}): object => ({
  type: 'response_item',
  payload: { type: 'web_search_call', status: 'completed', action: { type: action, query: 'canary' }, ...more },
});
const end = (id: string): object => ({
  type: 'event_msg',
  payload: { type: 'web_search_end', call_id: id, query: 'canary' },
});

function typesOf(rows: readonly object[]): string[] {
  const remembered: Remembered = {};
  const memory = memoryOver(remembered, content => content.slice(0, 8));
  const file = { path: '/r.jsonl', root: 's', companions: [] };
  const readings = rows.flatMap((row, i) => {
    const timestamp = `2026-10-20T09:14:0${i}.000Z`;
    return (transcript.read as LineReader).row({ ...row, timestamp }, memory, file);
  });
  return readings.flatMap(reading => ('over' in reading ? [] : `${reading.event_type} ${reading.key}`));
}

test('a row with an id is the search that another row ends under this id', () => {
  const types = typesOf([call('search', { id: 'ws_1' }), end('ws_1')]);
  expect(new Set(types)).toEqual(new Set(['Action.Before ws_1', 'Action.After ws_1']));
  expect(types.filter(type => type.startsWith('Action.After'))).toHaveLength(1);
});

test('rows without ids are counted, each as an event, and never merged', () => {
  expect(typesOf([call('search'), call('search'), end('ws_1')])).toEqual([
    'vendor.codex.web_search_call web_search_call::1',
    'vendor.codex.web_search_call web_search_call::2',
    'Action.Before ws_1',
    'Action.After ws_1',
  ]);
});
