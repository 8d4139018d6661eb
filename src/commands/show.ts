import { existsSync } from 'node:fs';
import { lastMsOf, type Recorded, recorded } from '../journal/journal-events.ts';
import { type Replay, replay } from '../journal/replay.ts';
import { recalled } from '../pipeline/rebuild.ts';
import { openStore, type Store } from '../store/store.ts';
import { localMinute, localSecond } from '../view/local-time.ts';
import { named, unnamed } from '../view/named.ts';
import { nodesOf } from '../view/nodes.ts';
import { drawTree, duration } from '../view/tree.ts';
import { isTrial } from '../view/trial-sessions.ts';
import { flagText, type Io, sinceOf, UsageError, type Words } from './command.ts';
import { paged } from './pager.ts';
import { foldersOf } from './place.ts';
import { table } from './text.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const [wanted] = words.rest;
  const asked = { limit: limitOf(words), sinceMs: sinceOf(flagText(words, '--since'), io.now()) };
  if (wanted !== undefined && (words.flags['--limit'] !== undefined || words.flags['--since'] !== undefined))
    throw new UsageError('--limit and --since are for the list; leave them out with a SESSION');
  const { state } = foldersOf(words, io);
  const store = existsSync(state) ? openStore({ folder: state, access: 'read' }) : undefined;
  try {
    const all = store === undefined ? [] : recorded(store);
    if (wanted === undefined) {
      await paged(
        listText(listed(store, all, { ...asked, trials: words.flags['--all'] !== undefined }), words, io),
        words,
        io,
      );
      return 0;
    }
    const meant = named(all, wanted);
    // A trial is only shown if the word is its whole id, or fits trials only.
    const own = meant.filter(({ session }) => !isTrial(session));
    const found = own.length > 0 && words.flags['--all'] === undefined ? own : meant;
    const missed = unnamed(found, wanted);
    if (missed !== undefined) {
      io.err(`otel-hooks: ${missed}.\n  next: otel-hooks show\n`);
      return 1;
    }
    const replayed = store && found[0] && replayOf(store, found[0]);
    if (replayed) await paged(sessionText(replayed, words, io), words, io);
    return 0;
  } finally {
    store?.close();
  }
}

/** Enough for one screen. */
const USUAL_LIMIT = 20;

/** Without --limit, programs get every session. */
function limitOf(words: Words): number {
  const limit = flagText(words, '--limit');
  if (limit === undefined) return words.flags['--json'] ? Number.POSITIVE_INFINITY : USUAL_LIMIT;
  if (!/^\d{1,9}$/.test(limit)) throw new UsageError(`--limit takes a number (0 for all), not ${limit}`);
  return Number(limit) || Number.POSITIVE_INFINITY;
}

interface Asked {
  limit: number;
  sinceMs: number;
  /** Also the sessions that only tried the hooks. */
  trials: boolean;
}

interface Listed {
  /** The newest first. */
  sessions: Replay[];
  /** The number of sessions that fit `--since`, listed or not. */
  all: number;
  /** The number of omitted trials of the hooks. */
  trials: number;
}

/** Only listed sessions are read completely. For the others the last line is enough. */
function listed(store: Store | undefined, all: readonly Recorded[], { limit, sinceMs, trials }: Asked): Listed {
  if (store === undefined) return { sessions: [], all: 0, trials: 0 };
  const own = trials ? all : all.filter(({ session }) => !isTrial(session));
  const newest = own
    .map(each => ({ ...each, lastMs: lastMsOf(store, each.key) }))
    .filter(({ lastMs }) => lastMs >= sinceMs)
    .sort((a, b) => b.lastMs - a.lastMs || (a.key < b.key ? -1 : 1));
  const sessions = newest.slice(0, limit).flatMap(each => replayOf(store, each) ?? []);
  return { sessions, all: newest.length, trials: all.length - own.length };
}

const replayOf = (store: Store, { key }: Recorded): Replay | undefined =>
  replay(store.journal(key) ?? '', recalled(store, key)?.pinned.shape);

const NARROW = 126;

const firstOf = ({ events }: Replay): number => Date.parse(events[0]?.timestamp ?? '');
const lastOf = ({ events }: Replay): number => Date.parse(events.at(-1)?.timestamp ?? '');

function rowOf(each: Replay) {
  const spans = [...each.finished, ...each.open];
  const actions = spans.filter(span => span.kind === 'action');
  return {
    session: each.session,
    agent: each.agent,
    start: new Date(firstOf(each)).toISOString(),
    durationMs: lastOf(each) - firstOf(each),
    open: each.open.length > 0,
    trial: isTrial(each.session),
    turns: spans.filter(span => span.kind === 'turn').length,
    actions: actions.length,
    failed: actions.filter(span => span.errorType !== undefined).length,
    denied: actions.filter(span => span.decision?.outcome === 'deny').length,
  };
}

function listText({ sessions, all, trials }: Listed, words: Words, io: Io): string {
  const rows = sessions.map(rowOf);
  if (words.flags['--json']) return `${JSON.stringify({ v: 1, sessions: rows, more: all - rows.length }, null, 2)}\n`;
  if (rows.length === 0) return emptyText(trials, words);
  const cells = rows.map(row => [
    // `show` accepts this beginning of an id.
    io.columns < NARROW ? row.session.slice(0, 13) : row.session,
    row.agent,
    localMinute(Date.parse(row.start)),
    duration(row.durationMs),
    String(row.turns),
    String(row.actions),
    String(row.failed),
    String(row.denied),
    [...(row.open ? ['open'] : []), ...(row.trial ? ['trial'] : [])].join(', '),
  ]);
  const heads = ['session', 'agent', 'start', 'length', 'turns', 'actions', 'failed', 'denied', ''];
  const more = all > rows.length ? `The newest ${rows.length} of ${all}; --limit 0 lists all.\n` : '';
  return table([heads, ...cells], io) + more;
}

function emptyText(trials: number, words: Words): string {
  if (words.flags['--since'] !== undefined)
    return `No session did anything since then.\n  next: otel-hooks show --limit 0\n`;
  if (trials === 0) return 'No sessions yet.\n  next: otel-hooks demo\n';
  return 'No sessions yet; the hooks were tried: otel-hooks show --all\n  next: start a session of the agent\n';
}

function sessionText(replayed: Replay, words: Words, io: Io): string {
  if (words.flags['--json']) {
    const { session, agent, finished, open } = replayed;
    return `${JSON.stringify({ v: 1, session, agent, finished, open }, null, 2)}\n`;
  }
  const traces = [...nodesOf(replayed)].map(([trace, nodes]) => {
    const startMs = nodes.reduce((first, node) => Math.min(first, node.startMs), Number.POSITIVE_INFINITY);
    const drawn = drawTree(nodes, { color: io.color, columns: io.columns, unicode: io.unicode });
    return `trace ${trace}\nstart ${localSecond(startMs)}\n${drawn}\n`;
  });
  return traces.join('');
}
