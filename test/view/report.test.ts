/** The sums of `report` equal those of the spans, in every grouping. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FinishedSpan } from '../../src/assemble/finished.ts';
import { type Replay, replay } from '../../src/journal/replay.ts';
import { type IndexedSession, indexedFrom } from '../../src/journal/session-index.ts';
import { type Grouping, groupings, type Report, type Row, UsageReport } from '../../src/view/usage-report.ts';
import { readJourney } from '../journeys/read.ts';
import { play } from '../play.ts';

const cases = join(import.meta.dirname, '..', 'journeys', 'cases');
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const journeys = readdirSync(cases).flatMap(file => {
  const { hooks } = readJourney(readFileSync(join(cases, file), 'utf8'));
  const lines = new Map<string, string>();
  for (const event of play(hooks).events) {
    const key = `${event.source.tool} ${event.metadata?.['dev.otel-hooks']?.root ?? event.session_id}`;
    lines.set(key, `${lines.get(key) ?? ''}${JSON.stringify(event)}\n`);
  }
  return [...lines.values()].flatMap(text => replay(text) ?? []);
});

const event = (type: string, at: string, data: object, facts: object = {}): string =>
  JSON.stringify({
    spec_version: '0.1.0',
    event_id: `00000000-0000-8000-8000-${at.replaceAll(/\D/g, '').slice(2, 14)}`,
    event_type: type,
    timestamp: at,
    source: { tool: 'codex' },
    session_id: 's',
    data,
    metadata: { 'dev.otel-hooks': { v: 1, seq: 1, time: 'native', ...facts } },
  });

const replayed = (lines: readonly string[]): Replay => {
  const found = replay(lines.join('\n'));
  if (found === undefined) throw new Error('the event is missing');
  return found;
};

const twoDays = replayed([
  event('Session.Start', '2026-03-01T23:00:00.000Z', { start_reason: 'new' }, { cwd: '/home/me/shop' }),
  event('Prompt.Submitted', '2026-03-01T23:00:01.000Z', { prompt_length: 3 }),
  event(
    'Model.Responded',
    '2026-03-01T23:00:05.000Z',
    { model_id: 'a', input_tokens: 1000, output_tokens: 10 },
    { model: 'a', response: 'r1', usage: { cache_read_tokens: 600 }, cost: { usd: 0.25, prices: 'p' } },
  ),
  event(
    'Model.Responded',
    '2026-03-02T00:10:00.000Z',
    { model_id: 'b', input_tokens: 7, output_tokens: 3 },
    { model: 'b', response: 'r2', cost: { prices: 'p' } },
  ),
  event('Retry.Loop.Detected', '2026-03-02T00:11:00.000Z', { iteration_count: 4 }),
  event('Session.End', '2026-03-02T00:12:00.000Z', { end_reason: 'exit' }),
]);

/** An open action is closed for display only. */
const isRunning = (span: FinishedSpan): boolean => span.kind === 'action' && span.outcome === 'abandoned';

const entryOf = ({ events }: Replay): IndexedSession => {
  const entry = indexedFrom([events], 0);
  if (entry === undefined) throw new Error('no event can be read');
  return entry;
};

function report(
  sessions: readonly Replay[],
  by: readonly Grouping[],
  sinceMs = 0,
  untilMs = Number.POSITIVE_INFINITY,
): Report {
  const made = new UsageReport({ by, sinceMs, untilMs, dayOf });
  for (const session of sessions) made.addSpans(entryOf(session), session);
  return made.report();
}

describe('a report', () => {
  it('the sums equal the spans of all journeys, in every grouping with room for them', () => {
    const spans = journeys.flatMap(({ finished, open }) => [...finished, ...open]);
    const actions = spans.filter(span => span.kind === 'action');
    expect(actions.length).toBeGreaterThan(40);
    const running = journeys.flatMap(({ open }) => open.filter(isRunning));
    const failed = actions.filter(span => span.errorType !== undefined).length - running.length;
    for (const by of groupings.filter(grouping => grouping !== 'model' && grouping !== 'action')) {
      const { rows, total } = report(journeys, [by]);
      const sum = (name: 'turns' | 'actions' | 'failed' | 'denied'): number =>
        rows.reduce((all, row) => all + row[name], 0);
      expect([by, sum('actions'), total.actions]).toEqual([by, actions.length, actions.length]);
      expect(sum('turns')).toBe(spans.filter(span => span.kind === 'turn').length);
      expect(sum('failed')).toBe(failed);
      expect(sum('denied')).toBe(actions.filter(span => span.decision?.outcome === 'deny').length);
      expect(total.sessions).toBe(journeys.length);
    }
  });

  it('counts each response in its project and day, and leaves out unknown values', () => {
    const of = (row: Row | undefined) => [
      row?.sessions,
      row?.responses,
      row?.input_tokens,
      row?.cost_usd,
      row?.unpriced_tokens,
    ];
    const days = report([twoDays], ['day']).rows;
    expect(days.map(row => [row.by.day, ...of(row)])).toEqual([
      ['2026-03-01', 1, 1, 1000, 0.25, undefined],
      ['2026-03-02', 1, 1, 7, undefined, 10],
    ]);
    expect(days.map(row => row.loops)).toEqual([0, 1]);
    const models = report([twoDays], ['model']).rows;
    expect(models.map(row => [row.by.model, ...of(row)])).toEqual([
      ['a', 1, 1, 1000, 0.25, undefined],
      ['b', 1, 1, 7, undefined, 10],
    ]);
    expect(report([twoDays], ['project', 'agent']).rows.map(row => row.by)).toEqual([
      { project: '/home/me/shop', agent: 'codex' },
    ]);
  });

  it('leaves out earlier events', () => {
    const { rows, total } = report([twoDays], ['day'], Date.parse('2026-03-02T00:00:00.000Z'));
    expect(rows.map(row => row.by.day)).toEqual(['2026-03-02']);
    expect(total.input_tokens).toBe(7);
  });

  it('leaves out later events', () => {
    const { rows, total } = report([twoDays], ['day'], 0, Date.parse('2026-03-02T00:00:00.000Z'));
    expect(rows.map(row => row.by.day)).toEqual(['2026-03-01']);
    expect(total.input_tokens).toBe(1000);
  });

  it('gives the same sums by the entries of the index, where they suffice', () => {
    let byEntries = 0;
    for (const by of groupings) {
      for (const session of journeys) {
        const made = new UsageReport({ by: [by], sinceMs: 0, untilMs: Number.POSITIVE_INFINITY, dayOf });
        if (!made.addEntry(entryOf(session), session.events[0]?.user?.id)) continue;
        byEntries += 1;
        expect([by, session.session, made.report()]).toEqual([by, session.session, report([session], [by])]);
      }
    }
    expect(byEntries).toBeGreaterThan(journeys.length * 5);
  });

  it('needs the spans of a session of two days by day, and by its parts in any case', () => {
    const add = (by: Grouping, sinceMs = 0): boolean =>
      new UsageReport({ by: [by], sinceMs, untilMs: Number.POSITIVE_INFINITY, dayOf }).addEntry(entryOf(twoDays), '');
    expect(groupings.filter(by => !add(by))).toEqual(['day', 'model', 'action', 'subagent']);
    expect(add('agent', Date.parse('2026-03-02T00:00:00.000Z'))).toBe(false);
  });
});
