/** Which journals are one session. */
import { describe, expect, it } from 'vitest';
import type { IndexedSession } from '../../src/journal/session-index.ts';
import { noCounts } from '../../src/journal/span-counts.ts';
import { joinedSessions } from '../../src/view/joined-sessions.ts';

const entry = (session: string, firstMs: number, previous?: string, agent = 'acme'): [string, IndexedSession] => [
  `key-${agent}-${session}`,
  {
    ...{ session, agent, bytes: 1, firstMs, lastMs: firstMs + 1, state: 'ended', models: [], previous },
    ...{ finished: noCounts(), open: noCounts() },
  },
];

const joined = (...entries: [string, IndexedSession][]): string[] =>
  joinedSessions(new Map(entries)).map(parts => parts.map(({ entry: { session } }) => session).join(' '));

describe('sessions are joined', () => {
  it('along a chain, in order of time, for any order of the index', () =>
    expect(joined(entry('c', 30, 'b'), entry('a', 10), entry('b', 20, 'a'))).toEqual(['a b c']));
  it('also if two sessions continue the same one', () =>
    expect(joined(entry('a', 10), entry('c', 30, 'a'), entry('b', 20, 'a'))).toEqual(['a b c']));
  it('with the session first that continues none, even if its clock was ahead', () =>
    expect(joined(entry('b', 5, 'a'), entry('a', 10))).toEqual(['a b']));
  it('not across agents', () => expect(joined(entry('a', 10), entry('b', 20, 'a', 'other'))).toEqual(['a', 'b']));
  it('not with a session that has no journal', () => expect(joined(entry('b', 20, 'gone'))).toEqual(['b']));
  it('once, if damaged links form a circle', () =>
    expect(joined(entry('a', 10, 'b'), entry('b', 20, 'a'))).toEqual(['a b']));
  it('in a long chain, in linear time: the timeout of the test would end a search for each session', () => {
    const chain = Array.from({ length: 20_000 }, (_, i) => entry(`s${i}`, i, i === 0 ? undefined : `s${i - 1}`));
    expect(joinedSessions(new Map(chain))).toHaveLength(1);
  });
});
