/**
 * The index of sessions: one short entry per journal, so that a list of sessions reads no journal.
 *
 * Each round writes the entries of the sessions whose journals it extends, in the same commit as the journal lines. The
 * entries are in shards by the first digits of their key, so that a round writes a few KB however many sessions exist.
 * A reader makes an entry from its journal if the entry is missing: the shard is damaged, or of another version. Readers
 * do not compare entries with the sizes of journals, because 20,000 calls of `lstat` take longer than all else. An entry
 * says how many bytes of its journal it covers, and a delivery without other work compares them once a day. It stores
 * the missing entries, and makes those that cover other bytes again.
 */
import { isOpen, step } from '../assemble/assemble.ts';
import type { FinishedSpan, SessionSpan, SessionStatus } from '../assemble/finished.ts';
import type { FoldState } from '../assemble/state.ts';
import { type Event, factsOf, type RiskLevel } from '../event/event.ts';
import { isFields, number, own, text } from '../lib/read.ts';
import { documentFamily } from '../store/document.ts';
import type { Store } from '../store/store.ts';
import { countAction, countSpan, modelOf } from './count-spans.ts';
import { eventsIn, eventsOf, foldFrom, type JournalReader } from './journal-events.ts';
import { noCounts, type SpanCounts, type StoredCounts, storedCounts, sumOf } from './span-counts.ts';

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
  finished: StoredCounts;
  open: StoredCounts;
}

export type IndexShard = { readonly [key: string]: IndexedSession };

/** The version of the schema is also the version of the counting rules: another version is counted again. */
export const indexDocument = documentFamily<IndexShard>('index', 3, parseShard);

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
    ? { ...before, models: [...before.models] }
    : noSession(agent, session, firstMsOf(growth));
  entry.bytes += Buffer.byteLength(growth.lines);
  entry.lastMs = Math.max(entry.lastMs, fold.lastMs);
  entry.cwd ??= growth.events.map(event => factsOf(event)?.cwd).find(cwd => cwd !== undefined);
  const finished = sumOf([entry.finished]);
  for (const span of growth.spans) addSpan(entry, finished, span);
  entry.finished = storedCounts(finished);
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
export type IndexReader = JournalReader & Pick<Store, 'read' | 'stamp' | 'journals'>;

/** The entries that a reader read before, so that it reads only the shards that changed. */
export class IndexMemory {
  private readonly shards = new Map<string, { stamp: string | undefined; entries: IndexShard }>();
  private made = new Map<string, IndexedSession>();

  /** An entry that did not change is the same object as before. */
  entriesOf(store: IndexReader, shard: string): IndexShard {
    const document = indexDocument.of(shard);
    const stamp = store.stamp(document);
    const before = this.shards.get(shard);
    if (before !== undefined && before.stamp === stamp) return before.entries;
    const entries: { [key: string]: IndexedSession } = { ...store.read(document) };
    for (const [key, entry] of Object.entries(entries)) {
      const known = before?.entries[key];
      if (known?.bytes === entry.bytes) entries[key] = known;
    }
    this.shards.set(shard, { stamp, entries });
    return entries;
  }

  /** The entry of a journal that has none in the index. */
  madeFrom(store: IndexReader, key: string): IndexedSession | undefined {
    const bytes = store.journalSize(key) ?? 0;
    const before = this.made.get(key);
    const entry = before?.bytes === bytes ? before : indexedFrom(eventsOf(store, key), bytes);
    if (entry !== undefined) this.made.set(key, entry);
    return entry;
  }
}

/** Returns the entries of all sessions by the keys of their journals. Missing entries are made from the journals. */
export function sessionIndex(store: IndexReader, memory = new IndexMemory()): Map<string, IndexedSession> {
  const found = new Map<string, IndexedSession>();
  const shards = new Map<string, IndexShard>();
  for (const key of store.journals()) {
    const shard = shardOf(key);
    const entries = shards.get(shard) ?? memory.entriesOf(store, shard);
    shards.set(shard, entries);
    const entry = own(entries, key) ?? memory.madeFrom(store, key);
    if (entry !== undefined) found.set(key, entry);
  }
  return found;
}

/** Returns the counts of all spans of a session. */
export const countsOf = ({ finished, open }: IndexedSession): SpanCounts => sumOf([finished, open]);

function noSession(agent: string, session: string, firstMs: number): IndexedSession {
  const found = { finished: {}, open: {} };
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
  for (const { span } of fold.held) addSpan(entry, counts, span);
  if (fold.turn !== undefined) counts.turns += 1;
  counts.subagents += Object.keys(fold.subagents).length;
  const isSegmentOpen = fold.endedMs === undefined && !fold.held.some(({ span }) => span.kind === 'session');
  if (isSegmentOpen) counts.loops += fold.segment?.loops ?? 0;
  for (const action of Object.values(fold.actions)) countAction(counts, action);
  entry.open = storedCounts(counts);
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
