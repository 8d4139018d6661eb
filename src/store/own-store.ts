/**
 * The store of the process that delivers.
 *
 * Its view begins with a ledger. Every read and every decision belongs to the number of that ledger until a commit
 * replaces it. If a commit is lost or throws, the view is dropped, and all values that were computed from it must be
 * dropped too.
 */
import { type Books, readBooks } from './books.ts';
import { changeOf, type Document, type DocumentChange, type DocumentFamily } from './document.ts';
import { effectOf, type View } from './effect.ts';
import { FileCache } from './file-cache.ts';
import { type Disk, exists, names, readBytes } from './files.ts';
import { checkName } from './folder.ts';
import { forgetHookProblems, readHookProblems } from './hook-problems.ts';
import { Inbox, type Taken } from './inbox.ts';
import {
  damagedIn,
  journalKeys,
  journalSize,
  journalSizes,
  packedPath,
  readJournal,
  readJournalFrom,
  readJournalTail,
} from './journal.ts';
import { JournalListing } from './journal-listing.ts';
import { increase, type Ledger } from './ledger.ts';
import {
  bookExcess,
  calendarDocument,
  type Excess,
  excessOf,
  type IsUnderWay,
  type Limits,
  leftAloneDocument,
  packableOf,
  turnPage,
} from './limits.ts';
import { type BodyFile, listBodies, readBody, updateOutbox } from './outbox.ts';
import { createProcessing, type Processing } from './processing.ts';
import {
  DAMAGED_JOURNAL,
  emptyQuarantine,
  limitQuarantine,
  namesInQuarantine,
  type Purged,
  type QuarantineLimits,
  type QuarantineSize,
  quarantineLimits,
  quarantinePath,
} from './quarantine.ts';
import { createReserve, type Reserve } from './reserve.ts';
import { adoptLedger, commitRound, type Effect } from './rounds.ts';
import {
  documentPath,
  documentStamp,
  isPackedState,
  isSession,
  keysIn,
  parseDocument,
  parseSession,
  readOutline,
  readText,
  type Session,
  sessionPath,
  sessionSizes,
  updateSizes,
} from './state-files.ts';
import type { Round, Store, StoreOptions } from './store.ts';

const LOOK_AT_QUARANTINE_MS = 600_000;

export class OwnStore implements Store {
  readonly folder: string;
  epoch = 0;
  private readonly disk: Disk;
  private readonly limits: QuarantineLimits;
  private readonly processing: Processing;
  private readonly inbox: Inbox;
  private readonly reserve: Reserve;
  private readonly cache: FileCache;
  /** The ledger of the view; undefined: the view was dropped. */
  private base: Ledger | undefined;
  private isClosed = false;
  private readonly outbox = new Map<string, BodyFile[]>();
  private listing: JournalListing;
  private sizes: Map<string, number> | undefined;
  /** Files that could not be read: the next round counts them. */
  private readonly damaged = new Set<string>();
  /** Files that were removed from the quarantine: the next round counts them. */
  private purged: Purged = {};
  private quarantineSeenMs: number;

  constructor(disk: Disk, { quarantine = quarantineLimits, reserveBytes }: StoreOptions) {
    this.folder = disk.folder;
    this.disk = disk;
    this.limits = quarantine;
    this.processing = createProcessing(disk);
    this.inbox = new Inbox(disk, undefined, this.processing);
    this.reserve = createReserve(disk, reserveBytes);
    this.listing = new JournalListing(disk);
    this.cache = new FileCache(path => readText(disk, path));
    this.base = this.reserve.spend(() => adoptLedger(disk, true));
    limitQuarantine(disk, quarantine, this.purged);
    this.quarantineSeenMs = disk.clock.monotonicMs();
  }

  // ------------------------------------------------------------ reading

  session(key: string): Session | undefined {
    this.view();
    const path = sessionPath(key);
    const text = this.cache.text(path);
    const session = text === undefined ? undefined : parseSession(text);
    if (text !== undefined && session === undefined) this.damaged.add(path);
    return session;
  }

  outline(key: string): unknown {
    this.view();
    return readOutline(this.disk, key);
  }

  sessions(): string[] {
    return keysIn(this.disk, 'sessions', '.json');
  }

  sessionSizes(): ReadonlyMap<string, number> {
    this.view();
    this.sizes ??= sessionSizes(this.disk);
    return this.sizes;
  }

  read<T>(document: Document<T>): T | undefined {
    this.view();
    const path = documentPath(document.name);
    const value = this.cache.parsed(path, document.parse, text => parseDocument(text, document));
    if (value === undefined && this.cache.text(path) !== undefined) this.damaged.add(path);
    return value;
  }

  stamp<T>(document: Document<T>): string | undefined {
    return documentStamp(this.disk, document.name);
  }

  idsOf<T>(family: DocumentFamily<T>): string[] {
    return keysIn(this.disk, 'documents', '.json').flatMap(name => family.idOf(name) ?? []);
  }

  journal(key: string): string | undefined {
    return readJournal(this.disk, checkName(key), this.journalBytes(key));
  }

  journalTail(key: string, lines: number): string | undefined {
    return readJournalTail(this.disk, checkName(key), this.journalBytes(key), lines);
  }

  journalHead(key: string, mostBytes: number): string | undefined {
    return readJournalFrom(this.disk, checkName(key), undefined, 0, mostBytes)?.lines;
  }

  journalFrom(key: string, from: number, mostBytes: number): { lines: string; endBytes: number } | undefined {
    return readJournalFrom(this.disk, checkName(key), this.journalBytes(key), from, mostBytes);
  }

  journals(): string[] {
    return journalKeys(this.disk);
  }

  journalSizes(): Map<string, number> {
    return journalSizes(this.disk);
  }

  journalSize(key: string): number | undefined {
    return journalSize(this.disk, checkName(key));
  }

  next(destination: string): readonly BodyFile[] {
    this.view();
    const known = this.outbox.get(destination) ?? listBodies(this.disk, checkName(destination));
    this.outbox.set(destination, known);
    return known;
  }

  body(destination: string, name: string): Buffer | undefined {
    return readBody(this.disk, destination, name);
  }

  destinations(): string[] {
    return names(this.disk, 'outbox');
  }

  ledger(): Ledger {
    return structuredClone(this.view());
  }

  books(): Books {
    return readBooks(this.disk);
  }

  hookProblems(): { code: string; atMs: number; times?: number }[] {
    return readHookProblems(this.disk);
  }

  forgetHookProblems(): void {
    forgetHookProblems(this.disk);
  }

  canSettle(): boolean {
    return this.reserve.isThere();
  }

  // ------------------------------------------------------------ rounds

  take(limit: { fragments: number; bytes: number }): Taken {
    this.view();
    return this.orRestart(() => this.inbox.take(limit));
  }

  process(fragments: readonly string[]): boolean {
    return this.processing.begin(fragments);
  }

  commit(round: Round): 'committed' | 'lost' {
    // A round may have been committed before an error: only the disk knows.
    const outcome = this.orRestart(() => this.commitInView(round));
    if (outcome === 'committed' && (round.quarantine?.length ?? 0) > 0)
      limitQuarantine(this.disk, this.limits, this.purged);
    return outcome;
  }

  restart(): void {
    this.base = undefined;
    this.epoch += 1;
    this.cache.clear();
    this.outbox.clear();
    this.listing = new JournalListing(this.disk);
    this.sizes = undefined;
    this.inbox.restart();
    this.processing.end();
  }

  close(): void {
    this.restart();
    this.isClosed = true;
  }

  // ------------------------------------------------------------ limits

  emptyQuarantine(): QuarantineSize {
    return emptyQuarantine(this.disk, this.purged);
  }

  quarantined(): string[] {
    return namesInQuarantine(this.disk);
  }

  quarantinedBytes(name: string): Buffer | undefined {
    return readBytes(this.disk, `quarantine/${name}`);
  }

  newDay(): DocumentChange[] {
    const turned = turnPage(this.read(calendarDocument) ?? [], this.view().n, this.disk.clock.nowMs());
    return turned === undefined ? [] : [changeOf(calendarDocument, turned)];
  }

  within(limits: Limits, isUnderWay: IsUnderWay = () => false): { excess: Excess; round: Round } | undefined {
    this.lookAtQuarantine();
    const { epoch } = this;
    const calendar = this.read(calendarDocument) ?? [];
    const turned = turnPage(calendar, this.view().n, this.disk.clock.nowMs());
    const excess = this.excess(limits, isUnderWay, turned ?? calendar);
    const isNothing = Object.values(excess).every(list => list.length === 0) && Object.keys(this.purged).length === 0;
    const leftAlone = this.inbox.leftAlone().length - excess.fragments.length;
    const documents: DocumentChange[] = [];
    if (turned !== undefined) documents.push(changeOf(calendarDocument, turned));
    if (leftAlone !== (this.read(leftAloneDocument) ?? 0)) documents.push(changeOf(leftAloneDocument, leftAlone));
    if (isNothing && documents.length === 0) return undefined;
    const round: Round = {
      epoch,
      documents,
      settled: excess.bodies.map(({ destination, name }) => ({ destination, name })),
      eaten: excess.fragments.map(({ name }) => name),
      prune: excess.journals.map(({ key }) => key),
      tally: next => bookExcess(next, excess),
    };
    return { excess, round };
  }

  packable(): { key: string; plainBytes: number }[] | undefined {
    const journals = this.listing.whole();
    if (journals === undefined) return undefined;
    const known = new Set(this.sessions());
    return packableOf(journals, key => known.has(key), this.read(calendarDocument) ?? []);
  }

  packed(): string[] | undefined {
    const journals = this.listing.whole();
    return journals && [...journals.values()].flatMap(({ key, isPacked }) => (isPacked ? [key] : []));
  }

  isListed(): boolean {
    return this.listing.isWhole();
  }

  private excess(limits: Limits, isUnderWay: IsUnderWay, calendar: Parameters<typeof excessOf>[1]['calendar']): Excess {
    let known: Set<string> | undefined;
    return excessOf(limits, {
      outbox: new Map(this.destinations().map(id => [id, this.next(id)])),
      isUnderWay,
      leftAlone: this.inbox.leftAlone(),
      journals: this.listing.whole() ?? new Map(),
      isKnown: key => {
        known ??= new Set(this.sessions());
        return known.has(key);
      },
      calendar,
    });
  }

  private lookAtQuarantine(): void {
    const nowMs = this.disk.clock.monotonicMs();
    if (nowMs - this.quarantineSeenMs < LOOK_AT_QUARANTINE_MS) return;
    this.quarantineSeenMs = nowMs;
    limitQuarantine(this.disk, this.limits, this.purged);
  }

  // ------------------------------------------------------------ the view

  private view(): Ledger {
    if (this.isClosed) throw new TypeError('the store is closed');
    this.base ??= this.reserve.spend(() => adoptLedger(this.disk, false));
    return this.base;
  }

  private orRestart<T>(act: () => T): T {
    let isDone = false;
    try {
      const result = act();
      isDone = true;
      return result;
    } finally {
      if (!isDone) this.restart();
    }
  }

  private journalBytes(key: string): number | undefined {
    this.view();
    return this.cache.parsed(sessionPath(key), parseSession, text => parseSession(text)?.journalBytes);
  }

  private commitInView(round: Round): 'committed' | 'lost' {
    const fragments = fragmentsIn(round);
    if (fragments.length > 0) this.processing.end(fragments);
    const view: View = {
      disk: this.disk,
      inbox: this.inbox,
      ledger: this.view(),
      session: key => this.session(key),
      journalBytes: key => this.journalBytes(key),
    };
    const isStale = round.epoch !== undefined && round.epoch !== this.epoch;
    const effect = isStale ? undefined : effectOf(view, round);
    if (effect !== undefined) {
      this.countLosses(effect.ledger);
      setDamagedAside(this.disk, effect);
    }
    const outcome = effect === undefined ? 'lost' : this.write(effect, round.isUrgent === true);
    if (effect === undefined || outcome !== 'done') {
      this.restart();
      return outcome === 'overtaken' ? 'committed' : 'lost';
    }
    this.moveOn(effect);
    this.inbox.settle(fragments);
    return 'committed';
  }

  private countLosses({ counters }: Ledger): void {
    for (const path of this.damaged) increase(counters, `damaged.${path.split('/')[0]}`);
    for (const [reason, count] of Object.entries(this.purged))
      increase(counters, `dropped.quarantine.${reason}`, count);
  }

  private write(effect: Effect, isUrgent: boolean): ReturnType<typeof commitRound> {
    // If the first try was committed and then found no space, the second try finds its round and is lost: the disk has
    // the round.
    return isUrgent ? this.reserve.spend(() => commitRound(this.disk, effect)) : commitRound(this.disk, effect);
  }

  /** Brings the view to the round that was committed. */
  private moveOn(effect: Effect): void {
    this.base = effect.ledger;
    this.damaged.clear();
    damagedIn(this.disk).clear();
    this.purged = {};
    for (const { path, bytes, isCold } of effect.files) {
      if (!isCached(path)) continue;
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      // A session that is over is seldom needed again.
      if (isCold === true || isPackedState(path, buffer)) this.cache.forget(path);
      else this.cache.put(path, buffer.toString());
    }
    for (const path of effect.gone) if (isCached(path)) this.cache.put(path, undefined);
    updateOutbox(this.outbox, effect);
    if (this.sizes !== undefined) updateSizes(this.sizes, effect);
    this.listing.update(effect);
  }
}

/** Moves packed journals that could not be read to the quarantine, and counts them. */
function setDamagedAside(disk: Disk, { gone, quarantine, ledger }: Effect): void {
  for (const key of damagedIn(disk)) {
    const from = packedPath(key);
    if (gone.includes(from) || !exists(disk, from)) continue;
    quarantine.push({ from, to: quarantinePath(DAMAGED_JOURNAL, `${key}-${ledger.n}`) });
    increase(ledger.counters, 'damaged.journal');
  }
}

const isCached = (path: string): boolean => isSession(path) || path.startsWith('documents/');

/** The fragments that the round settles. */
const fragmentsIn = ({ eaten = [], quarantine = [] }: Round): string[] => [
  ...eaten,
  ...quarantine.flatMap(set => ('name' in set ? [set.name] : [])),
];
