/** Rebuilds sessions from their journals: the same fold over the same events gives the same state and output. */
import { REPOSITORY, step } from '../assemble/assemble.ts';
import { isFold } from '../assemble/state.ts';
import { FACTS, factsOf } from '../event/event.ts';
import { idsIn } from '../identify/event-ids.ts';
import { eventsIn, eventsOf, foldFrom } from '../journal/journal-events.ts';
import { noTranscripts, SEEN_IDS, type SessionState } from '../session/session-state.ts';
import type { Store } from '../store/store.ts';
import { noOutput, type SessionOutput } from './session-in-round.ts';

/**
 * Returns the stored state of a session. The store returns copies, so a round that is not committed changes no state.
 */
export function recalled(store: Pick<Store, 'session'>, key: string): SessionState | undefined {
  const state = store.session(key)?.state as SessionState | undefined;
  return state !== undefined && isFold(state.fold) ? state : undefined;
}

/** Rebuilds a pruned session from its journal. */
export function rebuild(state: SessionState, journal: string | undefined): void {
  const events = eventsIn(journal ?? '');
  if (journal === undefined || events.length === 0) return;
  for (const event of events) {
    step(state.fold, event);
    state.seq = Math.max(state.seq + 1, factsOf(event)?.seq ?? 0);
    const isHook = event.metadata?.[FACTS]?.native !== undefined;
    const atMs = Date.parse(event.timestamp);
    if (isHook && atMs < (state.hookedMs ?? Number.POSITIVE_INFINITY)) state.hookedMs = atMs;
  }
  state.former = events.length;
  state.seen = [...idsIn(journal)].slice(-SEEN_IDS);
  state.transcripts = { ...noTranscripts(), isAgain: true };
}

/** Yields the output of the whole journal for these destinations, as if it arrived now, in parts of limited size. */
export function* outputOfJournal(
  store: Store,
  state: SessionState,
  destinations: string[],
): Generator<SessionOutput, undefined> {
  const pinned = { ...state.pinned, destinations };
  let { former = 0 } = state;
  let fold: SessionState['fold'] | undefined;
  for (const journaled of eventsOf(store, state.key)) {
    const [first] = journaled;
    if (first === undefined) continue;
    fold ??= foldFrom(first, pinned.shape).fold;
    const output: SessionOutput = { state: { ...state, pinned, fold }, ...noOutput() };
    for (const event of journaled) {
      const hasLeft = former > 0;
      if (hasLeft) former -= 1;
      // Recorded before `trace.repository` was known to be off.
      if (event.event_type === REPOSITORY && pinned.repository === false) continue;
      const { spans, records } = step(fold, event);
      if (hasLeft) continue;
      output.lines += `${JSON.stringify(event)}\n`;
      output.count += 1;
      output.events.push(event);
      for (const span of spans) output.spans.push(span);
      for (const each of records) output.records.push(each);
    }
    yield output;
  }
}
