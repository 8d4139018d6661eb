import { existsSync, statfsSync } from 'node:fs';
import { agents } from '../agents/index.ts';
import type { Destination } from '../config/destinations.ts';
import type { NotedProblem } from '../deliver.ts';
import { destinationsIn } from '../destinations.ts';
import type { Problem } from '../problem.ts';
import { SHIP_DOCUMENT, shipProblems } from '../ship/ship.ts';
import type { Books } from '../store/books.ts';
import { StateRefused } from '../store/folder.ts';
import { LEFT_ALONE_DOCUMENT } from '../store/limits.ts';
import { isDelivering } from '../store/lock.ts';
import { openStore, type Store } from '../store/store.ts';
import { imbalances, readStatusBooks, type StatusBooks } from '../view/books.ts';
import type { Io, Words } from './command.ts';
import { foldersOf } from './place.ts';
import { problemText, table } from './text.ts';

export function run(words: Words, io: Io): number {
  const { state, config } = foldersOf(words, io);
  const json = words.flags['--json'] !== undefined;
  if (!existsSync(state)) {
    if (json) io.out(`${JSON.stringify({ v: 1, state, ...nothing, problems: config.problems }, null, 2)}\n`);
    else
      io.out(
        `Nothing has been received yet: there is no ${state}.\n  next: otel-hooks enable --tool ${agents[0]?.id ?? ''} --global\n`,
      );
    return 0;
  }
  let store: Store;
  try {
    store = openStore({ folder: state, access: 'read' });
  } catch (error) {
    if (!(error instanceof StateRefused)) throw error;
    const { problem } = error;
    if (json) io.out(`${JSON.stringify({ v: 1, state, ...nothing, problems: [problem] }, null, 2)}\n`);
    else io.err(problemText(problem));
    return 1;
  }
  try {
    const books = readStatusBooks(store);
    const destinations = destinationsIn(store);
    const problems = problemsIn(store, destinations, config.problems, state, io.now());
    const unbalanced = imbalances(books);
    const delivering = isDelivering(state);
    if (json) {
      const { quarantine, counters } = store.books();
      io.out(
        `${JSON.stringify({ v: 1, state, ...books, quarantine, counters, balanced: unbalanced.length === 0, delivering, problems }, null, 2)}\n`,
      );
    } else {
      io.out(textOf(books, state, delivering));
      io.out(quarantineText(store.books()));
      io.out(limitsText(store.books()));
      for (const line of unbalanced) io.err(`otel-hooks: the books do not balance: ${line}\n`);
      for (const problem of problems) io.err(problemText(problem));
    }
    return problems.length > 0 || unbalanced.length > 0 ? 1 : 0;
  } finally {
    store.close();
  }
}

const nothing: StatusBooks = {
  fragments: { received: 0, waiting: 0, journaled: 0, quarantined: 0, dropped: {} },
  transcripts: { read: 0, journaled: 0, duplicate: 0 },
  destinations: [],
};

/** What has not come again for a week was mended, or nobody minds. */
const NEWS_MS = 7 * 86_400_000;

/** What the configuration says now, what sessions ran into, what destinations answer, what front ends could not do. */
function problemsIn(
  store: Store,
  destinations: readonly Destination[],
  now: readonly Problem[],
  state: string,
  nowMs: number,
): Problem[] {
  const noted = Object.values((store.document('problems') ?? {}) as { [key: string]: NotedProblem });
  const recent = noted.filter(({ lastMs }) => nowMs - lastMs < NEWS_MS);
  const all: Problem[] = [
    ...now,
    ...recent.map(each => each.problem),
    ...shipProblems(store.document(SHIP_DOCUMENT), destinations),
    ...store
      .hookProblems()
      .map(({ code, atMs }): Problem => ({ code: 'hook-failed', folder: state, why: code, lastMs: atMs })),
  ];
  const newer = Number(store.document(LEFT_ALONE_DOCUMENT) ?? 0);
  if (newer > 0) all.push({ code: 'fragments-newer', folder: state, fragments: newer });
  if (isDiskFull(state)) all.push({ code: 'state-unusable', folder: state, error: 'ENOSPC' });
  return [...new Map(all.map(problem => [JSON.stringify(problem), problem])).values()];
}

/** So little that neither a hook of some size nor a round finds room. */
const LEAST_BYTES = 64 * 1024;

function isDiskFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < LEAST_BYTES;
}

function textOf(books: StatusBooks, state: string, atWork: boolean): string {
  const { fragments, transcripts, destinations } = books;
  const reasons = (counts: Readonly<Record<string, number>>): string => {
    const said = Object.entries(counts).map(([reason, count]) => `${count} ${reason}`);
    return said.length > 0 ? said.join(', ') : '0';
  };
  const rows = [['', 'received', 'journaled', 'waiting', 'quarantined', 'dropped']];
  rows.push([
    'hooks',
    String(fragments.received),
    String(fragments.journaled),
    String(fragments.waiting),
    String(fragments.quarantined),
    reasons(fragments.dropped),
  ]);
  const lines = [
    `${table([
      ['state folder', state],
      ['delivery', atWork ? 'at work' : 'not running (a hook starts it)'],
    ])}`,
    table(rows),
    ...(transcripts.read === 0
      ? []
      : [
          table([
            ['', 'read', 'journaled', 'known already'],
            ['transcripts', String(transcripts.read), String(transcripts.journaled), String(transcripts.duplicate)],
          ]),
        ]),
  ];
  if (destinations.length === 0)
    lines.push('No destination: sessions are kept in the journal only.\n  next: otel-hooks config\n');
  for (const destination of destinations) {
    const kinds = (['spans', 'logs', 'metrics', 'events'] as const).filter(kind => destination[kind].produced > 0);
    lines.push(
      `${destination.provider} ${destination.endpoint}\n${table([
        ['', 'produced', 'accepted', 'waiting', 'rejected', 'dropped'],
        ...kinds.map(kind => {
          const { produced, accepted, waiting, rejected, dropped } = destination[kind];
          return [kind, String(produced), String(accepted), String(waiting), reasons(rejected), reasons(dropped)];
        }),
      ])}`,
    );
  }
  return lines.join('\n');
}

/** What went because a place was full or because it was old; what went on its way out stands in the tables, by reason. */
function limitsText({ counters, fragments, destinations }: Books): string {
  const accounts = Object.values(destinations).flatMap(each => [each.traces, each.logs, each.events]);
  const lost = [fragments, ...accounts].flatMap(({ dropped }) =>
    Object.entries(dropped).flatMap(([reason, count]) => (reason.startsWith('over-') ? [count] : [])),
  );
  const said = Object.entries(counters).flatMap(([name, count]) => {
    const [, place, reason] = /^dropped\.(journal|quarantine)\.(.+)$/.exec(name) ?? [];
    if (place === undefined) return [];
    return [`${count} ${place === 'journal' ? 'journals' : 'files of the quarantine'} ${reason}`];
  });
  const all = lost.reduce((sum, count) => sum + count, 0);
  if (all > 0) said.unshift(`${all} hooks, spans and records`);
  return said.length === 0 ? '' : `\ndropped by limits: ${said.join(', ')}\n  next: keep.* in docs/configuration.md\n`;
}

/** Why something was set aside, and that it holds what agents said in full. */
function quarantineText({ counters, quarantine }: Books): string {
  const reasons = Object.entries(counters).flatMap(([name, count]) =>
    name.startsWith('quarantined.') ? [`${count} ${name.slice('quarantined.'.length)}`] : [],
  );
  if (reasons.length === 0) return '';
  const kept =
    quarantine.files === 0
      ? ''
      : `; ${quarantine.files} of them still there, as they came, until keep.quarantine_hours are over`;
  return `\nset aside: ${reasons.join(', ')}${kept}\n`;
}
