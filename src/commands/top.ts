import { existsSync } from 'node:fs';
import {
  LINE_REST_CLEARED,
  SCREEN_ENTERED,
  SCREEN_LEFT,
  SCREEN_REST_CLEARED,
  SCREEN_START,
  styled,
} from '../lib/terminal.ts';
import { openStore } from '../store/store.ts';
import { costText, shortNumber } from '../view/amounts.ts';
import { percentText } from '../view/context-share.ts';
import { localTime } from '../view/local-time.ts';
import { type Activity, type RunningSession, RunningSessions } from '../view/running-sessions.ts';
import { cutTo, duration } from '../view/tree.ts';
import { agentOf } from './agent-word.ts';
import { flagText, type Interruptible, type Io, interruptible, type Words } from './command.ts';
import { type Column, fittedTable } from './fitted-table.ts';
import { foldersOf } from './place.ts';

const EACH_MS = 1_000;

export async function run(words: Words, io: Io): Promise<number> {
  const look = lookerFor(words, io);
  if (words.flags['--once'] !== undefined) {
    const sessions = look();
    io.out(words.flags['--json'] ? jsonOf(sessions) : onceText(sessions, io));
    return 0;
  }
  const stop = interruptible();
  try {
    if (io.screen === undefined || words.flags['--json'] !== undefined) await printLines(look, words, stop, io);
    else await drawScreen(look, io.screen, stop, io);
    return 0;
  } finally {
    stop.end();
  }
}

function lookerFor(words: Words, io: Io): () => RunningSession[] {
  const tool = flagText(words, '--tool');
  const agent = tool === undefined ? undefined : agentOf(tool).id;
  const { state } = foldersOf(words, io);
  const running = new RunningSessions();
  return () => {
    if (!existsSync(state)) return [];
    const store = openStore({ folder: state, access: 'read' });
    try {
      return running.in(store).filter(each => agent === undefined || each.agent === agent);
    } finally {
      store.close();
    }
  };
}

const jsonOf = (sessions: readonly RunningSession[]): string =>
  `${JSON.stringify({ v: 1, sessions: sessions.map(documentOf) }, null, 2)}\n`;

const documentOf = (each: RunningSession) => ({
  session: each.session,
  agent: each.agent,
  repository: each.repository,
  branch: each.branch,
  model: each.model,
  activity: each.activity.state,
  of: each.activity.of,
  more: each.activity.more,
  since: new Date(each.activity.sinceMs).toISOString(),
  context_share: each.context,
  turns: each.turns,
  actions: each.actions,
  failed: each.failed,
  denied: each.denied,
  loops: each.loops,
  budget: each.budget,
  risk: each.risk,
  input_tokens: each.input,
  output_tokens: each.output,
  cache_read_tokens: each.cacheRead,
  cache_write_tokens: each.cacheWrite,
  reasoning_tokens: each.reasoning,
  cost_usd: each.costUsd === undefined ? undefined : Number(each.costUsd.toFixed(6)),
  unpriced_tokens: each.unpricedTokens,
});

const NOTHING = 'No session is running.\n';

const onceText = (sessions: readonly RunningSession[], io: Io): string =>
  sessions.length === 0 ? `${NOTHING}  next: otel-hooks show\n` : fittedTable(columnsAt(io.now()), sessions, io);

const words: { readonly [state in Activity['state']]: (of: string | undefined) => string } = {
  waiting: of => `waits for a person: ${of}`,
  action: of => of ?? 'an action',
  subagent: of => `subagent ${of ?? ''}`.trimEnd(),
  model: () => 'the model works',
  idle: () => 'waits for a prompt',
  unknown: () => 'unknown',
};

export const activityText = ({ state, of, more }: Activity): string =>
  `${words[state](of)}${more > 0 ? ` and ${more} more` : ''}`;

const notesOf = ({ budget, loops, risk }: RunningSession): string =>
  [
    ...(budget === undefined ? [] : [`budget ${budget}`]),
    ...(loops > 0 ? ['loop'] : []),
    ...(risk === 'high' || risk === 'critical' ? [`risk ${risk}`] : []),
  ].join(', ');

const columnsAt = (nowMs: number): Column<RunningSession>[] => [
  // `show` accepts this beginning of an id.
  { head: 'session', rank: 1, text: row => row.session.slice(0, 13) },
  { head: 'agent', rank: 4, text: row => row.agent },
  { head: 'repository', rank: 6, isName: true, isOptional: true, text: row => row.repository ?? '' },
  { head: 'branch', rank: 8, isName: true, isOptional: true, text: row => row.branch ?? '' },
  { head: 'now', rank: 0, isName: true, text: row => activityText(row.activity) },
  { head: 'for', rank: 2, isNumber: true, text: row => duration(Math.max(0, nowMs - row.activity.sinceMs)) },
  { head: 'context', rank: 2, isNumber: true, text: row => percentText(row.context) },
  { head: 'cost', rank: 0, isNumber: true, text: row => costText(row.costUsd, row.unpricedTokens) },
  { head: 'in', rank: 5, isNumber: true, text: row => shortNumber(row.input) },
  { head: 'out', rank: 5, isNumber: true, text: row => shortNumber(row.output) },
  { head: 'cache read', rank: 7, isNumber: true, isOptional: true, text: row => shortNumber(row.cacheRead) },
  { head: 'cache write', rank: 8, isNumber: true, isOptional: true, text: row => shortNumber(row.cacheWrite) },
  { head: 'reasoning', rank: 8, isNumber: true, isOptional: true, text: row => shortNumber(row.reasoning) },
  { head: 'turns', rank: 7, isNumber: true, text: row => String(row.turns) },
  { head: 'actions', rank: 6, isNumber: true, text: row => String(row.actions) },
  { head: 'failed', rank: 6, isNumber: true, text: row => String(row.failed) },
  { head: 'denied', rank: 6, isNumber: true, text: row => String(row.denied) },
  { head: '', rank: 3, isOptional: true, text: notesOf },
];

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/** Draws the sessions on a screen of its own until `q` or Ctrl-C; the former screen comes back in any case. */
async function drawScreen(
  look: () => RunningSession[],
  screen: NonNullable<Io['screen']>,
  stop: Interruptible,
  io: Io,
): Promise<void> {
  let sessions: RunningSession[] = [];
  const draw = (): void => io.out(screenText(sessions, screen.size(), io));
  io.out(SCREEN_ENTERED);
  const unwatchKeys = screen.onKey(keys => {
    if ([...keys].some(key => key === 'q' || key === 'Q' || key === CTRL_C || key === CTRL_D)) stop.ask();
  });
  const unwatchSize = screen.onResize(draw);
  try {
    while (!stop.isAsked()) {
      sessions = look();
      draw();
      await stop.pause(EACH_MS);
    }
  } finally {
    unwatchSize();
    unwatchKeys();
    io.out(SCREEN_LEFT);
  }
}

function screenText(sessions: readonly RunningSession[], size: { columns: number; rows: number }, io: Io): string {
  const { rows } = size;
  // A terminal that was just filled to its last column would lose the last character when the rest is cleared.
  const columns = Math.max(1, size.columns - 1);
  const waiting = sessions.filter(({ activity }) => activity.state === 'waiting').length;
  const cost = sessions.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  const unpriced = sessions.reduce((sum, { unpricedTokens }) => sum + (unpricedTokens ?? 0), 0);
  const facts = [
    `${sessions.length} running`,
    ...(cost > 0 ? [costText(cost, unpriced)] : []),
    ...(waiting > 0 ? [`${waiting} waiting for a person`] : []),
    localTime(io.now()),
    'q quits',
  ];
  const head = cutTo(facts.join(', '), { columns, unicode: io.unicode });
  const text =
    sessions.length === 0 ? NOTHING : fittedTable(columnsAt(io.now()), sessions, { columns, unicode: io.unicode });
  const lines = text.split('\n').slice(0, -1);
  const room = Math.max(1, rows - 2);
  const shown = lines.length > room ? [...lines.slice(0, room - 1), `${lines.length - room + 1} more`] : lines;
  // The sessions that wait for a person come first, below the line of the column heads.
  const painted = shown.map((line, i) =>
    !io.color ? line : i === 0 ? styled('dim', line) : i <= waiting ? styled('yellow', line) : line,
  );
  const drawn = [head, ...painted].map(line => `${line}${LINE_REST_CLEARED}`).join('\n');
  return `${SCREEN_START}${drawn}${SCREEN_REST_CLEARED}`;
}

/** Prints a line for each session whose activity changed, until Ctrl-C. */
async function printLines(look: () => RunningSession[], { flags }: Words, stop: Interruptible, io: Io): Promise<void> {
  const unwatch = io.onReaderGone?.(stop.ask);
  let before = new Map<string, { text: string; running: RunningSession }>();
  let isFirst = true;
  try {
    while (!stop.isAsked()) {
      const now = new Map(look().map(running => [running.key, { text: changeOf(running), running }]));
      const ended = [...before].filter(([key]) => !now.has(key)).map(([, { running }]) => running);
      const changed = [...now].filter(([key, { text }]) => before.get(key)?.text !== text);
      if (flags['--json']) {
        const rows = [
          ...ended.map(running => ({ ...documentOf(running), activity: 'ended', of: undefined, more: 0 })),
          ...changed.map(([, { running }]) => documentOf(running)),
        ];
        for (const row of rows) io.out(`${JSON.stringify({ v: 1, ...row })}\n`);
      } else {
        for (const running of ended) io.out(lineOf(running, 'not running any more', io));
        for (const [, { running }] of changed) io.out(lineOf(running, activityText(running.activity), io));
        if (isFirst && now.size === 0) io.err(`otel-hooks: ${NOTHING.trimEnd()} Ctrl-C ends.\n`);
      }
      isFirst = false;
      before = now;
      await stop.pause(EACH_MS);
    }
  } finally {
    unwatch?.();
  }
}

const changeOf = ({ activity, costUsd, context }: RunningSession): string =>
  JSON.stringify([activity, costUsd, context]);

function lineOf(running: RunningSession, now: string, io: Io): string {
  const columns: Column<RunningSession>[] = [
    { head: '', rank: 2, text: () => localTime(io.now()) },
    { head: '', rank: 1, text: row => row.session.slice(0, 8) },
    { head: '', rank: 3, text: row => row.agent },
    { head: '', rank: 1, isOptional: true, text: row => percentText(row.context) },
    { head: '', rank: 0, isOptional: true, text: row => costText(row.costUsd, row.unpricedTokens) },
    { head: '', rank: 0, isName: true, text: () => now },
  ];
  // The first line of the table has the heads, which are empty.
  return fittedTable(columns, [running], io).replace(/^.*\n/, '');
}
