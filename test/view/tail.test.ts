/** `tail` prints each requested event once, when it is recorded. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Event } from '../../src/event/event.ts';
import { forTerminal } from '../../src/lib/terminal.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { drawLine, follow, lastOf, matcher } from '../../src/view/live-events.ts';

const event = (n: number, more: object = {}): Event =>
  ({
    spec_version: '0.1.0',
    event_id: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`,
    event_type: 'Action.After',
    timestamp: new Date(Date.parse('2026-03-01T10:00:00.000Z') + n * 1000).toISOString(),
    source: { tool: 'codex' },
    session_id: 'session-a',
    data: { action: { name: 'bash.execute', result: { success: true } } },
    metadata: { 'dev.otel-hooks': { v: 1, seq: n, time: 'native', tool: 'shell', duration_ms: 12 } },
    ...more,
  }) as Event;
const lines = (events: readonly Event[]): string => events.map(each => `${JSON.stringify(each)}\n`).join('');
const ids = (events: readonly Event[]): number[] => events.map(each => Number(each.event_id.slice(-12)));

describe('tail', () => {
  let folder: string;
  let owner: Store;
  const open = (): Store => openStore({ folder, access: 'read' });
  const record = (key: string, events: readonly Event[]): void => {
    expect(owner.commit({ journal: [{ key, lines: lines(events) }], sessions: [{ key, state: {} }] })).toBe(
      'committed',
    );
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'otel-hooks-tail-'));
    owner = openStore({ folder, access: 'own' });
  });
  afterEach(() => {
    owner.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('begins with the last events of all sessions, then prints each new event once and in order', () => {
    record('a', [event(1), event(3)]);
    record('b', [event(2), event(4)]);
    const all = matcher({});
    const more = follow(open);
    const store = open();
    expect(ids(lastOf(store, 3, all))).toEqual([2, 3, 4]);
    store.close();
    expect(more(all)).toEqual([]);
    record('b', [event(6)]);
    record('a', [event(5), event(7)]);
    record('c', [event(8)]);
    expect(ids(more(all))).toEqual([5, 6, 7, 8]);
    expect(more(all)).toEqual([]);
  });

  it('leaves out internal events on request, and still finds as many other events', () => {
    const internal = { event_type: 'vendor.otel-hooks.Settled', data: { of: 'x', reason: 'read' } };
    record('a', [event(1), event(2), ...[3, 4, 5, 6, 7].map(n => event(n, internal))]);
    const store = open();
    expect(ids(lastOf(store, 2, matcher({ withoutInternal: true })))).toEqual([1, 2]);
    expect(ids(lastOf(store, 2, matcher({})))).toEqual([6, 7]);
    store.close();
  });

  it('a whole id selects one session, and the beginning of an id all matching ones', () => {
    record('a', [event(1), event(2, { session_id: 'session-ab' })]);
    const store = open();
    expect(ids(lastOf(store, 9, matcher({ session: 'session-a', isWholeId: true })))).toEqual([1]);
    expect(ids(lastOf(store, 9, matcher({ session: 'session-a' })))).toEqual([1, 2]);
    store.close();
  });

  it('continues after a line that is longer than a part', () => {
    const more = follow(open);
    record('a', [event(1)]);
    record('a', [event(2, { padding: 'x'.repeat(6 * 1024 * 1024) }), event(3)]);
    const seen = [...more(matcher({})), ...more(matcher({})), ...more(matcher({}))];
    expect(ids(seen)).toEqual([1, 2, 3]);
  });

  it('continues with a journal that was started again', () => {
    record('a', [event(1), event(2), event(3)]);
    const more = follow(open);
    owner.close();
    rmSync(join(folder, 'journal', 'a.jsonl'));
    rmSync(join(folder, 'sessions', 'a.json'));
    owner = openStore({ folder, access: 'own' });
    record('a', [event(4)]);
    expect(ids(more(matcher({})))).toEqual([4]);
  });

  it.each<[string, Parameters<typeof matcher>[0], number[]]>([
    ['everything', {}, [1, 2, 3]],
    ['an agent', { agent: 'codex' }, [1, 3]],
    ['a session, its subagents included', { session: 'session-b' }, [2]],
    ['types, with stars, in any case', { types: ['session.*', 'Nothing'] }, [3]],
    ['a level', { level: 'warn' }, [2]],
    ['a pattern is none', { types: ['Action.(After)'] }, []],
  ])('shows %s', (_, wanted, expected) => {
    const failed = event(2, {
      source: { tool: 'cursor' },
      session_id: 'child',
      parent_session_id: 'session-b',
      data: { action: { result: { success: false } } },
      metadata: {},
    });
    const events = [event(1), failed, event(3, { event_type: 'Session.End', data: { end_reason: 'exit' } })];
    expect(ids(events.filter(matcher(wanted)))).toEqual(expected);
  });

  it('draws a line that fits, with colours only on request', () => {
    const risky = event(1, { risk: { level: 'high' } });
    const line = drawLine(risky, { color: false, columns: 120, unicode: true });
    expect(line.slice(0, 14)).toMatch(/^\d\d:\d\d:\d\d[+-]\d\d:\d\d$/);
    expect(line.slice(14)).toBe('  codex       session-       Action.After shell ok 12ms risk high');
    expect(drawLine(risky, { color: false, columns: 40, unicode: true }).length).toBeLessThanOrEqual(40);
    expect(forTerminal(drawLine(risky, { color: true, columns: 120, unicode: true }))).toContain('\u001b[');
  });
});
