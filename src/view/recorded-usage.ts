/** Makes a report of the recorded sessions of a store. */
import { firstIn } from '../journal/journal-events.ts';
import { replay } from '../journal/replay.ts';
import { sessionIndex } from '../journal/session-index.ts';
import type { Store } from '../store/store.ts';
import { isTrial } from './trial-sessions.ts';
import { type Question, type Report, UsageReport, userOf } from './usage-report.ts';

/** Reads journals only where the index does not suffice, one after the other, to save memory. */
export function usageIn(store: Store, question: Question): Report {
  const made = new UsageReport(question);
  const needsUser = question.by.includes('user');
  for (const [key, entry] of sessionIndex(store)) {
    if (!made.concerns(entry) || isTrial(entry.session)) continue;
    const first = needsUser ? firstIn(store, key) : undefined;
    if (made.addEntry(entry, first && userOf(first))) continue;
    const session = replay(store.journal(key) ?? '');
    if (session !== undefined) made.addSpans(entry, session);
  }
  return made.report();
}
