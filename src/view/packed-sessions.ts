/** Makes the rows of the list of sessions from entries of the index, by columns. */
import { countNames, type SpanCounts, type StoredCounts } from '../journal/span-counts.ts';
import { asShown } from '../lib/shown.ts';
import type { SessionRow } from '../page/data.ts';
import { type PackedRows, unpackedRows } from '../page/packed-rows.ts';
import type { JoinedSession } from './joined-sessions.ts';
import { isTrial } from './trial-sessions.ts';

export const shownName = (text: string): string =>
  text.length > 200 ? `${asShown(text.slice(0, 200))}…` : asShown(text);

const risks = ['low', 'medium', 'high', 'critical'] as const;

export function packedSessions(all: readonly JoinedSession[]): PackedRows {
  const texts = new Map<string, number>();
  const placeOf = (text: string): number => {
    const place = texts.get(text) ?? texts.size;
    texts.set(text, place);
    return place;
  };
  const placeIf = (text: string | undefined): number | null => (text === undefined ? null : placeOf(text));
  const rows: Omit<PackedRows, 'texts'> = {
    ...{ key: [], session: [], firstMs: [], lastMs: [], lengthMs: [], agent: [], state: [] },
    ...{ repository: [], branch: [], cwd: [], risk: [], models: [], trials: [], resumedAs: {}, counts: {} },
  };
  for (const [i, parts] of all.entries()) {
    const [{ key, entry: first }] = parts;
    const entries = parts.map(({ entry }) => entry);
    const newest = entries.toReversed();
    const last = entries.reduce((latest, entry) => (entry.lastMs > latest.lastMs ? entry : latest), first);
    rows.key.push(key);
    rows.session.push(shownName(first.session));
    rows.firstMs.push(Math.min(...entries.map(({ firstMs }) => firstMs)));
    rows.lastMs.push(last.lastMs);
    rows.lengthMs.push(entries.reduce((sum, { firstMs, lastMs }) => sum + lastMs - firstMs, 0));
    rows.agent.push(placeOf(first.agent));
    rows.state.push(placeOf(entries.some(({ state }) => state === 'running') ? 'running' : last.state));
    rows.repository.push(placeIf(newest.find(({ repository }) => repository !== undefined)?.repository));
    rows.branch.push(placeIf(newest.find(({ branch }) => branch !== undefined)?.branch));
    rows.cwd.push(placeIf(first.cwd));
    rows.risk.push(placeIf(risks.findLast(level => entries.some(({ risk }) => risk === level))));
    rows.models.push([...new Set(newest.flatMap(({ models }) => models))].map(placeOf));
    if (isTrial(first.session)) rows.trials.push(i);
    if (parts.length > 1) rows.resumedAs[i] = entries.slice(1).map(({ session }) => shownName(session));
    for (const { finished, open } of entries) {
      addCounts(finished, i);
      addCounts(open, i);
    }
  }
  return { ...rows, texts: [...texts.keys()].map(shownName) };

  /** Stored counts have few names, so that a loop over the names that they have is faster than one over all names. */
  function addCounts(counts: StoredCounts, i: number): void {
    for (const name in counts) {
      const value = isCount(name) ? counts[name] : undefined;
      if (!isCount(name) || value === undefined) continue;
      rows.counts[name] ??= new Array<null>(all.length).fill(null);
      rows.counts[name][i] = (rows.counts[name][i] ?? 0) + value;
    }
  }
}

const known: ReadonlySet<string> = new Set(countNames);

const isCount = (name: string): name is keyof SpanCounts => known.has(name);

/** The row of one session. */
export const rowOf = (parts: JoinedSession): SessionRow => unpackedRows(packedSessions([parts]))[0] as SessionRow;
