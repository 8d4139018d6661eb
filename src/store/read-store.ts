/** The store of commands that change nothing. It reads the disk at each call, beside an owner that works. */
import { readBooks } from './books.ts';
import { type Disk, names, readBytes } from './files.ts';
import { checkName } from './folder.ts';
import { readHookProblems } from './hook-problems.ts';
import { Inbox } from './inbox.ts';
import {
  journalKeys,
  journalPath,
  journalSize,
  journalSizes,
  readJournal,
  readJournalFrom,
  readJournalTail,
} from './journal.ts';
import { readLedger } from './ledger.ts';
import { listBodies, readBody } from './outbox.ts';
import { namesInQuarantine } from './quarantine.ts';
import { readPending } from './rounds.ts';
import {
  documentPath,
  documentStamp,
  keysIn,
  parseDocument,
  parseSession,
  readOutline,
  readText,
  type Session,
  sessionPath,
  sessionSizes,
} from './state-files.ts';
import type { Store } from './store.ts';

export function readStore(disk: Disk): Store {
  const inbox = new Inbox(disk);
  const refuse = (): never => {
    throw new TypeError('the store was opened for reading');
  };
  const text = (path: string): string => readText(disk, path) ?? '';
  const session = (key: string): Session | undefined => parseSession(text(sessionPath(key)));
  // A journal without a session's file is committed as a whole, except for lines that a round is just adding.
  const committedBytes = (key: string): number | undefined => {
    const pending = readPending(disk, readLedger(disk).n + 1);
    const adding =
      typeof pending === 'object' ? pending.manifest.lines.find(({ path }) => path === journalPath(key)) : undefined;
    return session(key)?.journalBytes ?? adding?.offset;
  };
  return {
    folder: disk.folder,
    epoch: 0,
    // Only reads: no fragment is moved, and the next owner gets the same ones.
    take: limit => inbox.take(limit),
    process: refuse,
    session,
    outline: key => readOutline(disk, key),
    sessions: () => keysIn(disk, 'sessions', '.json'),
    sessionSizes: () => sessionSizes(disk),
    read: document => parseDocument(text(documentPath(document.name)), document),
    stamp: document => documentStamp(disk, document.name),
    idsOf: family => keysIn(disk, 'documents', '.json').flatMap(name => family.idOf(name) ?? []),
    journal: key => readJournal(disk, checkName(key), committedBytes(key)),
    journalTail: (key, lines) => readJournalTail(disk, checkName(key), committedBytes(key), lines),
    journalHead: (key, most) => readJournalFrom(disk, checkName(key), undefined, 0, most)?.lines,
    journalFrom: (key, from, most) => readJournalFrom(disk, checkName(key), committedBytes(key), from, most),
    journals: () => journalKeys(disk),
    journalSizes: () => journalSizes(disk),
    journalSize: key => journalSize(disk, checkName(key)),
    commit: refuse,
    next: destination => listBodies(disk, checkName(destination)),
    body: (destination, name) => readBody(disk, destination, name),
    canSettle: () => false,
    destinations: () => names(disk, 'outbox'),
    ledger: () => readLedger(disk),
    books: () => readBooks(disk),
    emptyQuarantine: refuse,
    quarantined: () => namesInQuarantine(disk),
    quarantinedBytes: name => readBytes(disk, `quarantine/${name}`),
    packable: refuse,
    packed: refuse,
    isListed: refuse,
    within: refuse,
    newDay: refuse,
    hookProblems: () => readHookProblems(disk),
    forgetHookProblems: refuse,
    restart: () => inbox.restart(),
    close() {},
  };
}
