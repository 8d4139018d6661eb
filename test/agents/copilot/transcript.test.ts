/** Event logs in unusual states: without their first rows, repeated, written by other builds. */
import { expect, test } from 'vitest';
import { isAbsent } from '../../../src/agents/contract/contract.ts';
import { copilot } from '../../../src/agents/copilot/copilot.ts';
import { readRows, total } from '../read-transcript.ts';

const { transcript } = copilot;
if (isAbsent(transcript)) throw new Error('Copilot keeps event logs');

const SESSION = '7c2e9b14-5d60-4f3a-9e81-a1b2c3d4e5f6';
const path = `/home/dev/.copilot/session-state/${SESSION}/events.jsonl`;
let number = 0;
const row = (type: string, data: object) => {
  number += 1;
  const timestamp = new Date(1_793_700_000_000 + number * 1_000).toISOString();
  return { type, data, id: `e${number}`, timestamp, parentId: number === 1 ? null : `e${number - 1}` };
};
const asked = () => row('user.message', { content: 'canary' });
const answered = (id: string, tokens?: number) =>
  row('assistant.message', { messageId: id, content: 'canary', model: 'gpt-5', outputTokens: tokens });
const shutDown = (input: number, output: number) =>
  row('session.shutdown', {
    shutdownType: 'routine',
    modelMetrics: { 'gpt-5': { usage: { inputTokens: input, outputTokens: output, cacheReadTokens: 0 } } },
  });
const read = (rows: readonly object[]) =>
  readRows(transcript, rows.map(each => JSON.stringify(each)).join('\n'), SESSION, { path });
const sessions = (at: string, ...rows: object[]) =>
  transcript.sessions({ path: at }, { rows: rows as Record<string, unknown>[], document: undefined });

test('a log with repeated rows adds up to the sum at its end', () => {
  const first = [asked(), answered('m1', 10)];
  const { readings } = read([...first, ...first, asked(), answered('m2'), shutDown(100, 22)]);
  expect(total(readings)).toMatchObject({ input: 100, output: 22 });
});

test('a log without its first row is recognized by its path, one of another build by its first row', () => {
  const start = row('session.start', { sessionId: SESSION, producer: 'copilot-cli', context: { cwd: '/w' } });
  expect(sessions('/elsewhere.jsonl', start)).toEqual([{ session: SESSION, cwd: '/w' }]);
  expect(sessions(path, asked(), answered('m1', 1))).toEqual([{ session: SESSION, cwd: undefined }]);
  expect(sessions('/copies/quay-4.jsonl', asked(), answered('m1', 1))).toEqual([{ session: 'quay-4', cwd: undefined }]);
  expect(sessions(path, { type: 'note', id: 'x', parentId: null })).toEqual([]);
});
