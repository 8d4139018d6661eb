import { existsSync } from 'node:fs';
import { recorded } from '../journal/journal-events.ts';
import { countsOf, type IndexedSession, sessionIndex } from '../journal/session-index.ts';
import { namedCounts } from '../journal/span-counts.ts';
import { recalled } from '../pipeline/rebuild.ts';
import { openStore } from '../store/store.ts';
import { costText, shortNumber } from '../view/amounts.ts';
import { localMinute } from '../view/local-time.ts';
import { named, unnamed } from '../view/named.ts';
import { duration } from '../view/tree.ts';
import { isTrial } from '../view/trial-sessions.ts';
import { flagText, type Io, sinceOf, UsageError, type Words } from './command.ts';
import { type Column, fittedTable } from './fitted-table.ts';
import { paged } from './pager.ts';
import { foldersOf } from './place.ts';
import { fileAsked, writeSessionFile } from './show-file.ts';
import { shownSession } from './show-session.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const [wanted] = words.rest;
  const asFile = fileAsked(words);
  const asked = { limit: limitOf(words), sinceMs: sinceOf(flagText(words, '--since'), io.now()) };
  if (wanted !== undefined && (words.flags['--limit'] !== undefined || words.flags['--since'] !== undefined))
    throw new UsageError('--limit and --since are for the list; leave them out with a SESSION');
  const { state } = foldersOf(words, io);
  const store = existsSync(state) ? openStore({ folder: state, access: 'read' }) : undefined;
  try {
    if (wanted === undefined) {
      const entries = store === undefined ? [] : [...sessionIndex(store).values()];
      await paged(
        [listText(listed(entries, { ...asked, trials: words.flags['--all'] !== undefined }), words, io)],
        words,
        io,
      );
      return 0;
    }
    const all = store === undefined ? [] : recorded(store);
    const meant = named(all, wanted);
    // A trial is only shown if the word is its whole id, or matches only trials.
    const own = meant.filter(({ session }) => !isTrial(session));
    const found = own.length > 0 && words.flags['--all'] === undefined ? own : meant;
    const missed = unnamed(found, wanted);
    if (missed !== undefined) {
      io.err(`otel-hooks: ${missed}.\n  next: otel-hooks show\n`);
      return 1;
    }
    if (store === undefined || found[0] === undefined) return 0;
    const { key } = found[0];
    if (asFile !== undefined) return writeSessionFile(asFile, store, key, words, io);
    const session = { key, shape: recalled(store, key)?.pinned.shape };
    await paged(shownSession(store, session, words, io), words, io);
    return 0;
  } finally {
    store?.close();
  }
}

/** Enough for one screen. */
const USUAL_LIMIT = 20;

/** Without --limit, the output for programs has every session. */
function limitOf(words: Words): number {
  const limit = flagText(words, '--limit');
  if (limit === undefined) return words.flags['--json'] ? Number.POSITIVE_INFINITY : USUAL_LIMIT;
  if (!/^\d{1,9}$/.test(limit)) throw new UsageError(`--limit takes a number (0 for all), not ${limit}`);
  return Number(limit) || Number.POSITIVE_INFINITY;
}

interface Asked {
  limit: number;
  sinceMs: number;
  /** Includes the sessions that only tried the hooks. */
  trials: boolean;
}

interface Listed {
  /** In order of time, the newest first. */
  sessions: IndexedSession[];
  /** The number of sessions that match `--since`, listed or not. */
  all: number;
  /** The number of omitted trials of the hooks. */
  trials: number;
}

function listed(all: readonly IndexedSession[], { limit, sinceMs, trials }: Asked): Listed {
  const own = trials ? all : all.filter(({ session }) => !isTrial(session));
  const newest = own
    .filter(({ lastMs }) => lastMs >= sinceMs)
    .sort((a, b) => b.lastMs - a.lastMs || (a.session < b.session ? -1 : 1));
  return { sessions: newest.slice(0, limit), all: newest.length, trials: all.length - own.length };
}

const NARROW = 126;

function rowOf(entry: IndexedSession) {
  return {
    session: entry.session,
    agent: entry.agent,
    start: new Date(entry.firstMs).toISOString(),
    durationMs: entry.lastMs - entry.firstMs,
    open: entry.state === 'running',
    state: entry.state,
    trial: isTrial(entry.session),
    repository: entry.repository,
    branch: entry.branch,
    models: entry.models,
    risk: entry.risk,
    ...namedCounts(countsOf(entry)),
  };
}

type ListRow = ReturnType<typeof rowOf>;

const columnsFor = (io: Io): Column<ListRow>[] => [
  // `show` accepts this beginning of an id.
  {
    head: 'session',
    rank: 0,
    isName: true,
    text: row => (io.columns < NARROW ? row.session.slice(0, 13) : row.session),
  },
  { head: 'agent', rank: 2, text: row => row.agent },
  { head: 'start', rank: 1, text: row => localMinute(Date.parse(row.start)) },
  { head: 'length', rank: 3, isNumber: true, text: row => duration(row.durationMs) },
  { head: 'turns', rank: 5, isNumber: true, text: row => String(row.turns) },
  { head: 'actions', rank: 4, isNumber: true, text: row => String(row.actions) },
  {
    head: 'failed',
    rank: 3,
    isNumber: true,
    text: row => String(row.failed + (row.failed_responses || row.failed_turns)),
  },
  { head: 'denied', rank: 3, isNumber: true, text: row => String(row.denied) },
  { head: 'in', rank: 6, isNumber: true, isOptional: true, text: row => shortNumber(row.input_tokens) },
  { head: 'out', rank: 6, isNumber: true, isOptional: true, text: row => shortNumber(row.output_tokens) },
  { head: 'cache read', rank: 7, isNumber: true, isOptional: true, text: row => shortNumber(row.cache_read_tokens) },
  { head: 'cache write', rank: 8, isNumber: true, isOptional: true, text: row => shortNumber(row.cache_write_tokens) },
  { head: 'reasoning', rank: 9, isNumber: true, isOptional: true, text: row => shortNumber(row.reasoning_tokens) },
  {
    head: 'cost',
    rank: 0,
    isNumber: true,
    text: row => costText(row.cost_usd ?? row.stated_cost_usd, row.unpriced_tokens),
  },
  { head: '', rank: 0, text: row => [...(row.open ? ['open'] : []), ...(row.trial ? ['trial'] : [])].join(', ') },
];

function listText({ sessions, all, trials }: Listed, words: Words, io: Io): string {
  const rows = sessions.map(rowOf);
  if (words.flags['--json']) return `${JSON.stringify({ v: 1, sessions: rows, more: all - rows.length }, null, 2)}\n`;
  if (rows.length === 0) return emptyText(trials, words);
  const more = all > rows.length ? `The newest ${rows.length} of ${all}; --limit 0 lists all.\n` : '';
  return fittedTable(columnsFor(io), rows, io) + more;
}

function emptyText(trials: number, words: Words): string {
  if (words.flags['--since'] !== undefined)
    return `No session did anything since then.\n  next: otel-hooks show --limit 0\n`;
  if (trials === 0) return 'No sessions yet.\n  next: otel-hooks enable\n';
  return 'No sessions yet; the hooks were tried: otel-hooks show --all\n  next: start a session of the agent\n';
}
