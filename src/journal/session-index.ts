/**
 * The index of sessions: one short entry per journal, so that a list of sessions reads no journal.
 *
 * Each round writes the entries of the sessions whose journals it extends, in the same commit as the journal lines. The
 * entries are in shards by the first digits of their key, so that a round writes a few KB however many sessions exist.
 * An entry says how many bytes of its journal it covers. A reader makes the entry again from the journal if the entry
 * is missing or covers other bytes than the journal has; a delivery stores these entries when it has no other work.
 */
import { isOpen, step } from '../assemble/assemble.ts';
import type { FinishedSpan, SessionSpan, SessionStatus } from '../assemble/finished.ts';
import type { FoldState } from '../assemble/state.ts';
import { type Event, factsOf, type RiskLevel } from '../event/event.ts';
import { isFields, number, text } from '../lib/read.ts';
import { documentFamily } from '../store/document.ts';
import type { Store } from '../store/store.ts';
import { countAction, countSpan, modelOf } from './count-spans.ts';
import { eventsIn, eventsOf, foldFrom, type JournalReader } from './journal-events.ts';
import { noCounts, type SpanCounts, sumOf } from './span-counts.ts';

export interface IndexedSession {
  session: string;
  agent: string;
  /** The bytes of the journal that this entry covers. */
  bytes: number;
  firstMs: number;
  lastMs: number;
  state: 'running' | 'ended' | 'aborted';
  cwd?: string | undefined;
  /** Owner and name. */
  repository?: string | undefined;
  branch?: string | undefined;
  /** The id of the session that this session continues. */
  previous?: string | undefined;
  /** The models of its responses, the last one first. */
  models: string[];
  risk?: RiskLevel | undefined;
  /** What the agent stated last of the running session, and its own version. */
  status?: SessionStatus | undefined;
  version?: string | undefined;
  /** Counts of the spans that the fold finished, and of those that are open or wait to be settled. */
  finished: SpanCounts;
  open: SpanCounts;
}

export type IndexShard = { readonly [key: string]: IndexedSession };

/** The version of the schema is also the version of the counting rules: another version is counted again. */
export const indexDocument = documentFamily<IndexShard>('index', 2, parseShard);

export const shardOf = (key: string): string => key.slice(0, 2);

const MOST_MODELS = 8;

/** The part of a round's output that changes an entry. */
export interface Growth {
  state: { agent: string; session: string; fold: FoldState };
  lines: string;
  events: readonly Event[];
  spans: readonly FinishedSpan[];
}

/** Returns the entry after a round that extended the journal. */
export function indexed(before: IndexedSession | undefined, growth: Growth): IndexedSession {
  const { agent, session, fold } = growth.state;
  const entry: IndexedSession = before
    ? { ...before, models: [...before.models], finished: { ...before.finished } }
    : noSession(agent, session, firstMsOf(growth));
  entry.bytes += Buffer.byteLength(growth.lines);
  entry.lastMs = Math.max(entry.lastMs, fold.lastMs);
  entry.cwd ??= growth.events.map(event => factsOf(event)?.cwd).find(cwd => cwd !== undefined);
  for (const span of growth.spans) addSpan(entry, entry.finished, span);
  addOpen(entry, fold);
  const { owner, name, branch } = fold.repository ?? {};
  if (name !== undefined) entry.repository = owner === undefined ? name : `${owner}/${name}`;
  if (branch !== undefined) entry.branch = branch;
  const { status, version } = (isOpen(fold) ? fold.segment : undefined) ?? {};
  Object.assign(entry, { status, version });
  entry.previous ??= fold.segment?.previous ?? growth.spans.find(isContinuation)?.previous;
  const end = growth.spans.findLast((span): span is SessionSpan => span.kind === 'session');
  if (isOpen(fold)) entry.state = 'running';
  else if (end !== undefined) entry.state = end.errorType === undefined ? 'ended' : 'aborted';
  else if (entry.state === 'running') entry.state = 'ended';
  return entry;
}

const isContinuation = (span: FinishedSpan): span is SessionSpan =>
  span.kind === 'session' && span.previous !== undefined;

/** Returns the entry of a journal by folding all of its events; undefined if no event can be read. */
export function indexedFrom(parts: Iterable<readonly Event[]>, bytes: number): IndexedSession | undefined {
  let entry: IndexedSession | undefined;
  let state: Growth['state'] | undefined;
  for (const events of parts) {
    const [first] = events;
    if (first === undefined) continue;
    state ??= foldFrom(first);
    const { fold } = state;
    const spans = events.flatMap(event => step(fold, event).spans);
    entry = indexed(entry, { state, lines: '', events, spans });
  }
  return entry && { ...entry, bytes };
}

export const indexedText = (journal: string): IndexedSession | undefined =>
  indexedFrom([eventsIn(journal)], Buffer.byteLength(journal));

/** The part of a store that reads the index and the journals. */
export type IndexReader = JournalReader & Pick<Store, 'read' | 'journalSizes'>;

/**
 * Returns the entries of all sessions by the keys of their journals. Missing entries are made from the journals.
 * `earlier`: entries that the caller has read before; those of unchanged journals are taken over.
 */
export function sessionIndex(
  store: IndexReader,
  earlier: ReadonlyMap<string, IndexedSession> = new Map(),
): Map<string, IndexedSession> {
  const found = new Map<string, IndexedSession>();
  const shards = new Map<string, IndexShard>();
  for (const [key, bytes] of store.journalSizes()) {
    const before = earlier.get(key);
    if (before?.bytes === bytes) {
      found.set(key, before);
      continue;
    }
    const shard = shardOf(key);
    const entries = shards.get(shard) ?? store.read(indexDocument.of(shard)) ?? {};
    shards.set(shard, entries);
    const known = entries[key];
    const entry = known?.bytes === bytes ? known : indexedFrom(eventsOf(store, key), bytes);
    if (entry !== undefined) found.set(key, entry);
  }
  return found;
}

/** Returns the counts of all spans of a session. */
export const countsOf = ({ finished, open }: IndexedSession): SpanCounts => sumOf([finished, open]);

function noSession(agent: string, session: string, firstMs: number): IndexedSession {
  const found = { finished: noCounts(), open: noCounts() };
  return { session, agent, bytes: 0, firstMs, lastMs: firstMs, state: 'running', models: [], ...found };
}

/** An import keeps no events, so that the time of the first event comes from its line. */
function firstMsOf({ events, lines, state }: Growth): number {
  const first = events[0] ?? eventsIn(lines.slice(0, lines.indexOf('\n')))[0];
  return Date.parse(first?.timestamp ?? '') || state.fold.lastMs;
}

const levels: readonly string[] = ['low', 'medium', 'high', 'critical'];

function addSpan(entry: IndexedSession, counts: SpanCounts, span: FinishedSpan): void {
  countSpan(counts, span);
  if (span.kind === 'session') counts.loops += span.loops ?? 0;
  const level = span.risk?.level;
  if (level !== undefined && levels.indexOf(level) > levels.indexOf(entry.risk ?? '')) entry.risk = level;
  const model = modelOf(span);
  if (model !== undefined) entry.models = [model, ...entry.models.filter(each => each !== model)].slice(0, MOST_MODELS);
}

/** Counts the spans that are open, and the closed ones that the fold still holds. */
function addOpen(entry: IndexedSession, fold: FoldState): void {
  const counts = noCounts();
  entry.open = counts;
  for (const { span } of fold.held) addSpan(entry, counts, span);
  if (fold.turn !== undefined) counts.turns += 1;
  counts.subagents += Object.keys(fold.subagents).length;
  const isSegmentOpen = fold.endedMs === undefined && !fold.held.some(({ span }) => span.kind === 'session');
  if (isSegmentOpen) counts.loops += fold.segment?.loops ?? 0;
  for (const action of Object.values(fold.actions)) countAction(counts, action);
}

function parseShard(value: unknown): IndexShard | undefined {
  if (!isFields(value)) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => isEntry(entry))) as IndexShard;
}

const isEntry = (entry: unknown): boolean =>
  isFields(entry) &&
  text(entry.session) !== undefined &&
  text(entry.agent) !== undefined &&
  [entry.bytes, entry.firstMs, entry.lastMs].every(each => number(each) !== undefined) &&
  Array.isArray(entry.models) &&
  [entry.finished, entry.open].every(isFields);
