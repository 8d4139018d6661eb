/** Transcripts outside of the folder in which Cursor keeps them. */
import { expect, test } from 'vitest';
import { isAbsent } from '../../../src/agents/contract/contract.ts';
import { cursor } from '../../../src/agents/cursor/cursor.ts';

const { transcript } = cursor;
if (isAbsent(transcript)) throw new Error('Cursor keeps transcripts');

const message = (role: string) => ({ role, message: { content: [{ type: 'text', text: 'canary' }] } });
const sessions = (path: string, ...rows: Record<string, unknown>[]) =>
  transcript.sessions({ path }, { rows, document: undefined });

test('a copy is recognized by its rows, its session by its name; a subagent is not a session', () => {
  const rows = [message('user'), message('assistant'), { type: 'turn_ended', status: 'completed' }];
  expect(sessions('/copies/quay-4.jsonl', ...rows)).toEqual([{ session: 'quay-4' }]);
  expect(sessions('/copies/subagents/quay-5.jsonl', ...rows)).toEqual([]);
  expect(sessions('/copies/quay-4.jsonl')).toEqual([]);
  expect(sessions('/copies/quay-4.jsonl', ...rows, { ...message('user'), sessionId: 's' })).toEqual([]);
});
