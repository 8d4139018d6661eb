/** The effect of a round on the files of the state folder. */
import { type Disk, exists } from './files.ts';
import { checkName } from './folder.ts';
import type { Inbox } from './inbox.ts';
import { journalPath, lstat, packedPath, placeToAppend } from './journal.ts';
import { increase, type Ledger } from './ledger.ts';
import { bodyName, bodyPath } from './outbox.ts';
import { quarantinePath } from './quarantine.ts';
import type { Effect } from './rounds.ts';
import { documentBytes, documentPath, type Session, sessionBytes, sessionPath, WrittenState } from './state-files.ts';
import type { PackedJournal, Round } from './store.ts';

const NEWLINE = 0x0a;

/** The view of the owner from which a round was computed. */
export interface View {
  disk: Disk;
  inbox: Inbox;
  ledger: Ledger;
  session(key: string): Session | undefined;
  /** Committed bytes of a session's journal. */
  journalBytes(key: string): number | undefined;
}

/**
 * Returns undefined if the round names files that are missing. Changes the given ledger into the next one, because a
 * copy of all accounts for each answer of a destination would cost the square of their number. If the round is not
 * committed, the caller must read the ledger again.
 */
export function effectOf(view: View, round: Round): Effect | undefined {
  const { disk } = view;
  const { ledger } = view;
  ledger.n += 1;
  ledger.nonce = disk.nonce();
  const effect: Effect = { ledger, lines: [], files: [], gone: [], quarantine: [], settled: [], eaten: [] };
  checkOnce(round.eaten ?? []);
  checkOnce((round.settled ?? []).map(({ destination, name }) => `${destination}/${name}`));
  const isThere =
    addEaten(view, round, effect) && addQuarantine(view, round, effect) && addSettled(view, round, effect);
  if (!isThere) return undefined;
  if (!addReleased(view, round, effect)) return undefined;
  addSessions(view, round, effect);
  addFiles(round, effect);
  round.tally?.(ledger);
  return effect;
}

/** A file that is named twice would be counted twice. */
function checkOnce(names: string[]): void {
  if (new Set(names).size !== names.length) throw new TypeError('a round names the same file twice');
}

function addEaten({ inbox }: View, { eaten = [] }: Round, effect: Effect): boolean {
  const { fragments } = effect.ledger;
  for (const name of eaten) {
    const place = inbox.placeOf(name);
    if (place === undefined) return false;
    effect.eaten.push(place.path);
    if (place.isQuarantined) fragments.quarantined--;
    else fragments.received++;
  }
  return true;
}

function addQuarantine({ inbox }: View, { quarantine = [] }: Round, effect: Effect): boolean {
  const { n, fragments } = effect.ledger;
  for (const [i, aside] of quarantine.entries()) {
    if ('bytes' in aside) {
      const path = quarantinePath(aside.reason, `${checkName(aside.label)}-${n}-${i}`);
      effect.files.push({ path, bytes: aside.bytes });
      continue;
    }
    const place = inbox.placeOf(aside.name);
    if (place === undefined) return false;
    effect.quarantine.push({ from: place.path, to: quarantinePath(aside.reason, aside.name), isOdd: place.isOdd });
    if (place.isQuarantined) continue;
    fragments.received++;
    fragments.quarantined++;
  }
  return true;
}

function addSettled({ disk }: View, { settled = [] }: Round, effect: Effect): boolean {
  for (const { destination, name } of settled) {
    const path = bodyPath(destination, name);
    if (path === undefined || !exists(disk, path)) return false;
    effect.settled.push(path);
  }
  return true;
}

/**
 * A file in quarantine may have the name of a fragment that arrives again, so it is removed in the same way as such
 * files.
 */
function addReleased({ disk }: View, { released = [] }: Round, effect: Effect): boolean {
  for (const name of released) {
    const path = `quarantine/${name}`;
    if (name.includes('/') || !exists(disk, path)) return false;
    effect.gone.push(path);
  }
  return true;
}

function addSessions(view: View, round: Round, effect: Effect): void {
  const written = addJournals(view, round, effect);
  for (const { key, state, outline } of round.sessions ?? []) {
    if (state === undefined) effect.gone.push(sessionPath(key));
    else written.set(key, { state, outline, journalBytes: written.get(key)?.journalBytes ?? committedOf(view, key) });
  }
  // The session's file keeps the length of a pruned journal: the next journal begins at 0, because there is no file.
  for (const key of round.prune ?? [])
    for (const path of [journalPath(key), packedPath(key)])
      if (lstat(view.disk, path) !== undefined) effect.gone.push(path);
  for (const packed of round.packed ?? []) addPacked(view, packed, effect);
  for (const [key, session] of written) {
    const path = sessionPath(key);
    if (session.state === undefined || effect.gone.includes(path)) continue;
    const isCold = session.state instanceof WrittenState;
    effect.files.push({ path, bytes: sessionBytes(effect.ledger.n, session), isCold });
  }
}

/** Replaces a journal by its packed form, unless it changed since. */
function addPacked({ disk }: View, { key, bytes, textBytes }: PackedJournal, effect: Effect): void {
  const path = journalPath(key);
  const stats = lstat(disk, path);
  if (stats?.size !== textBytes || lstat(disk, packedPath(key)) !== undefined) return;
  effect.files.push({ path: packedPath(key), bytes, writtenMs: stats.mtimeMs });
  effect.gone.push(path);
}

/** Adds the bytes of the journals. Returns the sessions whose journals grow. */
function addJournals(view: View, round: Round, effect: Effect): Map<string, Session> {
  const lines = new Map<string, Buffer[]>();
  for (const { key, lines: text } of round.journal ?? []) {
    const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.length);
    if (bytes.at(-1) !== NEWLINE) throw new TypeError('a journal is made of whole lines');
    lines.set(key, [...(lines.get(key) ?? []), bytes]);
  }
  const stated = new Map(round.sessions?.map(({ key, state }) => [key, state]));
  const sessions = new Map<string, Session>();
  for (const [key, parts] of lines) {
    const append = placeToAppend(view.disk, key, view.journalBytes(key));
    const bytes = joined(parts);
    const path = journalPath(key);
    if ('rewrite' in append) {
      increase(effect.ledger.counters, 'damaged.journal');
      effect.files.push({ path, bytes: Buffer.concat([append.rewrite, bytes]) });
    } else effect.lines.push({ path, offset: append.offset, bytes });
    const state = stated.has(key) ? stated.get(key) : view.session(key)?.state;
    sessions.set(key, { state, journalBytes: append.offset + bytes.length });
  }
  return sessions;
}

/** A single part is not copied. */
const joined = (parts: readonly Buffer[]): Buffer => (parts.length === 1 && parts[0]) || Buffer.concat(parts);

const committedOf = ({ disk, journalBytes }: View, key: string): number =>
  journalBytes(key) ?? placeToAppend(disk, key, undefined).offset;

function addFiles(round: Round, effect: Effect): void {
  const { n } = effect.ledger;
  for (const { name, value, version } of round.documents ?? []) {
    if (value === undefined) effect.gone.push(documentPath(name));
    else effect.files.push({ path: documentPath(name), bytes: documentBytes(n, value, version) });
  }
  for (const [i, body] of (round.bodies ?? []).entries()) {
    const name = bodyName({ ...body, sizeBytes: body.bytes.length }, n, i);
    effect.files.push({ path: `outbox/${checkName(body.destination)}/${name}`, bytes: body.bytes });
  }
}
