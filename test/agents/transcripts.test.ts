/**
 * One suite for every agent with line-based transcripts: `<agent>/*.transcript` has rows and, below `---- expected`, their
 * readings. `UPDATE=1 npx vitest run test/agents` rewrites that part.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAbsent, type TranscriptEntry, type TranscriptReading } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { newSession, sessionKey } from '../../src/session/session-state.ts';
import { eventsOfRow, pinned } from '../play.ts';
import { DAMAGED_COPIES, mutated } from './mutated.ts';
import { lineOf, planted, readRows } from './read-transcript.ts';

const lineOfEntry = (entry: TranscriptEntry): string =>
  'over' in entry
    ? `over: ${entry.over}${entry.id === undefined ? '' : ` ${entry.id}`}${entry.atMs === undefined ? '' : `, ${new Date(entry.atMs).toISOString().slice(11, 23)}`}`
    : lineOf(entry);

const isSound = ({ key, event_type, data }: TranscriptReading): boolean =>
  typeof key === 'string' &&
  (event_type !== 'Model.Responded' || Math.min(data.input_tokens ?? 0, data.output_tokens ?? 0) >= 0);

const CANARY = 'canary-sk9xQ';

for (const agent of agents) {
  const { id, transcript } = agent;
  const folder = join(import.meta.dirname, id);
  const files = readdirSync(folder).filter(file => file.endsWith('.transcript'));
  if (isAbsent(transcript) || files.length === 0) continue;

  describe.each(files)(`${id}/%s`, file => {
    const path = join(folder, file);
    const [head = '', expected = ''] = readFileSync(path, 'utf8').split(/^---- expected\n/m);
    const root = /^# root: (.*)$/m.exec(head)?.[1] ?? '';
    const of = { path: /^# path: (.*)$/m.exec(head)?.[1] ?? '' };
    const lines = head.split('\n').filter(line => line.startsWith('{'));

    test('has the expected readings', () => {
      const actual = `${readRows(transcript, lines.join('\n'), root, of).entries.map(lineOfEntry).join('\n')}\n`;
      if (process.env.UPDATE) writeFileSync(path, `${head}---- expected\n${actual}`);
      else expect(actual).toBe(expected);
    });

    test('is recognized by its first rows', () => {
      const rows = lines.slice(0, 64).map(line => JSON.parse(line) as Record<string, unknown>);
      expect(transcript.sessions(of, { rows, document: undefined }).map(found => found.session)).toEqual([root]);
    });

    test('has the same readings when the memory goes through JSON between rows', () => {
      const whole = readRows(transcript, lines.join('\n'), root, of).entries;
      expect(readRows(transcript, lines.join('\n'), root, of, true).entries).toEqual(whole);
    });

    test('damaged copies throw nothing and give no negative number', () => {
      const copies = Math.ceil((DAMAGED_COPIES < 10_000 ? DAMAGED_COPIES / 5 : DAMAGED_COPIES) / files.length);
      for (const text of mutated(lines.join('\n'), copies)) {
        const { readings } = readRows(transcript, text, root, of);
        if (!readings.every(isSound)) expect(readings.filter(reading => !isSound(reading))).toEqual([]);
      }
    }, 600_000);

    test('no text of the rows reaches an event', () => {
      const changed = planted(lines, () => CANARY);
      const state = newSession({ agent, session: root, key: sessionKey(id, root) }, pinned);
      const values = readRows(transcript, changed, root, of).readings.map(reading =>
        JSON.stringify(eventsOfRow(state, reading)),
      );
      expect(changed.split(CANARY).length).toBeGreaterThan(5);
      expect(values.filter(event => event.includes(CANARY))).toEqual([]);
    });

    // Two equal rows without ids are two events.
    if (head.includes('# its rows have no ids\n')) return;
    test('repeated rows add no reading', () => {
      const once = readRows(transcript, lines.join('\n'), root, of).readings;
      const twice = readRows(transcript, [...lines, ...lines].join('\n'), root, of).readings;
      expect(twice).toEqual(once);
    });
  });
}
