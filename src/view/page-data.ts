/** The values of the page of `otel-hooks view`, read from the journals. */
import { randomUUID } from 'node:crypto';
import { deflateSync, inflateSync } from 'node:zlib';
import { REPOSITORY, step } from '../assemble/assemble.ts';
import type { FinishedDecision, FinishedRecord, FinishedSpan } from '../assemble/finished.ts';
import type { FoldState } from '../assemble/state.ts';
import { type Event, type Fields, factsOf } from '../event/event.ts';
import { eventsIn, foldFrom, type JournalReader, partOf } from '../journal/journal-events.ts';
import { openSpans } from '../journal/replay.ts';
import { IndexMemory, sessionIndex } from '../journal/session-index.ts';
import { own } from '../lib/read.ts';
import { asShown } from '../lib/shown.ts';
import type { ContextPoint, JournalPart, PageEvent, PageSpan, SessionList, SpanDetails, Usage } from '../page/data.ts';
import type { Store } from '../store/store.ts';
import { spanIdOf, traceIdOf } from '../telemetry/ids.ts';
import { lineOf } from '../telemetry/line.ts';
import { levelOf, mapRecord } from '../telemetry/logs.ts';
import { resourceOf } from '../telemetry/resource.ts';
import { readableRecord, readableSpan } from '../telemetry/sdk-values.ts';
import { mapSpan } from '../telemetry/spans.ts';
import { type JoinedSession, joinedSessions } from './joined-sessions.ts';
import { nodeOfSpan, unlimitedFacts, usageOf } from './nodes.ts';
import { packedSessions, shownName } from './packed-sessions.ts';

/** The longest text of the page, in characters. */
const LONGEST = 4_000;

/** A text of unknown authors, for display. */
function shownText(text: string): string {
  const shown = asShown(text.slice(0, LONGEST));
  return text.length > LONGEST ? `${shown} … (${text.length - LONGEST} more characters)` : shown;
}

/** Lists sessions, and remembers their entries for the next list. */
export class SessionLister {
  /** Names this object to pages, which outlive the server. */
  private readonly made = randomUUID();
  private readonly memory = new IndexMemory();
  private listed = new Map<string, JoinedSession>();
  /** The number of the last list with a change, and the list in which each session last changed or was removed. */
  private n = 0;
  private readonly changedIn = new Map<string, number>();

  /** Without a store there are no sessions. */
  list(store: Store | undefined): ReadonlyMap<string, JoinedSession> {
    const before = this.listed;
    const all = store === undefined ? [] : joinedSessions(sessionIndex(store, this.memory));
    this.listed = new Map(all.map(parts => [parts[0].key, unchanged(parts, before.get(parts[0].key))]));
    const changed = [...this.listed].filter(([key, parts]) => before.get(key) !== parts).map(([key]) => key);
    const removed = [...before.keys()].filter(key => !this.listed.has(key));
    if (changed.length + removed.length > 0) this.n += 1;
    for (const key of [...changed, ...removed]) this.changedIn.set(key, this.n);
    return this.listed;
  }

  /** The list for a page that has the sessions of this earlier list: `<made>.<n>`. */
  listSince(had: string, store: Store | undefined): Omit<SessionList, 'stateFolder'> {
    const listed = this.list(store);
    const [made, n] = had.split('.');
    const from = made === this.made ? Number(n) || 0 : 0;
    const isNew = (key: string): boolean => (this.changedIn.get(key) ?? 0) > from;
    const rows = [...listed].filter(([key]) => isNew(key)).map(([, parts]) => parts);
    const gone = [...this.changedIn.keys()].filter(key => isNew(key) && !listed.has(key));
    return { v: 2, made: this.made, n: this.n, rows: packedSessions(rows), gone };
  }
}

/** Returns the earlier session if nothing changed: the entry of an unchanged journal is the same object as before. */
const unchanged = (parts: JoinedSession, before: JoinedSession | undefined): JoinedSession =>
  before?.length === parts.length && parts.every(({ entry }, i) => before[i]?.entry === entry) ? before : parts;

/** What a page has of a journal. */
export interface Had {
  made: string;
  spans: number;
  events: number;
  context: number;
}

/** A part of the journal, and the state before it, from which its spans and records are folded again. */
interface FoldedPart {
  from: number;
  endBytes: number;
  /** Compressed JSON; undefined before the first event. */
  fold: Buffer | undefined;
  foldChars: number;
  /** The number of spans that were finished before. */
  spans: number;
}

/** A part takes the lines of several updates up to this size, and up to this multiple of the state before it. */
const PART_BYTES = 512 * 1024;
const PART_STATES = 8;

/**
 * Follows one journal: each update folds the new lines alone. The events and spans of a long session would fill the
 * memory, so the feed keeps what the page lists, and reads a part of the journal again for the details of a span.
 */
export class SessionFeed {
  readonly key: string;
  private made = '';
  private source: { agent: string; session: string; fold: FoldState } | undefined;
  private endBytes = 0;
  private lastAt = '';
  private parts: FoldedPart[] = [];
  /** The spans of segments; they have facts about the session. */
  private segments: FinishedSpan[] = [];
  private content = new Set<string>();
  private open: FinishedSpan[] = [];
  private spans: PageSpan[] = [];
  private events: PageEvent[] = [];
  private context: ContextPoint[] = [];
  /** The indices of the parts with records of a span. Spans share the list of a single part. */
  private recordParts = new Map<string, readonly number[]>();
  private damagedLines = 0;
  private isCompacting = false;

  constructor(key: string) {
    this.key = key;
  }

  /** Reads the lines that were added. Returns false if there is no such journal. */
  update(store: Store): boolean {
    const sizeBytes = store.journalSize(this.key);
    if (sizeBytes === undefined) return false;
    if (sizeBytes < this.endBytes || this.source === undefined) this.restart();
    for (;;) {
      const part = partOf(store, { key: this.key, from: this.endBytes, sizeBytes });
      if (part === undefined) break;
      if (part.endBytes < this.endBytes) this.restart();
      else this.add(part.lines, part.endBytes);
      this.endBytes = part.endBytes;
    }
    if (this.source !== undefined) this.open = openSpans(this.source, this.lastAt);
    return this.source !== undefined;
  }

  private restart(): void {
    this.made = randomUUID();
    this.source = undefined;
    this.endBytes = 0;
    this.parts = [];
    this.segments = [];
    this.content = new Set();
    this.spans = [];
    this.events = [];
    this.context = [];
    this.recordParts = new Map();
    this.damagedLines = 0;
    this.isCompacting = false;
  }

  private add(lines: string, endBytes: number): void {
    const last = this.parts.at(-1);
    const most = Math.max(PART_BYTES, PART_STATES * (last?.foldChars ?? 0));
    if (last !== undefined && endBytes - last.from <= most) last.endBytes = endBytes;
    else {
      const text = this.source && JSON.stringify(this.source.fold);
      const fold = text === undefined ? undefined : deflateSync(text, { level: 1 });
      this.parts.push({ from: this.endBytes, endBytes, fold, foldChars: text?.length ?? 0, spans: this.spans.length });
    }
    const events = eventsIn(lines);
    this.damagedLines += lines.split('\n').filter(line => line !== '').length - events.length;
    const [first] = events;
    if (first === undefined) return;
    this.source ??= foldFrom(first);
    const part = [this.parts.length - 1];
    for (const event of events) this.addEvent(event, this.source, part);
  }

  private addEvent(event: Event, { agent, fold }: NonNullable<SessionFeed['source']>, part: readonly number[]): void {
    this.lastAt = event.timestamp;
    const { spans, records } = step(fold, event);
    for (const span of spans) {
      if (span.kind === 'session') this.segments.push(span);
      addContent(this.content, span);
      this.spans.push(this.pageSpan(span));
    }
    let id: string | undefined;
    for (const record of records) {
      id = spanIdOf(agent, record.span);
      const before = this.recordParts.get(id);
      if (before === undefined) this.recordParts.set(id, part);
      else if (before.at(-1) !== part[0] && before.length < MOST_RECORDS)
        this.recordParts.set(id, [...before, ...part]);
    }
    const facts = factsOf(event) ?? {};
    const level = levelOf(event, facts);
    const atMs = Date.parse(event.timestamp);
    if (isNotable(event, level)) {
      const line = event.event_type === REPOSITORY ? repositoryLine(event.data) : withoutId(lineOf(event, facts));
      this.events.push({ atMs, type: event.event_type, level, line: shownText(line), span: id });
    }
    this.addContext(event, spans, atMs);
  }

  /** The fill of the main agent's context, by its reports and its responses. */
  private addContext(event: Event, spans: readonly FinishedSpan[], atMs: number): void {
    if (event.parent_session_id !== undefined) return;
    if (event.event_type === 'Context.Compaction') {
      // A compaction has one event, or one before it and one after it.
      const phase = factsOf(event)?.phase;
      const isCompaction = phase === 'after' && this.isCompacting ? undefined : true;
      this.context.push({ atMs, tokens: event.data.tokens_after, isCompaction });
      this.isCompacting = phase === 'before';
    }
    if (event.event_type === 'Context.UntilCompaction') {
      const { tokens_used: tokens, tokens_limit: limit } = event.data;
      this.context.push({ atMs, tokens, limit });
    }
    for (const span of spans) {
      if (span.kind !== 'chat' || span.subagent !== undefined || span.sum !== undefined) continue;
      if (span.input !== undefined) this.context.push({ atMs: span.endMs, tokens: span.input });
    }
  }

  /** The part of the journal that a page with these counts does not have. */
  part(had: Had | undefined): JournalPart {
    const from = had?.made === this.made ? had : { spans: 0, events: 0, context: 0 };
    const sessions = [...this.segments, ...this.open].filter(span => span.kind === 'session');
    const content = new Set(this.content);
    for (const span of this.open) addContent(content, span);
    const previous = sessions.find(span => span.previous !== undefined)?.previous;
    return {
      key: this.key,
      made: this.made,
      spans: this.spans.slice(from.spans),
      open: this.openSpans(),
      events: this.events.slice(from.events),
      context: this.context.slice(from.context),
      damagedLines: this.damagedLines,
      content: [...content].sort(),
      previous: previous && shownName(previous),
      commits: [...new Set(sessions.flatMap(span => span.commits ?? []))].map(shownName),
    };
  }

  /** Undefined if the journal has no such span, or was replaced since the last update. */
  details(store: JournalReader, id: string): SpanDetails | undefined {
    const agent = this.source?.agent ?? '';
    const isMeant = ({ key }: { key: FinishedSpan['key'] }): boolean => spanIdOf(agent, key) === id;
    let span = this.open.find(isMeant);
    const at = span === undefined ? this.spans.findIndex(each => each.id === id) : -1;
    const ofSpan = at < 0 ? [] : [this.parts.findLastIndex(part => part.spans <= at)];
    const records: FinishedRecord[] = [];
    for (const index of new Set([...ofSpan, ...(this.recordParts.get(id) ?? [])].sort((a, b) => a - b))) {
      if (records.length >= MOST_RECORDS && span !== undefined) break;
      const again = this.folded(store, index);
      span ??= again.spans.find(isMeant);
      for (const record of again.records) if (isMeant({ key: record.span })) records.push(record);
    }
    return span && this.detailsOf(span, records);
  }

  /** The details of all spans, with their ids. */
  *allDetails(store: JournalReader): Generator<[id: string, details: SpanDetails]> {
    const agent = this.source?.agent ?? '';
    const finished: FinishedSpan[] = [];
    const records = new Map<string, FinishedRecord[]>();
    for (const index of this.parts.keys()) {
      const again = this.folded(store, index);
      for (const span of again.spans) finished.push(span);
      for (const record of again.records) {
        const id = spanIdOf(agent, record.span);
        if (!records.get(id)?.push(record)) records.set(id, [record]);
      }
    }
    for (const span of [...finished, ...this.open]) {
      const id = spanIdOf(agent, span.key);
      yield [id, this.detailsOf(span, records.get(id) ?? [])];
    }
  }

  /** Folds a part of the journal again; without output if the journal was replaced. */
  private folded(store: JournalReader, index: number): { spans: FinishedSpan[]; records: FinishedRecord[] } {
    const part = this.parts[index];
    const read = part && store.journalFrom(this.key, part.from, part.endBytes - part.from);
    const events = read?.endBytes === part?.endBytes ? eventsIn(read?.lines ?? '') : [];
    const [first] = events;
    if (part === undefined || first === undefined) return { spans: [], records: [] };
    const fold = part.fold === undefined ? foldFrom(first).fold : foldIn(part.fold);
    const steps = events.map(event => step(fold, event));
    return { spans: steps.flatMap(each => each.spans), records: steps.flatMap(each => each.records) };
  }

  private detailsOf(span: FinishedSpan, all: readonly FinishedRecord[]): SpanDetails {
    const { agent = '', session = '' } = this.source ?? {};
    const facts = unlimitedFacts(agent, session);
    const { attributes } = readableSpan(mapSpan(span, facts, resourceOf({})));
    const records = all.slice(0, MOST_RECORDS).map(each => {
      const { hrTime, severityText, body, attributes } = readableRecord(mapRecord(each, facts, resourceOf({})));
      return {
        atMs: hrTime[0] * 1_000 + hrTime[1] / 1e6,
        level: severityText ?? '',
        line: shownText(withoutId(String(body))),
        attributes: namedTexts(attributes),
      };
    });
    const links = span.links.map(({ type, trace }) => `${type}: ${traceIdOf(trace)}`);
    return { v: 1, attributes: namedTexts(attributes), links, records };
  }

  /** A closed span that only waits for its transcript keeps its outcome. The others were closed for display alone. */
  private openSpans(): PageSpan[] {
    const { agent = '', fold } = this.source ?? {};
    const closed = new Set(fold?.held.map(({ span }) => spanIdOf(agent, span.key)));
    return this.open.map(span => {
      const shown = this.pageSpan(span);
      if (closed.has(shown.id)) return shown;
      return { ...shown, error: undefined, notes: shown.notes.filter(note => !endings.includes(note)), isOpen: true };
    });
  }

  private pageSpan(span: FinishedSpan): PageSpan {
    const { agent = '', session = '' } = this.source ?? {};
    const node = nodeOfSpan(span, unlimitedFacts(agent, session));
    return {
      id: node.id,
      parent: node.parent,
      trace: traceIdOf(span.trace),
      kind: span.kind,
      name: shownName(node.name),
      startMs: span.startMs,
      endMs: span.endMs,
      error: node.error && shownName(node.error),
      isDenied: (span.kind === 'action' && span.decision?.outcome === 'deny') || undefined,
      decidedBy: span.kind === 'action' && span.decision ? decider(span.decision) : undefined,
      model: span.kind === 'chat' && span.model !== undefined ? shownName(span.model) : undefined,
      risk: span.risk?.level,
      // The page shows the risk and the wait in its own way.
      notes: node.notes.filter(note => !/^(risk|waited) /.test(note)).map(shownName),
      ...(span.kind === 'action' ? { askedMs: span.askedMs, waitMs: span.waitMs } : {}),
      usage: spanUsage(span),
    };
  }
}

/** The outcomes that closing a span for display gives it. */
const endings: readonly string[] = ['abandoned', 'unfinished'];

const MOST_RECORDS = 200;

/** The line ends with the first digits of the id of the event, which only back ends need. */
const withoutId = (line: string): string => line.replace(/ [0-9a-f]{8}$/, '');

const namedTexts = (attributes: object): [string, string][] =>
  Object.entries(attributes)
    .map(([name, value]): [string, string] => [
      shownName(name),
      shownText(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')),
    ])
    .sort(([a], [b]) => (a < b ? -1 : 1));

/** Sources whose name alone does not say what decided. */
const sourceWords: { readonly [source: string]: string } = {
  classifier: "the agent's own classifier, which judges each action",
  config: 'configuration',
  mode: 'permission mode of the agent',
};

const scopeWords = { user: 'user settings', flags: 'command line', session: 'this session' } as const;

/** `policy: rule of the managed settings`, `user: answer, once`. */
function decider({ source, reason, scope, grant, basis }: FinishedDecision): string {
  const scoped = scope === undefined || scope === 'other' ? undefined : (own(scopeWords, scope) ?? `${scope} settings`);
  const facts = [reason === 'other' ? undefined : reason, scoped, grant === 'other' ? undefined : grant];
  const known: string[] = facts.flatMap(each => (each === undefined || each === source ? [] : [each]));
  if (basis === 'inferred') known.push('inferred');
  const decided = own(sourceWords, source) ?? source;
  return known.length === 0 ? decided : `${decided} (${known.join(', ')})`;
}

function spanUsage(span: FinishedSpan): Usage | undefined {
  const used = usageOf(span);
  if (used === undefined) return undefined;
  const { input, output, cacheRead, cacheWrite } = used;
  const costUsd = used.pricedUsd ?? used.costUsd;
  return { input, output, cacheRead, cacheWrite, costUsd };
}

/** The fold makes no record of these events, so that no line is defined for them. */
function repositoryLine({ owner, name, branch, commits }: Fields): string {
  const made = Array.isArray(commits) ? commits.map(each => String(each).slice(0, 12)) : [];
  const place = [owner, name].filter(each => each !== undefined).join('/');
  const where = branch === undefined ? place : `${place} at ${branch}`;
  return made.length === 0 ? `Repository ${where}` : `Commit ${made.join(', ')} in ${where}`;
}

/** Types of events that readers search for. Frequent events are shown as spans. */
const isNotable = (event: Event, level: string): boolean =>
  (level !== 'INFO' && level !== 'DEBUG') ||
  /^(Context\.Compaction|Retry\.|Policy\.|Session\.|vendor\.otel-hooks\.(Budget|Repository))/.test(event.event_type);

const foldIn = (compressed: Buffer): FoldState => JSON.parse(inflateSync(compressed).toString()) as FoldState;

/** Adds the classes of content that a span holds. */
function addContent(held: Set<string>, span: FinishedSpan): void {
  if (!('content' in span)) return;
  for (const [name, value] of Object.entries(span.content ?? {})) if (value !== undefined) held.add(name);
}
