import { existsSync } from 'node:fs';
import type { Event } from '../event/event.ts';
import { recorded } from '../journal/journal-events.ts';
import { openStore, type Store } from '../store/store.ts';
import { ContextShares } from '../view/context-share.ts';
import { type EventFormat, eventFormats, isEventFormat, liveWriter } from '../view/formats.ts';
import { drawLine, type Follower, follow, lastOf, levels, matcher, type Wanted } from '../view/live-events.ts';
import { agentOf } from './agent-word.ts';
import { flagText, type Io, interruptible, UsageError, type Words } from './command.ts';
import { foldersOf } from './place.ts';

const EACH_MS = 300;

export async function run(words: Words, io: Io): Promise<number> {
  const wanted = wantedOf(words);
  const lines = linesOf(words);
  const { state } = foldersOf(words, io);
  const stop = interruptible();
  const format = formatOf(words);
  const written = format && liveWriter(format);
  const shares = new ContextShares();
  const print = (events: readonly Event[]): void => {
    const lines = events.flatMap(
      event => written?.(event).map(each => JSON.stringify(each)) ?? drawLine(event, io, shares.of(event)),
    );
    if (lines.length > 0) io.out(`${lines.join('\n')}\n`);
  };
  const open = () => openStore({ folder: state, access: 'read' });
  const unwatch = io.onReaderGone?.(stop.ask);
  const isFirst = !existsSync(state);
  if (isFirst) io.err('otel-hooks: no hook has run yet; waiting for the first. Ctrl-C ends.\n');
  try {
    let more: Follower | undefined;
    let isWanted = noted(matcher(wanted), shares);
    const past = new Set<string>();
    while (!stop.isAsked()) {
      if (more !== undefined) {
        print(more(event => isWanted(event) && !past.delete(event.event_id)));
      } else if (existsSync(state)) {
        more = follow(open);
        const store = open();
        isWanted = noted(matcher({ ...wanted, isWholeId: isWholeId(store, wanted.session) }), shares);
        const last = lastOf(store, lines, isWanted);
        shares.begin(store);
        store.close();
        print(last);
        // Events that arrived between the two reads are in both results.
        for (const { event_id } of last) past.add(event_id);
        if (!isFirst) io.err('otel-hooks: waiting for events. Ctrl-C ends.\n');
      }
      await stop.pause(EACH_MS);
    }
    return 0;
  } finally {
    unwatch?.();
    stop.end();
  }
}

/** Notes every event before it is filtered, because the event that states the share may be filtered out. */
const noted =
  (isWanted: (event: Event) => boolean, shares: ContextShares) =>
  (event: Event): boolean => {
    shares.note(event);
    return isWanted(event);
  };

/** True if a session has exactly this id: then longer ids that begin with it belong to other sessions. */
const isWholeId = (store: Store, id: string | undefined): boolean =>
  id !== undefined && recorded(store).some(({ session }) => session === id);

function wantedOf(words: Words): Wanted {
  const types = flagText(words, '--type');
  const isText = formatOf(words) === undefined;
  const agent = flagText(words, '--tool');
  const level = flagText(words, '--level')?.toLowerCase();
  if (level !== undefined && !(levels as readonly string[]).includes(level)) {
    throw new UsageError(`--level takes ${levels.join(', ')}, not ${level}`);
  }
  return {
    agent: agent === undefined ? undefined : agentOf(agent).id,
    session: flagText(words, '--session'),
    types: types?.split(',').map(type => type.trim()),
    level: level as Wanted['level'],
    trials: words.flags['--all'] !== undefined,
    // Other formats are for programs: a session's end in OpenHook, for example, follows from an internal event.
    withoutInternal: isText && types === undefined && words.flags['--all'] === undefined,
  };
}

function formatOf(words: Words): EventFormat | undefined {
  const format = flagText(words, '--format');
  if (format === undefined) return words.flags['--json'] ? 'agent-hooks' : undefined;
  if (!isEventFormat(format)) throw new UsageError(`--format takes ${eventFormats.join(', ')}, not ${format}`);
  return format;
}

function linesOf(words: Words): number {
  const lines = flagText(words, '--lines') ?? '10';
  if (!/^\d{1,6}$/.test(lines)) throw new UsageError(`--lines takes a number, not ${lines}`);
  return Number(lines);
}
