import { existsSync } from 'node:fs';
import { recalled } from '../pipeline/round.ts';
import { openStore } from '../store/store.ts';
import { nodesOf, type Replay, replay, sessionOf } from '../view/replay.ts';
import { drawTree, duration } from '../view/tree.ts';
import { isTrial } from '../view/trial.ts';
import type { Io, Words } from './command.ts';
import { foldersOf } from './place.ts';
import { table } from './text.ts';

export function run(words: Words, io: Io): number {
  const { state } = foldersOf(words, io);
  const [wanted] = words.rest;
  const { sessions, trials } = existsSync(state)
    ? sessionsIn(state, wanted, words.flags['--all'] !== undefined)
    : { sessions: [], trials: 0 };
  if (wanted === undefined) return list(sessions, trials, words, io);
  if (sessions.length === 0) {
    io.err(`otel-hooks: no session begins with ${wanted}.\n  next: otel-hooks show\n`);
    return 1;
  }
  if (sessions.length > 1) {
    io.err(
      `otel-hooks: ${sessions.length} sessions begin with ${wanted}: ${sessions.map(each => each.session).join(', ')}\n`,
    );
    return 1;
  }
  const [only] = sessions;
  if (only) show(only, words, io);
  return 0;
}

/** `trials`: how many were left out because they only tried the hooks. One that is asked for by its id is meant. */
function sessionsIn(state: string, wanted: string | undefined, isAll: boolean): { sessions: Replay[]; trials: number } {
  const store = openStore({ folder: state, access: 'read' });
  try {
    const found = store.journals().flatMap(key => {
      const session = sessionOf(store, key);
      return session?.startsWith(wanted ?? '') ? [{ key, isTrial: isTrial(session) }] : [];
    });
    const own = isAll ? found : found.filter(each => !each.isTrial);
    const chosen = own.length === 0 && wanted !== undefined ? found : own;
    const sessions = chosen
      .flatMap(({ key }) => replay(store.journal(key) ?? '', recalled(store, key)?.pinned.shape) ?? [])
      .sort((a, b) => lastOf(b) - lastOf(a));
    return { sessions, trials: found.length - chosen.length };
  } finally {
    store.close();
  }
}

const NARROW = 120;

const firstOf = ({ events }: Replay): number => Date.parse(events[0]?.timestamp ?? '');
const lastOf = ({ events }: Replay): number => Date.parse(events.at(-1)?.timestamp ?? '');

function list(sessions: readonly Replay[], trials: number, words: Words, io: Io): number {
  const rows = sessions.map(each => {
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
  });
  if (words.flags['--json']) {
    io.out(`${JSON.stringify({ v: 1, sessions: rows }, null, 2)}\n`);
    return 0;
  }
  if (rows.length === 0) {
    io.out(
      trials === 0
        ? 'No sessions yet.\n  next: otel-hooks demo\n'
        : 'No sessions yet; the hooks were tried: otel-hooks show --all\n  next: start a session of the agent\n',
    );
    return 0;
  }
  io.out(
    table(
      [
        ['session', 'agent', 'start', 'length', 'turns', 'actions', 'failed', 'denied', ''],
        ...rows.map(row => [
          // So much of an id is enough for `show`.
          io.columns < NARROW ? row.session.slice(0, 13) : row.session,
          row.agent,
          `${row.start.slice(0, 16).replace('T', ' ')}Z`,
          duration(row.durationMs),
          String(row.turns),
          String(row.actions),
          String(row.failed),
          String(row.denied),
          [...(row.open ? ['open'] : []), ...(row.trial ? ['trial'] : [])].join(', '),
        ]),
      ],
      io,
    ),
  );
  return 0;
}

function show(replayed: Replay, words: Words, io: Io): void {
  if (words.flags['--json']) {
    const { session, agent, finished, open } = replayed;
    io.out(`${JSON.stringify({ v: 1, session, agent, finished, open }, null, 2)}\n`);
    return;
  }
  for (const [trace, nodes] of nodesOf(replayed)) {
    io.out(`trace ${trace}\n${drawTree(nodes, { color: io.color, columns: io.columns, unicode: io.unicode })}\n`);
  }
}
