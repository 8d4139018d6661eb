import { existsSync } from 'node:fs';
import { deliver } from '../deliver/deliver.ts';
import { beginErasure, finishErasures, type LeftLog, type Traces, tracesOf } from '../deliver/erasure.ts';
import { keepOf } from '../deliver/state-limits.ts';
import { documents } from '../documents/documents.ts';
import { recorded } from '../journal/journal-events.ts';
import { asShown } from '../lib/shown.ts';
import { recalled } from '../pipeline/rebuild.ts';
import { transcriptOf } from '../session/session-state.ts';
import { openStore, type Store } from '../store/store.ts';
import { named, unnamed } from '../view/named.ts';
import { type Io, UsageError, type Words } from './command.ts';
import { isAgreed, withOwnState } from './own-state.ts';
import { type Folders, foldersOf, surroundingsOf } from './place.ts';
import { countOf, shownPath, table } from './text.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const [wanted] = words.rest;
  if (wanted === undefined || wanted === '') throw new UsageError('takes a session: erase SESSION');
  const folders = foldersOf(words, io);
  const isJson = words.flags['--json'] !== undefined;
  if (!existsSync(folders.state)) return unknownSession(wanted, io);
  // A kill interrupted an earlier erasure. The delivery below completes it, and the journal does not have the session.
  const isRepeated = hasBegun(folders.state, wanted);
  await takeInbox(words, io, folders);
  const code = await withOwnState(folders, io, `erase ${wanted}`, async store => {
    const found = sessionsIn(store, wanted);
    const [session] = found;
    const missed = unnamed(found, wanted);
    if (session === undefined || missed !== undefined) {
      if (!isRepeated) return unknownSession(wanted, io, missed);
      const left = finishErasures(store);
      return left.length > 0 ? printLeft(left, io) : completed(isJson, io);
    }
    const traces = tracesOf(store, session.key, session.session);
    if (!isJson) io.out(textOf(session, traces, io));
    if (!(await isAgreed(words, io, 'Erase it?'))) return 0;
    beginErasure(store, session.key, session.session, io.now());
    const rest = finishErasures(store);
    if (rest.length > 0) return printLeft(rest, io);
    if (isJson) io.out(`${JSON.stringify(jsonOf(session, traces), null, 2)}\n`);
    else io.out('Erased. Later hooks and imports do not bring it back.\n');
    return 0;
  });
  return code ?? 1;
}

function hasBegun(folder: string, wanted: string): boolean {
  const store = openStore({ folder, access: 'read' });
  const pending = Object.values(store.read(documents.erased)?.pending ?? {});
  store.close();
  return named(pending, wanted).length > 0;
}

/** Hooks that wait become events first, so that the session is found and nothing of it stays in the inbox. */
async function takeInbox(words: Words, io: Io, { state, config }: Folders): Promise<void> {
  await deliver({
    stateFolder: state,
    byHand: true,
    sendsNothing: true,
    waitMs: 10_000,
    surroundings: surroundingsOf(words, io, config),
    fsync: config.values.fsync,
    keep: keepOf(config.values),
    now: io.now,
  });
}

interface Found {
  key: string;
  session: string;
  agent: string;
  transcript: string | undefined;
}

/** Sessions with a journal or a state. */
function sessionsIn(store: Store, wanted: string): Found[] {
  const all = new Map<string, Found>();
  for (const { key, session, agent } of recorded(store)) all.set(key, { key, session, agent, transcript: undefined });
  for (const key of store.sessions()) {
    const state = recalled(store, key);
    if (state === undefined) continue;
    all.set(key, { key, session: state.session, agent: state.agent, transcript: transcriptOf(state) });
  }
  return named([...all.values()], wanted);
}

function unknownSession(wanted: string, io: Io, why = `no session begins with ${asShown(wanted)}`): number {
  io.err(`otel-hooks: ${why}; nothing was erased.\n  next: otel-hooks show\n`);
  return 1;
}

function completed(isJson: boolean, io: Io): number {
  if (isJson) io.out(`${JSON.stringify({ v: 1, completed: true }, null, 2)}\n`);
  else io.out('An erasure that was interrupted is complete now.\n');
  return 0;
}

function printLeft(left: readonly LeftLog[], io: Io): number {
  for (const { path, why } of left)
    io.err(
      `otel-hooks: lines of the session could not be removed from ${asShown(path)} (${why}).\n  next: make it writable; the next delivery removes them\n`,
    );
  return 1;
}

const partsOf = ({ items, quarantine, logs }: Traces): string[] => [
  'its journal and its state',
  ...(items.traces > 0 ? [countOf(items.traces, 'span that waits', 'spans that wait')] : []),
  ...(items.logs > 0 ? [countOf(items.logs, 'record that waits', 'records that wait')] : []),
  ...(items.events > 0 ? [countOf(items.events, 'event that waits', 'events that wait')] : []),
  ...(quarantine.length > 0 ? [countOf(quarantine.length, 'file in quarantine', 'files in quarantine')] : []),
  ...logs.map(path => `its lines in ${path}`),
];

function textOf({ session, agent, transcript }: Found, traces: Traces, { home }: Io): string {
  return `${asShown(`The session ${session} of ${agent} will be erased from this machine:`)}\n\n${table(
    partsOf(traces).map(part => ['', part]),
  )}\nData that was sent stays where it was sent.${
    transcript === undefined ? '' : ` The agent's own transcript stays: ${asShown(shownPath(transcript, home))}`
  }\n`;
}

const jsonOf = ({ session, agent }: Found, { items, quarantine, logs }: Traces): object => ({
  v: 1,
  erased: {
    session,
    agent,
    ...{ spans: items.traces, logs: items.logs, events: items.events },
    quarantine: quarantine.length,
    files: logs,
  },
});
