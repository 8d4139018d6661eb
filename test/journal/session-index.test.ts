/** The index of sessions counts the spans that a replay of the journal gives, and repairs itself. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Event, rootSessionOf } from '../../src/event/event.ts';
import { type Replay, replay } from '../../src/journal/replay.ts';
import {
  countsOf,
  type IndexedSession,
  IndexMemory,
  indexDocument,
  indexedFrom,
  sessionIndex,
  shardOf,
} from '../../src/journal/session-index.ts';
import { indexRepair } from '../../src/pipeline/index-round.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { readJourney } from '../journeys/read.ts';
import { play } from '../play.ts';

const cases = join(import.meta.dirname, '..', 'journeys', 'cases');

const linesOf = (events: readonly Event[]): string => events.map(event => `${JSON.stringify(event)}\n`).join('');

function grouped(events: readonly Event[]): Map<string, Event[]> {
  const sessions = new Map<string, Event[]>();
  for (const event of events) {
    const root = `${event.source.tool} ${rootSessionOf(event)}`;
    sessions.set(root, [...(sessions.get(root) ?? []), event]);
  }
  return sessions;
}

/** The counts of a replay, in the words of the index. */
function counted({ finished, open }: Replay) {
  const spans = [...finished, ...open];
  const actions = spans.filter(span => span.kind === 'action');
  const chats = spans.filter(span => span.kind === 'chat');
  const sum = (values: (number | undefined)[]): number => values.reduce<number>((all, each) => all + (each ?? 0), 0);
  return {
    turns: spans.filter(span => span.kind === 'turn').length,
    actions: actions.length,
    denied: actions.filter(({ decision }) => decision?.outcome === 'deny').length,
    // The replay closes open actions as abandoned; they have not failed.
    failed: actions.filter(({ errorType, outcome }) => errorType !== undefined && outcome !== 'abandoned').length,
    responses: chats.filter(({ sum: isSum, errorType }) => isSum === undefined && errorType === undefined).length,
    failedResponses: chats.filter(({ errorType }) => errorType !== undefined).length,
    failedTurns: spans.filter(({ kind, errorType }) => kind === 'turn' && errorType !== undefined).length,
    input: sum(chats.map(({ input }) => input)),
    output: sum(chats.map(({ output }) => output)),
  };
}

const ofEntry = (entry: IndexedSession) => {
  const { turns, actions, denied, failed, responses, failedResponses, failedTurns } = countsOf(entry);
  const { input = 0, output = 0 } = countsOf(entry);
  return { turns, actions, denied, failed, responses, failedResponses, failedTurns, input, output };
};

describe('the entry of a session', () => {
  it.each(readdirSync(cases))('counts the spans of its replay: %s', file => {
    const { hooks, shape, watch } = readJourney(readFileSync(join(cases, file), 'utf8'));
    const { events } = play(hooks, false, shape, undefined, watch);
    const sessions = grouped(events);
    for (const [, own] of sessions) {
      const entry = indexedFrom([own], 0);
      const replayed = replay(linesOf(own));
      if (entry === undefined || replayed === undefined) throw new Error('the journey has no events');
      const abandoned = replayed.finished.filter(span => span.kind === 'action' && span.outcome === 'abandoned').length;
      const { failed, ...rest } = ofEntry(entry);
      const expected = counted(replayed);
      expect(rest).toEqual({ ...expected, failed: undefined });
      expect(failed - abandoned).toBe(expected.failed);
      expect(entry.state === 'running').toBe(replayed.open.length > 0);
    }
  });

  it('is the same for one round and for many rounds', () => {
    const { hooks } = readJourney(readFileSync(join(cases, readdirSync(cases)[0] ?? ''), 'utf8'));
    const { events } = play(hooks, false);
    const own = events.filter(event => event.session_id === events[0]?.session_id);
    expect(
      indexedFrom(
        own.map(event => [event]),
        1,
      ),
    ).toEqual(indexedFrom([own], 1));
  });
});

describe('the stored index', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'session-index-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const event = (session: string, n: number): Event => ({
    spec_version: '0.1',
    event_id: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`,
    event_type: 'Prompt.Submitted',
    timestamp: new Date(1_790_000_000_000 + n * 1_000).toISOString(),
    source: { tool: 'claude-code' },
    session_id: session,
    data: {},
  });
  const key = 'ab'.repeat(16);

  function journaled(store: Store, ...numbers: number[]): void {
    store.commit({ journal: [{ key, lines: linesOf(numbers.map(n => event('s-1', n))) }] });
  }

  it('is made from the journal if an entry is missing', () => {
    const store = openStore({ folder, access: 'own' });
    journaled(store, 1, 2);
    expect(countsOf(sessionIndex(store).get(key) as IndexedSession).turns).toBe(2);
    expect(store.read(indexDocument.of(shardOf(key)))).toBeUndefined();
    store.close();
  });

  it('is made again by a repair if an entry covers another length of the journal', () => {
    const store = openStore({ folder, access: 'own' });
    journaled(store, 1);
    store.commit({ documents: indexRepair(store) ?? [] });
    journaled(store, 2);
    expect(countsOf(sessionIndex(store).get(key) as IndexedSession).turns).toBe(1);
    store.commit({ documents: indexRepair(store) ?? [] });
    expect(countsOf(sessionIndex(store).get(key) as IndexedSession).turns).toBe(2);
    store.close();
  });

  it('gives the same object for an entry that did not change, and reads a shard that changed', () => {
    const store = openStore({ folder, access: 'own' });
    const memory = new IndexMemory();
    const other = `ab${'cd'.repeat(15)}`;
    journaled(store, 1);
    store.commit({ documents: indexRepair(store) ?? [] });
    const first = sessionIndex(store, memory).get(key);
    store.commit({ journal: [{ key: other, lines: linesOf([event('s-2', 2)]) }] });
    store.commit({ documents: indexRepair(store) ?? [] });
    const index = sessionIndex(store, memory);
    expect(index.get(key)).toBe(first);
    expect(index.get(other)?.session).toBe('s-2');
    journaled(store, 3);
    store.commit({ documents: indexRepair(store) ?? [] });
    expect(sessionIndex(store, memory).get(key)).not.toBe(first);
    store.close();
  });

  it('is complete after a repair, and a second repair changes nothing', () => {
    const store = openStore({ folder, access: 'own' });
    journaled(store, 1, 2);
    const changes = indexRepair(store);
    expect(changes?.map(({ name }) => name)).toEqual(['index-ab']);
    store.commit({ documents: changes ?? [] });
    expect(indexRepair(store)).toBeUndefined();
    store.close();
  });

  it('loses the entry of a journal that was removed', () => {
    const store = openStore({ folder, access: 'own' });
    journaled(store, 1);
    store.commit({ documents: indexRepair(store) ?? [] });
    store.commit({ prune: [key] });
    expect(sessionIndex(store).size).toBe(0);
    store.commit({ documents: indexRepair(store) ?? [] });
    expect(store.read(indexDocument.of(shardOf(key)))).toBeUndefined();
    store.close();
  });

  it.each([
    '{',
    '{"v":1,"n":1,"value":[]}',
    '{"v":9,"n":1,"value":{}}',
    `{"v":1,"n":1,"value":{"${key}":{"bytes":"x"}}}`,
  ])('is made from the journals if a shard is damaged: %s', text => {
    const store = openStore({ folder, access: 'own' });
    journaled(store, 1);
    store.commit({ documents: indexRepair(store) ?? [] });
    store.close();
    writeFileSync(join(folder, 'documents', 'index-ab.json'), text);
    const again = openStore({ folder, access: 'own' });
    expect(sessionIndex(again).get(key)?.session).toBe('s-1');
    expect(indexRepair(again)).toHaveLength(1);
    again.close();
  });
});
